"""The neighbourhood of an entity: who is related to whom, so many steps away."""

from __future__ import annotations

from msgspec import Struct, field

from hikmah.index.classes import EntityClass
from hikmah.index.terms import normal_key
from hikmah.model.trace import Relationship
from hikmah.views.entities import End, Knowledge

MAX_DEPTH = 3
ACTIVE = frozenset({"active"})


class Neighbour(Struct, frozen=True, kw_only=True):
    """An entity, and how many steps it is from where the walk began."""

    id: str
    name: str | None
    entity_type: str | None
    depth: int


class Edge(Struct, frozen=True, kw_only=True):
    """A relationship between two entities, and the traces that say so."""

    from_: str = field(name="from")
    relation_type: str
    to: str
    traces: tuple[str, ...]


class Neighbourhood(Struct, frozen=True, kw_only=True):
    """Entities around one, nearest first, and the active relationships among those walked."""

    entities: tuple[Neighbour, ...]
    relationships: tuple[Edge, ...]
    total: int
    truncated: bool


def neighbours(
    knowledge: Knowledge, start: EntityClass, *, depth: int, limit: int
) -> Neighbourhood:
    """Walk active relationships, in both directions, from an entity.

    Args:
        knowledge: The entities of one moment.
        start: Where to begin.
        depth: How many steps at most.
        limit: How many entities at most, the first one counted; nearer ones are kept.
    """
    found: dict[str, Neighbour] = {start.id: _neighbour(knowledge.end(start.id), 0)}
    edges: dict[tuple[str, str, str], tuple[str, list[str]]] = {}
    border, seen, total = [start], {start.id}, 1
    for step in range(1, depth + 1):
        reached: dict[str, End] = {}
        for one in border:
            for row in knowledge.relationships(one, ACTIVE):
                link = row.trace.relationship or Relationship(from_="", to="", relation_type="")
                ends = (knowledge.end(link.from_), knowledge.end(link.to))
                key = (ends[0].id, normal_key(link.relation_type), ends[1].id)
                traces = edges.setdefault(key, (link.relation_type, []))[1]
                if row.id not in traces:
                    traces.append(row.id)
                reached |= {end.id: end for end in ends if end.id not in seen}
        total += len(reached)
        for end in sorted(reached.values(), key=_order)[: max(0, limit - len(found))]:
            found[end.id] = _neighbour(end, step)
        seen |= reached.keys()
        further = map(knowledge.graph.entity, sorted(reached.keys() & found.keys()))
        border = list(filter(None, further))
    kept = [key for key in edges if key[0] in found and key[2] in found]
    kept.sort(key=lambda key: (key[1], found[key[0]].name or "", found[key[2]].name or "", key))
    shown = [
        Edge(from_=key[0], relation_type=edges[key][0], to=key[2], traces=tuple(edges[key][1]))
        for key in kept
    ]
    return Neighbourhood(
        entities=tuple(found.values()),
        relationships=tuple(shown),
        total=total,
        truncated=len(found) < total,
    )


def _neighbour(end: End, depth: int) -> Neighbour:
    return Neighbour(id=end.id, name=end.name, entity_type=end.entity_type, depth=depth)


def _order(end: End) -> tuple[bool, str, str]:
    return (end.name is None, normal_key(end.name or ""), end.id)
