"""Scores against an independent computation: exact fractions, and other people's libraries."""

from __future__ import annotations

import math
import random
from decimal import Decimal, getcontext
from fractions import Fraction

import pytest

from hikmah.reason.scores import (
    Pair,
    baseline_brier,
    bins,
    brier,
    brier_skill,
    expected_calibration_error,
    mean,
    multiclass_brier,
    spiegelhalter_z,
    two_sided_p,
    wilson,
)

TOLERANCE = 1e-9


def drawn(count: int, seed: int, digits: int | None = None) -> list[Pair]:
    """Return forecasts, some of them sure, and outcomes that lean their way."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        p = rng.choice((0.0, 1.0)) if rng.random() < 0.05 else rng.random()
        p = p if digits is None else round(p, digits)
        pairs.append((p, int(rng.random() < 0.2 + 0.6 * p)))
    return pairs


SETS = [drawn(n, seed) for seed, n in enumerate((1, 2, 7, 50, 333))] + [
    drawn(1_000, 9, digits=2),
    drawn(400, 10, digits=1),
]
each_set = pytest.mark.parametrize("pairs", SETS, ids=lambda pairs: f"{len(pairs)} pairs")


class TestByFractions:
    """The definitions, written again in exact arithmetic."""

    @each_set
    def test_brier(self, pairs: list[Pair]) -> None:
        """Mean of (p - y) squared."""
        exact = sum((Fraction(p) - y) ** 2 for p, y in pairs) / len(pairs)
        assert brier(pairs) == pytest.approx(float(exact), abs=TOLERANCE)

    @each_set
    def test_skill(self, pairs: list[Pair]) -> None:
        """1 - B / (r (1 - r)), null where all or none came true."""
        rate = Fraction(sum(y for _, y in pairs), len(pairs))
        skill = brier_skill(brier(pairs), mean([y for _, y in pairs]))
        if rate in (0, 1):
            assert skill is None
        else:
            exact = sum((Fraction(p) - y) ** 2 for p, y in pairs) / len(pairs)
            expected = 1 - exact / (rate * (1 - rate))
            assert skill == pytest.approx(float(expected), abs=TOLERANCE)
            assert baseline_brier(float(rate)) == pytest.approx(float(rate * (1 - rate)))

    @each_set
    def test_calibration_error(self, pairs: list[Pair]) -> None:
        """Five bins by comparing with fifths, borders to the upper one."""
        total = Fraction(0)
        for place in range(5):
            low, high = Fraction(place, 5), Fraction(place + 1, 5)
            inside = [
                (Fraction(repr(p)), y)
                for p, y in pairs
                if low <= Fraction(repr(p)) < high or (place == 4 and p == 1)
            ]
            if inside:
                total += abs(sum((p - y for p, y in inside), Fraction(0)))
        expected = float(total / len(pairs))
        assert expected_calibration_error(pairs) == pytest.approx(expected, abs=TOLERANCE)

    @each_set
    def test_z_and_its_p(self, pairs: list[Pair]) -> None:
        """Sum of (y - p)(1 - 2p) over the root of the sum of (1 - 2p)^2 p (1 - p)."""
        getcontext().prec = 50
        exact = [(Decimal(p), y) for p, y in pairs]
        above = sum(((y - p) * (1 - 2 * p) for p, y in exact), Decimal(0))
        below = sum(((1 - 2 * p) ** 2 * p * (1 - p) for p, _ in exact), Decimal(0))
        z = spiegelhalter_z(pairs)
        if below == 0:
            assert z is None
        else:
            assert z is not None
            assert z == pytest.approx(float(above / below.sqrt()), abs=TOLERANCE)
            assert two_sided_p(z) == pytest.approx(2 * _upper_tail(abs(z)), abs=TOLERANCE)

    @pytest.mark.parametrize(
        ("successes", "n"), [(0, 1), (1, 1), (0, 50), (50, 50), (3, 17), (25, 50), (999, 1000)]
    )
    def test_wilson(self, successes: int, n: int) -> None:
        """The two rates p at which |successes/n - p| = z sqrt(p (1 - p) / n)."""
        z = 1.959963984540054
        for bound in wilson(successes, n):
            assert 0 <= bound <= 1
            gap = (successes / n - bound) ** 2 - z * z * bound * (1 - bound) / n
            assert gap == pytest.approx(0, abs=TOLERANCE)

    def test_multiclass(self) -> None:
        """Squared errors over all answers; one that was left out adds 1."""
        distribution = {"a": 0.5, "b": 0.3, "c": 0.2}
        assert multiclass_brier(distribution, "b") == pytest.approx(0.25 + 0.49 + 0.04)
        assert multiclass_brier(distribution, "d") == pytest.approx(0.25 + 0.09 + 0.04 + 1)


def _upper_tail(z: float) -> float:
    """Return the normal distribution's upper tail, by Simpson's rule over its density."""
    if z > 12:
        return 0.0
    steps = 4_000
    width = (12 - z) / steps
    points = [math.exp(-((z + i * width) ** 2) / 2) for i in range(steps + 1)]
    inner = 4 * math.fsum(points[1:-1:2]) + 2 * math.fsum(points[2:-1:2])
    return (points[0] + inner + points[-1]) * width / 3 / math.sqrt(2 * math.pi)


class TestByLibraries:
    """The same figures from scikit-learn, statsmodels and SciPy, where they are installed."""

    @each_set
    def test_brier_of_scikit_learn(self, pairs: list[Pair]) -> None:
        """`brier_score_loss`."""
        metrics = pytest.importorskip(
            "sklearn.metrics", reason="the dev-stats extra is not installed"
        )
        theirs = metrics.brier_score_loss(
            [y for _, y in pairs], [p for p, _ in pairs], labels=[0, 1]
        )
        assert brier(pairs) == pytest.approx(theirs, abs=TOLERANCE)

    @pytest.mark.parametrize("pairs", SETS[3:5], ids=lambda pairs: f"{len(pairs)} pairs")
    def test_bins_of_scikit_learn(self, pairs: list[Pair]) -> None:
        """`calibration_curve` with five uniform bins (no forecast here stands on a border)."""
        calibration = pytest.importorskip(
            "sklearn.calibration", reason="the dev-stats extra is not installed"
        )
        rates, means = calibration.calibration_curve(
            [y for _, y in pairs], [p for p, _ in pairs], n_bins=5, strategy="uniform"
        )
        ours = [found for found in bins(pairs) if found.n]
        assert [found.observed_rate for found in ours] == pytest.approx(list(rates), abs=TOLERANCE)
        assert [found.mean_p for found in ours] == pytest.approx(list(means), abs=TOLERANCE)
        weighted = sum(found.n * abs(r - m) for found, r, m in zip(ours, rates, means, strict=True))
        assert expected_calibration_error(pairs) == pytest.approx(
            weighted / len(pairs), abs=TOLERANCE
        )

    @pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (3, 17), (25, 50), (999, 1000)])
    def test_wilson_of_statsmodels(self, successes: int, n: int) -> None:
        """`proportion_confint(method="wilson")`."""
        proportion = pytest.importorskip(
            "statsmodels.stats.proportion", reason="the dev-stats extra is not installed"
        )
        theirs = proportion.proportion_confint(successes, n, alpha=0.05, method="wilson")
        assert wilson(successes, n) == pytest.approx(theirs, abs=TOLERANCE)

    @pytest.mark.parametrize("z", [0.0, 0.5, -1.96, 3.3, 8.0])
    def test_p_of_scipy(self, z: float) -> None:
        """Twice the survival function of the normal distribution."""
        stats = pytest.importorskip("scipy.stats", reason="the dev-stats extra is not installed")
        assert two_sided_p(z) == pytest.approx(2 * stats.norm.sf(abs(z)), abs=TOLERANCE)


class TestBins:
    """Five bins of equal width."""

    def test_a_border_goes_up(self) -> None:
        """0.2 is in the second bin, 1 in the last."""
        borders = [(p, 1) for p in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
        assert [found.n for found in bins(borders)] == [1, 1, 1, 1, 2]

    def test_an_empty_bin_has_no_figures(self) -> None:
        """Null, not zero."""
        first = bins([(0.9, 1)])[0]
        assert (first.n, first.mean_p, first.observed_rate, first.interval) == (0, None, None, None)
        assert first.range == (0.0, 0.2)

    def test_order_changes_nothing(self) -> None:
        """Every figure is the same to the last bit for any order of the pairs."""
        pairs = drawn(200, 3)
        shuffled = random.Random(4).sample(pairs, len(pairs))
        for figure in (brier, expected_calibration_error, spiegelhalter_z, bins):
            assert figure(pairs) == figure(shuffled)
