"""What became of each trace, and what a part of a ledger would say."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.model.records import Fulfill, Purge, Record, Supersede, Unknown
from hikmah.model.trace import Fact, Outcome, Relationship, Trace
from hikmah.transfer.lines import Line, lines
from hikmah.transfer.statuses import Statuses, targets

A, B, C = "a" * 40, "b" * 40, "c" * 40


def trace(**fields: Any) -> Trace:
    """Return a trace."""
    return Trace(content="x", created_at_ms=0, **fields)


def folded(*records: tuple[str, Record | Unknown]) -> Statuses:
    """Return the statuses that records make."""
    statuses = Statuses()
    for record_id, record in records:
        statuses.add(record_id, record)
    return statuses


BY = ("1", Supersede(id=A, by=B, at_ms=0))
DONE = ("2", Fulfill(id=A, at_ms=0))
GONE = ("3", Purge(id=A, reason="r", at_ms=0))
OUT = ("4", Purge(id=A, reason="r", mode="deprecate", at_ms=0))


@pytest.mark.parametrize(
    ("records", "status"),
    [
        pytest.param([], "active", id="nothing"),
        pytest.param([(B, trace(supersedes=A))], "superseded", id="by a trace"),
        pytest.param([BY, DONE], "superseded", id="superseded beats fulfilled"),
        pytest.param([DONE], "fulfilled", id="fulfilled"),
        pytest.param([OUT, BY], "deprecated", id="deprecated beats superseded"),
        pytest.param([GONE, OUT, DONE], "purged", id="purged beats all"),
        pytest.param([("5", Unknown(type="new"))], "active", id="unknown"),
    ],
)
def test_the_strongest_word_counts_in_any_order(
    records: list[tuple[str, Record | Unknown]], status: str
) -> None:
    """As the index folds it."""
    assert folded(*records).of(A) == status
    assert folded(*reversed(records)).of(A) == status


def test_what_only_those_left_out_supersede_would_revive() -> None:
    """Through chains, but not where another successor or a stronger status stays."""
    chain = [(B, trace(supersedes=A)), (C, trace(supersedes=B))]
    assert folded(*chain).revived_without([C]) == {A, B}
    assert folded(*chain).revived_without([B]) == {A}
    assert folded(*chain, ("6", Supersede(id=A, by="d", at_ms=0))).revived_without([C]) == {B}
    assert folded(*chain, GONE).revived_without([C]) == {B}
    assert folded(*chain, DONE).revived_without([C]) == {A, B}
    assert folded(BY, ("7", Supersede(id=B, by=A, at_ms=0))).revived_without([A]) == {B}


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6))), st.sets(st.integers(0, 6)))
def test_nothing_left_changes_its_status(links: list[tuple[int, int]], left_out: set[int]) -> None:
    """Whatever is left out, what stays says what it said in the whole."""
    records = [(str(n), Supersede(id=str(a), by=str(b), at_ms=0)) for n, (a, b) in enumerate(links)]
    whole = folded(*records)
    gone = {str(one) for one in left_out}
    gone |= whole.revived_without(gone)
    part = folded(*(r for r in records if r[1].id not in gone and r[1].by not in gone))
    for one in map(str, range(7)):
        if one not in gone:
            assert part.of(one) == whole.of(one)


@pytest.mark.parametrize(
    ("record", "named"),
    [
        (Unknown(type="new"), ()),
        (Supersede(id=A, by=B, at_ms=0), (A, B)),
        (Fulfill(id=A, at_ms=0), (A,)),
        (trace(), ()),
        (trace(supersedes=A, derived_from=(B, C)), (A, B, C)),
        (trace(outcome=Outcome(prediction=A, observed="x")), (A,)),
        (trace(fact=Fact(entity=A, predicate="p", object="o")), (A,)),
        (trace(relationship=Relationship(from_=A, to=B, relation_type="r")), (A, B)),
    ],
)
def test_every_link_is_a_target(record: Record | Unknown, named: tuple[str, ...]) -> None:
    """In the order of the fields."""
    assert targets(record) == named


@given(st.binary(max_size=60), st.integers(1, 9))
def test_lines_are_what_stands_between_line_ends(data: bytes, longest: int) -> None:
    """None longer than the bound, none missed, blank ones passed over."""
    found = list(lines(io.BytesIO(data), longest=longest))
    wanted: list[tuple[int, bytes | None]] = []
    for number, text in enumerate(data.split(b"\n"), start=1):
        plain = text.removeprefix(b"\xef\xbb\xbf") if number == 1 else text
        if len(text) > longest:
            wanted.append((number, None))
        elif plain.strip():
            wanted.append((number, plain))
    assert [(line.number, line.data) for line in found] == wanted
    assert all(line.ended for line in found[:-1])


def test_where_lines_end_is_told() -> None:
    """For whoever draws how far reading is."""
    found = list(lines(io.BytesIO(b"one\n\ntwo"), longest=9))
    assert found == [Line(1, b"one", 4, ended=True), Line(3, b"two", 8, ended=False)]
