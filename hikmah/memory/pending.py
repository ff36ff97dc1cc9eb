"""The state a record of a batch meets: the index and what came before.

Of a record that came before as much is kept as links and retries ask for, so that a batch of
any size takes bounded room.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from hikmah.errors import InvalidInputError
from hikmah.index.database import Index
from hikmah.model.records import Record, Supersede, Unknown
from hikmah.model.status import Status, TraceState, state_of, status_given_by, strongest
from hikmah.model.trace import Trace


class Place(NamedTuple):
    """Where a record stands after a write, and whether it stood there before."""

    id: str
    seq: int
    deduplicated: bool


class Written(NamedTuple):
    """One record after a write: where it stands, and whether it stood there before."""

    id: str
    seq: int
    record: Record | Unknown
    deduplicated: bool

    @property
    def place(self) -> Place:
        """Where it stands, without the record."""
        return Place(self.id, self.seq, self.deduplicated)

    @property
    def claims(self) -> bool:
        """Whether it is a trace that states something another trace may contradict."""
        record = self.record
        if not isinstance(record, Trace):
            return False
        return record.claim is not None or (record.fact is not None and not record.fact.multi)


class _Keyed(NamedTuple):
    """The trace that was written with an idempotency key, and a digest of what it says."""

    id: str
    seq: int
    says: bytes


class Pending:
    """The state a record of a batch meets: the index, and the records of the batch before it.

    Args:
        index: The state before the batch.
        by_key: Whether the same idempotency key makes the same record.
    """

    def __init__(self, index: Index, *, by_key: bool = True) -> None:
        self._index = index
        self._by_key = by_key
        self._is_first = not index.max_seq
        self._added: dict[str, int] = {}
        self._keys: dict[str, _Keyed] = {}
        self._states: dict[str, TraceState] = {}

    def state(self, record_id: str) -> TraceState | None:
        """Return a trace's state, or None when no trace has this id."""
        own = self._states.get(record_id)
        return self._index.state(record_id) if own is None else own

    def known(self, record_id: str, record: Record | Unknown) -> Written | None:
        """Return the record that is there already: the same bytes, or the same key.

        Raises:
            InvalidInputError: The idempotency key was used for other content.
        """
        seq = self._added.get(record_id)
        if seq is None and not self._is_first:
            seq = self._index.seq_of(record_id)
        if seq is not None:
            return Written(record_id, seq, record, deduplicated=True)
        key = record.idempotency_key if isinstance(record, Trace) else None
        if key is None or not self._by_key or not isinstance(record, Trace):
            return None
        first = self._keys.get(key) or self._keyed(key)
        if first is None:
            return None
        if first.says != _says(record):
            raise InvalidInputError(
                f"idempotency key {key!r} was used for other content, in {first.id}",
                hint="a retry must repeat the content; for other content take another key",
                where="$.idempotency_key",
            )
        return Written(first.id, first.seq, record, deduplicated=True)

    def _keyed(self, key: str) -> _Keyed | None:
        first = self._index.by_key(key)
        row = self._index.row(first) if first else None
        return None if row is None else _Keyed(row.id, row.seq, _says(row.trace))

    def add(self, written: Written) -> None:
        """Take in a record, so that those after it meet its effect."""
        record_id, seq, record, _ = written
        self._added[record_id] = seq
        if isinstance(record, Unknown):
            return
        if isinstance(record, Trace):
            self._states[record_id] = state_of(record_id, record, "active", ())
            if record.idempotency_key is not None:
                self._keys[record.idempotency_key] = _Keyed(record_id, seq, _says(record))
            if record.supersedes is not None:
                self._switch(record.supersedes, "superseded", by=record_id)
        elif isinstance(record, Supersede):
            self._switch(record.id, "superseded", by=record.by)
        else:
            self._switch(record.id, status_given_by(record))

    def _switch(self, target: str, status: Status, by: str | None = None) -> None:
        old = self.state(target)
        if old is not None:
            self._states[target] = msgspec.structs.replace(
                old,
                status=strongest(old.status, status),
                superseded_by=(*old.superseded_by, by) if by else old.superseded_by,
            )


def _says(trace: Trace) -> bytes:
    """Return a digest of what a retry must repeat (times and locators may differ)."""
    said = msgspec.json.encode((trace.kind, trace.content, trace.claim, trace.supersedes))
    return hashlib.sha256(said).digest()
