"""Cold processes: bare imports against `remember` and `recall`.

Each figure is the median of a whole process, interpreter included, taken in turns.
Targets are docs/evaluation.md's.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench import synthetic
from tests.bench.ledgers import opened
from tests.bench.measuring import Row, interleaved, process

Action = Callable[[], object]
BARE = "python -c pass"
READER = "import click, msgspec, sqlite3"
WRITER = "import click, msgspec, dulwich.repo"
ROUNDS = 21


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure starts on ledgers of these sizes."""
    with tempfile.TemporaryDirectory() as folder:
        stores = {size: Path(folder) / str(size) for size in sizes}
        for size, store in stores.items():
            with opened(store, size):
                pass
        times = interleaved(_actions(stores), ROUNDS)
    return _rows(times, sizes)


def _actions(stores: dict[int, Path]) -> dict[str, Action]:
    actions: dict[str, Action] = {
        BARE: process("-c", "pass"),
        READER: process("-c", READER),
        WRITER: process("-c", WRITER),
    }
    for size, store in stores.items():
        actions[f"remember {size}"] = _remember(store)
        actions[f"recall {size}"] = _recall(store)
    return actions


def _remember(store: Path) -> Action:
    numbers = itertools.count()

    def action() -> None:
        text = f"measured start {next(numbers)}"
        process("-m", "hikmah", "--store", str(store), "remember", "--content", text)()

    return action


def _recall(store: Path) -> Action:
    queries = itertools.cycle(synthetic.queries(50, terms=6))

    def action() -> None:
        process("-m", "hikmah", "--store", str(store), "recall", next(queries))()

    return action


def _rows(times: dict[str, float], sizes: Sequence[int]) -> list[Row]:
    smallest = sizes[0]
    rows = [_row(name, None, times[name], BARE, times[BARE]) for name in (BARE, READER, WRITER)]
    for size in sizes:
        remember, recall = times[f"remember {size}"], times[f"recall {size}"]
        rows.append(_row("hikmah remember", size, remember, WRITER, times[WRITER], 1.6))
        against = (READER, times[READER], 1.3)
        if size != smallest:
            against = (f"recall {smallest:,}", times[f"recall {smallest}"], 1.5)
        rows.append(_row("hikmah recall", size, recall, *against))
    return rows


def _row(  # noqa: PLR0917  # one line of a table, in the table's order
    what: str,
    traces: int | None,
    took_s: float,
    against: str,
    other_s: float,
    target: float | None = None,
) -> Row:
    ratio = took_s / other_s
    return {
        "what": what,
        "traces": traces,
        "ms": round(took_s * 1000, 1),
        "against": against,
        "ratio": round(ratio, 3),
        "target": target,
        "met": None if target is None else ratio <= target,
    }
