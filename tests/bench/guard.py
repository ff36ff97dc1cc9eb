"""The guard: what one new record costs in a long ledger, in process, as a hook, in a push.

Times are processor time (user and system, of all processes taken part), the least of several
rounds: other load on the machine hardly counts. `link back` is a record that corrects the
very first one, the worst case for looking a link up.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hikmah.ledger.append import append
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.staging import NewRecord
from hikmah.model.records import blob_id, canonical
from hikmah.model.trace import Trace
from hikmah.remotes import guardhook
from hikmah.remotes.incoming import examine
from tests.bench.measuring import ROUNDS, Row
from tests.bench.verify import written

REF = "refs/hikmah/memory"


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure each size in a repository of its own."""
    return [_measure(size) for size in sizes]


def _measure(size: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        ledger = written(Path(folder) / "ours", size)
        old = ledger.tip_commit() or ""
        first = _oldest(ledger)
        plain = _added(ledger, Trace(content="one record more", created_at_ms=0))
        _set(ledger, old)
        back = _added(ledger, Trace(content="corrected", created_at_ms=0, supersedes=first))
        row: Row = {"traces": size}
        row["examine ms"] = _own_ms(lambda: _examined(ledger, plain, old))
        row["link back ms"] = _own_ms(lambda: _examined(ledger, back, old))
        row["all ms"] = _own_ms(lambda: _examined(ledger, old, None), rounds=1)
        guardhook.install(ledger.store, environ=os.environ)
        hook = [str(ledger.store.common_dir / "hooks" / "update"), REF, old, plain]
        where = ledger.store.common_dir
        row["hook ms"] = children_ms(lambda: run_program(where, "sh", *hook))
        row["python ms"] = children_ms(
            lambda: run_program(where, sys.executable, "-I", "-c", "pass")
        )
        return row | _pushes(ledger, old, plain, Path(folder))


def _pushes(ledger: Ledger, old: str, new: str, folder: Path) -> Row:
    """Push one record to a bare copy, with the guard and without."""
    server = folder / "server.git"
    run_program(folder, "git", "init", "-q", "--bare", str(server))
    run_program(server, "git", "fetch", "-q", str(ledger.store.common_dir), f"{old}:{REF}")
    run_program(server, "git", "repack", "-q", "-a", "-d")

    def push() -> None:
        run_program(ledger.store.common_dir, "git", "push", "-q", str(server), f"{new}:{REF}")
        run_program(server, "git", "update-ref", REF, old)
        for pack in (server / "objects").glob("??/*"):
            pack.unlink()

    plain = children_ms(push)
    hook = ledger.store.common_dir / "hooks" / "update"
    (server / "hooks").mkdir(exist_ok=True)
    (server / "hooks" / "update").write_bytes(hook.read_bytes())
    (server / "hooks" / "update").chmod(0o755)
    guarded = children_ms(push)
    return {"push ms": plain, "guarded push ms": guarded}


def _oldest(ledger: Ledger) -> str:
    listed = run_program(ledger.store.common_dir, "git", "ls-tree", "-r", REF, "records/0000/00/")
    return listed.split("\n")[0].split()[2]


def _added(ledger: Ledger, trace: Trace) -> str:
    data = canonical(trace)
    new = NewRecord(blob_id(data, ledger.algorithm), trace, data)
    done = append(ledger, lambda _: [new], time_s=2_000_000_000, lock_timeout_s=5)
    return done.tip.commit if done else ""


def _set(ledger: Ledger, commit: str) -> None:
    run_program(ledger.store.common_dir, "git", "update-ref", ledger.ref, commit)
    ledger.state.head_file.unlink()


def _examined(ledger: Ledger, new: str, old: str | None) -> None:
    found = examine(ledger, new, [old] if old else [], strict=True)
    if not found.ok:
        raise RuntimeError(f"not ok: {found.errors[:3]}")


def _own_ms(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the least processor time that this process took for an action."""
    took: list[float] = []
    for _ in range(rounds):
        started = time.process_time()
        action()
        took.append(time.process_time() - started)
    return 1000 * min(took)


def children_ms(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the least processor time that an action's processes took."""
    took: list[float] = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        action()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000 * min(took)


def run_program(where: Path, *words: str) -> str:
    """Run a program that must succeed; return what it printed."""
    done = subprocess.run(words, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stderr}")
    return done.stdout
