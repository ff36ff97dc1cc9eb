"""Reading JSON strictly, and numbers as they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from hikmah.errors import DecodeError, InvalidInputError
from hikmah.reason.council import Counts, deliberate
from hikmah.reason.decision import decide
from hikmah.reason.frame import Frame
from hikmah.reason.planner import Problem, plan
from hikmah.reason.port import DecisionRequest, check_request
from hikmah.reason.reading import exact, read_json


class Inner(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value inside."""

    n: int


class Outer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value outside."""

    items: tuple[Inner, ...]


@pytest.mark.parametrize(
    ("data", "where", "message"),
    [
        pytest.param(b'{"items": [{"n": 1}, {"n": "x"}]}', "$.items[1].n", "Expected", id="type"),
        pytest.param(b'{"items": [{"n": 1, "m": 2}]}', "$.items[0].m", "unknown", id="unknown"),
        pytest.param(b'{"items": [{}]}', "$.items[0]", "missing", id="missing"),
        pytest.param(b"3", "$", "Expected", id="the whole"),
        pytest.param(b'{"items": ', "", "not JSON", id="truncated"),
        pytest.param(b'{"\xff": 1}', "", "not ", id="not UTF-8"),
        pytest.param(b"[" * 5_000, "", "", id="deep"),
    ],
)
def test_errors_name_the_path(data: bytes, where: str, message: str) -> None:
    """What is wrong, and where."""
    with pytest.raises(DecodeError) as caught:
        read_json(data, Outer)
    assert caught.value.where in (where, "$")
    assert message in caught.value.message


def test_text_with_half_a_character_is_refused() -> None:
    """A lone surrogate in Python text is an error of ours, not of the encoder."""
    with pytest.raises(DecodeError, match="half of a surrogate pair"):
        read_json('{"items": "\ud800"}', Outer)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0.1, Fraction(1, 10)), (1, Fraction(1)), (1e-7, Fraction(1, 10**7)), (2.5e20, 25 * 10**19)],
)
def test_a_number_is_the_decimal_it_is_written_as(number: float, expected: Fraction) -> None:
    """No binary rounding gets into sums."""
    assert exact(number) == expected


FRAMES = ("question", "criteria", "options", "id", "weight", "name", "scores", "hard_blocks", "x")
PROBLEMS = ("initial", "goal", "actions", "requires", "adds", "cost", "max_depth", "max_states")
REQUESTS = ("state", "questions", "kind", "instructions", "levels", "if_true")
KEYS = st.sampled_from((*FRAMES, *PROBLEMS, *REQUESTS))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "x", "noul", "choice", "score", "\u0661", "a b"])
    | st.text(max_size=5)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
ENTRANCES: list[tuple[type[Struct], Callable[[Any], object]]] = [
    (Problem, plan),
    (Frame, decide),
    (DecisionRequest, check_request),
    (Counts, deliberate),
]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, ANYTHING, max_size=6))
def test_any_json_is_answered_or_refused(plain: dict[str, object]) -> None:
    """Whatever a file holds: an answer, or an error of ours that says where."""
    data = json.dumps(plain).encode()
    for struct_type, use in ENTRANCES:
        try:
            use(read_json(data, struct_type))
        except InvalidInputError as e:
            assert e.where.startswith("$") or "not JSON" in e.message  # noqa: PT017  # one of many
