"""Verbs for tests between repositories: open a road, push, fetch, look at refs."""

from __future__ import annotations

from pathlib import Path

from hikmah.ledger import durable
from hikmah.ledger.append import start
from hikmah.ledger.chain import FORMAT, Genesis
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger
from hikmah.remotes.fetching import Fetched, fetch_ledger
from hikmah.remotes.naming import Remote, find_remote
from hikmah.remotes.pushing import PushReport, push_ledger
from hikmah.remotes.road import Patience, Road, open_road
from hikmah.remotes.sync import SyncOutcome, sync_ledger
from tests import world

SYNC_MS = 1_900_000_000_000


def road(ledger: Ledger, url: str | Path, **environ: str) -> Road:
    """Open the road from a ledger's repository."""
    around = world.environment(ledger.store.common_dir) | environ
    return open_road(ledger.store, str(url), environ=around, patience=Patience(20, 60))


def remote(ledger: Ledger, given: str | Path) -> Remote:
    """Return the remote that a name or address means in a ledger's repository."""
    return find_remote(str(given), ledger.store.settings, root=ledger.store.common_dir)


def push(ledger: Ledger, given: str | Path, *, yes: bool = True) -> PushReport:
    """Push a ledger."""
    to = remote(ledger, given)
    way = road(ledger, to.push_url)
    return push_ledger(ledger, to, way, agree=lambda _: yes, timeout_s=5)


def fetch(ledger: Ledger, given: str | Path) -> Fetched:
    """Fetch a ledger."""
    to = remote(ledger, given)
    return fetch_ledger(ledger, to, road(ledger, to.url), timeout_s=5)


def sync(
    ledger: Ledger, given: str | Path, *, yes: bool = True, way: Road | None = None
) -> SyncOutcome:
    """Sync a ledger with a remote."""
    to = remote(ledger, given)
    by = way or road(ledger, to.push_url)
    return sync_ledger(ledger, to, by, agree=lambda _: yes, now_ms=SYNC_MS, timeout_s=5)


def refs(repo: Path) -> dict[str, str]:
    """Return every ref of a repository, as git lists them."""
    listed = world.git(repo, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return {ref: oid for ref, _, oid in (line.partition(" ") for line in listed)}


def tip(ledger: Ledger) -> str:
    """Return the commit a ledger's ref holds."""
    found = ledger.tip_commit()
    assert found is not None
    return found


def other_genesis(ledger: Ledger) -> None:
    """Give a ledger a genesis that is nobody else's."""
    genesis = Genesis(format=FORMAT, ledger="0dd0" * 8, name=ledger.name, created_at_ms=0)
    start(ledger, genesis, time_s=1, lock_timeout_s=5)


def copy_of(ledger: Ledger, folder: Path) -> Ledger:
    """Return a second machine with the same ledger, acknowledged there."""
    repo = world.repository(folder)
    world.git(repo, "fetch", "-q", str(ledger.store.common_dir), f"{ledger.ref}:{ledger.ref}")
    there = world.reopened(repo, ledger.name)
    newest = there.tip(tip(there))
    durable.make_folder(there.state.folder)
    there.state.acknowledge(Head(commit=newest.commit, seq=newest.seq))
    return there
