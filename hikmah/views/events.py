"""Events: what happened, newest first. Append-only; a correction is a new event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from hikmah.model.trace import Event
from hikmah.views.corpus import Row, Status

EVENT_PREFIX = "evt_"
SHORT_DIGITS = 8


class EventView(Struct, frozen=True, kw_only=True):
    """One event; `event_id` is the short form of its id, which commands take as well."""

    event_id: str
    id: str
    seq: int
    event_type: str
    timestamp_ms: int
    session_id: str | None
    agent_id: str | None
    payload: Any
    text: str
    tags: tuple[str, ...]
    source: str
    status: Status


class EventList(Struct, frozen=True, kw_only=True):
    """Events, newest first."""

    events: tuple[EventView, ...]
    total: int
    truncated: bool


def event_id(record_id: str) -> str:
    """Return the short form of an event's id."""
    return EVENT_PREFIX + record_id[:SHORT_DIGITS]


def event_view(row: Row) -> EventView:
    """Return an event's trace as an event."""
    trace, event = row.trace, row.trace.event or Event(event_type="")
    return EventView(
        event_id=event_id(row.id),
        id=row.id,
        seq=row.seq,
        event_type=event.event_type,
        timestamp_ms=trace.created_at_ms,
        session_id=event.session_id,
        agent_id=event.agent_id,
        payload=event.payload,
        text=trace.content,
        tags=trace.tags,
        source=trace.provenance.source,
        status=row.status,
    )


def event_list(rows: Sequence[Row], total: int) -> EventList:
    """Return events that were found, and how many there are."""
    return EventList(events=tuple(map(event_view, rows)), total=total, truncated=len(rows) < total)
