"""The gate's threshold: the best within a budget, or none, and never from too little."""

from __future__ import annotations

import random

import pytest

from hikmah.errors import InvalidInputError, RefusedError
from hikmah.model.trace import Prediction
from hikmah.reason.predictions import Resolved
from hikmah.reason.threshold import FAMILY, choose_threshold


def answer(
    p: float | None,
    *,
    false: bool | None,
    forecaster: str = "jev@1",
    source: str | None = None,
    family: str = FAMILY,
) -> Resolved:
    """Return an engine's answer about a completion claim that turned out true or false."""
    prediction = Prediction(
        family=family, answer_kind="noul", forecaster=forecaster, question="?", p=p, value="true"
    )
    observed = None if false is None else str(false).lower()
    return Resolved(
        prediction=prediction, source=source or f"model:{forecaster}", observed=observed
    )


def answers(false_at: list[float], true_at: list[float]) -> list[Resolved]:
    """Return resolved answers by the probabilities given to false and to true completions."""
    return [answer(p, false=True) for p in false_at] + [answer(p, false=False) for p in true_at]


def test_the_highest_recall_within_the_budget() -> None:
    """0.5 catches all ten and blocks four of forty; 0.4 would block eight."""
    report = choose_threshold(answers([0.9] * 6 + [0.5] * 4, [0.1] * 32 + [0.4] * 4 + [0.7] * 4))
    assert report.chosen is not None
    assert (report.threshold, report.chosen.recall, report.chosen.false_blocks) == (0.5, 1.0, 4)
    assert report.chosen.false_block_rate == 0.1
    assert (report.n, report.false_completions, report.true_completions) == (50, 10, 40)
    assert (report.default.recall, report.default.false_blocks) == (0.6, 4)
    low, high = report.chosen.false_block_interval
    assert low < 0.1 < high


def test_ties_go_to_fewer_false_blocks_then_higher() -> None:
    """Equal recall: the threshold that blocks less; equal blocks: the higher one."""
    false_at = [0.9] * 10
    report = choose_threshold(answers(false_at, [0.1] * 37 + [0.5, 0.7, 0.9]))
    assert report.threshold == 0.9


def test_one_that_catches_nothing_is_never_returned() -> None:
    """Blocking nobody keeps to any budget and is no threshold."""
    report = choose_threshold(answers([0.1] * 10, [0.9] * 40), max_false_block=0.5)
    assert (report.threshold, report.chosen) == (None, None)
    assert "leave the engine off" in report.note


def test_a_budget_of_nothing_may_be_enough() -> None:
    """A clean separation needs no false block."""
    report = choose_threshold(answers([0.8] * 10, [0.2] * 40), max_false_block=0)
    assert report.threshold == 0.8
    assert "HIKMAH_HOOK_THRESHOLD=0.8" in report.note


def test_it_is_the_best_of_all_thresholds() -> None:
    """Checked against trying every one, on drawn answers."""
    rng = random.Random(2)
    for _ in range(50):
        false_at = [round(rng.betavariate(3, 2), 2) for _ in range(rng.randint(5, 60))]
        true_at = [round(rng.betavariate(2, 3), 2) for _ in range(rng.randint(50, 90))]
        budget = rng.choice((0.0, 0.05, 0.1, 0.3))
        best = max(
            (
                (sum(p >= t for p in false_at), -sum(p >= t for p in true_at), t)
                for t in [*false_at, *true_at]
                if sum(p >= t for p in true_at) <= budget * len(true_at)
                and any(p >= t for p in false_at)
            ),
            default=None,
        )
        report = choose_threshold(answers(false_at, true_at), max_false_block=budget)
        assert report.threshold == (best[2] if best else None)


class TestRefusals:
    """Too little is said to be too little."""

    def test_below_fifty(self) -> None:
        """What is unresolved, unscored, of another family or by a person does not count."""
        enough = answers([0.9] * 10, [0.1] * 39)
        beside = [
            answer(0.5, false=None),
            answer(None, false=True),
            answer(0.5, false=True, family="other"),
            answer(0.5, false=True, source="jev@1"),
        ]
        with pytest.raises(RefusedError, match="49 resolved answers; a threshold needs 50"):
            choose_threshold(enough + beside)

    def test_none_at_all(self) -> None:
        """An empty ledger is too little."""
        with pytest.raises(RefusedError, match="0 resolved answers"):
            choose_threshold([])

    @pytest.mark.parametrize("false", [True, False])
    def test_one_class(self, false: bool) -> None:
        """Nothing can be chosen without both."""
        with pytest.raises(RefusedError, match="every one of 60 resolved completions was"):
            choose_threshold([answer(0.5, false=false)] * 60)

    def test_several_forecasters(self) -> None:
        """A threshold holds for one engine; the caller picks it."""
        some = answers([0.9] * 10, [0.1] * 40)
        other = [answer(0.5, false=True, forecaster="jev@2")]
        with pytest.raises(RefusedError, match="2 forecasters answered: jev@1, jev@2"):
            choose_threshold(some + other)
        assert choose_threshold(some + other, forecaster="jev@1").threshold == 0.9
        with pytest.raises(RefusedError, match="no resolved answers of 'x'") as caught:
            choose_threshold(some + other, forecaster="x")
        assert caught.value.hint == "forecasters: jev@1, jev@2"
        with pytest.raises(RefusedError) as caught:
            choose_threshold([], forecaster="x")
        assert caught.value.hint == "forecasters: none yet"

    @pytest.mark.parametrize("budget", [-0.1, 1.1, float("nan")])
    def test_a_budget_outside_its_range(self, budget: float) -> None:
        """It is a share."""
        with pytest.raises(InvalidInputError):
            choose_threshold([], max_false_block=budget)
