"""Entities, facts, relationships and events of a ledger, at one moment.

Without a cut nothing is read but what is asked for: classes are found by tables that updates
keep. With one, classes are formed anew from the traces inside: exact, not fast.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from hikmah.index import blobs
from hikmah.index.classes import EntityClass, Member, described, grouped
from hikmah.index.container import Reader
from hikmah.index.corpus import IndexCorpus
from hikmah.index.fold import fold, inside
from hikmah.index.rows import STATUSES, Cut, Status, TraceRow, status_of
from hikmah.index.terms import normal_key
from hikmah.model.records import Stored, read_stored
from hikmah.model.status import STRENGTH

_MEMBER = (
    "SELECT r.seq, r.id, e.doc, e.name, w.text, t.status, r.at_ms FROM entity e "
    "JOIN record r ON r.doc = e.doc JOIN trace t ON t.doc = e.doc "
    "JOIN word w ON w.number = e.type "
)
_OF_CLASS = _MEMBER + "WHERE e.class = ? ORDER BY r.seq, r.id"
_LINKS = (
    "SELECT l.target, l.by, r.seq, r.at_ms FROM link l JOIN record r ON r.doc = l.doc "
    "WHERE l.by IS NOT NULL AND l.target = ?"
)
_NUMBER = "SELECT e.class FROM record r JOIN entity e ON e.doc = r.doc WHERE r.id = ?"
_EVENTS = "FROM event e WHERE e.status < ? AND e.sensitive <= ?"
_NAMED = " AND e.{} = (SELECT number FROM word WHERE text = ?)"
_WITH_NAME = (
    "c.number IN (SELECT e.class FROM entity e JOIN trace t ON t.doc = e.doc "
    "WHERE t.status <> ? AND {})"
)
_NEWEST = "ORDER BY e.seq DESC, (SELECT id FROM record r WHERE r.doc = e.doc) DESC LIMIT ?"
_SWITCHES = (
    "SELECT r.id, r.seq, r.data, r.at_ms FROM link l JOIN record r ON r.doc = l.doc "
    "WHERE l.target = ? ORDER BY r.seq, r.id"
)
_RETIRED = STRENGTH["deprecated"]
_PURGED = STRENGTH["purged"]
_BOUND = (
    "SELECT entity FROM fact p JOIN trace t ON t.doc = p.doc WHERE t.status = 0 "
    "UNION SELECT start FROM relationship p JOIN trace t ON t.doc = p.doc WHERE t.status = 0 "
    "UNION SELECT goal FROM relationship p JOIN trace t ON t.doc = p.doc WHERE t.status = 0"
)
# By payload: how many traces that are active hold it.
_ACTIVE = "SELECT count(*) FROM {} p JOIN trace t ON t.doc = p.doc WHERE t.status = 0"


class Found(NamedTuple):
    """Some classes, in the order asked for, and how many there are in all."""

    classes: tuple[EntityClass, ...]
    total: int


class Graph:
    """What the structured traces inside a cut say.

    Args:
        reader: The index.
        corpus: The traces inside the same cut.
        cut: The moment; None for now.
    """

    def __init__(self, reader: Reader, corpus: IndexCorpus, cut: Cut | None) -> None:
        self._reader = reader
        self.corpus = corpus
        self._cut = cut

    # ---- entities ----------------------------------------------------------------------

    def entity(self, record_id: str) -> EntityClass | None:
        """Return the class an entity trace belongs to; None when there is no such trace."""
        row = self._reader.one(_NUMBER, bytes.fromhex(record_id))
        classes = self._class(row[0]) if row is not None else ()
        return next((one for one in classes if record_id in one.ids), None)

    def named(self, name: str) -> list[EntityClass]:
        """Return the classes that have a name, now or before, by type; purged ones too."""
        wanted = normal_key(name)
        query = "SELECT DISTINCT class FROM entity WHERE name = ?"
        numbers = [number for (number,) in self._reader.all(query, wanted)]
        classes = (one for number in numbers for one in self._class(number))
        found = [one for one in classes if any(m.name == wanted for m in one.members)]
        return sorted(found, key=lambda one: (one.speaker.type, one.id))

    def entities(
        self,
        *,
        kind: str | None = None,
        text: str = "",
        retired: bool = False,
        limit: int | None = None,
    ) -> Found:
        """Return classes by name: those of a type, those a name of which holds some words.

        Args:
            kind: Only of this type.
            text: Words that one of its names holds; a name that is the text, or begins with
                it, comes first.
            retired: Also those that were deprecated.
            limit: At most so many.
        """
        words = normal_key(text).split()
        if self._cut is None:
            return self._stored_entities(kind, words, retired=retired, limit=limit)
        shown = {"active", "deprecated"} if retired else {"active"}
        found = [
            one
            for one in self._all_classes
            if one.status in shown
            and kind in (None, one.speaker.type)
            and (not words or any(all(w in name for w in words) for name in one.names))
        ]
        found.sort(key=functools.partial(_listing_order, text=" ".join(words)))
        return Found(tuple(found[:limit]), len(found))

    def _stored_entities(
        self, kind: str | None, words: Sequence[str], *, retired: bool, limit: int | None
    ) -> Found:
        where = ["c.status IN (0, ?)"]
        given: list[object] = [_RETIRED if retired else 0]
        if kind is not None:
            where.append("c.type = (SELECT number FROM word WHERE text = ?)")
            given.append(kind)
        if words:
            where.append(_WITH_NAME.format(" AND ".join("instr(e.name, ?)" for _ in words)))
            given += [_PURGED, *words]
        told = f"FROM class c WHERE {' AND '.join(where)}"
        text = " ".join(words)
        order = "c.name <> ? , instr(c.name, ?) <> 1, " if words else ""
        rows = self._reader.all(
            f"SELECT c.number {told} ORDER BY {order}c.name, c.id LIMIT ?",
            *given,
            *([text, text] if words else []),
            -1 if limit is None else limit,
        )
        total = self._reader.all(f"SELECT count(*) {told}", *given)[0][0]
        return Found(tuple(one for (number,) in rows for one in self._class(number)), total)

    def _class(self, number: int) -> list[EntityClass]:
        """Return the class of a number; inside a cut, the classes it falls into."""
        members = self._members(self._reader.all(_OF_CLASS, number))
        if self._cut is None:
            return [described(members)]
        return grouped(members, self._links(members))

    def _members(self, rows: Iterable[tuple[Any, ...]]) -> list[Member]:
        return [
            Member(seq, record_id.hex(), doc, name, kind, self._status(record_id, status))
            for seq, record_id, doc, name, kind, status, at_ms in rows
            if inside(self._cut, seq, at_ms)
        ]

    def _status(self, record_id: bytes, rank: int) -> Status:
        if rank and self._cut is not None:
            return fold(self._reader, record_id, self._cut).status
        return status_of(rank)

    def _links(self, members: Iterable[Member]) -> Iterator[tuple[str, str]]:
        for member in members:
            for target, by, seq, at_ms in self._reader.all(_LINKS, bytes.fromhex(member.id)):
                if inside(self._cut, seq, at_ms):
                    yield target.hex(), by.hex()

    @functools.cached_property
    def _all_classes(self) -> list[EntityClass]:
        members = self._members(self._reader.all(_MEMBER))
        return grouped(members, self._links(members))

    # ---- facts and relationships -------------------------------------------------------

    def facts(self, ids: Iterable[str]) -> list[TraceRow]:
        """Return the facts of the entities with these traces, any status, in order."""
        query = "SELECT doc FROM fact WHERE entity = ?"
        return self._rows(self._docs(query, ids))

    def relationships(self, ids: Iterable[str]) -> list[TraceRow]:
        """Return the relationships to and from the entities with these traces, in order."""
        query = "SELECT doc FROM relationship WHERE start = ?1 OR goal = ?1"
        return self._rows(self._docs(query, ids))

    def bound(self) -> set[str]:
        """Return the ids of entity traces that an active fact or relationship names."""
        if self._cut is None:
            return {record_id.hex() for (record_id,) in self._reader.all(_BOUND)}
        found = self._reader.all("SELECT doc, entity FROM fact")
        for place in ("start", "goal"):
            found += self._reader.all(f"SELECT doc, {place} FROM relationship")  # noqa: S608 - ours
        active = self._active_docs
        return {record_id.hex() for doc, record_id in found if doc in active}

    @functools.cached_property
    def _active_docs(self) -> set[int]:
        docs = self.corpus.documents()
        return {f.doc for f in self.corpus.facts(docs) if f.status == "active"}

    def _docs(self, query: str, ids: Iterable[str]) -> list[int]:
        found = (self._reader.all(query, bytes.fromhex(one)) for one in ids)
        return list(dict.fromkeys(doc for rows in found for (doc,) in rows))

    def _rows(self, docs: Sequence[int]) -> list[TraceRow]:
        rows = self.corpus.rows(docs)
        kept = [row for row in rows if inside(self._cut, row.seq, row.trace.created_at_ms)]
        return sorted(kept, key=lambda row: (row.seq, row.id))

    # ---- events ------------------------------------------------------------------------

    def events(
        self,
        *,
        event_type: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        limit: int = 50,
        allow_sensitive: bool = False,
    ) -> tuple[list[TraceRow], int]:
        """Return events that were not retired, newest first, and how many there are in all."""
        named = {"type": event_type, "session": session, "agent": agent}
        asked = {name: text for name, text in named.items() if text is not None}
        tests = "".join(_NAMED.format(name) for name in asked)
        values = [_RETIRED, int(allow_sensitive), *asked.values()]
        if self._cut is not None:
            return self._events_inside(tests, values, limit)
        where = _EVENTS + tests
        total = self._reader.all(f"SELECT count(*) {where}", *values)[0][0]
        found = self._reader.all(f"SELECT e.doc {where} {_NEWEST}", *values, limit)
        return list(self.corpus.rows([doc for (doc,) in found])), total

    def _events_inside(
        self, tests: str, values: list[Any], limit: int
    ) -> tuple[list[TraceRow], int]:
        asked = [_PURGED + 1, *values[1:]]
        found = self._reader.all(f"SELECT e.doc {_EVENTS}{tests}", *asked)
        rows = self._rows([doc for (doc,) in found])
        kept = [row for row in rows if STRENGTH[row.status] < _RETIRED]
        return kept[::-1][:limit], len(kept)

    # ---- claims ------------------------------------------------------------------------

    def repeated(self, *, singles: bool = False) -> Iterator[tuple[str, list[TraceRow]]]:
        """Yield each key one value of which two active traces claim, with all its claims.

        With `singles`, and inside a cut, every key that anything claims.
        """
        if self._cut is None and not singles:
            for (key,) in self._reader.all(
                "SELECT key FROM claim_key WHERE repeated = 1 ORDER BY key"
            ):
                yield key, list(self.corpus.claims([key]))
            return
        groups: dict[str, list[TraceRow]] = {}
        for row in self._rows([doc for (doc,) in self._reader.all("SELECT doc FROM claim")]):
            if row.claim is not None:
                groups.setdefault(normal_key(row.claim.key), []).append(row)
        yield from sorted(groups.items())

    def contested(self) -> Iterator[tuple[str, list[TraceRow]]]:
        """Yield each key with two active values, with all its claims."""
        if self._cut is not None:
            yield from self.repeated()
            return
        for (key,) in self._reader.all(
            "SELECT key FROM claim_key WHERE contested = 1 ORDER BY key"
        ):
            yield key, list(self.corpus.claims([key]))

    def faint(self, *, max_salience: float, until_ms: int) -> list[TraceRow]:
        """Return active traces of little salience that were made by a time, in order."""
        found = self._reader.all(
            "SELECT doc FROM trace WHERE coalesce(salience, 0.5) <= ? AND created_at_ms <= ?",
            max_salience,
            until_ms,
        )
        return [row for row in self._rows([doc for (doc,) in found]) if row.status == "active"]

    def leads_on(self, record_id: str) -> bool:
        """Tell whether any trace was concluded from a record."""
        found = self._reader.all(
            "SELECT r.seq, r.at_ms FROM basis b JOIN record r ON r.doc = b.doc WHERE b.id = ?",
            bytes.fromhex(record_id),
        )
        return any(inside(self._cut, seq, at_ms) for seq, at_ms in found)

    def switches(self, record_id: str) -> list[Stored]:
        """Return the records that switch a trace's status, in order."""
        found = self._reader.all(_SWITCHES, bytes.fromhex(record_id))
        return [
            Stored(id=one.hex(), seq=seq, record=read_stored(data), data=data)
            for one, seq, packed, at_ms in found
            if inside(self._cut, seq, at_ms)
            for data in (blobs.unpack(packed, one),)
        ]

    # ---- totals ------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Return how many events, entities, facts and relationships count, by these names."""
        docs = self._active_docs if self._cut is not None else None
        return {
            "event": self.events(limit=0, allow_sensitive=True)[1],
            "entity": self.entities(limit=0).total,
            "fact": self._count("fact", docs),
            "relationship": self._count("relationship", docs),
        }

    def _count(self, table: str, docs: set[int] | None) -> int:
        if docs is None:
            return int(self._reader.all(_ACTIVE.format(table))[0][0])
        found = self._reader.all(f"SELECT doc FROM {table}")  # noqa: S608 - a name of ours
        return sum(doc in docs for (doc,) in found)

    def statuses(self) -> dict[str, dict[Status, int]]:
        """Return how many traces there are by kind and status, without zeros, in order."""
        facts = self.corpus.facts(self.corpus.documents())
        found = Counter((fact.kind, STRENGTH[fact.status]) for fact in facts)
        told: dict[str, dict[Status, int]] = {}
        for (kind, rank), count in sorted(found.items()):
            told.setdefault(kind, {})[STATUSES[rank]] = count
        return told

    def entity_ids(self) -> list[str]:
        """Return the ids of all active entities, in order of their ids."""
        if self._cut is not None:
            return sorted(one.id for one in self.entities().classes)
        found = self._reader.all("SELECT id FROM class WHERE status = 0")
        return sorted(one.hex() for (one,) in found)

    def event_ids(self) -> list[str]:
        """Return the ids of all events that count, in order of their ids."""
        if self._cut is None:
            query = "SELECT r.id FROM event e JOIN record r ON r.doc = e.doc WHERE e.status < ?"
            return sorted(one.hex() for (one,) in self._reader.all(query, _RETIRED))
        rows = self._rows([doc for (doc,) in self._reader.all("SELECT doc FROM event")])
        return sorted(row.id for row in rows if STRENGTH[row.status] < _RETIRED)

    def record_ids(self) -> list[str]:
        """Return the ids of all records, of every type, in order of their ids."""
        found = self._reader.all("SELECT id, seq, at_ms FROM record ORDER BY id")
        return [i.hex() for i, seq, at_ms in found if inside(self._cut, seq, at_ms)]


def _listing_order(one: EntityClass, text: str) -> tuple[bool, bool, str, str]:
    name = one.speaker.name
    if not text:
        return (False, False, name, one.id)
    return (name != text, not name.startswith(text), name, one.id)
