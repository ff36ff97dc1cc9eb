"""Entities, their facts and relationships, as of one moment.

Rules the module keeps:

1. An entity is a class of traces (`hikmah.index.classes`); a fact or a relationship belongs to
   the whole class, whichever of its traces it names.
2. Facts are shown active ones first, and all of them when history is asked for; what was
   purged, and what the policy hides, is not shown at all.
3. A relationship is one, and is seen from both its ends. An end that is not in the ledger, or
   was purged, has an id and no name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from hikmah.index.terms import normal_key
from hikmah.model.records import Purge, Supersede
from hikmah.model.trace import Fact, Relationship, Trace, is_model
from hikmah.views.claims import conflicting
from hikmah.views.corpus import Row, Status

if TYPE_CHECKING:
    from hikmah.index.classes import EntityClass
    from hikmah.index.graph import Graph

FactStatus = Literal["active", "superseded", "deprecated"]
FACT_STATUSES: tuple[FactStatus, ...] = ("active", "superseded", "deprecated")


class EntityView(Struct, frozen=True, kw_only=True):
    """One entity: its id is that of its first trace, its name that of its newest active one."""

    id: str
    name: str
    entity_type: str
    status: Status
    aliases: tuple[str, ...]
    traces: tuple[str, ...]
    created_at_ms: int
    updated_at_ms: int


class Statement(Struct, frozen=True, kw_only=True):
    """What facts and relationships have in common: who said it, and what became of it.

    `holds` tells whether its validity covers now; `reason` is what was given when it was
    replaced or retired.
    """

    id: str
    seq: int
    status: Status
    superseded_by: tuple[str, ...]
    reason: str | None
    source: str
    verified: bool
    model_authored: bool
    confidence: float
    salience: float
    created_at_ms: int
    valid_from_ms: int | None
    valid_until_ms: int | None
    holds: bool


class FactView(Statement, frozen=True, kw_only=True):
    """`predicate: object` of one entity; `conflicts` are active facts that say otherwise."""

    entity: str
    predicate: str
    object: str
    multi: bool
    supersedes: tuple[str, ...]
    conflicts: tuple[str, ...]


class End(Struct, frozen=True, kw_only=True):
    """One end of a relationship; without a name when the entity is not there to see."""

    id: str
    name: str | None
    entity_type: str | None


class RelationshipView(Statement, frozen=True, kw_only=True):
    """One relationship between two entities, seen from either."""

    from_: End = field(name="from")
    relation_type: str
    to: End


class EntityDetail(Struct, frozen=True, kw_only=True):
    """One entity with its facts and relationships, in the order of the ledger."""

    entity: EntityView
    facts: tuple[FactView, ...]
    relationships: tuple[RelationshipView, ...]


class EntityList(Struct, frozen=True, kw_only=True):
    """Some entities, and how many there are in all."""

    entities: tuple[EntityView, ...]
    total: int
    truncated: bool


class Knowledge:
    """Reads entities of one moment.

    Args:
        graph: The structured traces of that moment.
        now_ms: The clock of that moment.
        allow_sensitive: Whether sensitive traces may be shown.
    """

    def __init__(self, graph: Graph, *, now_ms: int, allow_sensitive: bool = False) -> None:
        self.graph = graph
        self.now_ms = now_ms
        self.allow_sensitive = allow_sensitive
        self._ends: dict[str, tuple[str, EntityView | None]] = {}

    def named(self, name: str, entity_type: str | None = None) -> list[EntityClass]:
        """Return the entities that a name may mean: active ones, else those retired."""
        found = [
            one
            for one in self.graph.named(name)
            if one.status != "purged" and entity_type in (None, one.speaker.type)
        ]
        return [one for one in found if one.status == "active"] or found

    def listed(
        self,
        *,
        entity_type: str | None = None,
        text: str = "",
        retired: bool = False,
        limit: int | None = None,
    ) -> EntityList:
        """Return entities by name; with a text, those a name of which holds its words."""
        found = self.graph.entities(kind=entity_type, text=text, retired=retired, limit=limit)
        views = [self.entity(one) for one in found.classes]
        return EntityList(
            entities=tuple(view for view in views if view is not None),
            total=found.total,
            truncated=len(found.classes) < found.total,
        )

    def entity(self, one: EntityClass) -> EntityView | None:
        """Return a class as people see it; None when it is purged or hidden."""
        members = [m for m in one.members if m.status != "purged"]
        rows = {row.id: row for row in self.graph.corpus.rows([m.doc for m in members])}
        if one.status == "purged" or not all(map(self._visible, rows.values())):
            return None
        names = {row.id: _name(row.trace) for row in rows.values()}
        current = names[one.speaker.id]
        former = [names[m.id] for m in reversed(members) if m.name != one.speaker.name]
        times = [row.trace.created_at_ms for row in rows.values()]
        return EntityView(
            id=one.id,
            name=current,
            entity_type=one.speaker.type,
            status=one.status,
            aliases=tuple(dict.fromkeys(former)),
            traces=one.ids,
            created_at_ms=min(times),
            updated_at_ms=max(times),
        )

    def detail(
        self,
        one: EntityClass,
        view: EntityView,
        *,
        statuses: Iterable[str] = ("active",),
    ) -> EntityDetail:
        """Return an entity with its facts and relationships of some statuses."""
        wanted = frozenset(statuses)
        return EntityDetail(
            entity=view,
            facts=tuple(self._fact(row, one.id) for row in self.facts(one, wanted)),
            relationships=tuple(self._relationship(row) for row in self.relationships(one, wanted)),
        )

    def facts(self, one: EntityClass, statuses: frozenset[str]) -> list[Row]:
        """Return the facts of an entity with some statuses, in the order of the ledger."""
        return self._kept(self.graph.facts(one.ids), statuses)

    def relationships(self, one: EntityClass, statuses: frozenset[str]) -> list[Row]:
        """Return the relationships of an entity with some statuses, in the ledger's order."""
        return self._kept(self.graph.relationships(one.ids), statuses)

    def _kept(self, rows: Sequence[Row], statuses: frozenset[str]) -> list[Row]:
        return [row for row in rows if row.status in statuses and self._visible(row)]

    def _visible(self, row: Row) -> bool:
        return self.allow_sensitive or row.trace.privacy != "sensitive"

    def _fact(self, row: Row, entity: str) -> FactView:
        fact = row.trace.fact or Fact(entity=entity, predicate="", object="")
        return FactView(
            entity=entity,
            predicate=fact.predicate,
            object=fact.object,
            multi=fact.multi,
            supersedes=row.supersedes,
            conflicts=self._conflicts(row),
            **self._statement(row),
        )

    def _statement(self, row: Row) -> dict[str, Any]:
        """Return the fields of `Statement`."""
        trace, origin = row.trace, row.trace.provenance
        return {
            "id": row.id,
            "seq": row.seq,
            "status": row.status,
            "superseded_by": row.superseded_by,
            "reason": self._reason(row),
            "source": origin.source,
            "verified": origin.verified,
            "model_authored": is_model(origin.source),
            "confidence": trace.confidence,
            "salience": trace.salience,
            "created_at_ms": trace.created_at_ms,
            "valid_from_ms": trace.valid_from_ms,
            "valid_until_ms": trace.valid_until_ms,
            "holds": holds(trace, self.now_ms),
        }

    def _conflicts(self, row: Row) -> tuple[str, ...]:
        if row.status != "active" or row.claim is None:
            return ()
        rivals = self.graph.corpus.claims([normal_key(row.claim.key)])
        return conflicting(row, [rival for rival in rivals if self._visible(rival)])

    def _reason(self, row: Row) -> str | None:
        """Return why a trace is no longer active, as its last switch says."""
        if row.status == "active":
            return None
        said = [
            stored.record.reason
            for stored in self.graph.switches(row.id)
            if isinstance(stored.record, Purge | Supersede) and stored.record.reason
        ]
        return said[-1] if said else None

    def _relationship(self, row: Row) -> RelationshipView:
        ends = row.trace.relationship or Relationship(from_="", to="", relation_type="")
        return RelationshipView(
            from_=self.end(ends.from_),
            relation_type=ends.relation_type,
            to=self.end(ends.to),
            **self._statement(row),
        )

    def end(self, trace_id: str) -> End:
        """Return the entity that a trace is of, as the end of a relationship."""
        if trace_id not in self._ends:
            one = self.graph.entity(trace_id)
            view = None if one is None else self.entity(one)
            self._ends[trace_id] = (trace_id if one is None else one.id, view)
        identity, view = self._ends[trace_id]
        if view is None:
            return End(id=identity, name=None, entity_type=None)
        return End(id=identity, name=view.name, entity_type=view.entity_type)


def holds(trace: Trace, now_ms: int) -> bool:
    """Tell whether a trace's validity covers a moment; it is half-open."""
    start, end = trace.valid_from_ms, trace.valid_until_ms
    return (start is None or start <= now_ms) and (end is None or now_ms < end)


def _name(trace: Trace) -> str:
    return " ".join(trace.entity.name.split()) if trace.entity else ""
