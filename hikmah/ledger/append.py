"""Append: the one way a record gets into a ledger.

Steps (the design's numbers; tests kill the process before, in and after each):

1. take the writer lock;
2. settle what a crashed append left, read the ref, refuse when it and the acknowledged head
   disagree;
3. let the caller validate against that state (`prepare`), record by record: what is refused
   stops the append while all there is of it is an unfinished file that goes with it;
4. write blobs, trees and the commit durably, and note the intended head;
5. move the ref by compare-and-swap; a lost race starts again at 2;
6. write the acknowledged head; the caller then updates the index.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from hikmah.errors import BusyError, HikmahError, IntegrityError, StoreError
from hikmah.ledger import durable, edge
from hikmah.ledger.chain import (
    FileAt,
    Genesis,
    extend_tree,
    genesis_data,
    genesis_message,
)
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger, Standing, Tip
from hikmah.ledger.lock import writer_lock
from hikmah.ledger.objects import RawObject, raw_object
from hikmah.ledger.staging import NewRecord, Staging, new_commit

# A foreign program may move the ref between our reading and our moving it; each time the
# next round refuses or goes on, so more rounds than this mean that something is wrong.
MAX_ROUNDS = 50
_REF_LOCK_PAUSE_S = 0.005
# A batch of this many objects is written as one pack instead of loose files.
PACK_FROM_OBJECTS = 100
# How many records pass between two looks at whether loose objects should be packed.
TIDY_CHECK_RECORDS = 16


class Appended(NamedTuple):
    """What an append wrote: the tip before and after, between which the new records stand.

    `adopted` tells that this machine had no acknowledged head and took the ref as it was.
    """

    old: Tip
    tip: Tip
    adopted: bool
    warnings: tuple[str, ...] = ()


Prepare = Callable[[Tip], Iterable[NewRecord]]
# `lost`: another program moved the ref first. `unsynced`: the ref moved, and then the disk
# failed, so that a power cut may still undo what every reader sees now.
Moved = Literal["moved", "unsynced", "lost"]
UNSYNCED = "the disk failed after the records were in: check it, a power cut may undo them"


def start(ledger: Ledger, genesis: Genesis, *, time_s: int, lock_timeout_s: float) -> Tip:
    """Create a ledger's genesis; an existing ledger is left as it is.

    Returns:
        The tip: the genesis, or the newest commit when the ledger was there already.

    Raises:
        IntegrityError: The ref is gone but this machine remembers a head: a deleted ledger
            never becomes a new genesis.
        BusyError, StoreError: As for `append`.
    """
    with locked(ledger, lock_timeout_s):
        standing = checked(ledger)
        if standing.tip is not None:
            return ledger.tip(standing.tip)
        blob = raw_object(b"blob", genesis_data(genesis), ledger.algorithm)
        file = FileAt("ledger.json", blob.oid)
        (root,) = extend_tree(ledger.store.read, None, [file], ledger.algorithm)
        commit = new_commit(ledger, root.oid, (), genesis_message(genesis), time_s=time_s)
        tip = Tip(commit.oid, root.oid, 0)
        deadline = time.monotonic() + lock_timeout_s
        ledger.store.write_loose([blob, root, commit])
        if publish(ledger, None, tip, [root, commit], deadline) == "lost":
            raise BusyError(f"another program created {ledger.ref} at this moment")
        return tip


def append(
    ledger: Ledger, prepare: Prepare, *, time_s: int, lock_timeout_s: float
) -> Appended | None:
    """Append what `prepare` returns as one commit, all or nothing.

    Args:
        ledger: The ledger, which must have its genesis.
        prepare: Called under the writer lock with the tip; validates against the state at
            that tip and returns the records to write (none: nothing is written), which are
            read one by one. It may be called again when a foreign program moved the ref in
            between.
        time_s: Commit time, seconds since the epoch.
        lock_timeout_s: How long to wait for other writers.

    Returns:
        What was written, or None when `prepare` returned nothing.

    Raises:
        IntegrityError: Ref and acknowledged head disagree; the message lists how.
        BusyError: A lock was held all the while.
        StoreError: The disk or repository failed; the ledger is as it was.
    """
    deadline = time.monotonic() + lock_timeout_s
    with locked(ledger, lock_timeout_s):
        for _ in range(MAX_ROUNDS):
            standing = checked(ledger)
            if standing.tip is None:
                raise IntegrityError(f"{ledger.ref} has no genesis", hint="run `hikmah init`")
            read = ledger.reader()
            tip = ledger.tip(standing.tip, read)
            staging = Staging(ledger, read, tip, time_s=time_s)
            pack = write_objects(ledger, staging.objects(prepare(tip)))
            new_tip = staging.tip
            if new_tip is None:
                return None
            moved = publish(ledger, tip.commit, new_tip, staging.edge, deadline)
            if moved != "lost":
                release(ledger, pack)
                adopted = standing.kind == "unanchored"
                told = (UNSYNCED,) if moved == "unsynced" else tidied(ledger, tip.seq, new_tip.seq)
                return Appended(tip, new_tip, adopted, told)
    raise BusyError(
        f"{ledger.ref} was moved by other programs {MAX_ROUNDS} times in a row",
        hint="find what moves it; nothing was written",
    )


@contextlib.contextmanager
def locked(ledger: Ledger, timeout_s: float) -> Iterator[None]:
    """Hold a ledger's writer lock, with its state folder made and settled."""
    with writing_to(ledger.state.folder):
        durable.make_folder(ledger.state.folder)
    with writer_lock(ledger.state.lock_file, timeout_s=timeout_s):
        settle(ledger)
        yield


def settle(ledger: Ledger) -> None:
    """Finish or drop what a crashed append left (cases of `hikmah.ledger.head`); needs the lock."""
    state = ledger.state
    if not state.next_file.exists():
        return
    drop_own_ref_lock(ledger)
    head = ledger.settled_head(ledger.tip_commit())
    if head is not None and head != state.read_head():
        state.acknowledge(head)
    durable.unlink(state.next_file)


def drop_own_ref_lock(ledger: Ledger) -> None:
    """Remove a ref lock that a crashed append of ours left, and nobody else's."""
    drop_lock_of(ledger.store.common_dir / f"{ledger.ref}.lock", ledger.state.next_file)


def drop_lock_of(lock: Path, note: Path) -> None:
    """Remove a ref lock that was made of a note of ours: its second name, or a copy of it.

    Needs the lock under which notes of that name are written.
    """
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if lock.samefile(note) or lock.read_bytes() == note.read_bytes():
            durable.unlink(lock)


def checked(ledger: Ledger) -> Standing:
    """Return how the ledger stands, or refuse to write when that is not well.

    Raises:
        IntegrityError: Ref and acknowledged head disagree; the message lists how.
    """
    standing = ledger.standing()
    if standing.kind in {"equal", "unanchored", "empty"}:
        return standing
    raise disagreement(ledger, standing)


def disagreement(ledger: Ledger, standing: Standing) -> HikmahError:
    """Return the error that says how ref and acknowledged head disagree and what helps."""
    head = standing.head.commit if standing.head else "none"
    listed = ", ".join(standing.commits[:5]) + (" ..." if len(standing.commits) > 5 else "")
    count = len(standing.commits)
    what, option = {
        "ahead": (f"holds {count} commit(s) that no hikmah write acknowledged: {listed}", "accept"),
        "behind": (f"lacks the {count} newest acknowledged commit(s): {listed}", "restore"),
        "gone": (f"is gone; the acknowledged head is {head}", "restore"),
        "rewritten": (f"was rewritten: {standing.tip} does not descend from {head}", "reset"),
    }[standing.kind]
    flag = {
        "accept": "--accept-tail, or with --restore-tail to put the ref back",
        "restore": "--restore-tail",
        "reset": "--restore-tail to put the ref back, or with --reset-head to accept it",
    }[option]
    return IntegrityError(
        f"{ledger.ref} {what}; nothing was written",
        hint=f"look with `hikmah verify-ledger`; a person may then run it with {flag}",
        where=ledger.ref,
    )


def write_objects(ledger: Ledger, objects: Iterable[RawObject]) -> str | None:
    """Write objects durably as they come; return the name of the pack when they make one."""
    coming = iter(objects)
    few = list(itertools.islice(coming, PACK_FROM_OBJECTS))
    if len(few) < PACK_FROM_OBJECTS:
        ledger.store.write_loose(few)
        return None
    from hikmah.ledger import space  # most appends write a handful of objects

    return space.write_batch_pack(ledger, itertools.chain(few, coming))


def publish(
    ledger: Ledger,
    old: str | None,
    new: Tip,
    edge_objects: Iterable[RawObject],
    deadline: float,
) -> Moved:
    """Move the ref to what was written, and keep the edge for the next append."""
    moved = repoint(ledger, old, Head(commit=new.commit, seq=new.seq), deadline)
    if moved != "lost":
        with contextlib.suppress(OSError):  # a cache: without it the next append reads git
            edge.save(ledger.state.edge_file, edge_objects)
    return moved


def release(ledger: Ledger, pack: str | None) -> None:
    """Let go of the pack that a batch made; the next packing does it as well."""
    if pack is not None:
        from hikmah.ledger import space

        with contextlib.suppress(HikmahError):
            space.release_batch_pack(ledger, pack)


def tidied(ledger: Ledger, before: int, after: int) -> tuple[str, ...]:
    """Pack what appends left loose when enough has come together; return what went wrong.

    The record is acknowledged by now: whatever fails here is told and not raised.
    """
    if before // TIDY_CHECK_RECORDS == after // TIDY_CHECK_RECORDS:
        return ()
    from hikmah.ledger import space  # one append in many looks

    ledger.store.close()  # no pack that may be replaced stays open
    try:
        space.tidy(ledger, after)
    except HikmahError as e:
        return (f"the ledger's objects were not packed: {e.message}",)
    return ()


def repoint(ledger: Ledger, old: str | None, new: Head, deadline: float) -> Moved:
    """Note the intent, move the ref from `old` to `new`, acknowledge; needs the writer lock.

    Args:
        ledger: The ledger.
        old: What the ref must hold now; None when it must not exist.
        new: What it shall hold; its objects must be there already.
        deadline: When to give up on another program's lock, by `time.monotonic`.

    Returns:
        `lost` when the ref does not hold `old`: nothing was changed.

    Raises:
        HikmahError: The ref was not moved.
    """
    state = ledger.state
    with writing_to(state.folder):
        durable.unlink(state.next_file)
        durable.write_new(state.next_file, f"{new.commit}\n".encode())
        durable.sync_folder(state.folder)
    try:
        if not _move(ledger, old, new.commit, deadline):
            durable.unlink(state.next_file)
            return "lost"
    except HikmahError:
        # The disk may have failed before or after the ref moved; what cannot be settled on
        # such a disk now is settled by the next append.
        with contextlib.suppress(OSError, HikmahError):
            settle(ledger)
        if not _stands(ledger, new):
            raise
        return "unsynced"
    # From here on the move stands: the synced note says so (`settled_head`). A disk that
    # refuses the rest must not make the caller believe otherwise; the next append settles it.
    with contextlib.suppress(OSError):
        state.acknowledge(new)
        durable.unlink(state.next_file)
    return "moved"


def _stands(ledger: Ledger, head: Head) -> bool:
    """Tell whether a head is acknowledged, by its file or by the note of a move that stands."""
    try:
        return ledger.settled_head(ledger.tip_commit()) == head
    except HikmahError:
        return False


def _move(ledger: Ledger, old: str | None, new: str, deadline: float) -> bool:
    """Move the ref; the error for a lock that stays says what it is and how old."""
    note = ledger.state.next_file
    try:
        return when_free(lambda: ledger.store.move_ref(ledger.ref, old, new, note=note), deadline)
    except BusyError as e:
        raise _foreign_lock(ledger) from e


def when_free(move: Callable[[], bool], deadline: float) -> bool:
    """Move a ref, waiting while another program (`git pack-refs`, say) holds its lock.

    Args:
        move: Moves it, and raises `BusyError` while the lock is held.
        deadline: When to give up, by the monotonic clock.
    """
    while True:
        try:
            return move()
        except BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_REF_LOCK_PAUSE_S)  # a lock file tells nobody when it goes


def _foreign_lock(ledger: Ledger) -> BusyError:
    lock = ledger.store.common_dir / f"{ledger.ref}.lock"
    try:
        # Our own lock file was written when this append began: its time stands for "now".
        age_s = ledger.state.lock_file.stat().st_mtime - lock.stat().st_mtime
        age = f", {max(0, int(age_s))} s old"
    except OSError:
        age = ""
    return BusyError(
        f"another program holds the ref's lock {lock}{age}",
        hint=f"when no git program is running, remove it: {lock}",
        where=str(lock),
    )


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Map what the disk refuses inside the block to a StoreError that names the folder."""
    try:
        yield
    except OSError as e:
        raise StoreError(
            f"cannot write to {folder}: {e.strerror or e}",
            hint="check free space and permissions",
            where=str(folder),
        ) from e
