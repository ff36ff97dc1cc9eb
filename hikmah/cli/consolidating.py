"""The command `consolidate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hikmah.cli.drawing import interval, joined, tail
from hikmah.cli.options import AS_OF, Command, limit_option
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line

if TYPE_CHECKING:
    from hikmah.memory.results import Promoted
    from hikmah.views.consolidation import ConsolidationList, ConsolidationProposal


@click.command(cls=Command)
@click.option("--promote", metavar="PROPOSAL", help="Write this proposal's belief.")
@click.option("--source", metavar="NAME", help="Who promotes it: consolidation.")
@limit_option(100)
@AS_OF
@pass_run
def consolidate(
    run: Run, promote: str | None, source: str | None, limit: int, as_of: str | None
) -> None:
    """Propose well-supported beliefs.

    Without --promote nothing is written. Promoting is a person's decision.
    """
    if promote is None:
        if source is not None:
            raise click.UsageError("--source goes with --promote")
        with run.memory() as memory:
            found = memory.consolidate(limit=limit, as_of=as_of)
        run.show("consolidate", found, lambda screen: _draw(screen, found))
        return
    if as_of is not None:
        raise click.UsageError("--promote writes now; it does not go with --as-of")
    with run.memory(writes=True) as memory:
        result = memory.promote(promote, **({} if source is None else {"source": source}))
    run.show("promote", result, lambda screen: _draw_promoted(screen, result))
    run.warn(result.warnings)


def _draw(screen: Screen, found: ConsolidationList) -> None:
    screen.know(one for proposal in found.proposals for one in proposal.support)
    for proposal in found.proposals:
        word = "eligible" if proposal.eligible_for_promotion else "not eligible"
        style = "green" if proposal.eligible_for_promotion else "dim"
        head = [screen.style(proposal.id, "cyan"), screen.style(word, style)]
        screen.line(joined([*head, f"confidence {proposal.confidence:.3f}"], "  "))
        screen.wrapped(f"{one_line(proposal.key)} = {one_line(proposal.value)}")
        for text in _remarks(screen, proposal):
            screen.wrapped(text, "dim")
    if not found.proposals:
        screen.line("no claim is supported by several traces")
    tail(
        screen,
        shown=len(found.proposals),
        total=found.total,
        truncated=found.truncated,
        noun="proposals",
    )


def _remarks(screen: Screen, proposal: ConsolidationProposal) -> list[str]:
    sources = ", ".join(one_line(source, 60) for source in proposal.sources)
    lines = [
        f"support {screen.ids(proposal.support)}; {proposal.verified_count} verified",
        f"sources {sources}",
    ]
    held = interval(screen, proposal.valid_from_ms, proposal.valid_until_ms)
    lines += [held] if held else []
    if proposal.conflicting_values:
        others = ", ".join(one_line(value, 60) for value in proposal.conflicting_values)
        lines.append(f"stands against {others}")
    if proposal.promoted_as:
        lines.append(f"promoted as {screen.ids(proposal.promoted_as)}")
    return lines


def _draw_promoted(screen: Screen, result: Promoted) -> None:
    name = screen.style(screen.id(result.id), "bold")
    count = len(result.derived_from)
    screen.line(f"promoted as {name}, derived from {count} traces  (record {result.seq})")
    if result.conflicts:
        screen.line(screen.style(f"disagrees with {screen.ids(result.conflicts)}", "yellow"))
