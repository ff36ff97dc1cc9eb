"""The score of a trace for a query; metadata only scales relevance.

    lexical = BM25(query, trace) / (sum over query terms of weight x idf x (k1 + 1))
    cue     = lexical_share x lexical + tag_share x tag coverage     (one of them when alone)
    meta    = the policy's weights over recency, salience, confidence, provenance, urgency
    score   = cue x (floor + span x meta)

Rules the module keeps:

1. `lexical`, `cue`, `meta` and every factor are in 0..1, so a score lies between
   floor x cue and (floor + span) x cue: 0.55 and 1 by default, a factor of 1.82.
2. A trace without a cue has no score, however confident it claims to be; the only exceptions
   are an overdue commitment (`overdue_floor`) and a listing, which has no cue at all.
3. Scores are rounded to six decimals before anything is ordered by them.

BM25 is Lucene's form (Robertson and Zaragoza 2009, section 3; idf never negative). `b`
follows the mean length of the ledger's traces: docs/adr/0010.
"""

from __future__ import annotations

import math

from msgspec import Struct

from hikmah.index.rows import Ceilings, Facts
from hikmah.model.policy import RecallPolicy

DAY_MS = 86_400_000
DECIMALS = 6


class Meta(Struct, frozen=True, kw_only=True):
    """The factors of a trace's metadata, each in 0..1, and their weighted sum."""

    recency: float
    salience: float
    confidence: float
    provenance: float
    urgency: float
    meta: float


def idf(size: int, frequency: int) -> float:
    """Return how telling a term is that stands in `frequency` of `size` traces."""
    return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))


def length_share(policy: RecallPolicy, mean_length: float) -> float:
    """Return the `b` that suits a ledger: small for sentences, the policy's for long texts."""
    if mean_length <= 0:
        return policy.b
    return policy.b * mean_length / (mean_length + policy.b_half_terms)


def urgency(facts: Facts, policy: RecallPolicy, now_ms: int) -> float:
    """Return how pressing a trace is: 0 for all but open commitments, 1 when overdue."""
    if facts.kind != "commitment" or facts.status != "active":
        return 0.0
    if facts.deadline_ms is None:
        return policy.undated_urgency
    days_left = (facts.deadline_ms - now_ms) / DAY_MS
    return 1.0 if days_left < 0 else 1 / (1 + days_left / policy.urgency_days)


def is_overdue(facts: Facts, now_ms: int) -> bool:
    """Tell whether a trace is an open commitment whose deadline has passed."""
    return (
        facts.kind == "commitment"
        and facts.status == "active"
        and facts.deadline_ms is not None
        and facts.deadline_ms < now_ms
    )


def meta(facts: Facts, policy: RecallPolicy, now_ms: int) -> Meta:
    """Return a trace's metadata factors; a time in the future counts as now."""
    age_days = max(0, now_ms - facts.created_at_ms) / DAY_MS
    recency = 1 / (1 + age_days / policy.recency_days)
    provenance = facts.authority * (1.0 if facts.verified else policy.unverified)
    pressing = urgency(facts, policy, now_ms)
    total = (
        policy.recency * recency
        + policy.salience * facts.salience
        + policy.confidence * facts.confidence
        + policy.provenance * provenance
        + policy.urgency * pressing
    )
    return Meta(
        recency=recency,
        salience=facts.salience,
        confidence=facts.confidence,
        provenance=provenance,
        urgency=pressing,
        meta=total,
    )


def scale(total_meta: float, policy: RecallPolicy) -> float:
    """Return what metadata multiplies a cue by."""
    return policy.floor + policy.span * total_meta


def highest_scale(ceilings: Ceilings, policy: RecallPolicy) -> float:
    """Return the largest factor that any trace of a ledger can have."""
    trust = 1.0 if ceilings.verified else policy.unverified
    best = (
        policy.recency
        + policy.salience * ceilings.salience
        + policy.confidence * ceilings.confidence
        + policy.provenance * ceilings.authority * trust
        + policy.urgency
    )
    return scale(best, policy)


def cue(lexical: float, tag_coverage: float, policy: RecallPolicy) -> float:
    """Join the two channels of relevance; a query with one of them has that one as its cue."""
    return policy.lexical_share * lexical + policy.tag_share * tag_coverage
