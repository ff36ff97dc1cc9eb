"""Times that can be compared: interleaved, warmed up, medians, ratios in one run."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ROUNDS = 9  # an odd number of at least 7: the median is then a time that was measured
Row = dict[str, object]


def seconds(action: Callable[[], object]) -> float:
    """Return how long one call took."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def interleaved(
    actions: Mapping[str, Callable[[], object]], rounds: int = ROUNDS
) -> dict[str, float]:
    """Return the median seconds of each action, each run once a round after one warm-up round.

    Run one after the other, a later action would pay for the writeback of an earlier one.
    """
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(rounds + 1):
        for name, action in actions.items():
            took = seconds(action)
            if turn:
                times[name].append(took)
    return {name: statistics.median(took) for name, took in times.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * round(share * 100) // 100) - 1)]


def process(*arguments: str, stdin: bytes = b"") -> Callable[[], bytes]:
    """Return an action that runs this Python in a new process and demands that it succeeds."""

    def run() -> bytes:
        done = subprocess.run(
            [sys.executable, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env=clean_environment(),
        )
        if done.returncode:
            raise RuntimeError(f"{arguments}: exit {done.returncode}\n{done.stderr.decode()}")
        return done.stdout

    return run


def clean_environment() -> dict[str, str]:
    """Return an environment in which nobody's settings or agent host can be seen."""
    kept = {
        name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ
    }
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}


def machine() -> dict[str, str]:
    """Return what a figure needs beside it to be read by someone else."""
    git = subprocess.run(["git", "--version"], capture_output=True, check=False).stdout
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "git": git.decode().removeprefix("git version ").strip(),
    }
