"""A road within one process: objects are carried over one by one, refs move by their own rules.

For the many histories of `test_histories`; what real transports do is tested with real ones.
"""

from __future__ import annotations

import os
from pathlib import Path

from hikmah.ledger import durable
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.locate import LEDGERS, explicit
from hikmah.ledger.objects import RawObject, parse_commit, parse_tree
from hikmah.remotes.road import Pushed


class LocalRoad:
    """A remote on the same disk.

    Args:
        store: The repository at this end.
        url: The remote's folder.
    """

    def __init__(self, store: GitStore, url: str) -> None:
        self.shown = url
        self._here = store
        self._there = GitStore(explicit(Path(url)), environ=os.environ)

    def heads(self) -> dict[str, str]:
        """Return the remote's ledgers."""
        found = {ref: self._there.ref(ref) for ref in self._there.refs_below(LEDGERS)}
        return {ref: oid for ref, oid in found.items() if oid is not None}

    def fetch(self, ref: str) -> str:
        """Bring what the remote's ref reaches."""
        head = self.heads()[ref]
        self._here.write_loose(missing(self._there, self._here, head))
        return head

    def push(self, ref: str, new: str, expected_old: str | None) -> Pushed:
        """Carry objects over, then move the remote's ref from what it was expected to hold."""
        self._there.write_loose(missing(self._here, self._there, new))
        note = self._there.common_dir / "note"
        durable.unlink(note)
        durable.write_new(note, f"{new}\n".encode())
        if self._there.move_ref(ref, expected_old, new, note=note):
            return Pushed(kind="done", now=new)
        return Pushed(kind="moved", now=self._there.ref(ref))


def missing(source: GitStore, target: GitStore, head: str) -> list[RawObject]:
    """Return what a head reaches and a repository has not, what is needed before its users.

    So a process that dies on the way leaves nothing there whose parts are not there, too.
    """
    found: list[RawObject] = []
    waiting = [head]
    seen: set[str] = set()
    while waiting:
        oid = waiting.pop()
        if oid in seen or target.has(oid):
            continue
        seen.add(oid)
        kind, data = source.read(oid)
        if kind == b"commit":
            commit = parse_commit(data)
            waiting += [commit.tree, *commit.parents]
        elif kind == b"tree":
            waiting += [entry.oid for entry in parse_tree(data, source.algorithm)]
        found.append(RawObject(kind, data, oid))
    order = (b"blob", b"tree", b"commit")
    deepest_first = reversed(found)
    return sorted(deepest_first, key=lambda raw: order.index(raw.kind))
