"""Counts what a join brings, for a person to look at.

`take` is told under the writer lock, before the ref moves, so that the index still knows
what was here before; `counted` asks again afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from hikmah.index.database import Index
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

    def take(self, arrival: Arrival) -> None:
        """Look at what a join is about to bring."""
        index = self._desk.index(arrival.old.commit)
        with index.snapshot():
            for stored in arrival.stored:
                # A join that lost a race is told of the same records again.
                if stored.id not in self._records and index.stored(stored.id) is None:
                    self._take(index, stored)

    def _take(self, index: Index, stored: Stored) -> None:
        record = stored.record
        self._records.add(stored.id)
        line = listed(stored.seq, stored.id, record)
        self._newest = [*self._newest[1 - SHOWN :], line]
        if isinstance(record, Trace):
            self._traces[stored.id] = None
            if record.claim is not None or record.fact is not None:
                self._claiming.append(stored.id)
            if line.verified:
                self._verified[line.source or ""] = self._verified.get(line.source or "", 0) + 1
        target = record.supersedes if isinstance(record, Trace) else None
        target = record.id if isinstance(record, Switch) else target
        if target is not None and target not in self._traces:
            row = index.row(target)
            if row is not None and row.status == "active":
                self._active[target] = None

    def counted(self) -> Arrived:
        """Return what all joins together brought, as the ledger stands now."""
        if not self._records:
            return Arrived()
        switched, disputed = self._desk.answer(
            lambda index: (self._switched(index), self._disputed(index))
        )
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


def _chunks(ids: list[str]) -> Iterable[list[str]]:
    return (ids[n : n + _CHUNK] for n in range(0, len(ids), _CHUNK))
