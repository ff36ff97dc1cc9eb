"""Commands over all knowledge: `evolve`, `stats`, `hash`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hikmah.cli.drawing import fields_of, joined, tail
from hikmah.cli.options import AS_OF, Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line

if TYPE_CHECKING:
    from hikmah.memory.knowledge_results import Evolved, KnowledgeStats
    from hikmah.views.evolution import Evolution

PARTS = ("consolidate", "merge", "resolve", "decay", "prune", "summarize")
STYLES = {"promote": "green", "supersede": "yellow", "deprecate": "yellow", "summarize": "cyan"}


@click.command(cls=Command)
@click.option("--apply", "digest", metavar="DIGEST", help="Write exactly what it stands for.")
@click.option("--only", "parts", multiple=True, type=click.Choice(PARTS), help="Only these parts.")
@click.option("--source", metavar="NAME", help="Who applies it: evolution.")
@AS_OF
@pass_run
def evolve(
    run: Run, digest: str | None, parts: tuple[str, ...], source: str | None, as_of: str | None
) -> None:
    """Propose what to tidy up; --apply does it.

    Nothing is written without --apply, which a person gives with the digest that was printed.
    """
    if digest is None:
        if source is not None:
            raise click.UsageError("--source goes with --apply")
        with run.memory() as memory:
            found = memory.knowledge.evolve(parts=parts, as_of=as_of)
        run.show("evolve", found, lambda screen: _draw(screen, found, parts))
        return
    if as_of is not None:
        raise click.UsageError("--apply writes now; it does not go with --as-of")
    with run.memory(writes=True) as memory:
        named = {} if source is None else {"source": source}
        result = memory.knowledge.apply_evolution(digest, parts=parts, **named)
    run.show("evolved", result, lambda screen: _draw_evolved(screen, result))
    run.warn(result.warnings)


def _draw(screen: Screen, found: Evolution, parts: tuple[str, ...]) -> None:
    named = [p.target for p in found.proposals] + [p.by for p in found.proposals if p.by]
    screen.know([*named, *(one for p in found.proposals for one in p.evidence)])
    part = ""
    for one in found.proposals:
        if one.part != part:
            part = one.part
            screen.heading(part)
        by = f"by {screen.id(one.by)}" if one.by else ""
        target = one.target if one.action == "promote" else screen.id(one.target)
        action = screen.style(one.action, STYLES[one.action])
        screen.line(joined([f"  {action}", screen.style(target, "cyan"), by], " "))
        screen.wrapped(one_line(one.reason, 400), indent=5)
        if one.action in {"promote", "supersede"}:
            screen.wrapped(f"evidence {screen.ids(one.evidence)}", "dim", indent=5)
    if not found.proposals:
        screen.line("nothing to do")
        return
    tail(
        screen,
        shown=len(found.proposals),
        total=found.total,
        truncated=found.truncated,
        noun="proposals",
    )
    only = "".join(f" --only {one}" for one in parts)
    screen.line()
    screen.line(
        f"hikmah evolve{only} --apply {found.digest if screen.verbose else found.digest[:16]}"
    )


def _draw_evolved(screen: Screen, result: Evolved) -> None:
    screen.know(result.written)
    for one in result.written:
        screen.line(f"wrote {screen.id(one)}")
    refreshed = len(result.refreshed)
    screen.line(f"{len(result.written)} records in one commit, {refreshed} summaries refreshed")


@click.command(cls=Command)
@AS_OF
@pass_run
def stats(run: Run, as_of: str | None) -> None:
    """Count events, entities, facts and traces."""
    with run.memory() as memory:
        found = memory.knowledge.get_stats(as_of=as_of)
    run.show("stats", found, lambda screen: _draw_stats(screen, found))


def _draw_stats(screen: Screen, found: KnowledgeStats) -> None:
    counts = [(name, value) for name, value in fields_of(screen, found) if name != "traces"]
    screen.fields([(name.removesuffix(" count"), value) for name, value in counts])
    rows = [
        [kind, f"{sum(by.values()):,}", ", ".join(f"{n:,} {status}" for status, n in by.items())]
        for kind, by in found.traces.items()
    ]
    if rows:
        screen.line()
        screen.table(["kind", "traces", "of which"], rows, right="traces")


@click.command("hash", cls=Command)
@click.option("--all", "everything", is_flag=True, help="Over every record of the ledger.")
@AS_OF
@pass_run
def hash_(run: Run, as_of: str | None, *, everything: bool) -> None:
    """Print one hash of what is known.

    Two machines that hold the same records print the same.
    """
    with run.memory() as memory:
        found = memory.knowledge.compute_hash(everything=everything, as_of=as_of)
    run.show("hash", found, lambda screen: screen.line(f"{found.hash}  {found.ids:,} ids"))
