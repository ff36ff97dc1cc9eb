"""The state a record of a batch meets: the index and what came before."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from hikmah.errors import InvalidInputError
from hikmah.index.database import Index
from hikmah.model.records import Record, Supersede
from hikmah.model.status import Status, TraceState, state_of, status_given_by, strongest
from hikmah.model.trace import Trace


class Written(NamedTuple):
    """One record after a write: where it stands, and whether it stood there before."""

    id: str
    seq: int
    record: Record
    deduplicated: bool


class Pending:
    """The state a record of a batch meets: the index, and the records of the batch before it."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._added: dict[str, Written] = {}
        self._keys: dict[str, Written] = {}
        self._states: dict[str, TraceState] = {}

    def state(self, record_id: str) -> TraceState | None:
        """Return a trace's state, or None when no trace has this id."""
        own = self._states.get(record_id)
        return self._index.state(record_id) if own is None else own

    def known(self, record_id: str, record: Record) -> Written | None:
        """Return the record that is there already: the same bytes, or the same key.

        Raises:
            InvalidInputError: The idempotency key was used for other content.
        """
        if record_id in self._added:
            return self._added[record_id]._replace(deduplicated=True)
        stored = self._index.stored(record_id)
        if stored is not None:
            return Written(stored.id, stored.seq, record, deduplicated=True)
        key = record.idempotency_key if isinstance(record, Trace) else None
        if key is None:
            return None
        first = self._by_key(key)
        if first is not None and not _same_content(first.record, record):
            raise InvalidInputError(
                f"idempotency key {key!r} was used for other content, in {first.id}",
                hint="a retry must repeat the content; for other content take another key",
                where="$.idempotency_key",
            )
        return first

    def _by_key(self, key: str) -> Written | None:
        if key in self._keys:
            return self._keys[key]._replace(deduplicated=True)
        first = self._index.by_key(key)
        row = self._index.row(first) if first else None
        return None if row is None else Written(row.id, row.seq, row.trace, deduplicated=True)

    def add(self, written: Written) -> None:
        """Take in a record, so that those after it meet its effect."""
        self._added[written.id] = written
        record = written.record
        if isinstance(record, Trace):
            self._states[written.id] = state_of(written.id, record, "active", ())
            if record.idempotency_key is not None:
                self._keys[record.idempotency_key] = written
            if record.supersedes is not None:
                self._switch(record.supersedes, "superseded", by=written.id)
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


def _same_content(first: Record, second: Record) -> bool:
    """Tell whether a retry repeats what was said (times and locators may differ)."""
    same = ("kind", "content", "claim", "supersedes")
    return all(getattr(first, name, None) == getattr(second, name, None) for name in same)
