"""A working set: the few traces that several recalls in a row keep in focus.

A library view, never stored. Rules the module keeps:

1. At most `capacity` traces. Pinned ones are never evicted; otherwise the lowest activation
   leaves first (ties: the older trace, then the larger id).
2. Absorbing a recall multiplies what is there by `DECAY` and adds each result's score: what
   comes back again and again stays, what was met once fades.
3. A focus is a value; every change makes a new one.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from hikmah.errors import InvalidInputError, NotFoundError
from hikmah.model.trace import Trace
from hikmah.views.results import Result

DECAY = 0.5


class Focused(Struct, frozen=True, kw_only=True):
    """One trace in focus and how active it is."""

    id: str
    seq: int
    trace: Trace
    activation: float
    pinned: bool = False


class Focus(Struct, frozen=True, kw_only=True):
    """The working set, most active first."""

    capacity: int
    held: tuple[Focused, ...] = ()

    def absorb(self, results: Iterable[Result]) -> Focus:
        """Take in the results of a recall, evicting what is least active."""
        known = {
            one.id: msgspec.structs.replace(one, activation=one.activation * DECAY)
            for one in self.held
        }
        for result in results:
            old = known.get(result.id)
            known[result.id] = Focused(
                id=result.id,
                seq=result.seq,
                trace=result.trace,
                activation=result.score + (old.activation if old else 0.0),
                pinned=old is not None and old.pinned,
            )
        return self._with(known.values())

    def pin(self, trace_id: str) -> Focus:
        """Keep a trace whatever else comes.

        Raises:
            NotFoundError: The trace is not in focus.
            InvalidInputError: Every place is pinned already.
        """
        one = self._find(trace_id)
        if not one.pinned and sum(other.pinned for other in self.held) == self.capacity:
            raise InvalidInputError(
                f"all {self.capacity} places are pinned", hint="unpin a trace first"
            )
        return self._replaced(one, pinned=True)

    def unpin(self, trace_id: str) -> Focus:
        """Let a trace leave again when it is least active; NotFoundError if not in focus."""
        return self._replaced(self._find(trace_id), pinned=False)

    def drop(self, trace_id: str) -> Focus:
        """Take a trace out of focus; NotFoundError if it is not there."""
        gone = self._find(trace_id)
        return self._with(one for one in self.held if one is not gone)

    def _find(self, trace_id: str) -> Focused:
        found = next((one for one in self.held if one.id == trace_id), None)
        if found is None:
            raise NotFoundError(f"trace {trace_id} is not in focus")
        return found

    def _replaced(self, one: Focused, *, pinned: bool) -> Focus:
        changed = msgspec.structs.replace(one, pinned=pinned)
        return self._with(changed if other is one else other for other in self.held)

    def _with(self, held: Iterable[Focused]) -> Focus:
        ordered = sorted(held, key=lambda one: (not one.pinned, *_activity(one)))
        kept = sorted(ordered[: self.capacity], key=_activity)
        return Focus(capacity=self.capacity, held=tuple(kept))


def _activity(one: Focused) -> tuple[float, int, str]:
    return (-one.activation, -one.seq, one.id)
