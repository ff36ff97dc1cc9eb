"""A ledger of entities, facts, relationships and events, and all that an index says of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hikmah.index.classes import EntityClass
from hikmah.index.database import Index
from hikmah.index.rows import Cut
from hikmah.model.records import Purge, Record, Stored, Supersede
from hikmah.model.trace import Claim, Entity, EntityType, Event, Fact, Relationship, Trace
from tests.index.ledgers import stored

GONE = "e" * 40


def entity(name: str, entity_type: EntityType = "person", **fields: Any) -> Trace:
    """Return the trace of an entity."""
    made = Entity(name=name, entity_type=entity_type)
    given: dict[str, Any] = {"created_at_ms": 1000, "kind": "belief", "entity": made} | fields
    return Trace(content=f"{name} ({entity_type})", **given)


def fact(of: str, predicate: str, value: str, *, multi: bool = False, **fields: Any) -> Trace:
    """Return the trace of a fact."""
    made = Fact(entity=of, predicate=predicate, object=value, multi=multi)
    given: dict[str, Any] = {"created_at_ms": 1000, "kind": "belief", "fact": made} | fields
    return Trace(content=f"{predicate}: {value}", **given)


def relationship(start: str, relation: str, goal: str, **fields: Any) -> Trace:
    """Return the trace of a relationship."""
    made = Relationship(from_=start, to=goal, relation_type=relation)
    given: dict[str, Any] = {"created_at_ms": 1000, "kind": "belief", "relationship": made} | fields
    return Trace(content=relation, **given)


def event(event_type: str, payload: object = None, **fields: Any) -> Trace:
    """Return the trace of an event; `session_id` and `agent_id` go into its payload."""
    names = {name: fields.pop(name, None) for name in ("session_id", "agent_id")}
    made = Event(event_type=event_type, payload=payload, **names)
    given: dict[str, Any] = {"created_at_ms": 1000, "kind": "episode", "event": made} | fields
    return Trace(content=event_type, **given)


def story() -> list[Stored]:
    """Return a ledger in which classes meet, facts are replaced and links lead nowhere."""
    told: list[Stored] = []

    def add(record: Record, seq: int | None = None) -> str:
        told.append(stored(record, len(told) + 1 if seq is None else seq))
        return told[-1].id

    jane = add(entity("Jane Chen"))
    add(entity("Jane Chen", "document", created_at_ms=1001))
    again = add(entity("  JANE  chen ", created_at_ms=1002))
    firm = add(entity("Allternit", "company", created_at_ms=1003))
    first = add(fact(jane, "role", "Staff Engineer", created_at_ms=1004))
    add(fact(again, "Role", "Principal Engineer", created_at_ms=1005))
    add(fact(jane, "speaks", "Dari", multi=True, created_at_ms=1006))
    add(fact(GONE, "colour", "red", created_at_ms=1007))
    add(fact(jane, "team", "Platform", claim=Claim(key="team", value="P"), created_at_ms=1008))
    add(relationship(jane, "works_at", firm, created_at_ms=1009))
    add(relationship(firm, "owns", GONE, created_at_ms=1010))
    bob = add(entity("Bob", created_at_ms=1011))
    add(fact(bob, "role", "Lead", created_at_ms=1012))
    rob = add(entity("Rob", created_at_ms=1013))
    add(fact(rob, "role", "Head", created_at_ms=1014))
    add(entity("Robert", supersedes=bob, created_at_ms=1015))
    add(Supersede(id=rob, by=bob, at_ms=1016))
    add(Supersede(id=bob, by=rob, at_ms=1017))
    old = add(entity("old thing", "other", created_at_ms=1018))
    add(Purge(id=old, reason="unused", mode="deprecate", at_ms=1019))
    hidden = add(entity("hidden", "other", created_at_ms=1020))
    add(Purge(id=hidden, reason="typo", at_ms=1021))
    asked = add(event("user_request", {"text": "go"}, session_id="s1", created_at_ms=1022))
    add(event("tool_call", session_id="s1", agent_id="a1", created_at_ms=1023))
    add(event("decision", agent_id="a1", created_at_ms=1024))
    add(Purge(id=asked, reason="noise", at_ms=1025))
    newer = add(fact(jane, "role", "Principal Engineer", created_at_ms=1026))
    add(Supersede(id=first, by=newer, at_ms=1027))
    told.append(msgspec.structs.replace(told[2], seq=1))  # the same trace at a second path
    return told


def said(index: Index, cut: Cut | None = None) -> str:
    """Return everything an index says of knowledge, without the numbers it may choose."""
    graph = index.graph(cut)
    ids = [GONE, *graph.record_ids()]
    listed = graph.entities(retired=True)
    names = sorted({name for one in listed.classes for name in one.names})
    told = {
        "entity": [(i, _plain(found)) for i in ids if (found := graph.entity(i)) is not None],
        "named": [(name, [_plain(one) for one in graph.named(name)]) for name in names],
        "listed": [_plain(one) for one in listed.classes],
        "persons": [one.id for one in graph.entities(kind="person").classes],
        "search": [one.id for one in graph.entities(text="JANE c").classes],
        "facts": [(i, rows) for i in ids if (rows := _rows(graph.facts([i])))],
        "links": [(i, rows) for i in ids if (rows := _rows(graph.relationships([i])))],
        "bound": sorted(graph.bound()),
        "events": _rows(graph.events()[0]),
        "session": _rows(graph.events(session="s1")[0]),
        "agent": _rows(graph.events(agent="a1", event_type="decision")[0]),
        "totals": [listed.total, graph.counts(), graph.statuses(), graph.events(limit=1)[1]],
        "ids": [graph.event_ids(), graph.entity_ids(), graph.record_ids()],
        "claims": {
            row.claim.key: _rows(graph.corpus.claims([row.claim.key.casefold()]))
            for row in graph.corpus.rows(graph.corpus.documents())
            if row.claim is not None
        },
        "disputed": _disputed(graph.contested()),
        "repeated": _repeated(graph.repeated()),
        "faint": _rows(graph.faint(max_salience=0.5, until_ms=1020)),
    }
    return msgspec.json.format(msgspec.json.encode(told, order="sorted")).decode()


def _disputed(groups: Iterable[tuple[str, list[Any]]]) -> list[Any]:
    active = ((key, [row for row in rows if row.status == "active"]) for key, rows in groups)
    return [key for key, rows in active if len({row.claim.value for row in rows}) > 1]


def _repeated(groups: Iterable[tuple[str, list[Any]]]) -> list[Any]:
    active = (
        (key, [row.claim.value for row in rows if row.status == "active"]) for key, rows in groups
    )
    return [key for key, values in active if len(set(values)) < len(values)]


def _plain(one: EntityClass) -> Any:
    members = [msgspec.structs.replace(member, doc=0) for member in one.members]
    return [one.id, one.status, one.speaker.id, one.names, members]


def _rows(rows: Iterable[Any]) -> list[Any]:
    return [
        [row.id, row.seq, row.status, row.superseded_by, row.supersedes, row.claim] for row in rows
    ]
