"""What the verbs of `Knowledge` return beside views: frozen structs."""

from __future__ import annotations

from msgspec import Struct


class EventAppended(Struct, frozen=True, kw_only=True):
    """An event that is in the ledger now; `event_id` is the short form of its id."""

    event_id: str
    id: str
    seq: int
    commit: str
    deduplicated: bool
    warnings: tuple[str, ...] = ()


class EntityFound(Struct, frozen=True, kw_only=True):
    """An entity that is there now, and the trace that was written for it, if one was."""

    id: str
    name: str
    entity_type: str
    created: bool
    trace: str | None = None
    commit: str | None = None
    warnings: tuple[str, ...] = ()


class Summarized(Struct, frozen=True, kw_only=True):
    """What refreshing copies came to; `kept` is whether this machine could keep them."""

    refreshed: tuple[str, ...]
    unchanged: int
    kept: bool


class KnowledgeStats(Struct, frozen=True, kw_only=True):
    """How much there is: what is active of each layer, and every trace by kind and status."""

    event_count: int
    entity_count: int
    fact_count: int
    relationship_count: int
    summary_count: int
    traces: dict[str, dict[str, int]]


class KnowledgeHash(Struct, frozen=True, kw_only=True):
    """SHA-256 over sorted ids, each followed by a newline, and how many there were."""

    hash: str
    ids: int
    everything: bool


class Evolved(Struct, frozen=True, kw_only=True):
    """What applying proposals wrote, in one commit (None: nothing was to be written)."""

    digest: str
    commit: str | None
    written: tuple[str, ...]
    refreshed: tuple[str, ...]
    warnings: tuple[str, ...] = ()
