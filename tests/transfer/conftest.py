"""Stores to move memories between, and what the tests of several formats share."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hikmah.memory import Memory
from hikmah.transfer.exporting import export
from hikmah.transfer.importing import import_file
from hikmah.transfer.results import ExportReport, ImportReport
from hikmah.transfer.selection import Selection
from tests import world

NOW_MS = 1_800_000_000_000
AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"}


def ticking() -> Callable[[], int]:
    """Return a clock that is a second later each time."""
    ticks = itertools.count(NOW_MS, 1_000)
    return lambda: next(ticks)


class Stores:
    """Makes memories in stores of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: list[Memory] = []

    def __call__(self, name: str = "one", *options: str, **settings: Any) -> Memory:
        """Open the memory of a store, made when it is not there."""
        folder = self._folder / name
        if not folder.exists():
            world.repository(folder, *options)
        given = {"environ": {}, "clock": ticking(), **settings}
        memory = Memory.open(folder, **given)
        self._opened.append(memory)
        return memory

    def close(self) -> None:
        """Close everything that was opened."""
        for memory in self._opened:
            memory.close()


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    made = Stores(tmp_path)
    yield made
    made.close()


@pytest.fixture
def memory(stores: Stores) -> Memory:
    return stores()


def exported(memory: Memory, to: str = "jsonl", **chosen: Any) -> tuple[bytes, ExportReport]:
    """Return an export and its report."""
    file = io.BytesIO()
    report = export(memory, file.write, to=to, selection=Selection(**chosen))
    return file.getvalue(), report


def dump(memory: Memory, to: str = "jsonl", **chosen: Any) -> bytes:
    """Return an export."""
    return exported(memory, to, **chosen)[0]


def take(memory: Memory, data: bytes, form: str = "jsonl", **settings: Any) -> ImportReport:
    """Import bytes."""
    return import_file(memory, io.BytesIO(data), form=form, **settings)


def counts(report: ImportReport) -> tuple[int, int, int]:
    """Return how many items were written, there already, and refused."""
    assert report.written + report.present + report.refused == report.items
    return report.written, report.present, report.refused
