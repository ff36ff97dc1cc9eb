"""Claims and conflicts: which active traces cannot all be right.

Two active traces conflict when their claims have the same normalized key, different
normalized values (case counts), and validity intervals that overlap. An open end reaches to
infinity; intervals that only touch do not overlap. A single-valued fact claims its object of
its entity. Detection only: nothing here picks a winner, and nothing is ever concluded from
free text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from hikmah.index.rows import TraceRow as Row
from hikmah.index.terms import normal_key, normal_value
from hikmah.model.trace import Trace, is_model

# A key that everybody writes (a sensor, a version) disagrees with itself without end: so
# many are named beside one trace, and `conflicts` shows the rest.
MAX_CONFLICTS = 100

# A trace by itself, or a row, which also knows what the trace's fact claims.
Claiming = Trace | Row


class ClaimHolder(Struct, frozen=True, kw_only=True):
    """One trace that asserts a value, with what a person weighs it by."""

    id: str
    seq: int
    kind: str
    source: str
    verified: bool
    model_authored: bool
    created_at_ms: int
    valid_from_ms: int | None
    valid_until_ms: int | None
    content: str


class ClaimValue(Struct, frozen=True, kw_only=True):
    """One value of a disputed key and who asserts it, in the order of the ledger."""

    value: str
    holders: tuple[ClaimHolder, ...]


class Conflict(Struct, frozen=True, kw_only=True):
    """A key with values that cannot all hold at once."""

    key: str
    values: tuple[ClaimValue, ...]


class ConflictList(Struct, frozen=True, kw_only=True):
    """Open conflicts by key; `total` counts keys."""

    conflicts: tuple[Conflict, ...]
    total: int
    truncated: bool


def overlap(one: Trace, other: Trace) -> bool:
    """Tell whether two validity intervals share a moment; an interval is half-open."""
    return max(start_of(one), start_of(other)) < min(end_of(one), end_of(other))


def start_of(trace: Trace) -> float:
    """Return when a trace begins to hold; minus infinity when it says nothing."""
    return -math.inf if trace.valid_from_ms is None else trace.valid_from_ms


def end_of(trace: Trace) -> float:
    """Return when a trace ceases to hold; infinity when it says nothing."""
    return math.inf if trace.valid_until_ms is None else trace.valid_until_ms


def is_expired(trace: Trace, now_ms: int) -> bool:
    """Tell whether a trace's validity has ended; its end is not part of it."""
    return end_of(trace) <= now_ms


def same_claim(one: Claiming, other: Claiming) -> bool:
    """Tell whether two traces claim one value for one key at one time."""
    if one.claim is None or other.claim is None:
        return False
    return (
        normal_key(one.claim.key) == normal_key(other.claim.key)
        and normal_value(one.claim.value) == normal_value(other.claim.value)
        and overlap(_trace(one), _trace(other))
    )


def contradict(one: Claiming, other: Claiming) -> bool:
    """Tell whether two traces claim different values for one key at one time."""
    if one.claim is None or other.claim is None:
        return False
    return (
        normal_key(one.claim.key) == normal_key(other.claim.key)
        and normal_value(one.claim.value) != normal_value(other.claim.value)
        and overlap(_trace(one), _trace(other))
    )


def _trace(one: Claiming) -> Trace:
    return one.trace if isinstance(one, Row) else one


def conflicting(row: Row, rivals: Iterable[Row]) -> tuple[str, ...]:
    """Return the ids of active rivals that contradict a trace, in the order of the ledger.

    Returns:
        Empty when the trace is not active itself: what was replaced disputes nothing.
    """
    if row.status != "active" or row.claim is None:
        return ()
    against = [r for r in rivals if r.status == "active" and contradict(row, r)]
    return tuple(r.id for r in sorted(against, key=lambda r: (r.seq, r.id)))


class Rivals:
    """The active traces that claim one key, read once for all that are held against them.

    Args:
        rows: Every trace that claims the key, in any order.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        active = [row for row in rows if row.status == "active" and row.claim is not None]
        active.sort(key=lambda row: (row.seq, row.id))
        self._said = [(row.id, *_said(row)) for row in active]
        self._known: dict[tuple[str, float, float], tuple[str, ...]] = {}

    def against(self, row: Row) -> tuple[str, ...]:
        """Return what `conflicting` does for a trace that claims the key: the first hundred."""
        if row.status != "active" or row.claim is None:
            return ()
        # Traces that say one thing for one time are disputed by the same ones.
        said = value, start, end = _said(row)
        if said not in self._known:
            against = (
                rival
                for rival, other, since, until in self._said
                if other != value and max(start, since) < min(end, until)
            )
            self._known[said] = tuple(itertools.islice(against, MAX_CONFLICTS))
        return self._known[said]


def _said(row: Row) -> tuple[str, float, float]:
    """Return the value that a trace claims, as it is compared, and for when."""
    value = "" if row.claim is None else normal_value(row.claim.value)
    return value, start_of(row.trace), end_of(row.trace)


def conflicts(rows: Iterable[Row], *, limit: int, allow_sensitive: bool = False) -> ConflictList:
    """Group the active claims that contradict another by key and value.

    Args:
        rows: Traces with claims, in any order; those that are not active are left out.
        limit: How many keys to return at most.
        allow_sensitive: Whether sensitive traces may be mentioned.
    """
    found = [
        conflict
        for key, group in itertools.groupby(_claimed(rows, allow_sensitive), key=_row_key)
        if (conflict := _conflict(key, list(group))) is not None
    ]
    shown = tuple(found[:limit])
    return ConflictList(conflicts=shown, total=len(found), truncated=len(shown) < len(found))


def _claimed(rows: Iterable[Row], allow_sensitive: bool) -> list[Row]:  # noqa: FBT001 - private
    claimed = [
        row
        for row in rows
        if row.status == "active"
        and row.claim is not None
        and (allow_sensitive or row.trace.privacy != "sensitive")
    ]
    return sorted(claimed, key=lambda row: (_row_key(row), row.seq, row.id))


def _row_key(row: Row) -> str:
    return "" if row.claim is None else normal_key(row.claim.key)


def _row_value(row: Row) -> str:
    return "" if row.claim is None else normal_value(row.claim.value)


def _conflict(key: str, group: Sequence[Row]) -> Conflict | None:
    """Return the conflict among claims of one key; those nobody contradicts are left out."""
    by_value: dict[str, list[Row]] = {}
    for row in group:
        by_value.setdefault(_row_value(row), []).append(row)
    values: dict[str, list[ClaimHolder]] = {}
    for row in group:
        value = _row_value(row)
        rivals = (r for other, rows in by_value.items() if other != value for r in rows)
        if any(overlap(row.trace, rival.trace) for rival in rivals):
            values.setdefault(value, []).append(_holder(row))
    if not values:
        return None
    shown = [ClaimValue(value=value, holders=tuple(rows)) for value, rows in values.items()]
    return Conflict(key=key, values=tuple(shown))


def _holder(row: Row) -> ClaimHolder:
    trace = row.trace
    return ClaimHolder(
        id=row.id,
        seq=row.seq,
        kind=trace.kind,
        source=trace.provenance.source,
        verified=trace.provenance.verified,
        model_authored=is_model(trace.provenance.source),
        created_at_ms=trace.created_at_ms,
        valid_from_ms=trace.valid_from_ms,
        valid_until_ms=trace.valid_until_ms,
        content=trace.content,
    )
