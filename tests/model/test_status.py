"""Statuses: their order, and that combining them never depends on the order given."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.model.status import STATUSES, STRENGTH, Status, strongest


def test_the_order_is_active_fulfilled_superseded_deprecated_purged() -> None:
    """Purged beats all; active yields to all."""
    assert STATUSES == ("active", "fulfilled", "superseded", "deprecated", "purged")
    assert sorted(STRENGTH, key=STRENGTH.__getitem__) == list(STATUSES)


@pytest.mark.parametrize(("weak", "strong"), list(itertools.combinations(STATUSES, 2)))
def test_the_stronger_of_two_wins_either_way_round(weak: Status, strong: Status) -> None:
    """Combining is commutative."""
    assert strongest(weak, strong) == strong
    assert strongest(strong, weak) == strong


def test_a_trace_without_switches_is_active() -> None:
    """No switch at all leaves a trace active."""
    assert strongest() == "active"


@given(
    st.lists(st.sampled_from(STATUSES), min_size=1).flatmap(
        lambda seen: st.tuples(st.just(seen), st.permutations(seen))
    )
)
def test_any_order_and_any_grouping_give_one_status(
    pair: tuple[list[Status], list[Status]],
) -> None:
    """A fold over switches is a fold over a set (ledgers join)."""
    seen, shuffled = pair
    folded: Status = "active"
    for status in shuffled:
        folded = strongest(folded, status)
    assert folded == strongest(*seen)
