"""What a record points at, and what may be pointed at: pure, for verification.

Write-time rules about state (an outcome needs an *active* prediction) are not checked
here: any set of records is a valid ledger, so that two ledgers always join.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from hikmah.model.records import Fulfill, Purge, Record, Supersede, Unknown
from hikmah.model.trace import Trace


class Role(enum.IntFlag):
    """What a record can serve as for those that point at it."""

    TRACE = 1
    COMMITMENT = 2
    PREDICTION = 4
    ENTITY = 8
    UNKNOWN = 16


ROLE_NAMES = {
    Role.TRACE: "a trace",
    Role.COMMITMENT: "a commitment",
    Role.PREDICTION: "a prediction",
    Role.ENTITY: "an entity",
    Role.TRACE | Role.UNKNOWN: "a trace",
}
_ANY_SOURCE = Role.TRACE | Role.UNKNOWN
_KIND_ROLES = {
    "commitment": int(Role.TRACE | Role.COMMITMENT),
    "prediction": int(Role.TRACE | Role.PREDICTION),
}
_TRACE, _ENTITY, _UNKNOWN = int(Role.TRACE), int(Role.ENTITY), int(Role.UNKNOWN)


class Link(NamedTuple):
    """One pointer: the field it stands in, the id, and the role that must be filled."""

    field: str
    target: str
    need: Role


def role(record: Record | Unknown) -> int:
    """Return what a record can serve as, as bits of `Role`; 0 for a switch."""
    if isinstance(record, Trace):
        bits = _KIND_ROLES.get(record.kind, _TRACE)
        return bits | _ENTITY if record.entity is not None else bits
    return _UNKNOWN if isinstance(record, Unknown) else 0


def links(record: Record | Unknown) -> list[Link]:
    """Return everything a record points at, in the order of its fields."""
    match record:
        case Trace():
            return _trace_links(record)
        case Supersede():
            return [Link("id", record.id, Role.TRACE), Link("by", record.by, Role.TRACE)]
        case Fulfill():
            return [Link("id", record.id, Role.COMMITMENT)]
        case Purge():
            return [Link("id", record.id, Role.TRACE)]
        case _:
            return []


def _trace_links(trace: Trace) -> list[Link]:
    found: list[Link] = []
    if trace.supersedes is not None:
        found.append(Link("supersedes", trace.supersedes, Role.TRACE))
    for at, source in enumerate(trace.derived_from):
        found.append(Link(f"derived_from[{at}]", source, _ANY_SOURCE))
    if trace.outcome is not None:
        found.append(Link("outcome.prediction", trace.outcome.prediction, Role.PREDICTION))
    if trace.fact is not None:
        found.append(Link("fact.entity", trace.fact.entity, Role.ENTITY))
    if trace.relationship is not None:
        found.append(Link("relationship.from", trace.relationship.from_, Role.ENTITY))
        found.append(Link("relationship.to", trace.relationship.to, Role.ENTITY))
    return found
