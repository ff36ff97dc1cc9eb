"""Commands that answer: `recall`, `conflicts`, `commitments`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hikmah.cli.drawing import claim_text, interval, joined, origin, status_text, tail
from hikmah.cli.inputs import moment
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line
from hikmah.model.trace import KINDS

if TYPE_CHECKING:
    from hikmah.views.claims import ClaimHolder, ConflictList
    from hikmah.views.commitments import CommitmentList
    from hikmah.views.results import RecallReply, Result

LIMIT = click.IntRange(1, 1_000)


@click.command(cls=Command)
@click.argument("text", required=False)
@click.option("--query", metavar="TEXT", help="The same as the argument.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A cue of its own.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these kinds.")
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only these sources.")
@click.option("--since", metavar="TIME", help="Only traces made since then.")
@click.option("--until", metavar="TIME", help="Only traces made up to then.")
@click.option("--limit", type=LIMIT, help="At most so many: the policy's 8.")
@click.option("--budget", type=click.IntRange(min=1), metavar="CHARS", help="Stop at so much text.")
@click.option("--include-superseded", is_flag=True, help="Also what was corrected or retired.")
@click.option("--as-of", metavar="POINT", help="Answer as then: a commit, sequence or date.")
@pass_run
def recall(
    run: Run,
    text: str | None,
    query: str | None,
    since: str | None,
    until: str | None,
    *,
    tags: tuple[str, ...],
    kinds: tuple[str, ...],
    sources: tuple[str, ...],
    limit: int | None,
    budget: int | None,
    include_superseded: bool,
    as_of: str | None,
) -> None:
    """Find the traces that matter, and say why.

    TEXT is what you would ask in a sentence; words, tags or neither (then all, by weight).
    """
    if text is not None and query is not None and text != query:
        raise click.UsageError("two queries are given: the argument and --query")
    since_ms, until_ms = moment(run, since), moment(run, until, end_of_day=True)
    with run.memory() as memory:
        reply = memory.recall(
            query if text is None else text,
            tags=tags,
            kinds=kinds,
            sources=sources,
            since_ms=since_ms,
            until_ms=until_ms,
            limit=limit,
            budget_chars=budget,
            include_superseded=include_superseded,
            as_of=as_of,
        )
    run.show("recall", reply, lambda screen: _draw_reply(screen, reply))


def _draw_reply(screen: Screen, reply: RecallReply) -> None:
    screen.know(result.id for result in reply.results)
    for place, result in enumerate(reply.results, start=1):
        _draw_result(screen, place, result)
    if not reply.results:
        screen.line(f"nothing recalled: {one_line(reply.reason or '', 400)}")
    tail(
        screen,
        shown=len(reply.results),
        total=reply.total,
        truncated=reply.truncated,
        noun="traces",
    )


def _draw_result(screen: Screen, place: int, result: Result) -> None:
    trace = result.trace
    state = "" if result.status == "active" else status_text(screen, result.status)
    head = [f"{place}.", screen.style(screen.id(result.id), "cyan"), trace.kind]
    screen.line(joined([*head, f"{result.score:.3f}", state], "  "))
    screen.block(trace.content, indent=3)
    screen.wrapped(origin(screen, trace), "dim")
    for text, style in _remarks(screen, result):
        screen.wrapped(text, *style)


def _remarks(screen: Screen, result: Result) -> list[tuple[str, tuple[str, ...]]]:
    """Return what a reader must know beside the text of a result, with styles."""
    trace = result.trace
    lines: list[tuple[str, tuple[str, ...]]] = []
    if trace.claim is not None:
        lines.append((f"claim {claim_text(trace)}", ()))
    if result.conflicts:
        lines.append((f"disagrees with {screen.ids(result.conflicts)}", ("yellow",)))
    if result.also_asserted_by_superseded:
        stale = screen.ids(result.also_asserted_by_superseded)
        lines.append((f"repeats what was superseded: {stale}", ("yellow",)))
    if result.superseded_by:
        lines.append((f"superseded by {screen.ids(result.superseded_by)}", ()))
    if result.expired:
        lines.append((f"no longer valid: {interval(screen, trace)}", ("yellow",)))
    if trace.deadline_ms is not None and result.status == "active":
        word, style = ("overdue", ("red",)) if result.channels.overdue else ("due", ())
        lines.append((f"{word} {screen.time(trace.deadline_ms)}", style))
    if result.duplicate_count:
        lines.append((f"and {result.duplicate_count} like it: {screen.ids(result.duplicates)}", ()))
    return [*lines, *((text, ("dim",)) for text in (_factors(result) if screen.verbose else ()))]


def _factors(result: Result) -> list[str]:
    """Return what matched where, and every factor of the score."""
    hits = [f"{one_line(hit.term, 40)} ({', '.join(hit.where)})" for hit in result.matched]
    channels = result.channels
    named = [(name, getattr(channels, name)) for name in channels.__struct_fields__]
    factors = [f"{name} {value:.3f}" for name, value in named if isinstance(value, float)]
    return [f"matched {', '.join(hits) or 'nothing'}", ", ".join(factors)]


@click.command(cls=Command)
@click.option("--limit", type=LIMIT, default=100, show_default=True, help="At most so many.")
@pass_run
def conflicts(run: Run, limit: int) -> None:
    """List claims that disagree.

    Nothing picks a winner: supersede or purge one side, and the conflict is gone.
    """
    with run.memory() as memory:
        found = memory.conflicts(limit=limit)
    run.show("conflicts", found, lambda screen: _draw_conflicts(screen, found))


def _draw_conflicts(screen: Screen, found: ConflictList) -> None:
    held = (holder for c in found.conflicts for value in c.values for holder in value.holders)
    screen.know(holder.id for holder in held)
    for conflict in found.conflicts:
        screen.heading(one_line(conflict.key))
        for value in conflict.values:
            screen.line(f"  = {one_line(value.value)}")
            for holder in value.holders:
                screen.wrapped(f"{screen.id(holder.id)}  {_held(screen, holder)}", indent=6)
    if not found.conflicts:
        screen.line("no claims disagree")
    tail(
        screen,
        shown=len(found.conflicts),
        total=found.total,
        truncated=found.truncated,
        noun="conflicts",
    )


def _held(screen: Screen, holder: ClaimHolder) -> str:
    """Return who asserts a value, and since when."""
    marks = [
        f"source {one_line(holder.source, 60)}",
        "verified" if holder.verified else "",
        "by a model" if holder.model_authored else "",
        screen.time(holder.created_at_ms),
    ]
    return joined(marks)


@click.command(cls=Command)
@click.option(
    "--within-hours",
    type=click.FloatRange(min=0),
    default=168.0,
    show_default=True,
    metavar="HOURS",
    help="How far ahead to look.",
)
@click.option("--all", "include_all", is_flag=True, help="Also those later and without a deadline.")
@click.option("--limit", type=LIMIT, default=100, show_default=True, help="At most so many.")
@pass_run
def commitments(run: Run, within_hours: float, limit: int, *, include_all: bool) -> None:
    """List promises that fall due.

    Overdue ones come first; hikmah fulfill marks one as kept.
    """
    with run.memory() as memory:
        found = memory.commitments(within_hours=within_hours, include_all=include_all, limit=limit)
    run.show("commitments", found, lambda screen: _draw_commitments(screen, found))


def _draw_commitments(screen: Screen, found: CommitmentList) -> None:
    screen.know(due.id for due in found.commitments)
    for due in found.commitments:
        late = screen.style("overdue", "red") if due.overdue else "due"
        deadline = due.trace.deadline_ms
        when = "without a deadline" if deadline is None else f"{late} {screen.time(deadline)}"
        state = "" if due.status == "active" else status_text(screen, due.status)
        screen.line(joined([screen.style(screen.id(due.id), "cyan"), when, state], "  "))
        screen.block(due.trace.content, indent=3)
        screen.wrapped(origin(screen, due.trace), "dim")
    if not found.commitments:
        screen.line("nothing is due")
    tail(
        screen,
        shown=len(found.commitments),
        total=found.total,
        truncated=found.truncated,
        noun="commitments",
    )
