"""Push: the first time and of one record after, against plain `git push` of the same ref.

`hikmah push` is `git push` and verification of what the remote lacks. Each round pushes to an
empty bare repository of its own, plain and verified in turn. Times are processor time of this
process and all it started, the least of the rounds; wall time, where it is given, goes up with
whatever else the machine does. `bytes` is what the remote's objects take up afterwards.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from hikmah.ledger import space
from hikmah.ledger.ledger import Ledger
from hikmah.remotes.naming import find_remote
from hikmah.remotes.pushing import push_ledger
from hikmah.remotes.road import open_road
from tests import world
from tests.bench.measuring import Row
from tests.bench.verify import written

ROUNDS = 3
WAYS = ("git", "hikmah")


class Cost(NamedTuple):
    """What one push took, and how large the remote is then."""

    cpu_s: float
    wall_s: float
    size_bytes: int


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure each size in a repository of its own."""
    return [_measure(size) for size in sizes]


def _measure(size: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        ledger = written(home / "ours", size)
        space.compact(ledger)
        first: dict[str, list[Cost]] = {way: [] for way in WAYS}
        later: dict[str, list[Cost]] = {way: [] for way in WAYS}
        for turn in range(ROUNDS):
            remotes = {way: world.repository(home / f"{way}-{turn}.git", "--bare") for way in WAYS}
            for way, bare in remotes.items():
                first[way].append(_cost(_pushing(way, ledger, bare), bare))
            world.put(ledger, f"one record more, {turn}")
            for way, bare in remotes.items():
                later[way].append(_cost(_pushing(way, ledger, bare), bare))
        row: Row = {"traces": size}
        for name, costs in (("first", first), ("one more", later)):
            git, ours = (min(cost.cpu_s for cost in costs[way]) for way in WAYS)
            row |= {f"{name}: git s": git, f"{name}: hikmah s": ours, f"{name}: times": ours / git}
            row[f"{name}: wall s"] = min(cost.wall_s for cost in costs["hikmah"])
        row["bytes, git"] = first["git"][0].size_bytes
        row["bytes, hikmah"] = first["hikmah"][0].size_bytes
        return row


def _pushing(way: str, ledger: Ledger, bare: Path) -> Callable[[], object]:
    if way == "git":
        refspec = f"{ledger.ref}:{ledger.ref}"
        return lambda: world.git(ledger.store.common_dir, "push", "-q", str(bare), refspec)
    remote = find_remote(str(bare), ledger.store.settings, root=bare.parent)
    road = open_road(ledger.store, str(bare), environ=os.environ)
    return lambda: push_ledger(ledger, remote, road, agree=lambda _: True, timeout_s=10)


def _cost(action: Callable[[], object], bare: Path) -> Cost:
    cpu, wall = _cpu_s(), time.perf_counter()
    action()
    took = Cost(_cpu_s() - cpu, time.perf_counter() - wall, 0)
    sizes = [path.stat().st_size for path in (bare / "objects").rglob("*") if path.is_file()]
    return took._replace(size_bytes=sum(sizes))


def _cpu_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
