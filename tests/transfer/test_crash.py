"""An import that is killed, loses a race, or meets a failing disk leaves all or nothing."""

from __future__ import annotations

import io
import itertools
import os
import threading
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from hikmah.errors import HikmahError, StoreError
from hikmah.memory import Memory
from hikmah.memory.results import Shown
from hikmah.model.records import Stored, blob_id, canonical
from hikmah.model.trace import Trace
from hikmah.transfer import own
from hikmah.transfer.importing import import_file
from tests import world
from tests.faultpoints import dies_at
from tests.transfer.conftest import NOW_MS, Stores, counts, dump, take

RECORDS = 300  # enough for a pack
# Killed at every so many steps; 1 tries them all.
EVERY = int(os.environ.get("HIKMAH_TEST_IMPORT_STEPS", "12"))


def lines(count: int = RECORDS) -> bytes:
    """Return an export of so many traces."""
    made = []
    for n in range(count):
        trace = Trace(content=f"item {n}", created_at_ms=NOW_MS)
        data = canonical(trace)
        made.append(own.line(Stored(id=blob_id(data), seq=0, record=trace, data=data)) or b"")
    return b"".join(made)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a child process")
def test_a_kill_at_any_step_leaves_all_or_nothing(tmp_path: Path) -> None:
    """The ledger verifies, and the same command then brings in what is missing."""
    data, outcomes = lines(), set()
    for at in itertools.count(1, EVERY):
        store = world.repository(tmp_path / str(at))
        with Memory.open(store, environ={}) as memory:
            memory.remember("there before")

        def import_all(store: Path = store) -> None:
            with Memory.open(store, environ={}) as memory:
                take(memory, data)

        killed = dies_at(at, import_all)
        with Memory.open(store, environ={}) as memory:
            before = memory.status().records
            assert before in (1, RECORDS + 1)
            outcomes.add(before)
            report = take(memory, data)
            assert counts(report) == (RECORDS + 1 - before, before - 1, 0)
            assert memory.verify().ok
        if not killed:
            break
    assert outcomes == {1, RECORDS + 1}


def test_a_foreign_commit_in_the_middle_is_survived(stores: Stores, tmp_path: Path) -> None:
    """Plain git moves the ref while lines are read: the import starts again on what is there."""
    memory = stores()
    memory.remember("first")
    here = tmp_path / "one"
    base = memory.head()
    with Memory.open(here, environ={}) as other:
        other.remember("foreign")
        moved = other.head()
    world.git(here, "update-ref", world.REF, base)
    with Memory.open(here, environ={}) as other:
        other.reset_head()
    file = _Moving(lines(), lambda: world.git(here, "update-ref", world.REF, moved))
    with pytest.raises(HikmahError):
        # The commit was not acknowledged: the write refuses, as every write does.
        import_file(memory, cast("BinaryIO", file), form="jsonl")
    with Memory.open(here, environ={}) as other:
        other.accept_tail()
    assert counts(take(memory, lines())) == (RECORDS, 0, 0)
    assert memory.verify().ok


class _Moving(io.BytesIO):
    """A file; reading its middle makes something happen, once."""

    def __init__(self, data: bytes, happen: object) -> None:
        super().__init__(data)
        self._happen = happen
        self._reads = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line."""
        self._reads += 1
        if self._reads == 100:
            assert callable(self._happen)
            self._happen()
        return super().readline(size)


def test_a_file_that_cannot_be_read_on_writes_nothing(memory: Memory) -> None:
    """A disk that fails in the middle is an error of the file, not of the ledger."""
    memory.remember("first")
    head = memory.head()

    def fail() -> None:
        raise OSError(5, "Input/output error")

    with pytest.raises(StoreError, match="the file cannot be read: Input/output error"):
        import_file(memory, cast("BinaryIO", _Moving(lines(), fail)), form="jsonl")
    assert memory.head() == head
    assert counts(take(memory, lines())) == (RECORDS, 0, 0)


def test_a_large_import_is_one_commit_and_one_pack(stores: Stores, tmp_path: Path) -> None:
    """However many records there are."""
    memory = stores()
    memory.remember("first")
    before = memory.head()
    report = take(memory, lines(1_500))
    assert report.commit == memory.head()
    here = tmp_path / "one"
    assert world.git(here, "rev-parse", f"{report.commit}^") == before
    assert len(list((here / ".git/objects/pack").glob("*.pack"))) == 1
    assert world.git(here, "fsck", "--strict") == ""
    assert dump(memory).count(b"\n") == 1_501
    shown = memory.show(blob_id(canonical(Trace(content="item 7", created_at_ms=NOW_MS))))
    assert isinstance(shown, Shown)


def test_two_imports_at_once_write_everything_once(stores: Stores) -> None:
    """The second waits for the first, and finds its records there."""
    reports = []

    def run(memory: Memory) -> None:
        reports.append(take(memory, lines()))

    threads = [threading.Thread(target=run, args=(stores(lock_timeout_s=60.0),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts(report) for report in reports) == [(0, 300, 0), (0, 300, 0), (300, 0, 0)]
    assert stores().verify().ok
