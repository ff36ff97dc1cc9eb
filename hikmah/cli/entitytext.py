"""How entities, facts and relationships look as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hikmah.cli.drawing import joined, status_text, tail
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line, pad, width

if TYPE_CHECKING:
    from hikmah.views.entities import (
        End,
        EntityDetail,
        EntityList,
        EntityView,
        FactView,
        RelationshipView,
    )
    from hikmah.views.neighbours import Edge, Neighbour, Neighbourhood
    from hikmah.views.summaries import EntitySummary

MAX_COLUMN = 32
BRANCH, LAST, DOWN, EMPTY = "├─ ", "└─ ", "│  ", "   "
UNSEEN = "(not in this ledger)"


def draw_entities(screen: Screen, found: EntityList) -> None:
    """Draw a table of entities."""
    screen.know(entity.id for entity in found.entities)
    if found.entities:
        rows = [
            [
                screen.id(entity.id),
                entity.entity_type,
                joined(
                    [entity.name, "" if entity.status == "active" else f"({entity.status})"], " "
                )
                + (f"  also {', '.join(entity.aliases)}" if entity.aliases else ""),
            ]
            for entity in found.entities
        ]
        screen.table(["id", "type", "name"], rows)
    else:
        screen.line("no such entity")
    tail(
        screen,
        shown=len(found.entities),
        total=found.total,
        truncated=found.truncated,
        noun="entities",
    )


def draw_detail(screen: Screen, detail: EntityDetail) -> None:
    """Draw an entity: who it is, its facts as a list, what is around it as a tree."""
    entity = detail.entity
    ends = [end.id for link in detail.relationships for end in (link.from_, link.to)]
    ids = [fact.id for fact in detail.facts] + [link.id for link in detail.relationships]
    screen.know([entity.id, *ids, *ends])
    _draw_head(screen, entity)
    if detail.facts:
        screen.heading("Facts")
        _draw_facts(screen, detail.facts)
    if detail.relationships:
        screen.heading("Relationships")
        screen.line(f"  {one_line(entity.name, 80)}")
        _draw_links(screen, entity.id, detail.relationships)
    if not detail.facts and not detail.relationships:
        screen.line("  nothing is known of it")


def _draw_head(screen: Screen, entity: EntityView) -> None:
    state = "" if entity.status == "active" else status_text(screen, entity.status)
    name = screen.style(one_line(entity.name, 120), "bold")
    screen.line(
        joined([name, entity.entity_type, screen.style(screen.id(entity.id), "cyan"), state], "  ")
    )
    if entity.aliases:
        names = ", ".join(one_line(alias, 80) for alias in entity.aliases)
        screen.wrapped(f"also known as {names}", indent=2)
    screen.wrapped(f"since {screen.time(entity.created_at_ms)}", "dim", indent=2)


def _draw_facts(screen: Screen, facts: Sequence[FactView]) -> None:
    names = [one_line(fact.predicate, MAX_COLUMN) for fact in facts]
    column = max(map(width, names))
    for name, fact in zip(names, facts, strict=True):
        said = one_line(fact.object, 400)
        marks = _marks(screen, fact)
        screen.wrapped(f"{pad(name, column)}  {said}", indent=2)
        screen.wrapped(joined([screen.id(fact.id), *marks]), "dim", indent=4 + column)


def _marks(screen: Screen, one: FactView | RelationshipView) -> list[str]:
    """Return what a person weighs a fact or relationship by."""
    since, until = one.valid_from_ms, one.valid_until_ms
    replaced = f" by {screen.ids(one.superseded_by)}" if one.superseded_by else ""
    conflicts: tuple[str, ...] = getattr(one, "conflicts", ())
    return [
        f"source {one_line(one.source, 60)}",
        f"confidence {one.confidence:g}",
        "verified" if one.verified else "",
        "by a model" if one.model_authored else "",
        f"from {screen.time(since)}" if since is not None else "",
        f"until {screen.time(until)}" if until is not None else "",
        "" if one.holds else "does not hold now",
        "" if one.status == "active" else f"{one.status}{replaced}",
        one_line(one.reason, 200) if one.reason else "",
        f"disagrees with {screen.ids(conflicts)}" if conflicts else "",
    ]


def _draw_links(screen: Screen, entity: str, links: Sequence[RelationshipView]) -> None:
    for place, link in enumerate(links):
        twig = LAST if place == len(links) - 1 else BRANCH
        outward = link.from_.id == entity
        arrow = "→" if outward else "←"
        other = _end_text(screen, link.to if outward else link.from_)
        note = joined(_marks(screen, link)[:1] + _marks(screen, link)[2:])
        screen.line(
            f"  {twig}{one_line(link.relation_type, 60)} {arrow} {other}"
            f"  {screen.style(joined([screen.id(link.id), note]), 'dim')}"
        )


def _end_text(screen: Screen, end: End | Neighbour) -> str:
    if end.name is None:
        return f"{screen.id(end.id)} {UNSEEN}"
    return f"{one_line(end.name, 80)} ({end.entity_type})"


def draw_neighbours(screen: Screen, found: Neighbourhood) -> None:
    """Draw a neighbourhood as a tree from where the walk began, each entity once in full."""
    screen.know(entity.id for entity in found.entities)
    start = found.entities[0]
    screen.line(screen.style(_end_text(screen, start), "bold"))
    _Tree(screen, found).draw(start.id, "")
    if not found.relationships:
        screen.line("  no relationships")
    tail(
        screen,
        shown=len(found.entities),
        total=found.total,
        truncated=found.truncated,
        noun="entities",
    )


class _Tree:
    """Draws each relationship of a neighbourhood once, at the end that is nearer."""

    def __init__(self, screen: Screen, found: Neighbourhood) -> None:
        self._screen = screen
        self._known = {entity.id: entity for entity in found.entities}
        self._entered = {found.entities[0].id}
        self._drawn: set[Edge] = set()
        self._touching: dict[str, list[Edge]] = {}
        for edge in found.relationships:
            for end in dict.fromkeys((edge.from_, edge.to)):
                self._touching.setdefault(end, []).append(edge)

    def draw(self, entity: str, margin: str) -> None:
        """Draw what leads from an entity, and what leads on from there."""
        depth = self._known[entity].depth
        edges = [
            edge
            for edge in self._touching.get(entity, ())
            if edge not in self._drawn and self._known[_other(edge, entity)].depth >= depth
        ]
        self._drawn.update(edges)
        for place, edge in enumerate(edges):
            other, last = _other(edge, entity), place == len(edges) - 1
            arrow = "→" if edge.from_ == entity else "←"
            text = _end_text(self._screen, self._known[other])
            twig = LAST if last else BRANCH
            self._screen.line(f"{margin}{twig}{one_line(edge.relation_type, 60)} {arrow} {text}")
            if other not in self._entered:
                self._entered.add(other)
                self.draw(other, margin + (EMPTY if last else DOWN))


def _other(edge: Edge, entity: str) -> str:
    return edge.to if edge.from_ == entity else edge.from_


def draw_summary(screen: Screen, summary: EntitySummary) -> None:
    """Draw a summary."""
    screen.know([summary.entity])
    name = screen.style(one_line(summary.name, 120), "bold")
    screen.line(
        joined([name, summary.entity_type, screen.style(screen.id(summary.entity), "cyan")], "  ")
    )
    screen.block(summary.summary_text or "nothing is known of it")
    counts = f"{summary.active_facts_count} facts, {summary.relationships_count} relationships"
    screen.wrapped(f"{counts}; changed {screen.time(summary.last_updated_ms)}", "dim", indent=2)
    if summary.disputed:
        listed = ", ".join(one_line(name, 60) for name in summary.disputed)
        screen.wrapped(f"disputed: {listed}", "yellow", indent=2)
