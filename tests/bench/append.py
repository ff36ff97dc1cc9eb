"""Writing: one synced append on ledgers of several sizes, and a batch from nothing."""

from __future__ import annotations

import contextlib
import itertools
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hikmah.memory import Memory
from tests.bench.ledgers import opened
from tests.bench.measuring import Row, interleaved, process

ROUNDS = 101
# In a process of its own, so that the peak is the batch's and not the benchmark's.
BATCH = """
import json, pathlib, resource, sys, time
from hikmah.memory import Memory
from tests.bench.ledgers import items
folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
rows = list(items(count))
started = time.perf_counter()
memory, _ = Memory.init(folder, standalone=True, environ={})
with memory:
    memory.remember_batch(rows)
took = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"took_s": took, "peak_kib": peak}))
"""


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure appends and batches at these sizes."""
    return [*_appends(sizes), *(_batch(size) for size in sizes)]


def _appends(sizes: Sequence[int]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        memories: dict[str, Memory] = {}
        for size in sizes:
            store = Path(folder) / str(size)
            memories[str(size)] = stack.enter_context(opened(store, size))
        times = interleaved({size: _append(memory) for size, memory in memories.items()}, ROUNDS)
    first = times[str(sizes[0])]
    return [
        {
            "what": "append, synced",
            "traces": size,
            "ms": round(times[str(size)] * 1000, 2),
            "against": f"the same at {sizes[0]:,}",
            "ratio": round(times[str(size)] / first, 3),
            "target": 1.2,
            "met": times[str(size)] / first <= 1.2,
        }
        for size in sizes
    ]


def _append(memory: Memory) -> Callable[[], object]:
    numbers = itertools.count()

    def action() -> None:
        memory.remember(f"one more line about deployment number {next(numbers)}")

    return action


def _batch(size: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        result = json.loads(process("-c", BATCH, folder, str(size))())
    took_s, peak_mib = result["took_s"], result["peak_kib"] / 1024
    largest = size >= 100_000
    return {
        "what": "batch from nothing",
        "traces": size,
        "s": round(took_s, 2),
        "traces/s": round(size / took_s),
        "peak MiB": round(peak_mib),
        "target": "30 s, 400 MiB" if largest else None,
        "met": (took_s <= 30 and peak_mib <= 400) if largest else None,
    }
