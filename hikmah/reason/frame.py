"""The decision frame: a question, weighted criteria, options with scores.

Rules the module keeps:

1. A score is a number in [0, 1]. Left out and null both mean unknown, never zero.
2. What an engine estimated stands in `model_scores`, apart from what evidence shows; where
   both are given the evidence counts.
3. Weights are finite, not negative, and positive in total; ids and names are unique; a score
   for a criterion that is not there is refused. Errors name the path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct

from hikmah.errors import InvalidInputError
from hikmah.reason.reading import check_texts


class Criterion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an option is judged by, and how much that counts."""

    id: str
    weight: float
    description: str | None = None


class Option(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to go. `evidence` are ids of traces; `hard_blocks` rule the option out."""

    name: str
    description: str | None = None
    scores: dict[str, float | None] = {}
    model_scores: dict[str, float | None] = {}
    evidence_confidence: float = 0.0
    evidence: tuple[str, ...] = ()
    hard_blocks: tuple[str, ...] = ()
    reversible: bool = False


class Frame(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision to be made."""

    question: str
    criteria: tuple[Criterion, ...]
    options: tuple[Option, ...]


def check_frame(frame: Frame) -> None:
    """Demand a frame that can be decided.

    Raises:
        InvalidInputError: A text is blank, an id used twice, a number out of its range, or a
            score given for an unknown criterion; `where` is the path.
    """
    if not frame.question.strip():
        raise InvalidInputError("the question is blank", where="$.question")
    _check_criteria(frame.criteria)
    if not frame.options:
        raise InvalidInputError("there is no option to choose", where="$.options")
    check_texts((o.name for o in frame.options), where="$.options[*].name", what="option name")
    known = {criterion.id for criterion in frame.criteria}
    for index, option in enumerate(frame.options):
        where = f"$.options[{index}]"
        _check_scores(option.scores, known, f"{where}.scores")
        _check_scores(option.model_scores, known, f"{where}.model_scores")
        _check_unit(option.evidence_confidence, f"{where}.evidence_confidence")
        check_texts(option.hard_blocks, where=f"{where}.hard_blocks[*]", what="hard block")
        check_texts(option.evidence, where=f"{where}.evidence[*]", what="evidence id")


def _check_criteria(criteria: tuple[Criterion, ...]) -> None:
    if not criteria:
        raise InvalidInputError("there is no criterion to judge by", where="$.criteria")
    check_texts((c.id for c in criteria), where="$.criteria[*].id", what="criterion id")
    for index, criterion in enumerate(criteria):
        if not (math.isfinite(criterion.weight) and criterion.weight >= 0):
            raise InvalidInputError(
                f"weight {criterion.weight} is not a number from 0 up",
                where=f"$.criteria[{index}].weight",
            )
    if not any(criterion.weight for criterion in criteria):
        raise InvalidInputError("the weights are all 0; one must count", where="$.criteria")


def _check_scores(scores: Mapping[str, float | None], known: set[str], where: str) -> None:
    for criterion, score in scores.items():
        if criterion not in known:
            raise InvalidInputError(
                f"there is no criterion {criterion!r}",
                hint=f"criteria: {', '.join(sorted(known))}",
                where=f"{where}.{criterion}",
            )
        if score is not None:
            _check_unit(score, f"{where}.{criterion}")


def _check_unit(number: float, where: str) -> None:
    if not 0.0 <= number <= 1.0:
        raise InvalidInputError(f"{number} is not in [0, 1]", where=where)
