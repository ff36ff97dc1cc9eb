"""Clone: a ledger from a remote becomes this one's: verified, acknowledged."""

from __future__ import annotations

import time

from msgspec import Struct

from hikmah.errors import BusyError, RefusedError
from hikmah.ledger.append import disagreement, locked, repoint
from hikmah.ledger.findings import Progress
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger
from hikmah.remotes.fetching import Fetched, fetch_ledger
from hikmah.remotes.naming import Remote
from hikmah.remotes.road import Road


class Cloned(Struct, frozen=True, kw_only=True):
    """A ledger that came from a remote: where it is now, and what was verified of it."""

    store: str
    made_store: bool
    remote: str
    url: str
    ref: str
    tracking_ref: str
    name: str
    ledger: str
    commit: str
    seq: int
    commits: int
    records: int
    verified: dict[str, int]


def clone_ledger(
    ledger: Ledger,
    remote: Remote,
    road: Road,
    *,
    timeout_s: float,
    progress: Progress | None = None,
) -> Fetched:
    """Bring a remote's ledger and make it this repository's own.

    Args:
        ledger: The ledger here, which must not have begun.
        remote: The remote.
        road: The way to it.
        timeout_s: How long to wait for other writers.
        progress: Called with commits verified and commits there are.

    Raises:
        RefusedError: There is a ledger of that name here.
        IntegrityError: What came breaks a rule, or a ledger here lost its ref.
    """
    check_empty(ledger)
    found = fetch_ledger(ledger, remote, road, timeout_s=timeout_s, progress=progress)
    with locked(ledger, timeout_s):
        check_empty(ledger)
        head = Head(commit=found.commit, seq=found.seq)
        if repoint(ledger, None, head, time.monotonic() + timeout_s) == "lost":
            raise BusyError(f"{ledger.ref} was made at this moment", hint="look what it holds")
    return found


def check_empty(ledger: Ledger) -> None:
    """Refuse to take a ledger where one is, or was.

    Raises:
        RefusedError: There is one.
        IntegrityError: There was one, and its ref is gone.
    """
    standing = ledger.standing()
    if standing.kind == "gone":
        raise disagreement(ledger, standing)
    if standing.kind != "empty":
        raise RefusedError(
            f"there is a ledger {ledger.name!r} in {ledger.store.repository.root} already",
            hint="`hikmah sync` joins it with a remote's of the same beginning; --store PATH takes "
            "another one elsewhere (docs/remotes.md: begun by mistake)",
            where=ledger.ref,
        )
