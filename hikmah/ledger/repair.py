"""Repair: after a power cut the ref goes back to what can be read.

Cases (numbers used in the code and the tests):

1. the ref's commit can be read whole and is acknowledged: nothing to repair;
2. it can be read whole, and the acknowledged head's file is damaged: the file is written
   anew from the log of acknowledged heads, when the log says that the ref is one;
3. something it reaches cannot be read, or the ref's own file cannot: the ref moves to the
   newest acknowledged head that can be read whole;
4. none in the log can: to the newest readable commit before them, which was acknowledged
   when it was the head;
5. nothing can be read at all: an error that says where else to look.

The old value is kept in `repairs` in the state folder (never under another ref: a ref to a
missing commit breaks the host's `git gc`). A person's decision: the caller refuses agents.
"""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from hikmah.errors import BusyError, HikmahError, IntegrityError, NotFoundError
from hikmah.ledger import durable
from hikmah.ledger.append import drop_own_ref_lock, repoint, writing_to
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.lock import writer_lock
from hikmah.ledger.objects import parse_commit
from hikmah.ledger.readable import Readability
from hikmah.model.secrets import mask

Action = Literal["none", "head_restored", "ref_moved"]


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that the ref does not reach any more; `subject` when it can still be read."""

    commit: str
    subject: str | None


class RepairReport(msgspec.Struct, frozen=True, kw_only=True):
    """What repair did.

    `damaged` maps objects that cannot be read to why; `out_of_reach` lists the commits that
    the ref reached before and does not now, newest first.
    """

    action: Action
    ref: str
    before: str | None
    after: Head
    damaged: dict[str, str] = {}
    out_of_reach: tuple[Lost, ...] = ()
    kept_in: str | None = None


class _Repair(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `repairs`: what the ref held, and what it holds since."""

    at_ms: int
    ref: str
    before: str
    after: str


def repair(ledger: Ledger, *, now_ms: int, lock_timeout_s: float) -> RepairReport:
    """Bring a ledger back to its newest state that can be read whole.

    Args:
        ledger: The ledger.
        now_ms: The time to note beside the ref's old value.
        lock_timeout_s: How long to wait for writers.

    Raises:
        NotFoundError: There is neither a ref nor anything acknowledged.
        IntegrityError: Nothing can be read at all, or commits stand on the ref that nobody
            acknowledged: that is for `--accept-tail`, not for repair.
        BusyError: A lock was held all the while, or the ref moved meanwhile.
    """
    with writing_to(ledger.state.folder):
        durable.make_folder(ledger.state.folder)
    with writer_lock(ledger.state.lock_file, timeout_s=lock_timeout_s):
        drop_own_ref_lock(ledger)
        with ObjectReader(ledger.store) as reader:
            return _Repairer(ledger, reader, now_ms).run(time.monotonic() + lock_timeout_s)


class _Repairer:
    def __init__(self, ledger: Ledger, reader: ObjectReader, now_ms: int) -> None:
        self._ledger = ledger
        self._reader = reader
        self._now_ms = now_ms
        self._read = Readability(reader)
        self._acknowledged = _acknowledged(ledger)

    def run(self, deadline: float) -> RepairReport:
        tip, raw = self._ref()
        known = [head.commit for head in self._acknowledged]
        if tip is None and raw is None and not known:
            raise NotFoundError(f"there is no {self._ledger.ref}, and nothing was acknowledged")
        if tip is not None and self._read.is_readable(tip):
            return self._readable(tip, known)
        target = self._target(known, tip)
        return self._move(tip, raw, target, deadline)

    def _ref(self) -> tuple[str | None, bytes | None]:
        """Return what the ref holds, or the bytes of its file when they are no id."""
        try:
            return self._ledger.tip_commit(), None
        except IntegrityError:
            return None, (self._ledger.store.common_dir / self._ledger.ref).read_bytes()

    def _readable(self, tip: str, known: list[str]) -> RepairReport:
        """Cases 1 and 2: the history is whole."""
        head = Head(commit=tip, seq=self._ledger.tip(tip).seq)
        try:
            remembered = self._ledger.settled_head(tip)
        except IntegrityError as e:
            if tip not in known:
                raise IntegrityError(
                    f"{e.message}, and the log of acknowledged heads does not hold {tip}",
                    hint="look with `hikmah verify-ledger`; --reset-head accepts the ref as it is",
                ) from e
            self._ledger.state.acknowledge(head)  # case 2
            return self._report("head_restored", tip, head)
        if remembered is not None and tip not in {remembered.commit, *known}:
            raise IntegrityError(
                f"every object of {self._ledger.ref} can be read: there is nothing to repair",
                hint="the ref is not what was acknowledged: look with `hikmah verify-ledger`",
            )
        return self._report("none", tip, head)  # case 1

    def _target(self, known: list[str], tip: str | None) -> Head:
        """Cases 3 to 5: return the newest readable head."""
        for commit in known:
            if self._read.is_readable(commit):
                return self._head(commit)  # case 3
        for commit in dict.fromkeys([*known, *([tip] if tip else [])]):
            older = self._read.newest_readable(commit)
            if older is not None:
                return self._head(older)  # case 4
        raise IntegrityError(  # case 5
            f"nothing of {self._ledger.ref} can be read whole",
            hint="bring it back from a remote: `git fetch REMOTE "
            f"{self._ledger.ref}`, or copy objects from another clone; then run this again",
        )

    def _head(self, commit: str) -> Head:
        return Head(commit=commit, seq=self._ledger.tip(commit, self._reader.read).seq)

    def _move(
        self, tip: str | None, raw: bytes | None, target: Head, deadline: float
    ) -> RepairReport:
        kept_in = self._keep(tip, raw, target)
        if raw is not None:
            # No compare-and-swap can name what is no id; its bytes are kept above.
            durable.unlink(self._ledger.store.common_dir / self._ledger.ref)
            tip = self._ledger.tip_commit()
        if repoint(self._ledger, tip, target, deadline) == "lost":
            raise BusyError(f"{self._ledger.ref} moved at this moment", hint="look again")
        return self._report("ref_moved", tip, target, kept_in)

    def _keep(self, tip: str | None, raw: bytes | None, target: Head) -> str:
        """Note the ref's old value, durably, before it is changed."""
        before = tip if raw is None else raw.decode("latin-1")
        line = _Repair(
            at_ms=self._now_ms, ref=self._ledger.ref, before=before or "", after=target.commit
        )
        path = self._ledger.state.folder / "repairs"
        earlier = path.read_bytes() if path.exists() else b""
        durable.write_atomic(path, earlier + msgspec.json.encode(line) + b"\n")
        return str(path)

    def _report(
        self, action: Action, before: str | None, after: Head, kept_in: str | None = None
    ) -> RepairReport:
        return RepairReport(
            action=action,
            ref=self._ledger.ref,
            before=before,
            after=after,
            damaged=dict(sorted(self._read.why.items())),
            out_of_reach=self._lost(before, after.commit),
            kept_in=kept_in,
        )

    def _lost(self, before: str | None, after: str) -> tuple[Lost, ...]:
        """Return what the old value and the newest acknowledged heads reached, and `after` not."""
        left = set(self._read.reach(after))
        lost: dict[str, None] = {}
        for start in [*([before] if before else []), *(h.commit for h in self._acknowledged)]:
            if start in left:
                break
            lost |= dict.fromkeys(oid for oid in self._read.reach(start) if oid not in left)
        return tuple(Lost(commit=oid, subject=self._subject(oid)) for oid in lost)

    def _subject(self, oid: str) -> str | None:
        try:
            message = parse_commit(self._reader.content(oid, b"commit")).message
        except IntegrityError:
            return None
        return mask(message.partition(b"\n")[0].decode("utf-8", "replace"))


def _acknowledged(ledger: Ledger) -> list[Head]:
    """Return every acknowledged head that is remembered, newest first, each once."""
    heads = ledger.state.read_log()
    try:
        newest = ledger.state.read_head()
    except HikmahError:
        newest = None
    if newest is not None:
        heads.append(newest)
    return list({head.commit: head for head in reversed(heads)}.values())
