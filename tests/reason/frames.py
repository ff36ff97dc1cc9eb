"""Generated decision frames: small numbers on a coarse grid, so that ties are common."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import product

from msgspec.structs import replace

from hikmah.reason import decision
from hikmah.reason.frame import Criterion, Frame, Option

# The full size that is quoted in docs/evidence.md is 20,000.
FRAMES = int(os.environ.get("HIKMAH_TEST_FRAMES", "100"))
MAX_CORNERS = 256


def generated(count: int, seed: int) -> Iterator[tuple[random.Random, Frame]]:
    """Yield frames, each with the generator that drew it."""
    for number in range(count):
        rng = random.Random(seed * 1_000_003 + number)
        yield rng, drawn(rng)


def drawn(rng: random.Random) -> Frame:
    """Return one frame: one to four options, one to three criteria."""
    steps = rng.choice((2, 4, 10, 50))
    ids = [f"c{i}" for i in range(rng.randint(1, 3))]
    weights = [rng.randint(0, 4) / 2 for _ in ids]
    if not any(weights):
        weights[0] = 1.0
    unknown = rng.choice((0.0, 0.2, 0.5))
    options = tuple(
        Option(
            name=f"o{i}",
            scores={c: rng.randint(0, steps) / steps for c in ids if rng.random() >= unknown},
            model_scores={c: rng.randint(0, steps) / steps for c in ids if rng.random() < 0.3},
            evidence_confidence=rng.randint(0, 10) / 10,
            hard_blocks=("illegal",) if rng.random() < 0.15 else (),
            reversible=rng.random() < 0.5,
        )
        for i in range(rng.randint(1, 4))
    )
    criteria = tuple(Criterion(id=c, weight=w) for c, w in zip(ids, weights, strict=True))
    return Frame(question="which?", criteria=criteria, options=options)


def unknowns(frame: Frame) -> list[tuple[int, str]]:
    """Return every score that evidence does not show, as (option, criterion)."""
    return [
        (index, criterion.id)
        for index, option in enumerate(frame.options)
        for criterion in frame.criteria
        if option.scores.get(criterion.id) is None
    ]


def scored(frame: Frame, index: int, criterion: str, score: float) -> Frame:
    """Return the frame with evidence for one more score."""
    option = frame.options[index]
    known = replace(option, scores={**option.scores, criterion: score})
    return replace(frame, options=(*frame.options[:index], known, *frame.options[index + 1 :]))


def weighted(frame: Frame, criterion: str, weight: float) -> Frame:
    """Return the frame with another weight for one criterion."""
    return replace(
        frame,
        criteria=tuple(
            replace(c, weight=weight) if c.id == criterion else c for c in frame.criteria
        ),
    )


def corners(frame: Frame) -> Iterator[Frame]:
    """Yield the frame with every unknown score at 0 or at 1, in every combination."""
    cells = unknowns(frame)
    if 2 ** len(cells) > MAX_CORNERS:
        rng = random.Random(len(cells))
        for _ in range(MAX_CORNERS):
            yield _filled(frame, cells, tuple(rng.randint(0, 1) for _ in cells))
        return
    for values in product((0, 1), repeat=len(cells)):
        yield _filled(frame, cells, values)


def _filled(frame: Frame, cells: list[tuple[int, str]], values: tuple[int, ...]) -> Frame:
    for (index, criterion), value in zip(cells, values, strict=True):
        frame = scored(frame, index, criterion, float(value))
    return frame


def recommended(asked: Frame) -> str | None:
    """Return who is recommended, without what would change it."""
    verdict = decision._weigh(asked, [()] * len(asked.options))[2]
    return verdict.recommended.row.name if verdict.recommended else None
