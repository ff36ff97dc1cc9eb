"""The command `guard`: what a shared repository lets a push do to its ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hikmah.cli.groups import Group
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.text import one_line
from hikmah.errors import RefusedError

if TYPE_CHECKING:
    from hikmah.cli.screen import Screen
    from hikmah.memory.guarding import Guarded, Judgement


@click.group(cls=Group)
def guard() -> None:
    """Guard a shared repository's ledgers.

    A git hook there lets a push only add to a ledger: no forcing, no deleting, no commit that
    verification would find fault with, no credential. Other refs are not its business.
    """


@guard.command(cls=Command)
@click.argument("repository", metavar="REPOSITORY")
@click.option("--chain", is_flag=True, help="Keep a hook that is there, and call it first.")
@pass_run
def install(run: Run, repository: str, *, chain: bool) -> None:
    """Install the guard in a repository.

    It becomes the update hook of REPOSITORY, the one that is pushed to.
    """
    from hikmah.memory import guarding  # --help comes without

    done = guarding.install(repository, chain=chain)
    run.show("guard-install", done._asdict(), lambda screen: _draw_done(done, screen))
    run.note(done.note, label="warning")


@guard.command(cls=Command)
@click.argument("repository", metavar="REPOSITORY")
@pass_run
def uninstall(run: Run, repository: str) -> None:
    """Take the guard out; a hook from before comes back to the byte."""
    from hikmah.memory import guarding  # --help comes without

    done = guarding.uninstall(repository)
    run.show("guard-uninstall", done._asdict(), lambda screen: _draw_done(done, screen))


def _draw_done(done: Guarded, screen: Screen) -> None:
    chained = "  (after the hook that was there)" if done.chained else ""
    screen.line(f"{done.outcome}: {one_line(done.path)}{chained}")


@guard.command(cls=Command)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--ref", metavar="REF", required=True, help="The ledger's ref, refs/hikmah/NAME.")
@pass_run
def check(run: Run, old: str, new: str, ref: str) -> None:
    """Judge a ledger's move from OLD to NEW, as the hook does.

    Both are full commit ids whose objects are in the store; OLD is all zeros, or empty, when
    the ref is new. Exits 5 unless the move is allowed.
    """
    from hikmah.memory import guarding  # --help comes without

    found = guarding.check(run.options.store, ref=ref, old=old, new=new)
    run.show("guard-check", found, lambda screen: _draw_judgement(found, screen))
    if not found.allowed:
        run.exit(RefusedError.exit_code)


def _draw_judgement(found: Judgement, screen: Screen) -> None:
    from hikmah.memory.guarding import lines

    if found.allowed:
        counts = f"{found.records:,} records in {found.commits:,} new commits"
        screen.line(f"{screen.style('allowed', 'bold', 'green')}  {one_line(found.ref)}  {counts}")
        return
    screen.line(screen.style("refused", "bold", "red"))
    for line in lines(found):
        screen.block(line)
