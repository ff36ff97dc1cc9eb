"""The command `event`: what happened, appended and listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hikmah.cli.drawing import joined, tail
from hikmah.cli.entities import given, said_by
from hikmah.cli.groups import Group
from hikmah.cli.inputs import read_text
from hikmah.cli.options import AS_OF, Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line
from hikmah.errors import DecodeError

if TYPE_CHECKING:
    from hikmah.views.events import EventList


@click.group(cls=Group)
def event() -> None:
    """Log what happens in sessions.

    Events are never changed; a correction is a new event.
    """


@event.command(cls=Command)
@click.argument("event_type", metavar="TYPE")
@click.option("--payload", metavar="JSON", help="Any JSON; - reads standard input.")
@click.option("--session", "session_id", metavar="ID", help="The session it happened in.")
@click.option("--agent", "agent_id", metavar="ID", help="The agent it happened to.")
@click.option("--idempotency-key", metavar="KEY", help="A retry with it writes nothing twice.")
@said_by
@pass_run
def add(run: Run, /, event_type: str, payload: str | None, **options: Any) -> None:
    """Append one event."""
    value = None if payload is None else _json(payload)
    with run.memory(writes=True) as memory:
        result = memory.knowledge.append_event(event_type, value, **given(run, options))

    def draw(screen: Screen) -> None:
        word = "there already:" if result.deduplicated else "appended"
        name = screen.style(result.id if screen.verbose else result.event_id, "bold")
        screen.line(f"{word} {name}  (record {result.seq})")

    run.show("event-add", result, draw)
    run.warn(result.warnings)


def _json(text: str) -> Any:
    import msgspec  # only events carry JSON

    try:
        return msgspec.json.decode(read_text("-") if text == "-" else text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as e:
        raise DecodeError(
            f"the payload is not JSON: {e}",
            hint="quote text: --payload '\"text\"'",
            where="$.event.payload",
        ) from e


@event.command("list", cls=Command)
@click.option("--type", "event_type", metavar="TYPE", help="Only of this type.")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@click.option("--agent", "agent_id", metavar="ID", help="Only of this agent.")
@click.option(
    "--limit",
    "--recent",
    "limit",
    type=click.IntRange(1, 1_000),
    default=50,
    show_default=True,
    help="At most so many of the newest.",
)
@AS_OF
@pass_run
def list_(run: Run, /, **options: Any) -> None:
    """List events, newest first."""
    with run.memory() as memory:
        found = memory.knowledge.query_events(**options)
    run.show("event-list", found, lambda screen: _draw(screen, found))


def _draw(screen: Screen, found: EventList) -> None:
    for one in found.events:
        name = one.id if screen.verbose else one.event_id
        place = [
            f"session {one_line(one.session_id, 40)}" if one.session_id else "",
            f"agent {one_line(one.agent_id, 40)}" if one.agent_id else "",
        ]
        head = [
            screen.style(name, "cyan"),
            one_line(one.event_type, 40),
            screen.time(one.timestamp_ms),
        ]
        screen.line(joined([*head, *place], "  "))
        screen.block(one_line(one.text, 400), indent=3)
    if not found.events:
        screen.line("no events")
    tail(
        screen,
        shown=len(found.events),
        total=found.total,
        truncated=found.truncated,
        noun="events",
    )
