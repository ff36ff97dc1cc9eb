"""A request of three kinds, a response that passes, and ways to break it."""

from __future__ import annotations

import copy
from typing import Any

from hikmah.reason.admission import Admission, admit
from hikmah.reason.port import Choice, DecisionRequest, Noul, Reply, Score, request_id

REQUEST = DecisionRequest(
    state="the deploy is half done",
    questions=(
        Choice(
            id="next",
            instructions="What should be done next?",
            options={"retry": "run it again", "revert": "undo it", "wait": "do nothing"},
            family="deploy.next",
        ),
        Score(
            id="risk",
            instructions="How risky is it to go on?",
            levels=("none", "low", "high", "extreme"),
        ),
        Noul(id="late", instructions="Will it be late?"),
    ),
)
GOOD: dict[str, Any] = {
    "request_id": request_id(REQUEST),
    "answers": {
        "next": {
            "kind": "choice",
            "choice": "revert",
            "probabilities": {"retry": 0.2, "revert": 0.7, "wait": 0.1},
            "confidence": 0.6,
        },
        "risk": {
            "kind": "score",
            "score": 1.7,
            "probabilities": {"0": 0.1, "1": 0.3, "2": 0.4, "3": 0.2},
            "confidence": 0.5,
        },
        "late": {"kind": "noul", "noul": 0.8},
    },
}


def with_value(path: str, value: object) -> dict[str, Any]:
    """Return the good response with one value put in place (keys separated by slashes)."""
    body = copy.deepcopy(GOOD)
    inner: Any = body
    *outer, last = path.split("/")
    for key in outer:
        inner = inner[key]
    inner[last] = value
    return body


def without(path: str) -> dict[str, Any]:
    """Return the good response with one key left out."""
    body = copy.deepcopy(GOOD)
    inner: Any = body
    *outer, last = path.split("/")
    for key in outer:
        inner = inner[key]
    del inner[last]
    return body


def admitted(body: object) -> Admission:
    """Admit a response to `REQUEST`."""
    return admit(REQUEST, Reply(body=body, version="1"), engine="demo")
