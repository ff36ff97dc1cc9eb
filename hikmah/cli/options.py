"""The options that stand before or after any command, and what they come to.

An option given twice counts as it stands last: a command's own beats the group's, the
group's beats the environment variable. Values travel in click's `Context.meta`, which a
group shares with its command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import click

from hikmah.model.limits import MAX_LIMIT

META = "hikmah.cli."
FORMATS = ("auto", "text", "json")
LIMIT = click.IntRange(1, MAX_LIMIT)
AS_OF = click.option("--as-of", metavar="POINT", help="Answer as then: a commit, sequence or date.")


def limit_option(default: int) -> Callable[[Any], Any]:
    """Return the `--limit` of a list that shows so many unless told otherwise."""
    return click.option(
        "--limit", type=LIMIT, default=default, show_default=True, help="At most so many."
    )


class Globals:
    """The global options of one run; None where neither option nor variable is given.

    Args:
        given: The options that were given, by name.
    """

    store: str | None = None
    ledger: str | None = None
    policy: str | None = None
    format: str = "auto"
    json: bool = False
    now: str | None = None
    lock_timeout: float | None = None
    tz: str = "UTC"
    debug: bool = False
    quiet: bool = False
    verbose: bool = False

    def __init__(self, given: Mapping[str, Any]) -> None:
        vars(self).update(given)


def globals_of(context: click.Context) -> Globals:
    """Return the global options of a run, from the group's and the command's."""
    meta = context.meta
    return Globals({name: meta[META + name] for name in GLOBAL_NAMES if META + name in meta})


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Note a global option's value when one was given."""
    if value is not None and value is not False:
        context.meta[f"{META}{parameter.name}"] = value


def global_options(*, from_environment: bool) -> list[click.Parameter]:
    """Return fresh global options: the group's also read their environment variables."""

    def option(*names: str, envvar: str | None = None, **settings: Any) -> click.Option:
        variable = envvar if from_environment else None
        return click.Option(names, callback=_keep, expose_value=False, envvar=variable, **settings)

    return [
        option("--store", metavar="PATH", envvar="HIKMAH_STORE", help="Git repository to use."),
        option("--ledger", metavar="NAME", envvar="HIKMAH_LEDGER", help="Ledger in it: memory."),
        option("--policy", metavar="FILE", envvar="HIKMAH_POLICY", help="Limits and weights."),
        option(
            "--format",
            type=click.Choice(FORMATS),
            envvar="HIKMAH_FORMAT",
            help="auto: text on a terminal, JSON otherwise.",
        ),
        option("--json", is_flag=True, help="Short for --format json."),
        option("--now", metavar="TIME", help="Answer by this clock (ISO 8601 or milliseconds)."),
        option(
            "--lock-timeout",
            type=click.FloatRange(min=0),
            metavar="SECONDS",
            envvar="HIKMAH_LOCK_TIMEOUT",
            help="How long a write waits for the lock: 10.",
        ),
        option("--tz", metavar="ZONE", envvar="HIKMAH_TZ", help="Zone of times without one: UTC."),
        option("--debug", is_flag=True, help="Show tracebacks."),
        option("-q", "--quiet", is_flag=True, help="No progress, notes or warnings."),
        option("-v", "--verbose", is_flag=True, help="Full ids, and why each result scored."),
    ]


GLOBAL_NAMES = frozenset(Globals.__annotations__)


def global_records(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """Return help rows of the global options, and of --version and --help, of a command."""
    named = [p for p in command.get_params(context) if p.name in {*GLOBAL_NAMES, "version", "help"}]
    return [row for p in named if (row := p.get_help_record(context)) is not None]


@cache
def _command_options() -> list[click.Parameter]:
    """Return the global options as commands take them: one set, which all of them share."""
    return global_options(from_environment=False)


@cache
def _help_option(names: tuple[str, ...]) -> click.Option:
    def show(context: click.Context, _: click.Parameter, value: object) -> None:
        if value and not context.resilient_parsing:
            click.echo(context.get_help(), color=context.color)
            context.exit()

    return _eager(*names, "own_help", help="Show this message and exit.", callback=show)


def version_option(version: str) -> click.Option:
    """Return `--version`, in words of our own: see `OwnHelp`."""

    def show(context: click.Context, _: click.Parameter, value: object) -> None:
        if value and not context.resilient_parsing:
            click.echo(f"hikmah {version}", color=context.color)
            context.exit()

    return _eager("--version", help="Show the version and exit.", callback=show)


def _eager(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, is_flag=True, is_eager=True, expose_value=False, **settings)


class OwnHelp(click.Command):
    """A command with a `--help` in words of our own.

    Click translates its own, and looking for translations costs every start four
    milliseconds: it imports `locale`.
    """

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the option that prints the help."""
        return _help_option(tuple(ctx.help_option_names))


class Command(OwnHelp):
    """A command that also takes the global options, which its help only points at.

    Args:
        stray_hint: What to tell somebody who gave an argument too many.
    """

    def __init__(self, *args: Any, stray_hint: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.stray_hint = stray_hint
        self.params += _command_options()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the command's own options, then where to read of the global ones."""
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        own = [p for p in options if p.name not in GLOBAL_NAMES]
        rows = [row for p in own if (row := p.get_help_record(ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl(rows)
        with formatter.section("Global options (hikmah --help explains them)"):
            names = [p.opts[-1] for p in options if p.name in GLOBAL_NAMES]
            formatter.write_text(" ".join(names))
