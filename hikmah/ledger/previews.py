"""One line of what a record says, for people who decide about it."""

from __future__ import annotations

from hikmah.ledger.chain import plain
from hikmah.ledger.findings import Unacknowledged
from hikmah.model.records import Record, Unknown, record_type
from hikmah.model.secrets import mask
from hikmah.model.trace import Trace

PREVIEW_CHARS = 80


def listed(seq: int, oid: str, record: Record | Unknown) -> Unacknowledged:
    """Return a record's line: nothing shaped like a credential, and no sensitive text."""
    trace = record if isinstance(record, Trace) else None
    provenance = None if isinstance(record, Unknown) else record.provenance
    hidden = trace is None or trace.privacy == "sensitive"
    return Unacknowledged(
        seq=seq,
        type=record_type(record),
        id=oid,
        kind=trace.kind if trace else None,
        source=plain(mask(provenance.source), PREVIEW_CHARS) if provenance else None,
        verified=provenance.verified if provenance else False,
        claim=_claim(trace),
        preview="" if hidden or trace is None else _preview(trace.content),
    )


def _claim(trace: Trace | None) -> str | None:
    if trace is None or trace.claim is None:
        return None
    return _preview(f"{trace.claim.key} = {trace.claim.value}")


def _preview(text: str) -> str:
    return plain(mask(text), PREVIEW_CHARS)
