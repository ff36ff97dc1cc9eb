"""The verbs that write: remember, fulfill, purge, supersede; one item or a batch.

Every path here ends in `write`, which validates under the writer lock, against the state at
the very tip the records are appended to, before a byte is written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from hikmah.errors import (
    BusyError,
    HikmahError,
    IntegrityError,
    InvalidInputError,
    StoreError,
)
from hikmah.index.database import Index
from hikmah.index.rows import TraceRow
from hikmah.index.terms import normal_key
from hikmah.ledger.append import Appended, NewRecord, append, start
from hikmah.ledger.ledger import Tip
from hikmah.memory.building import build_trace, plain_provenance, provenance
from hikmah.memory.desk import Desk
from hikmah.memory.opening import new_genesis
from hikmah.memory.pending import Pending, Written
from hikmah.memory.results import Batch, Initialised, Remembered, Switched
from hikmah.model import session as sessions
from hikmah.model import validate
from hikmah.model.records import (
    Fulfill,
    Purge,
    Record,
    Stored,
    Supersede,
    Switch,
    blob_id,
    canonical,
    convert,
)
from hikmah.model.trace import Trace
from hikmah.views.claims import Rivals


class Outcome(NamedTuple):
    """What a write did: each record in the order given, the commit, what to tell."""

    commit: str | None
    items: list[Written]
    warnings: tuple[str, ...]


# ---- verbs -----------------------------------------------------------------------------


def remember(desk: Desk, fields: Mapping[str, Any]) -> Remembered:
    """Write one trace; see `Memory.remember` for the fields."""
    return remember_batch(desk, [fields]).items[0]


def remember_batch(desk: Desk, items: Sequence[Mapping[str, Any]]) -> Batch:
    """Write many traces as one commit, all or nothing; see `Memory.remember_batch`."""
    if not items:
        raise InvalidInputError("the batch is empty: nothing to remember")
    many = len(items) > 1
    traces: list[Trace] = []
    for n, item in enumerate(items):
        with _item(n if many else None):
            traces.append(build_trace(desk, item))
    outcome = write(desk, traces)
    try:
        clashes = conflicts_of(desk, [item.id for item in outcome.items])
    except HikmahError as e:  # the records stand: what disagrees can be asked later
        outcome = outcome._replace(
            warnings=(*outcome.warnings, f"conflicts were not looked up: {e.message}")
        )
        clashes = dict.fromkeys((item.id for item in outcome.items), ())
    commit = outcome.commit or desk.head()
    remembered = tuple(
        Remembered(
            id=item.id,
            seq=item.seq,
            commit=commit,
            deduplicated=item.deduplicated,
            conflicts=clashes[item.id],
            warnings=() if many else outcome.warnings,
        )
        for item in outcome.items
    )
    written = sum(not item.deduplicated for item in outcome.items)
    return Batch(
        commit=outcome.commit, written=written, items=remembered, warnings=outcome.warnings
    )


def fulfill(desk: Desk, target: str, *, evidence: str | None, source: str) -> Switched:
    """Mark a commitment as kept; see `Memory.fulfill`."""

    def build(target_id: str) -> Switch:
        return Fulfill(
            id=target_id, evidence=evidence, at_ms=desk.clock(), provenance=provenance(desk, source)
        )

    return _switch(desk, target, build)


def purge(desk: Desk, target: str, *, reason: str, mode: str, source: str) -> Switched:
    """Take a trace out of every view, or retire it; see `Memory.purge`."""

    def build(target_id: str) -> Switch:
        raw = {"type": "purge", "id": target_id, "reason": reason, "mode": mode}
        return convert(
            {**raw, "at_ms": desk.clock(), "provenance": plain_provenance(desk, source)}, Purge
        )

    switched = _switch(desk, target, build)
    if mode == "deprecate":
        return switched
    note = "hidden, not erased: the text stays in git's history and on every remote it went to"
    return msgspec.structs.replace(switched, note=note)


def supersede(desk: Desk, old: str, new: str, *, reason: str | None, source: str) -> Switched:
    """Link two traces, the second in place of the first; see `Memory.supersede`."""
    by = desk.answer(lambda index: desk.resolve(index, new, where="by"))

    def build(target_id: str) -> Switch:
        return Supersede(
            id=target_id,
            by=by,
            reason=reason,
            at_ms=desk.clock(),
            provenance=provenance(desk, source),
        )

    return _switch(desk, old, build)


def _switch(desk: Desk, target: str, build: Callable[[str], Switch]) -> Switched:
    record = build(desk.answer(lambda index: desk.resolve(index, target)))
    outcome = write(desk, [record])
    if not outcome.items:
        return Switched(id=None, seq=None, commit=None, target=record.id, already=True)
    item = outcome.items[0]
    return Switched(
        id=item.id,
        seq=item.seq,
        commit=outcome.commit,
        target=record.id,
        warnings=outcome.warnings,
    )


# ---- the one way in --------------------------------------------------------------------


def write(desk: Desk, records: Sequence[Record], *, only_at: str | None = None) -> Outcome:
    """Validate records and append the new ones as one commit.

    Args:
        desk: Where to write.
        records: What to write, in order.
        only_at: The commit that the ledger must stand at: what was decided, was decided there.

    Returns:
        Each record with its place; a fulfilment of what is fulfilled is left out.

    Raises:
        IntegrityError: The ledger stands elsewhere than at `only_at`.
    """
    _refuse_chosen_time(desk)
    many = len(records) > 1
    for n, record in enumerate(records):
        with _item(n if many else None):
            validate.check(record, policy=desk.policy)
    started = (*desk.told(), *ensure_started(desk))
    items: list[Written] = []
    new: list[NewRecord] = []

    def prepare(tip: Tip) -> list[NewRecord]:
        if only_at is not None and tip.commit != only_at:
            raise IntegrityError(
                f"the ledger moved on from {only_at} to {tip.commit}", hint="look again first"
            )
        items[:], new[:] = desk.answer(
            lambda index: _admit(desk, index, records, tip.seq), head=tip.commit
        )
        return new

    appended = append(
        desk.ledger, prepare, time_s=desk.clock() // 1000, lock_timeout_s=desk.lock_timeout_s
    )
    if appended is None:
        return Outcome(None, items, started)
    adopted = _adopted(desk) if appended.adopted else ()
    return Outcome(
        appended.tip.commit,
        items,
        (*started, *adopted, *appended.warnings, *_take_in(desk, appended, new)),
    )


def _refuse_chosen_time(desk: Desk) -> None:
    """Raise when an agent session would write under a time of its own choice."""
    if desk.fixed_clock and desk.session is not None:
        raise sessions.refuse(desk.session, "--now on a write")


def _admit(
    desk: Desk, index: Index, records: Sequence[Record], last_seq: int
) -> tuple[list[Written], list[NewRecord]]:
    """Check records against the state they meet and return them with those that are new."""
    state = Pending(index)
    items: list[Written] = []
    new: list[NewRecord] = []
    for n, record in enumerate(records):
        with _item(n if len(records) > 1 else None):
            data = canonical(record)
            record_id = blob_id(data, desk.ledger.algorithm)
            there = state.known(record_id, record)
            if there is not None:
                items.append(there)
                continue
            if validate.check_links(record, state).already:
                continue
            written = Written(record_id, last_seq + len(new) + 1, record, deduplicated=False)
            new.append(NewRecord(record_id, record, data))
            items.append(written)
            state.add(written)
    return items, new


def _take_in(desk: Desk, appended: Appended, new: Sequence[NewRecord]) -> tuple[str, ...]:
    """Bring the index up to the append; what fails here is made good by the next reader."""
    stored = [
        Stored(id=n.id, seq=a.seq, record=n.record, data=n.data)
        for n, a in zip(new, appended.additions, strict=True)
    ]
    index = desk.opened()
    try:
        ledger = index.ledger
        if ledger is not None:
            index.extend(stored, ledger=ledger, base=appended.old.commit, head=appended.tip.commit)
    except (StoreError, BusyError) as e:
        return (f"the index will be brought up to date later: {e.message}",)
    return ()


def conflicts_of(desk: Desk, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return, for each trace, the first active traces that claim another value for its key."""

    def question(index: Index) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        by_key: dict[str, list[TraceRow]] = {}
        for row in index.rows(ids):
            if row.claim is not None:
                by_key.setdefault(normal_key(row.claim.key), []).append(row)
        for key, rows in by_key.items():
            rivals = Rivals(index.claims(key))
            found |= {row.id: rivals.against(row) for row in rows}
        return found

    return dict.fromkeys(ids, ()) | desk.answer(question)


@contextlib.contextmanager
def _item(at: int | None) -> Iterator[None]:
    """Make an error say which item of a batch it is about, when it is about one."""
    try:
        yield
    except HikmahError as e:
        if at is not None and (not e.where or e.where.startswith("$")):
            e.message = f"item {at + 1}: {e.message}"
            e.where = f"$[{at}]{e.where.removeprefix('$')}"
        raise


def initialise(desk: Desk, *, made_store: bool) -> Initialised:
    """Make the ledger unless it is there; see `Memory.init`."""
    created = bool(ensure_started(desk))
    tip = desk.ledger.tip(desk.head())
    return Initialised(
        store=str(desk.ledger.store.repository.root),
        ledger=desk.ledger.genesis(tip.root).ledger,
        name=desk.ledger.name,
        ref=desk.ledger.ref,
        commit=tip.commit,
        created=created,
        created_store=made_store,
    )


def ensure_started(desk: Desk) -> tuple[str, ...]:
    """Make the ledger's genesis when there is none; return what to tell about it."""
    if desk.ledger.tip_commit() is not None:
        return ()
    _refuse_chosen_time(desk)
    start(
        desk.ledger,
        new_genesis(desk.ledger.name, now_ms=desk.clock()),
        time_s=desk.clock() // 1000,
        lock_timeout_s=desk.lock_timeout_s,
    )
    return (f"started a new ledger {desk.ledger.ref} in {desk.ledger.store.repository.root}",)


def _adopted(desk: Desk) -> tuple[str, ...]:
    ref = desk.ledger.ref
    return (f"{ref} had no acknowledged head here and was taken as it is: verify it",)
