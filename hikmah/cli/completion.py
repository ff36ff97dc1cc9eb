"""`hikmah completion`: the script by which a shell completes what is typed."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from hikmah.cli.entry import COMPLETE_VARIABLE
from hikmah.cli.options import Command
from hikmah.cli.streams import write_out

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
def completion(shell: str) -> None:
    """Print a shell's completion script.

    SHELL is bash, zsh or fish. In ~/.bashrc: eval "$(hikmah completion bash)"; in ~/.zshrc
    the same with zsh; for fish, save it as ~/.config/fish/completions/hikmah.fish.
    """
    from hikmah.cli import cli  # the group's module loads this one

    kind = get_completion_class(shell)
    if kind is None:  # click ships all of SHELLS
        raise click.UsageError(f"click has no completion for {shell}")
    write_out(kind(cli, {}, "hikmah", COMPLETE_VARIABLE).source() + "\n")
