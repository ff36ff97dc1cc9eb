"""The verbs that read: show, log, conflicts, commitments, status."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from hikmah.errors import InvalidInputError, NotFoundError
from hikmah.index.database import Index
from hikmah.index.rows import LogRow, TraceRow
from hikmah.index.terms import normal_key
from hikmah.ledger.chain import FORMAT
from hikmah.memory.arguments import time_ms, whole
from hikmah.memory.desk import Desk
from hikmah.memory.results import Link, Logged, LogPage, Shown, ShownRecord, StatusReport
from hikmah.model.limits import MAX_LIMIT
from hikmah.model.policy import Policy
from hikmah.model.records import (
    UNDECODABLE,
    Fulfill,
    Purge,
    Record,
    Stored,
    Supersede,
    Unknown,
    record_time_ms,
    record_type,
)
from hikmah.model.trace import KINDS, Trace
from hikmah.views.claims import ConflictList, conflicting, conflicts, is_expired
from hikmah.views.commitments import HOUR_MS, CommitmentList, Due, due

# Every field of a trace that may hold words somebody wrote of what is hidden.
_NO_TEXT: dict[str, Any] = {
    "content": "",
    "tags": (),
    "idempotency_key": None,
    **dict.fromkeys(
        (
            "claim",
            "prediction",
            "outcome",
            "event",
            "entity",
            "fact",
            "relationship",
            "imported",
        )
    ),
}


def show(desk: Desk, text: str) -> Shown | ShownRecord:
    """Return one record in full; see `Memory.show`."""

    def question(index: Index) -> Shown | ShownRecord:
        record_id = desk.resolve(index, text)
        row = index.row(record_id)
        return _shown(desk, index, row) if row else _shown_record(index, record_id)

    return desk.answer(question)


def _shown(desk: Desk, index: Index, row: TraceRow) -> Shown:
    claim = row.claim
    rivals = index.claims(normal_key(claim.key)) if claim else []
    hidden = _is_hidden(row.trace, row.status, desk.policy)
    return Shown(
        id=row.id,
        seq=row.seq,
        status=row.status,
        hidden=hidden,
        trace=structs.replace(row.trace, **_NO_TEXT) if hidden else row.trace,
        superseded_by=row.superseded_by,
        history=tuple(_link(stored) for stored in index.switches(row.id)),
        derived=tuple(index.derived(row.id)),
        conflicts=conflicting(row, rivals),
        expired=is_expired(row.trace, desk.clock()),
    )


def _shown_record(index: Index, record_id: str) -> ShownRecord:
    stored = index.stored(record_id)
    if stored is None:
        raise NotFoundError(f"no record {record_id}")
    kind = record_type(stored.record)
    raw = {} if kind == UNDECODABLE else msgspec.json.decode(stored.data)
    return ShownRecord(id=stored.id, seq=stored.seq, type=kind, record=raw)


def _link(stored: Stored) -> Link:
    record = stored.record
    at_ms, source = _when_and_who(record)
    return Link(
        id=stored.id,
        seq=stored.seq,
        type=record_type(record),
        at_ms=at_ms,
        source=source,
        text=_text(record),
    )


def _when_and_who(record: Record | Unknown) -> tuple[int, str]:
    """Return a record's time and source; of a type that is not known, neither is."""
    if isinstance(record, Unknown):
        return 0, ""
    return record_time_ms(record), record.provenance.source


def _text(record: Record | Unknown) -> str:
    """Return what a record says, for a list."""
    match record:
        case Trace():
            return record.content
        case Supersede():
            return record.reason or ""
        case Fulfill():
            return record.evidence or ""
        case Purge():
            return record.reason
        case _:
            return ""


def log(
    desk: Desk,
    *,
    kind: str | None,
    source: str | None,
    since_ms: int | None,
    until_ms: int | None,
    limit: int,
) -> LogPage:
    """Return the newest records first; see `Memory.log`."""
    checked = checked_limit(limit)
    if kind is not None and kind not in KINDS:
        raise InvalidInputError(
            f"{kind!r} is not a kind of trace", hint=f"kinds: {', '.join(KINDS)}", where="kind"
        )
    if source is not None and not isinstance(source, str):
        raise InvalidInputError(f"{source!r:.80} is not a text", where="source")
    since, until = time_ms(since_ms, "since_ms"), time_ms(until_ms, "until_ms")
    rows, total = desk.answer(
        lambda index: index.log(
            kind=kind, source=source, since_ms=since, until_ms=until, limit=checked
        )
    )
    items = tuple(_logged(row, desk.policy) for row in rows)
    return LogPage(items=items, total=total, truncated=len(items) < total)


def _is_hidden(trace: Trace, status: str | None, policy: Policy) -> bool:
    """Tell whether a trace's text is in no view: it was purged, or the policy keeps it back."""
    sensitive = trace.privacy == "sensitive" and not policy.allow_sensitive_persistence
    return status == "purged" or sensitive


def _logged(row: LogRow, policy: Policy) -> Logged:
    record = row.record
    at_ms, source = _when_and_who(record)
    trace = record if isinstance(record, Trace) else None
    hidden = trace is not None and _is_hidden(trace, row.status, policy)
    return Logged(
        id=row.id,
        seq=row.seq,
        type=record_type(record),
        kind=trace.kind if trace else None,
        at_ms=at_ms,
        source=source,
        status=row.status,
        text="" if hidden else _text(record),
        target=record.id if isinstance(record, Supersede | Fulfill | Purge) else None,
    )


def list_conflicts(desk: Desk, *, limit: int) -> ConflictList:
    """Return every open contradiction; see `Memory.conflicts`."""
    checked = checked_limit(limit)
    return desk.answer(lambda index: _conflicts(desk, index, limit=checked))


def _conflicts(desk: Desk, index: Index, *, limit: int) -> ConflictList:
    rows = [row for _, group in index.contested() for row in group]
    allow = desk.policy.allow_sensitive_persistence
    return conflicts(rows, limit=limit, allow_sensitive=allow)


def list_commitments(
    desk: Desk, *, within_hours: float, include_all: bool, limit: int
) -> CommitmentList:
    """Return what was promised and is due; see `Memory.commitments`."""
    checked = checked_limit(limit)
    number = isinstance(within_hours, int | float)
    if not number or not 0 <= within_hours <= 24 * 36_525:
        raise InvalidInputError(
            f"{within_hours!r:.80} hours is not a horizon",
            hint="give hours from 0 to 876,600 (a hundred years)",
            where="within_hours",
        )
    now_ms = desk.clock()
    within_ms = None if include_all else int(within_hours * HOUR_MS)

    def question(index: Index) -> CommitmentList:
        rows = (
            index.commitments("active", "fulfilled")
            if within_ms is None
            else index.commitments(due_before_ms=now_ms + within_ms + 1)
        )
        allow = desk.policy.allow_sensitive_persistence
        found = due(rows, now_ms=now_ms, within_ms=within_ms, limit=checked, allow_sensitive=allow)
        told = tuple(_with_evidence(index, one) for one in found.commitments)
        return msgspec.structs.replace(found, commitments=told)

    return desk.answer(question)


def _with_evidence(index: Index, one: Due) -> Due:
    """Return a commitment that was kept with the evidence given last."""
    if one.status != "fulfilled":
        return one
    records = [stored.record for stored in index.switches(one.id)]
    given = [r.evidence for r in records if isinstance(r, Fulfill) and r.evidence]
    return msgspec.structs.replace(one, evidence=given[-1] if given else None)


def checked_limit(limit: int) -> int:
    """Return a limit that is one.

    Raises:
        InvalidInputError: Outside 1 to 1,000.
    """
    return whole(limit, "limit", low=1, high=MAX_LIMIT)


def status(desk: Desk) -> StatusReport:
    """Return the ledger at a glance; see `Memory.status`."""
    standing = desk.ledger.standing()
    head = desk.head()
    known_before = _index_state(desk, head)
    now_ms = desk.clock()

    def question(index: Index) -> StatusReport:
        counts = index.counts()
        promised = index.commitments()
        late = due(promised, now_ms=now_ms, within_ms=0, limit=1, allow_sensitive=True)
        return StatusReport(
            store=str(desk.ledger.store.repository.root),
            name=desk.ledger.name,
            ref=desk.ledger.ref,
            ledger=index.ledger or "",
            format=FORMAT,
            head=head,
            seq=index.max_seq,
            standing=standing.kind,
            records=index.records,
            kinds={kind: sum(by.values()) for kind, by in counts.items()},
            statuses=_by_status(counts),
            conflicts=_conflicts(desk, index, limit=1).total,
            commitments_open=len(promised),
            commitments_overdue=late.overdue,
            index=known_before,
            session=desk.session.host if desk.session else None,
        )

    return desk.answer(question)


def _by_status(counts: dict[str, dict[Any, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for by in counts.values():
        for status_name, count in by.items():
            found[status_name] = found.get(status_name, 0) + count
    return dict(sorted(found.items()))


def _index_state(desk: Desk, head: str) -> str:
    """Tell how the index stood before this question brought it up to date."""
    index = desk.opened()
    where = " in memory" if index.in_memory else ""
    known = index.head
    if known is None:
        return "built just now" + where
    return ("current" if known == head else "brought up to date just now") + where
