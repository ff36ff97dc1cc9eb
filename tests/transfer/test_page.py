"""The examples of docs/transfer.md are what the code does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hikmah.model.trace import Trace
from hikmah.transfer.importing import Said
from tests.transfer.conftest import Stores, counts, dump, take

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "transfer.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"<!-- example: ([\w -]+) -->\n```\w*\n(.*?)```", PAGE, re.DOTALL))


def traces(stores: Stores, form: str, file: str = "") -> list[Trace]:
    """Return the traces that an example makes."""
    memory = stores()
    report = take(memory, EXAMPLES[form].encode(), form, said=Said(file=file))
    assert report.refused == 0, report.refusals
    found = [stored.record for stored in memory.records(memory.head())]
    return [record for record in found if isinstance(record, Trace)]


def test_a_line_of_the_export_is_as_shown(stores: Stores) -> None:
    """It comes in, and goes out the same."""
    memory = stores()
    assert counts(take(memory, EXAMPLES["jsonl"].encode())) == (1, 0, 0)
    assert dump(memory).decode() == EXAMPLES["jsonl"]


def test_an_old_ledger_is_as_shown(stores: Stores) -> None:
    """Its chain holds, and `imported` says what the page says."""
    (trace,) = traces(stores, "hikmah-jsonl")
    imported = json.loads(EXAMPLES["hikmah-jsonl trace"])
    assert msgspec.to_builtins(trace.imported) == imported


def test_a_graph_is_as_shown(stores: Stores) -> None:
    """It goes out as it came in, by name."""
    assert len(traces(stores, "mcp-memory")) == 5
    lines = dump(stores(), "mcp-memory").decode().splitlines()
    assert lines == EXAMPLES["mcp-memory"].splitlines()


def test_notes_are_as_shown(stores: Stores) -> None:
    """Each item with its place, kind, tags and text."""
    told = "".join(
        f"{t.provenance.locator:<11}  {t.kind}  [{', '.join(t.tags)}]  {t.content}\n"
        for t in traces(stores, "markdown", "notes.md")
    )
    assert told == EXAMPLES["markdown traces"]


def test_an_item_of_notes_is_as_shown(stores: Stores) -> None:
    """The id, the source and the day stand in a comment."""
    memory = stores(now_ms=1_896_000_000_000 + 0)
    memory.remember("never on Fridays", source="oncall")
    (item,) = [line for line in dump(memory, "markdown").decode().splitlines() if line[:1] == "-"]
    plain = re.sub(r"[0-9a-f]{8}|\d{4}-\d\d-\d\d", "#", item)
    assert plain == re.sub(r"[0-9a-f]{8}|\d{4}-\d\d-\d\d", "#", EXAMPLES["markdown export"].strip())


def test_the_library_is_used_as_shown(tmp_path: Path) -> None:
    """The program runs as it stands."""
    (tmp_path / "program.py").write_text(EXAMPLES["python"], "utf-8")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_looked_at(name: str) -> None:
    """No block is marked that no test here reads."""
    assert Path(__file__).read_text("utf-8").count(f'"{name}"') > 0
