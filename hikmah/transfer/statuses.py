"""What became of each trace, folded from records in any order.

The same fold as the index keeps, over a stream: only traces that are no longer active take
memory. It also answers what a part of a ledger would say: a trace that only something left
out superseded would come back to life.
"""

from __future__ import annotations

from collections.abc import Iterable

from hikmah.model.records import Record, Supersede, Unknown
from hikmah.model.status import Status, status_given_by, strongest
from hikmah.model.trace import Trace


class Statuses:
    """The statuses of traces, and by what."""

    def __init__(self) -> None:
        self._given: dict[str, Status] = {}
        self._superseded_by: dict[str, list[str]] = {}
        self._supersedes: dict[str, list[str]] = {}

    def add(self, record_id: str, record: Record | Unknown) -> None:
        """Take in one record."""
        if isinstance(record, Trace):
            if record.supersedes is not None:
                self._supersede(record.supersedes, record_id)
        elif isinstance(record, Supersede):
            self._supersede(record.id, record.by)
        elif not isinstance(record, Unknown):
            given = status_given_by(record)
            self._given[record.id] = strongest(given, self._given.get(record.id, "active"))

    def _supersede(self, old: str, new: str) -> None:
        self._superseded_by.setdefault(old, []).append(new)
        self._supersedes.setdefault(new, []).append(old)

    def of(self, trace_id: str) -> Status:
        """Return a trace's status; `active` when no record says otherwise."""
        given = self._given.get(trace_id, "active")
        return strongest(given, "superseded") if trace_id in self._superseded_by else given

    def purged(self) -> set[str]:
        """Return the traces that are purged."""
        return {trace_id for trace_id, status in self._given.items() if status == "purged"}

    def revived_without(self, left_out: Iterable[str]) -> set[str]:
        """Return the traces that would have another status if these were not there.

        They are those that only traces left out supersede, directly or because what
        supersedes them would have to be left out for the same reason.
        """
        gone = set(left_out)
        first = frozenset(gone)
        waiting = list(gone)
        while waiting:
            for old in self._supersedes.get(waiting.pop(), ()):
                if old not in gone and self._lives_without(old, gone):
                    gone.add(old)
                    waiting.append(old)
        return gone - first

    def _lives_without(self, trace_id: str, gone: set[str]) -> bool:
        status = self._given.get(trace_id, "active")
        return status != self.of(trace_id) and gone.issuperset(self._superseded_by[trace_id])


def targets(record: Record | Unknown) -> tuple[str, ...]:
    """Return every id that a record points at, in the order of its fields."""
    if isinstance(record, Unknown):
        return ()
    if isinstance(record, Supersede):
        return (record.id, record.by)
    if not isinstance(record, Trace):
        return (record.id,)
    found = [record.supersedes, *record.derived_from]
    if record.outcome:
        found.append(record.outcome.prediction)
    if record.fact:
        found.append(record.fact.entity)
    if record.relationship:
        found += [record.relationship.from_, record.relationship.to]
    return tuple(one for one in found if one is not None)
