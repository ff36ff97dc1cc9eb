"""The verbs of `Knowledge` that read: entities, events, stats, hash."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hikmah.errors import AmbiguousIdError, InvalidInputError, NotFoundError
from hikmah.index.classes import EntityClass
from hikmah.index.database import Index
from hikmah.memory.desk import MIN_PREFIX, Desk
from hikmah.memory.knowledge_results import KnowledgeHash, KnowledgeStats
from hikmah.memory.moments import moment
from hikmah.memory.reading import checked_limit
from hikmah.model.problems import unicode_problem
from hikmah.model.trace import ENTITY_TYPES
from hikmah.views.entities import (
    FACT_STATUSES,
    EntityDetail,
    EntityList,
    EntityView,
    Knowledge,
)
from hikmah.views.events import EventList, event_list
from hikmah.views.neighbours import MAX_DEPTH, Neighbourhood, neighbours

_HEX_DIGITS = frozenset("0123456789abcdef")
_FULL_LENGTHS = (40, 64)


class At(NamedTuple):
    """The knowledge of one moment, the index that is asked for it, and the moment's commit."""

    asked: Index
    knowledge: Knowledge
    head: str


@contextlib.contextmanager
def at_moment(desk: Desk, index: Index, as_of: str | int | None) -> Iterator[At]:
    """Give the knowledge of the moment that `as_of` names."""
    with moment(desk, index, as_of) as at:
        knowledge = Knowledge(
            at.asked.graph(at.cut),
            now_ms=at.now_ms,
            allow_sensitive=desk.policy.allow_sensitive_persistence,
        )
        yield At(at.asked, knowledge, at.head)


def find(
    desk: Desk, at: At, text: str, *, entity_type: str | None = None, where: str = "entity"
) -> tuple[EntityClass, EntityView]:
    """Return the one entity that an id, a prefix or a name means.

    A full id is an id; other texts are names first, since a name may look like a prefix.

    Raises:
        NotFoundError: There is none.
        AmbiguousIdError: Several have the name, or ids with the prefix.
    """
    checked_type(entity_type)
    checked_text(where, text)
    plain = text.strip().lower()
    is_id = len(plain) >= MIN_PREFIX and _HEX_DIGITS.issuperset(plain)
    named = () if is_id and len(plain) in _FULL_LENGTHS else at.knowledge.named(text, entity_type)
    found = [(one, view) for one in named if (view := at.knowledge.entity(one)) is not None]
    if len(found) > 1:
        raise _ambiguous(text, [view for _, view in found])
    if found:
        return found[0]
    if is_id:
        one = at.knowledge.graph.entity(desk.resolve(at.asked, plain, where=where))
        view = None if one is None else at.knowledge.entity(one)
        if one is not None and view is not None:
            return one, view
    raise NotFoundError(
        f"no entity {text[:80]!r}" + (f" of type {entity_type}" if entity_type else ""),
        hint="`hikmah entity search` finds entities by words of their names",
        where=where,
    )


def _ambiguous(text: str, views: Iterable[EntityView]) -> AmbiguousIdError:
    listed = [(f"{view.name} ({view.entity_type})", view.id) for view in views]
    told = ", ".join(f"{identity} {name}" for name, identity in listed)
    return AmbiguousIdError(
        f"{text[:80]!r} is the name of {len(listed)} entities: {told}",
        candidates=tuple(identity for _, identity in listed),
        hint="give the id, or the type",
    )


def checked_type(entity_type: str | None) -> None:
    """Refuse what is no type of entity."""
    if entity_type is not None and entity_type not in ENTITY_TYPES:
        raise InvalidInputError(
            f"{entity_type!r} is not a type of entity",
            hint=f"types: {', '.join(ENTITY_TYPES)}",
            where="entity_type",
        )


def checked_text(where: str, *texts: str | None) -> None:
    """Refuse text that no UTF-8 can write, which no index can be asked for."""
    for text in texts:
        problem = None if text is None else unicode_problem(where, text)
        if problem is not None:
            raise problem.error()


def entity(
    desk: Desk,
    text: str,
    *,
    entity_type: str | None,
    history: bool,
    statuses: Iterable[str] | None,
    as_of: str | int | None,
) -> EntityDetail:
    """Return an entity with its facts; see `Knowledge.get_entity`."""
    wanted = tuple(statuses) if statuses is not None else FACT_STATUSES if history else ("active",)
    unknown = [status for status in wanted if status not in FACT_STATUSES]
    if unknown:
        raise InvalidInputError(
            f"{unknown[0]!r} is not a status of a fact",
            hint=f"statuses: {', '.join(FACT_STATUSES)}",
            where="status",
        )

    def question(index: Index) -> EntityDetail:
        with at_moment(desk, index, as_of) as at:
            one, view = find(desk, at, text, entity_type=entity_type)
            return at.knowledge.detail(one, view, statuses=wanted)

    return desk.answer(question)


def entities(
    desk: Desk,
    text: str,
    *,
    entity_type: str | None,
    retired: bool,
    limit: int,
    as_of: str | int | None,
) -> EntityList:
    """Return entities by name; see `Knowledge.search_entities`."""
    checked = checked_limit(limit)
    checked_type(entity_type)
    checked_text("text", text)

    def question(index: Index) -> EntityList:
        with at_moment(desk, index, as_of) as at:
            return at.knowledge.listed(
                entity_type=entity_type, text=text, retired=retired, limit=checked
            )

    return desk.answer(question)


def around(
    desk: Desk, text: str, *, depth: int, limit: int, as_of: str | int | None
) -> Neighbourhood:
    """Return the neighbourhood of an entity; see `Knowledge.neighbours`."""
    checked = checked_limit(limit)
    if not 1 <= depth <= MAX_DEPTH:
        raise InvalidInputError(
            f"depth {depth!r} is out of range",
            hint=f"give a number of steps from 1 to {MAX_DEPTH}",
            where="depth",
        )

    def question(index: Index) -> Neighbourhood:
        with at_moment(desk, index, as_of) as at:
            one, _ = find(desk, at, text)
            return neighbours(at.knowledge, one, depth=depth, limit=checked)

    return desk.answer(question)


def events(
    desk: Desk,
    *,
    event_type: str | None,
    session: str | None,
    agent: str | None,
    limit: int,
    as_of: str | int | None,
) -> EventList:
    """Return events, newest first; see `Knowledge.query_events`."""
    checked = checked_limit(limit)
    checked_text("event", event_type, session, agent)

    def question(index: Index) -> EventList:
        with at_moment(desk, index, as_of) as at:
            rows, total = at.knowledge.graph.events(
                event_type=event_type,
                session=session,
                agent=agent,
                limit=checked,
                allow_sensitive=at.knowledge.allow_sensitive,
            )
            return event_list(rows, total)

    return desk.answer(question)


def stats(desk: Desk, *, as_of: str | int | None) -> KnowledgeStats:
    """Return how much there is; see `Knowledge.get_stats`."""

    def question(index: Index) -> KnowledgeStats:
        with at_moment(desk, index, as_of) as at:
            counts = at.knowledge.graph.counts()
            statuses = index.counts() if as_of is None else at.knowledge.graph.statuses()
            return KnowledgeStats(
                event_count=counts["event"],
                entity_count=counts["entity"],
                fact_count=counts["fact"],
                relationship_count=counts["relationship"],
                summary_count=len(index.kept_summaries()),
                traces={kind: {str(s): n for s, n in by.items()} for kind, by in statuses.items()},
            )

    return desk.answer(question)


def fingerprint(desk: Desk, *, everything: bool, as_of: str | int | None) -> KnowledgeHash:
    """Return the determinism hash; see `Knowledge.compute_hash`."""
    import hashlib  # loads OpenSSL, which other questions do without

    def question(index: Index) -> KnowledgeHash:
        with at_moment(desk, index, as_of) as at:
            graph = at.knowledge.graph
            if everything:
                ids = graph.record_ids()
            else:
                ids = sorted([*graph.event_ids(), *graph.entity_ids()])
            told = "".join(f"{one}\n" for one in ids)
            digest = hashlib.sha256(told.encode()).hexdigest()
            return KnowledgeHash(hash=digest, ids=len(ids), everything=everything)

    return desk.answer(question)


def named(desk: Desk, name: str, entity_type: str | None) -> EntityDetail | None:
    """Return the active entity of a name; see `Transferring.entity_named`."""
    checked_type(entity_type)
    checked_text("name", name)

    def question(index: Index) -> EntityDetail | None:
        with at_moment(desk, index, None) as at:
            found = [
                (one, view)
                for one in at.knowledge.named(name, entity_type)
                if one.status == "active" and (view := at.knowledge.entity(one)) is not None
            ]
            if len(found) > 1:
                raise _ambiguous(name, [view for _, view in found])
            return at.knowledge.detail(*found[0]) if found else None

    return desk.answer(question)


def everything(desk: Desk, *, allow_sensitive: bool) -> list[EntityDetail]:
    """Return every active entity in full; see `Transferring.entities`."""

    def question(index: Index) -> list[EntityDetail]:
        allow = allow_sensitive or desk.policy.allow_sensitive_persistence
        knowledge = Knowledge(index.graph(), now_ms=desk.clock(), allow_sensitive=allow)
        classes = knowledge.graph.entities().classes
        views = ((one, knowledge.entity(one)) for one in classes)
        return [knowledge.detail(one, view) for one, view in views if view is not None]

    return desk.answer(question)
