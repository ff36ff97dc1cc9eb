"""Remotes whose ref holds what no honest machine puts there: told, and nothing moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.errors import IntegrityError
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.merge import merge_commit
from hikmah.ledger.objects import commit_bytes, parse_commit
from tests import world
from tests.remotes.roads import copy_of, push, refs, sync, tip

REF = world.REF
TREE = f"{REF}^{{tree}}"


def raw(repo: Path, commit: str) -> bytes:
    """Return a commit's bytes."""
    return (world.git(repo, "cat-file", "commit", commit) + "\n").encode()


def blob(repo: Path) -> str:
    """Return a blob."""
    return world.git(repo, "rev-parse", f"{REF}:ledger.json")


def tree(repo: Path) -> str:
    """Return a tree."""
    return world.git(repo, "rev-parse", TREE)


def tag(repo: Path) -> str:
    """Return a tag of the honest head."""
    world.git(repo, "tag", "-a", "-m", "a tag", "forged", REF)
    return world.git(repo, "rev-parse", "refs/tags/forged")


def empty(repo: Path) -> str:
    """Return a commit that adds nothing."""
    return world.git(repo, "commit-tree", TREE, "-p", REF, "-m", "x")


def octopus(repo: Path) -> str:
    """Return a merge of three."""
    three = [world.git(repo, "commit-tree", TREE, "-p", REF, "-m", f"{n}") for n in range(3)]
    parents = [word for one in three for word in ("-p", one)]
    said = "merge: two heads of one ledger"
    return world.git(repo, "commit-tree", TREE, *parents, "-m", said)


def folder(repo: Path) -> str:
    """Return a commit in which a file stands where records had their folder."""
    genesis = blob(repo)
    files = world.git(repo, "mktree", text=f"100644 blob {genesis}\t0000\n")
    listed = f"100644 blob {genesis}\tledger.json\n040000 tree {files}\trecords\n"
    forged = world.git(repo, "mktree", text=listed)
    return world.git(repo, "commit-tree", forged, "-p", REF, "-m", "x")


def beginning(repo: Path) -> str:
    """Return the same genesis record in a commit of its own."""
    alone = world.git(repo, "mktree", text=f"100644 blob {blob(repo)}\tledger.json\n")
    said = world.git(repo, "log", "--format=%B", "--max-parents=0", REF)
    return world.git(repo, "commit-tree", alone, "-m", said)


FORGED = {make.__name__: make for make in (blob, tree, tag, empty, octopus, folder, beginning)}


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        pytest.param("blob", "is a blob, not a commit", id="a blob"),
        pytest.param("tree", "is a tree, not a commit", id="a tree"),
        pytest.param("tag", "is a tag, not a commit", id="a tag"),
        pytest.param("empty", "the commit adds nothing", id="a commit without a record"),
        pytest.param("octopus", "a merge has two parents", id="three parents"),
        pytest.param("folder", "is not what it is in the parent", id="a file for a folder"),
        pytest.param("beginning", "second beginning", id="its genesis again, by other hands"),
    ],
)
def test_what_no_join_may_take(
    here: Ledger, bare: Path, tmp_path: Path, kind: str, told: str
) -> None:
    """Exit 6, naming what is wrong; the ledger here is as it was, and so is the remote."""
    push(here, bare)
    ledger = copy_of(here, tmp_path / "there")
    world.put(ledger, "three from there")
    before = tip(ledger)
    forged = FORGED[kind](bare)
    (bare / REF).write_text(f"{forged}\n")
    with pytest.raises(IntegrityError, match=told):
        sync(ledger, bare)
    assert (tip(ledger), ledger.standing().kind) == (before, "equal")
    assert refs(bare)[REF] == forged
    assert ledger.store.refs_below("refs/hikmah-backup/") == []


def test_two_beginnings_merged_as_a_join_would_are_refused(
    here: Ledger, bare: Path, tmp_path: Path
) -> None:
    """Bytes, tree and parents of an honest merge, and another genesis behind it."""
    push(here, bare)
    ledger = copy_of(here, tmp_path / "there")
    head = world.git(bare, "rev-parse", REF)
    parts = {oid: parse_commit(raw(bare, oid)) for oid in (head, beginning(bare))}
    data = commit_bytes(merge_commit(parts, parts[head].tree))
    merge = world.git(bare, "hash-object", "-t", "commit", "-w", "--stdin", text=data.decode())
    (bare / REF).write_text(f"{merge}\n")
    with pytest.raises(IntegrityError, match="second beginning"):
        sync(ledger, bare)
    assert tip(ledger) == head
