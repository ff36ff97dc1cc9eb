"""Push: offer this ledger to a remote, having verified what the remote lacks.

Cases (numbers used in the code and the tests):

1. the remote has this head already: nothing is sent;
2. it has none, or an ancestor of this head: what it lacks is verified and offered;
3. it has commits that are not behind this head: exit 8, "run `hikmah sync`";
4. it no longer holds what was seen of it: it was rewritten, exit 6.

The first time a ledger goes to an address, whoever asked has to agree to what is published.
That somebody did is noted (`hikmah.remotes.tracking`); having fetched from there is no agreement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct, structs

from hikmah.errors import (
    HikmahError,
    IntegrityError,
    NotFoundError,
    RefusedError,
    RemoteError,
    RemoteMovedError,
)
from hikmah.ledger.ancestry import compare
from hikmah.ledger.append import disagreement
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.findings import Progress
from hikmah.ledger.ledger import Ledger
from hikmah.remotes.fetching import other_ledger
from hikmah.remotes.incoming import Incoming, examine
from hikmah.remotes.naming import Remote
from hikmah.remotes.road import Road
from hikmah.remotes.tracking import Tracking


class FirstPush(NamedTuple):
    """What somebody agrees to who pushes a ledger to a remote for the first time."""

    remote: str
    url: str
    records: int
    private: int
    sensitive: int

    def told(self) -> str:
        """Return what would go, in words."""
        text = f"{self.private:,} private traces among {self.records:,} records"
        return text + (f", and {self.sensitive:,} sensitive ones" if self.sensitive else "")


class PushReport(Struct, frozen=True, kw_only=True):
    """What a push brought to a remote; `changed` is False when it had all of it already.

    `before` is what the remote held. `commits` and `records` count what was verified and sent.
    """

    remote: str
    url: str
    ref: str
    tracking_ref: str
    before: str | None
    commit: str
    seq: int
    changed: bool
    first: bool
    commits: int
    records: int
    warnings: tuple[str, ...] = ()


def push_ledger(
    ledger: Ledger,
    remote: Remote,
    road: Road,
    *,
    agree: Callable[[FirstPush], bool],
    timeout_s: float,
    progress: Progress | None = None,
) -> PushReport:
    """Offer this ledger's head to a remote; never forces, and touches no other ref there.

    Args:
        ledger: The ledger; its ref and acknowledged head must agree.
        remote: The remote.
        road: The way to it.
        agree: Asked before the first push there; False ends it.
        timeout_s: How long to wait for another program that moves the tracking ref.
        progress: Called with commits verified and commits there are.

    Raises:
        NotFoundError: There is no such ledger here.
        IntegrityError: Ref and acknowledged head disagree, what would be sent breaks a rule,
            or the remote was rewritten.
        RefusedError: Nobody agreed, or the remote holds another ledger.
        RemoteMovedError: The remote is ahead or diverged.
        RemoteError: It said no, or could not be reached.
    """
    head, seq, anchored = _settled(ledger)
    tracking = Tracking(ledger, remote.written())
    seen = tracking.seen()
    before = road.heads().get(ledger.ref)
    _check_remote(ledger, head, before, tracking, road, seen=seen)
    first = not tracking.agreed(road.shown)
    report = PushReport(
        remote=remote.given,
        url=road.shown,
        ref=ledger.ref,
        tracking_ref=tracking.ref,
        before=before,
        commit=head,
        seq=seq,
        changed=before != head,
        first=first and before != head,
        commits=0,
        records=0,
    )
    if not anchored:
        _check_copy(ledger, head, tracking, progress)
    if before == head:  # case 1
        _track(ledger, tracking, head, timeout_s)
        return report
    found = examine(ledger, head, [before] if before else [], progress=progress)
    _check_found(found)
    if first:
        _ask(agree, _published(remote, road, found))
    _offer(ledger, head, before, road)
    _track(ledger, tracking, head, timeout_s)
    if first:
        tracking.note_agreed(road.shown, timeout_s=timeout_s)
    return _counted(report, found)


def _counted(report: PushReport, found: Incoming) -> PushReport:
    """Return a report with what was verified and sent."""
    return structs.replace(report, commits=len(found.commits), records=found.records)


def _settled(ledger: Ledger) -> tuple[str, int, bool]:
    """Return the head, its sequence number, and whether this machine acknowledged it.

    A ledger in disagreement is not pushed.
    """
    standing = ledger.standing()
    if standing.kind == "empty" or (standing.tip is None and standing.head is None):
        raise NotFoundError(f"no ledger {ledger.name!r} here", hint="`hikmah init` makes one")
    if standing.kind not in {"equal", "unanchored"} or standing.tip is None:
        raise disagreement(ledger, standing)
    return standing.tip, ledger.tip(standing.tip).seq, standing.kind == "equal"


def _check_remote(
    ledger: Ledger,
    head: str,
    there: str | None,
    tracking: Tracking,
    road: Road,
    *,
    seen: tuple[str, ...],
) -> None:
    """Refuse to push to a remote that holds what this ledger does not (cases 3 and 4)."""
    with ObjectReader(ledger.store) as reader:
        if there is None:
            tracking.check_forward(None, reader.read, seen=seen)
            return
        if not ledger.store.has(there):
            raise _elsewhere(ledger, there, road)
        tracking.check_forward(there, reader.read, seen=seen)
        kind = compare(reader.read, head, there, ledger.algorithm).kind
    if kind == "unrelated":
        raise _unrelated(ledger, head, there, road)
    if kind not in {"same", "ahead"}:
        raise _elsewhere(ledger, there, road)


def _unrelated(ledger: Ledger, head: str, there: str, road: Road) -> HikmahError:
    read = ledger.store.read
    mine, theirs = (ledger.genesis(ledger.tip(c, read).root, read) for c in (head, there))
    if mine.ledger == theirs.ledger:
        return _elsewhere(ledger, there, road)
    return other_ledger(mine.ledger, theirs.ledger, road.shown)


def _elsewhere(ledger: Ledger, there: str | None, road: Road) -> RemoteMovedError:
    return RemoteMovedError(
        f"{road.shown} holds commits of {ledger.ref} that are not here: it is at {there}",
        hint="run `hikmah sync`: it fetches, joins and pushes",
        where=road.shown,
    )


def _check_found(found: Incoming) -> None:
    if found.ok:
        return
    where = found.errors[0].commit or found.head
    raise IntegrityError(
        f"what would be pushed breaks a rule, and nothing was sent: {found.told()}",
        hint="`hikmah verify-ledger` lists all of it",
        where=where,
    )


def _check_copy(ledger: Ledger, head: str, tracking: Tracking, progress: Progress | None) -> None:
    """Verify a copy that nothing here acknowledged: that a remote has it vouches for nothing."""
    verified = tracking.verified()
    _check_found(examine(ledger, head, [verified] if verified else [], progress=progress))


def _published(remote: Remote, road: Road, found: Incoming) -> FirstPush:
    """Return what somebody agrees to who lets this push go on."""
    return FirstPush(
        remote=remote.given,
        url=road.shown,
        records=found.records,
        private=found.privacies.get("private", 0),
        sensitive=found.privacies.get("sensitive", 0),
    )


def _ask(agree: Callable[[FirstPush], bool], first: FirstPush) -> None:
    if agree(first):
        return
    raise RefusedError(
        f"this would be the first push to {first.url}, of {first.told()}; nothing was sent",
        hint="whoever can read that repository can read all of it; --yes agrees to that",
        where=first.url,
    )


def _offer(ledger: Ledger, head: str, before: str | None, road: Road) -> None:
    pushed = road.push(ledger.ref, head, before)
    if pushed.kind == "moved":
        raise _elsewhere(ledger, pushed.now, road)
    if pushed.kind == "refused":
        raise RemoteError(
            f"{road.shown} did not take {ledger.ref}: {pushed.reason or 'it gave no reason'}",
            hint="it is as it was; ask who keeps that repository",
            where=road.shown,
        )


def _track(ledger: Ledger, tracking: Tracking, head: str, timeout_s: float) -> None:
    with ObjectReader(ledger.store) as reader:
        tracking.advance(head, reader.read, timeout_s=timeout_s)
