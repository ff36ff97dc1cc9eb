"""Commitments: what was promised, what is due, what is overdue.

`due` lists open commitments inside a horizon, overdue first; with everything asked for, also
those without a deadline, those further off, and those kept. Time is given, never read.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from hikmah.model.trace import Trace
from hikmah.views.corpus import Row, Status

HOUR_MS = 3_600_000


class Due(Struct, frozen=True, kw_only=True):
    """One commitment as of now; `due_in_ms` is negative when overdue, null without a deadline.

    `evidence` is what was given when it was kept: a text, or an id.
    """

    id: str
    seq: int
    status: Status
    trace: Trace
    due_in_ms: int | None
    overdue: bool
    evidence: str | None = None


class CommitmentList(Struct, frozen=True, kw_only=True):
    """Commitments, most pressing first."""

    commitments: tuple[Due, ...]
    total: int
    truncated: bool
    overdue: int


def due(
    rows: Iterable[Row],
    *,
    now_ms: int,
    within_ms: int | None,
    limit: int,
    allow_sensitive: bool = False,
) -> CommitmentList:
    """List commitments by deadline.

    Args:
        rows: Commitments in any order and of any status.
        now_ms: The time to count from.
        within_ms: The horizon: open ones due inside it. None asks for every commitment that
            was not replaced, retired or purged, kept ones last.
        limit: How many to return at most.
        allow_sensitive: Whether sensitive traces may be mentioned.
    """
    found = [
        _due(row, now_ms)
        for row in rows
        if row.trace.kind == "commitment"
        and (allow_sensitive or row.trace.privacy != "sensitive")
        and _wanted(row, now_ms, within_ms)
    ]
    found.sort(key=_pressing)
    shown = tuple(found[:limit])
    return CommitmentList(
        commitments=shown,
        total=len(found),
        truncated=len(shown) < len(found),
        overdue=sum(item.overdue for item in found),
    )


def _wanted(row: Row, now_ms: int, within_ms: int | None) -> bool:
    if within_ms is None:
        return row.status in {"active", "fulfilled"}
    deadline_ms = row.trace.deadline_ms
    return row.status == "active" and deadline_ms is not None and deadline_ms <= now_ms + within_ms


def _due(row: Row, now_ms: int) -> Due:
    deadline_ms = row.trace.deadline_ms
    due_in_ms = None if deadline_ms is None else deadline_ms - now_ms
    overdue = row.status == "active" and due_in_ms is not None and due_in_ms < 0
    return Due(
        id=row.id,
        seq=row.seq,
        status=row.status,
        trace=row.trace,
        due_in_ms=due_in_ms,
        overdue=overdue,
    )


def _pressing(item: Due) -> tuple[bool, bool, int, int, str]:
    """Order: open before kept, dated before undated, then by deadline, sequence, id."""
    undated = item.due_in_ms is None
    return (item.status != "active", undated, item.due_in_ms or 0, item.seq, item.id)
