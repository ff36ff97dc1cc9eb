"""The command line: click, one module a section, a command one call and print.

This module holds the command table and nothing heavy: `hikmah --help` prints from the table
and imports no command module. A new command is a row here, a help sentence in its module
(the same one), and a section in `docs/cli.md`; the tests compare the three.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from hikmah import __version__
from hikmah.cli.options import OwnHelp, global_options, global_records, version_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Row:
    """Where a command is, and what `--help` says of it without importing it."""

    def __init__(self, module: str, attribute: str, section: str, summary: str) -> None:
        self.module = module
        self.attribute = attribute
        self.section = section
        self.summary = summary


COMMANDS: dict[str, Row] = {
    "init": Row("start", "init", "Start", "Make a ledger, in this git repository or in ./.hikmah."),
    "demo": Row("demo", "demo", "Start", "Walk through everything in a temporary store."),
    "status": Row("start", "status", "Start", "Show the store, the ledger and what it holds."),
    "doctor": Row("start", "doctor", "Start", "Look for problems and say what to run for each."),
    "completion": Row("completion", "completion", "Start", "Print a shell's completion script."),
    "remember": Row("write", "remember", "Remember", "Write a trace, or a batch of them."),
    "fulfill": Row("write", "fulfill", "Remember", "Mark a commitment as kept."),
    "purge": Row("write", "purge", "Remember", "Take a trace out of every view, or retire it."),
    "supersede": Row("write", "supersede", "Remember", "Let one trace replace another."),
    "show": Row("history", "show", "Remember", "Show one record: history, links, conflicts."),
    "log": Row("history", "log", "Remember", "List records, newest first."),
    "import": Row("transfer", "import_", "Remember", "Take in an export, or another memory."),
    "export": Row("transfer", "export", "Remember", "Write memories out, for elsewhere."),
    "recall": Row("recall", "recall", "Recall", "Find the traces that matter, and say why."),
    "conflicts": Row("recall", "conflicts", "Recall", "List claims that disagree."),
    "commitments": Row("recall", "commitments", "Recall", "List promises that fall due."),
    "consolidate": Row("consolidating", "consolidate", "Recall", "Propose well-supported beliefs."),
    "entity": Row("entities", "entity", "Recall", "Keep people, projects, code and facts of them."),
    "event": Row("events", "event", "Recall", "Log what happens in sessions."),
    "evolve": Row("evolving", "evolve", "Recall", "Propose what to tidy up; --apply does it."),
    "stats": Row("evolving", "stats", "Recall", "Count events, entities, facts and traces."),
    "hash": Row("evolving", "hash_", "Recall", "Print one hash of what is known."),
    "plan": Row("reasoning", "plan", "Decide", "Find a shortest or cheapest sequence of actions."),
    "decide": Row("reasoning", "decide", "Decide", "Rank options by what is known of them."),
    "deliberate": Row("reasoning", "deliberate", "Decide", "Ask five lanes whether to go on."),
    "ask": Row("reasoning", "ask", "Decide", "Ask an engine bounded questions."),
    "predict": Row("forecasts", "predict", "Decide", "Record a forecast of your own."),
    "outcome": Row("forecasts", "outcome", "Decide", "Record what came of a prediction."),
    "calibration": Row(
        "forecasts", "calibration", "Decide", "Judge forecasts by what came of them."
    ),
    "hook": Row("gate", "hook", "Gate", "Judge a stop event from a host."),
    "gate-explain": Row("gate", "gate_explain", "Gate", "Explain what the gate says of a message."),
    "gate-threshold": Row(
        "forecasts", "gate_threshold", "Gate", "Choose the gate engine's threshold."
    ),
    "hooks": Row("hosts", "hooks", "Gate", "Install the gate into a host's settings."),
    "validate": Row("hosts", "validate", "Gate", "Check the package, its hosts' files and skills."),
    "verify-ledger": Row("ledger", "verify_ledger", "Ledger", "Check every byte of the ledger."),
    "repair": Row("ledger", "repair", "Ledger", "Go back to the newest readable head."),
    "compact": Row("ledger", "compact", "Ledger", "Pack this ledger's loose objects."),
    "reindex": Row("ledger", "reindex", "Ledger", "Build the index again from the ledger."),
    "guard": Row("guard", "guard", "Ledger", "Guard a shared repository's ledgers."),
    "policy": Row("ledger", "policy", "Ledger", "Print the policy in force."),
    "pin": Row("remotes", "pin", "Ledger", "Note the head, to be kept elsewhere."),
    "push": Row("remotes", "push", "Ledger", "Push this ledger to a remote, verified."),
    "fetch": Row("remotes", "fetch", "Ledger", "Bring a remote's ledger here, and verify it."),
    "clone": Row("remotes", "clone", "Ledger", "Take over a ledger from a remote, verified."),
    "sync": Row("remotes", "sync", "Ledger", "Make this ledger and a remote's the same."),
}
SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(row.section for row in COMMANDS.values()))


class LazyGroup(OwnHelp, click.Group):
    """A group that reads its commands from `COMMANDS` and imports only the one that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Return the command names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        """Import one command; None for a name that is not in the table."""
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        command: click.Command = getattr(import_module(f"hikmah.cli.{row.module}"), row.attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest near ones when there is none of that name."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches  # only a mistake pays for it

            near = get_close_matches(args[0], COMMANDS, n=3, cutoff=0.5)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete command names from the table, options as click does."""
        from click.shell_completion import CompletionItem  # only a shell asks

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=row.summary)
            for name, row in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the commands by section, then the options that stand anywhere."""
        for section in SECTIONS:
            rows = [(name, row.summary) for name, row in COMMANDS.items() if row.section == section]
            with formatter.section(section):
                formatter.write_dl(rows, col_max=16)
        with formatter.section("Options, before or after the command"):
            formatter.write_dl(global_records(self, ctx))


@click.command(
    cls=LazyGroup,
    params=[*global_options(from_environment=True), version_option(__version__)],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Memory for AI agents that git keeps and anyone can check.

    Try hikmah demo first; then hikmah remember --content TEXT and hikmah recall WORDS.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
