"""Focus: a working set that absorbs recalls."""

from __future__ import annotations

import pytest

from hikmah.errors import InvalidInputError, NotFoundError
from hikmah.views.focus import Focus
from tests.views.ledgers import ask, corpus, trace

NOTES = corpus(trace("lock alpha"), trace("lock beta"), trace("disk gamma"), trace("queue delta"))


def held(focus: Focus) -> list[str]:
    return [one.trace.content for one in focus.held]


def test_what_comes_back_again_stays() -> None:
    """The least active trace leaves first."""
    focus = Focus(capacity=2)
    for query in ("alpha", "disk", "alpha", "queue"):
        focus = focus.absorb(ask(NOTES, query).results)
    assert held(focus) == ["queue delta", "lock alpha"]


def test_a_pinned_trace_is_never_evicted() -> None:
    focus = Focus(capacity=2).absorb(ask(NOTES, "alpha").results)
    focus = focus.pin(focus.held[0].id)
    for query in ("disk", "queue", "beta", "disk"):
        focus = focus.absorb(ask(NOTES, query).results)
    assert "lock alpha" in held(focus)
    assert len(focus.held) == 2
    free = focus.unpin(next(one.id for one in focus.held if one.pinned))
    assert "lock alpha" not in held(free.absorb(ask(NOTES, "queue").results))


def test_a_pin_survives_being_recalled() -> None:
    focus = Focus(capacity=1).absorb(ask(NOTES, "alpha").results)
    focus = focus.pin(focus.held[0].id).absorb(ask(NOTES, "alpha disk queue").results)
    assert [one.pinned for one in focus.held] == [True]


def test_pins_are_bounded() -> None:
    """There is no pinning more than fits, nor what is not there; pinning twice is quiet."""
    focus = Focus(capacity=1).absorb(ask(NOTES, "alpha").results)
    focus = focus.pin(focus.held[0].id)
    assert focus.pin(focus.held[0].id) == focus
    crowded = Focus(capacity=1, held=(*focus.held, *Focus(capacity=1).absorb(
        ask(NOTES, "disk").results).held))  # fmt: skip
    with pytest.raises(InvalidInputError, match="all 1 places"):
        crowded.pin(crowded.held[1].id)
    with pytest.raises(NotFoundError):
        focus.pin("0" * 40)


def test_a_dropped_trace_is_gone() -> None:
    focus = Focus(capacity=3).absorb(ask(NOTES, "lock").results)
    assert held(focus.drop(focus.held[0].id)) == held(focus)[1:]
