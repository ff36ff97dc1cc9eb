"""Clone: a place for a ledger that comes from a remote, or nothing left of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hikmah.ledger.locate import Repository
from hikmah.ledger.refs import StrPath
from hikmah.memory import carrying, opening
from hikmah.memory.desk import Desk
from hikmah.memory.trip import Trip
from hikmah.remotes import settings
from hikmah.remotes.cloning import Cloned, clone_ledger
from hikmah.remotes.naming import DEFAULT_REMOTE, Remote, without_password
from hikmah.remotes.road import OtherFormatError

if TYPE_CHECKING:
    from hikmah.memory.memory import Memory


class Place(NamedTuple):
    """Where a clone goes: a folder that was named, or the store at or above `cwd`."""

    folder: StrPath | None
    environ: Mapping[str, str]
    cwd: Path


def clone(
    place: Place, opened: Callable[[Path], Memory], url: str, trip: Trip | None
) -> tuple[Memory, Cloned]:
    """Bring a ledger from a remote; see `Memory.clone`.

    A store that was made for it is taken away again when the ledger does not come.
    """
    fresh = place.folder is not None and not (place.cwd / place.folder).exists()
    repository, made = opening.place_for(
        place.folder, standalone=False, environ=place.environ, cwd=str(place.cwd)
    )
    going = (trip or Trip())._replace(cwd=place.cwd)
    try:
        with _whole(repository, made=made, fresh=fresh):
            return _into(repository, opened, url, going, made=made)
    except OtherFormatError as e:
        if not made:
            raise
        theirs = e.theirs
    repository = opening.make_standalone(repository.root, theirs)
    with _whole(repository, made=made, fresh=fresh):
        return _into(repository, opened, url, going, made=made)


@contextlib.contextmanager
def _whole(repository: Repository, *, made: bool, fresh: bool) -> Iterator[None]:
    """Leave nothing of a store that was made here, when what is done with it fails."""
    try:
        yield
    except BaseException:
        if made:
            opening.unmake(repository)
        if fresh:
            with contextlib.suppress(OSError):  # somebody put something there meanwhile
                repository.root.rmdir()
        raise


def _into(
    repository: Repository,
    opened: Callable[[Path], Memory],
    url: str,
    trip: Trip,
    *,
    made: bool,
) -> tuple[Memory, Cloned]:
    memory = opened(repository.root)
    try:
        return memory, memory.take_clone(url, made=made, trip=trip)
    except BaseException:
        memory.close()
        raise


def take(desk: Desk, given: str, trip: Trip, *, made: bool) -> Cloned:
    """Bring a ledger into the store of a desk, which has none of that name."""
    ledger = desk.ledger
    remote = carrying.named(desk, given, trip)
    if made:  # a repository of the ledger's own: where it came from is its origin
        remote = Remote(DEFAULT_REMOTE, DEFAULT_REMOTE, remote.url, remote.url)
    found = clone_ledger(
        ledger,
        remote,
        carrying.way_to(desk, remote.url, trip),
        timeout_s=desk.lock_timeout_s,
        progress=trip.progress,
    )
    if made:
        pairs = [("url", without_password(remote.url))]
        pairs.append(("fetch", settings.refspec_of(DEFAULT_REMOTE)))
        settings.add_settings(ledger.store, "remote", DEFAULT_REMOTE, pairs)
    else:
        settings.make_default(ledger.store, remote)
    return Cloned(
        store=str(ledger.store.repository.root),
        made_store=made,
        remote=remote.given,
        url=found.url,
        ref=found.ref,
        tracking_ref=found.tracking_ref,
        name=ledger.name,
        ledger=ledger.genesis(ledger.tip(found.commit).root).ledger,
        commit=found.commit,
        seq=found.seq,
        commits=found.commits,
        records=found.arrived.records,
        verified=found.arrived.verified,
    )
