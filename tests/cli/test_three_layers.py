"""The three layers end to end: what the library's and the command's users would write.

Each step below is one way of using events, entities, facts, relationships, summaries, the
engine, the hash and the stats together; the library and the command do the same things, and
the last test holds the two ledgers' answers beside each other.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from hikmah.errors import DecodeError, NotFoundError, StoreError
from hikmah.ledger import durable
from hikmah.memory import Memory
from hikmah.memory.knowledge import Knowledge
from hikmah.model.trace import ENTITY_TYPES
from hikmah.views.evolution import MemoryEvolutionEngine
from tests.cli.conftest import Shell

START_MS = 1_767_225_600_000  # 2026-01-01
MINUTE_MS = 60_000
REQUEST = {"text": "Refactor the checkout service", "workspace_id": "ws_abc123"}


def through_the_library(folder: Path) -> dict[str, Any]:
    """Tell the story with `Knowledge`; return what it answered."""
    minutes = itertools.count(START_MS, MINUTE_MS)
    memory, _ = Memory.init(folder, environ={}, clock=lambda: next(minutes))
    with memory:
        kernel = Knowledge(memory, evolution=MemoryEvolutionEngine())
        return _told(kernel)


def _told(kernel: Knowledge) -> dict[str, Any]:
    # An event, found by type, by session and by recency.
    event = kernel.append_event("user_request", REQUEST, session_id="s1", source="alex")
    assert event.event_id.startswith("evt_")
    recent = kernel.get_recent_events(50)
    requests = kernel.query_events_by_type("user_request")
    assert recent.events == requests.events == kernel.query_events_by_session("s1").events
    (one,) = recent.events
    assert (one.event_type, one.payload, one.text) == ("user_request", REQUEST, REQUEST["text"])

    # Every type of entity can be made; making one twice makes one.
    for kind in ENTITY_TYPES:
        assert kernel.get_or_create_entity(f"a {kind}", kind).created
    person = kernel.get_or_create_entity("Jane Chen", "person")
    assert kernel.get_or_create_entity("Jane Chen", "person").id == person.id
    kernel.add_fact(person.id, "role", "Staff Engineer", "onboarding", 0.92)
    kernel.add_fact(person.id, "team", "Platform", "workspace_profile", 0.88)

    # Facts are versioned: the old one stays, superseded by the new one.
    old = kernel.add_fact(person.id, "role", "Staff Engineer", "review", 0.9)
    new = kernel.add_fact(person.id, "role", "Principal Engineer", "review", 0.95)
    assert old.id in new.conflicts
    kernel.supersede_fact(old.id, new.id)
    (replaced,) = kernel.get_entity(person.id, statuses=["superseded"]).facts
    assert (replaced.id, replaced.superseded_by) == (old.id, (new.id,))

    # Relationships are one, and seen from both.
    company = kernel.get_or_create_entity("Allternit", "company")
    kernel.add_relationship(person.id, company.id, "works_at")
    people = kernel.query_entities_by_type("person")
    hits = kernel.search_entities("Allternit")
    detail = kernel.get_entity(person.id)
    assert [e.name for e in people.entities] == ["a person", "Jane Chen"]
    assert [e.id for e in hits.entities] == [company.id]
    assert kernel.get_entity("Allternit").relationships == detail.relationships

    # A summary, computed and kept.
    assert kernel.get_summary(person.id) is None
    summary = kernel.generate_summary(person.id)
    assert kernel.get_summary(person.id) == summary
    assert (summary.active_facts_count, summary.relationships_count) == (3, 1)

    # Stats, and one hash of what is known.
    stats = kernel.get_stats()
    assert (stats.event_count, stats.entity_count, stats.summary_count) == (1, 9, 1)
    assert kernel.compute_hash() == kernel.compute_hash()
    assert kernel.evolve().proposals == ()
    return {
        "facts": sorted((f.predicate, f.object, f.source) for f in detail.facts),
        "summary": summary.summary_text,
        "ids": kernel.compute_hash().ids,
        "counts": (stats.event_count, stats.entity_count, stats.fact_count),
    }


def through_the_command(hikmah: Shell) -> dict[str, Any]:
    """Tell the same story with `hikmah`; return what it answered."""
    minutes = itertools.count(START_MS, MINUTE_MS)

    def run(*words: str) -> Any:
        done = hikmah(*words, "--now", str(next(minutes)))
        assert done.code == 0, done.err
        return done.document

    payload = '{"text": "Refactor the checkout service", "workspace_id": "ws_abc123"}'
    words = ("--session", "s1", "--source", "alex")
    event = run("event", "add", "user_request", "--payload", payload, *words)
    assert event["event_id"].startswith("evt_")
    recent = run("event", "list", "--recent", "50")["events"]
    assert recent == run("event", "list", "--type", "user_request")["events"]
    assert recent == run("event", "list", "--session", "s1")["events"]
    assert recent[0]["payload"] == REQUEST

    for kind in ENTITY_TYPES:
        run("entity", "add", f"a {kind}", "--type", kind)
    person = run("entity", "add", "Jane Chen", "--type", "person")["id"]
    assert run("entity", "add", "Jane Chen", "--type", "person")["created"] is False

    def fact(predicate: str, value: str, source: str, confidence: str) -> str:
        said = ("--predicate", predicate, "--object", value, "--source", source)
        written: str = run("entity", "fact", person, *said, "--confidence", confidence)["id"]
        return written

    fact("role", "Staff Engineer", "onboarding", "0.92")
    fact("team", "Platform", "workspace_profile", "0.88")
    old = fact("role", "Staff Engineer", "review", "0.9")
    new = fact("role", "Principal Engineer", "review", "0.95")
    run("entity", "supersede", old, new)
    (replaced,) = run("entity", "show", person, "--status", "superseded")["facts"]
    assert (replaced["id"], replaced["superseded_by"]) == (old, [new])

    company = run("entity", "add", "Allternit", "--type", "company")["id"]
    run("entity", "relate", "Jane Chen", "works_at", "Allternit")
    people = run("entity", "list", "--type", "person")["entities"]
    assert [e["name"] for e in people] == ["a person", "Jane Chen"]
    assert [e["id"] for e in run("entity", "search", "Allternit")["entities"]] == [company]
    detail = run("entity", "show", "Jane Chen")
    assert run("entity", "show", "Allternit")["relationships"] == detail["relationships"]

    assert run("entity", "summary", "Jane Chen", "--kept")["summary"] is None
    summary = run("entity", "summary", "Jane Chen")
    kept = run("entity", "summary", "Jane Chen", "--kept")["summary"]
    assert kept["summary_text"] == summary["summary_text"]
    stats = run("stats")
    assert stats["summary_count"] == 1
    assert run("evolve")["proposals"] == []
    return {
        "facts": sorted((f["predicate"], f["object"], f["source"]) for f in detail["facts"]),
        "summary": summary["summary_text"],
        "ids": run("hash")["ids"],
        "counts": (stats["event_count"], stats["entity_count"], stats["fact_count"]),
    }


def test_the_three_layers_through_the_library(tmp_path: Path) -> None:
    """Every verb, in the order a newcomer meets them."""
    told = through_the_library(tmp_path)
    assert told["summary"] == (
        "role: Principal Engineer; role: Staff Engineer; team: Platform; works_at Allternit"
    )


def test_the_three_layers_through_the_command(hikmah: Shell, tmp_path: Path) -> None:
    """The command does what the library does, and answers the same."""
    assert through_the_command(hikmah) == through_the_library(tmp_path / "library")


def test_the_errors_are_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there, what is no JSON, what the disk refuses."""
    memory, _ = Memory.init(tmp_path / "store", environ={})
    with memory:
        kernel = memory.knowledge
        with pytest.raises(NotFoundError):
            kernel.get_entity("nobody")
        with pytest.raises(DecodeError):
            kernel.append_event("tick", {"half": "\ud800"})

        def full(*_: object, **__: object) -> None:
            raise StoreError("no space left on device")

        monkeypatch.setattr(durable, "write_new", full)
        with pytest.raises(StoreError):
            kernel.append_event("tick")
