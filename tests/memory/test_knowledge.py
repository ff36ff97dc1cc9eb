"""`Knowledge`: events, entities, facts, relationships and summaries through the door."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import pytest

from hikmah.errors import (
    AgentSessionError,
    AmbiguousIdError,
    DecodeError,
    HikmahError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
    SecretError,
)
from hikmah.memory import Memory
from hikmah.memory.knowledge import Knowledge
from hikmah.memory.results import Shown
from hikmah.model.policy import Policy
from tests import world
from tests.memory.conftest import ticking


@pytest.fixture
def known(memory: Memory) -> Knowledge:
    """Return the knowledge of a memory."""
    return memory.knowledge


class TestEvents:
    def test_an_event_comes_back_as_it_was_appended(self, known: Knowledge) -> None:
        """Type, session, agent, tags and any JSON, found by each of them."""
        payload = {"text": "Refactor the checkout service", "tries": [1, 2.5, None, True]}
        first = known.append_event(
            "user_request", payload, session_id="s1", agent_id="a1", tags=["shop"], source="alex"
        )
        known.append_event("tool_call", session_id="s1")
        (one,) = known.query_events_by_type("user_request").events
        assert (one.event_id, one.id) == (first.event_id, first.id)
        assert first.event_id == f"evt_{first.id[:8]}"
        assert (one.payload, one.tags, one.source) == (payload, ("shop",), "alex")
        assert one.text == "Refactor the checkout service"
        assert [e.event_type for e in known.get_recent_events(50).events] == [
            "tool_call",
            "user_request",
        ]
        assert known.query_events_by_session("s1").total == 2
        assert known.query_events(agent_id="a1").events == (one,)
        assert known.get_recent_events(1).truncated is True

    @pytest.mark.parametrize(
        ("payload", "text"),
        [
            (None, "tick"),
            ({"b": 1}, 'tick: {"b":1}'),
            ({"text": 5}, 'tick: {"text":5}'),
            ({"text": "  "}, 'tick: {"text":"  "}'),
            (["x"], 'tick: ["x"]'),
            ("x" * 3000, 'tick: "' + "x" * 1999),
        ],
        ids=["none", "an object", "text that is none", "blank text", "a list", "long"],
    )
    def test_an_event_without_text_is_told_by_its_payload(
        self, known: Knowledge, payload: Any, text: str
    ) -> None:
        """Its type and its JSON, cut at 2,000 characters."""
        known.append_event("tick", payload)
        assert known.get_recent_events().events[0].text == text

    def test_every_string_of_a_payload_is_found_by_recall(
        self, memory: Memory, known: Knowledge
    ) -> None:
        """The whole payload is indexed, whatever of it is shown."""
        event = known.append_event("tool_call", {"a": [{"deep": "zeppelin"}], "text": "short"})
        assert [r.id for r in memory.recall("zeppelin").results] == [event.id]

    def test_events_are_appended_many_at_a_time(self, known: Knowledge) -> None:
        """One commit; the short id finds each."""
        batch = known.append_events(
            [
                {"event_type": "tick", "payload": n, "session_id": "s", "source": "x"}
                for n in range(3)
            ]
        )
        assert batch.written == 3
        assert [e.payload for e in known.query_events_by_session("s").events] == [2, 1, 0]

    def test_a_retry_with_its_key_writes_nothing_twice(self, known: Knowledge) -> None:
        """As for any trace."""
        one = known.append_event("tick", {"n": 1}, idempotency_key="k")
        two = known.append_event("tick", {"n": 1}, idempotency_key="k")
        assert (two.id, two.deduplicated) == (one.id, True)

    def test_a_short_event_id_is_taken_wherever_an_id_is(
        self, memory: Memory, known: Knowledge
    ) -> None:
        """`evt_` and any unique prefix."""
        event = known.append_event("tick")
        assert memory.show(event.event_id).id == event.id
        memory.purge(event.event_id, reason="noise")
        assert known.get_recent_events().total == 0
        assert known.get_recent_events(as_of=1).total == 1

    @pytest.mark.parametrize(
        ("event_type", "payload", "error", "where"),
        [
            ("", None, InvalidInputError, "$.event.event_type"),
            ("x" * 257, None, InvalidInputError, "$.event.event_type"),
            ("t", {"a": float("nan")}, InvalidInputError, "$.event.payload.a"),
            ("t", {"a": {1, 2}}, HikmahError, "$.event.payload"),
            ("t", {1: 2}, HikmahError, "$.event.payload"),
            ("t", {"a": "x" * 70_000}, InvalidInputError, "$.event.payload"),
            ("t", {"text": "a", "key": f"AKIA{'ABCD' * 4}"}, SecretError, "$.event.payload.key"),
            ("t", {"a": "\ud800"}, DecodeError, ""),
            ("t", 2**70, InvalidInputError, "$.event.payload"),
        ],
        ids=["blank", "long", "nan", "a set", "key", "size", "secret", "surrogate", "integer"],
    )
    def test_a_payload_that_is_not_json_is_refused_with_its_place(
        self, known: Knowledge, event_type: str, payload: Any, error: type[HikmahError], where: str
    ) -> None:
        """Nothing is written."""
        with pytest.raises(HikmahError) as caught:
            known.append_event(event_type, payload)
        assert isinstance(caught.value, error | InvalidInputError)
        assert caught.value.where.startswith(where)
        with pytest.raises(NotFoundError, match="no ledger"):
            known.get_recent_events()

    def test_a_payload_that_is_nested_too_deeply_is_refused(self, known: Knowledge) -> None:
        """32 containers, no more."""
        payload: Any = "x"
        for _ in range(32):
            payload = [payload]
        known.append_event("deep", payload)
        with pytest.raises(InvalidInputError, match="deeper than 32"):
            known.append_event("deep", [payload])


class TestEntities:
    def test_an_entity_is_made_once(self, known: Knowledge) -> None:
        """Case and white space tell no names apart; types do."""
        one = known.get_or_create_entity("Jane Chen", "person", source="alex")
        again = known.get_or_create_entity(" jane  CHEN ", "person")
        other = known.get_or_create_entity("Jane Chen", "document")
        assert (one.created, again.created, other.created) == (True, False, True)
        assert (again.id, again.trace) == (one.id, None)
        assert other.id != one.id
        assert known.get_entity(one.id).entity.name == "Jane Chen"

    def test_a_name_that_fits_several_lists_them(self, known: Knowledge) -> None:
        """The type chooses, and so does the id."""
        ids = {known.get_or_create_entity("Mercury", kind).id for kind in ("project", "code")}
        with pytest.raises(AmbiguousIdError, match="name of 2 entities") as caught:
            known.get_entity("mercury")
        assert set(caught.value.candidates) == ids
        assert known.get_entity("mercury", entity_type="code").entity.entity_type == "code"
        assert {known.get_entity(one[:12]).entity.id for one in ids} == ids

    @pytest.mark.parametrize("name", ["nobody", "cafe", "ff", "a" * 40, "  "])
    def test_an_entity_that_is_not_there_is_not_found(self, known: Knowledge, name: str) -> None:
        """Neither by name nor by what looks like an id."""
        known.get_or_create_entity("Jane", "person")
        with pytest.raises(NotFoundError):
            known.get_entity(name)

    def test_a_name_may_look_like_a_prefix(self, known: Knowledge) -> None:
        """Names come first; a full id is an id."""
        cafe = known.get_or_create_entity("cafe", "company")
        assert known.get_entity("CAFE").entity.id == cafe.id

    def test_a_record_that_is_no_entity_is_none(self, memory: Memory, known: Knowledge) -> None:
        """A trace's id names no entity, nor an entity's trace what was not there yet."""
        note = memory.remember("a note")
        with pytest.raises(NotFoundError, match="no entity"):
            known.get_entity(note.id)
        jane = known.get_or_create_entity("Jane", "person")
        with pytest.raises(NotFoundError, match="no entity"):
            known.get_entity(jane.id, as_of=1)

    def test_a_type_or_status_that_is_none_is_refused(self, known: Knowledge) -> None:
        """The error lists those there are."""
        known.get_or_create_entity("Jane", "person")
        for call in (
            lambda: known.get_or_create_entity("X", "robot"),
            lambda: known.query_entities_by_type("robot"),
            lambda: known.get_entity("jane", entity_type="robot"),
            lambda: known.get_entity("jane", statuses=["purged"]),
            lambda: known.rename_entity("jane", "X", entity_type="robot"),
            lambda: known.neighbours("jane", depth=4),
            lambda: known.list_entities(limit=0),
        ):
            with pytest.raises(InvalidInputError):
                call()

    def test_a_rename_lets_all_traces_of_an_entity_give_way(
        self, known: Knowledge, memory: Memory
    ) -> None:
        """The id stays, the old name still finds it, and what was said stays said."""
        jane = known.get_or_create_entity("Jane Chen", "person")
        known.add_fact(jane.id, "role", "lead")
        again = memory.remember_batch(
            [
                {
                    "content": "Jane Chen (person)",
                    "kind": "belief",
                    "entity": {"name": "JANE CHEN", "entity_type": "person"},
                }
            ]
        )
        renamed = known.rename_entity("jane chen", "Jane Smith", source="hr")
        assert (renamed.id, renamed.name, renamed.created) == (jane.id, "Jane Smith", True)
        detail = known.get_entity("jane chen")
        assert detail.entity.aliases == ("JANE CHEN", "Jane Chen")
        assert [f.object for f in detail.facts] == ["lead"]
        shown = memory.show(again.items[0].id)
        assert isinstance(shown, Shown)
        assert shown.status == "superseded"
        assert known.get_entity("jane chen", as_of=2).entity.name == "Jane Chen"

    def test_renaming_to_another_entitys_name_makes_one_of_two(self, known: Knowledge) -> None:
        """Equal name and type are one entity; the older id is good for both."""
        one = known.get_or_create_entity("checkout-service", "code")
        two = known.get_or_create_entity("checkout", "code")
        known.add_fact(two.id, "language", "go")
        joined = known.rename_entity(one.id, "Checkout")
        assert joined.id == one.id
        assert known.get_entity(two.id).entity.id == one.id
        assert [f.object for f in known.get_entity("checkout-service").facts] == ["go"]

    def test_a_retired_entity_is_not_renamed(self, known: Knowledge) -> None:
        """It is made anew instead."""
        jane = known.get_or_create_entity("Jane", "person")
        known.deprecate("jane", reason="left")
        with pytest.raises(InvalidInputError, match="is deprecated"):
            known.rename_entity(jane.id, "Janet")
        with pytest.raises(InvalidInputError, match="no active trace"):
            known.deprecate(jane.id, reason="again")
        made = known.get_or_create_entity("Jane", "person")
        assert (made.id, made.created) == (jane.id, True)

    def test_entities_are_listed_and_searched(self, known: Knowledge) -> None:
        """By name; by type; by words of any name they had."""
        for name, kind in (("Zoe", "person"), ("Allternit", "company"), ("Adam", "person")):
            known.get_or_create_entity(name, kind)
        known.rename_entity("zoe", "Zoë Ng")
        names = [e.name for e in known.list_entities().entities]
        assert names == ["Adam", "Allternit", "Zoë Ng"]
        assert [e.name for e in known.query_entities_by_type("person").entities] == [
            "Adam",
            "Zoë Ng",
        ]
        assert [e.name for e in known.search_entities("ZOE").entities] == ["Zoë Ng"]
        assert known.search_entities("nobody").total == 0
        known.deprecate("adam", reason="left")
        assert known.list_entities(entity_type="person").total == 1
        assert known.list_entities(include_deprecated=True).total == 3

    def test_an_entity_is_recalled_by_its_name(self, memory: Memory, known: Knowledge) -> None:
        """Everything of the layers is a trace, and searchable."""
        jane = known.get_or_create_entity("Jane Chen", "person")
        fact = known.add_fact(jane.id, "favourite editor", "Kakoune")
        assert [r.id for r in memory.recall("kakoune").results] == [fact.id]
        assert memory.recall("jane").results


class TestFacts:
    def test_a_fact_that_disagrees_says_with_what(self, memory: Memory, known: Knowledge) -> None:
        """`conflicts`, recall and `entity show` say the same, until one is superseded."""
        jane = known.get_or_create_entity("Jane", "person")
        old = known.add_fact(jane.id, "role", "Staff Engineer", "review", 0.9)
        new = known.add_fact("jane", "role", "Principal Engineer", "review", 0.95)
        assert new.conflicts == (old.id,)
        (conflict,) = memory.conflicts().conflicts
        assert conflict.key == f"{jane.id}/role"
        assert [f.conflicts for f in known.get_entity("jane").facts] == [(new.id,), (old.id,)]
        recalled = {r.id: r.conflicts for r in memory.recall("engineer").results}
        assert recalled == {old.id: (new.id,), new.id: (old.id,)}
        shown = memory.show(old.id)
        assert isinstance(shown, Shown)
        assert shown.conflicts == (new.id,)
        switched = known.supersede_fact(old.id, new.id, reason="promoted")
        assert switched.target == old.id
        assert memory.conflicts().total == 0
        assert [f.status for f in known.get_entity("jane", history=True).facts] == [
            "superseded",
            "active",
        ]
        (replaced,) = known.get_entity("jane", statuses=["superseded"]).facts
        assert (replaced.superseded_by, replaced.reason) == ((new.id,), "promoted")
        then = known.get_entity("jane", as_of=3)
        assert [f.conflicts for f in then.facts] == [(new.id,), (old.id,)]

    def test_a_fact_may_replace_another_as_it_is_written(self, known: Knowledge) -> None:
        """Then nothing disagrees."""
        known.get_or_create_entity("Jane", "person")
        old = known.add_fact("jane", "role", "lead")
        new = known.add_fact("jane", "role", "head", supersedes=old.id[:10])
        assert new.conflicts == ()
        assert [f.id for f in known.get_entity("jane").facts] == [new.id]

    def test_a_fact_replaces_only_one_of_its_own_entity(
        self, memory: Memory, known: Knowledge
    ) -> None:
        """And only a fact."""
        for name in ("Jane", "Bob"):
            known.get_or_create_entity(name, "person")
        old, new = known.add_fact("jane", "role", "lead"), known.add_fact("bob", "role", "head")
        with pytest.raises(InvalidInputError, match="different entities"):
            known.supersede_fact(old.id, new.id)
        with pytest.raises(InvalidInputError, match="different entities"):
            known.add_fact("bob", "role", "chief", supersedes=old.id)
        note = memory.remember("a note")
        with pytest.raises(InvalidInputError, match="is no fact"):
            known.supersede_fact(old.id, note.id)
        first, second = (known.add_fact("jane", "role", role).id for role in ("x", "y"))
        known.supersede_fact(old.id, first)
        with pytest.raises(InvalidInputError, match="already"):
            known.supersede_fact(old.id, second)

    def test_what_is_retired_leaves_without_a_successor(
        self, memory: Memory, known: Knowledge
    ) -> None:
        """Facts and relationships by id, entities also by name; other traces are refused."""
        jane = known.get_or_create_entity("Jane", "person")
        firm = known.get_or_create_entity("Firm", "company")
        fact = known.add_fact(jane.id, "desk", "4")
        link = known.add_relationship("jane", "firm", "works_at")
        for target in (fact.id, link.id, "firm"):
            assert known.deprecate(target, reason="moved").written == 1
        detail = known.get_entity("jane", history=True)
        assert [(f.status, f.reason) for f in detail.facts] == [("deprecated", "moved")]
        assert [(r.status, r.reason) for r in detail.relationships] == [("deprecated", "moved")]
        assert known.get_entity(firm.id).entity.status == "deprecated"
        note = memory.remember("a note")
        with pytest.raises(InvalidInputError, match="is no fact, relationship or entity"):
            known.deprecate(note.id, reason="x")
        with pytest.raises(NotFoundError, match="no entity"):
            known.deprecate("nobody", reason="x")

    def test_a_fact_of_nobody_is_refused(self, known: Knowledge) -> None:
        """The entity comes first."""
        known.get_or_create_entity("Jane", "person")
        with pytest.raises(NotFoundError, match="no entity 'bob'"):
            known.add_fact("bob", "role", "lead")
        with pytest.raises(NotFoundError, match="no entity 'bob'") as caught:
            known.add_relationship("jane", "bob", "knows")
        assert caught.value.where == "to"

    def test_a_model_states_facts_and_replaces_none(self, known: Knowledge) -> None:
        """Its facts are marked, never verified, never supersede."""
        known.get_or_create_entity("Jane", "person")
        old = known.add_fact("jane", "role", "lead")
        known.add_fact("jane", "mood", "fine", "model:x", 0.9)
        assert [f.model_authored for f in known.get_entity("jane").facts] == [False, True]
        with pytest.raises(RefusedError):
            known.add_fact("jane", "role", "head", "model:x", supersedes=old.id)
        with pytest.raises(RefusedError):
            known.add_fact("jane", "role", "head", "model:x", verified=True)

    def test_facts_in_an_agent_session_carry_its_name_and_are_not_verified(
        self, repo: Path, memory: Memory, known: Knowledge
    ) -> None:
        """The rules of every write path are these verbs' too."""
        known.get_or_create_entity("Jane", "person")
        with Memory.open(repo, environ={"CLAUDECODE": "1"}, clock=ticking()) as agents:
            written = agents.knowledge.add_fact("jane", "role", "lead")
            shown = memory.show(written.id)
            assert isinstance(shown, Shown)
            assert str(shown.trace.provenance.locator).startswith("agent-session:claude-code")
            with pytest.raises(AgentSessionError):
                agents.knowledge.add_fact("jane", "role", "head", verified=True)


class TestNeighbours:
    def test_what_is_around_an_entity_is_walked_to_a_depth(self, known: Knowledge) -> None:
        """Both directions; the entity itself is the first."""
        for name in ("a1", "b1", "c1"):
            known.get_or_create_entity(name, "concept")
        known.add_relationship("a1", "b1", "leads_to")
        known.add_relationship("c1", "b1", "leads_to")
        near = known.neighbours("a1")
        assert [e.name for e in near.entities] == ["a1", "b1"]
        far = known.neighbours("a1", depth=2)
        assert [e.name for e in far.entities] == ["a1", "b1", "c1"]
        assert [e.name for e in known.neighbours("a1", depth=2, as_of=4).entities] == ["a1", "b1"]


class TestSummaries:
    def test_a_summary_is_computed_and_a_copy_kept(self, known: Knowledge) -> None:
        """The copy stays as it was; a rebuild keeps it; with a budget none is kept."""
        jane = known.get_or_create_entity("Jane", "person")
        assert known.get_summary("jane") is None
        known.add_fact(jane.id, "role", "lead")
        short = known.generate_summary("jane", budget_chars=7)
        assert short.summary_text == "role..."
        assert known.get_summary("jane") is None
        made = known.generate_summary("jane")
        assert (made.summary_text, made.active_facts_count) == ("role: lead", 1)
        known.add_fact(jane.id, "team", "core")
        assert known.get_summary(jane.id) == made
        assert known.get_stats().summary_count == 1
        assert known.generate_summary("jane", as_of=2).summary_text == "role: lead"
        assert known.get_summary("jane") == made
        with pytest.raises(InvalidInputError, match="holds nothing"):
            known.generate_summary("jane", budget_chars=0)

    def test_copies_outlive_a_rebuild_and_a_rename(self, memory: Memory, known: Knowledge) -> None:
        """They are kept by the entity, under whichever of its ids."""
        known.get_or_create_entity("Jane", "person")
        made = known.generate_summary("jane")
        memory.reindex()
        assert known.get_summary("jane") == made
        known.rename_entity("jane", "Janet")
        assert known.get_summary("janet") == made

    def test_a_schedule_refreshes_what_is_old_or_missing(self, known: Knowledge) -> None:
        """What is told is what changed."""
        jane = known.get_or_create_entity("Jane", "person")
        bob = known.get_or_create_entity("Bob", "person")
        first = known.summarize()
        assert set(first.refreshed) == {jane.id, bob.id}
        assert first.kept
        known.add_fact("jane", "role", "lead")
        young = known.summarize(older_than_ms=10**9)
        assert (young.refreshed, young.unchanged) == ((), 2)
        again = known.summarize()
        assert (again.refreshed, again.unchanged) == ((jane.id,), 1)
        named = known.summarize(["bob"])
        assert (named.refreshed, named.unchanged) == ((), 1)

    def test_a_copy_of_another_version_is_none(self, memory: Memory, known: Knowledge) -> None:
        """What cannot be read is made anew."""
        jane = known.get_or_create_entity("Jane", "person")
        known.get_stats()
        index = memory._desk.index()
        index.keep_summaries([(jane.id, b'{"version": 9}')])
        assert known.get_summary("jane") is None
        assert known.summarize().refreshed == (jane.id,)


class TestStatsAndHash:
    def test_stats_count_what_is_active_and_every_trace(
        self, memory: Memory, known: Knowledge
    ) -> None:
        """Now, and as of then."""
        known.append_event("tick")
        jane = known.get_or_create_entity("Jane", "person")
        old = known.add_fact(jane.id, "role", "lead")
        known.add_fact(jane.id, "role", "head", supersedes=old.id)
        known.add_relationship("jane", "jane", "is")
        memory.remember("a note")
        found = known.get_stats()
        assert (found.event_count, found.entity_count, found.fact_count) == (1, 1, 1)
        assert (found.relationship_count, found.summary_count) == (1, 0)
        assert found.traces == {
            "belief": {"active": 3, "superseded": 1},
            "episode": {"active": 1},
            "observation": {"active": 1},
        }
        then = known.get_stats(as_of=3)
        assert (then.fact_count, then.relationship_count) == (1, 0)
        assert then.traces == {"belief": {"active": 2}, "episode": {"active": 1}}

    def test_the_hash_is_over_the_ids_of_events_and_entities(self, known: Knowledge) -> None:
        """SHA-256 over sorted ids, a newline after each; facts do not change it."""
        event = known.append_event("tick")
        jane = known.get_or_create_entity("Jane", "person")
        told = "".join(f"{one}\n" for one in sorted([event.id, jane.id]))
        found = known.compute_hash()
        assert (found.hash, found.ids) == (hashlib.sha256(told.encode()).hexdigest(), 2)
        fact = known.add_fact("jane", "role", "lead")
        assert known.compute_hash() == found
        told = "".join(f"{one}\n" for one in sorted([event.id, jane.id, fact.id]))
        everything = known.compute_hash(everything=True)
        assert everything.hash == hashlib.sha256(told.encode()).hexdigest()
        assert known.compute_hash(everything=True, as_of=2).hash == found.hash

    def test_two_machines_with_the_same_records_have_the_same_hash_and_views(
        self, tmp_path: Path
    ) -> None:
        """The second one is a clone of the ref, and its index is its own."""
        here = world.repository(tmp_path / "here")
        with Memory.open(here, environ={}, clock=ticking()) as memory:
            known = memory.knowledge
            known.append_event("tick", {"n": 1})
            known.get_or_create_entity("Jane", "person")
            known.add_fact("jane", "role", "lead")
            known.rename_entity("jane", "Janet")
            expected = [
                known.compute_hash(),
                known.compute_hash(everything=True),
                known.get_entity("jane", history=True),
                known.list_entities(),
            ]
        there = world.repository(tmp_path / "there")
        world.git(there, "fetch", "-q", str(here), "refs/hikmah/*:refs/hikmah/*")
        with Memory.open(there, environ={}, clock=ticking()) as memory:
            known = memory.knowledge
            assert [
                known.compute_hash(),
                known.compute_hash(everything=True),
                known.get_entity("jane", history=True),
                known.list_entities(),
            ] == expected


def test_a_moment_of_knowledge_may_be_a_commit(known: Knowledge) -> None:
    """A commit means its history."""
    jane = known.get_or_create_entity("Jane", "person")
    fact = known.add_fact("jane", "role", "lead")
    known.rename_entity("jane", "Janet")
    assert known.get_entity(jane.id, as_of=fact.commit).entity.name == "Jane"
    assert known.list_entities(as_of=fact.commit).entities[0].name == "Jane"
    assert known.search_entities("jan", as_of=str(jane.commit)).total == 1


def test_sensitive_knowledge_needs_a_policy_of_library_code(repo: Path) -> None:
    """What may be kept may be shown, and only there."""
    policy = Policy(allow_sensitive_persistence=True)
    with Memory.open(repo, environ={}, clock=ticking(), policy=policy) as memory:
        memory.knowledge.append_event("note", "x", privacy="sensitive")
        memory.knowledge.get_or_create_entity("Jane", "person", privacy="sensitive")
        assert memory.knowledge.get_recent_events().total == 1
    with Memory.open(repo, environ={}, clock=ticking()) as memory:
        assert memory.knowledge.get_recent_events().total == 0
        with pytest.raises(NotFoundError):
            memory.knowledge.get_entity("jane")


def test_a_kept_promise_is_listed_with_its_evidence(memory: Memory) -> None:
    """The last that was given, a text or an id."""
    kept = memory.remember("send the report", kind="commitment", deadline_ms=2 * 10**12)
    bare = memory.remember("call home", kind="commitment")
    memory.remember("water the plants", kind="commitment")
    memory.fulfill(kept.id, evidence="mail 4711")
    memory.fulfill(bare.id)
    found = {one.id: one.evidence for one in memory.commitments(include_all=True).commitments}
    assert found.pop(kept.id) == "mail 4711"
    assert set(found.values()) == {None}


def test_knowledge_in_a_sha256_repository_has_ids_of_64_digits(tmp_path: Path) -> None:
    """The length of an id is the repository's."""
    store = world.repository(tmp_path / "sha256", "--object-format=sha256")
    with Memory.open(store, environ={}, clock=ticking()) as memory:
        known = memory.knowledge
        jane = known.get_or_create_entity("Jane", "person")
        known.add_fact(jane.id, "role", "lead")
        known.add_fact("jane", "role", "head")
        assert len(jane.id) == 64
        assert known.get_entity(jane.id).facts == known.get_entity(jane.id[:9]).facts
        assert memory.conflicts().conflicts[0].key == f"{jane.id}/role"
        assert known.list_entities(as_of=1).entities[0].id == jane.id
        assert len(known.get_entity("jane", as_of=3).facts[0].conflicts) == 1


@pytest.mark.parametrize(
    "text", ["\ud800", "\0", "\n", "'", '"', "%", "_", "é" * 9, "x" * 9_999, "🦉", ""]
)
def test_any_text_is_asked_for_without_a_crash(known: Knowledge, text: str) -> None:
    """Nothing found, or an error that says why; never an exception of another kind."""
    known.get_or_create_entity("Jane", "person")
    known.append_event("tick", session_id="s")
    for ask in (
        lambda: known.get_entity(text),
        lambda: known.search_entities(text),
        lambda: known.search_entities(text, as_of=1),
        lambda: known.query_events_by_type(text),
        lambda: known.query_events(session_id=text, agent_id=text, as_of=1),
        lambda: known.get_or_create_entity(text, "code"),
        lambda: known.add_fact("jane", text, text),
        lambda: known.add_relationship("jane", "jane", text),
        lambda: known.rename_entity("jane", text),
        lambda: known.deprecate(text, reason="r"),
        lambda: known.supersede_fact(text, text),
        lambda: known.generate_summary(text),
        lambda: known.neighbours(text),
        lambda: known.apply_evolution(text),
        lambda: known.append_event(text, {text: text}),
    ):
        with contextlib.suppress(HikmahError):
            ask()
