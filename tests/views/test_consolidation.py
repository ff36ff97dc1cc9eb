"""Consolidation: which claims may become beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.index.rows import TraceRow
from hikmah.model.policy import DEFAULTS, Policy
from hikmah.views.consolidation import (
    ConsolidationProposal,
    consolidation_proposals,
    proposal_id,
    source_of,
)
from tests.views.ledgers import row, trace


def says(source: str, value: str = "22", seq: int = 1, **fields: Any) -> TraceRow:
    """Return a row in which a source claims a value for the port."""
    status = fields.pop("status", "active")
    fields = {"confidence": 0.8} | fields
    made = trace(f"{source} {seq}", claim=("Port", value), source=source, **fields)
    return row(made, seq, status)


def proposals(*rows: TraceRow, policy: Policy = DEFAULTS) -> Sequence[ConsolidationProposal]:
    """Return what rows of one key propose."""
    return consolidation_proposals([("port", rows)], policy).proposals


def test_two_sources_that_agree_propose_a_belief() -> None:
    """Support, sources and confidence are told; ids stand in the order of the ledger."""
    rows = [says("Bob", seq=2, verified=True), says("alice", " 22 ", seq=1)]
    (found,) = proposals(*rows)
    assert found == ConsolidationProposal(
        id=proposal_id("port", "22", (rows[1].id, rows[0].id)),
        key="port",
        value="22",
        eligible_for_promotion=True,
        confidence=0.71,
        support=(rows[1].id, rows[0].id),
        sources=("alice", "bob"),
        verified_count=1,
        conflicting_values=(),
        promoted_as=(),
        valid_from_ms=None,
        valid_until_ms=None,
    )
    assert len(found.id) == 12


def test_confidence_weighs_the_mean_and_the_share_verified() -> None:
    """0.7 x mean confidence + 0.3 x share verified."""
    (found,) = proposals(says("a", confidence=1.0, verified=True), says("b", confidence=0.4))
    assert found.confidence == pytest.approx(0.7 * 0.7 + 0.3 * 0.5)


@pytest.mark.parametrize(
    ("rows", "eligible"),
    [
        pytest.param([says("a"), says("b", seq=2)], False, id="confidence below the policy's"),
        pytest.param(
            [says("a", verified=True), says("A ", seq=2, verified=True)],
            False,
            id="one source, written twice",
        ),
        pytest.param(
            [says(s, seq=n, verified=True) for n, s in enumerate(["unknown", "user", "User "])],
            False,
            id="nobody in particular is one source",
        ),
        pytest.param(
            [says("a", verified=True), says("b", seq=2, verified=True)], True, id="enough"
        ),
        pytest.param(
            [says("a", verified=True), says("b", seq=2, verified=True), says("c", "23", seq=3)],
            False,
            id="another value stands against it",
        ),
        pytest.param(
            [
                says("a", verified=True),
                says("b", seq=2, verified=True),
                says("model:x", "23", seq=3),
            ],
            True,
            id="a model's value does not",
        ),
        pytest.param(
            [
                says("a", verified=True, valid_until_ms=5),
                says("b", seq=2, verified=True, valid_until_ms=5),
                says("c", "23", seq=3, valid_from_ms=5),
            ],
            True,
            id="a value of the time after does not",
        ),
    ],
)
def test_a_proposal_is_eligible(rows: list[TraceRow], *, eligible: bool) -> None:
    """Every minimum of the policy counts, and so does every other value at that time."""
    found = [p for p in proposals(*rows) if p.value == "22"]
    assert [p.eligible_for_promotion for p in found] == [eligible]


@pytest.mark.parametrize(
    "rows",
    [
        [says("a")],
        [says("a"), says("model:x", seq=2)],
        [says("a"), says("b", seq=2, status="superseded")],
        [says("a"), says("b", seq=2, privacy="sensitive")],
        [says("a"), row(trace("no claim", source="b"), 2)],
        [says("a", valid_until_ms=5), says("b", seq=2, valid_from_ms=5)],
        [],
    ],
    ids=["alone", "a model", "superseded", "sensitive", "no claim", "touching intervals", "none"],
)
def test_a_claim_that_stands_alone_proposes_nothing(rows: list[TraceRow]) -> None:
    """Models, replaced traces, hidden ones and other times are no support."""
    assert proposals(*rows) == ()


def test_a_policy_that_asks_for_one_gets_single_claims() -> None:
    """Then one verified trace of one source is enough."""
    policy = msgspec.structs.replace(
        DEFAULTS, consolidation_min_support=1, consolidation_min_independent_sources=1
    )
    (found,) = proposals(says("a", verified=True), policy=policy)
    assert found.eligible_for_promotion


def test_sensitive_traces_count_where_they_may_be_mentioned() -> None:
    """Library code that keeps them sees them."""
    rows = [says("a"), says("b", seq=2, privacy="sensitive")]
    listed = consolidation_proposals([("port", rows)], DEFAULTS, allow_sensitive=True)
    assert listed.total == 1


def test_what_was_concluded_from_a_group_never_supports_it() -> None:
    """Directly or in steps, and also when what it was concluded from is gone."""
    first, second = says("a", verified=True), says("b", seq=2, verified=True)
    belief = says("c", seq=3, derived_from=(first.id,))
    echo = says("d", seq=4, derived_from=(belief.id,))
    (found,) = proposals(first, second, belief, echo)
    assert found.support == (first.id, second.id)
    assert found.promoted_as == (belief.id,)
    assert not found.eligible_for_promotion
    gone = [msgspec.structs.replace(one, status="superseded") for one in (first, second)]
    assert proposals(*gone, belief, echo) == ()


def test_a_promotion_that_was_retired_leaves_the_proposal_open() -> None:
    """Only an active belief answers a proposal."""
    first, second = says("a", verified=True), says("b", seq=2, verified=True)
    belief = says("c", seq=3, derived_from=(first.id,), status="deprecated")
    (found,) = proposals(first, second, belief)
    assert found.eligible_for_promotion


def test_support_holds_in_the_time_that_all_of_it_shares() -> None:
    """The belief's validity is that of all supporters together; intervals that only touch part."""
    rows = [
        says("a", verified=True, valid_from_ms=0, valid_until_ms=10),
        says("b", seq=2, verified=True, valid_from_ms=5, valid_until_ms=20),
        says("c", seq=3, verified=True, valid_from_ms=20),
        says("d", seq=4, verified=True, valid_from_ms=30),
    ]
    found = proposals(*rows)
    assert [(p.valid_from_ms, p.valid_until_ms) for p in found] in (
        [(5, 10), (30, None)],
        [(30, None), (5, 10)],
    )
    assert all(p.eligible_for_promotion for p in found)


def test_support_without_a_common_moment_is_not_eligible() -> None:
    """A chain of intervals says the same thing of no single time."""
    rows = [
        says("a", verified=True, valid_from_ms=0, valid_until_ms=10),
        says("b", seq=2, verified=True, valid_from_ms=5, valid_until_ms=20),
        says("c", seq=3, verified=True, valid_from_ms=15),
    ]
    (found,) = proposals(*rows)
    assert not found.eligible_for_promotion


def test_eligible_proposals_come_first_then_confidence_then_key() -> None:
    """A limit cuts the list and says so."""
    sure: dict[str, Any] = {"verified": True}
    groups = {
        "b": [says("a", **sure), says("b", seq=2, **sure)],
        "a": [says("a", **sure), says("b", seq=2, **sure)],
        "c": [says("a", **sure), says("a", seq=2, **sure)],
        "d": [says("a"), says("b", seq=2)],
    }
    listed = consolidation_proposals(groups.items(), DEFAULTS)
    assert [p.key for p in listed.proposals] == ["a", "b", "c", "d"]
    assert (listed.total, listed.eligible, listed.truncated) == (4, 2, False)
    cut = consolidation_proposals(groups.items(), DEFAULTS, limit=1)
    assert [p.key for p in cut.proposals] == ["a"]
    assert (cut.total, cut.truncated) == (4, True)


@pytest.mark.parametrize("source", ["", "  ", "Unknown", "USER ", "user"])
def test_nobody_in_particular_is_one_source(source: str) -> None:
    """They may all be the same one."""
    assert source_of(says(source)) == "unattributed"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from(["1", "2"]), st.none() | st.integers(0, 9)
        ),
        max_size=8,
    ),
    st.randoms(),
)
def test_proposals_do_not_depend_on_order(
    made: list[tuple[str, str, int | None]], chance: Any
) -> None:
    """Any order of the same rows gives the same proposals."""
    rows = [
        says(source, value, seq=n, valid_from_ms=start, valid_until_ms=start and start + 3)
        for n, (source, value, start) in enumerate(made)
    ]
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert proposals(*shuffled) == proposals(*rows)
