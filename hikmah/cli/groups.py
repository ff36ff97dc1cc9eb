"""A command with commands of its own: `hikmah entity list`, `hikmah event add`."""

from __future__ import annotations

from typing import Any

import click

from hikmah.cli.options import GLOBAL_NAMES, global_options


class Group(click.Group):
    """A group whose commands take the global options, before or after their names."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += global_options(from_environment=False)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the commands, then where to read of the global options."""
        self.format_commands(ctx, formatter)
        with formatter.section("Global options (hikmah --help explains them)"):
            options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
            names = [p.opts[-1] for p in options if p.name in GLOBAL_NAMES]
            formatter.write_text(" ".join(names))
