"""Entities, facts and relationships as of one moment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.index.database import Index
from hikmah.index.rows import Cut
from hikmah.model.records import Purge, Record, Stored, Supersede
from hikmah.model.trace import Claim, Provenance, Trace
from hikmah.views.claims import conflicts
from hikmah.views.entities import EntityDetail, Knowledge, holds
from hikmah.views.neighbours import neighbours
from hikmah.views.summaries import summary
from tests.index.knowledge import GONE, entity, event, fact, relationship
from tests.index.ledgers import filled, stored

NOW_MS = 5_000


class World:
    """A ledger being told, and the knowledge in it."""

    def __init__(self) -> None:
        self.told: list[Stored] = []

    def add(self, record: Record, seq: int | None = None) -> str:
        """Add a record; return its id."""
        self.told.append(stored(record, len(self.told) + 1 if seq is None else seq))
        return self.told[-1].id

    def index(self) -> Index:
        """Return an index of everything told."""
        return filled(self.told)

    def knowledge(self, cut: Cut | None = None, **fields: Any) -> Knowledge:
        """Return the knowledge of a moment."""
        return Knowledge(self.index().graph(cut), **({"now_ms": NOW_MS} | fields))

    def detail(self, name: str, *statuses: str, **fields: Any) -> EntityDetail:
        """Return the one entity of a name."""
        knowledge = self.knowledge(**fields)
        (one,) = knowledge.named(name)
        view = knowledge.entity(one)
        assert view is not None
        return knowledge.detail(one, view, statuses=statuses or ("active",))


@pytest.fixture
def world() -> World:
    return World()


def at(ms: int) -> dict[str, Any]:
    """Return the field that says when a trace was written."""
    return {"created_at_ms": ms}


class TestEntities:
    def test_one_name_with_two_types_is_two_entities(self, world: World) -> None:
        """Type counts as much as the name; a type chooses."""
        world.add(entity("Mercury", "project"))
        world.add(entity("Mercury", "code", **at(2)))
        knowledge = world.knowledge()
        assert [one.speaker.type for one in knowledge.named("mercury")] == ["code", "project"]
        assert [one.speaker.type for one in knowledge.named("mercury", "code")] == ["code"]
        assert knowledge.listed().total == 2

    def test_two_machines_that_made_one_entity_meet(self, world: World) -> None:
        """Facts of either trace are facts of the one entity, whose id is the first trace's."""
        here, there = world.add(entity("Jane")), world.add(entity(" JANE ", **at(2)))
        world.add(fact(here, "role", "lead", **at(3)))
        world.add(fact(there, "team", "core", **at(4)))
        world.add(relationship(there, "knows", here, **at(5)))
        detail = world.detail("jane")
        assert detail.entity.id == here
        assert detail.entity.traces == (here, there)
        assert detail.entity.name == "JANE"
        assert detail.entity.aliases == ()
        assert [(f.predicate, f.entity) for f in detail.facts] == [("role", here), ("team", here)]
        assert [(r.from_.id, r.to.id) for r in detail.relationships] == [(here, here)]

    def test_a_rename_keeps_id_facts_and_old_name(self, world: World) -> None:
        """The newest name is shown, the ones before find it too."""
        bob = world.add(entity("Bob"))
        world.add(fact(bob, "role", "lead", **at(2)))
        rob = world.add(entity("Rob", supersedes=bob, **at(3)))
        world.add(entity("Robert", "company", supersedes=rob, **at(4)))
        detail = world.detail("bob")
        assert detail == world.detail("ROBERT")
        assert (detail.entity.id, detail.entity.name) == (bob, "Robert")
        assert (detail.entity.entity_type, detail.entity.aliases) == ("company", ("Rob", "Bob"))
        assert (detail.entity.created_at_ms, detail.entity.updated_at_ms) == (3, 1000)
        assert [f.object for f in detail.facts] == ["lead"]

    def test_a_circle_of_supersessions_retires_nothing(self, world: World) -> None:
        """Two machines renamed in opposite directions: the entity stays, the newest speaks."""
        one, two = world.add(entity("One")), world.add(entity("Two", **at(2)))
        world.add(Supersede(id=one, by=two, at_ms=3))
        world.add(Supersede(id=two, by=one, at_ms=4))
        detail = world.detail("one")
        assert (detail.entity.status, detail.entity.name) == ("active", "Two")
        assert world.knowledge().listed().total == 1

    def test_a_deprecated_entity_is_found_when_no_active_one_has_the_name(
        self, world: World
    ) -> None:
        """Retiring hides it from lists, not from whoever asks by name."""
        old = world.add(entity("Thing", "code"))
        world.add(Purge(id=old, reason="unused", mode="deprecate", at_ms=2))
        assert world.detail("thing").entity.status == "deprecated"
        assert world.knowledge().listed().entities == ()
        assert world.knowledge().listed(retired=True).total == 1
        world.add(entity("Thing", "project", **at(3)))
        assert world.detail("thing").entity.entity_type == "project"

    def test_a_purged_entity_is_nowhere(self, world: World) -> None:
        """It leaves every view; a relationship to it has an end without a name."""
        jane, typo = world.add(entity("Jane")), world.add(entity("Jnae", **at(2)))
        world.add(relationship(jane, "is", typo, **at(3)))
        world.add(Purge(id=typo, reason="typo", at_ms=4))
        knowledge = world.knowledge()
        assert knowledge.named("jnae") == []
        one = knowledge.graph.entity(typo)
        assert one is not None
        assert knowledge.entity(one) is None
        (link,) = world.detail("jane").relationships
        assert (link.to.id, link.to.name, link.to.entity_type) == (typo, None, None)

    def test_an_entity_that_was_written_anew_after_retiring_is_active(self, world: World) -> None:
        """The class takes the new trace in, under the id it had."""
        old = world.add(entity("Thing"))
        world.add(Purge(id=old, reason="unused", mode="deprecate", at_ms=2))
        world.add(entity("thing", **at(3)))
        assert world.detail("thing").entity.id == old

    def test_sensitive_entities_show_only_to_who_may_see_them(self, world: World) -> None:
        """The policy hides them from lists and names."""
        jane = world.add(entity("Jane", privacy="sensitive"))
        world.add(fact(jane, "role", "spy", privacy="sensitive", **at(2)))
        assert world.knowledge().listed().entities == ()
        seen = world.detail("jane", allow_sensitive=True)
        assert [f.object for f in seen.facts] == ["spy"]


class TestFacts:
    @pytest.mark.parametrize(
        ("first", "second", "disagree"),
        [
            ({"valid_until_ms": 10}, {"valid_from_ms": 20}, False),
            ({"valid_until_ms": 10}, {"valid_from_ms": 10}, False),
            ({"valid_until_ms": 11}, {"valid_from_ms": 10}, True),
            ({}, {}, True),
        ],
        ids=["disjoint periods", "touching", "overlapping", "always"],
    )
    def test_facts_disagree_in_the_time_they_share(
        self, world: World, first: dict[str, Any], second: dict[str, Any], *, disagree: bool
    ) -> None:
        """A fact in two periods is no contradiction; intervals that only touch do not overlap."""
        jane = world.add(entity("Jane"))
        one = world.add(fact(jane, "role", "lead", **first, **at(2)))
        two = world.add(fact(jane, "Role ", "head", **second, **at(3)))
        found = [f.conflicts for f in world.detail("jane").facts]
        assert found == ([(two,), (one,)] if disagree else [(), ()])
        rows = [row for _, group in world.index().contested() for row in group]
        assert conflicts(rows, limit=9).total == int(disagree)

    def test_an_unrelated_fact_does_not_disagree(self, world: World) -> None:
        """Other predicates, other entities, equal objects: no contradiction."""
        jane, bob = world.add(entity("Jane")), world.add(entity("Bob", **at(2)))
        world.add(fact(jane, "role", "lead", **at(3)))
        world.add(fact(jane, "team", "core", **at(4)))
        world.add(fact(jane, "role", " lead ", **at(5)))
        world.add(fact(bob, "role", "head", **at(6)))
        assert [f.conflicts for f in world.detail("jane").facts] == [(), (), ()]

    def test_many_valued_facts_never_disagree(self, world: World) -> None:
        """Several objects at once are what they are for."""
        jane = world.add(entity("Jane"))
        for n, language in enumerate(("Dari", "Urdu")):
            world.add(fact(jane, "speaks", language, multi=True, **at(n)))
        world.add(fact(jane, "speaks", "Farsi", **at(9)))
        assert [f.conflicts for f in world.detail("jane").facts] == [(), (), ()]

    def test_a_claim_written_by_hand_disagrees_with_a_fact(self, world: World) -> None:
        """The key of a fact's claim is `<entity id>/<predicate>`."""
        jane = world.add(entity("Jane"))
        world.add(fact(jane, "role", "lead", **at(2)))
        claim = Claim(key=f"{jane}/Role", value="none")
        claimed = world.add(Trace(content="no lead", created_at_ms=3, claim=claim))
        hidden = Trace(content="hidden", created_at_ms=4, claim=claim, privacy="sensitive")
        world.add(hidden)
        assert world.detail("jane").facts[0].conflicts == (claimed,)

    def test_a_replaced_fact_keeps_its_history(self, world: World) -> None:
        """Status, successor and reason are told when history is asked for, and only then."""
        jane = world.add(entity("Jane"))
        old = world.add(fact(jane, "role", "lead", **at(2)))
        new = world.add(fact(jane, "role", "head", **at(3)))
        world.add(Supersede(id=old, by=new, reason="promoted", at_ms=4))
        gone = world.add(fact(jane, "desk", "4", **at(5)))
        world.add(Purge(id=gone, reason="moved out", mode="deprecate", at_ms=6))
        hidden = world.add(fact(jane, "desk", "5", **at(7)))
        world.add(Purge(id=hidden, reason="typo", at_ms=8))
        assert [f.id for f in world.detail("jane").facts] == [new]
        told = world.detail("jane", "active", "superseded", "deprecated").facts
        assert [(f.id, f.status, f.superseded_by, f.reason) for f in told] == [
            (old, "superseded", (new,), "promoted"),
            (new, "active", (), None),
            (gone, "deprecated", (), "moved out"),
        ]
        assert told[1].supersedes == (old,)

    def test_two_replacements_of_one_fact_both_stand_and_disagree(self, world: World) -> None:
        """Two machines corrected it: the old one names both, in order; a person decides."""
        jane = world.add(entity("Jane"))
        old = world.add(fact(jane, "role", "lead", **at(2)))
        one = world.add(fact(jane, "role", "head", supersedes=old, **at(3)))
        two = world.add(fact(jane, "role", "chief", supersedes=old, **at(4)))
        told = world.detail("jane", "active", "superseded").facts
        assert [(f.id, f.superseded_by, f.conflicts, f.reason) for f in told] == [
            (old, (one, two), (), None),
            (one, (), (two,), None),
            (two, (), (one,), None),
        ]

    def test_facts_that_supersede_each_other_are_both_history(self, world: World) -> None:
        """A circle that a join made leaves neither active; both are told, and nothing hangs."""
        jane = world.add(entity("Jane"))
        one = world.add(fact(jane, "role", "lead", **at(2)))
        two = world.add(fact(jane, "role", "head", **at(3)))
        world.add(Supersede(id=one, by=two, at_ms=4))
        world.add(Supersede(id=two, by=one, at_ms=5))
        assert world.detail("jane").facts == ()
        told = world.detail("jane", "superseded").facts
        assert [f.superseded_by for f in told] == [(two,), (one,)]

    def test_a_fact_says_whether_it_holds_now_and_who_says_so(self, world: World) -> None:
        """Validity is half-open; a model's fact is marked."""
        jane = world.add(entity("Jane"))
        who = Provenance(source="Model:x")
        world.add(fact(jane, "a", "1", valid_until_ms=NOW_MS, provenance=who, **at(2)))
        world.add(fact(jane, "b", "1", valid_from_ms=NOW_MS, **at(3)))
        world.add(fact(jane, "c", "1", valid_from_ms=NOW_MS + 1, **at(4)))
        told = world.detail("jane").facts
        assert [f.holds for f in told] == [False, True, False]
        assert [f.model_authored for f in told] == [True, False, False]
        assert holds(fact(jane, "d", "1"), 0)

    def test_a_fact_that_names_no_entity_waits_for_it(self, world: World) -> None:
        """Reading accepts any set of records; the entity may still come."""
        world.add(fact(GONE, "colour", "red"))
        assert world.knowledge().graph.entity(GONE) is None
        assert [row.trace.content for row in world.knowledge().graph.facts([GONE])]


class TestRelationships:
    def test_a_relationship_is_seen_from_both_ends(self, world: World) -> None:
        """It is one trace, and each end has a name and a type."""
        jane, firm = world.add(entity("Jane")), world.add(entity("Firm", "company", **at(2)))
        link = world.add(relationship(jane, "works_at", firm, valid_until_ms=1, **at(3)))
        (one,), (two,) = world.detail("jane").relationships, world.detail("firm").relationships
        assert one == two
        assert (one.id, one.relation_type, one.holds) == (link, "works_at", False)
        assert (one.from_.name, one.to.name, one.to.entity_type) == ("Jane", "Firm", "company")

    def test_a_relationship_to_a_missing_entity_is_kept_without_a_name(self, world: World) -> None:
        """Its end is an id; nothing fails, and the neighbourhood has it too."""
        jane = world.add(entity("Jane"))
        world.add(relationship(jane, "owns", GONE, **at(2)))
        (link,) = world.detail("jane").relationships
        assert (link.to.id, link.to.name) == (GONE, None)
        knowledge = world.knowledge()
        found = neighbours(knowledge, knowledge.named("jane")[0], depth=3, limit=9)
        assert [(one.id, one.name, one.depth) for one in found.entities] == [
            (jane, "Jane", 0),
            (GONE, None, 1),
        ]

    def test_neighbours_are_walked_both_ways_nearest_first(self, world: World) -> None:
        """Depth bounds the walk, a limit keeps the nearer, equal relationships are one edge."""
        names = ("a", "b", "c", "d", "e")
        a, b, c, d, e = (world.add(entity(name, **at(n))) for n, name in enumerate(names))
        first = world.add(relationship(a, "to", b, **at(11)))
        second = world.add(relationship(a, " TO", b, **at(12)))
        world.add(relationship(c, "to", b, **at(13)))
        world.add(relationship(c, "to", d, **at(14)))
        world.add(relationship(d, "to", a, **at(15)))
        world.add(relationship(d, "to", e, **at(16)))
        gone = world.add(relationship(a, "to", e, **at(17)))
        world.add(Purge(id=gone, reason="no", mode="deprecate", at_ms=18))
        knowledge = world.knowledge()
        start = knowledge.named("a")[0]
        near = neighbours(knowledge, start, depth=1, limit=9)
        assert [(one.name, one.depth) for one in near.entities] == [("a", 0), ("b", 1), ("d", 1)]
        assert {(one.from_, one.to): one.traces for one in near.relationships}[(a, b)] == (
            first,
            second,
        )
        assert near.truncated is False
        far = neighbours(knowledge, start, depth=3, limit=9)
        assert [(one.name, one.depth) for one in far.entities] == [
            ("a", 0),
            ("b", 1),
            ("d", 1),
            ("c", 2),
            ("e", 2),
        ]
        assert len(far.relationships) == 5
        cut = neighbours(knowledge, start, depth=3, limit=3)
        assert [one.name for one in cut.entities] == ["a", "b", "d"]
        assert (cut.total, cut.truncated) == (5, True)
        assert neighbours(knowledge, start, depth=1, limit=1).entities[0].name == "a"


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_order_of_the_same_records_gives_the_same_views(data: st.DataObject) -> None:
    """Details, lists, neighbourhoods and summaries depend on the set of records alone."""
    world = World()
    draw = data.draw
    made = [entity(draw(st.sampled_from("abAB")), **at(n)) for n in range(draw(st.integers(1, 4)))]
    ids = [*(stored(one, 1).id for one in made), GONE]
    pick = st.sampled_from(ids)
    for n in range(draw(st.integers(0, 8))):
        kinds = (
            fact(draw(pick), draw(st.sampled_from("pq")), draw(st.sampled_from("12")), **at(n)),
            relationship(draw(pick), "r", draw(pick), **at(n)),
            event("e", **at(n)),
        )
        made += [draw(st.sampled_from(kinds))]
    traces = st.sampled_from([stored(one, 1).id for one in made])
    switches: list[Record] = []
    for n in range(draw(st.integers(0, 3))):
        replaced = Supersede(id=draw(traces), by=draw(traces), at_ms=n)
        retired = Purge(id=draw(traces), reason="r", mode="deprecate", at_ms=n)
        switches += [replaced if draw(st.booleans()) else retired]
    for record in (*made, *switches):
        world.add(record, draw(st.integers(1, 5)))
    expected = views(world)
    world.told = draw(st.permutations(world.told))
    assert views(world) == expected


def views(world: World) -> list[object]:
    """Return everything that views say of a ledger."""
    knowledge = world.knowledge()
    listed = knowledge.listed(retired=True)
    told: list[object] = [listed, knowledge.graph.record_ids(), knowledge.graph.event_ids()]
    for view in listed.entities:
        one = knowledge.graph.entity(view.id)
        assert one is not None
        detail = knowledge.detail(one, view, statuses=("active", "superseded", "deprecated"))
        told += [detail, neighbours(knowledge, one, depth=2, limit=3)]
        told.append(summary(knowledge.detail(one, view), now_ms=NOW_MS))
    return told
