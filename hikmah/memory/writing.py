"""The verbs that write: remember, fulfill, purge, supersede; one item or a batch.

Every path here ends in `hikmah.memory.admitting`, which validates under the writer lock,
against the state at the very tip the records are appended to, before anything of them can be
seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from hikmah.errors import HikmahError, InvalidInputError
from hikmah.index.database import Index
from hikmah.index.rows import TraceRow
from hikmah.index.terms import normal_key
from hikmah.ledger.append import PACK_FROM_OBJECTS, start
from hikmah.memory.admitting import Admission, Numbered, Rules
from hikmah.memory.building import build_trace, plain_provenance, provenance
from hikmah.memory.desk import Desk
from hikmah.memory.opening import new_genesis, older_ledger
from hikmah.memory.pending import Place, Written
from hikmah.memory.results import Batch, Initialised, Remembered, Switched
from hikmah.model import session as sessions
from hikmah.model import validate
from hikmah.model.records import (
    Fulfill,
    Purge,
    Record,
    Supersede,
    Switch,
    convert,
)
from hikmah.views.claims import Rivals


class Outcome(NamedTuple):
    """What a write did: where each record stands in the order given, the commit, what to tell.

    `claiming` are the ids of those that state something another trace may contradict.
    """

    commit: str | None
    items: list[Place]
    claiming: list[str]
    warnings: tuple[str, ...]


# ---- verbs -----------------------------------------------------------------------------


def remember(desk: Desk, fields: Mapping[str, Any]) -> Remembered:
    """Write one trace; see `Memory.remember` for the fields."""
    return remember_batch(desk, [fields]).items[0]


def remember_batch(desk: Desk, items: Iterable[Mapping[str, Any]]) -> Batch:
    """Write many traces as one commit, all or nothing; see `Memory.remember_batch`."""
    if isinstance(items, Iterator):
        items = list(items)  # a batch that another program gets in between is read again
    built = Numbered(items, lambda fields: build_trace(desk, fields))
    if not len(built):
        raise InvalidInputError("the batch is empty: nothing to remember")
    if len(built) > PACK_FROM_OBJECTS and desk.ledger.tip_commit() is not None:
        outcome = _append(desk, built, Rules())
    else:  # few: what is refused takes no lock; and without a ledger, it makes none
        with built.named():
            traces = list(built.records())
        outcome = write(desk, traces)
    many = len(outcome.items) > 1
    try:
        clashes = conflicts_of(desk, outcome.claiming)
    except HikmahError as e:  # the records stand: what disagrees can be asked later
        outcome = outcome._replace(
            warnings=(*outcome.warnings, f"conflicts were not looked up: {e.message}")
        )
        clashes = {}
    commit = outcome.commit or desk.head()
    remembered = tuple(
        Remembered(
            id=item.id,
            seq=item.seq,
            commit=commit,
            deduplicated=item.deduplicated,
            conflicts=clashes.get(item.id, ()),
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
        Where each record stands; a fulfilment of what is fulfilled is left out.

    Raises:
        IntegrityError: The ledger stands elsewhere than at `only_at`.
    """
    _refuse_chosen_time(desk)
    numbered = Numbered(records, lambda record: record)
    with numbered.named():
        for record in numbered.records():
            validate.check(record, policy=desk.policy)
    return _append(desk, numbered, Rules(checked=True), only_at=only_at)


def _append(
    desk: Desk, records: Numbered[Any], rules: Rules, *, only_at: str | None = None
) -> Outcome:
    """Append records that are read once more for each try; an error says which one it is about."""
    items: list[Place] = []
    claiming: list[str] = []

    def begin() -> None:
        items.clear()
        claiming.clear()

    def each(written: Written) -> None:
        items.append(written.place)
        if written.claims:
            claiming.append(written.id)

    admission = Admission(desk, records, each=each, begin=begin, rules=rules)
    with records.named():
        commit, warnings = admit(desk, admission, only_at=only_at)
    return Outcome(commit, items, claiming, warnings)


def admit(
    desk: Desk, admission: Admission, *, only_at: str | None = None
) -> tuple[str | None, tuple[str, ...]]:
    """Append what an admission lets in, to a ledger that is made when there is none.

    Returns:
        The commit (None: nothing was new), and what to tell.
    """
    _refuse_chosen_time(desk)
    started = (*desk.told(), *ensure_started(desk))
    appended = admission.append(only_at=only_at)
    if appended is None:
        return None, started
    adopted = _adopted(desk) if appended.adopted else ()
    return appended.tip.commit, (*started, *adopted, *appended.warnings)


def _refuse_chosen_time(desk: Desk) -> None:
    """Raise when an agent session would write under a time of its own choice."""
    if desk.fixed_clock and desk.session is not None:
        raise sessions.refuse(desk.session, "--now on a write")


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


def initialise(
    desk: Desk, *, made_store: bool, remote: str | None = None, new: bool = False
) -> Initialised:
    """Make the ledger unless it is there; see `Memory.init`."""
    if remote is not None:
        from hikmah.memory import beginnings  # most ledgers begin without a remote

        beginnings.check_name(desk, remote)
    started = ensure_started(desk, remote=remote, new=new)
    if remote is not None:
        beginnings.follow(desk, remote)
    root = desk.ledger.store.repository.root
    tip = desk.ledger.tip(desk.head())
    return Initialised(
        store=str(root),
        ledger=desk.ledger.genesis(tip.root).ledger,
        name=desk.ledger.name,
        ref=desk.ledger.ref,
        commit=tip.commit,
        created=bool(started),
        created_store=made_store,
        warnings=started[1:] or older_ledger(root),
    )


def ensure_started(desk: Desk, *, remote: str | None = None, new: bool = False) -> tuple[str, ...]:
    """Make the ledger's genesis when there is none; return what to tell about it.

    Args:
        desk: Where.
        remote: A remote to ask first whether it has this ledger; default the configured one.
        new: Ask nobody: begin another ledger.
    """
    if desk.ledger.tip_commit() is not None:
        return ()
    _refuse_chosen_time(desk)
    told: tuple[str, ...] = ()
    if not new:
        from hikmah.memory import beginnings  # once in a ledger's life

        told = beginnings.check_none_elsewhere(desk, remote)
    start(
        desk.ledger,
        new_genesis(desk.ledger.name, now_ms=desk.clock()),
        time_s=desk.clock() // 1000,
        lock_timeout_s=desk.lock_timeout_s,
    )
    root = desk.ledger.store.repository.root
    return (f"started a new ledger {desk.ledger.ref} in {root}", *told, *older_ledger(root))


def _adopted(desk: Desk) -> tuple[str, ...]:
    taken = f"{desk.ledger.ref} had no acknowledged head here and was taken as it is"
    return (f"{taken}: `hikmah verify-ledger` verifies it",)
