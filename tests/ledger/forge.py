"""A real repository with a ledger in it, and plain git to honour or tamper with it.

Honest history is written by the package's own append; everything dishonest is built with
git's plumbing, as an attacker or a careless script would.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

from hikmah.ledger import durable
from hikmah.ledger.append import Appended, append, start
from hikmah.ledger.chain import Genesis
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.locate import explicit
from hikmah.ledger.objects import Commit, parse_commit
from hikmah.ledger.staging import NewRecord
from hikmah.model.records import Record, blob_id, canonical
from hikmah.model.trace import Trace

TIME_S = 1_700_000_000
IDENTITY = {
    "GIT_AUTHOR_NAME": "Mallory",
    "GIT_AUTHOR_EMAIL": "mallory@example.org",
    "GIT_COMMITTER_NAME": "Mallory",
    "GIT_COMMITTER_EMAIL": "mallory@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


class Forge:
    """One bare repository and the ledger `memory` in it."""

    def __init__(self, path: Path, algorithm: str = "sha1") -> None:
        self.path = path
        self.algorithm = algorithm
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "--bare", f"--object-format={algorithm}")
        self.reopen()

    def reopen(self) -> None:
        """Forget everything cached about the repository."""
        self.ledger = Ledger(GitStore(explicit(self.path), environ=os.environ), "memory")

    # ---- plain git ---------------------------------------------------------------------

    def git(self, *args: str, data: bytes | None = None) -> str:
        """Run git in the repository and return what it prints, stripped."""
        done = subprocess.run(
            ["git", *args],
            cwd=self.path,
            input=data,
            capture_output=True,
            check=False,
            env={**os.environ, **IDENTITY},
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def head(self) -> str:
        """Return the commit the ledger's ref holds."""
        return self.git("rev-parse", "refs/hikmah/memory")

    def set_ref(self, commit: str) -> None:
        """Move the ledger's ref, whatever it holds."""
        self.git("update-ref", "refs/hikmah/memory", commit)

    def blob(self, data: bytes) -> str:
        """Write a blob."""
        return self.git("hash-object", "-w", "--stdin", data=data)

    def files(self, commit: str) -> dict[str, tuple[str, str]]:
        """Return the files of a commit: path to mode and blob id."""
        found: dict[str, tuple[str, str]] = {}
        for line in self.git("ls-tree", "-r", commit).splitlines():
            meta, path = line.split("\t")
            mode, _, oid = meta.split(" ")
            found[path] = (mode, oid)
        return found

    def tree(self, files: dict[str, tuple[str, str]]) -> str:
        """Write the trees that hold these files and return the root's id."""
        lines: list[str] = []
        folders: dict[str, dict[str, tuple[str, str]]] = {}
        for path, (mode, oid) in files.items():
            name, _, rest = path.partition("/")
            if rest:
                folders.setdefault(name, {})[rest] = (mode, oid)
            else:
                lines.append(f"{mode} blob {oid}\t{name}")
        for name, inner in folders.items():
            lines.append(f"040000 tree {self.tree(inner)}\t{name}")
        return self.git("mktree", "--missing", data="".join(f"{e}\n" for e in lines).encode())

    def commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        """Write a commit."""
        flags = [flag for parent in parents for flag in ("-p", parent)]
        return self.git("commit-tree", tree, *flags, data=message.encode())

    def parse(self, commit: str) -> Commit:
        """Return a commit's parts."""
        return parse_commit(self.raw(commit))

    def raw(self, oid: str) -> bytes:
        """Return an object's content."""
        kind = self.git("cat-file", "-t", oid)
        done = subprocess.run(
            ["git", "cat-file", kind, oid], cwd=self.path, capture_output=True, check=True
        )
        return done.stdout

    def rewrite(
        self,
        commit: str,
        *,
        parents: Sequence[str] | None = None,
        files: dict[str, tuple[str, str]] | None = None,
        tree: str | None = None,
        message: str | None = None,
    ) -> str:
        """Write a commit like another, with some of it changed; the ref stays."""
        was = self.parse(commit)
        return self.commit(
            tree or (was.tree if files is None else self.tree(files)),
            was.parents if parents is None else parents,
            was.message.decode() if message is None else message,
        )

    # ---- honest writes -----------------------------------------------------------------

    def init(self, ledger: str = "0" * 32) -> str:
        """Write the genesis and return its commit."""
        genesis = Genesis(format="hikmah/1", ledger=ledger, name="memory", created_at_ms=0)
        return start(self.ledger, genesis, time_s=TIME_S, lock_timeout_s=5).commit

    def add(self, *records: Record) -> Appended:
        """Append records as one commit."""
        new = [NewRecord(self.id(r), r, canonical(r)) for r in records]
        # These tests are about what is written, not about power cuts: no syncing.
        with mock.patch.object(durable, "sync_handle"):
            done = append(self.ledger, lambda _tip: new, time_s=TIME_S, lock_timeout_s=5)
        assert done is not None
        return done

    def add_many(self, count: int, first: int = 1) -> list[str]:
        """Append traces one by one and return their commits."""
        numbers = range(first, first + count)
        return [self.add(note(f"note {n}")).tip.commit for n in numbers]

    def id(self, record: Record) -> str:
        """Return the id a record has in this repository."""
        return blob_id(canonical(record), self.algorithm)


def note(content: str, **fields: object) -> Trace:
    """Return a trace that says something."""
    return Trace(content=content, created_at_ms=1_700_000_000_000, **fields)  # type: ignore[arg-type]  # any field
