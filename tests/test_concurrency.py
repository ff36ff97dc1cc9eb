"""Many writers at once: what was acknowledged is there, on one chain, and verifies.

The sizes of docs/evidence.md are `HIKMAH_TEST_WRITERS=16 HIKMAH_TEST_WRITES=50`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikmah.errors import IntegrityError
from hikmah.memory import Memory
from hikmah.model.records import canonical
from tests import world

WRITERS = int(os.environ.get("HIKMAH_TEST_WRITERS", "4"))
WRITES = int(os.environ.get("HIKMAH_TEST_WRITES", "4"))
ROOT = Path(__file__).resolve().parent.parent

LIBRARY = """
import os, sys
from hikmah.errors import IntegrityError
from hikmah.memory import Memory
name, count = sys.argv[1], int(sys.argv[2])
with Memory.open(lock_timeout_s=120) as memory:
    for n in range(count):
        try:
            print(memory.remember(f"{name} item {n}").id, flush=True)
        except IntegrityError:
            sys.exit(6)
"""
COMMAND = """
import subprocess, sys
name, count = sys.argv[1], int(sys.argv[2])
for n in range(count):
    words = ["--lock-timeout", "120", "remember", "--content", f"{name} item {n}", "--json"]
    done = subprocess.run([sys.executable, "-m", "hikmah", *words], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode)
    import json
    print(json.loads(done.stdout)["id"], flush=True)
"""


@pytest.fixture
def trees(tmp_path: Path) -> list[Path]:
    """Two worktrees of one repository with a first commit and a ledger."""
    repo = world.repository(tmp_path / "main")
    (repo / "file").write_text("x")
    world.git(repo, "add", "file")
    world.git(repo, "commit", "-q", "-m", "one")
    world.git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    with Memory.open(repo, environ={}) as memory:
        memory.remember("the first")
        memory.remember("the second")
    return [repo, tmp_path / "side"]


def writers(trees: list[Path]) -> list[subprocess.Popen[str]]:
    """Start writers: half through the library, half through the command, in both trees."""
    environ = {k: v for k, v in world.environment(trees[0]).items() if k != "PYTHONPATH"}
    environ["PYTHONPATH"] = str(ROOT)
    return [
        subprocess.Popen(
            [sys.executable, "-c", (LIBRARY, COMMAND)[n // 2 % 2], f"writer {n}", str(WRITES)],
            cwd=trees[n % 2],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(WRITERS)
    ]


class Meddler:
    """A shell that packs refs, collects garbage and moves refs while others write."""

    def __init__(self, repo: Path) -> None:
        self.repo = repo
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.failure: BaseException | None = None
        self.rounds = 0

    def run(self) -> None:
        """Meddle until told to stop: other refs, packing, and stale values on this ref."""
        old = world.git(self.repo, "rev-parse", f"{world.REF}^")
        head = world.git(self.repo, "rev-parse", "HEAD")
        while not self.stop.is_set():
            self.rounds += 1
            self.git("pack-refs", "--all")
            self.git("gc", "--auto", "--quiet")
            self.git("update-ref", f"refs/tags/t{self.rounds % 7}", head)
            # A compare-and-swap from a value the ref has left behind must lose.
            self.git("update-ref", world.REF, head, old)

    def git(self, *arguments: str) -> None:
        """Run git; that it loses a race is its part."""
        subprocess.run(
            ["git", *arguments],
            cwd=self.repo,
            env=world.environment(self.repo),
            capture_output=True,
            check=False,
        )


@pytest.fixture
def meddler(trees: list[Path]) -> Iterator[Meddler]:
    meddling = Meddler(trees[0])
    yield meddling
    meddling.stop.set()


def finish(started: list[subprocess.Popen[str]]) -> tuple[list[str], list[int], str]:
    """Wait for writers; return the ids they acknowledged, their exit codes, what they said."""
    ids: list[str] = []
    codes: list[int] = []
    said = ""
    for process in started:
        out, err = process.communicate()
        ids += out.split()
        codes.append(process.returncode)
        said += err
    return ids, codes, said


def test_no_acknowledged_write_is_lost(trees: list[Path], meddler: Meddler) -> None:
    """Faults rows 1 and 2: library and command, two worktrees, git packing and meddling."""
    meddler.thread.start()
    ids, codes, said = finish(writers(trees))
    meddler.stop.set()
    meddler.thread.join()
    assert codes == [0] * WRITERS, said
    assert len(set(ids)) == WRITERS * WRITES
    assert meddler.rounds > 0
    with Memory.open(trees[0], environ={}) as memory:
        report = memory.verify()
        assert report.errors == ()
        assert report.records == WRITERS * WRITES + 2
        assert {memory.show(i).id for i in ids} == set(ids)
    # One chain: every commit but the genesis has one parent.
    parents = world.git(trees[0], "log", "--format=%P", world.REF).splitlines()
    assert all(len(line.split()) == 1 for line in parents if line)
    assert world.git(trees[0], "status", "--porcelain") == ""
    world.git(trees[0], "fsck", "--full", "--strict")


def test_a_foreign_commit_among_them_stops_the_rest(trees: list[Path]) -> None:
    """Faults row 2: all acknowledged before it are there; later writes name it; then ok."""
    started = writers(trees)
    first = started[0].stdout
    assert first is not None
    seen = first.readline().strip()
    foreign = land_foreign_commit(trees[0])
    ids, codes, said = finish(started)
    assert set(codes) <= {0, 6}, said
    with Memory.open(trees[0], environ={}) as memory:
        shown = {memory.show(i).id for i in [seen, *ids]}
        assert shown == {seen, *ids}
        with pytest.raises(IntegrityError, match=foreign):
            memory.remember("too late")
        assert not memory.verify().ok
        memory.accept_tail()
        assert memory.verify().ok
        assert memory.remember("after the decision").id


def land_foreign_commit(repo: Path) -> str:
    """Put a commit of another program on the ledger, as `git update-ref` does."""
    while True:
        tip = world.git(repo, "rev-parse", world.REF)
        tree = world.git(repo, "rev-parse", f"{tip}^{{tree}}")
        blob = world.git(
            repo, "hash-object", "-w", "--stdin", text=canonical(world.trace("foreign")).decode()
        )
        listing = world.git(repo, "ls-tree", "-r", "--name-only", tip, "records/").splitlines()
        seq = max(int(name[8:18].replace("/", "")) for name in listing) + 1
        digits = f"{seq:08d}"
        path = f"records/{digits[:4]}/{digits[4:6]}/{digits[6:]}-remember-{blob[:12]}.json"
        index = repo / ".git" / f"foreign-index-{seq}"
        new_tree = add_to_tree(repo, index, tree, path, blob)
        message = f"remember observation {blob[:8]}: foreign\n\nHikmah-Seq: {seq}\n"
        message += f"Hikmah-Type: remember\nHikmah-Id: {blob}\nHikmah-Source: unknown\n"
        commit = world.git(repo, "commit-tree", new_tree, "-p", tip, text=message)
        done = subprocess.run(
            ["git", "update-ref", world.REF, commit, tip],
            cwd=repo,
            env=world.environment(repo),
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            return commit


def add_to_tree(repo: Path, index: Path, tree: str, path: str, blob: str) -> str:
    """Return a tree with one more file, by git's own means and an index of its own."""
    environ = world.environment(repo) | {"GIT_INDEX_FILE": str(index)}
    for words in (
        ["read-tree", tree],
        ["update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"],
    ):
        subprocess.run(["git", *words], cwd=repo, env=environ, check=True, capture_output=True)
    done = subprocess.run(
        ["git", "write-tree"], cwd=repo, env=environ, check=True, capture_output=True, text=True
    )
    index.unlink()
    return done.stdout.strip()
