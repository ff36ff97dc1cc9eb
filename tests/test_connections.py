"""Which commands can open a network connection: only those that docs/security.md lists."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hikmah.__main__ import EARLY
from hikmah.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
NAMES = COMMANDS.keys() | EARLY.keys()
# One command line at least for each command, in an order in which they succeed. `@N` stands
# for the id of the record that the N-th line wrote, counted from 0.
LINES = (
    ("init",),
    ("remember", "--content", "one", "--claim-key", "k", "--claim-value", "1"),
    ("remember", "--content", "two", "--claim-key", "k", "--claim-value", "2"),
    ("conflicts",),
    ("supersede", "@1", "@2"),
    ("remember", "--content", "promised", "--kind", "commitment", "--deadline", "+1h"),
    ("commitments",),
    ("fulfill", "@5"),
    ("recall", "two"),
    ("show", "@2"),
    ("purge", "@2", "--reason", "no longer wanted"),
    ("log",),
    ("predict", "--family", "f", "--type", "noul", "--p", "0.5", "--question", "q?"),
    ("outcome", "@12", "--observed", "true"),
    ("calibration",),
    ("plan", "--problem", str(EXAMPLES / "plan-problem.json")),
    ("deliberate", "--from-ledger"),
    ("consolidate",),
    ("evolve",),
    ("stats",),
    ("hash",),
    ("entity", "add", "Ann", "--type", "person"),
    ("entity", "list"),
    ("event", "add", "deploy", "--payload", "{}"),
    ("event", "list"),
    ("export", "--to", "jsonl", "--output", "memory.jsonl"),
    ("import", "memory.jsonl", "--from", "jsonl"),
    ("hook",),
    ("gate-explain",),
    ("hooks", "status"),
    ("validate", "--root", str(ROOT)),
    ("status",),
    ("doctor",),
    ("reindex",),
    ("compact",),
    ("verify-ledger",),
    ("pin",),
    ("repair",),
    ("guard", "check", "--ref", "refs/heads/main", "", "0" * 40),
    ("policy",),
    ("completion", "bash"),
    ("demo",),
    ("decide", "--frame", str(EXAMPLES / "decision-frame.json")),
    ("ask", "--request", str(EXAMPLES / "decision-request.json")),
)
# The first refuses below fifty resolved forecasts, and says no more here; the second reports
# on the checkout, and is held to its answer by tests of its own.
MAY_FAIL = frozenset({"gate-threshold", "validate"})
# What reaches a remote: always, when it is asked to, or once when a ledger begins.
TRAVELLING = {"push", "fetch", "sync", "clone", "verify-ledger", "init"}
DRIVER = """
import io, json, sys
seen = []
NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind")
sys.addaudithook(lambda name, _: seen.append(name) if name.startswith(NETWORK) else None)
from hikmah.__main__ import main
from hikmah.memory import Memory
ids, report = [], []
for words in json.load(sys.stdin):
    filled = [ids[int(word[1:])] if word[:1] == "@" else word for word in words]
    sys.stdout = io.TextIOWrapper(io.BytesIO(), "utf-8")
    code = main(filled)
    with Memory.open(".", environ={}) as memory:
        newest = memory.log(limit=1).items
    ids.append(newest[0].id if newest else "")
    report.append([words[0], code, seen[:]])
    seen.clear()
open("report.json", "w").write(json.dumps(report))
"""


def listed() -> set[str]:
    """Return the commands that the document says can open a connection."""
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    table = text.split("\n## Connections\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int, list[str]]]:
    """Run every line in one process that notes each use of the network."""
    folder = tmp_path_factory.mktemp("connections")
    lines = [*(words for words in LINES if words[0] in NAMES), ("gate-threshold",)]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(lines),
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "SYSTEMROOT": os.environ.get("SYSTEMROOT", ""),
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = (folder / "report.json").read_text("utf-8")
    return [(name, code, events) for name, code, events in json.loads(text)]


def test_no_command_opens_a_connection_unasked(
    report: list[tuple[str, int, list[str]]],
) -> None:
    """With no engine named, no command connects, resolves a name or binds an address."""
    assert {name: events for name, _, events in report if events} == {}


def test_every_line_does_its_work(report: list[tuple[str, int, list[str]]]) -> None:
    """The lines above succeed, so that what was watched is the command at work."""
    failed = {name: code for name, code, _ in report if code and name not in MAY_FAIL}
    assert failed == {}


def test_every_command_is_watched_or_listed() -> None:
    """A command stands in the lines above, or in the document's table of connections."""
    watched = {words[0] for words in LINES} | MAY_FAIL
    assert watched | listed() >= NAMES


def test_the_document_lists_commands_that_exist() -> None:
    """The table of connections names those that can be given an engine, and those that travel."""
    assert listed() == {"ask", "decide", "hook", "gate-explain"} | TRAVELLING
    assert listed() <= NAMES
