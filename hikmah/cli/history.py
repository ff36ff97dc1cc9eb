"""Commands that look back: `show` and `log`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hikmah.cli.drawing import claim_text, interval, joined, status_text, tail
from hikmah.cli.inputs import moment, one_id
from hikmah.cli.options import Command, limit_option
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import clip, iso, one_line
from hikmah.model.trace import KINDS, Trace

if TYPE_CHECKING:
    from hikmah.memory.results import LogPage, Shown, ShownRecord


@click.command(cls=Command)
@click.argument("identity", metavar="[ID]", required=False)
@click.option("--id", "option_id", metavar="ID", help="The same as the argument.")
@pass_run
def show(run: Run, identity: str | None, option_id: str | None) -> None:
    """Show one record: history, links, conflicts.

    ID is a full id, or the first digits of one (at least 4).
    """
    chosen = one_id(identity, option_id)
    with run.memory() as memory:
        shown = memory.show(chosen)
    run.show("show", shown, lambda screen: _draw_shown(screen, shown))


def _draw_shown(screen: Screen, shown: Shown | ShownRecord) -> None:
    from hikmah.memory.results import ShownRecord  # loaded by now; --help comes without

    if isinstance(shown, ShownRecord):
        screen.line(f"{screen.style(shown.id, 'cyan')}  {shown.type}  (record {shown.seq})")
        screen.fields([(name, one_line(str(value))) for name, value in shown.record.items()])
        return
    trace = shown.trace
    head = [screen.style(shown.id, "cyan"), trace.kind, status_text(screen, shown.status)]
    screen.line(joined([*head, "no longer valid" if shown.expired else ""], "  "))
    if shown.hidden:
        screen.line(f"  (hidden; `git cat-file -p {shown.id}` prints it)")
    screen.block(trace.content)
    screen.fields(
        [
            *_trace_fields(screen, trace),
            ("superseded by", " ".join(shown.superseded_by)),
            ("led to", " ".join(shown.derived)),
            ("disagrees with", screen.style(" ".join(shown.conflicts), "yellow")),
        ]
    )
    if shown.history:
        screen.heading("history")
        rows = [
            (
                str(link.seq),
                screen.id(link.id),
                link.type,
                iso(link.at_ms),
                one_line(link.source, 16),
                link.text,
            )
            for link in shown.history
        ]
        screen.table(("record", "id", "what", "when", "source", "why"), rows, right="record")


def _trace_fields(screen: Screen, trace: Trace) -> list[tuple[str, str]]:
    origin = trace.provenance
    observed = origin.observed_at_ms
    return [
        ("created", screen.time(trace.created_at_ms)),
        ("due", "" if trace.deadline_ms is None else screen.time(trace.deadline_ms)),
        ("valid", interval(screen, trace.valid_from_ms, trace.valid_until_ms)),
        ("claim", claim_text(trace)),
        ("tags", ", ".join(one_line(tag, 64) for tag in trace.tags)),
        ("source", one_line(origin.source) + (" (verified)" if origin.verified else "")),
        ("locator", one_line(origin.locator or "")),
        ("observed", "" if observed is None else screen.time(observed)),
        ("weights", _weights(trace)),
        ("privacy", trace.privacy),
        ("supersedes", trace.supersedes or ""),
        ("derived from", " ".join(trace.derived_from)),
    ]


def _weights(trace: Trace) -> str:
    return joined(
        [
            f"salience {trace.salience:g}",
            f"confidence {trace.confidence:g}",
            f"authority {trace.provenance.authority:g}",
        ],
        ", ",
    )


@click.command(cls=Command)
@click.option("--kind", type=click.Choice(KINDS), help="Only traces of this kind.")
@click.option("--source", metavar="NAME", help="Only records from this source.")
@click.option("--since", metavar="TIME", help="Only records made since then.")
@click.option("--until", metavar="TIME", help="Only records made up to then.")
@limit_option(20)
@pass_run
def log(
    run: Run,
    kind: str | None,
    source: str | None,
    *,
    since: str | None,
    until: str | None,
    limit: int,
) -> None:
    """List records, newest first."""
    since_ms, until_ms = moment(run, since), moment(run, until, end_of_day=True)
    with run.memory() as memory:
        page = memory.log(
            kind=kind, source=source, since_ms=since_ms, until_ms=until_ms, limit=limit
        )
    run.show("log", page, lambda screen: _draw_page(screen, page))


def _draw_page(screen: Screen, page: LogPage) -> None:
    screen.know(row.id for row in page.items)
    if not page.items:
        screen.line("no records")
        return
    column = max(len(str(row.seq)) for row in page.items)
    for row in page.items:
        state = "" if row.status in {None, "active"} else status_text(screen, row.status or "")
        head = [str(row.seq).rjust(column), screen.style(screen.id(row.id), "cyan")]
        screen.line(joined([*head, row.kind or row.type, state, screen.time(row.at_ms)], "  "))
        of = f"{screen.id(row.target)} " if row.target else ""
        said = f"{one_line(row.source, 40)}: {of}{one_line(row.text)}"
        screen.line(" " * column + "  " + clip(said, screen.columns - column - 2))
    tail(screen, shown=len(page.items), total=page.total, truncated=page.truncated, noun="records")
