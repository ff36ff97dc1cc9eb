"""The derived index: all that views ask of a ledger, from one SQLite file.

Rules the module keeps:

1. The ledger is the truth. The file can be deleted at any time; what is wrong with it is
   never an error of a command, only a reason to fill it anew (`DamagedIndexError`).
2. Every answer depends on the set of records taken in, not on the order of their arrival.
3. An update is one transaction, and says nothing when another process was faster.
4. Nothing here reads git: records come in through `extend`.

Example:
    index = Index.open(path, language="english")
    while (base := index.head) != head:
        index.extend(records_between(base, head), ledger=ledger, base=base, head=head)
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from hikmah.errors import BusyError, HikmahError, StoreError
from hikmah.index import blobs, container, schema
from hikmah.index.container import Container, StrPath, mapped_errors
from hikmah.index.corpus import IndexCorpus
from hikmah.index.rows import STATUSES, Cut, DamagedIndexError, LogRow, Status, TraceRow, status_of
from hikmah.model.records import Stored, read_stored
from hikmah.model.status import TraceState, state_of

if TYPE_CHECKING:
    from hikmah.index.graph import Graph

Progress = Callable[[int], None]
MAX_ID_BYTES = 32
_KEEP_SUMMARY = "INSERT OR REPLACE INTO kept_summary VALUES (?, ?, ?)"
_LOG = (
    "FROM record r LEFT JOIN trace t ON t.doc = r.doc "
    "LEFT JOIN word k ON k.number = t.kind LEFT JOIN word s ON s.number = t.source WHERE "
)
_COMMITMENTS = (
    "SELECT c.doc FROM commitment c JOIN record r ON r.doc = c.doc WHERE c.status IN (MARKS) "
    "ORDER BY c.deadline_ms IS NULL, c.deadline_ms, r.seq, r.id"
)
_ACTIVE_CLAIMS = (
    "SELECT c.doc FROM claim c JOIN record r ON r.doc = c.doc WHERE c.key = ? AND c.status = 0 "
    "ORDER BY r.seq, r.id"
)
_STORED = "SELECT r.id, r.seq, r.data FROM record r WHERE {} ORDER BY r.seq, r.id"


class Index:
    """One ledger's index, open. A context manager; not safe for two threads at once."""

    def __init__(self, expected: dict[str, str], opened: Container) -> None:
        self._expected = expected
        self._container = opened

    @classmethod
    def open(cls, path: StrPath | None, *, language: str, writable: bool = True) -> Index:
        """Open an index, empty when the file is missing, damaged or of another format.

        Args:
            path: The index file; None for an index in memory.
            language: The policy's language for words in Latin script.
            writable: False writes nothing to disk.
        """
        expected = schema.header(language)
        place = None if path is None else os.path.abspath(path)
        return cls(expected, container.open_container(place, expected, writable=writable))

    def __enter__(self) -> Self:
        """Return the index itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    @property
    def in_memory(self) -> bool:
        """Whether what `extend` takes in is lost with this object."""
        return self._container.path is None

    @property
    def head(self) -> str | None:
        """The commit up to which records were taken in, read afresh; None when empty."""
        return self._header("head")

    @property
    def ledger(self) -> str | None:
        """The id of the ledger that the records are from; None when empty."""
        return self._header("ledger")

    @property
    def records(self) -> int:
        """How many records the index holds, of every type."""
        return int(self._all("SELECT count(*) FROM record")[0][0])

    @property
    def max_seq(self) -> int:
        """The largest sequence number; 0 when there is none."""
        return int(self._all("SELECT max(seq) FROM record")[0][0] or 0)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Give every read inside the block one state, whatever other processes write.

        Raises:
            DamagedIndexError: Something else went wrong inside, and the file is not sound: a
                torn page can hold any value in any place.
        """
        with mapped_errors():
            self._container.connection.execute("BEGIN")
        try:
            yield
        except HikmahError:
            raise
        except Exception as e:
            if self._is_sound():
                raise
            raise DamagedIndexError(f"the index is damaged: {e}") from e
        finally:
            with contextlib.suppress(sqlite3.DatabaseError):
                self._container.connection.execute("ROLLBACK")

    def _is_sound(self) -> bool:
        try:
            return self._all("PRAGMA quick_check(1)") == [("ok",)]
        except HikmahError:
            return False

    def extend(
        self,
        stored: Iterable[Stored],
        *,
        ledger: str,
        base: str | None,
        head: str,
        reset: bool = False,
        progress: Progress | None = None,
    ) -> bool:
        """Take in records in one transaction, in any order; twice is as good as once.

        Args:
            stored: The records between the commits `base` and `head`.
            ledger: The id of the ledger they are from.
            base: What `head` said when they were looked up; of no account with `reset`.
            head: The commit they lead to.
            reset: Forget everything first: the old head is no ancestor of the new one.
            progress: Called with the number of records so far, now and then.

        Returns:
            True when the index now stands at `head`; False when another process has moved
            it away from `base`, and nothing was written: look the records up again.

        Raises:
            BusyError: Another process held the index too long.
            StoreError: The disk is full or failing; `detach` and try again.
            DamagedIndexError: The file is damaged; `recreate` and try again.
        """
        if not self._container.writable:
            self.detach()
        connection = self._container.connection
        with mapped_errors():
            connection.execute("BEGIN IMMEDIATE")
            try:
                done = self._stands_at(ledger, base, head, reset=reset)
                if done is None:
                    self._take_in(stored, ledger, head, reset=reset, progress=progress)
                connection.execute("COMMIT" if done is None else "ROLLBACK")
            except BaseException:
                with contextlib.suppress(sqlite3.DatabaseError):  # SQLite may have done it
                    connection.execute("ROLLBACK")
                raise
        return done is not False

    def _stands_at(self, ledger: str, base: str | None, head: str, *, reset: bool) -> bool | None:
        """Return True when nothing is left to do, False when it cannot be done, else None."""
        current = self.head
        if reset:
            return None
        if current is not None and self.ledger != ledger:
            raise DamagedIndexError("the index is of another ledger", hint="reset it")
        if current == head:
            return True
        return None if current == base else False

    def _take_in(
        self,
        stored: Iterable[Stored],
        ledger: str,
        head: str,
        *,
        reset: bool,
        progress: Progress | None,
    ) -> None:
        connection = self._container.connection
        if reset:
            container.empty(connection, self._expected)
        from hikmah.index.filling import fill  # questions need no filling

        for count in fill(connection, stored, self._expected["language"]):
            if progress is not None and count % 1000 == 0:
                progress(count)
        connection.executemany(
            "INSERT OR REPLACE INTO header VALUES (?, ?)", [("head", head), ("ledger", ledger)]
        )

    def detach(self) -> None:
        """Go on in memory with what the file holds, when it cannot be written."""
        copy = container.copy_to_memory(self._container)
        self._container.close()
        self._container = copy

    def recreate(self) -> None:
        """Throw the file away and go on with an empty index, in memory if it must be."""
        self._container = container.recreate(self._container, self._expected)

    def corpus(self, cut: Cut | None = None) -> IndexCorpus:
        """Return what recall searches: every trace, or those inside a cut."""
        return IndexCorpus(self._container.reader, cut)

    def graph(self, cut: Cut | None = None) -> Graph:
        """Return entities, facts, relationships and events, now or inside a cut."""
        from hikmah.index.graph import Graph  # few questions are about them

        return Graph(self._container.reader, self.corpus(cut), cut)

    def keep_summaries(self, copies: Iterable[tuple[str, bytes]]) -> bool:
        """Keep copies of summaries by entity, which a rebuild preserves; all or none.

        Returns:
            False when the file cannot be written, or is in use elsewhere for too long.
        """
        if self.in_memory or not self._container.writable:
            return False
        ledger, connection = self.ledger, self._container.connection
        rows = [(ledger, bytes.fromhex(entity), data) for entity, data in copies]
        try:
            with mapped_errors():
                connection.execute("BEGIN IMMEDIATE")
                try:
                    connection.executemany(
                        "INSERT OR REPLACE INTO kept_summary VALUES (?, ?, ?)", rows
                    )
                finally:
                    connection.execute("COMMIT")
        except (StoreError, BusyError):
            return False
        return True

    def kept_summary(self, entity: str) -> bytes | None:
        """Return the copy of an entity's summary that was kept last, or None."""
        row = self._one(
            "SELECT data FROM kept_summary WHERE ledger = ? AND entity = ?",
            self.ledger,
            bytes.fromhex(entity),
        )
        return None if row is None else bytes(row[0])

    def kept_summaries(self) -> list[tuple[str, bytes]]:
        """Return every copy of this ledger, by the id it was kept under."""
        query = "SELECT entity, data FROM kept_summary WHERE ledger = ? ORDER BY entity"
        return [(entity.hex(), bytes(data)) for entity, data in self._all(query, self.ledger)]

    def is_prefix(self, seq: int) -> bool:
        """Tell whether the records up to a number are one unjoined history of that length."""
        query = "SELECT count(*), count(DISTINCT seq) FROM record WHERE seq <= ?"
        return self._all(query, seq)[0] == (seq, seq)

    def row(self, record_id: str) -> TraceRow | None:
        """Return a trace in full, or None when no trace has that id."""
        return next(iter(self.rows([record_id])), None)

    def rows(self, ids: Iterable[str]) -> list[TraceRow]:
        """Return the traces with these ids, in that order, without those that are not there."""
        return list(self.corpus().find(ids))

    def state(self, record_id: str) -> TraceState | None:
        """Return what the rules for new records ask of a trace, or None when there is none."""
        row = self.row(record_id)
        return None if row is None else state_of(row.id, row.trace, row.status, row.superseded_by)

    def stored(self, record_id: str) -> Stored | None:
        """Return a record of any type with its bytes, or None."""
        found = self._stored("r.id = ?", bytes.fromhex(record_id))
        return found[0] if found else None

    def seq_of(self, record_id: str) -> int | None:
        """Return the sequence number of a record of any type, or None when it is not there."""
        row = self._one("SELECT seq FROM record WHERE id = ?", bytes.fromhex(record_id))
        return None if row is None else row[0]

    def resolve(self, prefix: str, limit: int = 20) -> list[str]:
        """Return the ids that begin with some hex digits, in order, records of any type."""
        low, high = _prefix_range(prefix)
        # No id reaches the end of a range that is open above: it is one byte longer.
        query = "SELECT id FROM record WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        return [found.hex() for (found,) in self._all(query, low, high, limit)]

    def by_key(self, idempotency_key: str) -> str | None:
        """Return the first trace written with an idempotency key, or None."""
        row = self._one(
            "SELECT r.id FROM idempotency i JOIN record r ON r.doc = i.doc WHERE i.key = ? "
            "ORDER BY r.seq, r.id LIMIT 1",
            idempotency_key,
        )
        return None if row is None else row[0].hex()

    def switches(self, record_id: str) -> list[Stored]:
        """Return every record that switches a trace's status, in order (superseding traces too)."""
        where = "r.doc IN (SELECT doc FROM link WHERE target = ?)"
        return self._stored(where, bytes.fromhex(record_id))

    def newest(self, seq: int) -> Stored | None:
        """Return the record that is last in order at or below a number, or None."""
        query = _STORED.format("r.seq <= ?").replace("r.seq, r.id", "r.seq DESC, r.id DESC LIMIT 1")
        row = self._one(query, seq)
        return None if row is None else _stored(*row)

    def derived(self, record_id: str) -> list[str]:
        """Return the ids of the traces that were concluded from a record, in order."""
        found = self._all(
            "SELECT r.id FROM basis b JOIN record r ON r.doc = b.doc WHERE b.id = ? "
            "ORDER BY r.seq, r.id",
            bytes.fromhex(record_id),
        )
        return [one.hex() for (one,) in found]

    def log(
        self,
        *,
        kind: str | None = None,
        source: str | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> tuple[list[LogRow], int]:
        """Return records, newest first, and how many there are in all.

        Args:
            kind: Only traces of this kind.
            source: Only traces from this source, as it is written.
            since_ms: Only records made at this time or later.
            until_ms: Only records made at this time or earlier.
            limit: How many to return.
            offset: How many of the newest to pass over.
        """
        tests = {
            "k.text = ?": kind,
            "s.text = ?": source,
            "r.at_ms >= ?": since_ms,
            "r.at_ms <= ?": until_ms,
        }
        used = {test: value for test, value in tests.items() if value is not None}
        where = _LOG + (" AND ".join(used) or "1")
        total = (
            self._all(f"SELECT count(*) {where}", *used.values())[0][0] if used else self.records
        )
        found = self._all(
            f"SELECT r.id, r.seq, r.data, t.status {where} "
            "ORDER BY r.seq DESC, r.id DESC LIMIT ? OFFSET ?",
            *used.values(),
            limit,
            offset,
        )
        return [_log_row(*row) for row in found], total

    def claims(self, normal_key: str) -> list[TraceRow]:
        """Return every trace whose claim has a normalized key, any status, in order."""
        return list(self.corpus().claims([normal_key]))

    def contested(self) -> Iterator[tuple[str, list[TraceRow]]]:
        """Yield each key with two active values, in order, with its active claims in order."""
        corpus = self.corpus()
        for key, number in self._all(
            "SELECT key, number FROM claim_key WHERE contested = 1 ORDER BY key"
        ):
            found = self._all(_ACTIVE_CLAIMS, number)
            yield key, list(corpus.rows([doc for (doc,) in found]))

    def commitments(self, *statuses: Status, due_before_ms: int | None = None) -> list[TraceRow]:
        """Return commitments with these statuses, the earliest deadline first.

        Args:
            statuses: Which; active ones when none is given.
            due_before_ms: Only those with a deadline before this time.
        """
        ranks = [STATUSES.index(status) for status in statuses or ("active",)]
        query = _COMMITMENTS.replace("MARKS", ", ".join("?" * len(ranks)))
        if due_before_ms is not None:
            query = query.replace("ORDER", "AND c.deadline_ms < ? ORDER", 1)
            ranks.append(due_before_ms)
        found = self._all(query, *ranks)
        return list(self.corpus().rows([doc for (doc,) in found]))

    def counts(self) -> dict[str, dict[Status, int]]:
        """Return how many traces there are by kind and status, without zeros, in order."""
        found: dict[str, dict[Status, int]] = {}
        for kind, status, count in self._all(
            # CROSS: from the few totals to their words, never through every word.
            "SELECT w.text, t.status, t.count FROM tally t CROSS JOIN word w ON w.number = t.kind "
            "WHERE t.count > 0 ORDER BY w.text, t.status"
        ):
            found.setdefault(kind, {})[status_of(status)] = count
        return found

    def _stored(self, where: str, *values: object) -> list[Stored]:
        return [_stored(*row) for row in self._all(_STORED.format(where), *values)]

    def _header(self, name: str) -> str | None:
        row = self._one("SELECT value FROM header WHERE name = ?", name)
        return None if row is None else str(row[0])

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        return self._container.reader.one(query, *values)

    def _all(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._container.reader.all(query, *values)


def _stored(record_id: bytes, seq: int, packed: bytes) -> Stored:
    data = blobs.unpack(packed, record_id)
    return Stored(id=record_id.hex(), seq=seq, record=read_stored(data), data=data)


def _log_row(record_id: bytes, seq: int, packed: bytes, status: int | None) -> LogRow:
    return LogRow(
        id=record_id.hex(),
        seq=seq,
        record=blobs.unpack_record(packed, record_id),
        status=None if status is None else status_of(status),
    )


def _prefix_range(prefix: str) -> tuple[bytes, bytes]:
    """Return the ids a prefix of hex digits may stand for: from, and up to but without."""
    digits = prefix.lower()
    low = bytes.fromhex(digits + "0" * (len(digits) % 2))
    high = bytes.fromhex(digits + "f" * (len(digits) % 2)) + b"\xff" * MAX_ID_BYTES
    return low, high
