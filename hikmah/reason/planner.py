"""The planner: a shortest or cheapest way from what holds to a goal.

STRIPS-like (Fikes and Nilsson, Artificial Intelligence 2, 1971): a state is the set of facts
that hold; an action may run where all it requires holds, removes facts, then adds facts.

Rules the module keeps:

1. Actions are tried in the order given and states in the order found, so a problem has one
   answer. Without costs it is a shortest plan; with a cost on any action it is a cheapest
   one, and among those a shortest one.
2. No more than `max_states` different states are taken up and no plan is longer than
   `max_depth`. A search that a budget ended says so: only `no_more_states` shows that there
   is no plan.
3. Costs are added as the decimals they are written as; an action without one costs 1.

Example:
    >>> hop = Action(name="hop", requires=("here",), adds=("there",), removes=("here",))
    >>> plan(Problem(initial=("here",), goal=("there",), actions=(hop,))).actions
    ('hop',)
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from hikmah.errors import InvalidInputError
from hikmah.reason import search
from hikmah.reason.reading import check_texts, exact

MAX_DEPTH = 64
MAX_COST = 1e15  # the cost of any plan is then a number that can be printed
Ended = Literal["goal", "no_more_states", "max_depth", "max_states"]


class Action(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that can be done: what it requires, adds and removes; removal comes first."""

    name: str
    requires: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    cost: float | None = None


class Problem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds, what should hold, what can be done, and how far to look."""

    initial: tuple[str, ...]
    goal: tuple[str, ...]
    actions: tuple[Action, ...]
    max_depth: Annotated[int, Meta(ge=0, le=MAX_DEPTH)] = 12
    max_states: Annotated[int, Meta(ge=1)] = 100_000


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a goal is out of reach, as far as single facts show it.

    `unreachable` are the goal's facts that could not come to hold even if nothing were ever
    removed; `never_added` the facts at the root of that, which something asks for and no
    action adds. Both are empty when only removals or a budget stand in the way.
    """

    unreachable: tuple[str, ...]
    never_added: tuple[str, ...]


class Plan(Struct, frozen=True, kw_only=True):
    """What the search found. Without a plan `final_state` is the initial state, sorted."""

    found: bool
    actions: tuple[str, ...]
    final_state: tuple[str, ...]
    explored_states: int
    budget_exhausted: bool
    ended_by: Ended
    cost: float | None = None
    explain: Explanation | None = None


class _Compiled(NamedTuple):
    """A problem in bits: one bit a fact, one number a state."""

    facts: dict[str, int]
    initial: int
    goal: int
    moves: tuple[search.Move, ...]
    scale: int  # costs are multiplied by this to be integers


def plan(problem: Problem) -> Plan:
    """Search for a plan.

    Raises:
        InvalidInputError: The goal is empty, a name or fact blank, an action's name used
            twice, or a cost negative or not finite.
    """
    _check(problem)
    compiled = _compile(problem)
    look = search.cheapest if _costed(problem) else search.shortest
    found = look(
        compiled.initial,
        compiled.goal,
        compiled.moves,
        max_depth=problem.max_depth,
        max_states=problem.max_states,
    )
    return _told(problem, compiled, found)


def _told(problem: Problem, compiled: _Compiled, found: search.Found) -> Plan:
    success = found.ended_by == "goal"
    cost = float(Fraction(found.cost, compiled.scale)) if success and _costed(problem) else None
    return Plan(
        found=success,
        actions=tuple(problem.actions[index].name for index in found.path),
        final_state=_names(compiled.facts, found.state),
        explored_states=found.explored,
        budget_exhausted=found.ended_by in ("max_depth", "max_states"),
        ended_by=found.ended_by,
        cost=cost,
        explain=None if success else _explain(compiled),
    )


def _check(problem: Problem) -> None:
    if not problem.goal:
        raise InvalidInputError("the goal is empty: any state would do", where="$.goal")
    check_texts((a.name for a in problem.actions), where="$.actions[*].name", what="action name")
    _check_facts(problem.initial, "$.initial")
    _check_facts(problem.goal, "$.goal")
    for index, action in enumerate(problem.actions):
        where = f"$.actions[{index}]"
        _check_facts(action.requires, f"{where}.requires")
        _check_facts(action.adds, f"{where}.adds")
        _check_facts(action.removes, f"{where}.removes")
        if action.cost is not None and not 0 <= action.cost <= MAX_COST:
            raise InvalidInputError(
                f"cost {action.cost} is not a number from 0 to {MAX_COST:g}", where=f"{where}.cost"
            )


def _check_facts(facts: tuple[str, ...], where: str) -> None:
    for index, fact in enumerate(facts):
        if not fact.strip():
            raise InvalidInputError("a fact is blank", where=f"{where}[{index}]")


def _costed(problem: Problem) -> bool:
    return any(action.cost is not None for action in problem.actions)


def _compile(problem: Problem) -> _Compiled:
    """Give each fact a bit, in the order of first mention, and each cost a whole number."""
    facts: dict[str, int] = {}

    def bits(names: tuple[str, ...]) -> int:
        mask = 0
        for name in names:
            mask |= facts.setdefault(name, 1 << len(facts))
        return mask

    initial, goal = bits(problem.initial), bits(problem.goal)
    costs = [exact(1 if action.cost is None else action.cost) for action in problem.actions]
    scale = math.lcm(*(cost.denominator for cost in costs))
    moves = tuple(
        search.Move(
            requires=bits(action.requires),
            removes=bits(action.removes),
            adds=bits(action.adds),
            cost=int(cost * scale),
        )
        for action, cost in zip(problem.actions, costs, strict=True)
    )
    return _Compiled(facts, initial, goal, moves, scale)


def _names(facts: dict[str, int], state: int) -> tuple[str, ...]:
    return tuple(sorted(name for name, bit in facts.items() if state & bit))


def _explain(compiled: _Compiled) -> Explanation:
    """Look at the problem without removals: what does not come to hold there never does."""
    reached = compiled.initial
    grows = True
    while grows:
        before = reached
        for move in compiled.moves:
            if reached & move.requires == move.requires:
                reached |= move.adds
        grows = reached != before
    missing = compiled.goal & ~reached
    return Explanation(
        unreachable=_names(compiled.facts, missing),
        never_added=_names(compiled.facts, _roots(compiled, missing, reached)),
    )


def _roots(compiled: _Compiled, missing: int, reached: int) -> int:
    """Return the facts that the missing ones come down to and that no action adds."""
    wanted, grows = missing, bool(missing)
    while grows:
        before = wanted
        for move in compiled.moves:
            if move.adds & wanted:
                wanted |= move.requires & ~reached
        grows = wanted != before
    added = 0
    for move in compiled.moves:
        added |= move.adds
    return wanted & ~added
