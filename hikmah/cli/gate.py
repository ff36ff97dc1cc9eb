"""Commands of the Truth Gate: `hook`, which hosts start, and `gate-explain`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from hikmah.cli.inputs import read_bytes
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.streams import write_out
from hikmah.cli.text import one_line
from hikmah.errors import NotFoundError

if TYPE_CHECKING:
    from hikmah.cli.screen import Screen
    from hikmah.gate.verdict import GateVerdict


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.option(
    "--host",
    metavar="HOST",
    help="Whose form to answer in: claude, codex, copilot, cursor, gemini, kimi, vscode.",
)
@click.argument("ignored", nargs=-1, type=click.UNPROCESSED)
@pass_run
def hook(run: Run, host: str | None, ignored: tuple[str, ...]) -> None:
    """Judge a stop event from a host.

    Reads one event on standard input, prints one JSON object ({} allows), and always exits 0.
    What it catches and what it cannot is in docs/gate.md.
    """
    from hikmah.gate.hook import main  # the gate's own door

    run.exit(main([*(("--host", host) if host else ()), *ignored]))


@click.command(cls=Command)
@click.argument("file", default="-")
@click.option("--batch", is_flag=True, help="One event a line in, one verdict a line out.")
@click.option("--host", metavar="HOST", default="", help="Read events as this host sends them.")
@pass_run
def gate_explain(run: Run, file: str, host: str, *, batch: bool) -> None:
    """Explain what the gate says of a message.

    Reads one stop event ({"last_assistant_message": ...}), or the message itself as plain
    text, from FILE or standard input and shows the verdict with every finding. Nothing is
    written, and the exit code is 0.
    """
    from hikmah.gate import explain, hook

    wiring = hook.wire(("--host", host), os.environ)
    data = _message(file)
    if batch:
        for line in explain.explain_batch(data.split(b"\n"), wiring):
            write_out(json.dumps(line) + "\n")
        return
    verdict = explain.explain_stop_event(explain.as_event(data), wiring)
    run.show("gate-explain", verdict.as_dict(), lambda screen: _draw(verdict, screen))


def _message(file: str) -> bytes:
    """Read the file; say where a message itself goes when there is none of that name."""
    try:
        return read_bytes(file)
    except NotFoundError as e:
        hint = "check the path; a message itself goes to standard input"
        raise NotFoundError(e.message, hint=hint) from e


def _draw(verdict: GateVerdict, screen: Screen) -> None:
    """Draw a verdict: the decision, then each finding with its sentence."""
    said = f"allowed without judging ({verdict.skipped})" if verdict.skipped else "allowed"
    screen.line(f"blocked by {verdict.path.value}" if verdict.block else said)
    if verdict.guarded:
        screen.line(f"the loop guard lets it pass: {verdict.guarded}")
    for finding in verdict.findings:
        screen.line(f"  {finding.rule}: {one_line(finding.term)}")
        screen.block(finding.sentence, indent=4)
    if verdict.engine:
        answer = verdict.engine_note if verdict.p is None else f"p = {verdict.p:.3f}"
        screen.line(f"  engine {verdict.engine}: {one_line(str(answer))}")
