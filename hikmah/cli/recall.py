"""Commands that answer: `recall`, `conflicts`, `commitments`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hikmah.cli.inputs import moment
from hikmah.cli.options import AS_OF, LIMIT, Command, limit_option
from hikmah.cli.run import Run, pass_run
from hikmah.model.trace import KINDS

if TYPE_CHECKING:
    from hikmah.cli.screen import Screen


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="[TEXT]...")
@click.option("--query", metavar="TEXT", help="The same as the argument.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A cue of its own.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these kinds.")
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only these sources.")
@click.option("--since", metavar="TIME", help="Only traces made since then.")
@click.option("--until", metavar="TIME", help="Only traces made up to then.")
@click.option("--limit", type=LIMIT, help="At most so many: the policy's 8.")
@click.option("--budget", type=click.IntRange(min=1), metavar="CHARS", help="Stop at so much text.")
@click.option("--include-superseded", is_flag=True, help="Also what was corrected or retired.")
@AS_OF
@pass_run
def recall(
    run: Run,
    words: tuple[str, ...],
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
    text = " ".join(words) if words else None
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

    def draw(screen: Screen) -> None:
        from hikmah.cli.replies import draw_reply  # a JSON answer comes without

        draw_reply(reply, screen)

    run.show("recall", reply, draw)


@click.command(cls=Command)
@limit_option(100)
@pass_run
def conflicts(run: Run, limit: int) -> None:
    """List claims that disagree.

    Nothing picks a winner: supersede or purge one side, and the conflict is gone.
    """
    with run.memory() as memory:
        found = memory.conflicts(limit=limit)

    def draw(screen: Screen) -> None:
        from hikmah.cli.replies import draw_conflicts  # a JSON answer comes without

        draw_conflicts(found, screen)

    run.show("conflicts", found, draw)


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
@limit_option(100)
@pass_run
def commitments(run: Run, within_hours: float, limit: int, *, include_all: bool) -> None:
    """List promises that fall due.

    Overdue ones come first; hikmah fulfill marks one as kept.
    """
    with run.memory() as memory:
        found = memory.commitments(within_hours=within_hours, include_all=include_all, limit=limit)

    def draw(screen: Screen) -> None:
        from hikmah.cli.replies import draw_commitments  # a JSON answer comes without

        draw_commitments(found, screen)

    run.show("commitments", found, draw)
