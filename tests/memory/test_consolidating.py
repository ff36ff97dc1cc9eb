"""Consolidation through the door: proposals, promotion, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.errors import (
    AgentSessionError,
    IntegrityError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
)
from hikmah.memory import Memory, consolidating
from hikmah.memory.results import Shown
from hikmah.model.policy import Policy
from tests.memory.conftest import ticking


def agree(memory: Memory, *sources: str, value: str = "49222", verified: bool = True) -> list[str]:
    """Let sources claim one port; return the ids."""
    return [
        memory.remember(
            f"{source} saw port {value}",
            source=source,
            claim=("Deploy Port", value),
            confidence=0.9,
            verified=verified,
            tags=["net", source],
        ).id
        for source in sources
    ]


def test_a_proposal_is_promoted_to_a_belief_derived_from_its_support(memory: Memory) -> None:
    """The belief claims the same, and its support is what it was concluded from."""
    ids = agree(memory, "ops", "audit")
    (proposal,) = memory.consolidate().proposals
    assert proposal.support == tuple(ids)
    promoted = memory.promote(proposal.id.upper(), source="alex")
    assert promoted.derived_from == tuple(ids)
    assert promoted.conflicts == ()
    shown = memory.show(promoted.id)
    assert isinstance(shown, Shown)
    trace = shown.trace
    assert (trace.kind, trace.content) == ("belief", "Deploy Port: 49222")
    assert trace.claim
    assert (trace.claim.key, trace.claim.value) == ("Deploy Port", "49222")
    assert trace.tags == ("net", "ops", "audit")
    assert (trace.provenance.source, trace.provenance.verified) == ("alex", False)
    assert trace.confidence == proposal.confidence


def test_a_proposal_is_promoted_once(memory: Memory) -> None:
    """The second time says which belief it became; as of then it was still open."""
    agree(memory, "ops", "audit")
    (proposal,) = memory.consolidate().proposals
    promoted = memory.promote(proposal.id)
    with pytest.raises(InvalidInputError, match=promoted.id):
        memory.promote(proposal.id)
    assert memory.consolidate().eligible == 0
    assert memory.consolidate(as_of=2).proposals == (proposal,)
    assert memory.consolidate(as_of=1).proposals == ()


@pytest.mark.parametrize(
    ("sources", "other", "said"),
    [
        (["ops", "audit"], "22", "stands against 22"),
        (["ops", "OPS"], None, "1 sources say so, and the policy asks for 2"),
    ],
    ids=["another value", "one source"],
)
def test_what_is_not_eligible_is_refused_with_its_lack(
    memory: Memory, sources: list[str], other: str | None, said: str
) -> None:
    """The message says what is missing."""
    agree(memory, *sources)
    if other is not None:
        agree(memory, "legacy", value=other)
    (proposal,) = memory.consolidate().proposals
    with pytest.raises(RefusedError, match=said):
        memory.promote(proposal.id)


def test_support_that_never_holds_all_at_once_is_refused(memory: Memory) -> None:
    """Each pair meets, and all of them never do."""
    for n, source in enumerate(("a", "b", "c")):
        memory.remember(
            source,
            source=source,
            claim=("k", "v"),
            verified=True,
            confidence=1.0,
            valid_from_ms=n * 8,
            valid_until_ms=n * 8 + 10,
        )
    (proposal,) = memory.consolidate().proposals
    with pytest.raises(RefusedError, match="never holds all at one time"):
        memory.promote(proposal.id)


def test_a_proposal_that_is_not_there_is_not_found(memory: Memory) -> None:
    """Ids change with what supports them."""
    agree(memory, "ops", "audit")
    with pytest.raises(NotFoundError, match="no proposal 'abc'"):
        memory.promote("abc")


def test_promotion_is_refused_in_an_agent_session(repo: Path, memory: Memory) -> None:
    """It is a person's decision."""
    agree(memory, "ops", "audit")
    (proposal,) = memory.consolidate().proposals
    with Memory.open(repo, environ={"CLAUDECODE": "1"}, clock=ticking()) as agents:
        with pytest.raises(AgentSessionError, match="--promote"):
            agents.promote(proposal.id)
        assert agents.consolidate().eligible == 1


def test_a_model_does_not_count_and_does_not_promote(memory: Memory) -> None:
    """What a model says supports nothing."""
    agree(memory, "ops")
    agree(memory, "model:x", verified=False)
    assert memory.consolidate().total == 0


def test_a_promotion_waits_for_a_ledger_that_moves(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is decided anew where the ledger stands; one that never stands still is an error."""
    agree(memory, "ops", "audit")
    (proposal,) = memory.consolidate().proposals
    build, moves = consolidating.promotion, iter([True, False])

    def interrupted(*args: object, **kwargs: object) -> object:
        if next(moves):
            memory.remember("another writer was faster")
        return build(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(consolidating, "promotion", interrupted)
    promoted = memory.promote(proposal.id)
    assert promoted.seq == 4
    memory.purge(promoted.id, reason="to do it again")
    moves = iter([True] * 9)
    with pytest.raises(IntegrityError, match="kept moving"):
        memory.promote(proposal.id)


def test_a_policy_of_one_source_promotes_single_claims(repo: Path) -> None:
    """Every claim is looked at, since none needs company."""
    policy = Policy(consolidation_min_support=1, consolidation_min_independent_sources=1)
    with Memory.open(repo, environ={}, clock=ticking(), policy=policy) as memory:
        ids = agree(memory, "ops")
        (proposal,) = memory.consolidate().proposals
        assert memory.promote(proposal.id).derived_from == tuple(ids)
