"""Folding: copies become one result, and repeats give way."""

from __future__ import annotations

from typing import Any

import pytest

from hikmah.index.documents import document, fingerprint
from hikmah.index.rows import TraceRow
from hikmah.index.terms import read_fingerprint
from hikmah.model.policy import RecallPolicy
from hikmah.model.trace import Trace
from hikmah.views.folding import Candidate, candidate, fold, jaccard, near_identical
from tests.views.ledgers import id_of, trace

POLICY = RecallPolicy()


def made(record: Trace, score: float = 0.5, seq: int = 1, status: Any = "active") -> Candidate:
    row = TraceRow(doc=seq, id=id_of(record), seq=seq, trace=record, status=status, status_seq=seq)
    return candidate(row, score, read_fingerprint(fingerprint(document(record).content)))


PAIRS = [
    pytest.param("The lock timed out", "the  lock TIMED out", True, id="case and blanks"),
    pytest.param("\uff2cock", "lock", True, id="width"),
    pytest.param(
        "migration failed because the lock timed out",
        "migrations failing because of the lock timing out!",
        True,
        id="other forms of the words",
    ),
    pytest.param("alpha beta gamma delta", "alpha beta gamma epsilon", False, id="too unlike"),
    pytest.param(
        "ssh port of host alpha in rack nine is 22",
        "ssh port of host alpha in rack nine is 49222",
        False,
        id="another number",
    ),
    pytest.param(
        "alpha beta gamma delta epsilon zeta eta theta",
        "alpha beta gamma delta epsilon not zeta eta theta",
        False,
        id="a negation",
    ),
    pytest.param("!!!", "???", False, id="no terms at all"),
]


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_near_identical(one: str, other: str, *, expected: bool) -> None:
    a, b = made(trace(one)), made(trace(other))
    assert near_identical(a, b, POLICY.fold_at) is expected
    assert near_identical(b, a, POLICY.fold_at) is expected


def test_a_copy_folds_into_the_best() -> None:
    best, copy = made(trace("the lock"), 0.9, 1), made(trace("The Lock!"), 0.8, 2)
    other = made(trace("a disk"), 0.1, 3)
    first, second = fold([copy, other, best], 5, POLICY)
    assert first.candidate is best
    assert first.duplicates == (copy.row.id,)
    assert (second.candidate, second.duplicates) == (other, ())


def test_a_contradicting_claim_neither_folds_nor_is_penalised() -> None:
    one = made(trace("port is open", claim=("port", "yes")), 0.9, 1)
    other = made(trace("port is open", claim=("port", "no")), 0.8, 2)
    assert [(f.score, f.overlap) for f in fold([one, other], 5, POLICY)] == [(0.9, 0), (0.8, 0)]


def test_a_promise_is_not_hidden_behind_a_note() -> None:
    """An open commitment folds into an open commitment only."""
    note = made(trace("send the report"), 0.9, 1)
    promise = made(trace("send the report", kind="commitment"), 0.8, 2)
    again = made(trace("Send the report", kind="commitment"), 0.7, 3)
    chosen = fold([note, promise, again], 5, POLICY)
    assert [f.candidate for f in chosen] == [note, promise]
    assert chosen[1].duplicates == (again.row.id,)
    assert chosen[1].score == round(0.8 * 0.65, 6)
    kept = made(trace("send the report", kind="commitment"), 0.9, 1, "fulfilled")
    assert len(fold([kept, promise], 5, POLICY)) == 2


def test_an_overlap_lets_another_trace_pass() -> None:
    """What repeats a better result loses up to 0.35 and may fall behind."""
    best = made(trace("lock port disk rack"), 0.9, 1)
    similar = made(trace("lock port disk queue"), 0.8, 2)
    fresh = made(trace("cache"), 0.7, 3)
    chosen = fold([best, similar, fresh], 5, POLICY)
    assert [f.candidate for f in chosen] == [best, fresh, similar]
    # Three of five terms: three quarters of the way to 0.8, so half of the penalty.
    assert chosen[2].overlap == pytest.approx(0.5)
    assert chosen[2].score == round(0.8 * (1 - 0.35 * 0.5), 6)


def test_texts_on_one_subject_do_not_repeat_each_other() -> None:
    """Up to half of what makes a copy costs nothing."""
    best, other = made(trace("lock port disk"), 0.9, 1), made(trace("lock queue rack"), 0.8, 2)
    assert [f.overlap for f in fold([best, other], 5, POLICY)] == [0.0, 0.0]


def test_copies_are_named_beyond_the_limit() -> None:
    best, other = made(trace("the lock"), 0.9, 1), made(trace("disk"), 0.8, 2)
    copy = made(trace("The Lock"), 0.1, 3)
    (only,) = fold([best, other, copy], 1, POLICY)
    assert only.duplicates == (copy.row.id,)


def test_jaccard_of_nothing_is_nothing() -> None:
    assert jaccard(frozenset(), frozenset()) == 0.0
