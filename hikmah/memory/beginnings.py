"""Before a ledger begins: whether it has begun elsewhere, which no join can mend.

Rules the module keeps:

1. A tracking ref of this repository answers without a connection.
2. A remote is asked only when a ledger is about to begin and git's configuration names one;
   it is asked no longer than a write waits for a lock, and not at all where that is 0.
3. A remote that cannot be asked is told of, and stops nobody.
"""

from __future__ import annotations

from hikmah.errors import HikmahError, InvalidInputError, NotFoundError, RefusedError, StoreError
from hikmah.memory import carrying
from hikmah.memory.desk import Desk
from hikmah.memory.trip import Trip
from hikmah.remotes import settings
from hikmah.remotes.naming import TRACKING, Remote

_MAX_WAIT_S = 10.0


def check_none_elsewhere(desk: Desk, given: str | None) -> tuple[str, ...]:
    """Refuse to begin a ledger that a remote has; return what to tell when it cannot be asked.

    Args:
        desk: Where it would begin.
        given: The remote to ask; None for the one that is configured, if there is one.

    Raises:
        RefusedError: A tracking ref, or the remote, has it.
    """
    _check_tracked(desk)
    wait_s = min(desk.lock_timeout_s, _MAX_WAIT_S)
    if wait_s <= 0:
        return ()
    trip = Trip(idle_s=wait_s)
    remote = _configured(desk, given, trip)
    if remote is None:
        return ()
    try:
        heads = carrying.way_to(desk, remote.url, trip).heads()
    except RefusedError:
        raise
    except HikmahError as e:
        return (f"{remote.given} could not be asked whether it has this ledger: {e.message}",)
    if desk.ledger.ref in heads:
        raise _begun(f"the remote {remote.given} has {desk.ledger.ref}", desk, remote.given)
    return ()


def _check_tracked(desk: Desk) -> None:
    for name in desk.ledger.store.refs_below(TRACKING):
        track, _, ledger = name.removeprefix(TRACKING).rpartition("/")
        if ledger == desk.ledger.name:
            raise _begun(f"{name} is here: a remote has this ledger", desk, track)


def _configured(desk: Desk, given: str | None, trip: Trip) -> Remote | None:
    try:
        return carrying.named(desk, given, trip)
    except (NotFoundError, InvalidInputError, StoreError):
        if given is not None:
            raise
        return None


def _begun(what: str, desk: Desk, remote: str) -> RefusedError:
    named = "URL" if remote.startswith("url-") else remote
    return RefusedError(
        f"{what}, and two beginnings cannot be joined; nothing was written",
        hint=f"`hikmah clone {named}` takes it; `hikmah init --new` begins another",
        where=desk.ledger.ref,
    )


def check_name(desk: Desk, name: str) -> None:
    """Refuse a name that git's configuration does not know.

    Raises:
        NotFoundError: There is no such remote, or it is a URL.
    """
    remote = carrying.named(desk, name, Trip())
    if remote.given != name or remote.track != name:
        raise NotFoundError(
            f"{remote.given!r} is no name that a fetch can follow",
            hint="name it first: `git remote add NAME URL`",
            where="remote",
        )


def follow(desk: Desk, name: str) -> None:
    """Make a named remote the default, and let a plain `git fetch` bring its ledgers."""
    store = desk.ledger.store
    settings.follow(store, name)
    settings.make_default(store, carrying.named(desk, name, Trip()))
