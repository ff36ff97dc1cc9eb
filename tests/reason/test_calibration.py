"""Calibration rows: who is in which, what counts, and when it is called calibrated."""

from __future__ import annotations

import random
from collections.abc import Iterable

import msgspec
import pytest

from hikmah.model.trace import AnswerKind, Prediction
from hikmah.reason.calibration import CalibrationReport, CalibrationRow, calibrate
from hikmah.reason.predictions import Resolved


def resolved(
    p: float | None,
    observed: str | bool | None,
    *,
    kind: AnswerKind = "noul",
    family: str = "f",
    forecaster: str = "human:alex",
    source: str | None = None,
    value: str | None = None,
    probabilities: dict[str, float] | None = None,
) -> Resolved:
    """Return one forecast with what came of it."""
    prediction = Prediction(
        family=family,
        answer_kind=kind,
        forecaster=forecaster,
        question="?",
        p=p,
        value="true" if kind == "noul" else value,
        probabilities=probabilities,
        answer_space=("true", "false") if kind == "noul" else ("a", "b", "c"),
    )
    seen = str(observed).lower() if isinstance(observed, bool) else observed
    return Resolved(prediction=prediction, source=source or forecaster, observed=seen)


def judged(forecasts: Iterable[Resolved], minimum: int = 50, **asked: str) -> CalibrationReport:
    """Judge forecasts."""
    return calibrate(forecasts, min_outcomes=minimum, **asked)


def only_row(forecasts: Iterable[Resolved], minimum: int = 50) -> CalibrationRow:
    """Return the one row there is."""
    (row,) = judged(forecasts, minimum).families
    return row


def honest(count: int, seed: int = 1) -> list[Resolved]:
    """Return forecasts of which each comes true as often as it says."""
    rng = random.Random(seed)
    ps = [rng.uniform(0.05, 0.95) for _ in range(count)]
    return [resolved(p, rng.random() < p) for p in ps]


class TestRows:
    """One row a family, kind, class and name of forecaster."""

    def test_a_person_under_an_engines_name_has_a_row_of_their_own(self) -> None:
        """The class comes from the source, not from the name."""
        engine = resolved(0.9, True, forecaster="jev@1", source="model:jev@1")
        person = resolved(0.9, False, forecaster="jev@1", source="jev@1")
        shouting = resolved(0.9, True, forecaster="jev@1", source=" MODEL:jev@1")
        rows = judged([engine, person, shouting]).families
        assert [(r.forecaster_kind, r.forecaster, r.n) for r in rows] == [
            ("engine", "jev@1", 2),
            ("principal", "jev@1", 1),
        ]

    def test_kinds_are_not_mixed(self) -> None:
        """One family asked in two ways has two rows."""
        rows = judged([resolved(0.5, True), resolved(0.5, "a", kind="choice", value="a")]).families
        assert [row.answer_kind for row in rows] == ["choice", "noul"]

    def test_rows_are_in_order_whatever_came_first(self) -> None:
        """By family, kind, class, name."""
        some = [resolved(0.5, True, family=f, forecaster=n) for f in "cab" for n in ("y", "x")]
        rows = judged(random.Random(0).sample(some, len(some))).families
        assert [row.family + row.forecaster for row in rows] == ["ax", "ay", "bx", "by", "cx", "cy"]

    def test_a_family_or_a_prefix_selects(self) -> None:
        """And only a prefix pools."""
        some = [resolved(0.5, True, family=f) for f in ("site.ctr", "site.cvr", "ops", "site")]
        assert [r.family for r in judged(some, family="site").families] == ["site"]
        assert judged(some, family="site").pooled == ()
        report = judged(some, family_prefix="site.")
        assert [r.family for r in report.families] == ["site.ctr", "site.cvr"]
        assert [(r.family, r.answer_kind, r.n) for r in report.pooled] == [("site.*", "pooled", 2)]

    def test_an_empty_prefix_pools_everything(self) -> None:
        """One row a forecaster over all families."""
        some = [resolved(0.5, True, family=f, forecaster=n) for f in "ab" for n in ("x", "y")]
        report = judged(some, family_prefix="")
        assert [(r.family, r.forecaster, r.n) for r in report.pooled] == [
            ("*", "x", 2),
            ("*", "y", 2),
        ]

    def test_what_is_not_resolved_is_counted_apart(self) -> None:
        """And only where it was asked for."""
        some = [resolved(0.5, None), resolved(0.5, True), resolved(None, None, family="g")]
        assert judged(some).unresolved_predictions == 2
        assert judged(some, family="g").unresolved_predictions == 1
        assert judged(some, family="g").families == ()

    def test_no_probability_is_unscored(self) -> None:
        """A row of such forecasts has counts and no figures."""
        row = only_row([resolved(None, "a", kind="choice", value="a")])
        assert (row.n, row.unscored, row.evidence) == (0, 1, "anecdotal")
        figures = (row.brier, row.ece, row.rate, row.z, row.p_value, row.brier_skill)
        assert figures == (None,) * 6
        assert not row.calibrated
        assert all(found.n == 0 for found in row.bins)


class TestFigures:
    """Each field by a case small enough to compute by hand."""

    def test_noul(self) -> None:
        """Brier, baseline, rate and skill of three forecasts."""
        row = only_row([resolved(0.8, True), resolved(0.6, False), resolved(0.3, False)])
        assert row.brier == row.top_label_brier == pytest.approx((0.04 + 0.36 + 0.09) / 3)
        assert row.rate == pytest.approx(1 / 3)
        assert row.baseline_brier == pytest.approx(2 / 9)
        assert row.brier_skill == pytest.approx(1 - 0.49 / 3 / (2 / 9))
        assert row.ece == pytest.approx((0.2 + 0.6 + 0.3) / 3)

    def test_choice_with_a_distribution(self) -> None:
        """Brier over all answers; everything else by the reported one."""
        spread = {"a": 0.7, "b": 0.2, "c": 0.1}
        row = only_row([resolved(0.7, "b", kind="choice", value="a", probabilities=spread)])
        assert row.brier == pytest.approx(0.49 + 0.64 + 0.01)
        assert row.top_label_brier == pytest.approx(0.49)
        assert row.baseline_brier is None
        assert row.rate == 0

    def test_choice_observed_outside_its_distribution(self) -> None:
        """What was left out had probability 0: it adds 1."""
        row = only_row(
            [resolved(0.7, "c", kind="choice", value="a", probabilities={"a": 0.7, "b": 0.3})]
        )
        assert row.brier == pytest.approx(0.49 + 0.09 + 1)

    def test_choice_without_a_distribution(self) -> None:
        """The binary error of the reported answer."""
        row = only_row([resolved(0.7, "b", kind="choice", value="a")])
        assert row.brier == row.top_label_brier == pytest.approx(0.49)

    def test_pooled_rows_use_the_top_label(self) -> None:
        """So that kinds can be put together."""
        spread = {"a": 0.7, "b": 0.3}
        some = [
            resolved(0.7, "b", kind="choice", value="a", probabilities=spread),
            resolved(0.5, True),
        ]
        (row,) = judged(some, family_prefix="").pooled
        assert row.brier == row.top_label_brier == pytest.approx((0.49 + 0.25) / 2)
        assert row.baseline_brier == pytest.approx(0.25)

    @pytest.mark.parametrize(("observed", "rate"), [(True, 1), (False, 0)])
    def test_all_or_none_come_true(self, observed: bool, rate: int) -> None:
        """There is no baseline to beat: skill is null and nothing is calibrated."""
        row = only_row([resolved(0.5, observed)] * 60)
        assert (row.rate, row.brier_skill, row.calibrated) == (rate, None, False)

    def test_even_odds_have_no_z(self) -> None:
        """At p = 0.5 nothing can be tested: z is null and nothing is calibrated."""
        row = only_row([resolved(0.5, i % 2 == 0) for i in range(60)])
        assert (row.z, row.p_value, row.calibrated) == (None, None, False)


class TestCalibrated:
    """Measurable, at least 50, not rejected, better than the base rate."""

    def test_honest_forecasts_are_calibrated(self) -> None:
        """Four hundred of them pass."""
        row = only_row(honest(400))
        assert row.z is not None
        assert abs(row.z) < 1.96
        assert (row.evidence, row.measurable, row.calibrated) == ("measurable", True, True)

    def test_a_lower_minimum_does_not_lower_the_bar(self) -> None:
        """49 outcomes are measurable if the policy says so, and never calibrated."""
        some = honest(400)
        row = only_row(some[:49], minimum=10)
        assert (row.measurable, row.evidence, row.calibrated) == (True, "measurable", False)
        assert only_row(some[:9], minimum=10).evidence == "anecdotal"

    def test_a_higher_minimum_raises_it(self) -> None:
        """400 outcomes are not measurable under a policy of 401."""
        row = only_row(honest(400), minimum=401)
        assert (row.measurable, row.calibrated) == (False, False)

    def test_overconfidence_is_rejected(self) -> None:
        """0.95 that comes true two times in three."""
        row = only_row([resolved(0.95, i % 3 > 0) for i in range(90)])
        assert row.z is not None
        assert row.z > 1.96
        assert not row.calibrated

    def test_knowing_nothing_is_not_calibrated(self) -> None:
        """Always forecasting the base rate passes the test and beats nothing."""
        row = only_row([resolved(0.25, i % 4 == 0) for i in range(100)])
        assert row.z == pytest.approx(0, abs=1e-9)
        assert row.brier_skill == pytest.approx(0)
        assert not row.calibrated


def test_the_report_has_the_documented_keys() -> None:
    """It encodes to plain data under stable names."""
    plain = msgspec.to_builtins(judged([resolved(0.5, True)]))
    assert set(plain) == {"min_outcomes", "unresolved_predictions", "families", "pooled"}
    (row,) = plain["families"]
    assert list(row) == [
        "family", "answer_kind", "forecaster_kind", "forecaster", "n", "unscored", "evidence",
        "brier", "top_label_brier", "baseline_brier", "ece", "rate", "z", "p_value",
        "brier_skill", "measurable", "calibrated", "bins",
    ]  # fmt: skip
    assert list(row["bins"][0]) == ["range", "n", "mean_p", "observed_rate", "interval"]
