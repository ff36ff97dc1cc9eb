"""The reader that goes over to whole packs when it is asked for much."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from hikmah.ledger import bulk
from hikmah.ledger.widening import FEW_OBJECTS, Widening
from tests import world


def test_many_objects_are_read_through_packs_and_few_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either way each object comes out as it was written."""
    ledger = world.ledger(world.repository(tmp_path / "repo"))
    commit = world.put(ledger, "something").tip.commit
    general: list[str] = []
    opened: list[bulk.ObjectReader] = []
    real = bulk.ObjectReader.__init__

    def counted(self: bulk.ObjectReader, store: bulk.Store) -> None:
        opened.append(self)
        real(self, store)

    monkeypatch.setattr(bulk.ObjectReader, "__init__", counted)

    def read(oid: str) -> tuple[bytes, bytes]:
        general.append(oid)
        return ledger.store.read(oid)

    with contextlib.closing(Widening(read, ledger.store)) as reader:
        found = [reader.read(commit) for _ in range(FEW_OBJECTS)]
        assert (len(general), opened) == (FEW_OBJECTS, [])
        found += [reader.read(commit) for _ in range(3)]
    assert (len(general), len(opened)) == (FEW_OBJECTS, 1)
    assert found == [ledger.store.read(commit)] * len(found)
