"""Commitments: what is due, most pressing first."""

from __future__ import annotations

from typing import Any

from hikmah.index.rows import TraceRow
from hikmah.views.commitments import HOUR_MS, due
from tests.views.ledgers import NOW_MS, id_of, trace


def promise(content: str, seq: int, status: Any = "active", **fields: Any) -> TraceRow:
    record = trace(content, **{"kind": "commitment", **fields})
    return TraceRow(doc=seq, id=id_of(record), seq=seq, trace=record, status=status, status_seq=seq)


ROWS = [
    promise("later", 1, deadline_ms=NOW_MS + 200 * HOUR_MS),
    promise("soon", 2, deadline_ms=NOW_MS + HOUR_MS),
    promise("late", 3, deadline_ms=NOW_MS - HOUR_MS),
    promise("undated", 4),
    promise("kept", 5, "fulfilled", deadline_ms=NOW_MS - HOUR_MS),
    promise("replaced", 6, "superseded", deadline_ms=NOW_MS),
    promise("a note", 7, kind="observation"),
    promise("secret", 8, privacy="sensitive", deadline_ms=NOW_MS),
]


def names(rows: list[TraceRow], **asked: Any) -> list[str]:
    found = due(rows, **{"now_ms": NOW_MS, "within_ms": 168 * HOUR_MS, "limit": 10, **asked})
    return [item.trace.content for item in found.commitments]


def test_open_commitments_inside_the_horizon_are_due_overdue_first() -> None:
    assert names(ROWS) == ["late", "soon"]


def test_everything_lists_kept_ones_last() -> None:
    assert names(ROWS, within_ms=None) == ["late", "soon", "later", "undated", "kept"]


def test_sensitive_ones_are_listed_only_when_allowed() -> None:
    assert names(ROWS, allow_sensitive=True) == ["late", "secret", "soon"]


def test_the_time_left_is_said() -> None:
    found = due(ROWS, now_ms=NOW_MS, within_ms=None, limit=10)
    told = {item.trace.content: (item.due_in_ms, item.overdue) for item in found.commitments}
    assert told["late"] == (-HOUR_MS, True)
    assert told["soon"] == (HOUR_MS, False)
    assert told["undated"] == (None, False)
    assert told["kept"] == (-HOUR_MS, False)
    assert found.overdue == 1


def test_the_list_is_bounded() -> None:
    found = due(ROWS, now_ms=NOW_MS, within_ms=None, limit=2)
    assert [item.trace.content for item in found.commitments] == ["late", "soon"]
    assert (found.total, found.truncated) == (5, True)
