"""How the ref stands to the acknowledged head when history has forked and joined."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.ledger.verify import verify
from tests.ledger.forge import Forge
from tests.ledger.test_verify import acknowledge, branch_at, join


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    """Return a ledger of three records."""
    forge = Forge(tmp_path / "store")
    forge.init()
    forge.add_many(3)
    return forge


def fork(forge: Forge, at: str, mine: int, theirs: int) -> tuple[list[str], list[str], str]:
    """Write commits on two sides of a commit and join them; my side is acknowledged."""
    branch_at(forge, at)
    foreign = forge.add_many(theirs, first=100)
    branch_at(forge, at)
    own = forge.add_many(mine, first=10)
    merge = join(forge, own[-1] if own else at, foreign[-1])
    forge.set_ref(own[-1] if own else at)
    acknowledge(forge)
    forge.set_ref(merge)
    return own, foreign, merge


@pytest.mark.parametrize("mine", [1, 3])
def test_case_2_only_the_other_side_of_a_foreign_merge_is_unacknowledged(
    forge: Forge, mine: int
) -> None:
    """What both sides stand on was acknowledged long ago, and is not listed again."""
    _, foreign, merge = fork(forge, forge.head(), mine, 2)
    standing = forge.ledger.standing()
    assert (standing.kind, set(standing.commits)) == ("ahead", {*foreign, merge})
    assert standing.commits[-1] == merge
    (problem,) = verify(forge.ledger).errors
    assert problem.text.startswith(f"{len(standing.commits)} commit(s)")


def test_case_2_a_second_foreign_merge_adds_its_own_side(forge: Forge) -> None:
    """A fork within the foreign side does not bring back what is acknowledged either."""
    base = forge.head()
    own, foreign, merge = fork(forge, base, 2, 2)
    head = forge.ledger.state.read_head()
    branch_at(forge, base)
    third = forge.add_many(1, first=200)
    again = join(forge, merge, third[-1])
    assert head is not None
    forge.ledger.state.acknowledge(head)
    standing = forge.ledger.standing()
    assert standing.kind == "ahead"
    assert set(standing.commits) == {*foreign, merge, *third, again}
    assert own[-1] not in standing.commits


def test_case_3_only_what_a_lost_merge_brought_is_lost(forge: Forge) -> None:
    """The ref went back to my side: the join and the other side are gone, nothing else."""
    own, foreign, merge = fork(forge, forge.head(), 2, 2)
    acknowledge(forge)
    forge.set_ref(own[-1])
    standing = forge.ledger.standing()
    assert (standing.kind, set(standing.commits)) == ("behind", {*foreign, merge})


def test_case_3_a_ref_that_is_gone_has_lost_everything(forge: Forge) -> None:
    """Every commit behind the acknowledged head is listed, the first one first."""
    _, _, merge = fork(forge, forge.head(), 1, 1)
    acknowledge(forge)
    forge.git("update-ref", "-d", "refs/hikmah/memory")
    standing = forge.ledger.standing()
    assert (standing.kind, standing.commits[-1]) == ("gone", merge)
    assert len(standing.commits) == 7
    assert forge.parse(standing.commits[0]).parents == ()


def test_case_4_sides_that_were_never_joined_are_a_rewrite(forge: Forge) -> None:
    """Neither is an ancestor of the other."""
    _, foreign, _ = fork(forge, forge.head(), 1, 1)
    forge.set_ref(foreign[-1])
    assert forge.ledger.standing().kind == "rewritten"
