"""The council: five lanes that each look at one count and may stand in the way.

Rules the module keeps:

1. A lane's severity grows with its count up to 1; at 0.8 or more it blocks.
2. Risk and human impact veto at one item: no good score elsewhere makes up for it.
3. Lanes read counts that the caller gives; they judge no text.

The divisors and the block level are design choices, part of the code and not of a policy.

Example:
    >>> deliberate(Counts(irreversible_actions=1)).blocking_lanes
    ('risk',)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

Lane = Literal["evidence", "memory", "delivery", "risk", "human_impact"]
BLOCKS_AT = Fraction(4, 5)
VETOES: frozenset[Lane] = frozenset({"risk", "human_impact"})
Count = Annotated[int, Meta(ge=0)]


class Counts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the lanes look at."""

    unverified_claims: Count = 0
    memory_conflicts: Count = 0
    missing_acceptance_criteria: Count = 0
    irreversible_actions: Count = 0
    human_impact_questions: Count = 0


class Signal(Struct, frozen=True, kw_only=True):
    """What one lane says; `veto` means that the lane blocks by itself at one item."""

    lane: Lane
    severity: float
    veto: bool
    message: str


class Council(Struct, frozen=True, kw_only=True):
    """What the lanes come to together."""

    can_proceed: bool
    blocking_lanes: tuple[Lane, ...]
    signals: tuple[Signal, ...]


class _Rule(NamedTuple):
    lane: Lane
    field: str  # the field of `Counts` that the lane reads
    full: int  # the count at which severity reaches 1
    one: str
    many: str
    none: str


_RULES = (
    _Rule(
        "evidence",
        "unverified_claims",
        3,
        "1 claim that matters is not verified",
        "{} claims that matter are not verified",
        "no unverified claim was counted",
    ),
    _Rule(
        "memory",
        "memory_conflicts",
        2,
        "1 claim in memory has two values",
        "{} claims in memory have more than one value",
        "no contradiction in memory was counted",
    ),
    _Rule(
        "delivery",
        "missing_acceptance_criteria",
        3,
        "1 acceptance criterion is missing",
        "{} acceptance criteria are missing",
        "no missing acceptance criterion was counted",
    ),
    _Rule(
        "risk",
        "irreversible_actions",
        1,
        "1 action cannot be undone; a person decides",
        "{} actions cannot be undone; a person decides",
        "no irreversible action was counted",
    ),
    _Rule(
        "human_impact",
        "human_impact_questions",
        1,
        "1 question about people is open; a person answers it",
        "{} questions about people are open; a person answers them",
        "no open question about people was counted",
    ),
)


def deliberate(counts: Counts) -> Council:
    """Ask every lane and return what they say, in a fixed order."""
    severities = [min(Fraction(1), Fraction(_count(rule, counts), rule.full)) for rule in _RULES]
    blocking = tuple(
        rule.lane
        for rule, severity in zip(_RULES, severities, strict=True)
        if severity >= BLOCKS_AT
    )
    signals = tuple(
        Signal(
            lane=rule.lane,
            severity=float(severity),
            veto=rule.lane in VETOES,
            message=_message(rule, _count(rule, counts)),
        )
        for rule, severity in zip(_RULES, severities, strict=True)
    )
    return Council(can_proceed=not blocking, blocking_lanes=blocking, signals=signals)


def _count(rule: _Rule, counts: Counts) -> int:
    count: int = getattr(counts, rule.field)
    return count


def _message(rule: _Rule, count: int) -> str:
    if count == 0:
        return rule.none
    return rule.one if count == 1 else rule.many.format(count)
