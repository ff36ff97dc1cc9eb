"""Sync: fetch, join, push, again when the remote moves, and not for ever.

Cases (numbers used in the code and the tests):

1. the remote has no such ledger: it is pushed, when whoever asked agrees;
2. the remote has nothing new: what it lacks is pushed;
3. it has something new: that is joined (`hikmah.remotes.join`), then 2;
4. it moves between our fetch and our push: from the start, at most `MAX_ROUNDS` times.

Both halves go to the address that is pushed to: only there a head can be compared and moved.
A ledger moves here before it moves there, so a sync that dies leaves a ledger that is
ahead, and the next sync goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from hikmah.errors import NotFoundError, RemoteError, RemoteMovedError
from hikmah.ledger.findings import Progress
from hikmah.ledger.ledger import Ledger
from hikmah.remotes.fetching import fetch_ledger
from hikmah.remotes.join import Arriving, JoinOutcome, check_well, join
from hikmah.remotes.naming import Remote
from hikmah.remotes.pushing import FirstPush, PushReport, push_ledger
from hikmah.remotes.road import Road

# One of those who sync at the same moment gets through in each round.
MAX_ROUNDS = 20


class SyncOutcome(Struct, frozen=True, kw_only=True):
    """What a sync did.

    `joins` has one entry a round in which the remote had a ledger; `push` is None when the
    remote lacked nothing. `rounds` above 1 tell that it moved meanwhile.
    """

    remote: str
    url: str
    ref: str
    before: str
    commit: str
    seq: int
    rounds: int
    joins: tuple[JoinOutcome, ...]
    push: PushReport | None


def sync_ledger(
    ledger: Ledger,
    remote: Remote,
    road: Road,
    *,
    agree: Callable[[FirstPush], bool],
    now_ms: int,
    timeout_s: float,
    arriving: Arriving | None = None,
    progress: Progress | None = None,
) -> SyncOutcome:
    """Make this ledger and a remote's the same.

    Args:
        ledger: The ledger here; its ref and acknowledged head must agree.
        remote: The remote.
        road: The way to it, for fetching and for pushing.
        agree: Asked before this ledger first goes to that remote; False ends it.
        now_ms: The time, for the names of backups.
        timeout_s: How long to wait for writers on this machine.
        arriving: Told before each join what it brings; see `join`.
        progress: Called with commits verified and commits there are.

    Raises:
        NotFoundError: There is no such ledger here.
        IntegrityError: The ledger here is not well, the remote was rewritten, or what came
            breaks a rule.
        RefusedError: Nobody agreed, or the remote holds another ledger.
        RemoteError: The remote said no, is out of reach, or never stood still.
    """
    before = check_well(ledger)
    with_it = _Errand(ledger, remote.written(), road, timeout_s, progress)
    asked = _Once(agree)
    joins: list[JoinOutcome] = []
    for rounds in range(1, MAX_ROUNDS + 1):
        there = with_it.fetched()
        if there is not None:
            joined = join(
                ledger,
                there,
                now_ms=now_ms,
                lock_timeout_s=timeout_s,
                arriving=arriving,
                verified=True,
            )
            joins.append(joined)
        try:
            push = with_it.pushed(there, asked)
        except RemoteMovedError:  # case 4
            continue
        return SyncOutcome(
            remote=remote.given,
            url=road.shown,
            ref=ledger.ref,
            before=before,
            commit=push.commit if push else joins[-1].head,
            seq=push.seq if push else joins[-1].seq,
            rounds=rounds,
            joins=tuple(joins),
            push=push,
        )
    raise RemoteError(
        f"{road.shown} moved {MAX_ROUNDS} times while this ledger was on its way",
        hint="what came was joined; run `hikmah sync` again",
        where=road.shown,
    )


class _Once:
    """Asks for agreement until it was given, and then not again."""

    def __init__(self, agree: Callable[[FirstPush], bool]) -> None:
        self._agree = agree
        self._agreed = False

    def __call__(self, first: FirstPush) -> bool:
        self._agreed = self._agreed or self._agree(first)
        return self._agreed


class _Errand(NamedTuple):
    """One remote, and how long and before whose eyes a round with it goes on."""

    ledger: Ledger
    remote: Remote
    road: Road
    timeout_s: float
    progress: Progress | None

    def fetched(self) -> str | None:
        """Return the remote's head, brought here and verified; None: it has no such ledger."""
        try:
            found = fetch_ledger(
                self.ledger,
                self.remote,
                self.road,
                timeout_s=self.timeout_s,
                progress=self.progress,
            )
        except NotFoundError:  # case 1
            return None
        return found.commit

    def pushed(self, there: str | None, agree: Callable[[FirstPush], bool]) -> PushReport | None:
        """Push what the remote lacks; None when that is nothing."""
        if there is not None and there == self.ledger.tip_commit():
            return None
        return push_ledger(
            self.ledger,
            self.remote,
            self.road,
            agree=agree,
            timeout_s=self.timeout_s,
            progress=self.progress,
        )
