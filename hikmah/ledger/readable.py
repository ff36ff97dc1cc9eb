"""Which commits can be read whole: every object they reach, hashed.

A commit is readable when its own objects are and all its ancestors are readable. Trees are
compared with one good tree of their folder, so that a long history takes one walk.
"""

from __future__ import annotations

from hikmah.errors import IntegrityError
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.chain import MAX_DEPTH
from hikmah.ledger.objects import DIGEST_BYTES, TREE_MODE, Commit, parse_commit, parse_tree


class Readability:
    """Walks histories and remembers what it found of each commit.

    Args:
        reader: Reads objects and hashes them.
    """

    def __init__(self, reader: ObjectReader) -> None:
        self.parents: dict[str, tuple[str, ...]] = {}
        self.why: dict[str, str] = {}
        self._reader = reader
        self._id_bytes = DIGEST_BYTES[reader.algorithm]
        self._good: dict[str, bool] = {}
        self._blobs: dict[str, bool] = {}
        self._trees: dict[str, bool] = {}
        self._whole: dict[str, bytes] = {}

    def is_readable(self, head: str) -> bool:
        """Tell whether a commit and all that it reaches can be read.

        `why` then names the objects that cannot, each once.
        """
        if head not in self._good:
            order = self._walk(head)
            for oid in reversed(order):
                parents_good = all(self._good.get(p, False) for p in self.parents[oid])
                self._good[oid] = self._good[oid] and parents_good
        return self._good[head]

    def newest_readable(self, head: str) -> str | None:
        """Return the first readable commit on the way back from a head, or None."""
        self.is_readable(head)
        seen: set[str] = set()
        waiting = [head]
        while waiting:
            oid = waiting.pop(0)
            if oid in seen:
                continue
            seen.add(oid)
            if self._good.get(oid):
                return oid
            waiting += self.parents.get(oid, ())
        return None

    def reach(self, head: str) -> list[str]:
        """Return a commit and its known ancestors, children before parents."""
        order: dict[str, None] = {}
        waiting = [(head, False)]
        while waiting:
            oid, done = waiting.pop()
            if done:
                order[oid] = None
            elif oid not in order:
                waiting.append((oid, True))
                waiting += [(p, False) for p in self.parents.get(oid, ()) if p not in order]
        return list(reversed(order))

    def _walk(self, head: str) -> list[str]:
        """Look at every commit from a head back that was not looked at; children first."""
        waiting = [head]
        while waiting:
            oid = waiting.pop()
            if oid in self._good:
                continue
            commit = self._commit(oid)
            self.parents[oid] = () if commit is None else commit.parents
            self._good[oid] = commit is not None and self._is_tree_good("", commit.tree, MAX_DEPTH)
            waiting += self.parents[oid]
        return self.reach(head)

    def _commit(self, oid: str) -> Commit | None:
        try:
            return parse_commit(self._reader.content(oid, b"commit"))
        except IntegrityError as e:
            self.why[oid] = e.message
            return None

    def _is_tree_good(self, path: str, oid: str, depth: int) -> bool:
        known = self._trees.get(oid)
        if known is None:
            known = self._trees[oid] = self._look_at_tree(path, oid, depth)
        return known

    def _look_at_tree(self, path: str, oid: str, depth: int) -> bool:
        try:
            data = self._reader.content(oid, b"tree")
            entries = parse_tree(data, self._reader.algorithm)
        except IntegrityError as e:
            self.why[oid] = e.message
            return False
        whole = self._whole.get(path, b"")
        if whole.startswith(data):
            return True
        if whole.startswith(data[: -self._id_bytes]):
            entries = entries[-1:]
        good = depth > 0
        for entry in entries:
            name = f"{path}/{entry.name.hex()}"
            if entry.mode == TREE_MODE:
                good &= depth > 0 and self._is_tree_good(name, entry.oid, depth - 1)
            else:
                good &= self._is_blob_good(entry.oid)
        if good:
            self._whole.setdefault(path, data)
        return good

    def _is_blob_good(self, oid: str) -> bool:
        known = self._blobs.get(oid)
        if known is None:
            try:
                self._reader.read(oid)
            except IntegrityError as e:
                self.why[oid] = e.message
            known = self._blobs[oid] = oid not in self.why
        return known
