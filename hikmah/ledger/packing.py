"""Puts a ledger's objects into a pack, newest first, older trees as deltas.

Rules the module keeps:

1. The newest tree of a folder goes in whole; older ones of that folder become deltas of it
   (`hikmah.ledger.deltas`), records become deltas of one record of their type. No delta
   stands on another, so any object costs at most two reads.
2. Only objects that are asked for (`wanted`) go in; a tree that is not wanted is not
   looked into.
3. Every object is hashed on its way; one that is damaged stays where it is and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hikmah.errors import IntegrityError
from hikmah.ledger.chain import Read
from hikmah.ledger.deltas import LineBase, prefix_delta
from hikmah.ledger.growth import TreeReader
from hikmah.ledger.objects import (
    DIGEST_BYTES,
    TREE_MODE,
    Commit,
    TreeEntry,
    parse_commit,
    parse_tree,
)
from hikmah.ledger.packwriter import PackWriter

Wanted = Callable[[str], bool]


class Packer:
    """Walks history and adds what is wanted to a pack.

    Args:
        read: Reads an object by id, hashed.
        writer: Takes the objects.
        algorithm: `sha1` or `sha256`.
        wanted: Tells whether an object shall go in.
    """

    def __init__(self, read: Read, writer: PackWriter, algorithm: str, wanted: Wanted) -> None:
        self.damaged: dict[str, str] = {}
        self._read = read
        self._writer = writer
        self._algorithm = algorithm
        self._id_bytes = DIGEST_BYTES[algorithm]
        self._wanted = wanted
        self._trees = TreeReader(read, algorithm)
        self._tree_bases: dict[str, tuple[bytes, bytes]] = {}
        self._record_bases: dict[bytes, tuple[bytes, LineBase]] = {}

    def add_history(self, head: str, *, to_the_end: bool, tick: Callable[[], None]) -> None:
        """Add what is wanted of a commit and its ancestors.

        Args:
            head: The newest commit.
            to_the_end: Whether to go on past commits that are not wanted.
            tick: Called after each commit.
        """
        waiting: list[tuple[str, str | None]] = [(head, None)]
        seen: set[str] = set()
        while waiting:
            oid, newer = waiting.pop()
            if oid in seen or not (to_the_end or self._wanted(oid)):
                continue
            seen.add(oid)
            commit = self._add_commit(oid)
            if commit is None:
                continue
            self._add_tree("", commit.tree, newer)
            waiting += [(parent, commit.tree) for parent in reversed(commit.parents)]
            tick()

    def add_rest(self, oids: Iterable[str]) -> None:
        """Add objects in full that no walk came by: nothing is ever left out."""
        for oid in oids:
            if not self._has(oid):
                self._load(oid, add=True)

    def _has(self, oid: str) -> bool:
        return bytes.fromhex(oid) in self._writer

    def _load(self, oid: str, *, add: bool) -> tuple[bytes, bytes] | None:
        try:
            kind, data = self._read(oid)
        except IntegrityError as e:
            self.damaged[oid] = e.message
            return None
        if add:
            self._writer.add(bytes.fromhex(oid), kind, data)
        return kind, data

    def _add_commit(self, oid: str) -> Commit | None:
        found = self._load(oid, add=self._wanted(oid))
        if found is None:
            return None
        try:
            return parse_commit(found[1])
        except IntegrityError as e:
            self.damaged[oid] = e.message
            return None

    def _add_tree(self, path: str, oid: str, newer: str | None) -> None:
        """Add a tree and what it holds beyond the newer tree of the same folder."""
        if oid == newer or self._has(oid) or not self._wanted(oid):
            return
        try:
            data = self._trees.raw(oid)
            others = self._others(data, newer)
        except IntegrityError as e:
            self.damaged[oid] = e.message
            return
        self._put_tree(path, bytes.fromhex(oid), data)
        for entry, newer_oid in others:
            name = f"{path}/{entry.name.decode('latin-1')}"
            if entry.mode == TREE_MODE:
                self._add_tree(name, entry.oid, newer_oid)
            else:
                self._add_blob(entry)

    def _others(self, data: bytes, newer: str | None) -> list[tuple[TreeEntry, str | None]]:
        """Return the entries that the newer tree does not hold, with the newer's by that name."""
        held = self._held(newer)
        if held.startswith(data):
            return []
        if len(held) == len(data) and held.startswith(data[: -self._id_bytes]):
            last = self._trees.last_entry(data)
            if last.mode == TREE_MODE:
                return [(last, self._trees.last_entry(held).oid)]
        by_name = {entry.name: entry for entry in parse_tree(held, self._algorithm)}
        found: list[tuple[TreeEntry, str | None]] = []
        for entry in parse_tree(data, self._algorithm):
            other = by_name.get(entry.name)
            if other != entry:
                found.append((entry, other.oid if other else None))
        return found

    def _held(self, newer: str | None) -> bytes:
        """Return the newer tree's bytes: none when it cannot be read, which is named by now."""
        try:
            return b"" if newer is None else self._trees.raw(newer)
        except IntegrityError:
            return b""

    def _put_tree(self, path: str, oid: bytes, data: bytes) -> None:
        base = self._tree_bases.get(path)
        if base is not None:
            delta = prefix_delta(base[1], data, len(oid))
            if len(delta) < len(data):
                self._writer.add_delta(oid, base[0], delta)
                return
        self._writer.add(oid, b"tree", data)
        self._tree_bases[path] = (oid, data)

    def _add_blob(self, entry: TreeEntry) -> None:
        if self._has(entry.oid) or not self._wanted(entry.oid):
            return
        found = self._load(entry.oid, add=False)
        if found is None:
            return
        kind, data = found
        oid = bytes.fromhex(entry.oid)
        # `CC-<type>-<id12>.json`: records of one type have the same lines in the same order.
        like = entry.name.split(b"-")[1:2]
        if kind != b"blob" or not like:
            self._writer.add(oid, kind, data)
            return
        base = self._record_bases.get(like[0])
        if base is None:
            self._writer.add(oid, kind, data)
            self._record_bases[like[0]] = (oid, LineBase(data))
        else:
            self._put_record(oid, data, base)

    def _put_record(self, oid: bytes, data: bytes, base: tuple[bytes, LineBase]) -> None:
        delta = base[1].delta(data)
        # Inserted text deflates as well in a delta as outside one: shorter is smaller.
        if len(delta) < len(data):
            self._writer.add_delta(oid, base[0], delta)
        else:
            self._writer.add(oid, b"blob", data)
