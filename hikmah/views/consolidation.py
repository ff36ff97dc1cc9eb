"""Consolidation: claims that several traces support, proposed as beliefs.

Rules the module keeps:

1. Active traces that claim one value for one key, in validity intervals that meet, support
   one proposal. What a model wrote supports nothing and stands against nothing.
2. What was concluded from a trace of the group, directly or in steps, never supports it.
3. Sources are independent when they differ trimmed and casefolded; `unknown`, `user` and
   blank all count as one.
4. A proposal is eligible with enough support, sources and confidence (the policy's), one
   moment at which all of its support holds, no active claim of another value in that time,
   and no belief that was concluded from it already.
5. A claim that stands alone proposes nothing, unless the policy asks for no more than one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from hikmah.index.terms import normal_key, normal_value
from hikmah.model.policy import Policy
from hikmah.model.trace import is_model
from hikmah.views.claims import end_of, overlap, start_of
from hikmah.views.corpus import Row
from hikmah.views.filters import normal_source

UNATTRIBUTED = "unattributed"
_NOBODY = frozenset({"", "unknown", "user"})
ID_DIGITS = 12
CONFIDENCE_SHARE, VERIFIED_SHARE = 0.7, 0.3


class ConsolidationProposal(Struct, frozen=True, kw_only=True):
    """A claim that could become a belief of its own.

    `promoted_as` are active traces that were concluded from the group and claim the same;
    the validity is the time in which all of the support holds.
    """

    id: str
    key: str
    value: str
    eligible_for_promotion: bool
    confidence: float
    support: tuple[str, ...]
    sources: tuple[str, ...]
    verified_count: int
    conflicting_values: tuple[str, ...]
    promoted_as: tuple[str, ...]
    valid_from_ms: int | None
    valid_until_ms: int | None


class ConsolidationList(Struct, frozen=True, kw_only=True):
    """Proposals, those that may be promoted first."""

    proposals: tuple[ConsolidationProposal, ...]
    eligible: int
    total: int
    truncated: bool


def consolidation_proposals(
    groups: Iterable[tuple[str, Sequence[Row]]],
    policy: Policy,
    *,
    limit: int | None = None,
    allow_sensitive: bool = False,
) -> ConsolidationList:
    """Return what the claims of some keys propose.

    Args:
        groups: Normalized keys, each with every trace that claims something for it, of any
            status, in any order.
        policy: How much support, how many sources, what confidence a promotion needs.
        limit: How many to return at most.
        allow_sensitive: Whether sensitive traces may be mentioned.
    """
    found = [
        proposal
        for key, rows in groups
        for proposal in _of_key(key, [r for r in rows if _usable(r, allow_sensitive)], policy)
    ]
    found.sort(key=lambda p: (not p.eligible_for_promotion, -p.confidence, p.key, p.value, p.id))
    shown = tuple(found[:limit])
    return ConsolidationList(
        proposals=shown,
        eligible=sum(p.eligible_for_promotion for p in found),
        total=len(found),
        truncated=len(shown) < len(found),
    )


def source_of(row: Row) -> str:
    """Return a trace's source as independence compares it."""
    source = normal_source(row.trace.provenance.source)
    return UNATTRIBUTED if source in _NOBODY else source


def _usable(row: Row, allow_sensitive: bool) -> bool:  # noqa: FBT001 - private
    return row.claim is not None and (allow_sensitive or row.trace.privacy != "sensitive")


def _of_key(key: str, rows: Sequence[Row], policy: Policy) -> Iterator[ConsolidationProposal]:
    """Yield the proposals of one key."""
    values: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.seq, row.id)):
        values.setdefault(_value(row), []).append(row)
    least = min(2, policy.consolidation_min_support)
    for value, holders in values.items():
        concluded = _concluded(holders)
        support = [r for r in holders if _supports(r) and r.id not in concluded]
        for group in _meeting(support):
            if len(group) >= least:
                yield _proposal(key, value, group, values, policy)


def _value(row: Row) -> str:
    return "" if row.claim is None else normal_value(row.claim.value)


def _supports(row: Row) -> bool:
    return row.status == "active" and not is_model(row.trace.provenance.source)


def _concluded(holders: Sequence[Row]) -> set[str]:
    """Return the ids of traces that rest on another of the same claim, whatever became of it."""
    ids = {row.id for row in holders}
    return {row.id for row in holders if ids.intersection(row.trace.derived_from)}


def _meeting(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Part rows into groups, each linked by intervals that share a moment."""
    group: list[Row] = []
    end: float = 0
    for row in sorted(rows, key=lambda row: (start_of(row.trace), row.seq, row.id)):
        if group and start_of(row.trace) >= end:
            yield group
            group = []
        end = max(end, end_of(row.trace)) if group else end_of(row.trace)
        group.append(row)
    if group:
        yield group


def _proposal(
    key: str, value: str, group: Sequence[Row], values: dict[str, list[Row]], policy: Policy
) -> ConsolidationProposal:
    support = sorted(group, key=lambda row: (row.seq, row.id))
    ids = tuple(row.id for row in support)
    start, end = (
        max(start_of(row.trace) for row in support),
        min(end_of(row.trace) for row in support),
    )
    against = [
        other
        for other, rows in sorted(values.items())
        if other != value and any(_stands_against(row, support) for row in rows)
    ]
    promoted = [
        row.id
        for row in values[value]
        if row.status == "active" and not set(ids).isdisjoint(row.trace.derived_from)
    ]
    confidence = _confidence(support)
    sources = tuple(sorted({source_of(row) for row in support}))
    eligible = (
        len(support) >= policy.consolidation_min_support
        and len(sources) >= policy.consolidation_min_independent_sources
        and confidence >= policy.consolidation_min_confidence
        and start < end
        and not against
        and not promoted
    )
    return ConsolidationProposal(
        id=proposal_id(key, value, ids),
        key=key,
        value=value,
        eligible_for_promotion=eligible,
        confidence=confidence,
        support=ids,
        sources=sources,
        verified_count=sum(row.trace.provenance.verified for row in support),
        conflicting_values=tuple(against),
        promoted_as=tuple(promoted),
        valid_from_ms=_moment(start),
        valid_until_ms=_moment(end),
    )


def _moment(at: float) -> int | None:
    return None if math.isinf(at) else int(at)


def _stands_against(row: Row, support: Sequence[Row]) -> bool:
    return _supports(row) and any(overlap(row.trace, one.trace) for one in support)


def _confidence(support: Sequence[Row]) -> float:
    mean = sum(row.trace.confidence for row in support) / len(support)
    verified = sum(row.trace.provenance.verified for row in support) / len(support)
    return round(CONFIDENCE_SHARE * mean + VERIFIED_SHARE * verified, 6)


def proposal_id(key: str, value: str, support: Sequence[str]) -> str:
    """Return the id of a proposal: it changes when its key, value or support does."""
    import hashlib  # only proposals need it

    data = msgspec.json.encode([normal_key(key), normal_value(value), sorted(support)])
    return hashlib.sha256(data).hexdigest()[:ID_DIGITS]
