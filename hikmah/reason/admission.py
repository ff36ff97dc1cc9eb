"""Admission: the one way from what an engine said to what may be used.

Rules the module keeps:

1. All or nothing. One violation rejects the whole response, and every question then has an
   explicit abstention; the reason is in `rejected`.
2. A question that the engine left out is an abstention too; nothing is made up for it.
3. Only `admit` builds `Admitted` and `Admission`. They cannot be constructed, subclassed,
   decoded, unpickled or changed from outside.
4. `calibrated` is false in every answer: that is earned from outcomes, never claimed.

Example:
    >>> late = Noul(id="late", instructions="Will it be late?")
    >>> request = DecisionRequest(state="two of five tasks are done", questions=(late,))
    >>> answers = {"late": {"kind": "noul", "noul": 0.8}}
    >>> body = {"request_id": request_id(request), "answers": answers}
    >>> admit(request, Reply(body=body), engine="demo").answers[0].p_true
    0.8
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple, NoReturn, final

from msgspec import Struct

from hikmah.reason.checks import violation
from hikmah.reason.port import (
    Choice,
    DecisionRequest,
    Question,
    Reply,
    Score,
    family_of,
    kind_of,
    request_id,
)
from hikmah.reason.reading import exact

_SEAL = object()


class ChoiceAnswer(Struct, frozen=True, kw_only=True, tag_field="status", tag="admitted"):
    """An admitted choice; `probabilities` and `confidence` as the engine reported them."""

    id: str
    family: str
    kind: Literal["choice"] = "choice"
    choice: str
    probabilities: dict[str, float] | None
    confidence: float | None
    calibrated: bool = False


class ScoreAnswer(Struct, frozen=True, kw_only=True, tag_field="status", tag="admitted"):
    """An admitted score: `normalized` on 0..1, and the nearest `level` with its text."""

    id: str
    family: str
    kind: Literal["score"] = "score"
    score: float
    normalized: float
    level: int
    level_text: str
    probabilities: dict[str, float] | None
    confidence: float | None
    calibrated: bool = False


class NoulAnswer(Struct, frozen=True, kw_only=True, tag_field="status", tag="admitted"):
    """An admitted yes/no: the probability that it is true."""

    id: str
    family: str
    kind: Literal["noul"] = "noul"
    p_true: float
    calibrated: bool = False


class Abstained(Struct, frozen=True, kw_only=True, tag_field="status", tag="abstain"):
    """No answer, and why: rejected, unanswered, or the engine failed."""

    id: str
    family: str
    kind: str
    reason: str


Answer = ChoiceAnswer | ScoreAnswer | NoulAnswer


class _Sealed:
    """Base of what only this module builds; what was made past it does not open."""

    __slots__ = ("_seal", "_value")
    _seal: object
    _value: Any

    def __init__(self, seal: object, value: object) -> None:
        if seal is not _SEAL:
            raise TypeError(f"only admission builds {type(self).__name__}")
        object.__setattr__(self, "_seal", seal)
        object.__setattr__(self, "_value", value)

    def __init_subclass__(cls) -> None:
        if _Sealed not in cls.__bases__:
            raise TypeError("what admission builds cannot be subclassed")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be changed")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled")

    def _open(self) -> Any:
        if getattr(self, "_seal", None) is not _SEAL:
            raise TypeError(f"this {type(self).__name__} was not built by admission")
        return self._value


@final
class Admitted(_Sealed):
    """One answer that passed every check, with the question it answers."""

    __slots__ = ()

    @property
    def answer(self) -> Answer:
        """Return the answer."""
        answer: Answer = self._open()[1]
        return answer

    @property
    def question(self) -> Question:
        """Return the question."""
        question: Question = self._open()[0]
        return question


class _Outcome(NamedTuple):
    request: DecisionRequest
    decisions: tuple[Admitted | Abstained, ...]
    engine: str
    version: str
    rejected: str | None


@final
class Admission(_Sealed):
    """What came of one request to one engine."""

    __slots__ = ()

    @property
    def decisions(self) -> tuple[Admitted | Abstained, ...]:
        """Return one decision a question, in the order of the questions."""
        return self._outcome.decisions

    @property
    def answers(self) -> tuple[Answer | Abstained, ...]:
        """Return the same as plain data."""
        return tuple(d if isinstance(d, Abstained) else d.answer for d in self.decisions)

    @property
    def request(self) -> DecisionRequest:
        """Return what was asked."""
        return self._outcome.request

    @property
    def rejected(self) -> str | None:
        """Return why the whole response was rejected, or why there was none."""
        return self._outcome.rejected

    @property
    def engine(self) -> str:
        """Return the engine's name."""
        return self._outcome.engine

    @property
    def source(self) -> str:
        """Return what a recorded answer names as its source: `model:<name>@<version>`."""
        return f"model:{self.forecaster}"

    @property
    def forecaster(self) -> str:
        """Return the name that calibration knows the engine by: `<name>@<version>`."""
        return f"{self.engine}@{self._outcome.version}"

    @property
    def _outcome(self) -> _Outcome:
        outcome: _Outcome = self._open()
        return outcome


class Asked(Struct, frozen=True, kw_only=True):
    """An admission as it is printed."""

    request_id: str
    engine: str
    source: str
    rejected: str | None
    answers: tuple[Answer | Abstained, ...]


def asked(admission: Admission) -> Asked:
    """Return an admission as it is printed."""
    return Asked(
        request_id=request_id(admission.request),
        engine=admission.engine,
        source=admission.source,
        rejected=admission.rejected,
        answers=admission.answers,
    )


def admit(request: DecisionRequest, reply: Reply, *, engine: str) -> Admission:
    """Check a reply against its request and admit all of it or none of it."""
    questions = {question.id: question for question in request.questions}
    reason = violation(questions, request_id(request), reply.body)
    if reason is not None:
        return refuse_all(request, reason, engine=engine, version=reply.version)
    answers: Mapping[str, Mapping[str, Any]] = reply.body["answers"]
    decisions = tuple(
        Admitted(_SEAL, (question, _answer(question, answers[question.id])))
        if question.id in answers
        else _abstain(question, "unanswered")
        for question in request.questions
    )
    return Admission(_SEAL, _Outcome(request, decisions, engine, reply.version, None))


def refuse_all(
    request: DecisionRequest, reason: str, *, engine: str, version: str = "unknown"
) -> Admission:
    """Abstain on every question, for one reason."""
    decisions = tuple(_abstain(question, reason) for question in request.questions)
    return Admission(_SEAL, _Outcome(request, decisions, engine, version, reason))


def _abstain(question: Question, reason: str) -> Abstained:
    return Abstained(
        id=question.id, family=family_of(question), kind=kind_of(question), reason=reason
    )


def _answer(question: Question, answer: Mapping[str, Any]) -> Answer:
    """Return a checked answer as the type of its kind."""
    who: dict[str, Any] = {"id": question.id, "family": family_of(question)}
    if isinstance(question, Choice):
        return ChoiceAnswer(**who, choice=answer["choice"], **_reported(answer))
    if isinstance(question, Score):
        score = exact(answer["score"])
        level = int(score + Fraction(1, 2))  # halfway goes up
        return ScoreAnswer(
            **who,
            score=float(score),
            normalized=float(score / (len(question.levels) - 1)),
            level=level,
            level_text=question.levels[level],
            **_reported(answer),
        )
    return NoulAnswer(**who, p_true=float(answer["noul"]))


def _reported(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the distribution and the confidence as floats; None where there is none."""
    distribution, confidence = answer.get("probabilities"), answer.get("confidence")
    return {
        "probabilities": None
        if distribution is None
        else {key: float(p) for key, p in sorted(distribution.items())},
        "confidence": None if confidence is None else float(confidence),
    }
