"""Requests: bounds, ids, and the screen in front of every engine."""

from __future__ import annotations

import msgspec
import pytest

from hikmah.errors import InvalidInputError, SecretError
from hikmah.reason.engines import ask
from hikmah.reason.port import (
    Choice,
    DecisionRequest,
    Noul,
    Reply,
    Score,
    check_request,
    family_of,
    outbound,
    request_id,
)
from hikmah.reason.reading import read_json

LATE = Noul(id="late", instructions="Will it be late?")
# Spelled in pieces, as nothing in this repository may be shaped like a credential.
TOKEN = "ghp_" + "a1B2" * 9


def request(*questions: Choice | Score | Noul, state: str = "all is well") -> DecisionRequest:
    """Return a request."""
    return DecisionRequest(state=state, questions=questions or (LATE,))


def choice(count: int = 2) -> Choice:
    """Return a choice of so many options."""
    return Choice(id="c", instructions="Which?", options={f"o{i}": "one" for i in range(count)})


def score(count: int = 2) -> Score:
    """Return a score of so many levels."""
    return Score(id="s", instructions="How much?", levels=tuple(f"level {i}" for i in range(count)))


@pytest.mark.parametrize(
    "good",
    [
        pytest.param(request(state="x" * 32_000), id="longest state"),
        pytest.param(
            request(*(Noul(id=f"q{i}", instructions="?") for i in range(32))), id="32 questions"
        ),
        pytest.param(request(choice(2), score(2)), id="fewest options and levels"),
        pytest.param(request(choice(255), score(10)), id="most options and levels"),
        pytest.param(request(Noul(id="a" * 64, instructions="?")), id="longest id"),
        pytest.param(
            request(Noul(id="q", instructions="?", if_true="a", if_false="b")), id="both meanings"
        ),
    ],
)
def test_what_is_inside_the_bounds_passes(good: DecisionRequest) -> None:
    """The bounds themselves are inside."""
    check_request(good)


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        pytest.param(request(state=" \n"), "$.state", id="blank state"),
        pytest.param(request(state="x" * 32_001), "$.state", id="state too long"),
        pytest.param(DecisionRequest(state="s", questions=()), "$.questions", id="no question"),
        pytest.param(
            request(*(Noul(id=f"q{i}", instructions="?") for i in range(33))),
            "$.questions",
            id="33 questions",
        ),
        pytest.param(request(LATE, LATE), "$.questions[1].id", id="id twice"),
        pytest.param(request(Noul(id="", instructions="?")), "$.questions[0].id", id="empty id"),
        pytest.param(request(Noul(id="a b", instructions="?")), "$.questions[0].id", id="space"),
        pytest.param(request(Noul(id="a\n", instructions="?")), "$.questions[0].id", id="line end"),
        pytest.param(request(Noul(id="é", instructions="?")), "$.questions[0].id", id="accent"),
        pytest.param(
            request(Noul(id="a" * 65, instructions="?")), "$.questions[0].id", id="id too long"
        ),
        pytest.param(
            request(Noul(id="q", instructions=" ")), "$.questions[0].instructions", id="no words"
        ),
        pytest.param(
            request(Noul(id="q", instructions="?", family="")), "$.questions[0].family", id="family"
        ),
        pytest.param(
            request(Noul(id="q", instructions="?", if_true="a")),
            "$.questions[0].if_false",
            id="if_true alone",
        ),
        pytest.param(
            request(Noul(id="q", instructions="?", if_false="a")),
            "$.questions[0].if_true",
            id="if_false alone",
        ),
        pytest.param(
            request(Noul(id="q", instructions="?", if_true=" ", if_false="b")),
            "$.questions[0].if_true",
            id="blank meaning",
        ),
        pytest.param(request(choice(1)), "$.questions[0].options", id="1 option"),
        pytest.param(request(choice(256)), "$.questions[0].options", id="256 options"),
        pytest.param(
            request(Choice(id="c", instructions="?", options={"": "x", "b": "y"})),
            "$.questions[0].options",
            id="blank option",
        ),
        pytest.param(
            request(Choice(id="c", instructions="?", options={"a": "", "b": "y"})),
            "$.questions[0].options.a",
            id="blank meaning of an option",
        ),
        pytest.param(request(score(1)), "$.questions[0].levels", id="1 level"),
        pytest.param(request(score(11)), "$.questions[0].levels", id="11 levels"),
        pytest.param(
            request(Score(id="s", instructions="?", levels=("a", "a"))),
            "$.questions[0].levels[1]",
            id="level twice",
        ),
        pytest.param(
            request(Score(id="s", instructions="?", levels=("a", "x" * 4_097))),
            "$.questions[0].levels[1]",
            id="level too long",
        ),
    ],
)
def test_what_is_outside_the_bounds_is_refused(bad: DecisionRequest, where: str) -> None:
    """Each broken bound names its path."""
    with pytest.raises(InvalidInputError) as caught:
        check_request(bad)
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param('{"state": "s", "questions": [], "n": 1}', "$.n", id="unknown field"),
        pytest.param(
            '{"state": "s", "questions": [{"kind": "essay", "id": "q", "instructions": "?"}]}',
            "$.questions[0].kind",
            id="unknown kind",
        ),
        pytest.param(
            '{"state": "s", "questions": [{"id": "q", "instructions": "?"}]}',
            "$.questions[0]",
            id="no kind",
        ),
        pytest.param(
            '{"state": "s", "questions": [{"kind": "noul", "id": "q", "instructions": "", "l":1}]}',
            "$.questions[0].l",
            id="field of another kind",
        ),
    ],
)
def test_bad_request_text_is_refused(text: str, where: str) -> None:
    """Reading is strict, with the path in the error."""
    with pytest.raises(InvalidInputError) as caught:
        read_json(text, DecisionRequest)
    assert caught.value.where == where


class Watched:
    """An engine that remembers whether it was called."""

    name = "watched"

    def __init__(self) -> None:
        self.called = False

    def answer(self, request: DecisionRequest) -> Reply:  # noqa: ARG002  # the port's signature
        self.called = True
        return Reply(body={})


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        pytest.param(request(state=f"the log says {TOKEN}"), "$.state", id="state"),
        pytest.param(
            request(Noul(id="q", instructions=TOKEN)), "$.questions[0].instructions", id="words"
        ),
        pytest.param(
            request(Noul(id="q", instructions="?", family=TOKEN)),
            "$.questions[0].family",
            id="family",
        ),
        pytest.param(
            request(Noul(id=TOKEN, instructions="?")), "$.questions[0].id", id="question id"
        ),
        pytest.param(
            request(Noul(id="q", instructions="?", if_true="a", if_false=TOKEN)),
            "$.questions[0].if_false",
            id="meaning of no",
        ),
        pytest.param(
            request(Choice(id="c", instructions="?", options={TOKEN: "a", "b": "c"})),
            "$.questions[0].options",
            id="option",
        ),
        pytest.param(
            request(Choice(id="c", instructions="?", options={"a": TOKEN, "b": "c"})),
            "$.questions[0].options",
            id="meaning of an option",
        ),
        pytest.param(
            request(
                Choice(id="c", instructions="?", options={"password": "Tr0ub4dor&3x", "b": "c"})
            ),
            "$.questions[0].options",
            id="a name and its value",
        ),
        pytest.param(
            request(Score(id="s", instructions="?", levels=("a", TOKEN))),
            "$.questions[0].levels[1]",
            id="level",
        ),
    ],
)
def test_a_credential_stops_the_request_before_the_engine(bad: DecisionRequest, where: str) -> None:
    """A hit in any outbound text refuses the whole request, names the place, not the value."""
    engine = Watched()
    with pytest.raises(SecretError) as caught:
        ask(engine, bad)
    assert caught.value.where == where
    assert TOKEN not in str(caught.value)
    assert not engine.called


def test_every_text_of_a_request_is_screened() -> None:
    """What an engine sees is what the screen sees: no string of the request is left out."""
    asked = request(
        Choice(id="c", instructions="i1", family="f1", options={"o1": "m1", "o2": "m2"}),
        Score(id="s", instructions="i2", family="f2", levels=("l1", "l2")),
        Noul(id="n", instructions="i3", family="f3", if_true="t", if_false="f"),
        state="the state",
    )
    screened = " ".join(text for _, text in outbound(asked))
    assert all(text in screened for text in _strings(msgspec.to_builtins(asked)))


def _strings(plain: object) -> list[str]:
    if isinstance(plain, dict):
        kinds = {"kind", "state", "questions", "id", "instructions", "family"}
        kinds |= {"options", "levels", "if_true", "if_false"}
        named = [key for key in plain if key not in kinds]
        inner = [_strings(value) for key, value in plain.items() if key != "kind"]
        return named + [text for found in inner for text in found]
    if isinstance(plain, list | tuple):
        return [text for item in plain for text in _strings(item)]
    return [plain] if isinstance(plain, str) else []


def test_request_id_is_of_the_request() -> None:
    """Equal requests have equal ids, other ones other ids, whatever JSON they came from."""
    assert request_id(request()) == request_id(request())
    assert request_id(request()) != request_id(request(state="other"))
    assert len(request_id(request())) == len("req_") + 16
    text = '{"questions": [{"instructions": "Will it be late?", "id": "late", "kind": "noul"}],'
    assert request_id(read_json(text + '"state": "all is well"}', DecisionRequest)) == request_id(
        request()
    )


def test_family_defaults_to_the_id() -> None:
    """Forecasts without a family count under the question's id."""
    assert family_of(LATE) == "late"
    assert family_of(Noul(id="q", instructions="?", family="f")) == "f"
