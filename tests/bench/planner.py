"""Planner: seconds to take up so many states, on three shapes of problem.

The target is 100,000 states in at most 1 s of this process's time, breadth first. `toggles`
has 17 facts and 34 actions, `parcels` five parcels that a van carries between eight places
(many facts, several requirements), `many` actions that move tokens among forty places.
`cheapest` is the search by cost on the first.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from hikmah.reason.planner import Action, Problem, plan
from tests.bench.measuring import Row, seconds

ROUNDS = 7
TARGET_S = 1.0
TARGET_STATES = 100_000
NEVER = ("never",)


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure each shape at each budget of states."""
    return [_row(name, shape, size) for name, shape in SHAPES.items() for size in sizes]


def _row(name: str, problem: Problem, states: int) -> Row:
    bounded = Problem(
        initial=problem.initial,
        goal=NEVER,
        actions=problem.actions,
        max_depth=64,
        max_states=states,
    )
    explored = plan(bounded).explored_states
    took: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        before = time.process_time()
        wall_s = seconds(lambda: plan(bounded))
        took.append((wall_s, time.process_time() - before))
    took_s, cpu_s = (statistics.median(column) for column in zip(*took, strict=True))
    judged = name != "cheapest" and explored == TARGET_STATES
    return {
        "shape": name,
        "actions": len(problem.actions),
        "states": explored,
        "seconds": took_s,
        "cpu_s": cpu_s,
        "states/s": round(explored / took_s),
        "target_s": TARGET_S if judged else None,
        "ok": cpu_s <= TARGET_S if judged else None,
    }


def toggles(cost: float | None = None) -> Problem:
    """Return seventeen facts that can each be set and cleared."""
    actions = [Action(name=f"set {i}", adds=(f"f{i}",), cost=cost) for i in range(17)]
    actions += [Action(name=f"clear {i}", removes=(f"f{i}",), cost=cost) for i in range(17)]
    return Problem(initial=(), goal=NEVER, actions=tuple(actions))


def parcels() -> Problem:
    """Return five parcels and a van among eight places."""
    places = [f"p{i}" for i in range(8)]
    drives = [
        _move("drive", "van", place, other)
        for place in places
        for other in places
        if place != other
    ]
    handled = [
        action
        for parcel in "abcde"
        for place in places
        for action in _handled(f"{parcel} at {place}", f"{parcel} in van", f"van at {place}")
    ]
    initial = ("van at p0", *(f"{parcel} at p{i}" for i, parcel in enumerate("abcde")))
    return Problem(initial=initial, goal=NEVER, actions=(*drives, *handled))


def _handled(here: str, inside: str, van: str) -> tuple[Action, Action]:
    load = Action(name=f"load {here}", requires=(here, van), adds=(inside,), removes=(here,))
    unload = Action(name=f"put {here}", requires=(inside, van), adds=(here,), removes=(inside,))
    return load, unload


def _move(verb: str, what: str, place: str, other: str) -> Action:
    here, there = f"{what} at {place}", f"{what} at {other}"
    return Action(name=f"{verb} {here} {other}", requires=(here,), adds=(there,), removes=(here,))


def many() -> Problem:
    """Return two hundred actions that move five tokens among forty places."""
    actions = [_move("go", "token", f"p{i % 40}", f"p{(i * 7 + 3) % 40}") for i in range(200)]
    unique = tuple({action.name: action for action in actions}.values())
    more = tuple(
        _move("jump", "token", f"p{i}", f"p{(i + k) % 40}") for i in range(40) for k in (2, 5, 9)
    )
    initial = tuple(f"token at p{i}" for i in range(5))
    return Problem(initial=initial, goal=NEVER, actions=(*unique, *more))


SHAPES = {"toggles": toggles(), "parcels": parcels(), "many": many(), "cheapest": toggles(1.0)}
