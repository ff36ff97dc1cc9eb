"""Two machines, one remote, histories at random: nothing lost, nothing undone, one answer.

The size of docs/evidence.md is `HIKMAH_TEST_HISTORIES=1000`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast
from unittest import mock

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hikmah.errors import InvalidInputError, RefusedError, RemoteMovedError
from hikmah.ledger.gitstore import GitStore
from hikmah.memory import Memory, carrying
from hikmah.memory.knowledge import Knowledge
from hikmah.model.status import STRENGTH, Status
from hikmah.remotes.road import Road, open_road
from hikmah.views.evolution import NoEvolution
from tests import world
from tests.faultpoints import dies_at
from tests.remotes.localroad import LocalRoad

HISTORIES = int(os.environ.get("HIKMAH_TEST_HISTORIES", "6"))
STEPS = int(os.environ.get("HIKMAH_TEST_HISTORY_STEPS", "20"))
NOW_MS = 1_800_000_000_000
MACHINES = st.sampled_from("ab")
KEYS = st.sampled_from([None, None, "port", "host"])
NUMBERS = st.integers(0, 3)


class Histories(RuleBasedStateMachine):
    """Two machines that remember, correct, travel and die."""

    template: Path

    @initialize(real=st.sampled_from([False] * 9 + [True]))
    def begin(self, *, real: bool) -> None:
        """Start from two machines that share a genesis; one history in ten uses real git."""
        self.folder = Path(tempfile.mkdtemp(dir=self.template.parent))
        self.now_ms = NOW_MS
        self.acknowledged: set[str] = set()
        self.switched: dict[str, int] = {}
        for name in ("a", "b", "remote"):
            shutil.copytree(self.template / name, self.folder / name)
        self.stack = contextlib.ExitStack()
        if not real:
            self.stack.enter_context(mock.patch.object(carrying, "open_road", local))
        self.memories = {name: self.open(name) for name in "ab"}

    def open(self, name: str) -> Memory:
        """Open a machine's ledger as a new process would."""
        root = self.folder / name
        environ = world.environment(root)
        return Memory.open(root, environ=environ, clock=lambda: self.now_ms, lock_timeout_s=5)

    @property
    def remote(self) -> str:
        """The remote's address."""
        return str(self.folder / "remote")

    # ---- what machines do --------------------------------------------------------------

    @rule(on=MACHINES, number=NUMBERS, tick=NUMBERS, key=KEYS, promise=st.booleans(), once=NUMBERS)
    def remember(
        self, on: str, number: int, tick: int, key: str | None, *, promise: bool, once: int
    ) -> None:
        """Both machines may write the same bytes, or use one idempotency key."""
        self.now_ms = NOW_MS + tick
        with contextlib.suppress(InvalidInputError):  # the key was used for something else
            done = self.memories[on].remember(
                f"note {number} of the {key or 'day'}",
                kind="commitment" if promise else None,
                deadline_ms=NOW_MS + 10**9 if promise else None,
                claim=None if key is None else (key, f"{number}"),
                idempotency_key="once" if once == 0 else None,
            )
            self.acknowledged.add(done.id)

    @rule(on=MACHINES, old=NUMBERS, new=NUMBERS)
    def supersede(self, on: str, old: int, new: int) -> None:
        """Correct one trace by another."""
        ids = self.traces(on)
        if len(ids) > max(old, new):
            with contextlib.suppress(InvalidInputError, RefusedError):
                self.note(
                    self.memories[on].supersede(ids[old], ids[new]).id, ids[old], "superseded"
                )

    @rule(on=MACHINES, which=NUMBERS)
    def fulfill(self, on: str, which: int) -> None:
        """Keep a promise."""
        ids = self.traces(on)
        if len(ids) > which:
            with contextlib.suppress(InvalidInputError, RefusedError):
                self.note(self.memories[on].fulfill(ids[which]).id, ids[which], "fulfilled")

    @rule(on=MACHINES, which=NUMBERS, mode=st.sampled_from(["purge", "deprecate"]))
    def purge(self, on: str, which: int, mode: Literal["purge", "deprecate"]) -> None:
        """Take a trace out of every view."""
        ids = self.traces(on)
        if len(ids) > which:
            with contextlib.suppress(InvalidInputError, RefusedError):
                done = self.memories[on].purge(ids[which], reason="wrong", mode=mode)
                self.note(done.id, ids[which], "purged" if mode == "purge" else "deprecated")

    @rule(on=MACHINES)
    def push(self, on: str) -> None:
        """Push; a remote that is ahead says so."""
        with contextlib.suppress(RemoteMovedError):
            self.memories[on].push(self.remote, yes=True)

    @rule(on=MACHINES)
    def fetch(self, on: str) -> None:
        """Fetch; the ledger stays."""
        before = self.memories[on].status().head
        self.memories[on].fetch(self.remote)
        assert self.memories[on].status().head == before

    @rule(on=MACHINES)
    def sync(self, on: str) -> None:
        """Sync; what arrived is new."""
        memory = self.memories[on]
        before = memory.status().records
        done = memory.sync(self.remote, yes=True)
        assert memory.status().records == before + done.arrived.records

    @precondition(lambda _: sys.platform != "win32")
    @rule(
        on=MACHINES, at=st.integers(1, 130), number=NUMBERS, how=st.sampled_from(["sync", "write"])
    )
    def die(self, on: str, at: int, number: int, how: str) -> None:
        """Be killed at a durable step of a sync or a write; go on as a new process."""
        self.memories[on].close()

        def doomed() -> None:
            with self.open(on) as memory:
                if how == "sync":
                    memory.sync(self.remote, yes=True)
                else:
                    memory.remember(f"doomed {number}")

        dies_at(at, doomed)
        self.memories[on] = self.open(on)

    @rule(on=MACHINES)
    def pack(self, on: str) -> None:
        """Let a ledger be compacted between its joins."""
        self.memories[on].compact()

    def traces(self, on: str) -> list[str]:
        """Return the ids of a machine's traces, in order."""
        items = self.memories[on].log(limit=1000).items
        return [item.id for item in reversed(items) if item.kind is not None]

    def note(self, record: str | None, target: str, status: Status) -> None:
        """Remember what a machine acknowledged."""
        if record is not None:
            self.acknowledged.add(record)
        self.switched[target] = max(self.switched.get(target, 0), STRENGTH[status])

    # ---- afterwards --------------------------------------------------------------------

    def teardown(self) -> None:
        """Sync until nothing moves; then both must know the same, and all of it."""
        if not hasattr(self, "memories"):
            return
        try:
            self.come_to_rest()
            answers = [self.answers(name) for name in "ab"]
            assert answers[0] == answers[1]
            for name in "ab":
                self.check(name)
            world.git(Path(self.remote), "fsck", "--full", "--strict", "--no-dangling")
        finally:
            for memory in self.memories.values():
                memory.close()
            self.stack.close()
            shutil.rmtree(self.folder)

    def come_to_rest(self) -> None:
        """Sync both in turn, a few times at most."""
        for _ in range(3):
            heads = {self.memories[name].sync(self.remote, yes=True).commit for name in "ab"}
        heads.add(world.git(Path(self.remote), "rev-parse", world.REF))
        assert len(heads) == 1

    def answers(self, name: str) -> tuple[object, ...]:
        """Return everything that a machine's views say, at one time."""
        root = self.folder / name
        with Memory.open(root, environ={}, now_ms=NOW_MS + 10**6) as memory:
            recalled = [memory.recall(text) for text in ("note of the port", "doomed")]
            status = memory.status()
            return (
                Knowledge(memory, evolution=NoEvolution()).compute_hash(everything=True),
                msgspec.json.encode([found.results for found in recalled]),
                msgspec.json.encode(memory.conflicts()),
                msgspec.json.encode(memory.commitments(include_all=True)),
                msgspec.json.encode(memory.log(limit=1000)),
                (status.head, status.records, status.statuses, status.kinds),
            )

    def check(self, name: str) -> None:
        """Hold a machine against what was acknowledged anywhere."""
        memory = self.memories[name]
        items = {item.id: item for item in memory.log(limit=1000).items}
        assert self.acknowledged <= items.keys()
        for target, strength in self.switched.items():
            status = items[target].status
            assert status is not None
            assert STRENGTH[cast("Status", status)] >= strength
        report = memory.verify()
        assert (report.errors, report.anchored) == ((), True)
        world.git(self.folder / name, "fsck", "--full", "--strict", "--no-dangling")


def local(store: GitStore, url: str, **_: object) -> Road:
    """Return the road within this process, in place of `open_road`."""
    return LocalRoad(store, url)


@pytest.fixture
def template(tmp_path: Path) -> Iterator[Path]:
    """Two machines and a remote with one genesis, to be copied for each history."""
    folder = tmp_path / "template"
    bare = world.repository(folder / "remote", "--bare")
    first = world.repository(folder / "a")
    with Memory.init(first, environ=world.environment(first), now_ms=NOW_MS)[0] as memory:
        memory.push(str(bare), yes=True)
    second = world.repository(folder / "b")
    world.git(second, "fetch", "-q", str(bare), f"{world.REF}:{world.REF}")
    Histories.template = folder
    yield folder
    del Histories.template


def test_machines_agree_after_any_history(template: Path) -> None:
    """Whatever two machines did, and wherever they died: one state, everything in it."""
    assert template.is_dir()
    run_state_machine_as_test(
        Histories, settings=settings(max_examples=HISTORIES, stateful_step_count=STEPS)
    )


def test_the_road_within_this_process_is_a_road(template: Path) -> None:
    """It answers as the real one does: heads, what is fetched, a push that was overtaken."""
    store = world.reopened(template / "a").store
    stand_in = LocalRoad(store, str(template / "remote"))
    real = open_road(store, str(template / "remote"), environ=world.environment(template))
    assert stand_in.heads() == real.heads()
    assert stand_in.fetch(world.REF) == real.fetch(world.REF)
    head = stand_in.heads()[world.REF]
    assert stand_in.push(world.REF, head, None).kind == "moved"
