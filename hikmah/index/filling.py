"""Taking records into the index, in any order, inside one transaction.

Rules the module keeps:

1. The tables afterwards depend on the *set* of records taken in, but for the numbers that
   are never shown.
2. A record that comes twice counts once, at its smallest sequence number.
3. Memory is bounded: postings are written whenever enough of them wait.
"""

from __future__ import annotations

import functools
import sqlite3
from collections import Counter
from collections.abc import Iterable

from hikmah.index import blobs, documents, terms
from hikmah.index.container import Reader
from hikmah.index.fold import ACTIVE, fold, link_of
from hikmah.index.joining import Joiner
from hikmah.index.postings import PostingWriter, tag_term
from hikmah.index.rows import STATUSES, DamagedIndexError
from hikmah.index.schema import CEILINGS, DEFAULT_UNIT
from hikmah.model.records import Record, Stored, Unknown, record_time_ms, record_type
from hikmah.model.trace import Claim, Trace

# Words kept by number while records are taken in; past it, they are looked up again.
MAX_WORDS = 100_000
# Records written together: SQLite is called once for each table, not once for each row.
TOGETHER = 256


class Filler:
    """Takes in records one by one; `finish` derives what depends on them together."""

    def __init__(self, connection: sqlite3.Connection, language: str) -> None:
        self._execute = connection.execute
        self._connection = connection
        self._reader = Reader(connection)
        self._language = language
        self._postings = PostingWriter(connection)
        self._waiting: list[Stored] = []
        self._words: dict[str, int] = {}
        self._next_doc = 1 + (self._number("SELECT max(doc) FROM record") or 0)
        self._refold: set[bytes] = set()
        self._keys: set[int] = set()
        self._links_before = self._next_doc > 1
        self._joiner = Joiner(
            connection, word=self._word, claim=self._put_claim, fresh=not self._links_before
        )
        self._tallies: Counter[tuple[int, int]] = Counter()
        self._traces = 0
        self._length = 0
        self._ceilings = [0.0, 0.0, 0.0, 0.0]

    def add(self, stored: Stored) -> None:
        """Take in one record, with those that came just before."""
        self._waiting.append(stored)
        if len(self._waiting) >= TOGETHER:
            self._take_in()

    def _take_in(self) -> None:
        """Write the records that wait: what stands for itself first, then what it points at."""
        waiting, self._waiting = self._waiting, []
        known = self._known(waiting)
        new: list[tuple[int, bytes, Stored]] = []
        again: list[tuple[bytes, int]] = []
        for stored in waiting:
            record_id = bytes.fromhex(stored.id)
            if record_id in known:
                again.append((record_id, stored.seq))
                continue
            known.add(record_id)
            new.append((self._next_doc, record_id, stored))
            self._next_doc += 1
        self._add_rows(new)
        for doc, record_id, stored in new:
            self._add_links(doc, record_id, stored)
        for record_id, seq in again:
            self._move_back(record_id, seq)

    def _known(self, waiting: list[Stored]) -> set[bytes]:
        """Return which records of some are in the index already."""
        if not waiting:
            return set()
        marks = ", ".join("?" * len(waiting))
        query = f"SELECT id FROM record WHERE id IN ({marks})"  # noqa: S608 - marks alone
        ids = [bytes.fromhex(stored.id) for stored in waiting]
        return {record_id for (record_id,) in self._execute(query, ids)}

    def _add_links(self, doc: int, record_id: bytes, stored: Stored) -> None:
        """Write what a record does to others, and have what depends on it looked at."""
        if isinstance(stored.record, Trace):
            self._joiner.add(doc, record_id, stored.seq, stored.record)
        link = link_of(stored.record, stored.id)
        if link is not None:
            target = bytes.fromhex(link.target)
            by = None if link.by is None else bytes.fromhex(link.by)
            self._execute("INSERT INTO link VALUES (?, ?, ?, ?)", (doc, target, link.status, by))
            self._refold.add(target)
            self._joiner.add_link(target, by)
        # In an empty index the links to a trace come in this update, and name it themselves.
        if self._links_before and isinstance(stored.record, Trace) and self._has_link(record_id):
            self._refold.add(record_id)

    def finish(self) -> None:
        """Write the postings that wait, then classes, statuses, disputed claims and totals."""
        self._take_in()
        self._postings.flush()
        self._joiner.join()
        for target in sorted(self._refold):
            self._set_status(target)
        self._joiner.describe()
        for key in sorted(self._keys):
            self._set_contested(key)
        self._connection.executemany(
            "INSERT INTO tally VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET count = count + excluded.count",
            [(*place, change) for place, change in sorted(self._tallies.items())],
        )
        self._add_to_header("traces", self._traces)
        self._add_to_header("length", self._length)
        for name, value in zip(CEILINGS, self._ceilings, strict=True):
            self._raise_header(name, value)

    def _add_rows(self, new: list[tuple[int, bytes, Stored]]) -> None:
        """Write records, and the columns and terms of those that are traces."""
        traces = {doc: stored.record for doc, _, stored in new if isinstance(stored.record, Trace)}
        # One kind of work after the other: each has its code and its tables at hand.
        found = {doc: documents.document(one, self._language) for doc, one in traces.items()}
        prints = {doc: documents.fingerprint(one.content) for doc, one in found.items()}
        packed = [blobs.pack(stored.data, record_id) for _, record_id, stored in new]
        records: list[tuple[object, ...]] = []
        columns: list[tuple[object, ...]] = []
        for (doc, record_id, stored), data in zip(new, packed, strict=True):
            if doc in traces:
                columns.append(self._columns(doc, stored.seq, traces[doc], found[doc].length))
            kind, at_ms = self._type(stored.record)
            records.append((doc, record_id, stored.seq, kind, at_ms, data, prints.get(doc)))
        many = self._connection.executemany
        many("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?)", records)
        many("INSERT INTO trace VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?)", columns)
        for doc, trace in traces.items():
            self._add_terms(doc, trace, found[doc])
        for doc, trace in traces.items():
            self._add_tables(doc, trace)
        if traces:
            self._ceilings = list(map(max, self._ceilings, *map(_facts, traces.values())))

    def _type(self, record: Record | Unknown) -> tuple[int, int]:
        """Return the number of a record's type, and when it was made."""
        at_ms = 0 if isinstance(record, Unknown) else record_time_ms(record)
        return self._word(record_type(record)), at_ms

    def _add_terms(self, doc: int, trace: Trace, document: documents.Document) -> None:
        self._traces += 1
        self._length += document.length
        self._postings.add(doc, document.counts, document.length)
        if trace.tags:
            self._postings.add(doc, dict.fromkeys(map(_tag_term, trace.tags), 1), 0)

    def _add_tables(self, doc: int, trace: Trace) -> None:
        """Write what only some traces have, each in a table of its own."""
        if trace.claim is not None:
            self._put_claim(doc, trace.claim)
        if trace.kind == "commitment":
            self._execute(
                "INSERT INTO commitment VALUES (?, ?, ?)", (doc, ACTIVE, trace.deadline_ms)
            )
        for basis in trace.derived_from:
            values = (bytes.fromhex(basis), doc)
            self._execute("INSERT OR IGNORE INTO basis VALUES (?, ?)", values)
        if trace.idempotency_key is not None:
            self._execute("INSERT INTO idempotency VALUES (?, ?)", (trace.idempotency_key, doc))

    def _columns(self, doc: int, seq: int, trace: Trace, length: int) -> tuple[object, ...]:
        """Return a trace's row; NULL stands for the field's default."""
        kind = self._word(trace.kind)
        source = trace.provenance
        self._tallies[kind, ACTIVE] += 1
        return (
            doc,
            seq,
            trace.created_at_ms,
            kind,
            self._word(source.source),
            length,
            ACTIVE,
            None if trace.privacy == "private" else self._word(trace.privacy),
            trace.deadline_ms,
            None if trace.salience == DEFAULT_UNIT else trace.salience,
            None if trace.confidence == DEFAULT_UNIT else trace.confidence,
            None if source.authority == DEFAULT_UNIT else source.authority,
            1 if source.verified else None,
        )

    def _put_claim(self, doc: int, claim: Claim) -> None:
        """Write what a trace claims, or move it to another key."""
        before = self._number("SELECT key FROM claim WHERE doc = ?", doc)
        text = terms.normal_key(claim.key)
        self._execute("INSERT OR IGNORE INTO claim_key (key) VALUES (?)", (text,))
        key = self._must("SELECT number FROM claim_key WHERE key = ?", text)
        value = terms.normal_value(claim.value)
        self._execute(
            "INSERT INTO claim VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET key = excluded.key",
            (doc, key, ACTIVE, value),
        )
        self._keys.update((key,) if before is None else (key, before))

    def _has_link(self, record_id: bytes) -> bool:
        query = "SELECT 1 FROM link WHERE target = ?"
        return self._execute(query, (record_id,)).fetchone() is not None

    def _move_back(self, record_id: bytes, seq: int) -> None:
        """Give a record that stands at a second path its smaller sequence number."""
        query = "SELECT doc FROM record WHERE id = ? AND seq > ?"
        row = self._execute(query, (record_id, seq)).fetchone()
        if row is None:
            return
        doc = row[0]
        self._execute("UPDATE record SET seq = ? WHERE doc = ?", (seq, doc))
        self._execute("UPDATE trace SET seq = ? WHERE doc = ?", (seq, doc))
        self._joiner.move(doc, seq)
        for (target,) in self._execute("SELECT target FROM link WHERE doc = ?", (doc,)).fetchall():
            self._refold.add(target)

    def _set_status(self, target: bytes) -> None:
        """Write the status that all links together give a trace, if it has arrived."""
        row = self._execute(
            "SELECT t.doc, t.kind, t.status FROM record r JOIN trace t ON t.doc = r.doc "
            "WHERE r.id = ?",
            (target,),
        ).fetchone()
        if row is None:
            return
        doc, kind, old = row
        folded = fold(self._reader, target)
        new = STATUSES.index(folded.status)
        self._execute(
            "UPDATE trace SET status = ?, status_seq = ? WHERE doc = ?",
            (new, folded.status_seq, doc),
        )
        if new == old:
            return
        self._tallies[kind, old] -= 1
        self._tallies[kind, new] += 1
        self._execute("UPDATE commitment SET status = ? WHERE doc = ?", (new, doc))
        self._execute("UPDATE claim SET status = ? WHERE doc = ?", (new, doc))
        self._execute("UPDATE event SET status = ? WHERE doc = ?", (new, doc))
        self._joiner.touch(doc)
        key = self._number("SELECT key FROM claim WHERE doc = ?", doc)
        if key is not None:
            self._keys.add(key)

    def _set_contested(self, key: int) -> None:
        """Mark a key that has two active values (the ends of the index tell), or one twice."""
        self._execute(
            "UPDATE claim_key SET contested = coalesce("
            "(SELECT min(value) FROM claim WHERE key = ?1 AND status = 0) <> "
            "(SELECT max(value) FROM claim WHERE key = ?1 AND status = 0), 0), "
            "repeated = EXISTS (SELECT 1 FROM claim WHERE key = ?1 AND status = 0 "
            "GROUP BY value HAVING count(*) > 1) WHERE number = ?1",
            (key,),
        )

    def _word(self, text: str) -> int:
        """Return the number of a text that repeats, giving it one when it is new."""
        number = self._words.get(text)
        if number is None:
            self._execute("INSERT OR IGNORE INTO word (text) VALUES (?)", (text,))
            number = self._must("SELECT number FROM word WHERE text = ?", text)
            if len(self._words) >= MAX_WORDS:
                self._words.clear()
            self._words[text] = number
        return number

    def _number(self, query: str, *values: object) -> int | None:
        row = self._execute(query, values).fetchone()
        return None if row is None else row[0]

    def _must(self, query: str, value: str) -> int:
        """Return the number of a text that was written just before."""
        number = self._number(query, value)
        if number is None:
            raise DamagedIndexError(f"{value[:40]!r} was written and is not there")
        return number

    def _add_to_header(self, name: str, change: int) -> None:
        self._execute(
            "INSERT INTO header VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET value = value + excluded.value",
            (name, change),
        )

    def _raise_header(self, name: str, value: float) -> None:
        self._execute(
            "INSERT INTO header VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
            (name, value),
        )


def _facts(trace: Trace) -> tuple[float, float, float, float]:
    """Return what the header keeps the ceilings of."""
    source = trace.provenance
    return trace.salience, trace.confidence, source.authority, float(source.verified)


@functools.lru_cache(maxsize=1 << 12)
def _tag_term(tag: str) -> str:
    return tag_term(terms.normal_tag(tag))


def fill(connection: sqlite3.Connection, stored: Iterable[Stored], language: str) -> Iterable[int]:
    """Take in records, yielding how many so far after each; the last step derives the rest."""
    filler = Filler(connection, language)
    for count, one in enumerate(stored, start=1):
        filler.add(one)
        yield count
    filler.finish()
