"""`python -m tests.bench`: run benchmarks, print a table, write JSON.

A benchmark is a module of this folder with a function `run(sizes) -> list[dict]`; the first
line of its docstring is what `--help` says of it. Modules are read, not imported, to list
them, since some need packages of the `bench` extra.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.measuring import ROOT, Row, machine, seconds

FOLDER = Path(__file__).resolve().parent
SIZES = (1_000, 10_000, 100_000)


def benchmarks() -> dict[str, str]:
    """Return every benchmark's name and what it measures."""
    found: dict[str, str] = {}
    for path in sorted(FOLDER.glob("[!_]*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body):
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def table(rows: Sequence[Row]) -> str:
    """Return rows as an aligned table; columns in the order in which they first appear."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [columns, *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def measure(name: str, sizes: Sequence[int], folder: Path) -> list[Row]:
    """Run one benchmark and write its rows to `<folder>/<name>.json`."""
    run = importlib.import_module(f"tests.bench.{name}").run
    rows: list[Row] = []
    took_s = seconds(lambda: rows.extend(run(sizes)))
    result = {
        "benchmark": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "sizes": list(sizes),
        "took_s": round(took_s, 1),
        "rows": rows,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return rows


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser; its help lists every benchmark."""
    listed = "\n".join(f"  {name:<12} {summary}" for name, summary in benchmarks().items())
    made = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measure Hikmah. Ratios hold within one run; leave the machine idle.",
        epilog=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("names", nargs="*", metavar="BENCHMARK", help="which to run; none: all")
    made.add_argument(
        "--sizes",
        type=lambda text: tuple(int(part.replace("_", "")) for part in text.split(",")),
        default=SIZES,
        metavar="N,N,...",
        help="numbers of traces, smallest first (default: 1000,10000,100000)",
    )
    made.add_argument(
        "--json",
        type=Path,
        default=ROOT / "bench-results",
        metavar="FOLDER",
        help="where each result goes as JSON (default: bench-results)",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks that were asked for."""
    options = parser().parse_args(arguments)
    unknown = set(options.names) - benchmarks().keys()
    if unknown:
        parser().error(f"no such benchmark: {', '.join(sorted(unknown))}")
    for name in options.names or benchmarks():
        sys.stdout.write(f"\n{name}: {benchmarks()[name]}\n")
        sys.stdout.flush()
        sys.stdout.write(table(measure(name, options.sizes, options.json)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
