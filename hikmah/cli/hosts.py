"""Commands for hosts: `hooks` edits their settings, `validate` checks a checkout."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.text import one_line
from hikmah.errors import InvalidInputError

if TYPE_CHECKING:
    from hikmah.cli.screen import Screen

ACTIONS = ("install", "uninstall", "status")


@click.command(cls=Command)
@click.argument("action", type=click.Choice(ACTIONS))
@click.option(
    "--host", metavar="HOST", help="claude, codex, copilot, cursor, gemini or kimi; status: all."
)
@click.option("--file", metavar="FILE", help="Another settings file than the host's own.")
@pass_run
def hooks(run: Run, action: str, host: str | None, file: str | None) -> None:
    """Install the gate into a host's settings.

    install adds its hooks and keeps everything else; uninstall gives back the bytes from
    before; status shows what is installed. Review what a hook runs before you enable it.
    """
    from hikmah.hosts import install, targets  # the host's files are only read when asked for

    if action == "status":
        named = [host] if host else list(targets.TARGETS)
        found = [
            install.status(name, targets.settings_path(name, os.environ, file)) for name in named
        ]
        run.show("hooks", {"hosts": found}, lambda screen: _draw_hosts(found, screen))
        return
    if not host:
        raise click.UsageError(f"{action} needs --host")
    act = install.install if action == "install" else install.uninstall
    report = act(host, targets.settings_path(host, os.environ, file))
    run.note(report.note)

    def draw(screen: Screen) -> None:
        screen.line(f"{report.outcome}: {one_line(report.path)}")

    run.show("hooks", report._asdict(), draw)


def _draw_hosts(found: list[dict[str, object]], screen: Screen) -> None:
    rows = [
        [
            str(one["host"]),
            "installed" if one["installed"] else "-",
            "active" if one["active"] else "-",
            str(one["problem"] or one["path"]),
        ]
        for one in found
    ]
    screen.table(["host", "hooks", "gate", "settings"], rows)


@click.command(cls=Command)
@click.option("--root", metavar="FOLDER", default=".", help="The checkout to check.")
@pass_run
def validate(run: Run, root: str) -> None:
    """Check the package, its hosts' files and skills.

    Lists every problem at once and exits 3 unless there are none.
    """
    from pathlib import Path

    from hikmah.cli import COMMANDS
    from hikmah.hosts.validate import validate as check

    report = check(Path(root), COMMANDS)
    run.show("validate", report, lambda screen: _draw_problems(report, screen))
    if not report["ok"]:
        run.exit(InvalidInputError.exit_code)


def _draw_problems(report: dict[str, Any], screen: Screen) -> None:
    for problem in report["problems"]:
        screen.line(one_line(f"{problem['path']}: {problem['what']}", 500))
    screen.line(f"{len(report['problems'])} problems in version {report['version']}")
