"""How the answers of `recall`, `conflicts` and `commitments` look as text.

Apart from the commands themselves, so that a JSON answer does not pay for importing it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hikmah.cli.drawing import claim_text, interval, joined, origin, status_text, tail
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line

if TYPE_CHECKING:
    from hikmah.views.claims import ClaimHolder, ConflictList
    from hikmah.views.commitments import CommitmentList
    from hikmah.views.results import RecallReply, Result


_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def draw_reply(reply: RecallReply, screen: Screen) -> None:
    """Draw what was recalled, best first."""
    screen.know(result.id for result in reply.results)
    if reply.reason is not None:
        overdue = "; overdue all the same:" if reply.results else ""
        screen.line(f"nothing recalled: {one_line(reply.reason, 400)}{overdue}")
    for place, result in enumerate(reply.results, start=1):
        _draw_result(screen, place, result)
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
        held = interval(screen, trace.valid_from_ms, trace.valid_until_ms)
        lines.append((f"no longer valid: {held}", ("yellow",)))
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


def draw_conflicts(found: ConflictList, screen: Screen) -> None:
    """Draw claims that disagree, by key and value."""
    held = (holder for c in found.conflicts for value in c.values for holder in value.holders)
    screen.know(holder.id for holder in held)
    for conflict in found.conflicts:
        screen.heading(_key_text(screen, conflict.key))
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


def _key_text(screen: Screen, key: str) -> str:
    """Return a disputed key; a fact's names its entity by a short id, like all ids."""
    entity, slash, predicate = key.partition("/")
    if slash and _ID.fullmatch(entity):
        return f"{screen.id(entity)} {one_line(predicate)}"
    return one_line(key)


def _held(screen: Screen, holder: ClaimHolder) -> str:
    """Return who asserts a value, and since when."""
    marks = [
        f"source {one_line(holder.source, 60)}",
        "verified" if holder.verified else "",
        "by a model" if holder.model_authored else "",
        screen.time(holder.created_at_ms),
    ]
    return joined(marks)


def draw_commitments(found: CommitmentList, screen: Screen) -> None:
    """Draw promises, most pressing first."""
    screen.know(due.id for due in found.commitments)
    for due in found.commitments:
        late = screen.style("overdue", "red") if due.overdue else "due"
        deadline = due.trace.deadline_ms
        when = "without a deadline" if deadline is None else f"{late} {screen.time(deadline)}"
        state = "" if due.status == "active" else status_text(screen, due.status)
        screen.line(joined([screen.style(screen.id(due.id), "cyan"), when, state], "  "))
        screen.block(due.trace.content, indent=3)
        screen.wrapped(origin(screen, due.trace), "dim")
        if due.evidence:
            screen.wrapped(f"evidence: {one_line(due.evidence, 400)}", "green")
    if not found.commitments:
        screen.line("nothing is due")
    tail(
        screen,
        shown=len(found.commitments),
        total=found.total,
        truncated=found.truncated,
        noun="commitments",
    )
