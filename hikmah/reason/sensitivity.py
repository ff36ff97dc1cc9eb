"""What it would take to change a decision: the nearest weight, the nearest score.

With one number free, both ends of every interval are simple functions of it, so the winner
can change only where two options meet, come within the band of `hikmah.reason.weighing`, or
cross its confidence. Those points are solved for exactly and tried from the nearest on: what
is reported has been tried, not estimated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from hikmah.reason.weighing import BAND, CONFIDENT, Row, Verdict, judge, stand

_ZERO, _ONE = Fraction(0), Fraction(1)
_LARGEST = Fraction(sys.float_info.max)  # a weight beyond it could not be written down
_GAPS = (_ZERO, BAND, -BAND)
_Line = tuple[Fraction, Fraction]  # (constant, slope) of the numerator of an interval's end


class Change(NamedTuple):
    """A number's new value and who wins then: at `to` itself, or only `beyond` it."""

    start: Fraction
    to: Fraction
    beyond: bool
    winner: str

    @property
    def size(self) -> Fraction:
        """Return how far the number moves."""
        return abs(self.to - self.start)


class WeightChange(NamedTuple):
    """The smallest change of one criterion's weight that changes the winner."""

    criterion: int
    change: Change


class ScoreChange(NamedTuple):
    """The smallest change of one score that evidence does not show.

    `change.start` is what the score counts as now: an estimate, or 0 for an unknown one.
    """

    option: str
    criterion: int
    change: Change


def nearest_weight(
    weights: Sequence[Fraction], rows: Sequence[Row], verdict: Verdict, name: str
) -> WeightChange | None:
    """Return the smallest change of one weight that changes the winner; None if none does.

    Args:
        weights: As they are.
        rows: The options.
        verdict: What they come to now.
        name: Whom the verdict recommends.
    """
    pairs = _pairs(verdict)
    found: list[WeightChange] = []
    for index, weight in enumerate(weights):
        rest = [*weights[:index], _ZERO, *weights[index + 1 :]]
        if not any(rest):
            continue  # alone it decides at any size
        points = {point for point in _weight_points(index, rest, pairs) if 0 < point <= _LARGEST}

        def winner(value: Fraction, index: int = index, rest: list[Fraction] = rest) -> str:
            return _winner([*rest[:index], value, *rest[index + 1 :]], rows)

        points |= {_ZERO, weight}
        change = _nearest(weight, points, winner, name, endless=True)
        if change is not None:
            found.append(WeightChange(index, change))
    return min(found, key=lambda item: item.change.size, default=None)


def nearest_score(
    weights: Sequence[Fraction], rows: Sequence[Row], verdict: Verdict, name: str
) -> ScoreChange | None:
    """Return the smallest change of one score without evidence that changes the winner.

    The arguments are those of `nearest_weight`; None if no single score does.
    """
    found: list[ScoreChange] = []
    for place, row in enumerate(rows):
        for index in range(len(weights)):
            if row.blocked or row.known[index] is not None or not weights[index]:
                continue
            start = row.guessed[index] or _ZERO

            def winner(
                value: Fraction, place: int = place, row: Row = row, index: int = index
            ) -> str:
                changed = _with_score(row, index, value)
                return _winner(weights, [*rows[:place], changed, *rows[place + 1 :]])

            points = {p for p in _score_points(weights, index, row, verdict) if 0 < p < 1}
            points |= {_ZERO, _ONE, start}
            change = _nearest(start, points, winner, name, endless=False)
            if change is not None:
                found.append(ScoreChange(row.name, index, change))
    return min(found, key=lambda item: item.change.size, default=None)


def _winner(weights: Sequence[Fraction], rows: Iterable[Row]) -> str:
    recommended = judge([stand(weights, row) for row in rows]).recommended
    assert recommended is not None  # noqa: S101  # no number blocks or unblocks an option
    return recommended.row.name


def _with_score(row: Row, index: int, value: Fraction) -> Row:
    return row._replace(known=(*row.known[:index], value, *row.known[index + 1 :]))


def _nearest(
    start: Fraction,
    points: set[Fraction],
    winner: Callable[[Fraction], str],
    now: str,
    *,
    endless: bool,
) -> Change | None:
    """Try the points, and the stretches behind them, from the nearest to the start on."""
    line = sorted(points)
    for point in sorted(points, key=lambda p: (abs(p - start), p)):
        if (other := winner(point)) != now:
            return Change(start, point, beyond=False, winner=other)
        for sample in _behind(start, point, line, endless=endless):
            if (other := winner(sample)) != now:
                return Change(start, point, beyond=True, winner=other)
    return None


def _behind(
    start: Fraction, point: Fraction, line: list[Fraction], *, endless: bool
) -> Iterator[Fraction]:
    """Yield a value just beyond a point, seen from the start; on both sides of the start.

    Between two neighbouring points nothing changes, so the middle stands for all of them.
    """
    place = line.index(point)
    if point >= start and place + 1 < len(line):
        yield (point + line[place + 1]) / 2
    elif point >= start and endless:
        yield point + 1
    if point <= start and place > 0:
        yield (point + line[place - 1]) / 2


def _pairs(verdict: Verdict) -> list[tuple[Row, Row]]:
    """Return the options whose meeting can change the winner.

    The winner meets another; where it won as the reversible one, any two may matter, since
    they settle which option it is nearly as good as.
    """
    admissible = [standing.row for standing in verdict.order if not standing.row.blocked]
    if verdict.preferred:
        return list(combinations(admissible, 2))
    return [(admissible[0], row) for row in admissible[1:]]


def _weight_points(
    index: int, rest: Sequence[Fraction], pairs: Iterable[tuple[Row, Row]]
) -> Iterator[Fraction]:
    """Yield the weights at which two options meet, or one crosses the confidence.

    An interval's end is (A + w a) / (B + w): A and B from the other weights, a the score at
    its end. It meets another end at distance d where w (a - a' - d) = A' - A + d B.
    """
    total = sum(rest, _ZERO)
    for one, other in pairs:
        for unknown in (_ZERO, _ONE):
            (a, slope), (b, fall) = (_line(row, index, rest, unknown) for row in (one, other))
            for gap in _GAPS:
                if steep := slope - fall - gap:
                    yield (b - a + gap * total) / steep
        for row in (one, other):
            covered = _line(_coverage(row), index, rest, _ZERO)
            if steep := row.confidence * covered[1] - CONFIDENT:
                yield (CONFIDENT * total - row.confidence * covered[0]) / steep


def _line(row: Row, index: int, rest: Sequence[Fraction], unknown: Fraction) -> _Line:
    """Return A and a of the interval's end at which unknown scores have this value."""
    values = [
        unknown if known is None and guess is None else (guess or _ZERO) if known is None else known
        for known, guess in zip(row.known, row.guessed, strict=True)
    ]
    return (
        sum((weight * value for weight, value in zip(rest, values, strict=True)), _ZERO),
        values[index],
    )


def _coverage(row: Row) -> Row:
    """Return a row that scores 1 where this one has evidence, so that its line is coverage."""
    covered = tuple(None if known is None else _ONE for known in row.known)
    return row._replace(known=covered, guessed=(None,) * len(covered))


def _score_points(
    weights: Sequence[Fraction], index: int, row: Row, verdict: Verdict
) -> Iterator[Fraction]:
    """Yield the scores at which this option meets another one."""
    total = sum(weights, _ZERO)
    zero = stand(weights, _with_score(row, index, _ZERO))
    for other in verdict.order:
        if other.row.blocked or other.row.name == row.name:
            continue
        for mine, theirs in ((zero.lo, other.lo), (zero.hi, other.hi)):
            for gap in _GAPS:
                yield (theirs + gap - mine) * total / weights[index]
