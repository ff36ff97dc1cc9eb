"""Commands to begin with: `init`, `status`, `doctor`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from hikmah.cli.drawing import fields_of
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line, pad, width

if TYPE_CHECKING:
    from hikmah.memory.doctor import DoctorReport, Finding
    from hikmah.memory.results import Initialised


MARKS = {"ok": ("ok     ", "green"), "note": ("note   ", "cyan"), "problem": ("PROBLEM", "red")}


@click.command(cls=Command)
@click.option("--standalone", is_flag=True, help="Always make ./.hikmah, also in a repository.")
@click.option("--remote", metavar="NAME", help="The remote to push to; git fetch follows it.")
@click.option("--new", is_flag=True, help="Begin another ledger, although a remote has one.")
@pass_run
def init(run: Run, *, standalone: bool, remote: str | None, new: bool) -> None:
    """Make a ledger, in this git repository or in ./.hikmah.

    Where there is one already, nothing changes. The work tree is never touched. A ledger that
    a remote has is not begun a second time, since two beginnings cannot be joined.
    """
    from hikmah.memory import Memory  # --help comes without

    options = run.options
    memory, created = Memory.init(
        options.store,
        ledger=options.ledger,
        policy=options.policy,
        standalone=standalone,
        now_ms=run.fixed_ms,
        lock_timeout_s=options.lock_timeout,
        remote=remote,
        new=new,
    )
    memory.close()
    run.show("init", created, lambda screen: _draw_created(screen, created))
    run.warn(created.warnings)


def _draw_created(screen: Screen, created: Initialised) -> None:
    word = "made" if created.created else "found"
    screen.line(f"{word} ledger {screen.style(one_line(created.name), 'bold')}")
    screen.fields(
        [
            ("store", one_line(created.store, 400)),
            ("ref", created.ref),
            ("ledger", created.ledger),
            ("head", created.commit),
        ]
    )


@click.command(cls=Command)
@pass_run
def status(run: Run) -> None:
    """Show the store, the ledger and what it holds."""
    with run.memory(reports=True) as memory:
        report = memory.status()
    run.show("status", report, lambda screen: screen.fields(fields_of(screen, report)))


@click.command(cls=Command)
@pass_run
def doctor(run: Run) -> None:
    """Look for problems and say what to run for each."""
    with run.memory(reports=True) as memory:
        report = memory.doctor()
    from msgspec import structs  # help comes without

    report = structs.replace(report, findings=(*report.findings, _gate()))
    run.show("doctor", report, lambda screen: _draw_doctor(screen, report))


def _gate() -> Finding:
    """Say in which hosts the gate is installed, and where it cannot act or be read."""
    from hikmah.hosts import install, targets
    from hikmah.memory.doctor import Finding

    hosts = [install.status(h, targets.settings_path(h, os.environ)) for h in targets.TARGETS]
    problems = [f"{h['host']}: {h['problem']}" for h in hosts if h["problem"]]
    inactive = [str(h["host"]) for h in hosts if h["installed"] and not h["active"]]
    active = [str(h["host"]) for h in hosts if h["active"]]
    told = [
        f"active in {', '.join(active)}" if active else "not active in any host",
        *([f"installed and inactive in {', '.join(inactive)}"] if inactive else []),
        *problems,
    ]
    return Finding(
        subject="gate",
        level="note" if inactive or problems else "ok",
        detail="; ".join(told),
        run="hikmah hooks status" if inactive or problems else "",
    )


def _draw_doctor(screen: Screen, report: DoctorReport) -> None:
    column = max(width(finding.subject) for finding in report.findings)
    for finding in report.findings:
        mark = screen.style(*MARKS[finding.level])
        detail = one_line(finding.detail, 400)
        screen.line(f"{mark}  {pad(finding.subject, column)}  {detail}")
        if finding.run:
            screen.line(" " * (column + 11) + f"run: {one_line(finding.run)}")
