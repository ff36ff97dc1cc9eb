"""Sync of one new record a side, against the size of the ledger and the number of refs.

Two machines and a bare remote hold one ledger, packed. Each round both write a record; the
first pushes, the second joins and pushes, the first moves forward. Times are processor time,
which other load disturbs least: of this process and of the `git` programs it starts. `ours` is
this process's share of a sync that merges, `join` the join alone.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hikmah.ledger import space
from hikmah.ledger.append import append
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.locate import explicit
from hikmah.ledger.staging import NewRecord
from hikmah.model.records import blob_id, canonical
from hikmah.model.trace import Trace
from hikmah.remotes.join import join
from hikmah.remotes.naming import find_remote
from hikmah.remotes.road import open_road
from hikmah.remotes.sync import sync_ledger
from tests.bench.measuring import Row, clean_environment
from tests.bench.verify import written

ROUNDS = 9
REFS = (0, 10_000)
_NOW_MS = 1_900_000_000_000


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure each size with few and with many refs of the project around; ratios to the first."""
    first: dict[int, float] = {}
    first_ours: dict[int, float] = {}
    rows: list[Row] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            made = written(Path(folder) / "a", size)
            space.compact(made)
            made.store.close()
            for name in ("b", "remote"):
                shutil.copytree(Path(folder) / "a", Path(folder) / name)
            for refs in REFS:
                _add_refs(Path(folder) / "remote", refs)
                row = _measure(Path(folder), size, refs)
                for name, smallest in (("merge_s", first), ("ours_s", first_ours)):
                    took = float(str(row[name]))
                    smallest.setdefault(refs, took)
                    row[f"{name[:-2]} / smallest"] = took / smallest[refs]
                rows.append(row)
    return rows


def _measure(folder: Path, size: int, refs: int) -> Row:
    a, b = (Machine(folder, name) for name in "ab")
    times: dict[str, list[float]] = {
        "push_s": [],
        "merge_s": [],
        "forward_s": [],
        "ours_s": [],
        "join_s": [],
    }
    for turn in range(ROUNDS + 1):
        for name, took in _round(a, b, f"{size} {refs} {turn}"):
            if turn:
                times[name].append(took)
    medians: Row = {name: statistics.median(took) for name, took in times.items()}
    return {"records": size, "refs": refs, **medians}


def _round(a: Machine, b: Machine, text: str) -> Iterator[tuple[str, float]]:
    for machine in (a, b):
        machine.remember(f"{text} on {machine.name}")
    yield "push_s", processor_s(a.sync)
    before = _used_s(resource.RUSAGE_SELF)
    yield "merge_s", processor_s(b.sync)
    yield "ours_s", _used_s(resource.RUSAGE_SELF) - before
    yield "forward_s", processor_s(a.sync)
    yield "join_s", b.join_again()


class Machine:
    """One repository, and the way from it to the remote."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = folder / name
        environ = clean_environment()
        self.ledger = Ledger(GitStore(explicit(self.folder), environ=environ), "memory")
        store = self.ledger.store
        self.remote = find_remote(str(folder / "remote"), store.settings, root=self.folder)
        self.road = open_road(store, self.remote.push_url, environ=environ)

    def remember(self, text: str) -> None:
        """Append one record."""
        trace = Trace(content=text, created_at_ms=_NOW_MS)
        data = canonical(trace)
        new = [NewRecord(blob_id(data, self.ledger.algorithm), trace, data)]
        append(self.ledger, lambda _: new, time_s=_NOW_MS // 1000, lock_timeout_s=30)

    def sync(self) -> None:
        """Sync as the command does, without the index."""
        sync_ledger(
            self.ledger,
            self.remote,
            self.road,
            agree=lambda _: True,
            now_ms=_NOW_MS,
            timeout_s=30,
        )

    def join_again(self) -> float:
        """Join the two heads of the last merge elsewhere; return how long it took."""
        mine, theirs = (_git(self.folder, "rev-parse", f"{self.ledger.ref}^{n}") for n in (1, 2))
        _git(self.folder, "update-ref", "refs/hikmah/again", mine)
        again = Ledger(GitStore(explicit(self.folder), environ=clean_environment()), "again")
        shutil.rmtree(again.state.folder, ignore_errors=True)
        again.state.folder.mkdir()
        again.state.acknowledge(Head(commit=mine, seq=again.tip(mine).seq))
        return processor_s(lambda: join(again, theirs, now_ms=_NOW_MS, lock_timeout_s=30))


def processor_s(action: Callable[[], object]) -> float:
    """Return the processor time that one call took, of child processes, too."""
    everybody = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    before = sum(map(_used_s, everybody))
    action()
    return sum(map(_used_s, everybody)) - before


def _used_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _add_refs(repo: Path, count: int) -> None:
    """Give a repository so many branches, packed."""
    if count:
        head = _git(repo, "rev-parse", "refs/hikmah/memory")
        lines = "".join(f"create refs/heads/b{n} {head}\n" for n in range(count))
        _git(repo, "update-ref", "--stdin", text=lines)
        _git(repo, "pack-refs", "--all")


def _git(repo: Path, *words: str, text: str = "") -> str:
    done = subprocess.run(
        ["git", "-C", str(repo), *words],
        check=True,
        capture_output=True,
        text=True,
        input=text,
        env=clean_environment(),
    )
    return done.stdout.strip()
