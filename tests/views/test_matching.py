"""Pruning: what is skipped could not have changed the answer."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from hikmah.index.corpus import IndexCorpus
from hikmah.index.rows import Postings
from hikmah.index.terms import QueryTerm
from hikmah.model.policy import RecallPolicy
from hikmah.model.records import Record, Supersede
from hikmah.views import matching, ranking
from hikmah.views.filters import Filters
from hikmah.views.results import Recalled
from tests.views.ledgers import DAY_MS, NOW_MS, ask, corpus, id_of, trace

LETTERS = str.maketrans("0123456789", "qxjkvzwyhb")
WORDS = [f"w{i}".translate(LETTERS) for i in range(120)]
# A few words stand nearly everywhere, most in few traces.
WEIGHTS = [1 / (rank + 1) for rank in range(len(WORDS))]


def made(seed: int, count: int = 900) -> IndexCorpus:
    """Return a corpus of traces with uneven words, metadata and lengths."""
    chance = random.Random(seed)
    records: list[Record] = []
    for i in range(count):
        text = " ".join(chance.choices(WORDS, WEIGHTS, k=chance.randint(2, 14)))
        promised = i % 40 == 7
        records.append(
            trace(
                f"{text} n{i % 300}",
                created_at_ms=NOW_MS - chance.randint(0, 90) * DAY_MS,
                kind="commitment" if promised else chance.choice(["belief", "observation"]),
                deadline_ms=NOW_MS - i if promised else None,
                salience=chance.random(),
                authority=chance.random(),
                source=chance.choice(["bob", "eve"]),
                tags=(chance.choice(["red", "blue"]),),
            )
        )
    for i in range(0, 60, 2):
        replaced, by = id_of(records[i]), id_of(records[i + 1])
        records.append(Supersede(id=replaced, by=by, at_ms=NOW_MS))
    return corpus(*records)


CORPORA = [made(seed) for seed in range(3)]
QUERIES: list[dict[str, Any]] = [
    {},
    {"limit": 1},
    {"limit": 40},
    {"sources": ("bob",)},
    {"kinds": ("commitment",)},
    {"include_superseded": True},
    {"tags": ("red",)},
    {"since_ms": NOW_MS - 3 * DAY_MS},
]


def without_counts(answer: Recalled) -> Any:
    """Return an answer without what pruning may leave uncounted."""
    raw = msgspec.to_builtins(answer)
    del raw["total"], raw["total_exact"], raw["truncated"]
    return raw


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("sparse", [0, 1000], ids=["looked up", "scanned"])
def test_pruning_never_changes_an_answer(
    monkeypatch: pytest.MonkeyPatch, query: dict[str, Any], sparse: int
) -> None:
    """Scores, order and everything beside them equal those of looking at every trace."""
    chance = random.Random(repr(query))
    texts = [" ".join(chance.choices(WORDS, WEIGHTS, k=6)) for _ in range(6)]
    texts += [" ".join(chance.sample(WORDS, 8)) for _ in range(6)]
    for number, text in enumerate(texts):
        searched = CORPORA[number % len(CORPORA)]
        monkeypatch.setattr(ranking, "COUNTED", 1_000_000)
        monkeypatch.setattr(matching, "WORTH_ASKING", 1_000_000)
        full = ask(searched, text, **query)
        monkeypatch.setattr(ranking, "COUNTED", 0)
        monkeypatch.setattr(matching, "WORTH_ASKING", 0)
        monkeypatch.setattr(matching, "HOPEFUL", 1.0)
        monkeypatch.setattr(matching, "SPARSE", sparse)
        pruned = ask(searched, text, **query)
        assert without_counts(pruned) == without_counts(full)
        assert full.total_exact
        assert pruned.truncated == full.truncated or not pruned.total_exact


def test_pruning_reads_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query with a rare word does not read the common ones to the end."""
    monkeypatch.setattr(matching, "WORTH_ASKING", 0)
    policy = RecallPolicy()
    searched = CORPORA[0]
    prepared = matching.prepare(
        searched, [QueryTerm(w, 1.0, False) for w in (WORDS[110], WORDS[100], WORDS[0])], policy
    )
    rarities = [t.frequency for t in prepared.terms]
    assert rarities == sorted(rarities)
    found = matching.match(searched, prepared, lambda sums: max(sums.values()))
    assert not found.complete
    assert len(found.sums) < len(searched.postings(WORDS[0]).docs)


def test_a_term_that_is_nowhere_counts_unless_it_is_a_copy() -> None:
    """An absent word lessens every share; an absent identifier in one piece does not."""
    policy = RecallPolicy()
    term = QueryTerm
    present = matching.prepare(CORPORA[0], [term(WORDS[0], 1.0, False)], policy)
    absent = matching.prepare(
        CORPORA[0], [term(WORDS[0], 1.0, False), term("zebra", 1.0, False)], policy
    )
    copy = matching.prepare(
        CORPORA[0], [term(WORDS[0], 1.0, False), term("w-q", 1.0, True)], policy
    )
    assert absent.mass > present.mass
    assert absent.absent == ("zebra",)
    assert copy.mass == present.mass


def test_an_empty_corpus_matches_nothing() -> None:
    prepared = matching.prepare(corpus(), [QueryTerm("lock", 1.0, False)], RecallPolicy())
    assert matching.match(corpus(), prepared, lambda _: 0.0) == matching.Matches({}, complete=True)


def test_what_is_needed_is_asked_only_when_it_may_have_changed() -> None:
    """Many late terms of like weight: not every one is worth the question."""
    asked: list[int] = []

    def auction(sums: dict[int, float]) -> float:
        asked.append(len(sums))
        return 0.99 * max(sums.values())

    repeats = [QueryTerm(WORDS[100], 40.0, extra=False)]
    late = [QueryTerm(word, 1.0, extra=False) for word in WORDS[40:60]]
    prepared = matching.prepare(CORPORA[0], [*repeats, *late], RecallPolicy())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "WORTH_ASKING", 0)
        assert not matching.match(CORPORA[0], prepared, auction).complete
    assert 1 < len(asked) < len(late)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_are_found_wherever_they_stand(seed: int) -> None:
    """The first documents only give a guess: all that reach what the best have are looked at."""
    values = {doc: 1.0 + doc % 700 for doc in range(3000)}
    docs = list(values)
    random.Random(seed).shuffle(docs)
    passing = ranking.Gate(0.0, 1.0)
    ranker = ranking.Ranker(CORPORA[seed], Filters(), RecallPolicy(), gate=passing, now_ms=NOW_MS)
    asked: list[int] = []

    def score(found: list[int], _: ranking.Cues) -> list[ranking.Scored]:
        asked.extend(found)
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranker, "_score", score)
        ranker.needed(ranking.Cues({doc: values[doc] for doc in docs}), 5)
    # Each value stands four or five times: ten documents need those of the two or three highest.
    assert sorted(asked) == [doc for doc in range(3000) if doc % 700 >= 697]


@pytest.mark.parametrize("counts", [[1, 1, 1], [2, 1, 255], [3]], ids=str)
def test_a_share_is_the_formula_whatever_the_count(counts: list[int]) -> None:
    """Texts that hold a term once, and those that repeat it, are worked out apart."""
    scale = matching.Scale(0.8, 0.01, 0.25)
    lengths = [7 * n for n in counts]
    sums = {1: 0.5}
    matching._add(sums, 2.0, scale, Postings(range(len(counts)), counts, lengths))
    share = 2.0 / 1.25
    worth = [
        0.25 * share + share * n / (n + 0.8 + 0.01 * length)
        for n, length in zip(counts, lengths, strict=True)
    ]
    for doc, expected in enumerate(worth):
        assert sums[doc] == pytest.approx(expected + (0.5 if doc == 1 else 0.0))


def test_while_fewer_pass_than_were_asked_for_only_the_hopeless_are_left_out() -> None:
    """Many traces share a cue and none passes the gate: pruning stops at the gate itself."""
    asked = corpus(*[trace(f"note {word}") for word in WORDS[:30]])
    ranker = ranking.Ranker(
        asked, Filters(), RecallPolicy(), gate=ranking.Gate(0.99, 1.0), now_ms=NOW_MS
    )
    weak = ranking.Cues(dict.fromkeys(asked.documents(), 0.1))
    assert ranker.needed(weak, 5) == ranker.needed(ranking.Cues({}), 5)
    assert ranker.rank(weak, 5).passing == 0
