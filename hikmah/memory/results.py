"""What the verbs of `Memory` return: frozen structs whose JSON is their fields."""

from __future__ import annotations

from msgspec import Struct

from hikmah.model.trace import Trace


class Initialised(Struct, frozen=True, kw_only=True):
    """A ledger that exists now: where, and whether this call made it."""

    store: str
    ledger: str
    name: str
    ref: str
    commit: str
    created: bool
    created_store: bool
    warnings: tuple[str, ...] = ()


class Remembered(Struct, frozen=True, kw_only=True):
    """A trace that is in the ledger now.

    `deduplicated` tells that it was there before (same bytes, or same idempotency key);
    `conflicts` are ids of the first hundred active traces that claim another value for the
    same key.
    """

    id: str
    seq: int
    commit: str
    deduplicated: bool
    conflicts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Batch(Struct, frozen=True, kw_only=True):
    """What a batch wrote, item by item in the order given, in one commit (None: nothing new)."""

    commit: str | None
    written: int
    items: tuple[Remembered, ...]
    warnings: tuple[str, ...] = ()


class Switched(Struct, frozen=True, kw_only=True):
    """A supersession, fulfilment or purge that is in the ledger now.

    `already` tells that the commitment was fulfilled before: nothing was written, and `id`
    is None.
    """

    id: str | None
    seq: int | None
    commit: str | None
    target: str
    already: bool = False
    note: str = ""
    warnings: tuple[str, ...] = ()


class Promoted(Struct, frozen=True, kw_only=True):
    """A belief that was concluded from claims which support each other."""

    id: str
    seq: int
    commit: str
    proposal: str
    derived_from: tuple[str, ...]
    conflicts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Link(Struct, frozen=True, kw_only=True):
    """One record that points at a trace, or that a trace points at."""

    id: str
    seq: int
    type: str
    at_ms: int
    source: str
    text: str = ""


class Shown(Struct, frozen=True, kw_only=True):
    """One trace with its history: every switch, every link, what disagrees with it.

    `hidden` says that the trace was purged, or is sensitive and the policy shows none: then
    `trace` comes without its words. Git has them still (`git cat-file -p ID`).
    """

    id: str
    seq: int
    status: str
    hidden: bool
    trace: Trace
    superseded_by: tuple[str, ...]
    history: tuple[Link, ...]
    derived: tuple[str, ...]
    conflicts: tuple[str, ...]
    expired: bool


class ShownRecord(Struct, frozen=True, kw_only=True):
    """One record that is not a trace, as it stands in the ledger."""

    id: str
    seq: int
    type: str
    record: dict[str, object]


class Logged(Struct, frozen=True, kw_only=True):
    """One line of the ledger's log; `target` is the trace that a switch speaks of."""

    id: str
    seq: int
    type: str
    kind: str | None
    at_ms: int
    source: str
    status: str | None
    text: str
    target: str | None = None


class LogPage(Struct, frozen=True, kw_only=True):
    """The newest records first, as many as asked for."""

    items: tuple[Logged, ...]
    total: int
    truncated: bool


class StatusReport(Struct, frozen=True, kw_only=True):
    """The ledger at a glance."""

    store: str
    name: str
    ref: str
    ledger: str
    format: str
    head: str
    seq: int
    standing: str
    records: int
    kinds: dict[str, int]
    statuses: dict[str, int]
    conflicts: int
    commitments_open: int
    commitments_overdue: int
    index: str
    session: str | None


class Accepted(Struct, frozen=True, kw_only=True):
    """A person's decision about the acknowledged head, and what it accepted."""

    action: str
    ref: str
    before: str | None
    commit: str
    seq: int
    accepted: tuple[str, ...]


class Reindexed(Struct, frozen=True, kw_only=True):
    """A rebuilt index."""

    records: int
    head: str
    path: str | None
