"""Letting an engine fill gaps: what is asked, what is used, what is listed."""

from __future__ import annotations

import pytest

from hikmah.errors import InvalidInputError, SecretError
from hikmah.reason.engines import NoEngine
from hikmah.reason.estimates import LEVELS, Estimate, decide_with
from hikmah.reason.frame import Criterion, Frame, Option
from hikmah.reason.port import DecisionRequest, Reply, Score, request_id

COST = Criterion(id="cost", weight=1, description="What it costs over three years")
RISK = Criterion(id="risk", weight=1)


class Fixed:
    """An engine that gives every question the same answer, and keeps what it was asked."""

    name = "fixed"

    def __init__(self, score: float = 3.0) -> None:
        self.score = score
        self.requests: list[DecisionRequest] = []

    def answer(self, request: DecisionRequest) -> Reply:
        self.requests.append(request)
        answer = {"kind": "score", "score": self.score}
        answers = {question.id: answer for question in request.questions}
        return Reply(body={"request_id": request_id(request), "answers": answers}, version="1")


def frame(*options: Option) -> Frame:
    """Return a frame over two criteria."""
    return Frame(question="Which store?", criteria=(COST, RISK), options=options)


def test_only_gaps_of_open_options_are_asked_about() -> None:
    """Not what evidence or an estimate says already, and nothing of a blocked option."""
    engine = Fixed()
    options = (
        Option(name="a", scores={"cost": 0.5}, description="The first"),
        Option(name="b", model_scores={"cost": 0.5, "risk": None}),
        Option(name="c", hard_blocks=("no licence",)),
    )
    decide_with(frame(*options), engine)
    (request,) = engine.requests
    assert request.state == "Which store?"
    assert [q.id for q in request.questions] == ["o1-c2", "o2-c2"]
    first = request.questions[0]
    assert isinstance(first, Score)
    assert first.family == "decide.risk"
    assert first.levels == LEVELS
    assert "The first" in first.instructions
    assert first.instructions.endswith("Criterion: risk")


def test_descriptions_are_used_where_there_are_any() -> None:
    """Else names and ids."""
    engine = Fixed()
    decide_with(frame(Option(name="a", scores={"risk": 0.5})), engine)
    assert engine.requests[0].questions[0].instructions.endswith(COST.description or "")


def test_an_estimate_ranks_and_is_no_evidence() -> None:
    """It narrows the score interval and leaves the evidence interval open."""
    result, admissions = decide_with(frame(Option(name="a", scores={"cost": 1.0})), Fixed())
    item = result.decision.options[0]
    assert item.score_interval == (0.875, 0.875)
    assert item.evidence_interval == (0.5, 1.0)
    assert item.model_estimated_criteria == ("risk",)
    assert result.estimates == (
        Estimate(option="a", criterion="risk", status="admitted", score=0.75, level="good"),
    )
    assert (result.engine, result.requests, len(admissions)) == ("fixed", 1, 1)


def test_abstentions_are_listed_with_reasons() -> None:
    """Unanswered, or rejected as a whole."""
    silent = decide_with(frame(Option(name="a")), NoEngine()).result
    assert [(e.status, e.reason) for e in silent.estimates] == [("abstain", "unanswered")] * 2
    assert silent.rejected == ()
    wrong = decide_with(frame(Option(name="a")), Fixed(score=9.0)).result
    assert wrong.rejected == ("question o1-c1: score 9.0 is not in [0, 4]",)
    assert {e.status for e in wrong.estimates} == {"abstain"}
    assert wrong.decision.options[0].missing_criteria == ("cost", "risk")


def test_questions_are_split_at_thirty_two() -> None:
    """Seventeen options with two gaps each are 34 questions in two requests."""
    engine = Fixed()
    result = decide_with(frame(*(Option(name=f"o{i}") for i in range(17))), engine).result
    assert [len(request.questions) for request in engine.requests] == [32, 2]
    assert (result.requests, len(result.estimates)) == (2, 34)


def test_nothing_missing_asks_nothing() -> None:
    """A frame that is complete is decided without a request."""
    engine = Fixed()
    result = decide_with(frame(Option(name="a", scores={"cost": 1, "risk": 1})), engine).result
    assert engine.requests == []
    assert (result.requests, result.estimates) == (0, ())


def test_a_bad_frame_is_not_sent() -> None:
    """Neither one that cannot be decided nor one that holds a credential."""
    engine = Fixed()
    with pytest.raises(InvalidInputError):
        decide_with(frame(Option(name="a", scores={"x": 1})), engine)
    with pytest.raises(SecretError):
        decide_with(frame(Option(name="a", description="ghp_" + "a1B2" * 9)), engine)
    assert engine.requests == []
