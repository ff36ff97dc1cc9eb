"""Summaries: an entity in a short text, computed from what is active.

Rules the module keeps:

1. The text holds the facts that are active and hold now, by salience, then confidence, then
   the newest; then relationships; as many as fit, each once.
2. Facts that disagree are all said, and their predicates are listed as disputed.
3. A copy is stale when it says something else than would be said now.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from msgspec import Struct

from hikmah.index.terms import normal_key, normal_value
from hikmah.views.entities import EntityDetail, FactView, RelationshipView

BUDGET_CHARS = 600
BETWEEN = "; "
MORE = "..."


class EntitySummary(Struct, frozen=True, kw_only=True):
    """What is known of an entity, in short.

    The counts are of active facts and of distinct active relationships; `last_updated_ms` is
    when the newest of what it is made of was written.
    """

    entity: str
    name: str
    entity_type: str
    summary_text: str
    active_facts_count: int
    relationships_count: int
    disputed: tuple[str, ...]
    last_updated_ms: int
    generated_at_ms: int


def summary(
    detail: EntityDetail, *, now_ms: int, budget_chars: int = BUDGET_CHARS
) -> EntitySummary:
    """Return the summary of an entity from its active facts and relationships.

    Args:
        detail: The entity with what is active of it.
        now_ms: The clock.
        budget_chars: How long the text may be at most.
    """
    entity = detail.entity
    facts = sorted(detail.facts, key=_weight)
    links = sorted(detail.relationships, key=_weight)
    said = [f"{one_line(f.predicate)}: {one_line(f.object)}" for f in facts if f.holds]
    said += [_linked(link, entity.id) for link in links if link.holds]
    disputed = {
        normal_key(f.predicate): one_line(f.predicate) for f in reversed(facts) if f.conflicts
    }
    times = [one.created_at_ms for one in facts] + [one.created_at_ms for one in links]
    return EntitySummary(
        entity=entity.id,
        name=entity.name,
        entity_type=entity.entity_type,
        summary_text=_fitted(said, budget_chars),
        active_facts_count=len(facts),
        relationships_count=len({_triple(link) for link in links}),
        disputed=tuple(disputed[key] for key in sorted(disputed)),
        last_updated_ms=max([entity.updated_at_ms, *times]),
        generated_at_ms=now_ms,
    )


def is_stale(copy: EntitySummary, fresh: EntitySummary) -> bool:
    """Tell whether a copy says something else than a summary of now."""
    return _content(copy) != _content(fresh)


def _content(one: EntitySummary) -> tuple[object, ...]:
    names = [name for name in one.__struct_fields__ if name != "generated_at_ms"]
    return tuple(getattr(one, name) for name in names)


def one_line(text: str) -> str:
    """Return a text with its white space collapsed."""
    return normal_value(text)


def _weight(one: FactView | RelationshipView) -> tuple[float, float, int, str]:
    return (-one.salience, -one.confidence, -one.seq, one.id)


def _linked(link: RelationshipView, entity: str) -> str:
    """Return a relationship as seen from an entity: `works_at Allternit`, `Jane works_at`."""
    relation = one_line(link.relation_type)
    if link.from_.id == entity:
        return f"{relation} {link.to.name or link.to.id}"
    return f"{link.from_.name or link.from_.id} {relation}"


def _triple(link: RelationshipView) -> tuple[str, str, str]:
    return (link.from_.id, normal_key(link.relation_type), link.to.id)


def _fitted(said: Iterable[str], budget_chars: int) -> str:
    """Return as many of some texts, in order, as a budget holds; one alone is cut to it."""
    parts = _distinct(said)
    whole = BETWEEN.join(parts)
    if len(whole) <= budget_chars:
        return whole
    room = budget_chars - len(MORE)
    lengths = itertools.accumulate(len(part) + len(BETWEEN) for part in parts)
    kept = sum(length <= room for length in lengths)
    if kept:
        return BETWEEN.join([*parts[:kept], MORE])
    return whole[: max(0, room)] + MORE[:budget_chars]


def _distinct(said: Iterable[str]) -> list[str]:
    """Return texts in order, without those that differ from one before in case alone."""
    kept: dict[str, str] = {}
    for text in said:
        kept.setdefault(text.casefold(), text)
    return list(kept.values())
