"""Search over states that are sets of bits: breadth first, and cheapest first.

Rules the module keeps:

1. A state is one integer; a move applies where all the bits it requires are set.
2. Both searches are exact within their budgets: the path returned is a shortest one, or a
   cheapest one and among those a shortest; ties go to the state found first.
3. `explored` counts different states taken up, the first one too, never above `max_states`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container
from typing import Literal, NamedTuple


class Move(NamedTuple):
    """An action in bits, with its cost as a whole number."""

    requires: int
    removes: int
    adds: int
    cost: int


_Step = tuple[int, int, int, int]  # the move's index, what it keeps, what it adds, its cost


class Found(NamedTuple):
    """How a search ended; `state` is the goal state reached, else the first state."""

    ended_by: Literal["goal", "no_more_states", "max_depth", "max_states"]
    path: tuple[int, ...]  # indexes of moves
    state: int
    explored: int
    cost: int = 0


class _Index:
    """Moves found by what they require, so that a state is not held against every one.

    Moves are kept under the fact that most moves require, and below it by all they require;
    a state looks at those under facts it has.
    """

    def __init__(self, moves: tuple[Move, ...]) -> None:
        common = Counter(bit for move in moves for bit in _bits(move.requires))
        under: dict[int, dict[int, list[_Step]]] = {}
        for index, move in enumerate(moves):
            key = max(_bits(move.requires), key=common.__getitem__, default=0)
            alike = under.setdefault(key, {}).setdefault(move.requires, [])
            alike.append((index, ~move.removes, move.adds, move.cost))
        self._under = [(key, list(alike.items())) for key, alike in under.items()]
        self._mixed = sum(len(alike) for _, alike in self._under) > 1

    def steps(self, state: int) -> list[_Step]:
        """Return the moves that apply in a state, in the order they were given."""
        found: list[_Step] = []
        for key, alike in self._under:
            if state & key == key:
                for requires, steps in alike:
                    if state & requires == requires:
                        found += steps
        if self._mixed:
            found.sort()
        return found


def _bits(mask: int) -> list[int]:
    """Return the single bits of a mask."""
    return [1 << place for place in range(mask.bit_length()) if mask >> place & 1]


def shortest(
    initial: int, goal: int, moves: tuple[Move, ...], *, max_depth: int, max_states: int
) -> Found:
    """Search breadth first for a path to any state with all of the goal's bits."""
    if initial & goal == goal:
        return Found("goal", (), initial, 1)
    applicable = _Index(moves).steps
    came: dict[int, tuple[int, int]] = {initial: (initial, -1)}
    level = [initial]
    for _depth in range(max_depth):
        following: list[int] = []
        for state in level:
            for index, keeps, adds, _cost in applicable(state):
                reached = state & keeps | adds
                if reached not in came:
                    if len(came) == max_states:
                        return Found("max_states", (), initial, max_states)
                    came[reached] = (state, index)
                    if reached & goal == goal:
                        return Found("goal", _path(came, reached), reached, len(came))
                    following.append(reached)
        level = following
        if not level:
            return Found("no_more_states", (), initial, len(came))
    more = _any_new(level, moves, came)
    return Found("max_depth" if more else "no_more_states", (), initial, len(came))


def _path(came: dict[int, tuple[int, int]], state: int) -> tuple[int, ...]:
    """Return the moves that led to a state, first to last."""
    path: list[int] = []
    before, index = came[state]
    while index >= 0:
        path.append(index)
        before, index = came[before]
    return tuple(reversed(path))


def _any_new(level: list[int], moves: tuple[Move, ...], seen: Container[int]) -> bool:
    """Tell whether one more step would have found a state not yet seen."""
    return any(
        (state & ~move.removes | move.adds) not in seen
        for state in level
        for move in moves
        if state & move.requires == move.requires
    )


# One way to reach a state. Labels sort by cost, then depth, then the order they were found in;
# plain tuples, since a heap compares them a million times.
_Label = tuple[int, int, int, int, int, int]  # cost, depth, number, state, parent, move


def cheapest(
    initial: int, goal: int, moves: tuple[Move, ...], *, max_depth: int, max_states: int
) -> Found:
    """Search cheapest first (Dijkstra, Numerische Mathematik 1, 1959) for a path to the goal.

    Because depth is bounded, a dearer way to a state counts while it is a shorter one.
    """
    queue: list[_Label] = [(0, 0, 0, initial, -1, -1)]
    known: dict[int, tuple[int, int]] = {initial: (0, 0)}  # the last way found, (cost, depth)
    taken: list[_Label] = []
    depths: dict[int, int] = {}  # the smallest depth at which a state was taken up
    number, cut = 0, False
    applicable = _Index(moves).steps
    while queue:
        label = heapq.heappop(queue)
        cost, depth, _, state, _, _ = label
        before = depths.get(state)
        if before is not None and before <= depth:
            continue
        if before is None and len(depths) == max_states:
            return Found("max_states", (), initial, max_states)
        depths[state] = depth
        if state & goal == goal:
            return Found("goal", _way(taken, label), state, len(depths), cost)
        if depth == max_depth:
            cut = True
            continue
        taken.append(label)
        parent, depth = len(taken) - 1, depth + 1
        for index, keeps, adds, price in applicable(state):
            reached = state & keeps | adds
            way = known.get(reached)
            if way is None or way[0] > cost + price or way[1] > depth:
                known[reached] = (cost + price, depth)
                number += 1
                heapq.heappush(queue, (cost + price, depth, number, reached, parent, index))
    more = cut and _any_new([s for s, d in depths.items() if d == max_depth], moves, depths)
    return Found("max_depth" if more else "no_more_states", (), initial, len(depths))


def _way(taken: list[_Label], last: _Label) -> tuple[int, ...]:
    """Return the moves that led to a label, first to last."""
    path: list[int] = []
    label = last
    while label[4] >= 0:
        path.append(label[5])
        label = taken[label[4]]
    return tuple(reversed(path))
