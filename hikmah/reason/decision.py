"""Decisions: options ranked by what is known, the unknown kept in sight.

The rules are in `hikmah.reason.weighing`, what would change the answer in
`hikmah.reason.sensitivity`; this module reads the frame and words the result.

Example:
    >>> frame = Frame(
    ...     question="Which way?",
    ...     criteria=(Criterion(id="safe", weight=1.0),),
    ...     options=(Option(name="a", scores={"safe": 0.9}), Option(name="b")),
    ... )
    >>> result = decide(frame)
    >>> result.recommended, result.decisive, result.options[1].score_interval
    ('a', False, (0.0, 1.0))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from msgspec import Struct

from hikmah.errors import NotFoundError
from hikmah.reason.evidence import Evidence, Shown, shown
from hikmah.reason.frame import Criterion, Frame, Option, check_frame
from hikmah.reason.reading import exact
from hikmah.reason.sensitivity import (
    ScoreChange,
    WeightChange,
    nearest_score,
    nearest_weight,
)
from hikmah.reason.weighing import Row, Standing, Verdict, decisive, judge, stand

__all__ = ["Criterion", "Decision", "Evidence", "Flip", "Frame", "Option", "Ranked", "decide"]
NO_EVIDENCE: Mapping[str, Evidence] = MappingProxyType({})


class Ranked(Struct, frozen=True, kw_only=True):
    """What one option comes to. `raw_score` is null when evidence scores nothing of weight."""

    name: str
    rank: int
    admissible: bool
    hard_blocks: tuple[str, ...]
    reversible: bool
    score_interval: tuple[float, float]
    evidence_interval: tuple[float, float]
    coverage: float
    raw_score: float | None
    evidence_confidence: float
    confidence_adjusted_score: float | None
    missing_criteria: tuple[str, ...]
    model_estimated_criteria: tuple[str, ...]
    evidence: tuple[Shown, ...]
    note: str | None = None


class WeightFlip(Struct, frozen=True, kw_only=True):
    """The smallest change of one weight that changes the winner; `beyond`: only past `to`."""

    criterion: str
    weight: float
    to: float
    change: float
    beyond: bool
    recommended: str


class ScoreFlip(Struct, frozen=True, kw_only=True):
    """The smallest change of one score without evidence that changes the winner.

    `score` is what it counts as now: an engine's estimate, or null, which counts as 0.
    """

    option: str
    criterion: str
    score: float | None
    to: float
    change: float
    beyond: bool
    recommended: str


class Flip(Struct, frozen=True, kw_only=True):
    """How near another answer is; null where no single number of that sort changes it."""

    weight: WeightFlip | None
    score: ScoreFlip | None


class Decision(Struct, frozen=True, kw_only=True):
    """The answer to a frame. `recommended` is null when every option is blocked."""

    question: str
    recommended: str | None
    no_admissible_option: bool
    decisive: bool
    reversibility_preferred: bool
    options: tuple[Ranked, ...]
    flip: Flip | None


def decide(frame: Frame, evidence: Mapping[str, Evidence] = NO_EVIDENCE) -> Decision:
    """Rank the options of a frame and recommend one.

    Args:
        frame: What is to be decided.
        evidence: What the ledger knows of each evidence id in the frame, by that id.

    Raises:
        InvalidInputError: The frame cannot be decided; `where` is the path.
        NotFoundError: An evidence id is not among `evidence`.
    """
    check_frame(frame)
    looked_up = [_evidence(frame, index, evidence) for index in range(len(frame.options))]
    weights, rows, verdict = _weigh(frame, looked_up)
    winner = verdict.recommended
    by_name = {o.name: (o, seen) for o, seen in zip(frame.options, looked_up, strict=True)}
    return Decision(
        question=frame.question,
        recommended=winner.row.name if winner else None,
        no_admissible_option=winner is None,
        decisive=decisive(verdict),
        reversibility_preferred=verdict.preferred,
        options=tuple(
            _ranked(frame, rank, standing, *by_name[standing.row.name])
            for rank, standing in enumerate(verdict.order, 1)
        ),
        flip=_flip(frame, weights, rows, verdict, winner.row.name) if winner else None,
    )


def _weigh(
    frame: Frame, looked_up: Sequence[tuple[Shown, ...]]
) -> tuple[list[Fraction], list[Row], Verdict]:
    weights = [exact(criterion.weight) for criterion in frame.criteria]
    rows = [_row(frame, o, seen) for o, seen in zip(frame.options, looked_up, strict=True)]
    return weights, rows, judge([stand(weights, row) for row in rows])


def _evidence(frame: Frame, index: int, evidence: Mapping[str, Evidence]) -> tuple[Shown, ...]:
    found: list[Shown] = []
    for place, record_id in enumerate(frame.options[index].evidence):
        if record_id not in evidence:
            raise NotFoundError(
                f"evidence {record_id!r} is not in the ledger",
                where=f"$.options[{index}].evidence[{place}]",
            )
        found.append(shown(evidence[record_id]))
    return tuple(found)


def _unsupported(seen: tuple[Shown, ...]) -> bool:
    """Tell whether evidence is named and none of it counts."""
    return bool(seen) and not any(item.counts for item in seen)


def _row(frame: Frame, option: Option, seen: tuple[Shown, ...]) -> Row:
    ids = [criterion.id for criterion in frame.criteria]
    confidence = Fraction(0) if _unsupported(seen) else exact(option.evidence_confidence)
    return Row(
        name=option.name,
        reversible=option.reversible,
        blocked=bool(option.hard_blocks),
        confidence=confidence,
        known=tuple(_exact_or_none(option.scores.get(i)) for i in ids),
        guessed=tuple(_exact_or_none(option.model_scores.get(i)) for i in ids),
    )


def _exact_or_none(score: float | None) -> Fraction | None:
    return None if score is None else exact(score)


def _ranked(
    frame: Frame, rank: int, standing: Standing, option: Option, seen: tuple[Shown, ...]
) -> Ranked:
    row, raw = standing.row, standing.raw
    states = list(zip(frame.criteria, row.known, row.guessed, strict=True))
    adjusted = None if raw is None else raw * (1 + standing.confidence) / 2
    return Ranked(
        name=row.name,
        rank=rank,
        admissible=not row.blocked,
        hard_blocks=option.hard_blocks,
        reversible=row.reversible,
        score_interval=(float(standing.lo), float(standing.hi)),
        evidence_interval=(float(standing.evidence_lo), float(standing.evidence_hi)),
        coverage=float(standing.coverage),
        raw_score=None if raw is None else float(raw),
        evidence_confidence=float(standing.confidence),
        confidence_adjusted_score=None if adjusted is None else float(adjusted),
        missing_criteria=tuple(c.id for c, k, g in states if k is None and g is None),
        model_estimated_criteria=tuple(c.id for c, k, g in states if k is None and g is not None),
        evidence=seen,
        note=_NOTHING_COUNTS if _unsupported(seen) else None,
    )


_NOTHING_COUNTS = (
    "none of the evidence counts (written by a model, or purged), so evidence_confidence is 0"
)


def _flip(
    frame: Frame, weights: list[Fraction], rows: list[Row], verdict: Verdict, winner: str
) -> Flip:
    weight = nearest_weight(weights, rows, verdict, winner)
    score = nearest_score(weights, rows, verdict, winner)
    return Flip(
        weight=_weight_flip(frame, weight) if weight else None,
        score=_score_flip(frame, score) if score else None,
    )


def _weight_flip(frame: Frame, found: WeightChange) -> WeightFlip:
    return WeightFlip(
        criterion=frame.criteria[found.criterion].id,
        weight=float(found.change.start),
        to=float(found.change.to),
        change=float(found.change.size),
        beyond=found.change.beyond,
        recommended=found.change.winner,
    )


def _score_flip(frame: Frame, found: ScoreChange) -> ScoreFlip:
    criterion = frame.criteria[found.criterion].id
    (option,) = [o for o in frame.options if o.name == found.option]
    return ScoreFlip(
        option=found.option,
        criterion=criterion,
        score=option.model_scores.get(criterion),
        to=float(found.change.to),
        change=float(found.change.size),
        beyond=found.change.beyond,
        recommended=found.change.winner,
    )
