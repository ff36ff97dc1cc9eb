"""Summaries: an entity in a short text."""

from __future__ import annotations

import msgspec
import pytest

from hikmah.model.trace import Provenance
from hikmah.views.events import event_list, event_view
from hikmah.views.summaries import EntitySummary, is_stale, summary
from tests.index.knowledge import GONE, entity, event, fact, relationship
from tests.index.ledgers import filled, stored
from tests.views.test_entities import World, at

NOW_MS = 50_000


def summed(world: World, budget_chars: int = 600) -> EntitySummary:
    """Return the summary of the entity called Jane."""
    detail = world.detail("jane", now_ms=NOW_MS)
    return summary(detail, now_ms=NOW_MS, budget_chars=budget_chars)


def jane() -> tuple[World, str]:
    """Return a ledger that knows Jane, and her id."""
    world = World()
    return world, world.add(entity("Jane"))


def test_what_matters_most_comes_first() -> None:
    """By salience, then confidence, then the newest; facts before relationships."""
    world, who = jane()
    firm = world.add(entity("Firm", "company", **at(2)))
    world.add(relationship(who, "works_at", firm, salience=1.0, **at(3)))
    world.add(relationship(firm, "employs", who, **at(4)))
    world.add(relationship(who, "owns", GONE, **at(5)))
    world.add(relationship(GONE, "owns", who, **at(6)))
    world.add(fact(who, "old", "1", **at(7)))
    world.add(fact(who, "new", "2", **at(8)))
    world.add(fact(who, "sure", "3", confidence=0.9, **at(9)))
    world.add(fact(who, "great", "4  4", salience=0.9, **at(10)))
    made = summed(world)
    assert made.summary_text == (
        "great: 4 4; sure: 3; new: 2; old: 1; works_at Firm; "
        f"{GONE} owns; owns {GONE}; Firm employs"
    )
    assert (made.active_facts_count, made.relationships_count) == (4, 4)
    assert (made.name, made.entity_type, made.entity) == ("Jane", "person", who)
    assert made.generated_at_ms == NOW_MS
    assert made.last_updated_ms == 1000


def test_only_what_holds_now_is_said_and_everything_active_is_counted() -> None:
    """What one source said twice is said once; relationships count by what they say."""
    world, who = jane()
    world.add(fact(who, "role", "lead", valid_until_ms=NOW_MS, **at(2000)))
    world.add(fact(who, "role", "head", valid_from_ms=NOW_MS, **at(3000)))
    world.add(fact(who, "Role", "Head", provenance=Provenance(source="b"), **at(4000)))
    world.add(relationship(who, "is", who, valid_until_ms=1, **at(5000)))
    world.add(relationship(who, "IS", who, valid_until_ms=2, **at(6000)))
    made = summed(world)
    assert made.summary_text == "Role: Head"
    assert (made.active_facts_count, made.relationships_count) == (3, 1)
    assert made.disputed == ("Role",)
    assert made.last_updated_ms == 6000


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (100, "b: 22; a: 11"),
        (12, "b: 22; a: 11"),
        (11, "b: 22; ..."),
        (9, "b: 22;..."),
        (4, "b..."),
        (2, ".."),
    ],
)
def test_a_text_keeps_to_its_budget(budget: int, text: str) -> None:
    """Whole parts as far as they fit; a first part too long is cut."""
    world, who = jane()
    world.add(fact(who, "a", "11", **at(2)))
    world.add(fact(who, "b", "22", **at(3)))
    assert summed(world, budget).summary_text == text


def test_an_entity_of_which_nothing_is_known_has_an_empty_text() -> None:
    """There is nothing to say, and the counts say so."""
    world, _ = jane()
    made = summed(world)
    assert (made.summary_text, made.active_facts_count, made.disputed) == ("", 0, ())


def test_a_copy_is_stale_when_it_says_something_else() -> None:
    """When it was made does not count, what it says does."""
    world, who = jane()
    copy = summed(world)
    later = msgspec.structs.replace(copy, generated_at_ms=NOW_MS + 1)
    assert not is_stale(copy, later)
    world.add(fact(who, "a", "1", **at(2)))
    assert is_stale(copy, summed(world))


def test_events_are_shown_with_their_payload() -> None:
    """The short id, the type, where it happened and any JSON."""
    told = stored(event("tool_call", {"n": [1, None]}, session_id="s", tags=("x",)), 3)
    rows, total = filled([told]).graph().events()
    view = event_view(rows[0])
    assert (view.event_id, view.id) == (f"evt_{told.id[:8]}", told.id)
    assert (view.event_type, view.session_id, view.agent_id) == ("tool_call", "s", None)
    assert (view.payload, view.tags, view.text) == ({"n": [1, None]}, ("x",), "tool_call")
    assert event_list(rows, total).truncated is False
    assert event_list(rows, 9).truncated is True
