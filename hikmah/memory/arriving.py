"""Counts what a join brings, for a person to look at.

`take` is told under the writer lock, before the ref moves, so that the index still knows
what was here before; `counted` asks again afterwards. The records can be read once, so they
are noted before the index is asked: one that turns out to be damaged is filled anew and asked
again, and one that cannot be had at all costs the counts and never the join.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hikmah.errors import BusyError, StoreError
from hikmah.index.database import Index
from hikmah.index.rows import DamagedIndexError
from hikmah.index.terms import normal_key
from hikmah.ledger.findings import Unacknowledged
from hikmah.ledger.previews import listed
from hikmah.memory.desk import Desk
from hikmah.model.records import Stored, Switch
from hikmah.model.trace import Trace
from hikmah.views.claims import conflicts

if TYPE_CHECKING:
    from hikmah.remotes.join import Arrival

SHOWN = 20
_CHUNK = 500
_UNUSABLE = (DamagedIndexError, StoreError, BusyError)


class Arrived(Struct, frozen=True, kw_only=True):
    """What is new here after a join.

    `records` counts all that are new, `traces` those among them; `switched` counts, by their
    status now, traces that were active here before (`superseded`, `fulfilled`, `deprecated`,
    `purged`); `conflicts` are the keys under which a new trace contradicts another one;
    `verified` counts, by source, new traces that say a person checked them: nobody here did.
    `newest` are the last few new records, oldest first.
    """

    records: int = 0
    traces: int = 0
    switched: dict[str, int] = {}
    conflicts: tuple[str, ...] = ()
    verified: dict[str, int] = {}
    newest: tuple[Unacknowledged, ...] = ()


class _Note(NamedTuple):
    """What has to be known of a record; `target` is the trace that it retires."""

    line: Unacknowledged
    trace: bool
    claiming: bool
    target: str | None


class ArrivalCount:
    """Keeps, over one or more joins, what has to be known to count afterwards."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._records: set[str] = set()
        self._traces: dict[str, None] = {}
        self._claiming: list[str] = []
        self._active: dict[str, None] = {}
        self._verified: dict[str, int] = {}
        self._newest: list[Unacknowledged] = []
        self._failed = ""

    def take(self, arrival: Arrival) -> None:
        """Look at what a join is about to bring."""
        # A join that lost a race is told of the same records again.
        notes = [_noted(one) for one in arrival.stored if one.id not in self._records]
        try:
            known, active = self._desk.answer(
                lambda index: _asked(index, notes), arrival.old.commit
            )
        except _UNUSABLE as e:
            self._failed = e.message
            return
        self._active |= dict.fromkeys(one for one in active if one not in self._traces)
        for note in notes:
            if note.line.id not in known:
                self._take(note)

    def _take(self, note: _Note) -> None:
        line = note.line
        self._records.add(line.id)
        self._newest = [*self._newest[1 - SHOWN :], line]
        if note.trace:
            self._traces[line.id] = None
            if note.claiming:
                self._claiming.append(line.id)
            if line.verified:
                self._verified[line.source or ""] = self._verified.get(line.source or "", 0) + 1

    def told(self) -> tuple[str, ...]:
        """Return what could not be counted, and why."""
        if not self._failed:
            return ()
        return (f"what arrived was joined and could not be counted: {self._failed}",)

    def counted(self) -> Arrived:
        """Return what all joins together brought, as the ledger stands now."""
        if not self._records or self._failed:
            return Arrived()
        try:
            switched, disputed = self._desk.answer(
                lambda index: (self._switched(index), self._disputed(index))
            )
        except _UNUSABLE as e:
            self._failed = e.message
            return Arrived()
        return Arrived(
            records=len(self._records),
            traces=len(self._traces),
            switched=switched,
            conflicts=disputed,
            verified=dict(sorted(self._verified.items())),
            newest=tuple(self._newest),
        )

    def _switched(self, index: Index) -> dict[str, int]:
        counts: dict[str, int] = {}
        for ids in _chunks(list(self._active)):
            for row in index.rows(ids):
                if row.status != "active":
                    counts[row.status] = counts.get(row.status, 0) + 1
        return dict(sorted(counts.items()))

    def _disputed(self, index: Index) -> tuple[str, ...]:
        """Return the keys under which a trace that arrived contradicts another one."""
        keys = {
            normal_key(row.claim.key)
            for ids in _chunks(self._claiming)
            for row in index.rows(ids)
            if row.claim is not None and row.status == "active"
        }
        return tuple(key for key in sorted(keys) if self._is_disputed(index, key))

    def _is_disputed(self, index: Index, key: str) -> bool:
        allow = self._desk.policy.allow_sensitive_persistence
        found = conflicts(index.claims(key), limit=1, allow_sensitive=allow).conflicts
        holders = (h.id for one in found for value in one.values for h in value.holders)
        return any(holder in self._traces for holder in holders)


def _noted(stored: Stored) -> _Note:
    record = stored.record
    target = record.id if isinstance(record, Switch) else None
    line = listed(stored.seq, stored.id, record)
    if not isinstance(record, Trace):
        return _Note(line, trace=False, claiming=False, target=target)
    claiming = record.claim is not None or record.fact is not None
    return _Note(line, trace=True, claiming=claiming, target=record.supersedes)


def _asked(index: Index, notes: list[_Note]) -> tuple[set[str], list[str]]:
    """Return which records are here already, and which active traces the others retire."""
    known = {note.line.id for note in notes if index.stored(note.line.id) is not None}
    new = [note for note in notes if note.line.id not in known]
    rows = (index.row(note.target) for note in new if note.target is not None)
    return known, [row.id for row in rows if row is not None and row.status == "active"]


def _chunks(ids: list[str]) -> Iterable[list[str]]:
    return (ids[n : n + _CHUNK] for n in range(0, len(ids), _CHUNK))
