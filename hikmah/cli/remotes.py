"""Commands between repositories: `pin`, `push`, `fetch`, `sync`, `clone`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from hikmah.cli.drawing import joined
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.streams import is_terminal, write_err
from hikmah.cli.text import one_line

if TYPE_CHECKING:
    from hikmah.memory.arriving import Arrived
    from hikmah.memory.travelling import (
        Arrivals,
        Cloned,
        Fetched,
        FirstPush,
        Pin,
        PushReport,
        Synced,
    )
    from hikmah.memory.trip import Trip

TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(0.1, 86_400),
    metavar="SECONDS",
    help="How long a remote may say nothing: 60.",
)
REMOTE = click.argument("remote", required=False)


@click.command(cls=Command)
@click.option("--write", metavar="FILE", help="Write it to a file, in place of an older pin.")
@pass_run
def pin(run: Run, /, write: str | None) -> None:
    """Note the head, to be kept elsewhere.

    hikmah verify-ledger --pin FILE then requires this ledger, with this commit in its history.
    Keep it where nobody who writes the ledger can write.
    """
    with run.memory() as memory:
        made = memory.pin(write=write)
    run.show("pin", made, lambda screen: _draw_pin(screen, made, write))


def _draw_pin(screen: Screen, made: Pin, written: str | None) -> None:
    screen.line(f"{screen.style('pinned', 'bold')}  {one_line(made.name)} at record {made.seq}")
    screen.fields(
        [
            ("ledger", made.ledger),
            ("commit", made.commit),
            ("at", screen.time(made.at_ms)),
            ("written to", one_line(written or "", 400)),
        ]
    )


@click.command(cls=Command)
@REMOTE
@click.option("--yes", is_flag=True, help="Agree to a first push: who reads it, reads the ledger.")
@TIMEOUT
@pass_run
def push(run: Run, /, remote: str | None, timeout: float | None, *, yes: bool) -> None:
    """Push this ledger to a remote, verified.

    REMOTE is a name that git remote lists, a URL or a path; without it hikmah.remote of git's
    configuration, else origin. Nothing is forced, and no other ref is pushed.
    """
    with run.memory() as memory:
        report = memory.push(remote, yes=yes, agree=_agree, trip=_trip(run, timeout))
    run.show("push", report, lambda screen: _draw_pushed(screen, report))
    run.warn(report.warnings)


@click.command(cls=Command)
@REMOTE
@TIMEOUT
@pass_run
def fetch(run: Run, /, remote: str | None, timeout: float | None) -> None:
    """Bring a remote's ledger here, and verify it.

    It comes to refs/hikmah-remotes/REMOTE; this machine's ledger stays as it is until
    hikmah sync joins the two.
    """
    with run.memory() as memory:
        found = memory.fetch(remote, trip=_trip(run, timeout))
    run.show("fetch", found, lambda screen: _draw_fetched(screen, found))
    run.warn(found.warnings)


@click.command(cls=Command)
@click.argument("url")
@click.argument("folder", required=False, metavar="[DIR]")
@TIMEOUT
@pass_run
def clone(run: Run, /, url: str, folder: str | None, timeout: float | None) -> None:
    """Take over a ledger from a remote, verified.

    URL is an address, or the name of a remote here. It goes into the repository at DIR or at
    or above the working folder; where there is none, a bare .hikmah is made.
    """
    from hikmah.memory import Memory  # --help comes without

    options = run.options
    memory, cloned = Memory.clone(
        url,
        folder or options.store,
        ledger=options.ledger,
        lock_timeout_s=options.lock_timeout,
        trip=_trip(run, timeout),
    )
    memory.close()
    run.show("clone", cloned, lambda screen: _draw_cloned(screen, cloned))


def _draw_cloned(screen: Screen, cloned: Cloned) -> None:
    screen.line(f"{screen.style('cloned', 'bold')}  {one_line(cloned.ref)} from {_where(cloned)}")
    screen.fields(
        [
            ("store", one_line(cloned.store, 400)),
            ("ledger", cloned.ledger),
            ("head", f"{cloned.commit} (record {cloned.seq}), acknowledged"),
            ("verified", f"{cloned.records:,} records in {cloned.commits:,} commits"),
        ]
    )
    _draw_verified(screen, cloned.verified)


@click.command(cls=Command)
@REMOTE
@click.option("--yes", is_flag=True, help="Agree to a first push: who reads it, reads the ledger.")
@TIMEOUT
@pass_run
def sync(run: Run, /, remote: str | None, timeout: float | None, *, yes: bool) -> None:
    """Make this ledger and a remote's the same.

    Fetches, joins what both sides have new, and pushes; again when the remote moves meanwhile.
    The head that this machine had is kept under refs/hikmah-backup.
    """
    with run.memory() as memory:
        done = memory.sync(remote, yes=yes, agree=_agree, trip=_trip(run, timeout))
    run.show("sync", done, lambda screen: _draw_synced(screen, done))
    run.warn(done.warnings)


def _trip(run: Run, timeout: float | None) -> Trip:
    """Return how long to wait for a remote, and whom to tell."""
    from hikmah.memory.trip import Trip

    going = run.progress("remote")
    return Trip(
        idle_s=timeout,
        progress=run.progress("verifying"),
        watch=going.tell if going else None,
    )


def _agree(first: FirstPush) -> bool:
    """Ask a person at the terminal; where there is none, nobody agrees."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return False
    write_err(
        f"\r\x1b[KThis is the first push to {one_line(first.url, 200)}: {first.told()}.\n"
        "Whoever can read that repository can read all of it.\n"
    )
    return click.confirm("Push?", err=True)


def _draw_pushed(screen: Screen, report: PushReport) -> None:
    word = "pushed" if report.changed else "nothing to push"
    screen.line(f"{screen.style(word, 'bold')}  {one_line(report.ref)} to {_where(report)}")
    screen.fields(
        [
            ("head", f"{report.commit} (record {report.seq})"),
            ("before", report.before or "nothing was there"),
            ("sent", f"{report.records:,} records in {report.commits:,} commits, verified"),
        ]
    )


def _where(report: PushReport | Fetched | Synced | Cloned) -> str:
    """Return a remote's name and address, the latter once."""
    name, url = one_line(report.remote, 200), one_line(report.url, 200)
    return name if name == url else f"{name} ({url})"


STANDING = {
    "none": "there is no such ledger here yet: `hikmah clone` makes one of it",
    "same": "this ledger and the remote's are the same",
    "ahead": "this ledger is ahead: `hikmah push` brings the remote up to it",
    "behind": "this ledger is behind: `hikmah sync` takes over what came",
    "diverged": "both sides have new records: `hikmah sync` joins them",
}


def _draw_fetched(screen: Screen, found: Fetched) -> None:
    screen.line(f"{screen.style('fetched', 'bold')}  {one_line(found.ref)} from {_where(found)}")
    screen.fields(
        [
            ("head", f"{found.commit} (record {found.seq})"),
            ("before", found.before or "not seen before"),
            ("verified", f"{found.commits:,} new commits"),
            ("kept at", found.tracking_ref),
        ]
    )
    draw_arrivals(screen, found.arrived)
    screen.line(STANDING[found.relation])


def _draw_synced(screen: Screen, done: Synced) -> None:
    moved = done.before != done.commit or done.sent
    word = "synced" if moved else "nothing to sync"
    screen.line(f"{screen.style(word, 'bold')}  {one_line(done.ref)} with {_where(done)}")
    arrived = done.arrived
    how = f", {done.merges} merge(s)" if done.merges else ""
    screen.fields(
        [
            ("head", f"{done.commit} (record {done.seq})"),
            ("received", f"{arrived.records:,} records in {done.received:,} commits{how}"),
            ("sent", f"{done.sent:,} records"),
            *((("before", f"kept at {done.backups[0]}"),) if done.backups else ()),
        ]
    )
    if not arrived.records:
        return
    screen.heading(f"new here: {arrived.traces:,} traces")
    if arrived.switched:
        counts = joined((f"{n:,} {status}" for status, n in arrived.switched.items()), ", ")
        screen.line(f"not active any more: {counts}")
    if arrived.conflicts:
        keys = joined((one_line(key) for key in arrived.conflicts[:10]), ", ")
        screen.line(f"new contradictions ({len(arrived.conflicts):,}): {keys}")
        screen.line("look with `hikmah conflicts`")
    _draw_newest(screen, arrived)


def draw_arrivals(screen: Screen, arrived: Arrivals) -> None:
    """Draw the records that are new here, what a person should look at first."""
    if not arrived.records:
        return
    counts = joined((f"{n:,} {kind}" for kind, n in arrived.types.items()), ", ")
    screen.heading(f"{arrived.records:,} records that are not in this ledger ({counts})")
    _draw_newest(screen, arrived)


def _draw_newest(screen: Screen, arrived: Arrivals | Arrived) -> None:
    """Draw the last few records that came, and whose word is only their source's."""
    rows = [
        (str(r.seq), screen.id(r.id), r.kind or r.type, r.source or "", r.preview)
        for r in arrived.newest
    ]
    screen.table(("record", "id", "what", "source", "text"), rows, right="record")
    _draw_verified(screen, arrived.verified)


def _draw_verified(screen: Screen, verified: dict[str, int]) -> None:
    if verified:
        screen.heading("marked as verified elsewhere: look at these")
        table = [(source, f"{n:,}") for source, n in verified.items()]
        screen.table(("source", "traces"), table, right="traces")
