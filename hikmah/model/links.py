"""Rules of links: what a record may point at, given the traces that are there.

1. Every id named is that of a trace in this ledger (or of the same batch).
2. What is superseded or purged stays so: a second time is an error that names the first.
3. Supersession makes no circle, and its successor may supersede: no model, no prediction.
4. An outcome resolves an active prediction with a value of its answer space.
5. Facts and relationships point at entities; a successor of an entity is an entity.
6. Fulfilling what is fulfilled is not an error: the outcome says `already`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hikmah.errors import InvalidInputError, NotFoundError, RefusedError
from hikmah.model.payloads import answer_space
from hikmah.model.records import Fulfill, Purge, Record, Supersede
from hikmah.model.status import payload_of
from hikmah.model.trace import Outcome, Trace, is_model

if TYPE_CHECKING:
    from hikmah.model.status import Lookup, TraceState

# Payloads that make a class or a history: only their like may take their place.
_OWN_SUCCESSORS = ("entity", "fact", "relationship")


class LinkOutcome(Struct, frozen=True, kw_only=True):
    """What following a record's links showed: `already` when it would change nothing."""

    already: bool = False


NEW = LinkOutcome()
ALREADY = LinkOutcome(already=True)


def check_links(record: Record, look: Lookup) -> LinkOutcome:
    """Check a record's links against the traces that are there.

    Returns:
        Whether the record is new, or says what is so already (a commitment fulfilled twice).

    Raises:
        NotFoundError: A link names no trace of this ledger.
        InvalidInputError: A link names a trace of the wrong kind or status, or a circle.
        RefusedError: A model or a prediction would supersede.
    """
    if isinstance(record, Trace):
        _trace(record, look)
    elif isinstance(record, Supersede):
        _supersede(record, look)
    elif isinstance(record, Purge):
        _purge(record, look)
    else:
        return _fulfill(record, look)
    return NEW


def _trace(trace: Trace, look: Lookup) -> None:
    if trace.supersedes is not None:
        old = _found(trace.supersedes, "$.supersedes", look)
        _may_be_superseded(old, "$.supersedes")
        _may_succeed(old, payload_of(trace), "$.supersedes")
    for place, record_id in enumerate(trace.derived_from):
        _found(record_id, f"$.derived_from[{place}]", look)
    if trace.outcome:
        _outcome(trace.outcome, look)
    if trace.fact:
        _entity(trace.fact.entity, "$.fact.entity", look)
    if trace.relationship:
        _entity(trace.relationship.from_, "$.relationship.from", look)
        _entity(trace.relationship.to, "$.relationship.to", look)


def _found(record_id: str, where: str, look: Lookup) -> TraceState:
    state = look.state(record_id)
    if state is None:
        raise NotFoundError(
            f"no trace {record_id} in this ledger",
            hint="`hikmah log` lists ids; a link needs one of this ledger",
            where=where,
        )
    return state


def _may_be_superseded(old: TraceState, where: str) -> None:
    if old.status in ("purged", "deprecated"):
        raise InvalidInputError(f"trace {old.id} is {old.status}", where=where)
    if old.superseded_by or old.status == "superseded":
        by = f" by {', '.join(old.superseded_by)}" if old.superseded_by else ""
        raise InvalidInputError(
            f"trace {old.id} is superseded already{by}",
            hint="supersede its successor",
            where=where,
        )


def _may_succeed(old: TraceState, payload: str | None, where: str) -> None:
    if old.payload in _OWN_SUCCESSORS and payload != old.payload:
        raise InvalidInputError(
            f"trace {old.id} holds {old.payload} details, and only their like supersedes them",
            where=where,
        )


def _outcome(outcome: Outcome, look: Lookup) -> None:
    where = "$.outcome.prediction"
    state = _found(outcome.prediction, where, look)
    if state.prediction is None:
        raise InvalidInputError(f"trace {state.id} is no prediction but {state.kind}", where=where)
    if state.status != "active":
        raise InvalidInputError(f"prediction {state.id} is {state.status}", where=where)
    answers = answer_space(state.prediction)
    if outcome.observed not in answers:
        raise InvalidInputError(
            "the observed value is not in the prediction's answer space",
            hint=f"it may be one of: {', '.join(answers)}",
            where="$.outcome.observed",
        )


def _entity(record_id: str, where: str, look: Lookup) -> None:
    state = _found(record_id, where, look)
    if state.payload != "entity":
        raise InvalidInputError(f"trace {state.id} is no entity", where=where)
    if state.status == "purged":
        raise InvalidInputError(f"entity {state.id} is purged", where=where)


def _supersede(record: Supersede, look: Lookup) -> None:
    old = _found(record.id, "$.id", look)
    new = _found(record.by, "$.by", look)
    _may_be_superseded(old, "$.id")
    if is_model(new.source):
        raise RefusedError(
            f"trace {new.id} is of {new.source!r}: no model supersedes", where="$.by"
        )
    if new.kind == "prediction":
        raise RefusedError(f"trace {new.id} is a prediction, which never supersedes", where="$.by")
    if new.status in ("purged", "deprecated"):
        raise InvalidInputError(f"trace {new.id} is {new.status}", where="$.by")
    _may_succeed(old, new.payload, "$.by")
    if leads_to(new, old.id, look):
        raise InvalidInputError(
            f"trace {new.id} is superseded by {old.id}, directly or in steps: that is a circle",
            where="$.by",
        )


def leads_to(state: TraceState, target: str, look: Lookup) -> bool:
    """Tell whether supersession leads from a trace to another, however many steps away."""
    seen: set[str] = set()
    left = list(state.superseded_by)
    while left:
        record_id = left.pop()
        if record_id == target:
            return True
        step = None if record_id in seen else look.state(record_id)
        seen.add(record_id)
        left += step.superseded_by if step else ()
    return False


def _purge(record: Purge, look: Lookup) -> None:
    state = _found(record.id, "$.id", look)
    again = state.status == "purged" or (state.status == "deprecated" and record.mode != "purge")
    if again:
        raise InvalidInputError(f"trace {state.id} is {state.status} already", where="$.id")


def _fulfill(record: Fulfill, look: Lookup) -> LinkOutcome:
    state = _found(record.id, "$.id", look)
    if state.kind != "commitment":
        raise InvalidInputError(
            f"trace {state.id} is no commitment but {state.kind}",
            hint="`hikmah commitments` lists what can be fulfilled",
            where="$.id",
        )
    if state.status == "fulfilled":
        return ALREADY
    if state.status != "active":
        by = f" by {', '.join(state.superseded_by)}" if state.superseded_by else ""
        raise InvalidInputError(f"commitment {state.id} is {state.status}{by}", where="$.id")
    return NEW
