"""The verbs of `Knowledge` that write: events, entities, facts, relationships."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from hikmah.errors import DecodeError, InvalidInputError
from hikmah.index.classes import EntityClass
from hikmah.index.database import Index
from hikmah.index.terms import normal_value
from hikmah.memory import writing
from hikmah.memory.building import build_trace, provenance
from hikmah.memory.desk import Desk
from hikmah.memory.knowledge_reading import At, at_moment, checked_text, checked_type, find
from hikmah.memory.knowledge_results import EntityFound, EventAppended
from hikmah.memory.results import Batch, Remembered, Switched
from hikmah.model.payloads import json_problem
from hikmah.model.records import Purge, Supersede, blob_id, canonical, convert
from hikmah.views.entities import EntityView
from hikmah.views.events import event_id

R = TypeVar("R")
MAX_SHOWN_CHARS = 2_000
_OF_EVENT = ("event_type", "session_id", "agent_id", "payload")


# ---- events ----------------------------------------------------------------------------


def append_event(desk: Desk, event: Mapping[str, Any], fields: Mapping[str, Any]) -> EventAppended:
    """Write one event; see `Knowledge.append_event`."""
    written = writing.remember(desk, _event(event, fields))
    return EventAppended(
        event_id=event_id(written.id),
        id=written.id,
        seq=written.seq,
        commit=written.commit,
        deduplicated=written.deduplicated,
        warnings=written.warnings,
    )


def append_events(desk: Desk, items: Sequence[Mapping[str, Any]]) -> Batch:
    """Write many events as one commit; see `Knowledge.append_events`."""
    parted = [
        (
            {name: item.get(name) for name in _OF_EVENT},
            {name: value for name, value in item.items() if name not in _OF_EVENT},
        )
        for item in items
    ]
    return writing.remember_batch(desk, [_event(event, fields) for event, fields in parted])


def _event(event: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    problem = json_problem(event.get("payload"))
    if problem is not None:
        raise DecodeError(problem.message, hint=problem.hint, where=problem.where)
    return {**fields, "kind": "episode", "event": dict(event), "content": _event_content(event)}


def _event_content(event: Mapping[str, Any]) -> str:
    """Return what an event says in words: its payload's text, or its type and its JSON."""
    payload = event.get("payload")
    text = payload.get("text") if isinstance(payload, Mapping) else None
    if isinstance(text, str) and text.strip():
        return text
    kind = str(event.get("event_type")).strip()
    if payload is None:
        return kind or "event"
    told = msgspec.json.encode(payload).decode()
    return f"{kind}: {told[:MAX_SHOWN_CHARS]}"


# ---- entities --------------------------------------------------------------------------


def get_or_create_entity(
    desk: Desk, name: str, entity_type: str, fields: Mapping[str, Any]
) -> EntityFound:
    """Return an entity, written when it is not there; see `Knowledge.get_or_create_entity`."""
    checked_type(entity_type)
    checked_text("$.entity.name", name)

    def there(at: At) -> EntityFound | None:
        for one in at.knowledge.named(name, entity_type):
            view = at.knowledge.entity(one)
            if one.status == "active" and view is not None:
                return _found(view, created=False)
        return None

    if desk.ledger.tip_commit() is not None:
        found = _ask(desk, there)
        if found is not None:
            return found
    written = writing.remember(desk, _entity(name, entity_type, fields))
    return _written_entity(desk, written.id, written.commit, written.warnings)


def rename_entity(
    desk: Desk, text: str, name: str, entity_type: str | None, fields: Mapping[str, Any]
) -> EntityFound:
    """Give an entity another name; see `Knowledge.rename_entity`."""
    checked_type(entity_type)
    one, view = _ask(desk, lambda at: find(desk, at, text))
    active = [member.id for member in one.members if member.status == "active"]
    if not active:
        raise InvalidInputError(
            f"entity {view.id} is {view.status}", hint="`hikmah entity add` makes it anew"
        )
    *others, current = active
    said = _entity(name, entity_type or view.entity_type, fields) | {"supersedes": current}
    trace = build_trace(desk, said)
    renamed = blob_id(canonical(trace), desk.ledger.algorithm)
    source = str(fields.get("source", ""))
    # Two machines may have made it: all that speak for it give way to the new name.
    links = [
        Supersede(
            id=other,
            by=renamed,
            reason="renamed",
            at_ms=desk.clock(),
            provenance=provenance(desk, source),
        )
        for other in others
    ]
    outcome = writing.write(desk, [trace, *links])
    return _written_entity(desk, renamed, outcome.commit, outcome.warnings)


def _entity(name: str, entity_type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **fields,
        "kind": "belief",
        "content": f"{normal_value(name)} ({entity_type})",
        "entity": {"name": name, "entity_type": entity_type},
    }


def _written_entity(
    desk: Desk, trace: str, commit: str | None, warnings: tuple[str, ...]
) -> EntityFound:
    _, view = _ask(desk, lambda at: find(desk, at, trace))
    found = _found(view, created=True)
    return msgspec.structs.replace(found, trace=trace, commit=commit, warnings=warnings)


def _found(view: EntityView, *, created: bool) -> EntityFound:
    return EntityFound(id=view.id, name=view.name, entity_type=view.entity_type, created=created)


# ---- facts and relationships -----------------------------------------------------------


def add_fact(
    desk: Desk, text: str, fact: Mapping[str, Any], fields: Mapping[str, Any]
) -> Remembered:
    """Write a fact of an entity; see `Knowledge.add_fact`."""
    one, view = _ask(desk, lambda at: find(desk, at, text))
    replaced = fields.get("supersedes")
    if isinstance(replaced, str):
        _same_entity(desk, [replaced], one)
    said = f"{view.name} {normal_value(fact['predicate'])}: {normal_value(fact['object'])}"
    return writing.remember(
        desk,
        {**fields, "kind": "belief", "content": said, "fact": {**fact, "entity": one.id}},
    )


def supersede_fact(desk: Desk, old: str, new: str, *, reason: str | None, source: str) -> Switched:
    """Put one fact in the place of another; see `Knowledge.supersede_fact`."""
    _same_entity(desk, [old, new], None)
    return writing.supersede(desk, old, new, reason=reason, source=source)


def _same_entity(desk: Desk, facts: Sequence[str], one: EntityClass | None) -> None:
    """Refuse to replace a fact by one of another entity."""

    def check(at: At) -> None:
        entities = set() if one is None else {one.id}
        for text in facts:
            record_id = desk.resolve(at.asked, text)
            row = next(iter(at.asked.rows([record_id])), None)
            if row is None or row.trace.fact is None:
                raise InvalidInputError(f"record {record_id} is no fact", where="fact")
            entities.add(at.knowledge.end(row.trace.fact.entity).id)
        if len(entities) > 1:
            raise InvalidInputError(
                "the facts are of different entities: " + ", ".join(sorted(entities)),
                hint="deprecate the old fact, and add the new one to its own entity",
                where="supersedes",
            )

    _ask(desk, check)


def add_relationship(
    desk: Desk, from_: str, to: str, relation_type: str, fields: Mapping[str, Any]
) -> Remembered:
    """Write that two entities are related; see `Knowledge.add_relationship`."""

    def ends(at: At) -> list[tuple[EntityClass, EntityView]]:
        return [find(desk, at, from_, where="from"), find(desk, at, to, where="to")]

    (start, one), (goal, other) = _ask(desk, ends)
    return writing.remember(
        desk,
        {
            **fields,
            "kind": "belief",
            "content": f"{one.name} {normal_value(relation_type)} {other.name}",
            "relationship": {"from": start.id, "to": goal.id, "relation_type": relation_type},
        },
    )


def deprecate(desk: Desk, target: str, *, reason: str, source: str) -> Batch:
    """Retire a fact, a relationship or an entity; see `Knowledge.deprecate`."""
    checked_text("target", target)
    ids = _ask(desk, lambda at: _retired(desk, at, target))
    raw = {"type": "purge", "reason": reason, "mode": "deprecate", "at_ms": desk.clock()}
    said = msgspec.to_builtins(provenance(desk, source))
    purges = [convert({**raw, "id": one, "provenance": said}, Purge) for one in ids]
    outcome = writing.write(desk, purges)
    items = tuple(
        Remembered(
            id=item.id,
            seq=item.seq,
            commit=outcome.commit or "",
            deduplicated=item.deduplicated,
        )
        for item in outcome.items
    )
    return Batch(commit=outcome.commit, written=len(items), items=items, warnings=outcome.warnings)


def _retired(desk: Desk, at: At, target: str) -> list[str]:
    """Return the traces that retiring a target retires."""
    row = next(iter(at.asked.rows(_ids(desk, at, target))), None)
    if row is not None and row.trace.entity is None:
        if row.trace.fact is None and row.trace.relationship is None:
            raise InvalidInputError(
                f"record {row.id} is no fact, relationship or entity",
                hint="`hikmah purge --deprecate` retires other traces",
            )
        return [row.id]
    one, view = find(desk, at, target)
    active = [member.id for member in one.members if member.status == "active"]
    if not active:
        raise InvalidInputError(f"entity {view.id} has no active trace: it is {view.status}")
    return active


def _ids(desk: Desk, at: At, target: str) -> list[str]:
    """Return the record that an id or a prefix means; none for a name."""
    if at.knowledge.named(target):
        return []
    try:
        return [desk.resolve(at.asked, target)]
    except InvalidInputError:  # no id: a name that nobody has, which `find` says
        return []


def _ask(desk: Desk, question: Callable[[At], R]) -> R:
    """Ask the knowledge of now something."""

    def ask(index: Index) -> R:
        with at_moment(desk, index, None) as at:
            return question(at)

    return desk.answer(ask)
