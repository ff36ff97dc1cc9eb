"""The minimum score: what is too weak to come back."""

from __future__ import annotations

import pytest

from tests.views.ledgers import ask, contents, corpus, trace

# Enough traces for words to be rare and common in; "build" stands in all of them.
TEXTS = [f"build number {i} of part{i % 7} went well at gate{i % 3}" for i in range(200)]
RARE = "the build of zebra failed"
LETTERS = str.maketrans("0123456789", "qxjkvzwyhb")
FILLER = [f"absent{i}".translate(LETTERS) for i in range(100)]


@pytest.mark.parametrize("words", [0, 1, 3, 7, 15, 31, 63, 100])
def test_a_match_on_one_rare_term_comes_back_however_long_the_query(words: int) -> None:
    searched = corpus(*map(trace, [*TEXTS, RARE]))
    query = " ".join([*FILLER[:words], "zebra"])
    assert contents(ask(searched, query)) == [RARE]


@pytest.mark.parametrize("words", [1, 3, 7, 15, 31, 63, 100])
def test_a_match_on_one_very_common_word_does_not(words: int) -> None:
    searched = corpus(*map(trace, TEXTS))
    answer = ask(searched, " ".join(["build", *FILLER[:words]]))
    assert answer.results == ()
    assert answer.reason == "every match is below the minimum score (policy: minimum_recall_score)"


def test_a_common_word_asked_for_alone_comes_back() -> None:
    assert len(ask(corpus(*map(trace, TEXTS)), "build", limit=5).results) == 5


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_small_ledger_gives_its_match(size: int) -> None:
    """One trace of a few that shares one term of five comes back."""
    searched = corpus(trace("the lock timed out"), *(trace(f"note{i}") for i in range(1, size)))
    assert contents(ask(searched, "why did that zebra lock fail")) == ["the lock timed out"]
