"""Taking entities, facts, relationships and events into the index, in any order.

Rules the module keeps:

1. What is written depends on the set of records: a fact may come before its entity, and a
   supersession before what it joins.
2. A single-valued fact claims its object under the key `<entity id>/<predicate>`, unless its
   trace has a claim of its own. When the entity's id changes, because classes met, so does
   the key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

from hikmah.index import blobs
from hikmah.index.classes import Member, described, fact_claim
from hikmah.index.rows import status_of
from hikmah.index.terms import normal_key
from hikmah.model.status import STRENGTH
from hikmah.model.trace import Claim, Entity, Event, Fact, Trace

ACTIVE = STRENGTH["active"]
_MEMBERS = (
    "SELECT r.seq, r.id, e.doc, e.name, e.type, t.status FROM entity e JOIN record r ON "
    "r.doc = e.doc JOIN trace t ON t.doc = e.doc WHERE e.class = ? ORDER BY r.seq, r.id"
)
_CLAIMED = (
    "SELECT r.doc, r.id, r.data FROM fact f JOIN claim c ON c.doc = f.doc "
    "JOIN record r ON r.doc = f.doc WHERE f.entity = ?"
)


class Joiner:
    """Writes what the payloads of traces say; `join` and `describe` derive the rest.

    Args:
        connection: The index, inside a transaction.
        word: Returns the number of a text that repeats.
        claim: Writes a claim of a document, or moves one to another key.
        fresh: Whether the index was empty before.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        word: Callable[[str], int],
        claim: Callable[[int, Claim], None],
        fresh: bool,
    ) -> None:
        self._execute = connection.execute
        self._word = word
        self._claim = claim
        self._fresh = fresh
        self._new: list[tuple[int, bytes]] = []
        self._links: list[tuple[bytes, bytes]] = []
        self._facts: list[tuple[int, Fact]] = []
        self._touched: set[int] = set()

    def add(self, doc: int, record_id: bytes, seq: int, trace: Trace) -> None:
        """Take in the payload of a trace, if it has one of ours."""
        if trace.event is not None:
            self._add_event(doc, seq, trace.event, sensitive=trace.privacy == "sensitive")
        elif trace.entity is not None:
            self._add_entity(doc, record_id, trace.entity)
        elif trace.fact is not None:
            entity = bytes.fromhex(trace.fact.entity)
            self._execute("INSERT INTO fact VALUES (?, ?)", (doc, entity))
            if trace.claim is None and not trace.fact.multi:
                self._facts.append((doc, trace.fact))
        elif trace.relationship is not None:
            ends = (trace.relationship.from_, trace.relationship.to)
            self._execute(
                "INSERT INTO relationship VALUES (?, ?, ?)", (doc, *map(bytes.fromhex, ends))
            )

    def add_link(self, target: bytes, by: bytes | None) -> None:
        """Take in that one trace replaces another."""
        if by is not None:
            self._links.append((target, by))

    def move(self, doc: int, seq: int) -> None:
        """Take in that a trace stands at a smaller sequence number than was thought."""
        self._execute("UPDATE event SET seq = ? WHERE doc = ?", (seq, doc))
        self.touch(doc)

    def touch(self, doc: int) -> None:
        """Note that something about a trace has changed that its class may depend on."""
        row = self._execute("SELECT class FROM entity WHERE doc = ?", (doc,)).fetchone()
        if row is not None:
            self._touched.add(row[0])

    def _add_event(self, doc: int, seq: int, event: Event, *, sensitive: bool) -> None:
        session, agent = event.session_id, event.agent_id
        self._execute(
            "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                doc,
                seq,
                self._word(event.event_type),
                None if session is None else self._word(session),
                None if agent is None else self._word(agent),
                ACTIVE,
                sensitive,
            ),
        )

    def _add_entity(self, doc: int, record_id: bytes, entity: Entity) -> None:
        kind, name = self._word(entity.entity_type), normal_key(entity.name)
        self._execute("INSERT INTO entity VALUES (?, ?, ?, ?)", (doc, doc, kind, name))
        self._new.append((doc, record_id))
        self._touched.add(doc)

    def join(self) -> None:
        """Join classes that met, give each its id, and let facts claim under it."""
        for doc, record_id in self._new:
            for other in self._neighbours(doc, record_id):
                self._unite(doc, other)
        for target, by in self._links:
            ends = [self._entity_at(target), self._entity_at(by)]
            if None not in ends:
                self._unite(*ends)
        for number in sorted(self._touched):
            self._identify(number)
        for doc, fact in self._facts:
            self._claim(doc, self._fact_claim(fact))

    def _neighbours(self, doc: int, record_id: bytes) -> Iterable[int]:
        """Return documents of entities that a new one is of one class with."""
        found = self._execute(
            "SELECT o.doc FROM entity e JOIN entity o ON o.name = e.name AND o.type = e.type "
            "WHERE e.doc = ? AND o.doc <> e.doc LIMIT 1",
            (doc,),
        ).fetchall()
        found += self._execute(
            "SELECT e.doc FROM link l JOIN record r ON r.id = l.by JOIN entity e ON e.doc = r.doc "
            "WHERE l.target = ?1 UNION ALL SELECT e.doc FROM link l JOIN record r "
            "ON r.id = l.target JOIN entity e ON e.doc = r.doc WHERE l.by = ?1",
            (record_id,),
        ).fetchall()
        return [other for (other,) in found]

    def _unite(self, one: Any, other: Any) -> None:
        """Make one class of the classes of two entities, given by documents."""
        query = "SELECT class FROM entity WHERE doc = ?"
        first, second = (self._execute(query, (doc,)).fetchone()[0] for doc in (one, other))
        if first == second:
            return
        kept, gone = sorted((first, second))
        self._execute("UPDATE entity SET class = ? WHERE class = ?", (kept, gone))
        self._execute("DELETE FROM class WHERE number = ?", (gone,))
        self._touched.discard(gone)
        self._touched.add(kept)

    def _entity_at(self, record_id: bytes) -> int | None:
        """Return the document of an entity's trace, or None when it is none."""
        row = self._execute(
            "SELECT e.doc FROM record r JOIN entity e ON e.doc = r.doc WHERE r.id = ?", (record_id,)
        ).fetchone()
        return None if row is None else row[0]

    def _identify(self, number: int) -> None:
        """Write a class's id; where it is a new one, move what its facts claim."""
        members = self._execute(
            "SELECT r.id FROM entity e JOIN record r ON r.doc = e.doc WHERE e.class = ? "
            "ORDER BY r.seq, r.id",
            (number,),
        ).fetchall()
        self._execute(
            "INSERT OR REPLACE INTO class VALUES (?, ?, 0, 0, 0, '')", (number, members[0][0])
        )
        if not self._fresh:
            for (member,) in members:
                self._move_claims(member)

    def _move_claims(self, entity: bytes) -> None:
        for doc, record_id, data in self._execute(_CLAIMED, (entity,)).fetchall():
            trace = blobs.unpack_record(data, record_id)
            if isinstance(trace, Trace) and trace.claim is None and trace.fact is not None:
                self._claim(doc, self._fact_claim(trace.fact))

    def _fact_claim(self, fact: Fact) -> Claim:
        row = self._execute(
            "SELECT c.id FROM record r JOIN entity e ON e.doc = r.doc "
            "JOIN class c ON c.number = e.class WHERE r.id = ?",
            (bytes.fromhex(fact.entity),),
        ).fetchone()
        return fact_claim(fact, fact.entity if row is None else row[0].hex())

    def describe(self) -> None:
        """Write who speaks for each class that changed, once all statuses are known."""
        for number in sorted(self._touched):
            members = [
                Member(seq, record_id.hex(), doc, name, str(kind), status_of(rank))
                for seq, record_id, doc, name, kind, rank in self._execute(_MEMBERS, (number,))
            ]
            one = described(members)
            self._execute(
                "UPDATE class SET doc = ?, type = ?, status = ?, name = ? WHERE number = ?",
                (
                    one.speaker.doc,
                    int(one.speaker.type),
                    STRENGTH[one.status],
                    one.speaker.name,
                    number,
                ),
            )
