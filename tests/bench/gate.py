"""The hook's start-up against a bare Python, and its time on long messages.

Targets (docs/evidence.md): a cold hook within 2.5 times `python -c pass`; a message of 20 MB
within 20 times the time of one of 1 MB, also when it is built to make patterns backtrack.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from tests.bench.measuring import ROOT, Row, interleaved, process

START_TARGET = 2.5
LINEAR_TARGET = 20.0
MEGABYTE = 1_000_000
LARGE = 20
# What the installed `hikmah` script does, without needing an installation.
SCRIPT = "import sys; from hikmah.__main__ import main; sys.exit(main(['hook']))"
EVENTS = {
    "no claim": "I looked at the parser and changed nothing.",
    "claim": "All done. Every test passes.",
    "block": "All done! TODO: wire the retry path.",
}
# One message of each shape, repeated to size: plain text, then what patterns could choke on.
SHAPES: Mapping[str, str] = {
    "prose": "The parser reads numbers, strings and dates, and the tests pass for each of them. ",
    "denied claims": "It is not done. ",
    "claims and markers": "done todo ",
    "no clause end": "if you want it done and i'll add tests ",
    "blanks": " " * 50,
    "ticks": "`a ``b ```c ",
    "fences": "```\nx\n",
    "commas": ", , not ,",
    "inserts": "<insert a [insert b ",
    "marks": "e\u0316\u0301\u0316\u0301",
    "joined markers": "todo/fixme/tbd.",
}


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure start-up, then linearity; sizes of ledgers do not matter here."""
    del sizes
    return [*start_up(), *linearity()]


def start_up() -> list[Row]:
    """Time the hook's process beside a bare one, per kind of event and way to start."""
    rows: list[Row] = []
    launcher = str(ROOT / "hooks" / "truth_gate.py")
    for event, message in EVENTS.items():
        stdin = json.dumps({"last_assistant_message": message}).encode()
        ways: dict[str, Callable[[], object]] = {
            "python -c pass": process("-c", "pass"),
            "hikmah hook": process("-c", SCRIPT, stdin=stdin),
            "hooks/truth_gate.py": process(launcher, stdin=stdin),
        }
        medians = interleaved(ways, rounds=31)
        bare = medians.pop("python -c pass")
        rows += [
            {
                "what": f"{way}, {event}",
                "ms": took * 1000,
                "bare ms": bare * 1000,
                "ratio": took / bare,
                "target": START_TARGET,
                "met": took / bare <= START_TARGET,
            }
            for way, took in medians.items()
        ]
    return rows


def linearity() -> list[Row]:
    """Time the whole hook on one message of 1 MB and one of 20 MB of each shape."""
    return [_linear(name, shape) for name, shape in SHAPES.items()]


def _linear(name: str, shape: str) -> Row:
    small, large = (
        process("-c", SCRIPT, stdin=_event(shape, size)) for size in (MEGABYTE, LARGE * MEGABYTE)
    )
    medians = interleaved({"small": small, "large": large}, rounds=3)
    ratio = medians["large"] / medians["small"]
    return {
        "what": f"20 MB against 1 MB: {name}",
        "ms": medians["large"] * 1000,
        "bare ms": medians["small"] * 1000,
        "ratio": ratio,
        "target": LINEAR_TARGET,
        "met": ratio <= LINEAR_TARGET,
    }


def _event(shape: str, size: int) -> bytes:
    message = shape * (size // len(shape))
    return json.dumps({"last_assistant_message": message}, ensure_ascii=False).encode()
