"""What a remote lacks is sent whole, once, and nothing that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.ledger.ledger import Ledger
from hikmah.remotes.missing import missing_objects
from tests import world
from tests.remotes.roads import copy_of, tip


def sent(ledger: Ledger, new: str, old: str | None) -> list[str]:
    """Return the ids that would be sent."""
    return list(missing_objects(ledger.store.read, new, old, ledger.algorithm))


def listed(ledger: Ledger, *revisions: str) -> set[str]:
    """Return what git says is reachable."""
    words = ("rev-list", "--objects", *revisions)
    lines = world.git(ledger.store.common_dir, *words).splitlines()
    return {line.split(" ")[0] for line in lines}


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_everything_the_first_time(tmp_path: Path, algorithm: str) -> None:
    """What git would send, each object once."""
    ledger = world.ledger(world.repository(tmp_path / "x", f"--object-format={algorithm}"))
    world.put(ledger, *(f"record {n}" for n in range(120)))
    world.put(ledger, "one", "two")
    ids = sent(ledger, tip(ledger), None)
    assert len(ids) == len(set(ids))
    assert set(ids) == listed(ledger, tip(ledger))


def test_only_what_is_new_later(here: Ledger) -> None:
    """An append is a blob, a commit and the trees on the way."""
    before = tip(here)
    world.put(here, "three")
    world.put(here, "four")
    ids = sent(here, tip(here), before)
    assert set(ids) == listed(here, tip(here), f"^{before}")
    assert len(ids) == 12
    assert sent(here, tip(here), tip(here)) == []


def test_both_sides_of_a_join(here: Ledger, tmp_path: Path) -> None:
    """The remote has one side: the other and the merge are sent."""
    there = copy_of(here, tmp_path / "there")
    world.put(here, "here")
    world.put(there, "there")
    repo = here.store.common_dir
    world.git(repo, "fetch", "-q", str(there.store.common_dir), world.REF)
    merged = world.join(repo.parent, tip(here), tip(there))
    for side in (tip(here), tip(there)):
        ids = sent(here, merged, side)
        assert set(ids) >= listed(here, merged, f"^{side}")
        assert len(ids) < 20
    assert set(sent(here, merged, None)) == listed(here, merged)
