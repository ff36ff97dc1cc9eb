"""The gate's threshold, chosen from what its engine said and what turned out.

The gate asks an engine how likely a completion claim is false and blocks from a threshold
on. Given resolved answers, each observed probability is a possible threshold; the best one
catches the most false claims among those whose false-block rate keeps to a budget.

Rules the module keeps:

1. `true` observed means that the claim was false, and that a block would have been right.
2. The false-block rate is over all true completions; ties in recall go to fewer false
   blocks, then to the higher threshold; a threshold that catches nothing is never returned.
3. Nothing is said below 50 resolved answers, without both classes, or over two forecasters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hikmah.errors import InvalidInputError, RefusedError
from hikmah.reason.calibration import top_label
from hikmah.reason.predictions import Resolved
from hikmah.reason.scores import Pair, wilson

FAMILY = "truth_gate.false_completion.v2"
DEFAULT_THRESHOLD = 0.6
DEFAULT_BUDGET = 0.10
MIN_RESOLVED = 50


class Operating(Struct, frozen=True, kw_only=True):
    """What the gate would have done at one threshold; the interval is Wilson's, at 95 %."""

    threshold: float
    recall: float
    false_blocks: int
    false_block_rate: float
    false_block_interval: tuple[float, float]


class ThresholdReport(Struct, frozen=True, kw_only=True):
    """The threshold to use, or null, beside what the default one would have done."""

    family: str
    forecaster: str
    n: int
    false_completions: int
    true_completions: int
    max_false_block: float
    threshold: float | None
    chosen: Operating | None
    default: Operating
    note: str


def choose_threshold(
    forecasts: Iterable[Resolved],
    *,
    max_false_block: float = DEFAULT_BUDGET,
    forecaster: str | None = None,
) -> ThresholdReport:
    """Choose the gate's threshold from resolved answers of its engine.

    Args:
        forecasts: Active forecasts of any family, resolved or not.
        max_false_block: The largest share of true completions that may be blocked.
        forecaster: Which engine, where several have answered.

    Raises:
        InvalidInputError: The budget is not in [0, 1].
        RefusedError: Too few resolved answers, one class only, or several forecasters.
    """
    if not 0 <= max_false_block <= 1:
        raise InvalidInputError(f"{max_false_block} is not in [0, 1]", where="max_false_block")
    usable = [one for one in forecasts if _usable(one)]
    name = _one_forecaster(usable, forecaster)
    pairs = [top_label(one) for one in usable if one.prediction.forecaster == name]
    positives = sum(y for _, y in pairs)
    _check_enough(pairs, positives)
    points = [_at(threshold, pairs) for threshold in sorted({p for p, _ in pairs})]
    inside = [
        point for point in points if point.recall and point.false_block_rate <= max_false_block
    ]
    chosen = max(inside, key=lambda p: (p.recall, -p.false_blocks, p.threshold), default=None)
    return ThresholdReport(
        family=FAMILY,
        forecaster=name,
        n=len(pairs),
        false_completions=positives,
        true_completions=len(pairs) - positives,
        max_false_block=max_false_block,
        threshold=chosen.threshold if chosen else None,
        chosen=chosen,
        default=_at(DEFAULT_THRESHOLD, pairs),
        note=_note(chosen, max_false_block),
    )


def _usable(one: Resolved) -> bool:
    prediction = one.prediction
    return (
        prediction.family == FAMILY
        and prediction.answer_kind == "noul"
        and prediction.p is not None
        and one.observed is not None
        and one.engine_made
    )


def _one_forecaster(usable: Sequence[Resolved], wanted: str | None) -> str:
    names = sorted({one.prediction.forecaster for one in usable})
    if wanted is not None:
        if wanted not in names:
            raise RefusedError(
                f"no resolved answers of {wanted!r} in {FAMILY}",
                hint=f"forecasters: {', '.join(names) or 'none yet'}",
            )
        return wanted
    if len(names) > 1:
        raise RefusedError(
            f"{len(names)} forecasters answered: {', '.join(names)}",
            hint="choose one with --forecaster NAME: a threshold holds for one engine",
        )
    return names[0] if names else ""


def _check_enough(pairs: Sequence[Pair], positives: int) -> None:
    if len(pairs) < MIN_RESOLVED:
        raise RefusedError(
            f"{len(pairs)} resolved answers; a threshold needs {MIN_RESOLVED}",
            hint="set HIKMAH_HOOK_RECORD, and resolve what is recorded with `hikmah outcome`",
        )
    if not 0 < positives < len(pairs):
        kind = "true" if positives == 0 else "false"
        raise RefusedError(
            f"every one of {len(pairs)} resolved completions was {kind}",
            hint="a threshold needs outcomes of both kinds",
        )


def _at(threshold: float, pairs: Sequence[Pair]) -> Operating:
    positives = sum(y for _, y in pairs)
    caught = sum(y for p, y in pairs if p >= threshold)
    false_blocks = sum(1 - y for p, y in pairs if p >= threshold)
    negatives = len(pairs) - positives
    return Operating(
        threshold=threshold,
        recall=caught / positives,
        false_blocks=false_blocks,
        false_block_rate=false_blocks / negatives,
        false_block_interval=wilson(false_blocks, negatives),
    )


def _note(chosen: Operating | None, budget: float) -> str:
    if chosen is None:
        return (
            f"no threshold catches anything with at most {budget:.0%} of true completions "
            "blocked; leave the engine off, or allow more"
        )
    return (
        f"set HIKMAH_HOOK_THRESHOLD={chosen.threshold}; it was chosen on the answers it is judged "
        "by, so expect somewhat worse on new ones"
    )
