"""Import and export: seconds, peak memory and packs for this project's own lines."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hikmah.model.records import Stored, blob_id, canonical
from hikmah.transfer import own
from tests.bench.measuring import Row, process
from tests.bench.synthetic import traces

# In a process of its own, so that the peak is the import's and not the benchmark's.
IMPORT = """
import json, pathlib, resource, sys, time
from hikmah.memory import Memory
from hikmah.transfer.importing import import_file
folder, file = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
memory, _ = Memory.init(folder, standalone=True, environ={})
times = {}
with memory, file.open("rb") as stream:
    for name, dry_run in (("dry run", True), ("import", False), ("import again", False)):
        started = time.perf_counter(), time.process_time()
        report = import_file(memory, stream, form="jsonl", dry_run=dry_run)
        times[name] = time.perf_counter() - started[0], time.process_time() - started[1]
        assert report.refused == 0
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
packs = len(list(folder.glob(".hikmah/objects/pack/*.pack")))
print(json.dumps({"times": times, "peak_kib": peak, "packs": packs}))
"""
EXPORT = """
import json, pathlib, resource, sys, time
from hikmah.memory import Memory
from hikmah.transfer.exporting import export
with Memory.open(sys.argv[1], environ={}) as memory, open(sys.argv[2], "wb") as file:
    started = time.perf_counter(), time.process_time()
    export(memory, file.write, to="jsonl")
    took = time.perf_counter() - started[0], time.process_time() - started[1]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"times": {"export, the same bytes": took}, "peak_kib": peak}))
"""


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure imports and exports of so many records."""
    return [row for size in sizes for row in _there_and_back(size)]


def _there_and_back(size: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, again = folder / "one.jsonl", folder / "two.jsonl"
        _write(file, size)
        taken = json.loads(process("-c", IMPORT, name, str(file))())
        given = json.loads(process("-c", EXPORT, name, str(again))())
        same = file.read_bytes() == again.read_bytes()
    rows = [_row(what, size, times, taken) for what, times in taken["times"].items()]
    rows += [_row(what, size, times, given) for what, times in given["times"].items()]
    rows[-1]["met"] = same
    if size >= 100_000:
        met = taken["times"]["import"][0] <= 30 and taken["peak_kib"] <= 400 * 1024
        rows[1] |= {"target": "30 s, 400 MiB, 1 pack", "met": met and taken["packs"] == 1}
    return rows


def _row(what: str, size: int, times: Sequence[float], result: dict[str, int]) -> Row:
    took_s, cpu_s = times
    return {
        "what": what,
        "records": size,
        "s": round(took_s, 2),
        "CPU s": round(cpu_s, 2),
        "records/s": round(size / took_s),
        "peak MiB": round(result["peak_kib"] / 1024),
        "packs": result.get("packs"),
    }


def _write(file: Path, size: int) -> None:
    with file.open("wb") as stream:
        for trace in traces(size):
            data = canonical(trace)
            line = own.line(Stored(id=blob_id(data), seq=0, record=trace, data=data))
            stream.write(line or b"")
