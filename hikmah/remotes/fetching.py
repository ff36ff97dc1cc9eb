"""Fetch: a remote's ledger comes to its tracking ref, verified; no more moves.

Steps: ask for the head, bring its objects, hold it against what was seen of the remote before,
verify every commit that is new, and only then move the tracking ref.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hikmah.errors import IntegrityError, NotFoundError, RefusedError
from hikmah.ledger import ancestry
from hikmah.ledger.ancestry import compare
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.findings import Progress
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.objects import parse_commit
from hikmah.remotes.arrivals import Arrivals, arrivals
from hikmah.remotes.incoming import Incoming, examine
from hikmah.remotes.naming import Remote
from hikmah.remotes.road import Road
from hikmah.remotes.tracking import Tracking, trusted_heads

# How this machine's ledger stands to the remote's.
Relation = Literal["none", "same", "ahead", "behind", "diverged"]


class Fetched(Struct, frozen=True, kw_only=True):
    """What a fetch brought to the tracking ref, every commit of it verified.

    `before` is what the tracking ref held; `commits` is how many new ones were verified.
    `relation` tells how the ledger here stands to the remote's (`none`: there is none here);
    `to_join` and `to_push` count the commits between them. `arrived` are the records that the
    remote has and the ledger here has not.
    """

    remote: str
    url: str
    ref: str
    tracking_ref: str
    before: str | None
    commit: str
    seq: int
    commits: int
    relation: Relation
    to_join: int
    to_push: int
    arrived: Arrivals
    warnings: tuple[str, ...] = ()


def fetch_ledger(
    ledger: Ledger,
    remote: Remote,
    road: Road,
    *,
    timeout_s: float,
    progress: Progress | None = None,
) -> Fetched:
    """Bring a remote's ledger to its tracking ref.

    Args:
        ledger: The ledger here; it need not have a genesis.
        remote: The remote.
        road: The way to it.
        timeout_s: How long to wait for another program that moves the tracking ref.
        progress: Called with commits verified and commits there are.

    Raises:
        NotFoundError: The remote has no such ledger.
        IntegrityError: It was rewritten, or what came breaks a rule; nothing moved.
        RefusedError: It is another ledger, which cannot be joined with the one here.
        RemoteError: It could not be reached.
    """
    tracking = Tracking(ledger, remote)
    before, seen = tracking.commit(), tracking.seen()
    head = _bring(ledger, road, tracking, seen)
    with ObjectReader(ledger.store) as reader:
        tracking.check_forward(head, reader.read, seen=seen)
    found = believe(ledger, head, tracking, road.shown, progress=progress)
    with ObjectReader(ledger.store) as reader:
        tracking.advance(head, reader.read, timeout_s=timeout_s)
        tip = ledger.tip_commit()
        relation = compare(reader.read, tip, head, ledger.algorithm) if tip else None
        arrived = arrivals(reader.read, tip, head, ledger.algorithm)
    return Fetched(
        remote=remote.given,
        url=road.shown,
        ref=ledger.ref,
        tracking_ref=tracking.ref,
        before=before,
        commit=head,
        seq=ledger.tip(head, ledger.store.read).seq,
        commits=len(found.commits),
        relation=_relation(relation),
        to_join=len(relation.right if relation else found.commits),
        to_push=len(relation.left) if relation else 0,
        arrived=arrived,
    )


def _relation(found: ancestry.Relation | None) -> Relation:
    if found is None or found.kind == "unrelated":  # another ledger was refused before this
        return "none"
    return found.kind


def _bring(ledger: Ledger, road: Road, tracking: Tracking, seen: tuple[str, ...]) -> str:
    """Bring the remote's objects and return its head."""
    head = road.heads().get(ledger.ref)
    if head is not None:
        return road.fetch(ledger.ref)
    tracking.check_forward(None, ledger.store.read, seen=seen)
    raise NotFoundError(
        f"{road.shown} has no {ledger.ref}",
        hint="`hikmah push` brings this ledger there; --ledger NAME names another",
        where=ledger.ref,
    )


def believe(
    ledger: Ledger,
    head: str,
    tracking: Tracking,
    shown: str,
    *,
    progress: Progress | None = None,
) -> Incoming:
    """Verify what is new behind a head that came, and return what was found.

    Raises:
        IntegrityError: A commit breaks a rule; it is named, and why.
        RefusedError: It is another ledger than the one here.
    """
    known = trusted_heads(ledger, tracking.verified())
    _check_same_ledger(ledger, head, known[0] if known else ledger.tip_commit(), shown)
    found = examine(ledger, head, known, progress=progress)
    if found.ok:
        return found
    where = found.errors[0].commit or head
    raise IntegrityError(
        f"what came from {shown} breaks a rule and was not taken: {found.told()}",
        hint=f"nothing moved here; look at it with `git show {where}`",
        where=where,
    )


def _check_same_ledger(ledger: Ledger, head: str, here: str | None, shown: str) -> None:
    """Refuse another ledger by its own name, before the rules are held against it."""
    if here is None:
        return
    with ObjectReader(ledger.store) as reader:
        mine, theirs = (
            ledger.genesis(parse_commit(reader.content(commit, b"commit")).tree, reader.read)
            for commit in (here, head)
        )
    if mine.ledger != theirs.ledger:
        raise other_ledger(mine.ledger, theirs.ledger, shown)


def other_ledger(mine: str, theirs: str, shown: str) -> RefusedError:
    """Return the error for a remote that holds another ledger under the same name."""
    return RefusedError(
        f"{shown} holds ledger {theirs}, this is ledger {mine}: two beginnings cannot be joined",
        hint="`hikmah clone` takes that one elsewhere; `hikmah export --to jsonl` and "
        "`hikmah import --from jsonl` carry records over",
        where=shown,
    )
