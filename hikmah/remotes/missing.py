"""What a repository lacks of a ledger: every object of some commits, by id, once."""

from __future__ import annotations

from collections.abc import Iterator

from hikmah.ledger.ancestry import compare
from hikmah.ledger.chain import Read
from hikmah.ledger.objects import TREE_MODE, parse_commit, parse_tree


def missing_objects(read: Read, new: str, old: str | None, algorithm: str) -> Iterator[str]:
    """Yield the ids of what a head reaches and another does not, a commit before its trees.

    Args:
        read: Reads an object by id.
        new: The head that is to be sent.
        old: A head that is there already with all behind it; None: nothing is.
        algorithm: `sha1` or `sha256`.
    """
    seen: set[str] = set()
    for oid in _commits(read, new, old, algorithm):
        yield oid
        commit = parse_commit(read(oid)[1])
        base = parse_commit(read(commit.parents[0])[1]).tree if commit.parents else None
        yield from _tree(read, commit.tree, base, algorithm, seen)


def _commits(read: Read, new: str, old: str | None, algorithm: str) -> Iterator[str]:
    if old is not None:
        yield from compare(read, new, old, algorithm).left
        return
    waiting, seen = [new], {new}
    while waiting:
        oid = waiting.pop()
        yield oid
        parents = [p for p in parse_commit(read(oid)[1]).parents if p not in seen]
        seen.update(parents)
        waiting += parents


def _tree(read: Read, tree: str, base: str | None, algorithm: str, seen: set[str]) -> Iterator[str]:
    """Yield a tree and what it holds beyond another tree."""
    if tree == base or tree in seen:
        return
    seen.add(tree)
    yield tree
    known = {e.name: e.oid for e in parse_tree(read(base)[1], algorithm)} if base else {}
    for entry in parse_tree(read(tree)[1], algorithm):
        before = known.get(entry.name)
        if entry.oid == before:
            continue
        if entry.mode == TREE_MODE:
            yield from _tree(read, entry.oid, before, algorithm, seen)
        elif entry.oid not in seen:
            seen.add(entry.oid)
            yield entry.oid
