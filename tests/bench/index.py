"""The index: rebuild speed, memory, space, one append, a cold open with eight terms.

Targets (`docs/evidence.md`): 10,000 traces a second and 400 MiB at 100,000 traces, 0.9 KiB
a trace on disk. Each size is measured in a process of its own, so that memory is its own;
the time to make traces up is left out.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from hikmah.index import terms
from hikmah.index.database import Index
from hikmah.model.records import Stored
from tests.bench import synthetic
from tests.bench.measuring import ROUNDS, Row, percentile, process

LEDGER = "0" * 32
CHUNK = 1_000
QUERIES = 31


class Clock:
    """Seconds spent, without those spent making records up."""

    def __init__(self) -> None:
        self._aside_s = 0.0
        self._started = time.perf_counter()

    def leave_out(self, records: Iterator[Stored]) -> Iterator[Stored]:
        """Yield records, a thousand at a time, with the clock stopped while they are made."""
        while True:
            stopped = time.perf_counter()
            chunk = list(islice(records, CHUNK))
            self._aside_s += time.perf_counter() - stopped
            if not chunk:
                return
            yield from chunk

    def seconds(self) -> float:
        """Return the seconds so far."""
        return time.perf_counter() - self._started - self._aside_s


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure each size in a new process."""
    return [json.loads(process("-m", "tests.bench.index", str(size))()) for size in sizes]


def measure(size: int) -> Row:
    """Build an index of made-up traces and read it back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.db"
        row: Row = {"traces": size, **rebuild(path, size)}
        row["bytes_a_trace"] = path.stat().st_size / size
        row["append_ms"] = appends(path, size)
        return row | cold_reads(path)


def rebuild(path: Path, size: int) -> Row:
    """Fill an empty index; the file is checkpointed when it is closed."""
    clock = Clock()
    with Index.open(path, language="english") as index:
        records = clock.leave_out(synthetic.stored(size))
        index.extend(records, ledger=LEDGER, base=None, head="built")
    took_s = clock.seconds()
    return {"traces_a_second": size / took_s, "peak_mib": peak_mib()}


def appends(path: Path, size: int) -> float:
    """Return the median milliseconds that taking in one more trace takes."""
    more = list(islice(synthetic.stored(ROUNDS * 3, seed=1), ROUNDS * 3))
    times: list[float] = []
    with Index.open(path, language="english") as index:
        for number, one in enumerate(more):
            moved = Stored(id=one.id, seq=size + number + 1, record=one.record, data=one.data)
            started = time.perf_counter()
            index.extend([moved], ledger=LEDGER, base=index.head, head=f"more {number}")
            times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def cold_reads(path: Path) -> Row:
    """Open the file anew for each query and read what scoring reads of its terms."""
    opened: list[float] = []
    read: list[float] = []
    found = 0
    for query in synthetic.queries(QUERIES, seed=2):
        asked = [one.term for one in terms.query_terms(query)]
        started = time.perf_counter()
        with Index.open(path, language="english") as index:
            corpus = index.corpus()
            assert index.head
            assert corpus.size
            opened.append(1000 * (time.perf_counter() - started))
            frequency = corpus.frequency(asked)
            found += sum(len(corpus.postings(term).docs) for term in frequency)
        read.append(1000 * (time.perf_counter() - started))
    return {
        "open_ms": statistics.median(opened),
        "open_and_read_ms": statistics.median(read),
        "open_and_read_p95_ms": percentile(read, 0.95),
        "postings_a_query": found // QUERIES,
    }


def peak_mib() -> float:
    """Return the most memory this process has held; 0 where nobody says."""
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1 << 20 if sys.platform == "darwin" else 1 << 10)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]))))
