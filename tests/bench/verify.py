"""Verification against `git fsck`, packing, and the room a trace takes in git.

The ledger is written commit by commit, as appends would, but straight into one pack; then
it is packed by this package and, as a copy, by git. Times of one size come from one
machine in one run; only the ratios mean something elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hikmah.ledger import space
from hikmah.ledger.append import start
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.chain import Addition, FileAt, Genesis, extend_tree, message, record_path
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.locate import explicit
from hikmah.ledger.objects import Commit, RawObject, commit_bytes, raw_object
from hikmah.ledger.ownpacks import OwnPacks
from hikmah.ledger.verify import verify
from hikmah.model.records import canonical
from tests.bench import synthetic
from tests.bench.measuring import Row, interleaved, seconds

CONTENT_CHARS = 500  # what the target for space is given for
LONG_WORDS = 160  # enough that each has as many characters before it is cut
_SIGNATURE = b"hikmah <hikmah@localhost> %d +0000"
_START_S = 1_700_000_000


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure each size in a repository of its own."""
    return [_measure(size) for size in sizes]


def _measure(size: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        ledger = written(Path(folder) / "ours", size)
        compact_s = seconds(lambda: space.compact(ledger))
        theirs = Path(folder) / "theirs"
        shutil.copytree(ledger.store.common_dir, theirs)
        repack_s = seconds(lambda: _git(theirs, "gc", "-q", "--prune=now"))
        times = interleaved(
            {
                "verify": lambda: _verified(ledger, size),
                "fsck": lambda: _git(ledger.store.common_dir, "fsck", "--full", "--no-progress"),
            },
            rounds=7 if size <= 10_000 else 3,
        )
        return {
            "traces": size,
            "verify_s": times["verify"],
            "fsck_s": times["fsck"],
            "verify / fsck": times["verify"] / times["fsck"],
            "objects/s": round(_objects_per_second(ledger)),
            "verify MiB": round(_peak_mib(ledger, size), 1),
            "compact_s": compact_s,
            "git gc_s": repack_s,
            "bytes a trace": _bytes(ledger.store.common_dir) // size,
            "by git gc": _bytes(theirs) // size,
        }


def written(path: Path, size: int) -> Ledger:
    """Return a ledger of so many traces, one a commit, in one plain own pack."""
    path.mkdir()
    _git(path, "init", "-q", "--bare")
    ledger = Ledger(GitStore(explicit(path), environ=os.environ), "memory")
    genesis = Genesis(format="hikmah/1", ledger="0" * 32, name="memory", created_at_ms=0)
    tip = start(ledger, genesis, time_s=_START_S, lock_timeout_s=5)
    packs = OwnPacks(ledger)
    with packs.writer() as writer:
        for raw in _objects(ledger, tip.commit, tip.root, size):
            writer.add(bytes.fromhex(raw.oid), raw.kind, raw.data)
        head = raw.oid
        checksum, index = writer.finish()
    packs.publish(packs.read(), f"pack-{checksum.hex()}", index)
    _git(path, "update-ref", ledger.ref, head)
    ledger.state.acknowledge(Head(commit=head, seq=size))
    return ledger


def _objects(ledger: Ledger, parent: str, root: str, size: int) -> Iterator[RawObject]:
    """Yield the objects of so many appends, each append's commit last."""
    edge: dict[str, tuple[bytes, bytes]] = {}

    def read(oid: str) -> tuple[bytes, bytes]:
        return edge.get(oid) or ledger.store.read(oid)

    for seq, long in enumerate(synthetic.traces(size, words=LONG_WORDS), start=1):
        trace = msgspec.structs.replace(long, content=long.content[:CONTENT_CHARS].strip())
        blob = raw_object(b"blob", canonical(trace), ledger.algorithm)
        path = record_path(seq, "remember", blob.oid)
        trees = list(extend_tree(read, root, [FileAt(path, blob.oid)], ledger.algorithm))
        line = _SIGNATURE % (_START_S + seq)
        text = message([Addition(seq, blob.oid, trace)])
        data = commit_bytes(Commit(trees[-1].oid, (parent,), line, line, text))
        commit = raw_object(b"commit", data, ledger.algorithm)
        edge = {tree.oid: (tree.kind, tree.data) for tree in trees}
        root, parent = trees[-1].oid, commit.oid
        yield from (blob, *trees, commit)


def _verified(ledger: Ledger, size: int) -> None:
    report = verify(ledger)
    if not report.ok or report.records != size:
        raise RuntimeError(f"verification failed: {report.errors[:3]}")


def _objects_per_second(ledger: Ledger) -> float:
    """Return how fast the reader hands out hashed objects, in the order of the pack."""
    packs = OwnPacks(ledger)
    pack = packs.open(packs.read().packs[0])
    if pack is None:
        raise RuntimeError("the pack does not open")
    ids = [oid.hex() for oid in pack.offsets().values()]
    pack.close()
    with ObjectReader(ledger.store) as reader:
        return len(ids) / seconds(lambda: [reader.read(oid) for oid in ids])


def _peak_mib(ledger: Ledger, size: int) -> float:
    tracemalloc.start()
    try:
        _verified(ledger, size)
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def _bytes(repository: Path) -> int:
    """Return the bytes of packs and their indexes."""
    return sum(p.stat().st_size for p in (repository / "objects" / "pack").iterdir())


def _git(repository: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True)
