"""The verbs between repositories: push and fetch, over the road to a remote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hikmah.memory.desk import Desk
from hikmah.memory.trip import Trip
from hikmah.remotes import fetching, pushing
from hikmah.remotes import pin as pins
from hikmah.remotes.naming import Remote, find_remote
from hikmah.remotes.road import IDLE_S, Patience, Road, open_road

if TYPE_CHECKING:
    from hikmah.remotes.fetching import Fetched
    from hikmah.remotes.pin import Pin
    from hikmah.remotes.pushing import FirstPush, PushReport


def named(desk: Desk, given: str | None, trip: Trip) -> Remote:
    """Return the remote that a name, URL or path means here."""
    store = desk.ledger.store
    bare = store.common_dir.name != ".git"
    root = store.common_dir if bare else store.repository.root
    return find_remote(given, store.settings, root=root, cwd=Path(trip.cwd or ".").absolute())


def way_to(desk: Desk, url: str, trip: Trip) -> Road:
    """Return the road to a remote's address."""
    idle_s = IDLE_S if trip.idle_s is None else trip.idle_s
    return open_road(
        desk.ledger.store,
        url,
        environ=desk.environ,
        patience=Patience(idle_s=idle_s),
        watch=trip.watch,
    )


def push(
    desk: Desk, given: str | None, agree: Callable[[FirstPush], bool], trip: Trip | None
) -> PushReport:
    """Push the ledger; see `Memory.push`."""
    trip = trip or Trip()
    desk.head()  # says when there is no ledger
    remote = named(desk, given, trip)
    return pushing.push_ledger(
        desk.ledger,
        remote,
        way_to(desk, remote.push_url, trip),
        agree=agree,
        timeout_s=desk.lock_timeout_s,
        progress=trip.progress,
    )


def fetch(desk: Desk, given: str | None, trip: Trip | None) -> Fetched:
    """Bring a remote's ledger to its tracking ref; see `Memory.fetch`."""
    trip = trip or Trip()
    remote = named(desk, given, trip)
    return fetching.fetch_ledger(
        desk.ledger,
        remote,
        way_to(desk, remote.url, trip),
        timeout_s=desk.lock_timeout_s,
        progress=trip.progress,
    )


def pin(desk: Desk, write: Path | None) -> Pin:
    """Return a pin of the present head; see `Memory.pin`."""
    made = pins.pin_of(desk.ledger, at_ms=desk.clock())
    if write is not None:
        pins.write_pin(write, made, desk.ledger)
    return made
