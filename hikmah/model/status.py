"""The five statuses of a trace, their order, and what rules need to know of it.

A status is derived, never stored: the strongest of what the records say. Switches only ever
move a trace further from `active`, so any order of the same records gives the same status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, get_args

from msgspec import Struct

from hikmah.model.records import Fulfill, Supersede, Switch
from hikmah.model.trace import Prediction, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

Status = Literal["active", "fulfilled", "superseded", "deprecated", "purged"]
# From weakest to strongest.
STATUSES: tuple[Status, ...] = get_args(Status)
STRENGTH: dict[Status, int] = {status: place for place, status in enumerate(STATUSES)}
# Payloads that a link may ask for, by the field of a trace that holds each.
PAYLOADS = ("event", "entity", "fact", "relationship")


class TraceState(Struct, frozen=True, kw_only=True):
    """What a new record's rules ask of a trace that is there already."""

    id: str
    kind: str
    status: Status
    source: str
    superseded_by: tuple[str, ...] = ()
    prediction: Prediction | None = None
    payload: str | None = None


class Lookup(Protocol):
    """Where rules look traces up: an index, or an index and the records of one batch."""

    def state(self, record_id: str) -> TraceState | None:
        """Return the state of a trace, or None when no trace has this id."""
        ...


def strongest(*statuses: Status) -> Status:
    """Return the strongest of the statuses given; `active` when there is none."""
    return max(statuses, key=STRENGTH.__getitem__, default="active")


def status_given_by(switch: Switch) -> Status:
    """Return the status that a switch gives to the trace it names."""
    if isinstance(switch, Supersede):
        return "superseded"
    if isinstance(switch, Fulfill):
        return "fulfilled"
    return "purged" if switch.mode == "purge" else "deprecated"


def payload_of(trace: Trace) -> str | None:
    """Return the name of the structured payload a trace holds: `entity`, `fact`, or None."""
    return next((name for name in PAYLOADS if getattr(trace, name) is not None), None)


def state_of(
    trace_id: str, trace: Trace, status: Status, superseded_by: Sequence[str] = ()
) -> TraceState:
    """Return the state of a trace, from the trace and what is derived about it."""
    return TraceState(
        id=trace_id,
        kind=trace.kind,
        status=status,
        source=trace.provenance.source,
        superseded_by=tuple(superseded_by),
        prediction=trace.prediction,
        payload=payload_of(trace),
    )
