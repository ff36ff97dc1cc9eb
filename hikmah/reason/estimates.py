"""Letting an engine estimate what a frame does not say.

Rules the module keeps:

1. One score question for each criterion that an unblocked option has neither a score nor an
   estimate for; blocked options are not sent. 32 questions a request.
2. An admitted estimate becomes a model score: it ranks, and never counts as evidence.
3. Every estimate and every abstention is listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from hikmah.reason.admission import Abstained, Admission, Answer, ScoreAnswer
from hikmah.reason.decision import NO_EVIDENCE, Decision, decide
from hikmah.reason.engines import ask
from hikmah.reason.evidence import Evidence
from hikmah.reason.frame import Criterion, Frame, Option, check_frame
from hikmah.reason.port import MAX_QUESTIONS, DecisionEngine, DecisionRequest, Score

LEVELS = ("very poor", "poor", "fair", "good", "very good")


class Estimate(Struct, frozen=True, kw_only=True):
    """What an engine said of one criterion of one option: a score, or why there is none."""

    option: str
    criterion: str
    status: Literal["admitted", "abstain"]
    score: float | None = None
    level: str | None = None
    reason: str | None = None


class EstimatedDecision(Struct, frozen=True, kw_only=True):
    """A decision with an engine's help, and all that the engine said."""

    decision: Decision
    engine: str
    requests: int
    rejected: tuple[str, ...]
    estimates: tuple[Estimate, ...]


class Estimated(NamedTuple):
    """The same with the admissions themselves, for recording."""

    result: EstimatedDecision
    admissions: tuple[Admission, ...]


class _Place(NamedTuple):
    option: int
    criterion: str
    question: Score


def decide_with(
    frame: Frame, engine: DecisionEngine, evidence: Mapping[str, Evidence] = NO_EVIDENCE
) -> Estimated:
    """Ask an engine for what is missing, then decide.

    Raises:
        InvalidInputError: The frame cannot be decided, or its texts are too long to ask about.
        SecretError: A text of it is shaped like a credential; nothing was sent.
        NotFoundError: An evidence id is not among `evidence`.
    """
    decide(frame, evidence)  # a frame that cannot be decided is not sent anywhere
    places = _places(frame)
    groups = [places[i : i + MAX_QUESTIONS] for i in range(0, len(places), MAX_QUESTIONS)]
    admissions = tuple(
        ask(
            engine,
            DecisionRequest(state=frame.question, questions=tuple(p.question for p in group)),
        )
        for group in groups
    )
    estimates = _estimates(frame, places, admissions)
    result = EstimatedDecision(
        decision=decide(_filled(frame, estimates), evidence),
        engine=engine.name,
        requests=len(admissions),
        rejected=tuple(a.rejected for a in admissions if a.rejected is not None),
        estimates=estimates,
    )
    return Estimated(result, admissions)


def _places(frame: Frame) -> list[_Place]:
    """Return a question for each gap, in the frame's order."""
    check_frame(frame)
    return [
        _Place(number, criterion.id, _question(number, option, place, criterion))
        for number, option in enumerate(frame.options)
        if not option.hard_blocks
        for place, criterion in enumerate(frame.criteria)
        if option.scores.get(criterion.id) is None and option.model_scores.get(criterion.id) is None
    ]


def _question(number: int, option: Option, place: int, criterion: Criterion) -> Score:
    thing = option.name if option.description is None else f"{option.name}: {option.description}"
    measure = criterion.description or criterion.id
    return Score(
        id=f"o{number + 1}-c{place + 1}",
        instructions=f"How good is this option by this criterion?\nOption: {thing}\n"
        f"Criterion: {measure}",
        levels=LEVELS,
        family=f"decide.{criterion.id}",
    )


def _estimates(
    frame: Frame, places: Sequence[_Place], admissions: Sequence[Admission]
) -> tuple[Estimate, ...]:
    answers = [answer for admission in admissions for answer in admission.answers]
    return tuple(
        _estimate(frame.options[place.option].name, place.criterion, answer)
        for place, answer in zip(places, answers, strict=True)
    )


def _estimate(option: str, criterion: str, answer: Answer | Abstained) -> Estimate:
    if isinstance(answer, ScoreAnswer):
        return Estimate(
            option=option,
            criterion=criterion,
            status="admitted",
            score=answer.normalized,
            level=answer.level_text,
        )
    reason = answer.reason if isinstance(answer, Abstained) else None
    return Estimate(option=option, criterion=criterion, status="abstain", reason=reason)


def _filled(frame: Frame, estimates: Sequence[Estimate]) -> Frame:
    """Return the frame with what was admitted as model scores."""
    said: dict[str, dict[str, float | None]] = {}
    for estimate in estimates:
        if estimate.score is not None:
            said.setdefault(estimate.option, {})[estimate.criterion] = estimate.score
    options = tuple(
        replace(option, model_scores={**option.model_scores, **said.get(option.name, {})})
        for option in frame.options
    )
    return replace(frame, options=options)
