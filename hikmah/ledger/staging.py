"""The objects of one commit that adds records, made as the records come.

Rules the module keeps:

1. Records get the numbers after the tip's, in the order given.
2. Blobs come first, each at once; then the trees, the root last; then the commit. So what a
   commit needs is written before it, and a batch of any size is never held as a whole: of
   each record that passed its path and id are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hikmah.ledger.chain import (
    LISTED_IN_MESSAGE,
    Addition,
    FileAt,
    Read,
    extend_tree,
    message,
    record_path,
)
from hikmah.ledger.ledger import Ledger, Tip
from hikmah.ledger.objects import Commit, RawObject, commit_bytes, raw_object
from hikmah.model.records import Record, Unknown, record_type

# Commit, root, `records/`, AAAA and BB: what the next append reads.
EDGE_OBJECTS = 5


class NewRecord(NamedTuple):
    """A validated record on its way in: its id, itself, its canonical bytes."""

    id: str
    record: Record | Unknown
    data: bytes


class Staging:
    """Makes the objects that lead from one tip to the next.

    Args:
        ledger: The ledger.
        read: Reads the trees that are there.
        old: The tip that the records are appended to.
        time_s: Commit time, seconds since the epoch.
    """

    def __init__(self, ledger: Ledger, read: Read, old: Tip, *, time_s: int) -> None:
        self.old = old
        self._ledger = ledger
        self._read = read
        self._time_s = time_s
        self._files: list[FileAt] = []
        self._listed: list[Addition] = []
        self._tip: Tip | None = None
        self._edge: deque[RawObject] = deque(maxlen=EDGE_OBJECTS)

    @property
    def tip(self) -> Tip | None:
        """The new tip, once `objects` has been read to its end; None when nothing came."""
        return self._tip

    @property
    def count(self) -> int:
        """How many records came."""
        return len(self._files)

    @property
    def edge(self) -> Iterable[RawObject]:
        """The commit and the trees on the way to the newest record."""
        return self._edge

    def objects(self, records: Iterable[NewRecord]) -> Iterator[RawObject]:
        """Yield what the commit of these records needs, itself last; nothing for no records."""
        for new in records:
            self._take(new)
            yield RawObject(b"blob", new.data, new.id)
        if not self._files:
            return
        algorithm = self._ledger.algorithm
        for tree in extend_tree(self._read, self.old.root, self._files, algorithm):
            self._edge.append(tree)
            yield tree
        text = message(self._listed, count=self.count)
        commit = new_commit(
            self._ledger, self._edge[-1].oid, (self.old.commit,), text, time_s=self._time_s
        )
        self._tip = Tip(commit.oid, self._edge[-1].oid, self.old.seq + self.count)
        self._edge.append(commit)
        yield commit

    def _take(self, new: NewRecord) -> None:
        seq = self.old.seq + self.count + 1
        self._files.append(FileAt(record_path(seq, record_type(new.record), new.id), new.id))
        if len(self._listed) < LISTED_IN_MESSAGE:
            self._listed.append(Addition(seq, new.id, new.record))


def new_commit(
    ledger: Ledger, tree: str, parents: tuple[str, ...], text: bytes, *, time_s: int
) -> RawObject:
    """Return a commit of ours: author and committer are who git says writes here."""
    line = b"%s %d +0000" % (ledger.store.identity, time_s)
    data = commit_bytes(Commit(tree, parents, line, line, text))
    return raw_object(b"commit", data, ledger.algorithm)
