"""Forecasts to be recorded, and forecasts read back with what came of them.

Rules the module keeps:

1. People, agents and engines forecast on the same footing: one record, one way to score it.
2. Only what admission let through becomes an engine's forecast, under a `model:` source.
3. A probability that was not reported is null, never invented: such a forecast is counted
   as unscored. An engine's confidence is not a probability of its answer.
4. For a noul, `p` is the probability that it is true.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from hikmah.errors import InvalidInputError
from hikmah.model.trace import AnswerKind, Prediction, is_model
from hikmah.reason.admission import Abstained, Admission, Admitted, ChoiceAnswer, ScoreAnswer
from hikmah.reason.port import Choice, Question, Score, request_id

NOUL_ANSWERS = ("true", "false")


class Resolved(Struct, frozen=True, kw_only=True):
    """An active forecast as calibration sees it; `observed` is None until it is resolved."""

    prediction: Prediction
    source: str
    observed: str | None = None

    @property
    def engine_made(self) -> bool:
        """Tell whether an engine made it: by its source, whatever name it goes by."""
        return is_model(self.source)


def forecast(
    *,
    family: str,
    kind: AnswerKind,
    p: float | None,
    question: str,
    forecaster: str,
    value: str | None = None,
    answer_space: tuple[str, ...] = (),
) -> Prediction:
    """Return what a person or an agent forecasts.

    Raises:
        InvalidInputError: Values that do not go together.
    """
    if kind == "noul":
        if value not in (None, "true"):
            raise InvalidInputError(
                "a noul's probability is that of true",
                hint="leave the value out, and give 1 - p for the probability of false",
                where="$.value",
            )
        value, answer_space = "true", NOUL_ANSWERS
    elif value is None:
        raise InvalidInputError(f"a {kind} needs the value that is forecast", where="$.value")
    return Prediction(
        family=family,
        answer_kind=kind,
        forecaster=forecaster,
        question=question,
        p=p,
        value=value,
        answer_space=answer_space,
    )


def forecasts(admission: Admission) -> tuple[Prediction, ...]:
    """Return the forecasts in what was admitted, one an answer, in the questions' order."""
    asked = request_id(admission.request)
    return tuple(
        _forecast(decision, request=asked, forecaster=admission.forecaster)
        for decision in admission.decisions
        if not isinstance(decision, Abstained)
    )


def _forecast(decision: Admitted, *, request: str, forecaster: str) -> Prediction:
    answer, question = decision.answer, decision.question
    reported: dict[str, Any]
    if isinstance(answer, ChoiceAnswer):
        reported = _top(answer.choice, answer.probabilities)
    elif isinstance(answer, ScoreAnswer):
        reported = _top(str(answer.level), answer.probabilities)
    else:
        reported = {"value": "true", "p": answer.p_true}
    return Prediction(
        family=answer.family,
        answer_kind=answer.kind,
        forecaster=forecaster,
        question=question.instructions,
        request_id=request,
        question_id=question.id,
        answer_space=answers_of(question),
        **reported,
    )


def _top(value: str, distribution: dict[str, float] | None) -> dict[str, Any]:
    """Return the reported answer with its own probability, if one was reported."""
    p = None if distribution is None else distribution.get(value, 0.0)
    return {"value": value, "p": p, "probabilities": distribution}


def answers_of(question: Question) -> tuple[str, ...]:
    """Return what may be observed: option ids, level indexes, or true and false."""
    if isinstance(question, Choice):
        return tuple(question.options)
    if isinstance(question, Score):
        return tuple(str(level) for level in range(len(question.levels)))
    return NOUL_ANSWERS


def content(prediction: Prediction) -> str:
    """Return a forecast as a sentence, the content of its trace."""
    likely = "with no probability" if prediction.p is None else f"p {prediction.p:g}"
    return f"{prediction.family}: {prediction.value} ({likely}). {prediction.question}"


def outcome_content(prediction: Prediction, observed: str, note: str | None) -> str:
    """Return an outcome as a sentence, the content of its trace."""
    said = f"{prediction.family}: {observed}, forecast {prediction.value}. {prediction.question}"
    return said if note is None else f"{said} {note}"
