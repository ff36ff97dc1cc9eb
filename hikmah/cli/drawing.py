"""How traces and lists look as text: shared by the commands that show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line, size

if TYPE_CHECKING:
    from hikmah.model.trace import Trace

COLORS = {
    "active": (),
    "fulfilled": ("green",),
    "superseded": ("yellow",),
    "deprecated": ("yellow",),
    "purged": ("red",),
}


def status_text(screen: Screen, status: str) -> str:
    """Return a status in its colour."""
    return screen.style(status, *COLORS.get(status, ()))


def origin(screen: Screen, trace: Trace) -> str:
    """Return who said it and when, in one line."""
    source = one_line(trace.provenance.source, 60)
    parts = [f"source {source}", "verified" if trace.provenance.verified else ""]
    parts += [screen.time(trace.created_at_ms)]
    parts += ["tags " + ", ".join(one_line(tag, 64) for tag in trace.tags)] if trace.tags else []
    return joined(parts)


def interval(screen: Screen, since_ms: int | None, until_ms: int | None) -> str:
    """Return when something holds in the world; empty when always."""
    start = "" if since_ms is None else f"from {screen.time(since_ms)}"
    return joined([start, "" if until_ms is None else f"until {screen.time(until_ms)}"], " ")


def claim_text(trace: Trace) -> str:
    """Return a trace's claim as `key = value`; empty without one."""
    if trace.claim is None:
        return ""
    return f"{one_line(trace.claim.key, 80)} = {one_line(trace.claim.value, 80)}"


def tail(screen: Screen, *, shown: int, total: int, truncated: bool, noun: str) -> None:
    """Add the last line of a list: how many there are, and how to see more."""
    if truncated:
        more = f"{shown} of {total} {noun}; --limit shows more"
        screen.line(screen.style(more, "dim"))


def joined(parts: Iterable[str], between: str = "; ") -> str:
    """Return the parts that are not empty, joined."""
    return between.join(part for part in parts if part)


def fields_of(screen: Screen, answer: object) -> list[tuple[str, str]]:
    """Return the fields of a flat struct as labels and values; empty ones are left out."""
    names: tuple[str, ...] = getattr(answer, "__struct_fields__", ())
    rows = [(name, getattr(answer, name)) for name in names]
    return [(label(name), _value(screen, name, value)) for name, value in rows if value is not None]


def label(name: str) -> str:
    """Return a field's name as people read it: no underscores, no unit."""
    return name.removesuffix("_bytes").removesuffix("_ms").replace("_", " ")


def _value(screen: Screen, name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        if name.endswith("_bytes"):
            return size(value)
        return screen.time(value) if name.endswith("_at_ms") else f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{one_line(str(key))} {count}" for key, count in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(one_line(str(item)) for item in value)
    return one_line(str(value), 400)
