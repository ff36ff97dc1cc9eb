"""Records whose links have to name other ids than those they were written with.

That is so where a record cannot keep its id: in a repository with another hash, or where
what it points at was left out of the file. Rules the module keeps:

1. Nothing but links changes, and a trace says in `imported` which id it had.
2. A link that only tells of history (`supersedes`, `derived_from`) may be dropped; one that a
   record cannot do without may not.
3. The same record and the same links always give the same bytes, so that importing twice
   adds nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hikmah.errors import NotFoundError
from hikmah.model.records import Fulfill, Purge, Record, Supersede
from hikmah.model.trace import Imported, Trace

SYSTEM = "hikmah"
# Returns the id that a link has here; None for a record that is neither here nor in the file.
Resolve = Callable[[str], str | None]


def relinked(record: Record, record_id: str, resolve: Resolve) -> Record:
    """Return a record with every link naming what it names here.

    Args:
        record: The record as it was written.
        record_id: The id it had.
        resolve: What has become of the ids it points at.

    Raises:
        NotFoundError: It points at something that is not here, and cannot do without.
    """
    if isinstance(record, Trace):
        return _trace(record, record_id, resolve)
    if isinstance(record, Supersede):
        return msgspec.structs.replace(
            record, id=_needed(record.id, "$.id", resolve), by=_needed(record.by, "$.by", resolve)
        )
    return _switch(record, resolve)


def _switch(record: Fulfill | Purge, resolve: Resolve) -> Record:
    return msgspec.structs.replace(record, id=_needed(record.id, "$.id", resolve))


def _trace(trace: Trace, record_id: str, resolve: Resolve) -> Trace:
    basis = [resolve(one) for one in trace.derived_from]
    changed = msgspec.structs.replace(
        trace,
        supersedes=None if trace.supersedes is None else resolve(trace.supersedes),
        derived_from=tuple(one for one in basis if one is not None),
        imported=trace.imported or Imported(system=SYSTEM, id=record_id),
    )
    return _payload(changed, resolve)


def _payload(trace: Trace, resolve: Resolve) -> Trace:
    replace = msgspec.structs.replace
    if trace.outcome:
        prediction = _needed(trace.outcome.prediction, "$.outcome.prediction", resolve)
        trace = replace(trace, outcome=replace(trace.outcome, prediction=prediction))
    if trace.fact:
        entity = _needed(trace.fact.entity, "$.fact.entity", resolve)
        trace = replace(trace, fact=replace(trace.fact, entity=entity))
    if trace.relationship:
        start = _needed(trace.relationship.from_, "$.relationship.from", resolve)
        goal = _needed(trace.relationship.to, "$.relationship.to", resolve)
        trace = replace(trace, relationship=replace(trace.relationship, from_=start, to=goal))
    return trace


def _needed(record_id: str, where: str, resolve: Resolve) -> str:
    found = resolve(record_id)
    if found is None:
        raise missing(record_id, where)
    return found


def missing(record_id: str, where: str) -> NotFoundError:
    """Return the error for a link that names nothing in the ledger and nothing before it."""
    return NotFoundError(
        f"{record_id} is neither in the ledger nor on an earlier line",
        hint="lines keep the order of the export; `hikmah export --include-purged` leaves nothing"
        " out that others point at",
        where=where,
    )
