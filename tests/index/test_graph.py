"""Entities, facts, relationships and events in the index: any order, any moment."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.index.classes import Member, described, grouped
from hikmah.index.database import Index
from hikmah.index.rows import Cut
from hikmah.model.records import Stored
from tests.index.knowledge import GONE, entity, event, fact, said, story
from tests.index.ledgers import LEDGER, filled, stored

STORY = story()


def member(seq: int, name: str, status: str = "active", kind: str = "person") -> Member:
    """Return a member whose id and number are its sequence number."""
    return Member(seq, f"{seq:040x}", seq, name, kind, status)  # type: ignore[arg-type]  # a status


def in_chunks(records: list[Stored], cuts: list[int]) -> Index:
    """Fill an index in several updates."""
    index = Index.open(None, language="english")
    edges = [0, *sorted(cuts), len(records)]
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        filled(records[start:stop], index, head=f"h{number}")
    return index


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(len(STORY))), st.lists(st.integers(0, len(STORY)), max_size=4))
def test_any_order_of_the_same_records_gives_the_same_knowledge(
    order: list[int], cuts: list[int]
) -> None:
    """Classes, claims, totals and lists depend on the set of records alone."""
    shuffled = [STORY[place] for place in order]
    assert said(in_chunks(shuffled, cuts)) == said(filled(STORY))


@pytest.mark.parametrize("seq", range(0, len(STORY) + 1, 3))
def test_a_cut_says_what_the_index_said_then(seq: int) -> None:
    """Entities, keys of facts and statuses are those of the moment, not today's."""
    then = filled([one for one in STORY if one.seq <= seq])
    shuffled = random.Random(seq).sample(STORY, len(STORY))
    assert said(filled(shuffled), Cut(seq=seq)) == said(then)
    assert said(filled(STORY), Cut(written_ms=999 + seq)) == said(
        filled([one for one in STORY if _made_ms(one) <= 999 + seq])
    )


def _made_ms(one: Stored) -> int:
    return int(getattr(one.record, "created_at_ms", getattr(one.record, "at_ms", 0)))


def test_what_a_fact_claims_follows_its_entity_when_classes_meet() -> None:
    """Two machines made one entity: their facts claim under the older id, and disagree."""
    here, there = stored(entity("Jane"), 2), stored(entity("JANE", created_at_ms=2), 1)
    facts = [
        stored(fact(here.id, "role", "lead"), 3),
        stored(fact(there.id, "role", "head"), 4),
    ]
    index = filled([here, facts[0]])
    assert [key for key, _ in index.graph().contested()] == []
    filled([there, facts[1]], index, head="h2")
    assert [key for key, _ in index.graph().contested()] == [f"{there.id}/role"]


def test_a_fact_of_an_entity_that_never_came_claims_under_the_id_it_names() -> None:
    """A relation to something missing is kept, and waits for it."""
    index = filled([stored(fact(GONE, "colour", "red"), 1)])
    assert [row.claim and row.claim.key for row in index.claims(f"{GONE}/colour")] == [
        f"{GONE}/colour"
    ]
    assert index.graph().entity(GONE) is None


def test_an_event_is_hidden_when_it_was_retired_or_is_sensitive() -> None:
    """Sensitive events show only to who may see them."""
    secret = stored(event("note", privacy="sensitive"), 1)
    index = filled([secret])
    for cut in (None, Cut(seq=5)):
        graph = index.graph(cut)
        assert graph.events() == ([], 0)
        assert [row.id for row in graph.events(allow_sensitive=True)[0]] == [secret.id]
        assert graph.events(event_type="no such type", allow_sensitive=True) == ([], 0)


def test_a_name_that_is_the_text_comes_before_those_that_begin_with_it() -> None:
    """Search lists the whole name, then beginnings, then the rest, each by name."""
    names = ["a lock", "lock b", "lock", "lock a", "door"]
    index = filled([stored(entity(name), n) for n, name in enumerate(names, 1)])
    for cut in (None, Cut(seq=9)):
        found = index.graph(cut).entities(text="LOCK", limit=3)
        assert [one.speaker.name for one in found.classes] == ["lock", "lock a", "lock b"]
        assert found.total == 4


@pytest.mark.parametrize(
    ("statuses", "status", "speaker"),
    [
        (["active", "active"], "active", 2),
        (["active", "superseded"], "active", 1),
        (["superseded", "superseded"], "active", 2),
        (["superseded", "deprecated"], "deprecated", 2),
        (["superseded", "purged"], "purged", 1),
        (["purged", "purged"], "purged", 2),
        (["deprecated", "purged"], "deprecated", 1),
        (["deprecated", "active"], "active", 2),
    ],
    ids=str,
)
def test_a_class_is_as_its_traces_are(statuses: list[str], status: str, speaker: int) -> None:
    """The newest active trace speaks; a circle of supersessions retires nothing."""
    one = described([member(n, f"n{n}", s) for n, s in enumerate(statuses, 1)])
    assert (one.status, one.speaker.seq) == (status, speaker)


def test_names_and_supersession_join_and_nothing_else_does() -> None:
    """Type counts as much as the name; links to what is not there join nothing."""
    members = [member(1, "a"), member(2, "a", kind="code"), member(3, "b"), member(4, "a")]
    links = [(members[1].id, members[2].id), (members[0].id, "f" * 40)]
    classes = grouped(reversed(members), links)
    assert [[m.seq for m in one.members] for one in classes] == [[1, 4], [2, 3]]


def test_a_purged_name_is_no_name_of_an_entity() -> None:
    """What leaves every view leaves the list of names too."""
    one = described([member(1, "typo", "purged"), member(2, "right")])
    assert one.names == ("right",)
    assert one.ids == (f"{1:040x}", f"{2:040x}")


def test_copies_of_summaries_outlive_a_rebuild(tmp_path: Path) -> None:
    """A reset, a recreated file and another format keep them; another ledger sees none."""
    path = tmp_path / "index.db"
    jane = stored(entity("Jane"), 1)
    with Index.open(path, language="english") as index:
        filled([jane], index)
        assert index.keep_summaries([(jane.id, b"copy")])
        index.extend([jane], ledger=LEDGER, base=None, head="h2", reset=True)
        assert index.kept_summary(jane.id) == b"copy"
        index.recreate()
        filled([jane], index)
        assert index.kept_summaries() == [(jane.id, b"copy")]
    with Index.open(path, language="french") as index:
        assert index.head is None
        filled([jane], index)
        assert index.kept_summary(jane.id) == b"copy"
        index.extend([jane], ledger="1" * 32, base=None, head="h9", reset=True)
        assert index.kept_summary(jane.id) is None


def test_a_copy_is_not_kept_where_the_file_cannot_be_written(tmp_path: Path) -> None:
    """Memory and read-only files say no; nothing fails."""
    path = tmp_path / "index.db"
    jane = stored(entity("Jane"), 1)
    assert not filled([jane]).keep_summaries([(jane.id, b"copy")])
    with Index.open(path, language="english") as index:
        filled([jane], index)
    with Index.open(path, language="english", writable=False) as index:
        assert not index.keep_summaries([(jane.id, b"copy")])


def test_copies_that_damage_has_taken_are_gone_and_nothing_fails(tmp_path: Path) -> None:
    """They can be made again; a file without their table has none."""
    path = tmp_path / "index.db"
    jane = stored(entity("Jane"), 1)
    with Index.open(path, language="english") as index:
        filled([jane], index)
        index.keep_summaries([(jane.id, b"copy")])
        index._container.connection.execute("DROP TABLE kept_summary")
        index.recreate()
        filled([jane], index)
        assert index.kept_summaries() == []
        index._container.connection.execute("DROP TABLE kept_summary")
        assert not index.keep_summaries([(jane.id, b"copy")])
