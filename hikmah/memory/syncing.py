"""The verb that makes two ledgers one: `sync`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from hikmah.errors import NotFoundError
from hikmah.memory import carrying
from hikmah.memory.arriving import ArrivalCount, Arrived
from hikmah.memory.desk import Desk
from hikmah.memory.trip import Trip
from hikmah.remotes.sync import SyncOutcome, sync_ledger

if TYPE_CHECKING:
    from hikmah.remotes.pushing import FirstPush


class Synced(Struct, frozen=True, kw_only=True):
    """What a sync did here and there.

    `before` and `commit` are the head here, before and now. `received` counts commits that
    were joined; `merges` those made for it; `backups` are the refs that hold the heads this
    machine had. `sent` counts records that the remote lacked. `rounds` above 1 tell that
    the remote moved meanwhile.
    """

    remote: str
    url: str
    ref: str
    before: str
    commit: str
    seq: int
    rounds: int
    received: int
    merges: int
    sent: int
    arrived: Arrived
    backups: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def sync(
    desk: Desk, given: str | None, agree: Callable[[FirstPush], bool], trip: Trip | None
) -> Synced:
    """Fetch, join, push; see `Memory.sync`."""
    trip = trip or Trip()
    if desk.ledger.standing().kind == "empty":
        raise NotFoundError(
            f"no ledger {desk.ledger.name!r} in {desk.ledger.store.repository.root}",
            hint="`hikmah clone` brings one from a remote, `hikmah init` begins one",
            where=desk.ledger.ref,
        )
    remote = carrying.named(desk, given, trip)
    arrivals = ArrivalCount(desk)
    outcome = sync_ledger(
        desk.ledger,
        remote,
        carrying.way_to(desk, remote.push_url, trip),
        agree=agree,
        now_ms=desk.clock(),
        timeout_s=desk.lock_timeout_s,
        arriving=arrivals.take,
        progress=trip.progress,
    )
    arrived = arrivals.counted()
    return _synced(outcome, arrived, (*desk.told(), *arrivals.told()))


def _synced(outcome: SyncOutcome, arrived: Arrived, told: tuple[str, ...]) -> Synced:
    joins = outcome.joins
    warnings = [text for join in joins for text in join.warnings]
    if any(join.adopted for join in joins):
        warnings.append(f"{outcome.ref} had no acknowledged head here: all of it was verified")
    return Synced(
        remote=outcome.remote,
        url=outcome.url,
        ref=outcome.ref,
        before=outcome.before,
        commit=outcome.commit,
        seq=outcome.seq,
        rounds=outcome.rounds,
        received=sum(join.commits for join in joins),
        merges=sum(join.kind == "merged" for join in joins),
        sent=outcome.push.records if outcome.push else 0,
        arrived=arrived,
        backups=tuple(join.backup for join in joins if join.backup),
        warnings=(*told, *warnings, *(outcome.push.warnings if outcome.push else ())),
    )
