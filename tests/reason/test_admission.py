"""Admission: what is admitted, and that nothing else can be."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hikmah.reason import admission as module
from hikmah.reason.admission import (
    Abstained,
    Admission,
    Admitted,
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    asked,
    refuse_all,
)
from hikmah.reason.checks import is_probability
from hikmah.reason.port import Choice, Score, request_id
from hikmah.reason.wire import parse_reply
from tests.reason.responses import GOOD, REQUEST, admitted, with_value, without

# The full size that is quoted in docs/evidence.md is 100,000.
RESPONSES = int(os.environ.get("HIKMAH_TEST_RESPONSES", "4000"))


class TestAdmitted:
    """A good response becomes typed answers, in the order of the questions."""

    def test_each_kind_has_its_fields(self) -> None:
        """Choice with its distribution, score normalized and levelled, noul as a probability."""
        assert admitted(GOOD).answers == (
            ChoiceAnswer(
                id="next",
                family="deploy.next",
                choice="revert",
                probabilities={"retry": 0.2, "revert": 0.7, "wait": 0.1},
                confidence=0.6,
            ),
            ScoreAnswer(
                id="risk",
                family="risk",
                score=1.7,
                normalized=1.7 / 3,
                level=2,
                level_text="high",
                probabilities={"0": 0.1, "1": 0.3, "2": 0.4, "3": 0.2},
                confidence=0.5,
            ),
            NoulAnswer(id="late", family="late", p_true=0.8),
        )

    @pytest.mark.parametrize(
        ("score", "level"), [(0, 0), (0.49, 0), (0.5, 1), (1.5, 2), (2.5, 3), (3, 3)]
    )
    def test_the_nearest_level_halfway_goes_up(self, score: float, level: int) -> None:
        """A score names the level next to it."""
        body = with_value("answers/risk", {"kind": "score", "score": score})
        answer = admitted(body).answers[1]
        assert isinstance(answer, ScoreAnswer)
        assert answer.level == level

    def test_nothing_is_calibrated_by_admission(self) -> None:
        """That is earned from outcomes."""
        answers = admitted(GOOD).answers
        assert not any(isinstance(item, Abstained) or item.calibrated for item in answers)

    def test_what_is_left_out_abstains_alone(self) -> None:
        """An unanswered question abstains; the others stand."""
        result = admitted(without("answers/risk"))
        assert result.rejected is None
        assert result.answers[1] == Abstained(
            id="risk", family="risk", kind="score", reason="unanswered"
        )
        assert [type(d) for d in result.decisions] == [Admitted, Abstained, Admitted]

    def test_the_printed_form_says_who_and_what(self) -> None:
        """It carries the request's id, the engine, and the source a record would name."""
        printed = asked(admitted(GOOD))
        assert (printed.request_id, printed.engine) == (request_id(REQUEST), "demo")
        assert printed.source == "model:demo@1"
        plain = msgspec.to_builtins(printed)
        assert [answer["status"] for answer in plain["answers"]] == ["admitted"] * 3
        rejected = msgspec.to_builtins(asked(refuse_all(REQUEST, "no", engine="demo")))
        assert [answer["status"] for answer in rejected["answers"]] == ["abstain"] * 3
        assert rejected["source"] == "model:demo@unknown"


class TestSealed:
    """Only `admit` builds what is admitted."""

    @pytest.mark.parametrize("sealed", [Admitted, Admission])
    def test_it_cannot_be_constructed(self, sealed: type[Any]) -> None:
        """Without the seal the constructor refuses; around it nothing opens."""
        with pytest.raises(TypeError, match="only admission builds"):
            sealed(object(), None)
        made = object.__new__(sealed)
        for name in ("answer", "question", "answers", "decisions", "source"):
            if hasattr(sealed, name):
                with pytest.raises(TypeError, match="not built by admission"):
                    getattr(made, name)

    @pytest.mark.parametrize("sealed", [Admitted, Admission])
    def test_it_cannot_be_subclassed(self, sealed: type[Any]) -> None:
        """A subclass could say anything."""
        with pytest.raises(TypeError, match="cannot be subclassed"):
            type("Mine", (sealed,), {})

    @pytest.mark.parametrize("take", [lambda: admitted(GOOD), lambda: admitted(GOOD).decisions[0]])
    def test_it_cannot_be_changed_or_copied(self, take: Any) -> None:
        """No attribute can be set or deleted, no copy made that would not be admitted."""
        for attempt in (
            lambda item: setattr(item, "_value", ()),
            lambda item: delattr(item, "_seal"),
            copy.copy,
            copy.deepcopy,
            pickle.dumps,
        ):
            with pytest.raises(TypeError):
                attempt(take())

    @pytest.mark.parametrize("sealed", [Admitted, Admission])
    def test_it_cannot_be_decoded(self, sealed: type[Any]) -> None:
        """JSON that looks like one stays JSON."""
        with pytest.raises((TypeError, msgspec.ValidationError)):
            msgspec.convert({"_seal": None, "_value": None}, sealed)

    def test_an_answer_cannot_be_changed(self) -> None:
        """The plain data inside is frozen."""
        decision = admitted(GOOD).decisions[2]
        assert isinstance(decision, Admitted)
        with pytest.raises(AttributeError):
            decision.answer.p_true = 1.0  # type: ignore[misc, union-attr]  # what is tried
        assert decision.question.id == "late"

    def test_only_admission_holds_the_seal(self) -> None:
        """No other module of the package mentions it."""
        root = Path(module.__file__).parent.parent
        users = [path.name for path in root.rglob("*.py") if "_SEAL" in path.read_text("utf-8")]
        assert users == ["admission.py"]


class TestFuzzed:
    """Whatever an engine sends: never a crash, and nothing invalid admitted."""

    def test_mutated_responses(self) -> None:
        """Each admitted answer is checked again here, by rules written anew."""
        rng = random.Random(5)
        counts = {True: 0, False: 0}
        for _ in range(RESPONSES):
            body = mutated(rng)
            result = admitted(body)
            counts[result.rejected is None] += 1
            if result.rejected is None:
                assert isinstance(body, dict)
                assert valid(body)
            else:
                assert all(isinstance(item, Abstained) for item in result.answers)
        assert min(counts.values()) > RESPONSES / 50

    def test_mutated_bytes(self) -> None:
        """Flipped, cut and doubled bytes of a response."""
        rng = random.Random(6)
        text = json.dumps(GOOD).encode()
        for _ in range(RESPONSES):
            data = bytearray(text)
            for _ in range(rng.randint(1, 4)):
                place = rng.randrange(len(data))
                roll = rng.random()
                if roll < 0.6:
                    data[place] = rng.randrange(256)
                elif roll < 0.8:
                    del data[place : place + rng.randint(1, 9)]
                    data += b" "
                else:
                    data[place:place] = data[place : place + rng.randint(1, 20)]
            body = parse_reply(bytes(data))
            if admitted(body).rejected is None:
                assert isinstance(body, dict)
                assert valid(body)


VALUES: tuple[object, ...] = (
    None, True, False, 0, 1, 2, -1, 0.5, 0.3, 1.7, 3.0, 0.999, 1e308, -0.0, 10**30,
    float("nan"), float("inf"), "", "0", "revert", "retry", "noul", "choice", "score", "late",
    [], {}, [0.5], {"0": 1.0}, {"revert": 1.0}, {"retry": 0.4, "revert": 0.6},
    {"kind": "noul", "noul": 0.5}, {"kind": "choice", "choice": "wait"},
)  # fmt: skip


KEYS = ("x", "0", "01", "revert", "late", "noul", "kind")


def mutated(rng: random.Random) -> object:
    """Return the good response with some of its values, keys or branches exchanged."""
    body: Any = copy.deepcopy(GOOD)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        path: list[Any] = []
        inner = body
        while isinstance(inner, dict) and inner and (not path or rng.random() < 0.8):
            path.append((inner, rng.choice(list(inner))))
            inner = path[-1][0][path[-1][1]]
        if not path:
            return rng.choice(VALUES)
        holder, key = path[-1]
        roll = rng.random()
        if roll < 0.15:
            del holder[key]
        elif roll < 0.3:
            holder[rng.choice(("x", "0", "01", "revert", "late", "noul", "kind"))] = rng.choice(
                VALUES
            )
        elif roll < 0.5 and isinstance(holder[key], float):
            holder[key] = round(holder[key] + rng.uniform(-0.04, 0.04), 3)
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return body


def valid(body: dict[str, Any]) -> bool:
    """Tell whether a response keeps every rule: a second reading of them, in plain floats."""
    questions = {question.id: question for question in REQUEST.questions}
    assert set(body) == {"request_id", "answers"}
    assert body["request_id"] == request_id(REQUEST)
    for name, answer in body["answers"].items():
        question = questions[name]
        distribution = answer.get("probabilities")
        assert answer.get("confidence") is None or is_probability(answer["confidence"])
        if distribution is not None:
            assert all(is_probability(p) for p in distribution.values())
            assert (
                abs(sum(distribution.values()) - 1) <= max(0.02, 0.005 * len(distribution)) + 1e-9
            )
        if isinstance(question, Choice):
            assert answer["kind"] == "choice"
            assert answer["choice"] in question.options
            if distribution is not None:
                assert set(distribution) <= set(question.options)
                assert distribution[answer["choice"]] == max(distribution.values())
        elif isinstance(question, Score):
            assert answer["kind"] == "score"
            assert 0 <= answer["score"] <= len(question.levels) - 1
            if distribution is not None:
                assert set(distribution) <= {"0", "1", "2", "3"}
                mean = sum(int(key) * p for key, p in distribution.items())
                assert abs(mean - answer["score"]) <= 0.035 + 1e-9
        else:
            assert answer["kind"] == "noul"
            assert is_probability(answer["noul"])
    return True
