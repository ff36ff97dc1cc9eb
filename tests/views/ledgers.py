"""Small ledgers for tests of the views: records in, a corpus out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from hikmah.index.corpus import IndexCorpus
from hikmah.index.database import Index
from hikmah.index.rows import TraceRow
from hikmah.model.policy import DEFAULTS, Policy
from hikmah.model.records import Record, Stored, blob_id, canonical
from hikmah.model.trace import Claim, Provenance, Trace
from hikmah.views.recall import recall
from hikmah.views.results import Query, Recalled

NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000
_HEAD = "b" * 40


def trace(content: str, **fields: Any) -> Trace:
    """Return a trace made now; `claim` may be a pair, `source` and the like go to provenance."""
    if isinstance(claim := fields.get("claim"), tuple):
        fields["claim"] = Claim(key=claim[0], value=claim[1])
    names = ("source", "authority", "verified", "locator")
    said = {name: fields.pop(name) for name in names if name in fields}
    fields.setdefault("created_at_ms", NOW_MS)
    return Trace(content=content, provenance=Provenance(**said), **fields)


def row(record: Trace, seq: int = 1, status: str = "active") -> TraceRow:
    """Return a row of a trace, as an index would hand it out."""
    return TraceRow(
        doc=seq,
        id=id_of(record),
        seq=seq,
        trace=record,
        status=status,  # type: ignore[arg-type]  # tests name it
        status_seq=seq,
    )


def id_of(record: Record) -> str:
    """Return a record's id."""
    return blob_id(canonical(record))


def store(records: Iterable[Record], first: int = 1) -> list[Stored]:
    """Return records as a ledger numbers them."""
    numbered = zip(itertools.count(first), records, strict=False)
    return [
        Stored(id=id_of(record), seq=seq, record=record, data=canonical(record))
        for seq, record in numbered
    ]


def filled(stored: Sequence[Stored], language: str = "english") -> Index:
    """Return an index in memory that holds some stored records."""
    index = Index.open(None, language=language)
    assert index.extend(stored, ledger="a" * 40, base=None, head=_HEAD)
    return index


def corpus(*records: Record, language: str = "english") -> IndexCorpus:
    """Return the corpus of a ledger with these records, in order."""
    return filled(store(records), language).corpus()


def ask(
    searched: IndexCorpus,
    text: str | None = None,
    *,
    policy: Policy = DEFAULTS,
    now_ms: int = NOW_MS,
    **query: Any,
) -> Recalled:
    """Answer a query as of NOW_MS."""
    return recall(searched, Query(text=text, **query), policy, now_ms=now_ms)


def contents(answer: Recalled) -> list[str]:
    """Return what came back, in order."""
    return [result.trace.content for result in answer.results]
