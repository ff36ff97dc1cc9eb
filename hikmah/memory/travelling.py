"""The part of `Memory` that takes a ledger to other repositories and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hikmah.memory.door import Door

if TYPE_CHECKING:
    from pathlib import Path

    from hikmah.memory.syncing import Synced
    from hikmah.memory.trip import Trip
    from hikmah.remotes.arrivals import Arrivals
    from hikmah.remotes.cloning import Cloned
    from hikmah.remotes.fetching import Fetched
    from hikmah.remotes.pin import Pin
    from hikmah.remotes.pushing import FirstPush, PushReport

    Agree = Callable[[FirstPush], bool]

# Reports that callers may name in annotations; at run time nobody imports them from here.
__all__ = [
    "Arrivals",
    "Cloned",
    "Fetched",
    "FirstPush",
    "Pin",
    "PushReport",
    "Synced",
    "Travelling",
]


class Travelling(Door):
    """Verbs between repositories: nothing is forced, nothing is believed unverified."""

    def push(
        self,
        remote: str | None = None,
        *,
        yes: bool = False,
        agree: Agree | None = None,
        trip: Trip | None = None,
    ) -> PushReport:
        """Push this ledger to a remote, after verifying what the remote lacks.

        Args:
            remote: A name in git's configuration, a URL or a path; without it the
                configuration's `hikmah.remote`, else `origin`.
            yes: Agree to a first push there: whoever can read the remote reads the ledger.
            agree: Asked instead, with what would be published.
            trip: How long to wait, and whom to tell.

        Raises:
            IntegrityError: Something here breaks a rule, or the remote was rewritten.
            RefusedError: A first push to which nobody agreed.
            RemoteError: The remote is ahead (`sync` is the way), said no, or is out of reach.
        """
        from hikmah.memory import carrying

        with self._lock:
            return carrying.push(self._desk, remote, _agreement(agree, yes=yes), trip)

    def take_clone(self, url: str, *, made: bool, trip: Trip) -> Cloned:
        """Bring a ledger into this store, which has none of that name; `clone` is the way in.

        Args:
            url: As for `clone`.
            made: Whether the store was made for it.
            trip: As for `push`.
        """
        from hikmah.memory import cloning

        with self._lock:
            return cloning.take(self._desk, url, trip, made=made)

    def pin(self, *, write: str | Path | None = None) -> Pin:
        """Return what the ledger's head is now, to be kept where its writers cannot reach.

        Args:
            write: A file to write it to; an older pin there must be behind this one.

        Raises:
            IntegrityError: Ref and acknowledged head disagree, or the older pin is not in
                this history.
        """
        from pathlib import Path  # questions do without

        from hikmah.memory import carrying

        with self._lock:
            return carrying.pin(self._desk, None if write is None else Path(write))

    def fetch(self, remote: str | None = None, *, trip: Trip | None = None) -> Fetched:
        """Bring a remote's ledger to its tracking ref, verified; the ledger here stays as it is.

        Args:
            remote: As for `push`.
            trip: As for `push`.

        Raises:
            NotFoundError: The remote has no such ledger.
            IntegrityError: It was rewritten, or what came breaks a rule.
            RefusedError: It holds another ledger.
            RemoteError: It is out of reach.
        """
        from hikmah.memory import carrying

        with self._lock:
            return carrying.fetch(self._desk, remote, trip)

    def sync(
        self,
        remote: str | None = None,
        *,
        yes: bool = False,
        agree: Agree | None = None,
        trip: Trip | None = None,
    ) -> Synced:
        """Make this ledger and a remote's the same: fetch, join, push.

        Both machines make the same merge commit. A remote that moves meanwhile is fetched
        and joined again, a bounded number of times.

        Args:
            remote: As for `push`.
            yes: As for `push`.
            agree: As for `push`.
            trip: As for `push`.

        Raises:
            NotFoundError: There is no such ledger here.
            IntegrityError: The ledger here is not well, the remote was rewritten, or what
                came breaks a rule; the ledger here stays as it is.
            RefusedError: It holds another ledger, or nobody agreed to a first push.
            RemoteError: The remote said no, is out of reach, or never stood still.
        """
        from hikmah.memory import syncing

        with self._lock:
            return syncing.sync(self._desk, remote, _agreement(agree, yes=yes), trip)


def _agreement(agree: Agree | None, *, yes: bool) -> Agree:
    """Return who is asked about a first push; nobody agrees when nobody is there to ask."""
    return (lambda _: True) if yes else agree or (lambda _: False)
