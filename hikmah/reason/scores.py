"""Scores of probabilities against what happened, each a formula with its source.

Every function takes pairs (p, y): a probability and whether it came true (1) or not (0).
Sums are exact to the last bit (`math.fsum`), so the order of pairs changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from msgspec import Struct

Pair = tuple[float, int]
BINS = 5
# The two-sided 5 % point of the normal distribution, as Spiegelhalter's test uses it.
Z_95 = 1.96
_Z_WILSON = NormalDist().inv_cdf(0.975)


class Bin(Struct, frozen=True, kw_only=True):
    """Pairs with nearly the same probability; `interval` is Wilson's for the rate."""

    range: tuple[float, float]
    n: int
    mean_p: float | None
    observed_rate: float | None
    interval: tuple[float, float] | None


def mean(numbers: Sequence[float]) -> float:
    """Return the mean of at least one number."""
    return math.fsum(numbers) / len(numbers)


def brier(pairs: Sequence[Pair]) -> float:
    """Return the mean squared error (Brier, Monthly Weather Review 78, 1950; one category)."""
    return mean([(p - y) ** 2 for p, y in pairs])


def multiclass_brier(distribution: Mapping[str, float], observed: str) -> float:
    """Return one forecast's squared error summed over all answers (Brier's original, 0 to 2).

    An observed answer that the distribution leaves out had probability 0 and adds 1.
    """
    errors = [(p - (answer == observed)) ** 2 for answer, p in sorted(distribution.items())]
    return math.fsum([*errors, *([] if observed in distribution else [1.0])])


def spiegelhalter_z(pairs: Sequence[Pair]) -> float | None:
    """Return Spiegelhalter's Z (Statistics in Medicine 5, 1986); None at zero variance.

    Under calibration it is about normal with mean 0 and variance 1.
    """
    variance = math.fsum((1 - 2 * p) ** 2 * p * (1 - p) for p, _ in pairs)
    if variance <= 0:
        return None
    return math.fsum((y - p) * (1 - 2 * p) for p, y in pairs) / math.sqrt(variance)


def two_sided_p(z: float) -> float:
    """Return how likely a normal variable is at least this far from 0."""
    return math.erfc(abs(z) / math.sqrt(2))


def baseline_brier(rate: float) -> float:
    """Return the Brier score of always forecasting the observed rate."""
    return rate * (1 - rate)


def brier_skill(score: float, rate: float) -> float | None:
    """Return how much of the baseline's error is avoided; None where it has none."""
    baseline = baseline_brier(rate)
    return 1 - score / baseline if baseline > 0 else None


def bins(pairs: Sequence[Pair]) -> tuple[Bin, ...]:
    """Sort pairs into five equal widths; a probability on a border goes to the upper one."""
    sorted_in: list[list[Pair]] = [[] for _ in range(BINS)]
    for p, y in pairs:
        sorted_in[min(int(p * BINS), BINS - 1)].append((p, y))
    return tuple(_bin(place, inside) for place, inside in enumerate(sorted_in))


def _bin(place: int, inside: Sequence[Pair]) -> Bin:
    span = (place / BINS, (place + 1) / BINS)
    if not inside:
        return Bin(range=span, n=0, mean_p=None, observed_rate=None, interval=None)
    happened = sum(y for _, y in inside)
    return Bin(
        range=span,
        n=len(inside),
        mean_p=mean([p for p, _ in inside]),
        observed_rate=happened / len(inside),
        interval=wilson(happened, len(inside)),
    )


def expected_calibration_error(pairs: Sequence[Pair]) -> float:
    """Return the bins' mean distance of rate and probability, weighted by their size.

    Naeini, Cooper, Hauskrecht, AAAI 2015; here with five bins of equal width.
    """
    gaps = [
        found.n * abs((found.mean_p or 0.0) - (found.observed_rate or 0.0)) for found in bins(pairs)
    ]
    return math.fsum(gaps) / len(pairs)


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a rate (J. Am. Stat. Assoc. 22, 1927); n at least 1."""
    z2 = _Z_WILSON**2
    rate = successes / n
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    reach = _Z_WILSON / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - reach)
    high = 1.0 if successes == n else min(1.0, middle + reach)
    return low, high
