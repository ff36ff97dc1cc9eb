"""What the index hands out: rows, facts, postings, cuts. Values only, no SQLite.

`doc` is a number the index chose for a trace, in order of arrival. It is never shown and no
answer may depend on it: order is (sequence, id) everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from msgspec import Struct

from hikmah.errors import StoreError
from hikmah.model.records import Record, Unknown
from hikmah.model.status import STATUSES, Status
from hikmah.model.trace import Claim, Trace

__all__ = [
    "STATUSES",
    "Ceilings",
    "Cut",
    "DamagedIndexError",
    "Facts",
    "LogRow",
    "Postings",
    "Status",
    "TraceRow",
    "status_of",
]


class DamagedIndexError(StoreError):
    """The index file does not hold what it must; fill it anew. Never reaches a user."""

    code = "index"


def status_of(rank: int) -> Status:
    """Return the status that the index keeps as a rank."""
    try:
        return STATUSES[rank]
    except (IndexError, TypeError) as e:
        raise DamagedIndexError(f"{rank!r} is no status") from e


class Cut(Struct, frozen=True, kw_only=True):
    """A moment of the ledger: the records up to a sequence number, or written by a time."""

    seq: int | None = None
    written_ms: int | None = None


class Postings(Struct, frozen=True):
    """Where one term stands: three parallel sequences, documents ascending."""

    docs: Sequence[int]
    counts: Sequence[int]  # how often the term stands there, at most 255
    lengths: Sequence[int]  # the document's length in terms, at most 65,535

    def at(self, places: Sequence[int]) -> Postings:
        """Return the postings at some places."""
        docs, counts, lengths = self.docs, self.counts, self.lengths
        return Postings(
            [docs[i] for i in places], [counts[i] for i in places], [lengths[i] for i in places]
        )

    def only(self, kept: Sequence[bool]) -> Postings:
        """Return the postings at the places that are kept."""
        return Postings(
            list(compress(self.docs, kept)),
            list(compress(self.counts, kept)),
            list(compress(self.lengths, kept)),
        )


class Facts(Struct, frozen=True):
    """What ranking and filters need of one trace, without its text."""

    doc: int
    seq: int
    status: Status
    kind: str
    privacy: str
    source: str
    created_at_ms: int
    deadline_ms: int | None
    salience: float
    confidence: float
    authority: float
    verified: bool
    length: int  # in terms


class TraceRow(Struct, frozen=True, kw_only=True):
    """One trace in full, with what other records made of it inside the cut.

    `status_seq` is the sequence number that brought the status (the trace's own while active);
    `superseded_by` and `supersedes` are in the order of the records that say so. A
    single-valued fact claims its object of its entity: `fact_claim`.
    """

    doc: int
    id: str
    seq: int
    trace: Trace
    status: Status
    status_seq: int
    superseded_by: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    fact_claim: Claim | None = None

    @property
    def claim(self) -> Claim | None:
        """What the trace claims: its own claim, or its fact's."""
        return self.trace.claim or self.fact_claim


class LogRow(Struct, frozen=True, kw_only=True):
    """One record of any type as the log lists it; `status` is None unless it is a trace."""

    id: str
    seq: int
    record: Record | Unknown
    status: Status | None = None


class Ceilings(Struct, frozen=True, kw_only=True):
    """Upper bounds over every trace ever indexed; 1.0 is always a right answer."""

    salience: float = 1.0
    confidence: float = 1.0
    authority: float = 1.0
    verified: bool = True
