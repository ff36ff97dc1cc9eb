"""Forecasts: what admission let through, and what people say, as one kind of record."""

from __future__ import annotations

import pytest

from hikmah.errors import InvalidInputError
from hikmah.model.trace import Prediction
from hikmah.reason.engines import StaticEngine, ask
from hikmah.reason.port import request_id
from hikmah.reason.predictions import content, forecast, forecasts, outcome_content
from tests.reason.responses import GOOD, REQUEST, with_value, without


def test_each_admitted_answer_is_a_forecast() -> None:
    """With the request it answers, its family, and the probability of what it reported."""
    admission = ask(StaticEngine(GOOD | {"version": "7"}), REQUEST)
    choice, score, noul = forecasts(admission)
    assert choice == Prediction(
        family="deploy.next",
        answer_kind="choice",
        forecaster="static@7",
        question="What should be done next?",
        request_id=request_id(REQUEST),
        question_id="next",
        p=0.7,
        value="revert",
        probabilities={"retry": 0.2, "revert": 0.7, "wait": 0.1},
        answer_space=("retry", "revert", "wait"),
    )
    assert (score.value, score.p, score.answer_space) == ("2", 0.4, ("0", "1", "2", "3"))
    assert (noul.value, noul.p, noul.answer_space) == ("true", 0.8, ("true", "false"))
    assert noul.probabilities is None


def test_a_probability_that_was_not_reported_is_null() -> None:
    """Confidence does not stand in for it."""
    bare = {"kind": "choice", "choice": "retry", "confidence": 0.9}
    choice = forecasts(ask(StaticEngine(with_value("answers/next", bare)), REQUEST))[0]
    assert (choice.value, choice.p, choice.probabilities) == ("retry", None, None)


def test_a_level_outside_its_distribution_has_probability_zero() -> None:
    """The mean of two extremes is a level that neither of them is."""
    split = {"kind": "score", "score": 1.5, "probabilities": {"0": 0.5, "3": 0.5}}
    score = forecasts(ask(StaticEngine(with_value("answers/risk", split)), REQUEST))[1]
    assert (score.value, score.p) == ("2", 0.0)


def test_abstentions_are_no_forecasts() -> None:
    """Neither one left out nor a whole response rejected."""
    kept = forecasts(ask(StaticEngine(without("answers/risk")), REQUEST))
    assert [prediction.question_id for prediction in kept] == ["next", "late"]
    assert forecasts(ask(StaticEngine(with_value("answers/late/noul", 2)), REQUEST)) == ()


class TestByPeople:
    """The same record, by hand."""

    def test_a_noul_is_of_true(self) -> None:
        """Its answers are given by its kind."""
        made = forecast(family="f", kind="noul", p=0.7, question="?", forecaster="human:alex")
        assert (made.value, made.answer_space) == ("true", ("true", "false"))
        assert (made.request_id, made.forecaster) == (None, "human:alex")

    def test_a_choice_is_of_a_value(self) -> None:
        """With the space it was chosen from."""
        made = forecast(
            family="f",
            kind="choice",
            p=0.7,
            question="?",
            forecaster="x",
            value="a",
            answer_space=("a", "b"),
        )
        assert (made.value, made.answer_space) == ("a", ("a", "b"))

    @pytest.mark.parametrize(
        ("kind", "value"), [("noul", "false"), ("choice", None), ("score", None)]
    )
    def test_values_that_do_not_go_together(self, kind: str, value: str | None) -> None:
        """A noul is never of false; the others need a value."""
        with pytest.raises(InvalidInputError) as caught:
            forecast(family="f", kind=kind, p=0.7, question="?", forecaster="x", value=value)  # type: ignore[arg-type]  # a table's text
        assert caught.value.where == "$.value"


def test_contents_read_as_sentences() -> None:
    """What recall and log show of them."""
    made = forecast(family="ctr", kind="noul", p=0.7, question="Up?", forecaster="x")
    assert content(made) == "ctr: true (p 0.7). Up?"
    unscored = forecast(family="ctr", kind="noul", p=None, question="Up?", forecaster="x")
    assert content(unscored) == "ctr: true (with no probability). Up?"
    assert outcome_content(made, "false", None) == "ctr: false, forecast true. Up?"
    assert outcome_content(made, "false", "Seen.") == "ctr: false, forecast true. Up? Seen."
