"""The planner: executable, shortest or cheapest, bounded, and honest about giving up."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.errors import InvalidInputError
from hikmah.reason.planner import Action, Explanation, Plan, Problem, plan
from hikmah.reason.reading import read_json

FACTS = ("a", "b", "c", "d", "e")


def problem(*actions: Action, initial: str = "", goal: str = "z", **limits: int) -> Problem:
    """Return a problem whose facts are single letters."""
    return Problem(initial=tuple(initial), goal=tuple(goal), actions=actions, **limits)


def action(
    name: str, requires: str = "", adds: str = "", removes: str = "", cost: float | None = None
) -> Action:
    """Return an action whose facts are single letters."""
    return Action(
        name=name, requires=tuple(requires), adds=tuple(adds), removes=tuple(removes), cost=cost
    )


def run(asked: Problem, names: tuple[str, ...]) -> frozenset[str]:
    """Execute actions one by one, each where what it requires holds; return what holds then."""
    by_name = {act.name: act for act in asked.actions}
    state = frozenset(asked.initial)
    for name in names:
        act = by_name[name]
        assert state >= frozenset(act.requires)
        state = state - frozenset(act.removes) | frozenset(act.adds)
    return state


def exhaustive(asked: Problem) -> list[tuple[int, float]]:
    """Return length and cost of every plan of up to `max_depth` actions, by trying them all."""
    found = []
    for length in range(asked.max_depth + 1):
        for names in product([act.name for act in asked.actions], repeat=length):
            try:
                state = run(asked, names)
            except AssertionError:
                continue
            if state >= frozenset(asked.goal):
                costs = {act.name: 1 if act.cost is None else act.cost for act in asked.actions}
                found.append((length, sum(costs[name] for name in names)))
    return found


letters = st.lists(st.sampled_from(FACTS), max_size=2, unique=True).map("".join)


@st.composite
def problems(draw: st.DrawFn, *, costed: bool = False) -> Problem:
    """Draw a problem small enough to try every sequence of its actions."""
    costs = st.integers(0, 4).map(float) if costed else st.none()
    actions = [
        action(f"act{index}", draw(letters), draw(letters), draw(letters), draw(costs))
        for index in range(draw(st.integers(1, 4)))
    ]
    goal = draw(letters.filter(bool))
    return problem(*actions, initial=draw(letters), goal=goal, max_depth=draw(st.integers(0, 4)))


def first_plan(asked: Problem) -> tuple[str, ...] | None:
    """Return the first plan that a plain breadth-first search over sets comes upon."""
    start, goal = frozenset(asked.initial), frozenset(asked.goal)
    seen: dict[frozenset[str], tuple[str, ...]] = {start: ()}
    level = [start]
    if start >= goal:
        return ()
    for _ in range(asked.max_depth):
        following = []
        for state in level:
            for act in asked.actions:
                reached = state - frozenset(act.removes) | frozenset(act.adds)
                if state >= frozenset(act.requires) and reached not in seen:
                    seen[reached] = (*seen[state], act.name)
                    following.append(reached)
                    if reached >= goal:
                        return seen[reached]
        level = following
    return None


class TestShortest:
    """Without costs the first plan found is a shortest one."""

    @settings(max_examples=150, deadline=None)
    @given(problems())
    def test_a_plan_is_executable_and_shortest(self, asked: Problem) -> None:
        """A plan found can be executed, reaches the goal, and no shorter one exists."""
        result = plan(asked)
        plans = exhaustive(asked)
        assert result.found == bool(plans)
        if result.found:
            assert len(result.actions) == min(plans)[0]
            assert result.final_state == tuple(sorted(run(asked, result.actions)))
        assert result.cost is None

    @settings(max_examples=150, deadline=None)
    @given(problems())
    def test_it_is_the_first_plan_in_the_order_given(self, asked: Problem) -> None:
        """Exactly what a plain search finds that tries actions as they stand in the file."""
        result = plan(asked)
        assert (result.actions if result.found else None) == first_plan(asked)

    def test_removal_comes_before_addition(self) -> None:
        """An action that removes and adds one fact leaves it there."""
        result = plan(problem(action("swap", "a", "az", "a"), initial="a", goal="az"))
        assert result.actions == ("swap",)
        assert result.final_state == ("a", "z")

    def test_of_equal_plans_the_first_given_wins(self) -> None:
        """Two actions that do the same: the one that stands first is taken."""
        one, two = action("one", adds="z"), action("two", adds="z")
        assert plan(problem(one, two)).actions == ("one",)
        assert plan(problem(two, one)).actions == ("two",)

    def test_what_already_holds_needs_nothing(self) -> None:
        """A goal that holds is an empty plan, even with no depth to search."""
        result = plan(problem(initial="z", max_depth=0))
        assert result == Plan(
            found=True,
            actions=(),
            final_state=("z",),
            explored_states=1,
            budget_exhausted=False,
            ended_by="goal",
        )


class TestCheapest:
    """A cost on any action makes the search look for the cheapest plan."""

    @settings(max_examples=150, deadline=None)
    @given(problems(costed=True))
    def test_a_plan_is_executable_and_cheapest(self, asked: Problem) -> None:
        """No plan within the depth costs less, and none of that cost is shorter."""
        result = plan(asked)
        plans = exhaustive(asked)
        assert result.found == bool(plans)
        if result.found:
            assert result.cost is not None
            assert (result.cost, len(result.actions)) == min((c, n) for n, c in plans)
            assert result.final_state == tuple(sorted(run(asked, result.actions)))

    def test_a_cheap_detour_beats_a_dear_step(self) -> None:
        """Three cheap actions are taken where one would do for more."""
        steps = [action("1", "a", "b"), action("2", "b", "c"), action("3", "c", "z")]
        dear = action("dear", "a", "z", cost=3.5)
        assert plan(problem(dear, *steps, initial="a")).actions == ("1", "2", "3")

    def test_a_dear_way_counts_while_it_is_shorter(self) -> None:
        """With depth for two actions only, the cheap way to the middle is too long."""
        cheap = [action("c1", "a", "b", cost=0), action("c2", "b", "m", cost=0)]
        dear, last = action("dear", "a", "m", cost=5), action("last", "m", "z", cost=1)
        asked = problem(*cheap, dear, last, initial="a", max_depth=2)
        assert plan(asked).actions == ("dear", "last")
        assert plan(asked).cost == 6.0

    def test_a_dearer_way_of_the_same_length_is_dropped(self) -> None:
        """Each state is taken up once a depth, by its cheapest way."""
        ways = [action("dear", "a", "m", cost=5), action("cheap", "a", "m", cost=3)]
        result = plan(problem(*ways, initial="a"))
        assert (result.found, result.explored_states) == (False, 2)

    def test_costs_add_up_as_decimals(self) -> None:
        """0.1 and 0.2 are exactly 0.3, so the first of two equal plans is taken."""
        two = [action("one", "a", "b", cost=0.1), action("two", "b", "z", cost=0.2)]
        result = plan(problem(*two, action("direct", "a", "z", cost=0.3), initial="a"))
        assert result.actions == ("direct",)  # of equal cost, and shorter
        assert result.cost == 0.3


class TestBudgets:
    """No budget is passed, and a search that one ended says so."""

    @pytest.mark.parametrize("cost", [None, 1.0], ids=["shortest", "cheapest"])
    @pytest.mark.parametrize("budget", [1, 2, 7, 31])
    def test_no_more_states_than_allowed(self, budget: int, cost: float | None) -> None:
        """With five toggles there are 32 states; fewer may be taken up, never more."""
        toggles = [action(f"+{f}", adds=f, cost=cost) for f in FACTS]
        result = plan(problem(*toggles, max_states=budget))
        assert (result.explored_states, result.budget_exhausted) == (budget, True)
        assert result.ended_by == "max_states"

    @pytest.mark.parametrize("cost", [None, 1.0], ids=["shortest", "cheapest"])
    def test_all_states_seen_shows_that_there_is_no_plan(self, cost: float | None) -> None:
        """A budget of exactly all states is enough to show that there is no plan."""
        toggles = [action(f"+{f}", adds=f, cost=cost) for f in FACTS]
        result = plan(problem(*toggles, max_states=32))
        assert (result.explored_states, result.budget_exhausted) == (32, False)
        assert result.ended_by == "no_more_states"

    @pytest.mark.parametrize("cost", [None, 1.0], ids=["shortest", "cheapest"])
    def test_depth_is_a_budget_too(self, cost: float | None) -> None:
        """Too little depth is told from no plan; enough to see every state is enough."""
        chain = [action("1", "a", "b", "a", cost), action("2", "b", "c", "b", cost)]
        assert plan(problem(*chain, initial="a", max_depth=1)).ended_by == "max_depth"
        assert plan(problem(*chain, initial="a", max_depth=2)).ended_by == "no_more_states"
        assert plan(problem(*chain, initial="a", max_depth=3)).ended_by == "no_more_states"

    @pytest.mark.parametrize("cost", [None, 1.0], ids=["shortest", "cheapest"])
    def test_a_hundred_thousand_states_are_the_default(self, cost: float | None) -> None:
        """Seventeen toggles have more states than that; the search stops there."""
        toggles = [action(f"+{i}", adds=chr(65 + i), cost=cost) for i in range(17)]
        result = plan(problem(*toggles, max_depth=64))
        assert result.explored_states == 100_000
        assert result.final_state == ()


class TestExplanation:
    """Without a plan, the facts that stand in the way are named."""

    def test_what_no_action_adds_is_named(self) -> None:
        """The goal comes down, through what adds it, to a fact that nothing adds."""
        result = plan(problem(action("last", "ay", "z"), action("y", "x", "y"), initial="a"))
        assert result.explain == Explanation(unreachable=("z",), never_added=("x",))

    def test_a_goal_that_nothing_adds_is_its_own_reason(self) -> None:
        """The goal's own fact is named when no action adds it."""
        assert plan(problem()).explain == Explanation(unreachable=("z",), never_added=("z",))

    def test_a_circle_of_requirements_has_no_root(self) -> None:
        """Facts that each need the other are out of reach, though actions add both."""
        result = plan(problem(action("y", "z", "y"), action("z", "y", "z")))
        assert result.explain == Explanation(unreachable=("z",), never_added=())

    def test_removals_are_not_explained_by_facts(self) -> None:
        """Each fact can hold but never both: no single fact is at fault."""
        result = plan(problem(action("b", "a", "b", "a"), initial="a", goal="ab"))
        assert result.explain == Explanation(unreachable=(), never_added=())

    def test_a_plan_needs_no_explanation(self) -> None:
        """There is none beside a plan."""
        assert plan(problem(action("go", adds="z"))).explain is None


GOOD = '"initial": ["a"], "goal": ["z"]'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param(f'{{{GOOD}, "actions": [], "depth": 3}}', "$.depth", id="unknown field"),
        pytest.param(
            f'{{{GOOD}, "actions": [{{"name": "x", "effect": []}}]}}',
            "$.actions[0].effect",
            id="unknown field of an action",
        ),
        pytest.param('{"initial": [], "goal": [], "actions": []}', "$.goal", id="empty goal"),
        pytest.param('{"initial": [], "actions": []}', "$", id="no goal"),
        pytest.param(f'{{{GOOD}, "actions": [{{"name": " "}}]}}', "$.actions[0].name", id="blank"),
        pytest.param(
            f'{{{GOOD}, "actions": [{{"name": "x"}}, {{"name": "x"}}]}}',
            "$.actions[1].name",
            id="name twice",
        ),
        pytest.param(
            f'{{{GOOD}, "actions": [{{"name": "x", "adds": [""]}}]}}',
            "$.actions[0].adds[0]",
            id="blank fact",
        ),
        pytest.param(
            '{"initial": [" "], "goal": ["z"], "actions": []}', "$.initial[0]", id="blank initial"
        ),
        pytest.param('{"initial": [], "goal": [""], "actions": []}', "$.goal[0]", id="blank goal"),
        pytest.param(
            f'{{{GOOD}, "actions": [{{"name": "x", "cost": -1}}]}}',
            "$.actions[0].cost",
            id="negative cost",
        ),
        pytest.param(f'{{{GOOD}, "actions": [], "max_depth": 65}}', "$.max_depth", id="deep"),
        pytest.param(f'{{{GOOD}, "actions": [], "max_depth": -1}}', "$.max_depth", id="below 0"),
        pytest.param(f'{{{GOOD}, "actions": [], "max_states": 0}}', "$.max_states", id="no states"),
        pytest.param(f'{{{GOOD}, "actions": {{}}}}', "$.actions", id="not a list"),
        pytest.param("[]", "$", id="not an object"),
        pytest.param("{", "", id="not JSON"),
    ],
)
def test_a_bad_problem_is_refused_by_path(text: str, where: str) -> None:
    """What cannot be planned for is refused, naming the path to it."""
    with pytest.raises(InvalidInputError) as caught:
        plan(read_json(text, Problem))
    assert caught.value.where == where


@pytest.mark.parametrize("cost", [float("inf"), float("nan"), 1e16])
def test_a_cost_is_finite(cost: float) -> None:
    """From Python too, a cost that is not finite is refused."""
    with pytest.raises(InvalidInputError, match="not a number from 0 to 1e"):
        plan(problem(action("x", cost=cost)))
