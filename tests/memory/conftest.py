"""A memory in a fresh store, with a clock that only moves when it is read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hikmah.memory import Memory
from tests import world

NOW_MS = 1_800_000_000_000


def ticking() -> Callable[[], int]:
    """Return a clock that is a second later each time."""
    ticks = itertools.count(NOW_MS, 1_000)
    return lambda: next(ticks)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return world.repository(tmp_path / "repo")


@pytest.fixture
def memory(repo: Path) -> Iterator[Memory]:
    with Memory.open(repo, environ={}, clock=ticking()) as opened:
        yield opened
