"""The shape of an answer: results, their channels, the reply and its receipt.

Plain values: `msgspec.to_builtins` of a reply is the JSON that is printed, and its keys are
stable.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hikmah.index.rows import Status
from hikmah.model.trace import Trace
from hikmah.views.folding import Folded


class Query(Struct, frozen=True, kw_only=True):
    """What is asked. `limit` None takes the policy's; times are inclusive."""

    text: str | None = None
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    limit: int | None = None
    budget_chars: int | None = None
    include_superseded: bool = False


class Matched(Struct, frozen=True, kw_only=True):
    """One term of the query that stands in a trace, and where: `content`, `claim`, `tags` ..."""

    term: str
    where: tuple[str, ...]


class Channels(Struct, frozen=True, kw_only=True):
    """Every factor of a score. `lexical` and `tags` are null when the query has none."""

    lexical: float | None
    tags: float | None
    cue: float
    recency: float
    salience: float
    confidence: float
    provenance: float
    urgency: float
    meta: float
    overlap: float
    overdue: bool


class Result(Struct, frozen=True, kw_only=True):
    """One trace that came back, and everything that stands beside it.

    `conflicts` are the first hundred active traces that claim another value; `duplicates` were
    folded into this one; `also_asserted_by_superseded` are replaced traces that this one still
    repeats.
    """

    id: str
    seq: int
    score: float
    status: Status
    trace: Trace
    matched: tuple[Matched, ...]
    channels: Channels
    conflicts: tuple[str, ...]
    duplicates: tuple[str, ...]
    duplicate_count: int
    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    also_asserted_by_superseded: tuple[str, ...]
    expired: bool


class Receipt(Struct, frozen=True, kw_only=True):
    """What an answer rests on: with it, `recall --as-of <head>` gives the same results.

    `policy` is the policy's digest; `query` is what was asked, with the limit that applied.
    """

    ledger: str
    head: str | None
    policy: str
    now_ms: int
    query: Query
    results: tuple[str, ...]


class Recalled(Struct, frozen=True, kw_only=True):
    """The answer. `total` counts the traces that pass, copies included.

    `total_exact` is false when a large ledger was searched without looking at every trace:
    then at least `total` share a cue with the query. `reason` says why nothing matched.
    """

    results: tuple[Result, ...]
    total: int
    total_exact: bool
    truncated: bool
    reason: str | None
    query: Query


class RecallReply(Struct, frozen=True, kw_only=True):
    """The answer with its receipt."""

    results: tuple[Result, ...]
    total: int
    total_exact: bool
    truncated: bool
    reason: str | None
    receipt: Receipt


def with_receipt(
    recalled: Recalled, *, ledger: str, head: str | None, policy: str, now_ms: int
) -> RecallReply:
    """Return an answer with the receipt that lets it be replayed."""
    return RecallReply(
        results=recalled.results,
        total=recalled.total,
        total_exact=recalled.total_exact,
        truncated=recalled.truncated,
        reason=recalled.reason,
        receipt=Receipt(
            ledger=ledger,
            head=head,
            policy=policy,
            now_ms=now_ms,
            query=recalled.query,
            results=tuple(result.id for result in recalled.results),
        ),
    )


def within_budget(chosen: Sequence[Folded], budget_chars: int | None) -> list[Folded]:
    """Return the results that fit, in rank order: one too long gives way to a shorter one."""
    if budget_chars is None:
        return list(chosen)
    shown: list[Folded] = []
    left = budget_chars
    for folded in chosen:
        length = len(folded.candidate.row.trace.content)
        if length <= left:
            shown.append(folded)
            left -= length
    return shown
