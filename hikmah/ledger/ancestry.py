"""How two commits stand to each other, told without walking their whole past.

Both are walked back together, the commit with the larger sequence number first, until all
that is left to walk is behind both: the cost follows what differs, not the ledger. The
numbers are taken from the commits' own messages and only order the walk. A history that
lies about them makes it longer, never wrong.

Example:
    relation = compare(store.read, mine, theirs, "sha1")
    if relation.kind == "diverged":
        print(len(relation.right), "commits to take over")
"""

from __future__ import annotations

import heapq
import re
from typing import Literal, NamedTuple

from hikmah.errors import IntegrityError
from hikmah.ledger.chain import Read, last_seq
from hikmah.ledger.objects import Commit, parse_commit

Kind = Literal["same", "ahead", "behind", "diverged", "unrelated"]
_LEFT, _RIGHT, _BOTH = 1, 2, 3
# The first trailer of an append's message (`hikmah.ledger.chain.message`).
_SEQ = re.compile(rb"^Hikmah-Seq: ([0-9]{1,8})$", re.MULTILINE)


class Relation(NamedTuple):
    """How a left commit stands to a right one, and what only each of them reaches.

    `ahead`: the left one descends from the right one; `behind`: the other way round;
    `unrelated`: no commit is behind both. The commits come newest first, and may go a little
    past what differs when numbers lie.
    """

    kind: Kind
    left: tuple[str, ...]
    right: tuple[str, ...]


def compare(read_object: Read, left: str, right: str, algorithm: str) -> Relation:
    """Return how two commits stand to each other.

    Raises:
        IntegrityError: A commit on the way is missing, damaged or not a commit.
    """
    walk = _Walk(read_object, algorithm)
    walk.mark(left, _LEFT)
    walk.mark(right, _RIGHT)
    walk.run()
    if left == right:
        return Relation("same", (), ())
    return Relation(_kind(walk.sides, left, right), walk.only(_LEFT), walk.only(_RIGHT))


def descends(read_object: Read, commit: str, ancestor: str, algorithm: str) -> bool:
    """Tell whether a commit is another one or descends from it.

    Raises:
        IntegrityError: As for `compare`.
    """
    return compare(read_object, commit, ancestor, algorithm).kind in {"same", "ahead"}


def _kind(sides: dict[str, int], left: str, right: str) -> Kind:
    if sides[right] == _BOTH:
        return "ahead"
    if sides[left] == _BOTH:
        return "behind"
    return "diverged" if _BOTH in sides.values() else "unrelated"


class _Walk:
    """A walk from two ends at once, as `git merge-base` does it, numbers in place of dates."""

    def __init__(self, read_object: Read, algorithm: str) -> None:
        self.sides: dict[str, int] = {}
        self._read = read_object
        self._algorithm = algorithm
        self._parents: dict[str, tuple[str, ...]] = {}
        self._numbers: dict[str, int] = {}
        # Largest number first, a merge before the parent whose number it has; then by id.
        self._waiting: list[tuple[int, int, str]] = []
        self._queued: set[str] = set()
        self._open = 0  # of those waiting, how many are not behind both ends

    def mark(self, oid: str, side: int) -> None:
        """Note that an end reaches a commit; one that this is news of is walked (again)."""
        before = self.sides.get(oid, 0)
        after = before | side
        if after == before:
            return
        self.sides[oid] = after
        if oid in self._queued:
            self._open -= after == _BOTH
            return
        parents = self._load(oid)
        heapq.heappush(self._waiting, (-self._numbers[oid], -len(parents), oid))
        self._queued.add(oid)
        self._open += after != _BOTH

    def run(self) -> None:
        """Walk until everything that is left is behind both ends."""
        while self._open:
            _, _, oid = heapq.heappop(self._waiting)
            self._queued.discard(oid)
            side = self.sides[oid]
            self._open -= side != _BOTH
            for parent in self._parents[oid]:
                self.mark(parent, side)

    def only(self, side: int) -> tuple[str, ...]:
        """Return the commits that one end alone reaches, newest first."""
        found = [(-self._numbers[oid], oid) for oid, of in self.sides.items() if of == side]
        return tuple(oid for _, oid in sorted(found))

    def _load(self, oid: str) -> tuple[str, ...]:
        """Return a commit's parents; they and its number are all that is kept of it."""
        if oid not in self._parents:
            kind, data = self._read(oid)
            if kind != b"commit":
                raise IntegrityError(f"object {oid} is a {kind.decode()}, not a commit", where=oid)
            commit = parse_commit(data)
            self._parents[oid] = commit.parents
            self._numbers[oid] = self._seq(commit)
        return self._parents[oid]

    def _seq(self, commit: Commit) -> int:
        """Return the number a commit claims; of a merge, the largest in its tree."""
        said = _SEQ.search(commit.message)
        if said is not None:
            return int(said[1])
        if not commit.parents:
            return 0
        try:
            return last_seq(self._read, commit.tree, self._algorithm)
        except IntegrityError:
            return 0  # no ledger's tree: verification will say so
