"""Which records an export holds: what was asked for, and what has to go with it.

Rules the module keeps:

1. Purged and sensitive traces stay behind unless they are asked for by name.
2. A switch goes with its traces: one that speaks of a trace that stays behind stays, too.
3. Nothing comes back to life: a trace that only traces left behind supersede stays behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hikmah.model.records import Stored, Unknown
from hikmah.model.trace import Trace
from hikmah.transfer.statuses import Statuses, targets


class Selection(Struct, frozen=True, kw_only=True):
    """What an export is to hold; the default is all but purged and sensitive traces."""

    include_purged: bool = False
    include_sensitive: bool = False
    kinds: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None

    def wants(self, trace: Trace) -> bool:
        """Tell whether the filters let a trace through."""
        kinds, sources, made_ms = self.kinds, self.sources, trace.created_at_ms
        tags = {tag.strip().lower() for tag in trace.tags} if self.tags else ()
        return (
            (not kinds or trace.kind in kinds)
            and (not sources or trace.provenance.source in sources)
            and all(tag.strip().lower() in tags for tag in self.tags)
            and (self.since_ms is None or made_ms >= self.since_ms)
            and (self.until_ms is None or made_ms <= self.until_ms)
        )


class LeftOut(Struct, frozen=True, kw_only=True):
    """How many traces an export leaves out, each counted once, by the first reason that fits."""

    purged: int = 0
    sensitive: int = 0
    filtered: int = 0
    would_revive: int = 0


class Chosen:
    """The traces that stay behind, found in one pass; then tells of each record if it goes."""

    def __init__(self, records: Iterable[Stored], selection: Selection) -> None:
        self.statuses = Statuses()
        sensitive: set[str] = set()
        filtered: set[str] = set()
        for stored in records:
            self.statuses.add(stored.id, stored.record)
            if isinstance(stored.record, Trace):
                if stored.record.privacy == "sensitive" and not selection.include_sensitive:
                    sensitive.add(stored.id)
                if not selection.wants(stored.record):
                    filtered.add(stored.id)
        purged = set() if selection.include_purged else self.statuses.purged()
        self._behind = purged | sensitive | filtered
        revived = self.statuses.revived_without(self._behind)
        self._behind |= revived
        self.left_out = LeftOut(
            purged=len(purged),
            sensitive=len(sensitive - purged),
            filtered=len(filtered - purged - sensitive),
            would_revive=len(revived),
        )
        self.dangling = 0

    def among(self, records: Iterable[Stored]) -> Iterator[Stored]:
        """Yield the records that go; counts those that point at a trace left behind."""
        for stored in records:
            if stored.id in self._behind:
                continue
            record = stored.record
            missing = not self._behind.isdisjoint(targets(record))
            if missing and not isinstance(record, Trace | Unknown):
                continue
            self.dangling += missing
            yield stored
