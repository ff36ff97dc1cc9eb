"""Three made-up forecasters: overconfident, calibrated, hardly known."""

from __future__ import annotations

import random

from hikmah.model.trace import Prediction
from hikmah.reason.predictions import Resolved


def forecasters() -> list[Resolved]:
    """Return their resolved forecasts, the same ones every time.

    A forecast p comes true with probability 0.5 + (p - 0.5) x truth: 1 is calibrated, less is
    overconfident.
    """
    rng = random.Random(7)
    found: list[Resolved] = []
    for family, source, count, truth in (
        ("release.on_time", "human:alex", 180, 1.0),
        ("release.on_time", "model:jev@1.13.0", 240, 0.45),
        ("site.hero.ctr", "agent:planner", 24, 0.8),
    ):
        for _ in range(count):
            p = round(rng.betavariate(1.2, 1.2), 2)
            observed = rng.random() < 0.5 + (p - 0.5) * truth
            prediction = Prediction(
                family=family,
                answer_kind="noul",
                forecaster=source.removeprefix("model:"),
                question="?",
                p=p,
                value="true",
            )
            found.append(
                Resolved(prediction=prediction, source=source, observed=str(observed).lower())
            )
    return found
