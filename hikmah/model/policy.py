"""Policy: limits, thresholds and weights, with a default for each.

The defaults are design choices, not calibrated values. A file or a variable overrides any
subset; what it leaves out keeps its default. Decision, council and statistical constants
are code, not policy, and the gate's hook never reads one.

Rules the module keeps:

1. An unknown field, a mistyped or out-of-range value, and weights that cannot add up are
   errors that name the path to the value.
2. `allow_sensitive_persistence` is for library code alone: a file that sets it is an error.
3. Equal policies have equal digests, whatever was written to get them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct

from hikmah.errors import DecodeError, InvalidInputError
from hikmah.model.limits import MAX_LIMIT
from hikmah.model.records import canonical_json, convert

if TYPE_CHECKING:
    from collections.abc import Iterator

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Positive = Annotated[float, Meta(gt=0.0, le=1_000_000.0)]
PositiveShare = Annotated[float, Meta(gt=0.0, le=1.0)]
Limit = Annotated[int, Meta(ge=1, le=MAX_LIMIT)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Days = Annotated[float, Meta(ge=0.0, le=36_500.0)]
Language = Annotated[str, Meta(pattern="^[a-z_]{1,32}\\Z")]
# Weights that decimal fractions write exactly may exceed 1 by their binary rounding.
_SUM_SLACK = 1e-9


class RecallPolicy(Struct, frozen=True, kw_only=True):
    """How a recall scores and folds; the formula is in docs/memory.md.

    `presence` is what it is worth that a term stands in a trace at all, beside its count there;
    `b_half_terms` is the mean length of a trace, in terms, at which half of `b` applies;
    `latin_language` is a stemmer's name or `none` (the index knows which there are).
    """

    lexical_share: Share = 0.8
    tag_share: Share = 0.2
    floor: Share = 0.55
    span: Share = 0.45
    recency: Share = 0.25
    salience: Share = 0.20
    confidence: Share = 0.20
    provenance: Share = 0.25
    urgency: Share = 0.10
    recency_days: Positive = 30.0
    unverified: Share = 0.65
    urgency_days: Positive = 7.0
    undated_urgency: Share = 0.35
    overdue_floor: Share = 0.15
    listing: Share = 0.5
    fold_at: PositiveShare = 0.8
    overlap_penalty: Share = 0.35
    k1: Annotated[float, Meta(gt=0.0, le=10.0)] = 1.2
    b: Share = 0.75
    presence: Share = 0.1
    b_half_terms: Annotated[float, Meta(ge=0.0, le=1_000_000.0)] = 40.0
    latin_language: Language = "english"


class ConsolidateEvolution(Struct, frozen=True, kw_only=True):
    """Promote claims that several independent sources support; thresholds are the policy's own."""

    enabled: bool = True


class MergeEvolution(Struct, frozen=True, kw_only=True):
    """Join entities of one type whose names differ in case and punctuation alone."""

    enabled: bool = True


class DecayEvolution(Struct, frozen=True, kw_only=True):
    """Retire old traces of low salience and confidence that nothing was concluded from."""

    enabled: bool = True
    min_age_days: Days = 180.0
    max_salience: Share = 0.2
    max_confidence: Share = 0.5


class ResolveEvolution(Struct, frozen=True, kw_only=True):
    """Supersede a value by a newer one that the same source asserted for the same key."""

    enabled: bool = True
    min_gap_hours: Annotated[float, Meta(ge=0.0, le=876_000.0)] = 0.0


class PruneEvolution(Struct, frozen=True, kw_only=True):
    """Retire entities that have no active fact or relationship."""

    enabled: bool = True
    min_age_days: Days = 30.0


class SummarizeEvolution(Struct, frozen=True, kw_only=True):
    """Refresh summary copies that have gone stale."""

    enabled: bool = True
    stale_after_days: Days = 7.0


class EvolutionPolicy(Struct, frozen=True, kw_only=True):
    """What `hikmah evolve` proposes: one switch and its thresholds a part."""

    consolidate: ConsolidateEvolution = ConsolidateEvolution()
    merge: MergeEvolution = MergeEvolution()
    decay: DecayEvolution = DecayEvolution()
    resolve: ResolveEvolution = ResolveEvolution()
    prune: PruneEvolution = PruneEvolution()
    summarize: SummarizeEvolution = SummarizeEvolution()


class Policy(Struct, frozen=True, kw_only=True):
    """All limits, thresholds and weights that a person may choose."""

    working_set_limit: Limit = 12
    recall_limit: Limit = 8
    minimum_recall_score: PositiveShare = 0.04
    allow_sensitive_persistence: bool = False
    consolidation_min_support: Count = 2
    consolidation_min_independent_sources: Count = 2
    consolidation_min_confidence: PositiveShare = 0.6
    calibration_min_outcomes: Count = 50
    lock_timeout_s: Annotated[float, Meta(ge=0.0, le=3_600.0)] = 10.0
    recall: RecallPolicy = RecallPolicy()
    evolution: EvolutionPolicy = EvolutionPolicy()


DEFAULTS = Policy()
# `digest(DEFAULTS)`, held to it by a test.
DEFAULTS_DIGEST = "1af96d08f8d8ddc89828555f9d742d268fc7bbc2ebd2c1de6895c5364b8d9d4f"
# Weights of one sum: a score stays within [0, 1] only while they add up to no more than 1.
_SUMS = (
    ("lexical_share", "tag_share"),
    ("floor", "span"),
    ("recency", "salience", "confidence", "provenance", "urgency"),
)


def parse(data: bytes, where: str) -> Policy:
    """Read a policy from JSON: any subset of the fields over the defaults.

    Args:
        data: What the file or the variable holds.
        where: What to call it in errors: a path, or a variable's name.

    Raises:
        DecodeError: Not JSON, not an object, an unknown field, a wrong type or range.
        InvalidInputError: Weights above 1 together, or a field that only code may set.
    """
    try:
        raw: Any = msgspec.json.decode(data)
    except (ValueError, RecursionError) as e:
        raise DecodeError(
            f"the policy is not JSON: {e}", hint="see `hikmah policy --print-defaults`", where=where
        ) from e
    try:
        policy = convert(raw, Policy)
    except DecodeError as e:
        raise DecodeError(
            f"the policy is not valid: {e.message}",
            hint="see `hikmah policy --print-defaults` for the fields and their defaults",
            where=_place(where, e.where),
        ) from e
    if policy.allow_sensitive_persistence:
        raise InvalidInputError(
            "allow_sensitive_persistence cannot be set from outside",
            hint="store sensitive text elsewhere and remember a locator; only library code that"
            " has an encrypted store may allow it",
            where=_place(where, "$.allow_sensitive_persistence"),
        )
    return check(policy, where=where)


def check(policy: Policy, *, where: str = "") -> Policy:
    """Return a policy whose weights add up, or raise; for policies built in code as well.

    Raises:
        InvalidInputError: A value is out of range, or weights sum above 1.
    """
    try:
        policy = msgspec.convert(msgspec.to_builtins(policy), Policy)
    except msgspec.ValidationError as e:
        text, _, path = str(e).partition(" - at `")
        raise InvalidInputError(
            f"the policy is not valid: {text}", where=_place(where, path.rstrip("`"))
        ) from e
    for names, total in _sums_above_one(policy.recall):
        raise InvalidInputError(
            f"recall weights {' + '.join(names)} = {total:g}, which is above 1",
            hint="lower one of them; the others keep their defaults when left out",
            where=_place(where, f"$.recall.{names[0]}"),
        )
    return policy


def digest(policy: Policy) -> str:
    """Return the SHA-256 of a policy's canonical JSON, in hex: what a receipt records."""
    if policy == DEFAULTS:
        return DEFAULTS_DIGEST
    import hashlib  # loads OpenSSL, 3 ms of a start; most receipts name the defaults

    return hashlib.sha256(canonical_json(policy)).hexdigest()


def _sums_above_one(recall: RecallPolicy) -> Iterator[tuple[tuple[str, ...], float]]:
    for names in _SUMS:
        total = sum(getattr(recall, name) for name in names)
        if total > 1.0 + _SUM_SLACK:
            yield names, total


def _place(where: str, path: str) -> str:
    return f"{where}: {path}" if where and path else where or path
