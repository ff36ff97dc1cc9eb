"""Join: two ledgers with one beginning become one, whichever machine does it.

Cases (the design's numbers; used in the code and the tests):

1. same head: nothing to do;
2. the local ledger is behind: it moves forward to the incoming head;
3. it is ahead: nothing to join;
4. both have what the other lacks: a merge commit, whose bytes the two heads fix, so that
   both machines make the same one and no merge of merges follows;
5. different beginnings: refused, with the way round;
6. what comes in does not verify: refused, naming commit and reason;
7. the local ledger is not acknowledged, or not intact: refused until it is;
8. another object format: as 5.

A refusal is an error and changes nothing. Steps of cases 2 and 4, under the writer lock:
trees and merge commit are written durably; the old head is kept under a ref of its own;
the ref moves by compare-and-swap and the new head is acknowledged, as an append does it. A
crash between any two leaves the old state or the new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from msgspec import Struct

from hikmah.errors import BusyError, HikmahError, IntegrityError, NotFoundError, RefusedError
from hikmah.ledger.ancestry import Relation, compare
from hikmah.ledger.append import (
    MAX_ROUNDS,
    UNSYNCED,
    checked,
    locked,
    publish,
    release,
    tidied,
    write_objects,
)
from hikmah.ledger.chain import Read, stored_between
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger, Standing, Tip
from hikmah.ledger.merge import merge_commit
from hikmah.ledger.objects import RawObject, commit_bytes, parse_commit, raw_object
from hikmah.ledger.refs import OID_LENGTHS
from hikmah.ledger.staging import EDGE_OBJECTS
from hikmah.ledger.verify import verify
from hikmah.model.records import Stored
from hikmah.remotes import backups
from hikmah.remotes.incoming import examine
from hikmah.remotes.union import unite

_OTHER_WAY = (
    "such ledgers cannot be one: export it (`hikmah export --to jsonl`) from a clone "
    "(`hikmah clone`) and take its records in (`hikmah import --from jsonl`)"
)


class JoinOutcome(Struct, frozen=True, kw_only=True):
    """What a join did.

    `kind`: `same`, `ahead` (nothing to join), `forward` or `merged`. `commits` counts those
    that were new here. `backup` is the ref that holds `old` when the ledger moved;
    `adopted` tells that no head was acknowledged here before, and the whole was verified.
    """

    kind: Literal["same", "ahead", "forward", "merged"]
    ref: str
    old: str
    head: str
    seq: int
    incoming: str
    commits: int = 0
    backup: str | None = None
    adopted: bool = False
    warnings: tuple[str, ...] = ()


class Arrival(NamedTuple):
    """What a join is about to bring: the tips before and after, the records between them."""

    old: Tip
    new: Tip
    stored: Iterable[Stored]


Arriving = Callable[[Arrival], None]


class _Step(NamedTuple):
    """Where the ledger goes, and the objects that have to be written for that."""

    kind: Literal["forward", "merged"]
    new: Tip
    objects: list[RawObject]


def join(
    ledger: Ledger,
    incoming: str,
    *,
    now_ms: int,
    lock_timeout_s: float,
    arriving: Arriving | None = None,
    verified: bool = False,
) -> JoinOutcome:
    """Join another head of the same ledger, whose objects are in the store already.

    Args:
        ledger: The local ledger.
        incoming: The other head, a full commit id.
        now_ms: The time, for the backup's name.
        lock_timeout_s: How long to wait for writers on this machine.
        arriving: Told of what will be new, under the writer lock and before the ref moves.
        verified: Whether the incoming head was examined on its way here.

    Raises:
        RefusedError: Cases 5 and 8, and two records that share a path.
        IntegrityError: Cases 6 and 7.
        NotFoundError: There is no local ledger.
        BusyError: A lock was held all the while.
        StoreError: The disk refused; the ledger is as it was, or joined.
    """
    _check_id(ledger, incoming)
    deadline = time.monotonic() + lock_timeout_s
    # What takes long needs no lock: an acknowledged ledger only grows while it is looked at.
    looked_at = _check_trust(ledger, incoming, verified=verified)
    with locked(ledger, lock_timeout_s):
        for _ in range(MAX_ROUNDS):
            standing = _unmoved(ledger, looked_at)
            outcome = _try(
                ledger, standing, incoming, now_ms=now_ms, deadline=deadline, arriving=arriving
            )
            if outcome is not None:
                return outcome
    raise BusyError(
        f"{ledger.ref} was moved by other programs {MAX_ROUNDS} times in a row",
        hint="find what moves it; nothing was joined",
    )


# ---- what may be joined at all ---------------------------------------------------------


def _check_id(ledger: Ledger, incoming: str) -> None:
    digits = OID_LENGTHS[ledger.algorithm]
    if len(incoming) != digits:  # case 8
        raise RefusedError(
            f"the other head has {len(incoming)} digits, and objects here have {digits}: "
            "the repositories are of different object formats",
            hint=_OTHER_WAY,
        )


def check_well(ledger: Ledger) -> str:
    """Return the head of a ledger to which something may be joined (case 7).

    Raises:
        IntegrityError: Ref and acknowledged head disagree; the message lists how.
        NotFoundError: There is no such ledger.
    """
    return _tip_of(_well(ledger))


def _unmoved(ledger: Ledger, looked_at: str) -> Standing:
    """Return how the ledger stands; one that nothing acknowledges, as it was verified (case 7)."""
    standing = _well(ledger)
    if standing.kind == "unanchored" and standing.tip != looked_at:
        raise BusyError(
            f"{ledger.ref} moved from {looked_at} to {standing.tip} while it was verified",
            hint="run it again; nothing was joined",
            where=ledger.ref,
        )
    return standing


def _check_trust(ledger: Ledger, incoming: str, *, verified: bool) -> str:
    """Raise unless the local ledger is well and the incoming one can be believed.

    Returns:
        The local head that was looked at.
    """
    standing = _well(ledger)
    if standing.kind == "unanchored":
        _check_whole(ledger)
    relation = _relation(ledger, _tip_of(standing), incoming)
    if verified or relation.kind in {"same", "ahead"}:
        return _tip_of(standing)
    found = examine(ledger, incoming, [_tip_of(standing)])
    if found.errors:  # case 6
        where = found.errors[0].commit or incoming
        raise IntegrityError(
            f"what comes in does not verify: commit {where}: {found.told()}",
            hint="nothing was joined; ask whoever keeps the remote",
            where=where,
        )
    return _tip_of(standing)


def _well(ledger: Ledger) -> Standing:
    """Return how the local ledger stands, when that is well (case 7)."""
    standing = checked(ledger)
    if standing.tip is None:
        raise NotFoundError(
            f"no ledger {ledger.name!r} in {ledger.store.repository.root}",
            hint="`hikmah clone URL` brings one from a remote",
            where=ledger.ref,
        )
    return standing


def _tip_of(standing: Standing) -> str:
    assert standing.tip is not None  # noqa: S101 - `_well` lets no other pass
    return standing.tip


def _check_whole(ledger: Ledger) -> None:
    """Verify a ledger that nothing here acknowledges: a join is to build on it (case 7)."""
    errors = verify(ledger).errors
    if errors:
        raise IntegrityError(
            f"the ledger here does not verify, so nothing is joined to it: {errors[0].text}",
            hint="`hikmah verify-ledger` lists all of it",
            where=errors[0].commit or ledger.ref,
        )


def _relation(ledger: Ledger, tip: str, incoming: str) -> Relation:
    """Return how the two heads stand to each other, when they have a beginning in common."""
    try:
        relation = compare(ledger.store.read, tip, incoming, ledger.algorithm)
    except IntegrityError as e:
        raise IntegrityError(
            f"the two heads cannot be compared: {e.message}",
            hint="`hikmah verify-ledger` tells whether it is this ledger that is damaged",
            where=e.where,
        ) from e
    if relation.kind == "unrelated":  # case 5
        mine, theirs = _named(ledger, tip), _named(ledger, incoming)
        raise RefusedError(
            f"the two have no commit in common: here is {mine}, there is {theirs}",
            hint=_OTHER_WAY,
        )
    return relation


def _named(ledger: Ledger, commit: str) -> str:
    """Name the ledger that a commit is of."""
    try:
        return f"ledger {ledger.genesis(ledger.tip(commit).root).ledger}"
    except HikmahError as e:
        return f"commit {commit}, which is of no ledger ({e.message})"


# ---- the join itself -------------------------------------------------------------------


def _try(
    ledger: Ledger,
    standing: Standing,
    incoming: str,
    *,
    now_ms: int,
    deadline: float,
    arriving: Arriving | None,
) -> JoinOutcome | None:
    """Join once; None when another program moved the ref meanwhile. Needs the writer lock.

    The ref is not read again: what was checked is what is adopted and built on.
    """
    adopted = standing.kind == "unanchored"
    read = ledger.reader()
    old = ledger.tip(_tip_of(standing), read)
    relation = _relation(ledger, old.commit, incoming)
    if relation.kind in {"same", "ahead"}:  # cases 1 and 3
        if adopted:
            ledger.state.acknowledge(Head(commit=old.commit, seq=old.seq))
        kind: Literal["same", "ahead"] = "same" if relation.kind == "same" else "ahead"
        return _outcome(ledger, kind, old, old, incoming, adopted=adopted)
    step = _step(ledger, read, old, incoming, relation)
    if arriving is not None:
        arriving(_arrival(ledger, read, old, step))
    pack = write_objects(ledger, step.objects)
    backup = backups.keep(ledger, old.commit, now_ms=now_ms)
    moved = publish(ledger, old.commit, step.new, step.objects[-EDGE_OBJECTS:], deadline)
    if moved == "lost":
        return None
    release(ledger, pack)
    told = (UNSYNCED,) if moved == "unsynced" else tidied(ledger, old.seq, step.new.seq)
    return _outcome(
        ledger,
        step.kind,
        old,
        step.new,
        incoming,
        commits=len(relation.right),
        backup=backup,
        adopted=adopted,
        warnings=told,
    )


def _outcome(
    ledger: Ledger,
    kind: Literal["same", "ahead", "forward", "merged"],
    old: Tip,
    new: Tip,
    incoming: str,
    *,
    commits: int = 0,
    backup: str | None = None,
    adopted: bool = False,
    warnings: tuple[str, ...] = (),
) -> JoinOutcome:
    return JoinOutcome(
        kind=kind,
        ref=ledger.ref,
        old=old.commit,
        head=new.commit,
        seq=new.seq,
        incoming=incoming,
        commits=commits,
        backup=backup,
        adopted=adopted,
        warnings=warnings,
    )


def _step(ledger: Ledger, read: Read, old: Tip, incoming: str, relation: Relation) -> _Step:
    theirs = ledger.tip(incoming, read)
    if relation.kind == "behind":  # case 2
        return _Step("forward", theirs, [])
    union = unite(read, old.root, theirs.root, ledger.algorithm)  # case 4
    heads = {oid: parse_commit(read(oid)[1]) for oid in (old.commit, incoming)}
    data = commit_bytes(merge_commit(heads, union.root))
    commit = raw_object(b"commit", data, ledger.algorithm)
    new = Tip(commit.oid, union.root, max(old.seq, theirs.seq))
    return _Step("merged", new, [*union.written, commit])


def _arrival(ledger: Ledger, read: Read, old: Tip, step: _Step) -> Arrival:
    made = {raw.oid: (raw.kind, raw.data) for raw in step.objects}

    def through(oid: str) -> tuple[bytes, bytes]:
        return made.get(oid) or read(oid)

    found = stored_between(through, old.root, step.new.root, ledger.algorithm)
    return Arrival(old, step.new, found or ())
