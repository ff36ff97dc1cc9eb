"""Options weighed: intervals, order, recommendation, decisiveness.

Everything here is exact: numbers are the decimals they are written as, so that a tie is a tie
on every machine and no order depends on how a sum was rounded.

Rules the module keeps:

1. An unknown score lies anywhere in [0, 1]. An interval has the unknown ones at 0 and at 1;
   the evidence interval counts engine estimates among the unknown.
2. Admissible options rank by the lower end, then the upper end, then reversible ones first,
   then the name. Blocked options rank after all of them.
3. Where the best option cannot be undone and stands on weak evidence, a reversible one that
   is nearly as good is recommended in its place.
4. A recommendation is decisive only if no unknown score and no wrong estimate could change
   it, rule 3 included.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

# Design choices, part of the code and not of a policy.
CONFIDENT = Fraction(7, 10)  # evidence confidence from which an irreversible option may stand
BAND = Fraction(2, 100)  # how much worse a reversible option may be and still be preferred


class Row(NamedTuple):
    """One option in numbers; the tuples follow the order of the criteria."""

    name: str
    reversible: bool
    blocked: bool
    confidence: Fraction  # as given, before coverage
    known: tuple[Fraction | None, ...]
    guessed: tuple[Fraction | None, ...]


class Standing(NamedTuple):
    """What one option comes to."""

    row: Row
    lo: Fraction
    hi: Fraction
    evidence_lo: Fraction
    evidence_hi: Fraction
    coverage: Fraction
    raw: Fraction | None  # weighted mean over what evidence scored; None if that has no weight

    @property
    def confidence(self) -> Fraction:
        """Return the evidence confidence given, scaled by how much of the weight it covers."""
        return self.row.confidence * self.coverage

    @property
    def risky(self) -> bool:
        """Tell whether this option, if best, gives way to a nearly as good reversible one."""
        return not self.row.reversible and self.confidence < CONFIDENT


class Verdict(NamedTuple):
    """Options in order, the one recommended (None when all are blocked), and by which rule."""

    order: tuple[Standing, ...]
    recommended: Standing | None
    preferred: bool  # by rule 3


def stand(weights: Sequence[Fraction], row: Row) -> Standing:
    """Weigh one option."""
    total = sum(weights, Fraction(0))
    scored = guessed = covered = estimated = Fraction(0)
    for weight, known, guess in zip(weights, row.known, row.guessed, strict=True):
        if known is not None:
            scored += weight * known
            covered += weight
        elif guess is not None:
            guessed += weight * guess
            estimated += weight
    return Standing(
        row=row,
        lo=(scored + guessed) / total,
        hi=(scored + guessed + total - covered - estimated) / total,
        evidence_lo=scored / total,
        evidence_hi=(scored + total - covered) / total,
        coverage=covered / total,
        raw=scored / covered if covered else None,
    )


def judge(standings: Sequence[Standing]) -> Verdict:
    """Order the options and recommend one."""
    order = tuple(sorted(standings, key=_rank))
    admissible = [standing for standing in order if not standing.row.blocked]
    if not admissible:
        return Verdict(order, None, preferred=False)
    best = admissible[0]
    if best.risky:
        for standing in admissible[1:]:
            if standing.row.reversible and best.lo - standing.lo <= BAND:
                return Verdict(order, standing, preferred=True)
    return Verdict(order, best, preferred=False)


def _rank(standing: Standing) -> tuple[bool, Fraction, Fraction, bool, str]:
    row = standing.row
    return (row.blocked, -standing.lo, -standing.hi, not row.reversible, row.name)


def decisive(verdict: Verdict) -> bool:
    """Tell whether nothing that is unknown or estimated could change the recommendation."""
    winner = verdict.recommended
    if winner is None:
        return False
    return all(
        standing is winner or standing.row.blocked or _out_of_reach(standing, winner)
        for standing in verdict.order
    )


def _out_of_reach(other: Standing, winner: Standing) -> bool:
    """Tell whether an option stays behind at its best, with the winner at its worst."""
    near = BAND if winner.risky and other.row.reversible else Fraction(0)
    return other.evidence_hi < winner.evidence_lo - near
