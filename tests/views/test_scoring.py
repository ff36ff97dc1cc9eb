"""The score's formula, factor by factor."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from hikmah.index.rows import Ceilings, Facts
from hikmah.model.policy import RecallPolicy
from hikmah.views import ranking, scoring
from tests.views.ledgers import DAY_MS, NOW_MS, ask, corpus, trace

POLICY = RecallPolicy()


def facts(**given: Any) -> Facts:
    plain: dict[str, Any] = {
        "doc": 1, "seq": 1, "status": "active", "kind": "belief", "privacy": "private",
        "source": "bob", "created_at_ms": NOW_MS, "deadline_ms": None, "salience": 0.5,
        "confidence": 0.5, "authority": 0.5, "verified": False, "length": 5,
    }  # fmt: skip
    return Facts(**{**plain, **given})


def test_a_lexical_share_is_bm25_over_its_most() -> None:
    """Worked by hand: two traces of three words, one query word of two in the first."""
    searched = corpus(trace("lock port disk"), trace("queue cache rack"))
    found = ask(searched, "lock zebra").results[0]
    idf_lock = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    idf_zebra = math.log(1 + (2 - 0 + 0.5) / (0 + 0.5))
    b = 0.75 * 3 / (3 + 40)
    share = (0.1 + 1 / (1 + 1.2 * (1 - b + b * 3 / 3))) / 1.1
    lexical = idf_lock * share / (idf_lock + idf_zebra)
    assert found.channels.lexical == pytest.approx(lexical, abs=1e-6)
    assert found.score == pytest.approx(lexical * (0.55 + 0.45 * found.channels.meta), abs=2e-6)


def test_metadata_adds_up() -> None:
    got = scoring.meta(facts(created_at_ms=NOW_MS - 30 * DAY_MS), POLICY, NOW_MS)
    assert (got.recency, got.provenance, got.urgency) == (0.5, 0.5 * 0.65, 0.0)
    assert got.meta == pytest.approx(0.25 * 0.5 + 0.2 * 0.5 + 0.2 * 0.5 + 0.25 * 0.325)


def test_a_time_in_the_future_counts_as_now() -> None:
    assert scoring.meta(facts(created_at_ms=NOW_MS + DAY_MS), POLICY, NOW_MS).recency == 1.0


def test_a_verified_trace_weighs_its_full_authority() -> None:
    assert scoring.meta(facts(verified=True), POLICY, NOW_MS).provenance == 0.5


URGENCIES = [
    pytest.param({}, 0.0, id="not a commitment"),
    pytest.param({"kind": "commitment"}, 0.35, id="without a deadline"),
    pytest.param({"kind": "commitment", "deadline_ms": NOW_MS - 1}, 1.0, id="overdue"),
    pytest.param({"kind": "commitment", "deadline_ms": NOW_MS + 7 * DAY_MS}, 0.5, id="a week"),
    pytest.param(
        {"kind": "commitment", "deadline_ms": NOW_MS - 1, "status": "fulfilled"}, 0.0, id="kept"
    ),
]


@pytest.mark.parametrize(("given", "expected"), URGENCIES)
def test_urgency(given: dict[str, Any], expected: float) -> None:
    assert scoring.urgency(facts(**given), POLICY, NOW_MS) == expected


def test_b_follows_the_mean_length() -> None:
    """Half of it at the policy's length, all of it for long texts and for no texts."""
    assert scoring.length_share(POLICY, 40) == 0.375
    assert scoring.length_share(POLICY, 1e9) == pytest.approx(0.75)
    assert scoring.length_share(POLICY, 0) == 0.75


def test_no_metadata_exceeds_the_highest_scale() -> None:
    """Bounds that let ranking stop early are bounds."""
    best = facts(salience=1.0, confidence=1.0, authority=1.0, verified=True, kind="commitment",
                 deadline_ms=0)  # fmt: skip
    top = scoring.highest_scale(Ceilings(), POLICY)
    assert scoring.scale(scoring.meta(best, POLICY, NOW_MS).meta, POLICY) <= top <= 1.0
    low = Ceilings(salience=0.5, confidence=0.5, authority=0.5, verified=False)
    usual = scoring.scale(scoring.meta(facts(), POLICY, NOW_MS).meta, POLICY)
    assert usual <= scoring.highest_scale(low, POLICY) < top


def test_ties_at_the_end_of_a_ranking_all_stay() -> None:
    """Who stands last among equals is decided by id, which ranking does not know."""
    found = [ranking.Scored(0.5, facts(doc=i, seq=3), 0.5) for i in range(4)]
    assert len(ranking._best(found, 2)) == 4
    assert len(ranking._best([*found, ranking.Scored(0.5, facts(seq=9), 0.5)], 1)) == 1


def test_a_large_answer_by_tags_is_counted_without_looking_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranking, "COUNTED", 0)
    monkeypatch.setattr(ranking, "_BATCH", 8)
    searched = corpus(
        *(trace(f"n{i}", tags=("red",), salience=(i < 30) * 1.0) for i in range(60)),
        trace("both", tags=("red", "blue")),
    )
    answer = ask(searched, tags=("red", "blue"), limit=1)
    assert (answer.total, answer.total_exact, answer.truncated) == (61, False, True)
    assert answer.results[0].trace.content == "both"


def test_weights_of_one_channel_alone() -> None:
    """A policy without a lexical share still answers by tags."""
    weights = msgspec.structs.replace(POLICY, lexical_share=0.0, tag_share=1.0)
    assert scoring.cue(0.5, 1.0, weights) == 1.0
