"""One ledger: a ref, the store under it, and what this machine has acknowledged.

`standing` compares the ref with the acknowledged head. Cases (the design's table; numbers
are used in the tests):

1. `equal`: fine;
2. `ahead`: commits stand on the head that no hikmah write acknowledged;
3. `behind`: the newest commits are gone from the ref; `gone`: the whole ref is;
4. `rewritten`: neither is an ancestor of the other;
5. `unanchored`: there is a ref and no acknowledged head (a fresh clone, a first use);
6. `empty`: there is neither.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from hikmah.errors import IntegrityError
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.head import Head, State
from hikmah.ledger.locate import ledger_ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from hikmah.ledger.chain import Genesis, Read

StandingKind = Literal["equal", "ahead", "behind", "gone", "rewritten", "unanchored", "empty"]


class Tip(Struct, frozen=True):
    """The newest commit of a ledger, its tree and the largest sequence number in it."""

    commit: str
    root: str
    seq: int


class Standing(Struct, frozen=True):
    """How the ref stands to the acknowledged head.

    `commits` are those between the two, oldest first: unacknowledged ones when `ahead`,
    lost ones when `behind` or `gone`.
    """

    kind: StandingKind
    tip: str | None
    head: Head | None
    commits: tuple[str, ...] = ()


class Ledger:
    """A ledger by name in one repository.

    Args:
        store: The repository's objects and refs.
        name: The ledger's name; `refs/hikmah/<name>` is its ref.

    Raises:
        InvalidInputError: The name could escape its folder or is not a valid ref.
    """

    def __init__(self, store: GitStore, name: str) -> None:
        self.name = name
        self.ref = ledger_ref(name)
        self.store = store
        self.state = State(os.path.join(store.repository.git_dir, "hikmah", name))

    @property
    def algorithm(self) -> str:
        """`sha1` or `sha256`."""
        return self.store.algorithm

    def tip_commit(self) -> str | None:
        """Return the commit the ref holds, or None when there is no such ref."""
        return self.store.ref(self.ref)

    def reader(self) -> Read:
        """Return a `read` that finds the newest commit and trees without opening a pack."""
        from hikmah.ledger import edge  # reading commands stop before this

        return edge.reader(edge.load(self.state.edge_file, self.algorithm), self.store.read)

    def tip(self, commit: str, read: Read | None = None) -> Tip:
        """Return a commit with its tree and largest sequence number."""
        from hikmah.ledger.chain import last_seq
        from hikmah.ledger.objects import parse_commit

        read = read or self.reader()
        root = parse_commit(read(commit)[1]).tree
        return Tip(commit, root, last_seq(read, root, self.algorithm))

    def genesis(self, root: str, read: Read | None = None) -> Genesis:
        """Return what a ledger's tree says it is.

        Raises:
            IntegrityError: The tree has no `ledger.json`, or not a good one.
        """
        from hikmah.ledger.chain import GENESIS_FILE, parse_genesis
        from hikmah.ledger.objects import parse_tree

        read = read or self.reader()
        for entry in parse_tree(read(root)[1], self.algorithm):
            if entry.name == GENESIS_FILE:
                return parse_genesis(read(entry.oid)[1])
        raise IntegrityError(f"{self.ref} is not a ledger: its tree has no ledger.json")

    def settled_head(self, tip: str | None) -> Head | None:
        """Return the acknowledged head, counting an append that died after it moved the ref.

        Cases as in `hikmah.ledger.head`.
        """
        head = self.state.read_head()
        note = self.state.read_next()
        if note is None or tip is None or (head is not None and head.commit == note):
            return head  # case 1
        if note != tip and not self._reaches(tip, note):
            return head  # case 4
        if head is not None and not self._reaches(note, head.commit):
            return head  # the head was reset since: the note is older than that decision
        return Head(commit=note, seq=self.tip(note).seq)  # cases 2 and 3

    def standing(self, head: Head | None = None) -> Standing:
        """Compare the ref with the acknowledged head (or with a head given)."""
        tip = self.tip_commit()
        head = head or self.settled_head(tip)
        if head is None:
            return Standing("unanchored" if tip else "empty", tip, None)
        if tip is None:
            return Standing("gone", None, head, self._between(head.commit, None) or ())
        if tip == head.commit:
            return Standing("equal", tip, head)
        foreign = self._between(tip, head.commit)
        if foreign is not None:
            return Standing("ahead", tip, head, foreign)
        lost = self._between(head.commit, tip)
        if lost is not None:
            return Standing("behind", tip, head, lost)
        return Standing("rewritten", tip, head)

    def _reaches(self, commit: str, ancestor: str) -> bool:
        from hikmah.ledger.ancestry import descends

        with contextlib.suppress(IntegrityError):
            return descends(self.reader(), commit, ancestor, self.algorithm)
        # Something on the way is damaged: whatever way round it there is counts.
        return self._between(commit, ancestor) is not None

    def _between(self, commit: str, ancestor: str | None) -> tuple[str, ...] | None:
        """Return the commits from `ancestor` (left out) to `commit`, oldest first.

        None when `ancestor` is not among the ancestors; an `ancestor` of None takes all.
        Commits that cannot be read end the walk: what they led to is not reachable.
        """
        if ancestor is None:
            return _oldest_first(self._walk(commit, lambda _oid: False), commit)
        found = self._walk(commit, lambda oid: oid == ancestor)
        if not any(ancestor in parents for parents in found.values()):
            return None
        if any(len(parents) > 1 for parents in found.values()):
            # The other side of a merge leads past `ancestor` to what stands before it.
            beside = self._walk(ancestor, found.__contains__)
            before = [parent for parents in beside.values() for parent in parents]
            while before:
                before += found.pop(before.pop(), ())
        return _oldest_first(found, commit)

    def _walk(self, commit: str, stop: Callable[[str], bool]) -> dict[str, tuple[str, ...]]:
        """Return the parents of a commit and of its ancestors, but for those to stop at."""
        from hikmah.ledger.objects import parse_commit

        read = self.reader()
        found: dict[str, tuple[str, ...]] = {}
        waiting = [commit]
        while waiting:
            oid = waiting.pop()
            if oid in found or stop(oid):
                continue
            try:
                found[oid] = parse_commit(read(oid)[1]).parents
            except IntegrityError:
                continue
            waiting += reversed(found[oid])
        return found


def _oldest_first(parents: dict[str, tuple[str, ...]], tip: str) -> tuple[str, ...]:
    """Return a tip and what is behind it, no commit before its own parents."""
    done: dict[str, None] = {}
    waiting = [tip] if tip in parents else []
    while waiting:
        missing = [p for p in parents[waiting[-1]] if p in parents and p not in done]
        if missing:
            waiting += missing
        else:
            done[waiting.pop()] = None
    return tuple(done)
