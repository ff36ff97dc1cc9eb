"""Claims: which active traces cannot all be right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.model.trace import Trace
from hikmah.views.claims import (
    MAX_CONFLICTS,
    Rivals,
    conflicting,
    conflicts,
    contradict,
    is_expired,
    overlap,
    same_claim,
)
from tests.views.ledgers import row, trace

PAIRS = [
    pytest.param(("port", "22"), ("port", "49222"), True, id="another value"),
    pytest.param((" PORT ", "22"), ("port", "49222"), True, id="keys ignore case and blanks"),
    pytest.param(("db  host", "a"), ("db host", "b"), True, id="keys collapse white space"),
    pytest.param(("e\u0301", "a"), ("\u00e9", "b"), True, id="keys are compared in NFC"),
    pytest.param(("port", "open"), ("port", "Open"), True, id="values keep case"),
    pytest.param(("port", "22"), ("port", " 22 "), False, id="values are trimmed"),
    pytest.param(("port", "a  b"), ("port", "a b"), False, id="values collapse white space"),
    pytest.param(("port", "22"), ("gate", "49222"), False, id="another key"),
]


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_claims_contradict(one: tuple[str, str], other: tuple[str, str], *, expected: bool) -> None:
    first, second = trace("a", claim=one), trace("b", claim=other)
    assert contradict(first, second) is expected
    assert contradict(second, first) is expected


def test_traces_without_claims_never_contradict() -> None:
    """Faults row 12: nothing is concluded from free text."""
    bare, claimed = trace("use X"), trace("do not use X", claim=("x", "no"))
    assert not contradict(bare, claimed)
    assert not contradict(claimed, bare)
    assert not same_claim(bare, claimed)
    assert conflicting(row(bare), [row(claimed)]) == ()


INTERVALS = [
    pytest.param((None, None), (5, 6), True, id="open ends are infinite"),
    pytest.param((0, 5), (5, 9), False, id="touching"),
    pytest.param((0, 6), (5, 9), True, id="overlapping"),
    pytest.param((None, 0), (0, None), False, id="before and from the epoch"),
    pytest.param((7, None), (None, 8), True, id="half open"),
    pytest.param((1, 2), (3, 4), False, id="apart"),
]


@pytest.mark.parametrize(("one", "other", "expected"), INTERVALS)
def test_validity_intervals_overlap(
    one: tuple[int | None, int | None], other: tuple[int | None, int | None], *, expected: bool
) -> None:
    first = trace("a", valid_from_ms=one[0], valid_until_ms=one[1], claim=("k", "1"))
    second = trace("b", valid_from_ms=other[0], valid_until_ms=other[1], claim=("k", "2"))
    same = trace("c", valid_from_ms=other[0], valid_until_ms=other[1], claim=("k", "1"))
    assert overlap(first, second) is expected
    assert overlap(second, first) is expected
    assert contradict(first, second) is expected
    assert same_claim(first, same) is expected


def test_conflicts_are_grouped_by_key_and_value() -> None:
    rows = [
        row(trace("one", claim=("Port", "22"), source="bob", verified=True), 3),
        row(trace("two", claim=("port", "23"), source="model:x"), 1),
        row(trace("three", claim=("port", "22"), source="eve"), 2),
        row(trace("four", claim=("agreed", "yes")), 4),
        row(trace("five", claim=("agreed", "yes"), source="eve"), 5),
        row(trace("six"), 6),
    ]
    found = conflicts(rows, limit=10)
    assert (found.total, found.truncated) == (1, False)
    (conflict,) = found.conflicts
    assert conflict.key == "port"
    assert [(v.value, [h.content for h in v.holders]) for v in conflict.values] == [
        ("23", ["two"]),
        ("22", ["three", "one"]),
    ]
    assert [h.model_authored for v in conflict.values for h in v.holders] == [True, False, False]


def test_a_value_that_nobody_disputes_is_left_out_of_its_key() -> None:
    """Two hold at once, a third held long before."""
    rows = [
        row(trace("now a", claim=("k", "a"), valid_from_ms=10), 1),
        row(trace("now b", claim=("k", "b"), valid_from_ms=10), 2),
        row(trace("then", claim=("k", "c"), valid_until_ms=10), 3),
    ]
    (conflict,) = conflicts(rows, limit=10).conflicts
    assert [v.value for v in conflict.values] == ["a", "b"]


def test_what_was_replaced_disputes_nothing() -> None:
    old, new = trace("a", claim=("k", "1")), trace("b", claim=("k", "2"))
    assert conflicts([row(old, 1, "superseded"), row(new, 2)], limit=10).conflicts == ()
    assert conflicting(row(old, 1, "superseded"), [row(new, 2)]) == ()
    assert conflicting(row(new, 2), [row(old, 1, "superseded")]) == ()


def test_sensitive_claims_are_left_out_unless_allowed() -> None:
    rows = [
        row(trace("a", claim=("k", "1"), privacy="sensitive"), 1),
        row(trace("b", claim=("k", "2")), 2),
    ]
    assert conflicts(rows, limit=10).total == 0
    assert conflicts(rows, limit=10, allow_sensitive=True).total == 1


def test_conflicts_are_bounded() -> None:
    rows = [
        row(trace(f"{key}{value}", claim=(key, value)), seq)
        for seq, (key, value) in enumerate((k, v) for k in "cab" for v in "12")
    ]
    found = conflicts(rows, limit=2)
    assert [c.key for c in found.conflicts] == ["a", "b"]
    assert (found.total, found.truncated) == (3, True)


CLAIMS = st.tuples(st.sampled_from("xy"), st.sampled_from("123"))
SPANS = st.none() | st.integers(0, 4)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(CLAIMS, SPANS, SPANS), max_size=6), st.randoms())
def test_conflicts_do_not_depend_on_order(
    made: list[tuple[tuple[str, str], int | None, int | None]], chance: object
) -> None:
    """Any order of the rows gives the same answer, equal to comparing every pair."""
    rows = [
        row(trace(f"n{i}", claim=claim, valid_from_ms=start, valid_until_ms=end), i)
        for i, (claim, start, end) in enumerate(made)
    ]
    expected = conflicts(rows, limit=99)
    assert conflicts(rows[::-1], limit=99) == expected
    disputed = {h.id for c in expected.conflicts for v in c.values for h in v.holders}
    assert disputed == {a.id for a in rows if any(contradict(a.trace, b.trace) for b in rows)}


@pytest.mark.parametrize(
    ("until_ms", "expected"),
    [
        pytest.param(None, False, id="without an end"),
        pytest.param(101, False, id="before its end"),
        pytest.param(100, True, id="at its end"),
        pytest.param(99, True, id="after its end"),
    ],
)
def test_a_trace_is_expired_from_the_end_of_its_validity_on(
    until_ms: int | None, *, expected: bool
) -> None:
    """The end of an interval is not part of it."""
    assert is_expired(trace("a", valid_until_ms=until_ms), 100) is expected


CLAIMING = st.builds(
    lambda value, since, length: trace(
        f"{value} {since} {length}",
        claim=("port", value),
        valid_from_ms=since,
        valid_until_ms=None if since is None else since + length,
    ),
    st.sampled_from(["22", " 22", "23", "24"]),
    st.none() | st.integers(0, 5),
    st.integers(1, 5),
)
STATUSES = st.sampled_from(["active", "superseded"])


@given(st.lists(st.tuples(CLAIMING, STATUSES), max_size=12))
def test_rivals_read_once_dispute_each_as_if_read_for_it(drawn: list[tuple[Trace, str]]) -> None:
    """Holding all traces of a key against each other says what asking for each would."""
    rows = [row(record, seq, status) for seq, (record, status) in enumerate(drawn, start=1)]
    rivals = Rivals(rows[::-1])
    for _ in range(2):
        for one in rows:
            assert rivals.against(one) == conflicting(one, rows)


def test_a_hundred_rivals_are_named() -> None:
    """The first in the ledger; a reply does not grow with the square of what is written."""
    rows = [row(trace(f"{n}", claim=("x", f"{n}")), n) for n in range(1, MAX_CONFLICTS + 20)]
    assert Rivals(rows).against(rows[0]) == tuple(one.id for one in rows[1 : MAX_CONFLICTS + 1])


def test_a_trace_without_a_claim_is_disputed_by_none() -> None:
    """It is asked about together with others."""
    bare = row(trace("use X"))
    assert Rivals([bare, row(trace("no", claim=("x", "no")))]).against(bare) == ()
