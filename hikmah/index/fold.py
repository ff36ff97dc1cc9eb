"""What other records made of a trace: a fold over those that point at it.

Any order of arrival gives the same answer: links are kept whether or not their target has
arrived, and a target's state is computed anew from all of them.
"""

from __future__ import annotations

from msgspec import Struct

from hikmah.index.container import Reader
from hikmah.index.rows import Cut, Status, status_of
from hikmah.model.records import Record, Supersede, Unknown
from hikmah.model.status import STRENGTH, status_given_by
from hikmah.model.trace import Trace

ACTIVE = STRENGTH["active"]
SUPERSEDED = STRENGTH["superseded"]


class Link(Struct, frozen=True):
    """One record's effect on a trace: its new status (a rank) and what replaces it."""

    target: str
    status: int
    by: str | None


class Fold(Struct, frozen=True):
    """A trace's status, the sequence number that brought it, and its replacements in order."""

    status: Status
    status_seq: int | None
    superseded_by: tuple[str, ...]


def link_of(record: Record | Unknown, record_id: str) -> Link | None:
    """Return what a record does to another one, or None."""
    if isinstance(record, Trace):
        if record.supersedes is None:
            return None
        return Link(record.supersedes, SUPERSEDED, record_id)
    if isinstance(record, Unknown):
        return None
    by = record.by if isinstance(record, Supersede) else None
    return Link(record.id, STRENGTH[status_given_by(record)], by)


def fold(reader: Reader, target: bytes, cut: Cut | None = None) -> Fold:
    """Return what the links inside a cut make of a trace."""
    best, since, by = ACTIVE, None, []
    for status, replacement, seq, at_ms in reader.all(
        "SELECT l.status, l.by, r.seq, r.at_ms FROM link l JOIN record r ON r.doc = l.doc "
        "WHERE l.target = ? ORDER BY r.seq, r.id",
        target,
    ):
        if not inside(cut, seq, at_ms):
            continue
        if status > best:
            best, since = status, seq
        if replacement is not None:
            by.append(replacement.hex())
    return Fold(status_of(best), since, tuple(dict.fromkeys(by)))


def replaced_by(reader: Reader, replacement: bytes, cut: Cut | None = None) -> tuple[str, ...]:
    """Return the ids that a trace replaces, in the order of the records that say so."""
    found = reader.all(
        "SELECT l.target, r.seq, r.at_ms FROM link l JOIN record r ON r.doc = l.doc "
        "WHERE l.by = ? ORDER BY r.seq, r.id",
        replacement,
    )
    return tuple(dict.fromkeys(t.hex() for t, seq, at_ms in found if inside(cut, seq, at_ms)))


def inside(cut: Cut | None, seq: int, at_ms: int) -> bool:
    """Tell whether a record belongs to a cut."""
    if cut is None:
        return True
    return (cut.seq is None or seq <= cut.seq) and (
        cut.written_ms is None or at_ms <= cut.written_ms
    )
