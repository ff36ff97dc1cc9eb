"""What would change a decision: the change named does it, and no smaller one does."""

from __future__ import annotations

import pytest

from hikmah.reason.decision import (
    Criterion,
    Flip,
    Frame,
    Option,
    ScoreFlip,
    WeightFlip,
    decide,
)
from tests.reason.frames import FRAMES, generated, recommended, scored, weighted

TINY = 1e-6


def two(one: Option, other: Option, **weights: float) -> Frame:
    """Return a frame over two options."""
    criteria = tuple(Criterion(id=name, weight=weight) for name, weight in weights.items())
    return Frame(question="which?", criteria=criteria, options=(one, other))


def flip(frame: Frame) -> Flip:
    """Return what would change a frame's answer."""
    found = decide(frame).flip
    assert found is not None
    return found


FAST = Option(name="fast", scores={"speed": 0.9, "cost": 0.2}, reversible=True)
CHEAP = Option(name="cheap", scores={"speed": 0.4, "cost": 0.8}, reversible=True)


def test_a_weight_is_solved_for() -> None:
    """1.8 + 0.2 c = 0.8 + 0.8 c at c = 5/3: there the tie goes to the name."""
    found = flip(two(FAST, CHEAP, speed=2.0, cost=1.0)).weight
    assert found is not None
    assert (found.criterion, found.weight, found.beyond) == ("cost", 1.0, False)
    assert found.recommended == "cheap"
    assert found.to == pytest.approx(5 / 3)
    assert found.change == pytest.approx(2 / 3)


def test_beyond_says_that_the_point_itself_is_not_enough() -> None:
    """Where the tie still goes to the old winner, the weight must pass the point."""
    found = flip(two(FAST, CHEAP, speed=1.0, cost=1.0)).weight
    assert found is not None
    assert (found.criterion, found.beyond, found.recommended) == ("cost", True, "fast")
    assert found.to == pytest.approx(5 / 6)


def test_a_tie_today_is_no_distance_away() -> None:
    """Level now, decided by name: any change of weight in one direction is enough."""
    one = Option(name="a", scores={"x": 1.0, "y": 0.0}, reversible=True)
    other = Option(name="b", scores={"x": 0.0, "y": 1.0}, reversible=True)
    found = flip(two(one, other, x=1.0, y=1.0)).weight
    assert found == WeightFlip(
        criterion="x", weight=1.0, to=1.0, change=0.0, beyond=True, recommended="b"
    )


def test_an_unknown_score_is_counted_from_zero() -> None:
    """The rival needs 0.5 where nothing is known of it."""
    known = Option(name="known", scores={"x": 0.5}, reversible=True)
    rival = Option(name="rival", reversible=True)
    assert flip(two(known, rival, x=1.0)).score == ScoreFlip(
        option="rival",
        criterion="x",
        score=None,
        to=0.5,
        change=0.5,
        beyond=True,
        recommended="rival",
    )


def test_an_estimate_is_counted_from_where_it_is() -> None:
    """The winner leads by an estimate of 0.7; evidence of 0.5 would be a tie it still wins."""
    known = Option(name="rival", scores={"x": 0.5}, reversible=True)
    guessed = Option(name="guessed", model_scores={"x": 0.7}, reversible=True)
    found = flip(two(known, guessed, x=1.0)).score
    assert found is not None
    assert (found.option, found.score, found.to, found.beyond) == ("guessed", 0.7, 0.5, True)
    assert found.change == pytest.approx(0.2)


def test_evidence_can_end_a_preference() -> None:
    """Confidence rises with coverage: the irreversible option is then recommended after all."""
    best = Option(name="best", scores={"x": 0.9}, evidence_confidence=0.8)
    safe = Option(name="safe", scores={"x": 0.88, "y": 0.0}, reversible=True)
    asked = two(best, safe, x=3.0, y=1.0)
    result = decide(asked)
    assert result.reversibility_preferred
    found = flip(asked)
    assert found.score is not None
    assert (found.score.option, found.score.to, found.score.recommended) == ("best", 0.0, "best")
    assert found.weight is not None
    assert found.weight.recommended == "best"


def test_nothing_changes_what_dominates() -> None:
    """Better by every criterion and fully known: no single number changes it."""
    better = Option(name="better", scores={"x": 0.9, "y": 0.9}, evidence_confidence=1.0)
    worse = Option(name="worse", scores={"x": 0.1, "y": 0.1})
    assert flip(two(better, worse, x=1.0, y=1.0)) == Flip(weight=None, score=None)


def test_a_weight_too_large_to_be_written_is_no_answer() -> None:
    """It would take more than any float for the second criterion to turn it."""
    one = Option(name="a", scores={"x": 1.0, "y": 0.0}, reversible=True)
    other = Option(name="b", scores={"x": 0.0, "y": 1e-9}, reversible=True)
    found = flip(two(one, other, x=1e300, y=1.0)).weight
    assert found is not None
    assert found.criterion == "x"


def test_a_weight_that_stands_alone_cannot_be_changed() -> None:
    """With one criterion its weight decides nothing; unknown scores still may."""
    one, other = (Option(name=n, scores={"x": s}) for n, s in (("a", 0.9), ("b", None)))
    found = flip(two(one, other, x=1.0))
    assert found.weight is None
    assert found.score is not None


class TestGenerated:
    """Rules over generated frames."""

    def test_a_weight_flip_flips_and_nothing_nearer_does(self) -> None:
        """At the weight named (or just past it) the winner is the one named, and not before."""
        for rng, asked in generated(FRAMES, seed=11):
            result = decide(asked)
            for criterion in asked.criteria if result.flip else ():
                found = result.flip.weight if result.flip else None
                limit = found.change if found else 10.0
                for share in (rng.random(), 0.999):
                    for sign in (-1, 1):
                        weight = criterion.weight + sign * share * (limit - TINY)
                        if weight > 0 and limit > TINY:
                            nearby = weighted(asked, criterion.id, weight)
                            assert recommended(nearby) == result.recommended
                if found and found.criterion == criterion.id:
                    reached = {
                        recommended(weighted(asked, criterion.id, to))
                        for to in _about(found.to)
                        if to >= 0
                    }
                    assert found.recommended in reached

    def test_a_score_flip_flips_and_nothing_nearer_does(self) -> None:
        """The same for a score that evidence does not show."""
        for rng, asked in generated(FRAMES, seed=12):
            result = decide(asked)
            places = {o.name: i for i, o in enumerate(asked.options)}
            for item in result.options if result.flip else ():
                for criterion in item.missing_criteria + item.model_estimated_criteria:
                    found = result.flip.score if result.flip else None
                    start = asked.options[places[item.name]].model_scores.get(criterion) or 0.0
                    limit = found.change if found else 1.0
                    for share in (rng.random(), 0.999):
                        for score in (start - share * limit, start + share * limit):
                            if limit > TINY and share * limit > TINY and 0 <= score <= 1:
                                known = scored(asked, places[item.name], criterion, score)
                                assert recommended(known) == result.recommended
                    if found and (found.option, found.criterion) == (item.name, criterion):
                        reached = {
                            recommended(scored(asked, places[item.name], criterion, to))
                            for to in _about(found.to)
                            if 0 <= to <= 1
                        }
                        assert found.recommended in reached


def _about(to: float) -> tuple[float, ...]:
    """Return a value and its neighbours: the exact point may lie between two floats."""
    return (to, to - TINY, to + TINY)
