"""What a ledger at hand adds to a cold hook, and that it finds what it should.

A message with a claim, in a project without a ledger, with one of each size, and with an open
commitment of the session among its traces. The budget for reading is 50 ms, imports apart.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hikmah.gate.remembered import open_commitments
from hikmah.memory import Memory
from tests.bench.ledgers import opened
from tests.bench.measuring import Row, interleaved, process

# The hook as `tests.bench.gate` starts it, its loop guard in a folder of the benchmark's own.
SCRIPT = (
    "import os, sys; os.environ['HIKMAH_HOOK_STATE'] = sys.argv[1];"
    "from hikmah.__main__ import main; sys.exit(main(['hook']))"
)
SESSION = "bench-session"
AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}
FAR_MS = 4_000_000_000_000


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure a claim without a ledger, then beside ledgers of each size."""
    rows: list[Row] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows += _beside(Path(folder), size)
    return rows


def _beside(folder: Path, size: int) -> list[Row]:
    store, empty = folder / "store", folder / "empty"
    empty.mkdir()
    with opened(store, size):
        pass
    with Memory.open(store, environ=AGENT) as memory:
        memory.remember("Send the report", kind="commitment")
        memory.commitments(include_all=True, limit=1)
    actions: dict[str, Callable[[], object]] = {
        "no ledger": _hook(folder, empty, SESSION),
        "another session": _hook(folder, store, "other"),
        "open commitment": _hook(folder, store, SESSION),
        "in process": lambda: open_commitments(SESSION, str(store), {}, now_ms=FAR_MS),
    }
    medians = interleaved(actions, rounds=15)
    found = open_commitments(SESSION, str(store), {}, now_ms=FAR_MS, budget_s=10)
    bare = medians["no ledger"]
    return [
        {
            "traces": size,
            "what": name,
            "ms": took * 1000,
            "more than no ledger ms": (took - bare) * 1000 if name != "in process" else None,
            "found": len(found),
        }
        for name, took in medians.items()
    ]


def _hook(folder: Path, cwd: Path, session: str) -> Callable[[], object]:
    event = {"session_id": session, "cwd": str(cwd), "last_assistant_message": "All done."}
    stdin = json.dumps(event).encode()
    return process("-c", SCRIPT, str(folder / "state"), stdin=stdin)
