"""Recall: what comes back, in which order, and what stands beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.errors import InvalidInputError
from hikmah.index.rows import Cut
from hikmah.model.policy import DEFAULTS
from hikmah.model.records import Fulfill, Purge, Supersede
from hikmah.views.results import with_receipt
from tests.views.ledgers import (
    DAY_MS,
    NOW_MS,
    ask,
    contents,
    corpus,
    filled,
    id_of,
    store,
    trace,
)

ROOT = Path(__file__).parents[2]
WORDS = st.sampled_from(
    ["alpha", "beta", "gamma", "delta", "lock", "port", "disk", "queue", "cache"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
UNITS = st.floats(0, 1)


def test_a_trace_that_shares_a_term_comes_back() -> None:
    searched = corpus(trace("Migration failed: the lock timed out"), trace("Lunch is at noon"))
    answer = ask(searched, "why did migrations fail")
    assert contents(answer) == ["Migration failed: the lock timed out"]
    assert [m.term for m in answer.results[0].matched] == ["migrat", "fail"]


@settings(max_examples=60, deadline=None)
@given(TEXTS, UNITS, UNITS, UNITS, st.booleans())
def test_an_unrelated_trace_never_comes_back_however_sure_it_is(
    text: str, salience: float, confidence: float, authority: float, verified: bool
) -> None:
    """A trace without a term or tag of the query has no score, whatever it says of itself."""
    loud = trace(
        "zebra quagga okapi",
        salience=max(salience, 0.5),
        confidence=max(confidence, 0.5),
        authority=max(authority, 0.5),
        verified=verified,
    )
    loudest = trace("zebra okapi", salience=1.0, confidence=1.0, authority=1.0, verified=True)
    answer = ask(corpus(loud, trace(text), loudest), text)
    assert contents(answer) == [text]


@settings(max_examples=60, deadline=None)
@given(UNITS, UNITS, UNITS, st.booleans(), st.integers(0, 2000))
def test_metadata_changes_a_score_by_less_than_a_factor_of_1_82(
    salience: float, confidence: float, authority: float, verified: bool, age_days: int
) -> None:
    """The lowest and the highest metadata bound every score for the same words."""

    def score(**fields: Any) -> float:
        searched = corpus(trace("lock port", **fields), trace("disk queue cache"))
        return ask(searched, "lock", now_ms=NOW_MS).results[0].score

    one = score(
        salience=salience,
        confidence=confidence,
        authority=authority,
        verified=verified,
        created_at_ms=NOW_MS - age_days * DAY_MS,
    )
    low = score(salience=0.0, confidence=0.0, authority=0.0, created_at_ms=0)
    high = score(
        salience=1.0,
        confidence=1.0,
        authority=1.0,
        verified=True,
    )
    assert low <= one <= high < 1.82 * low


def test_equal_scores_stand_newer_first() -> None:
    """Faults row 25: ten traces with equal scores have one order."""
    searched = corpus(*(trace(f"lock number {chr(97 + i)}{i}x") for i in range(10)))
    answer = ask(searched, "lock", limit=10)
    seqs = [result.seq for result in answer.results if not result.channels.overlap]
    assert seqs == sorted(seqs, reverse=True)
    assert len(answer.results) == 10


HASHED = """
import sys, msgspec
sys.path.insert(0, {root!r})
from tests.views.ledgers import ask, corpus, trace
records = [trace(f"lock port {{w}}", tags=("ops", w)) for w in "bcdfghjklm"]
answer = ask(corpus(*records), "lock of the port", tags=("ops",), limit=10)
sys.stdout.buffer.write(msgspec.json.encode(answer))
"""


def test_ten_hash_seeds_give_one_answer() -> None:
    """Faults row 25: an answer does not depend on PYTHONHASHSEED."""
    code = HASHED.format(root=str(ROOT))
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in range(10)
    }
    assert len(answers) == 1
    assert len(json.loads(answers.pop())["results"]) == 10


def test_order_of_arrival_does_not_change_an_answer() -> None:
    """An index that met the records in another order gives the same bytes."""
    records = [trace(f"the lock of {w}", tags=(w,)) for w in ("alpha", "beta", "gamma", "delta")]
    records.append(trace("a lock", claim=("k", "v")))
    stored = store(records)
    one = ask(filled(stored).corpus(), "lock alpha")
    other = ask(filled(stored[::-1]).corpus(), "lock alpha")
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


def test_a_correction_hides_the_stale_trace_and_marks_its_paraphrase() -> None:
    """Faults row 11: the correction on top, the stale one absent, its paraphrase marked."""
    stale = trace("SSH port of host alpha is 22", created_at_ms=NOW_MS - 9 * DAY_MS)
    correction = trace("host alpha now listens on 49222 for ssh", supersedes=id_of(stale))
    paraphrase = trace("The ssh port of the host alpha is 22!", created_at_ms=NOW_MS - 10 * DAY_MS)
    searched = corpus(stale, paraphrase, correction)
    answer = ask(searched, "ssh port host alpha")
    assert id_of(stale) not in {r.id for r in answer.results}
    marks = {r.id: r.also_asserted_by_superseded for r in answer.results}
    assert marks[id_of(paraphrase)] == (id_of(stale),)
    assert marks[id_of(correction)] == ()
    alone = ask(corpus(stale, correction), "ssh port host alpha")
    assert [r.id for r in alone.results] == [id_of(correction)]
    assert alone.results[0].supersedes == (id_of(stale),)


def test_a_superseded_trace_comes_back_when_asked_for() -> None:
    """It names its successor, and never a purged one."""
    stale = trace("the port is 22")
    correction = trace("the port is 49222", supersedes=id_of(stale))
    searched = corpus(stale, correction)
    answer = ask(searched, "port", include_superseded=True)
    found = {r.id: r for r in answer.results}
    assert found[id_of(stale)].superseded_by == (id_of(correction),)
    assert found[id_of(stale)].status == "superseded"
    purge = Purge(id=id_of(correction), reason="wrong", at_ms=NOW_MS)
    answer = ask(corpus(stale, correction, purge), "port", include_superseded=True)
    assert [r.superseded_by for r in answer.results] == [()]


def test_a_purged_trace_leaves_every_answer() -> None:
    one = trace("the port is 22")
    purge = Purge(id=id_of(one), reason="wrong", at_ms=NOW_MS)
    asked: list[dict[str, Any]] = [{"text": "port"}, {}, {"include_superseded": True}]
    for query in asked:
        assert ask(corpus(one, purge), **query).results == ()


def test_a_verified_copy_is_no_stale_paraphrase_of_what_it_replaced() -> None:
    """Successors of successors are exempt, too."""
    first = trace("the port is 22", source="agent")
    second = trace("the port is 22", source="bob", supersedes=id_of(first))
    third = trace("The port is 22", source="eve", supersedes=id_of(second), verified=True)
    answer = ask(corpus(first, second, third), "port")
    assert [r.also_asserted_by_superseded for r in answer.results] == [()]


def test_an_active_claim_of_a_replaced_value_is_marked() -> None:
    """Other words, the same claim as a superseded trace: still the stale statement."""
    stale = trace("prod database is mysql", claim=("db", "mysql"))
    echo = trace("we run mysql there as the database", claim=("DB", "mysql"))
    new = trace("prod database is postgres", claim=("db", "postgres"), supersedes=id_of(stale))
    answer = ask(corpus(stale, echo, new), "which database")
    marks = {r.id: r.also_asserted_by_superseded for r in answer.results}
    assert marks == {id_of(new): (), id_of(echo): (id_of(stale),)}


def test_conflicting_claims_stand_beside_each_other() -> None:
    """They name each other, and neither folds into the other however alike they are."""
    one = trace("the prod port of alpha is open", claim=("port", "open"))
    other = trace("the prod port of alpha is open", claim=("port", "closed"))
    answer = ask(corpus(one, other), "port alpha")
    assert {r.id: r.conflicts for r in answer.results} == {
        id_of(one): (id_of(other),),
        id_of(other): (id_of(one),),
    }
    assert all(r.channels.overlap == 0 for r in answer.results)


def test_no_conflict_is_invented_from_free_text() -> None:
    """Faults row 12: only claims conflict."""
    answer = ask(corpus(trace("use the cache"), trace("do not use the cache")), "cache")
    assert len(answer.results) == 2
    assert all(r.conflicts == () for r in answer.results)


def test_recall_folds_what_was_fed_back() -> None:
    """Faults row 15: recall output stored again comes back once."""
    first = trace("Migration failed because the lock timed out")
    again = trace("migration  FAILED because the lock timed out.", tags=("recalled",))
    answer = ask(corpus(first, again), "migration")
    assert len(answer.results) == 1
    assert answer.results[0].duplicate_count == 1
    assert answer.total == 2
    assert not answer.truncated


QUERIES = [
    pytest.param("multi-agent", id="hyphen"),
    pytest.param("don't", id="apostrophe"),
    pytest.param("GB/s", id="slash"),
    pytest.param('"--x"', id="quoted option"),
    pytest.param("*", id="star"),
    pytest.param('""', id="quotes"),
    pytest.param(" \t\n", id="white space"),
    pytest.param("\0", id="NUL"),
    pytest.param("x" * 10_000, id="10 kB"),
    pytest.param("lock " * 2_000, id="10 kB of words"),
    pytest.param("\ud800", id="half a surrogate pair"),
    pytest.param("lock\udfff OR NEAR(", id="syntax of another engine"),
]


@pytest.mark.parametrize("text", QUERIES)
def test_query_punctuation_is_never_syntax(text: str) -> None:
    """Faults row 14: any query gives an answer or a reason, and can be printed."""
    answer = ask(corpus(trace("a lock in a multi-agent system at 3 GB/s")), text)
    assert answer.results or answer.reason
    assert msgspec.json.encode(answer)


@pytest.mark.parametrize("text", ["", "   ", "*", "--", "\0", "\ud800"])
def test_a_query_without_terms_gives_a_reason_and_what_is_overdue(text: str) -> None:
    """Faults row 14: an empty list with the reason."""
    note = trace("a lock")
    assert ask(corpus(note), text).reason == "the query holds no letter, no digit and no tag"
    late = trace("send the report", kind="commitment", deadline_ms=NOW_MS - 1)
    assert contents(ask(corpus(note, late), text)) == ["send the report"]


def test_overdue_commitments_alone_come_with_the_reason() -> None:
    """What surfaces by its deadline is no match, and the reply says that nothing matched."""
    late = trace("send the report", kind="commitment", deadline_ms=NOW_MS - 1)
    searched = corpus(trace("a lock"), late)
    assert ask(searched, "zebra").reason == "no trace holds a term or a tag of the query"
    assert ask(searched, "*").reason == "the query holds no letter, no digit and no tag"
    assert ask(searched, "lock").reason is None
    assert ask(searched, "report").reason is None
    assert ask(searched).reason is None
    hidden = ask(searched, "lock", kinds=("commitment",))
    assert (contents(hidden), hidden.reason) == (
        ["send the report"],
        "left out: 1 of another kind (--kind)",
    )


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda b: b.decode("latin-1")))
def test_no_query_crashes(text: str) -> None:
    """Faults row 14, generated."""
    answer = ask(NOTES, text)
    assert answer.results or answer.reason


NOTES = corpus(trace("the lock"), trace("今天讨论了部署方案和止损"), trace("a.b/c_d é 42"))

CJK = [
    ("今天讨论了部署方案和止损", ["部署", "方案", "止损", "今天", "讨论"]),
    ("オフライン同期の設計", ["同期", "設計", "ライン", "オフ"]),
    ("重跑gen-itgc后检查", ["gen-itgc", "itgc", "重跑", "检查", "后检"]),
    ("배포 계획을 논의했다", ["배포", "계획", "논의"]),
]


@pytest.mark.parametrize(("content", "queries"), CJK)
def test_two_characters_find_text_without_spaces(content: str, queries: list[str]) -> None:
    """Faults row 13: every query hits, also beside ASCII; the stored text is unchanged."""
    searched = corpus(trace(content), trace("unrelated words"))
    for query in queries:
        assert contents(ask(searched, query)) == [content], query


def test_a_large_answer_is_bounded_and_counted() -> None:
    """Faults row 22: the limit holds, truncated is said, and a count is given."""
    searched = corpus(*(trace(f"lock {i:04d}") for i in range(1200)))
    answer = ask(searched, "lock", limit=5)
    assert len(answer.results) == 5
    assert answer.truncated
    assert answer.total == 1200
    few = ask(searched, "lock 0007", limit=5)
    assert few.results[0].trace.content == "lock 0007"


def test_a_budget_is_filled_in_rank_order() -> None:
    """What is too long gives way to what fits; leaving something out is said."""
    texts = ["lock " * 30 + "disk", "a lock of the queue", "the queue", "some other note"]
    searched = corpus(*map(trace, texts))
    answer = ask(searched, "lock queue disk", budget_chars=30)
    assert contents(answer) == ["a lock of the queue", "the queue"]
    assert answer.truncated
    nothing = ask(searched, "lock", budget_chars=2)
    assert nothing.reason == "nothing that was found fits into the budget"


def test_a_listing_orders_by_metadata_alone() -> None:
    """Without a query and without tags: half the weight of the metadata."""
    low = trace("one", salience=0.1)
    high = trace("two", salience=0.9)
    answer = ask(corpus(high, low))
    assert contents(answer) == ["two", "one"]
    channels = answer.results[0].channels
    assert answer.results[0].score == round(0.5 * channels.meta, 6)
    assert (channels.lexical, channels.tags, channels.cue) == (None, None, 0.0)


def test_an_empty_ledger_says_so() -> None:
    assert ask(corpus()).reason == "the ledger holds no trace"
    assert ask(corpus(), "lock").reason == "the ledger holds no trace"


def test_tags_are_cues() -> None:
    """A trace comes back for a tag alone; its coverage is its share of the tags asked for."""
    both = trace("alpha", tags=("Ops", "db"))
    one = trace("beta", tags=("ops",))
    answer = ask(corpus(one, both, trace("gamma")), tags=("ops ", "DB"))
    assert contents(answer) == ["alpha", "beta"]
    assert [r.channels.tags for r in answer.results] == [1.0, 0.5]
    assert [m.where for m in answer.results[0].matched] == [("tags",), ("tags",)]


def test_terms_and_tags_add_up() -> None:
    """With both, relevance is 0.8 lexical and 0.2 tag coverage."""
    searched = corpus(
        trace("lock", tags=("ops",)), trace("lock of oak"), trace("disk", tags=("ops",))
    )
    answer = ask(searched, "lock", tags=("ops",))
    first = answer.results[0].channels
    assert first.lexical is not None
    assert first.tags == 1.0
    assert first.cue == pytest.approx(0.8 * first.lexical + 0.2, abs=1e-6)
    assert len(answer.results) == 3


def test_an_overdue_commitment_surfaces_without_a_cue() -> None:
    """It scores at least 0.15; kept, future and filtered ones do not surface."""
    late = trace("send the report", kind="commitment", deadline_ms=NOW_MS - 1)
    kept = trace("call bob", kind="commitment", deadline_ms=NOW_MS - 1)
    future = trace("buy milk", kind="commitment", deadline_ms=NOW_MS + DAY_MS)
    fulfilled = Fulfill(id=id_of(kept), at_ms=NOW_MS)
    searched = corpus(late, kept, future, fulfilled, trace("a lock"))
    answer = ask(searched, "lock")
    assert {r.trace.content: r.channels.overdue for r in answer.results} == {
        "a lock": False,
        "send the report": True,
    }
    assert answer.results[-1].score >= 0.15
    assert contents(ask(searched, "lock", kinds=("observation",))) == ["a lock"]
    assert contents(ask(searched, "lock", sources=("nobody",))) == []


def test_overdue_commitments_do_not_crowd_out_an_answer() -> None:
    """Those without a cue take at most a quarter of the places that others want."""
    promises = [
        trace(f"promise {w}", kind="commitment", deadline_ms=NOW_MS - 1 - i)
        for i, w in enumerate("abcdefghij")
    ]
    notes = [trace(f"lock {w}{w}") for w in "abcdefghij"]
    weak = "lock zebra"
    found = contents(ask(corpus(*promises, *notes), weak, limit=8))
    assert [text for text in found if text.startswith("promise")] == ["promise b", "promise a"]
    alone = contents(ask(corpus(*promises, notes[0]), "lock", limit=8))
    assert sum(text.startswith("promise") for text in alone) == 7


FILTERS = [
    ({"kinds": ("belief",)}, "--kind"),
    ({"sources": ("bob",)}, "--source"),
    ({"since_ms": NOW_MS + 1}, "--since"),
    ({"until_ms": NOW_MS - 1}, "--until"),
]


@pytest.mark.parametrize(("query", "named"), FILTERS)
def test_an_empty_answer_names_the_filter(query: dict[str, Any], named: str) -> None:
    answer = ask(corpus(trace("a lock", source="eve")), "lock", **query)
    assert answer.results == ()
    assert answer.reason is not None
    assert named in answer.reason


def test_filters_keep_what_passes() -> None:
    searched = corpus(
        trace("lock one", kind="belief", source="Eve"),
        trace("lock two", source="bob", created_at_ms=NOW_MS - DAY_MS),
    )
    assert contents(ask(searched, "lock", kinds=("belief",))) == ["lock one"]
    assert contents(ask(searched, "lock", sources=(" eve ",))) == ["lock one"]
    assert contents(ask(searched, "lock", since_ms=NOW_MS)) == ["lock one"]
    assert contents(ask(searched, "lock", until_ms=NOW_MS - DAY_MS)) == ["lock two"]


def test_predictions_come_back_only_when_their_kind_is_asked_for() -> None:
    searched = corpus(trace("the lock will hold", kind="prediction"))
    answer = ask(searched, "lock")
    assert answer.results == ()
    assert answer.reason == "left out: 1 predictions (--kind prediction shows them)"
    assert len(ask(searched, "lock", kinds=("prediction",)).results) == 1


def test_sensitive_traces_come_back_only_when_the_policy_allows() -> None:
    """Nor are they mentioned beside another result."""
    secret = trace("lock under the mat", privacy="sensitive", claim=("k", "a"))
    plain = trace("lock on the door", claim=("k", "b"))
    searched = corpus(secret, plain)
    answer = ask(searched, "lock")
    assert contents(answer) == ["lock on the door"]
    assert answer.results[0].conflicts == ()
    allowed = msgspec.structs.replace(DEFAULTS, allow_sensitive_persistence=True)
    answer = ask(searched, "lock", policy=allowed)
    assert len(answer.results) == 2
    assert answer.results[0].conflicts


def test_reasons_for_nothing() -> None:
    searched = corpus(trace("a lock"), trace("a disk"))
    assert ask(searched, "zebra").reason == "no trace holds a term or a tag of the query"
    strict = msgspec.structs.replace(DEFAULTS, minimum_recall_score=1.0)
    reason = ask(searched, "lock", policy=strict).reason
    assert reason is not None
    assert "minimum_recall_score" in reason
    both = ask(
        corpus(trace("a lock"), trace("lock", kind="belief")),
        "lock zebra",
        kinds=("belief",),
        policy=strict,
    ).reason
    assert both == "left out: 1 of another kind (--kind); 1 below the minimum score"


def test_a_trace_past_its_validity_is_marked_expired() -> None:
    searched = corpus(trace("lock a", valid_until_ms=NOW_MS), trace("lock b", valid_from_ms=0))
    marks = {r.trace.content: r.expired for r in ask(searched, "lock").results}
    assert marks == {"lock a": True, "lock b": False}


def test_as_of_answers_as_it_would_have_then() -> None:
    """A cut gives statuses, statistics and clock of that moment: the same bytes."""
    first = [trace("the port is 22"), trace("a disk", tags=("db",)), trace("port of call")]
    stored = store(first)
    then = ask(filled(stored).corpus(), "port disk")
    late = trace("promise", kind="commitment", deadline_ms=NOW_MS - 1)
    more = store(
        [
            trace("the port is 49222", supersedes=stored[0].id),
            Supersede(id=stored[2].id, by=stored[1].id, at_ms=NOW_MS),
            late,
            *(trace(f"port {i} disk") for i in range(50)),
        ],
        first=4,
    )
    index = filled([*stored, *more])
    now = ask(index.corpus(), "port disk")
    again = ask(index.corpus(Cut(seq=3)), "port disk")
    assert msgspec.json.encode(again) == msgspec.json.encode(then)
    assert now != then
    written = ask(index.corpus(Cut(written_ms=NOW_MS - 1)), "port disk")
    assert written.reason == "the ledger holds no trace"


def test_as_of_surfaces_what_was_overdue_then() -> None:
    late = [trace(f"promise {i}", kind="commitment", deadline_ms=NOW_MS - i) for i in (3, 2, 1)]
    kept = Fulfill(id=id_of(late[0]), at_ms=NOW_MS)
    index = filled(store([*late, kept, trace("a lock")]))
    assert len(ask(index.corpus(Cut(seq=3)), "*").results) == 3
    assert len(ask(index.corpus(Cut(seq=4)), "*").results) == 2


def test_a_receipt_says_what_an_answer_rests_on() -> None:
    answer = ask(corpus(trace("a lock")), "lock")
    reply = with_receipt(answer, ledger="l", head="h", policy="p", now_ms=NOW_MS)
    receipt = reply.receipt
    assert (receipt.ledger, receipt.head, receipt.policy, receipt.now_ms) == ("l", "h", "p", NOW_MS)
    assert receipt.query.text == "lock"
    assert receipt.query.limit == DEFAULTS.recall_limit
    assert receipt.results == tuple(r.id for r in reply.results)


BAD = [
    pytest.param({"limit": 0}, "limit", id="limit of nothing"),
    pytest.param({"limit": 1001}, "limit", id="limit too large"),
    pytest.param({"budget_chars": 0}, "budget", id="budget of nothing"),
    pytest.param({"kinds": ("rumour",)}, "kind", id="no such kind"),
]


@pytest.mark.parametrize(("query", "where"), BAD)
def test_a_query_that_cannot_be_is_an_error(query: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ask(corpus(), "lock", **query)
    assert caught.value.where == where
