"""Commands between repositories: `push`, `fetch`."""

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
    from hikmah.memory.travelling import Arrivals, Fetched, FirstPush, PushReport
    from hikmah.memory.trip import Trip

TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(0.1, 86_400),
    metavar="SECONDS",
    help="How long a remote may say nothing: 60.",
)
REMOTE = click.argument("remote", required=False)


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


def _trip(run: Run, timeout: float | None) -> Trip:
    """Return how long to wait, and whom to tell."""
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
        f"\r\x1b[KThis is the first push to {one_line(first.url, 200)}: {first.records:,} records, "
        f"{first.private:,} private traces among them.\n"
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


def _where(report: PushReport | Fetched) -> str:
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


def draw_arrivals(screen: Screen, arrived: Arrivals) -> None:
    """Draw the records that are new here, what a person should look at first."""
    if not arrived.records:
        return
    counts = joined((f"{n:,} {kind}" for kind, n in arrived.types.items()), ", ")
    screen.heading(f"{arrived.records:,} records that are not in this ledger ({counts})")
    rows = [
        (str(r.seq), screen.id(r.id), r.kind or r.type, r.source or "", r.preview)
        for r in arrived.newest
    ]
    screen.table(("record", "id", "what", "source", "text"), rows, right="record")
    if arrived.verified:
        screen.heading("marked as verified elsewhere: look at these")
        table = [(source, f"{n:,}") for source, n in arrived.verified.items()]
        screen.table(("source", "traces"), table, right="traces")
