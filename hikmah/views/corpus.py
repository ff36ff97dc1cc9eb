"""What recall reads: a searchable set of traces at one moment, as a protocol.

The index implements `Corpus`; the views never see SQLite, blocks or files. Rules:

1. A corpus is one cut of the ledger: sizes, frequencies, postings, statuses and links all
   speak of the records inside the cut and of nothing after it.
2. `doc` is a number the index chose. It is stable within one corpus object, never shown,
   and no answer may depend on it: order is (sequence, id).
3. Statistics count every trace inside the cut whatever became of it, so that a supersession
   or purge changes what is shown and not how everything else ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from hikmah.index.rows import Ceilings, Cut, Facts, Postings, Status, TraceRow

Row = TraceRow
__all__ = ["Ceilings", "Corpus", "Cut", "Facts", "Postings", "Row", "Status"]


class Corpus(Protocol):
    """A cut of the ledger that can be searched."""

    @property
    def size(self) -> int:
        """How many traces the cut holds."""

    @property
    def total_length(self) -> int:
        """The sum of their lengths in terms (`terms.length`)."""

    @property
    def ceilings(self) -> Ceilings:
        """Bounds that let ranking stop early."""

    def frequency(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return in how many traces each term stands; a term that is nowhere may be left out."""

    def postings(self, term: str) -> Postings:
        """Return every posting of a term; empty sequences when it is nowhere."""

    def postings_in(self, term: str, docs: Sequence[int]) -> Postings:
        """Return a term's postings in some documents (ascending) of the cut."""

    def by_tag(self, tag: str) -> Sequence[int]:
        """Return the documents that carry a normalized tag, ascending."""

    def documents(self) -> Sequence[int]:
        """Return every document of the cut, ascending."""

    def facts(self, docs: Sequence[int]) -> Sequence[Facts]:
        """Return the facts of documents, in the order asked for."""

    def rows(self, docs: Sequence[int]) -> Sequence[Row]:
        """Return documents in full, in the order asked for."""

    def find(self, ids: Iterable[str]) -> Sequence[Row]:
        """Return the traces with these full ids, without those that are not in the cut."""

    def fingerprints(self, docs: Sequence[int]) -> Sequence[frozenset[int]]:
        """Return each document's set of term numbers (`terms.fingerprint`), in order."""

    def claims(self, keys: Iterable[str]) -> Sequence[Row]:
        """Return every trace whose claim has one of these normalized keys, any status."""

    def overdue(self, now_ms: int) -> Iterator[int]:
        """Yield the active commitments whose deadline has passed, the latest deadline first.

        Equal deadlines stand newer first, then by id.
        """
