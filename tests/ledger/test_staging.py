"""Staging: the objects of one commit, in an order in which nothing refers to what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hikmah.ledger.chain import Addition, message
from hikmah.ledger.objects import RawObject, parse_commit, parse_tree
from hikmah.ledger.staging import EDGE_OBJECTS, NewRecord, Staging
from hikmah.model.records import canonical
from tests.ledger.forge import Forge, note


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return an empty ledger, of both kinds of ids."""
    made = Forge(tmp_path / "store", request.param)
    made.init()
    return made


@pytest.fixture
def staging(forge: Forge) -> Staging:
    """Return a stage on a ledger of 95 records."""
    forge.add(*[note(f"old {n}") for n in range(95)])
    tip = forge.ledger.tip(forge.ledger.tip_commit() or "")
    return Staging(forge.ledger, forge.ledger.store.read, tip, time_s=7)


def new(forge: Forge, count: int) -> Iterator[NewRecord]:
    """Yield records on their way in."""
    for n in range(count):
        record = note(f"new {n}")
        yield NewRecord(forge.id(record), record, canonical(record))


def test_what_an_object_names_comes_before_it(forge: Forge, staging: Staging) -> None:
    """Blobs, then each folder after what it holds, then the commit."""
    made = list(staging.objects(new(forge, 210)))
    there = {raw.oid for raw in made}
    seen: set[str] = set()
    for raw in made:
        assert named(raw, forge.algorithm) & there <= seen
        seen.add(raw.oid)
    assert made[-1].kind == b"commit"
    assert parse_commit(made[-1].data).tree == made[-2].oid
    assert [raw.kind for raw in made[:210]] == [b"blob"] * 210
    # Three folders were opened or added to, and one tree stands at each level above.
    assert len(made) == 210 + 4 + 3 + 1


def named(raw: RawObject, algorithm: str) -> set[str]:
    """Return the ids an object names."""
    if raw.kind == b"tree":
        return {entry.oid for entry in parse_tree(raw.data, algorithm)}
    return {parse_commit(raw.data).tree} if raw.kind == b"commit" else set()


def test_the_tip_is_known_when_all_was_read(forge: Forge, staging: Staging) -> None:
    """And so are how many came and what the next append reads."""
    objects = staging.objects(new(forge, 30))
    next(objects)
    assert staging.tip is None
    made = list(objects)
    assert staging.tip is not None
    assert (staging.tip.commit, staging.tip.seq, staging.count) == (made[-1].oid, 125, 30)
    assert list(staging.edge) == made[-EDGE_OBJECTS:]


def test_a_record_is_asked_for_when_the_one_before_was_taken(
    forge: Forge, staging: Staging
) -> None:
    """Nothing is read ahead: what one record is written as is out before the next comes."""
    asked: list[int] = []

    def watched() -> Iterator[NewRecord]:
        for n, one in enumerate(new(forge, 5)):
            asked.append(n)
            yield one

    objects = staging.objects(watched())
    for n in range(5):
        next(objects)
        assert asked[-1] == n


def test_no_records_make_no_objects(staging: Staging) -> None:
    """Not even the trees that are there."""
    assert list(staging.objects(iter(()))) == []
    assert staging.tip is None


def test_the_message_is_the_same_from_the_first_records_and_a_count(forge: Forge) -> None:
    """Twenty are listed; the others are only counted."""
    additions = [Addition(n, one.id, one.record) for n, one in enumerate(new(forge, 40), start=1)]
    assert message(additions) == message(additions[:20], count=40)
    assert message(additions[:20]) == message(additions[:20], count=20)
