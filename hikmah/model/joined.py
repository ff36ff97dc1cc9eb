"""Rules of links for records that another ledger holds already.

When two ledgers join, both sides' records stay: a trace may have been superseded, purged,
fulfilled or resolved on each. What such a ledger holds must be able to leave it as a file and
come in again, so these rules ask less than `hikmah.model.links`:

1. Every id named is that of a trace of the right kind, in this ledger or earlier in the file.
2. No model and no prediction supersedes; entities, facts and relationships keep to their like.
3. Supersession makes no circle: nothing in it would be left to stand for the others.

How often a trace was switched, and in what state it was at the time, is not asked.
"""

from __future__ import annotations

import msgspec

from hikmah.errors import InvalidInputError
from hikmah.model.links import ALREADY, NEW, LinkOutcome, check_links, leads_to
from hikmah.model.records import Record, Supersede
from hikmah.model.status import STRENGTH, Lookup, TraceState, status_given_by
from hikmah.model.trace import Trace


class _Unswitched(Lookup):
    """Shows every trace as it was before any record switched it."""

    def __init__(self, look: Lookup) -> None:
        self._look = look

    def state(self, record_id: str) -> TraceState | None:
        found = self._look.state(record_id)
        if found is None or found.status == "active":
            return found
        return msgspec.structs.replace(found, status="active", superseded_by=())


def check_joined(record: Record, look: Lookup) -> LinkOutcome:
    """Check the links of a record that was written elsewhere.

    Raises:
        NotFoundError: A link names no trace.
        InvalidInputError: A link names a trace of the wrong kind, or makes a circle.
        RefusedError: A model or a prediction would supersede.
    """
    check_links(record, _Unswitched(look))
    if isinstance(record, Supersede):
        new = look.state(record.by)
        if new is not None and leads_to(new, record.id, look):
            raise InvalidInputError(
                f"trace {record.by} is superseded by {record.id}, directly or in steps: that is"
                " a circle",
                where="$.by",
            )
    return NEW


def check_elsewhere(record: Record, look: Lookup) -> LinkOutcome:
    """Check as `check_joined` does, and tell whether the record says what is so already.

    For records that get new bytes on their way in, so that their bytes cannot tell.
    """
    if isinstance(record, Trace) and (record.fact or record.relationship):
        return check_links(record, look)  # of an entity that is purged, nothing is said any more
    check_joined(record, look)
    return ALREADY if _changes_nothing(record, look) else NEW


def _changes_nothing(record: Record, look: Lookup) -> bool:
    if isinstance(record, Trace):
        return False
    state = look.state(record.id)
    if isinstance(record, Supersede):
        return state is not None and record.by in state.superseded_by
    return state is not None and STRENGTH[state.status] >= STRENGTH[status_given_by(record)]
