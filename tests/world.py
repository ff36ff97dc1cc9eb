"""A world for tests: repositories in a temporary folder, and real git to look at them with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hikmah.ledger.append import Appended, append, start
from hikmah.ledger.chain import FORMAT, Genesis
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.locate import explicit
from hikmah.ledger.refs import clean_environment
from hikmah.ledger.staging import NewRecord
from hikmah.ledger.verify import verify
from hikmah.model.records import Record, blob_id, canonical
from hikmah.model.trace import Trace

REF = "refs/hikmah/memory"
LEDGER_ID = "5eed" * 8


def environment(home: Path) -> dict[str, str]:
    """Return an environment for git with nothing of the machine's own configuration."""
    return clean_environment(os.environ) | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@example.org",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.org",
    }


def git(repository: Path, *arguments: str, text: str | None = None) -> str:
    """Run git in a repository and return what it printed; a failure fails the test."""
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=repository,
        env=environment(repository),
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


def repository(folder: Path, *options: str) -> Path:
    """Make a git repository, `options` going to `git init`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", *options)
    return folder


def ledger(folder: Path, name: str = "memory", *, started: bool = True) -> Ledger:
    """Open the ledger of a repository, with a genesis unless told otherwise."""
    opened = reopened(folder, name)
    if started:
        begin(opened)
    return opened


def reopened(
    folder: Path, name: str = "memory", environ: Mapping[str, str] | None = None
) -> Ledger:
    """Open a ledger as another process would: nothing cached."""
    return Ledger(GitStore(explicit(folder), environ=environ or environment(folder)), name)


def begin(opened: Ledger) -> None:
    """Give a ledger its genesis."""
    genesis = Genesis(format=FORMAT, ledger=LEDGER_ID, name=opened.name, created_at_ms=0)
    start(opened, genesis, time_s=1, lock_timeout_s=5)


def trace(text: str, at_ms: int = 0) -> Trace:
    """Return a plain observation."""
    return Trace(content=text, created_at_ms=at_ms)


def put(opened: Ledger, *records: Record | str, lock_timeout_s: float = 5) -> Appended:
    """Append records (text stands for an observation) as one commit."""
    made = [trace(r) if isinstance(r, str) else r for r in records]
    new = [NewRecord(blob_id(canonical(r), opened.algorithm), r, canonical(r)) for r in made]
    appended = append(opened, lambda _: new, time_s=2, lock_timeout_s=lock_timeout_s)
    assert appended is not None
    return appended


def contents(opened: Ledger) -> list[str]:
    """Return a ledger's records in order of their paths, read by git alone."""
    repo = opened.store.common_dir
    listed = git(repo, "ls-tree", "-r", "--object-only", REF, "records/").splitlines()
    printed = git(repo, "cat-file", "--batch=hikmah-object", text="\n".join(listed) + "\n")
    return printed.split("hikmah-object\n")[1:] if listed else []


def join(repo: Path, *commits: str) -> str:
    """Return a commit that joins histories: the union of their trees, made by git alone."""
    index = repo / ".git" / "join-index"
    environ = environment(repo) | {"GIT_INDEX_FILE": str(index)}

    def run(*words: str, text: str = "") -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=repo,
            env=environ,
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    listed = {line for commit in commits for line in run("ls-tree", "-r", commit).splitlines()}
    run("update-index", "--index-info", text="".join(f"{line}\n" for line in sorted(listed)))
    tree = run("write-tree")
    index.unlink()
    parents = [word for commit in sorted(commits) for word in ("-p", commit)]
    return run("commit-tree", tree, *parents, "-m", "join")


# ---- two machines ----------------------------------------------------------------------


def other_machine(folder: Path, origin: Ledger, *options: str) -> Ledger:
    """Return a ledger's copy in another repository, brought by plain git and not yet written."""
    repo = repository(folder, *options)
    git(repo, "fetch", "-q", str(origin.store.common_dir), f"{origin.ref}:{origin.ref}")
    return reopened(folder, origin.name)


def bring(to: Ledger, origin: Ledger) -> str:
    """Fetch another machine's head by plain git, moving no ledger, and return it."""
    repo = to.store.common_dir
    git(repo, "fetch", "-q", "--no-write-fetch-head", str(origin.store.common_dir), origin.ref)
    to.store.close()
    head = origin.tip_commit()
    assert head is not None
    return head


def check_sound(opened: Ledger) -> None:
    """Check that a ledger verifies, is acknowledged, and that git finds nothing wrong."""
    report = verify(reopened(opened.store.repository.root, opened.name))
    assert report.errors == ()
    assert report.anchored
    git(opened.store.common_dir, "fsck", "--full", "--strict", "--no-progress", "--no-dangling")
