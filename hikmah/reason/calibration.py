"""Calibration: how good forecasts were, by family, kind of answer and forecaster.

Rules the module keeps:

1. A row is of one family, answer kind, forecaster and *class* of forecaster. The class comes
   from the source of the record, so a person recording under an engine's name gets a row of
   their own.
2. Choices and scores are judged by their top label for everything but `brier`: p of the
   reported answer, and whether it came true.
3. Below the policy's minimum a row is anecdotal: its figures are shown with their `n`.
4. `calibrated` needs a measurable row, at least 50 outcomes whatever the policy, a Z test
   that does not reject, and a better score than always forecasting the observed rate.
5. What was purged or superseded is not handed in, so it does not count.

The formulas and their sources are in `hikmah.reason.scores`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from msgspec import Struct

from hikmah.model.trace import AnswerKind
from hikmah.reason import scores
from hikmah.reason.predictions import Resolved
from hikmah.reason.scores import Bin, Pair

MIN_CALIBRATED = 50
ForecasterKind = Literal["engine", "principal"]


class CalibrationRow(Struct, frozen=True, kw_only=True):
    """The figures of one row; null where there is nothing to compute them from.

    `n` counts resolved forecasts with a probability, `unscored` resolved ones without.
    `baseline_brier` is null for choices and scores, whose `brier` is on another scale.
    """

    family: str
    answer_kind: AnswerKind | Literal["pooled"]
    forecaster_kind: ForecasterKind
    forecaster: str
    n: int
    unscored: int
    evidence: Literal["anecdotal", "measurable"]
    brier: float | None
    top_label_brier: float | None
    baseline_brier: float | None
    ece: float | None
    rate: float | None
    z: float | None
    p_value: float | None
    brier_skill: float | None
    measurable: bool
    calibrated: bool
    bins: tuple[Bin, ...]


class CalibrationReport(Struct, frozen=True, kw_only=True):
    """Rows by family, and with a prefix one more for each forecaster over all of them."""

    min_outcomes: int
    unresolved_predictions: int
    families: tuple[CalibrationRow, ...]
    pooled: tuple[CalibrationRow, ...]


def calibrate(
    forecasts: Iterable[Resolved],
    *,
    min_outcomes: int,
    family: str | None = None,
    family_prefix: str | None = None,
) -> CalibrationReport:
    """Judge active forecasts by what came of them.

    Args:
        forecasts: Every active forecast, in any order.
        min_outcomes: From how many resolved forecasts on a row is measurable.
        family: Only this family.
        family_prefix: Only families that start so, with pooled rows.
    """
    asked = [
        one
        for one in forecasts
        if (family is None or one.prediction.family == family)
        and one.prediction.family.startswith(family_prefix or "")
    ]
    resolved = [one for one in asked if one.observed is not None]
    pooled = f"{family_prefix}*"
    return CalibrationReport(
        min_outcomes=min_outcomes,
        unresolved_predictions=len(asked) - len(resolved),
        families=tuple(
            _row(key, group, min_outcomes) for key, group in _grouped(resolved, pooled=None)
        ),
        pooled=()
        if family_prefix is None
        else tuple(
            _row(key, group, min_outcomes) for key, group in _grouped(resolved, pooled=pooled)
        ),
    )


_Kind = AnswerKind | Literal["pooled"]
_Key = tuple[str, _Kind, ForecasterKind, str]


class _Figures(NamedTuple):
    """What is computed from a row's pairs; the defaults stand for a row without any."""

    brier: float | None = None
    top_label_brier: float | None = None
    baseline_brier: float | None = None
    ece: float | None = None
    rate: float | None = None
    z: float | None = None
    p_value: float | None = None
    brier_skill: float | None = None


def _grouped(
    resolved: Sequence[Resolved], *, pooled: str | None
) -> list[tuple[_Key, list[Resolved]]]:
    def key(one: Resolved) -> _Key:
        made: ForecasterKind = "engine" if one.engine_made else "principal"
        found = one.prediction
        if pooled is not None:
            return (pooled, "pooled", made, found.forecaster)
        return (found.family, found.answer_kind, made, found.forecaster)

    return [(name, list(group)) for name, group in groupby(sorted(resolved, key=key), key=key)]


def _row(key: _Key, group: Sequence[Resolved], min_outcomes: int) -> CalibrationRow:
    family, kind, made, forecaster = key
    scored = [one for one in group if one.prediction.p is not None]
    pairs = [top_label(one) for one in scored]
    figures = _figures(kind, scored, pairs) if pairs else _Figures()
    measurable = len(pairs) >= min_outcomes
    return CalibrationRow(
        family=family,
        answer_kind=kind,
        forecaster_kind=made,
        forecaster=forecaster,
        n=len(scored),
        unscored=len(group) - len(scored),
        evidence="measurable" if measurable else "anecdotal",
        measurable=measurable,
        calibrated=measurable and len(pairs) >= MIN_CALIBRATED and _passes(figures),
        bins=scores.bins(pairs),
        **figures._asdict(),
    )


def _figures(kind: _Kind, scored: Sequence[Resolved], pairs: Sequence[Pair]) -> _Figures:
    top = scores.brier(pairs)
    rate = scores.mean([y for _, y in pairs])
    z = scores.spiegelhalter_z(pairs)
    binary = kind in ("noul", "pooled")
    return _Figures(
        brier=top if binary else scores.mean([_own_brier(one) for one in scored]),
        top_label_brier=top,
        baseline_brier=scores.baseline_brier(rate) if binary else None,
        ece=scores.expected_calibration_error(pairs),
        rate=rate,
        z=z,
        p_value=None if z is None else scores.two_sided_p(z),
        brier_skill=scores.brier_skill(top, rate),
    )


def top_label(one: Resolved) -> Pair:
    """Return p of the reported answer, and whether it came true; a noul reports true."""
    prediction = one.prediction
    reported = "true" if prediction.answer_kind == "noul" else prediction.value
    return (prediction.p or 0.0, int(one.observed == reported))


def _own_brier(one: Resolved) -> float:
    """Return the error over the whole distribution, or of the top label without one."""
    distribution, observed = one.prediction.probabilities, one.observed
    if distribution is None or observed is None:
        return scores.brier([top_label(one)])
    return scores.multiclass_brier(distribution, observed)


def _passes(figures: _Figures) -> bool:
    """Tell whether the test does not reject and the forecasts beat the observed rate."""
    z, skill = figures.z, figures.brier_skill
    return z is not None and abs(z) < scores.Z_95 and skill is not None and skill > 0
