"""The union of two trees of one ledger, made by structure.

Pure over a `read` function. What both trees share is not looked into, so that the cost
follows what differs. Records stand at paths that their number and id fix, and are never
changed: two trees can disagree about a path only where two ids share their first 48 bits,
or where one of the trees is no ledger's. Then there is no union.
"""

from __future__ import annotations

from typing import NamedTuple

from hikmah.errors import IntegrityError, RefusedError
from hikmah.ledger.chain import MAX_DEPTH, Read
from hikmah.ledger.objects import (
    TREE_MODE,
    RawObject,
    TreeEntry,
    parse_tree,
    raw_object,
    tree_bytes,
)


class Union(NamedTuple):
    """A united tree: its id, and the trees that have to be written for it, the root last."""

    root: str
    written: tuple[RawObject, ...]


def unite(read_object: Read, one: str, other: str, algorithm: str) -> Union:
    """Return the union of two root trees; which is named first makes no difference.

    Raises:
        RefusedError: They hold different things at one path.
        IntegrityError: A tree on the way is missing, damaged or malformed.
    """
    united = _Uniting(read_object, algorithm)
    root = united.tree("", one, other)
    return Union(root, tuple(united.written))


class _Uniting:
    def __init__(self, read_object: Read, algorithm: str) -> None:
        self.written: list[RawObject] = []
        self._read = read_object
        self._algorithm = algorithm

    def tree(self, path: str, one: str, other: str) -> str:
        """Return the id of two trees' union."""
        if one == other:
            return one
        if path.count("/") > MAX_DEPTH:
            raise IntegrityError(f"{path} is deeper than any record stands")
        entries = self._entries(one)
        for name, entry in self._entries(other).items():
            mine = entries.get(name)
            entries[name] = entry if mine is None else self._entry(path, mine, entry)
        united = raw_object(b"tree", tree_bytes(entries.values()), self._algorithm)
        if united.oid not in {one, other}:
            self.written.append(united)
        return united.oid

    def _entry(self, path: str, one: TreeEntry, other: TreeEntry) -> TreeEntry:
        if one == other:
            return one
        name = one.name.decode("utf-8", "backslashreplace")
        if one.mode == other.mode == TREE_MODE:
            inner = self.tree(f"{path}{name}/", one.oid, other.oid)
            return TreeEntry(TREE_MODE, one.name, inner)
        raise RefusedError(
            f"{path}{name} is {_told(one)} on one side and {_told(other)} on the other",
            hint="both cannot stand at one path: look at each with `git cat-file -p ID`",
            where=path + name,
        )

    def _entries(self, oid: str) -> dict[bytes, TreeEntry]:
        kind, data = self._read(oid)
        if kind != b"tree":
            raise IntegrityError(f"object {oid} is a {kind.decode()}, not a tree", where=oid)
        return {entry.name: entry for entry in parse_tree(data, self._algorithm)}


def _told(entry: TreeEntry) -> str:
    return f"the {'folder' if entry.mode == TREE_MODE else 'file'} {entry.oid}"
