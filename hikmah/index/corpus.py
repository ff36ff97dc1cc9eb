"""A cut of the ledger that recall can search: postings and rows as of one moment.

Without a cut nothing here reads more than the terms and documents asked for. With one, the
documents inside are read once and everything is filtered to them: exact, not fast.
"""

from __future__ import annotations

import functools
import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hikmah.index import blobs, postings, terms
from hikmah.index.container import Reader
from hikmah.index.fold import fold, inside, replaced_by
from hikmah.index.rows import Ceilings, Cut, DamagedIndexError, Facts, Postings, TraceRow, status_of
from hikmah.index.schema import CEILINGS, DEFAULT_UNIT, FACT_CLAIM
from hikmah.model.trace import FULL_ID, Claim, Fact, Trace

_FACTS = (
    "SELECT t.doc, t.seq, t.status, t.kind, t.privacy, t.source, t.created_at_ms, t.deadline_ms, "
    "t.salience, t.confidence, t.authority, t.verified, t.length "
    "FROM json_each(?) j JOIN trace t ON t.doc = j.value ORDER BY j.key"
)
# Few traces replace another: only those that do are asked which.
_ROW_OF = (
    "SELECT r.doc, r.id, r.seq, r.data, t.status, t.status_seq, t.created_at_ms, "
    "EXISTS (SELECT 1 FROM link l WHERE l.by = r.id) FROM {} "
)
_ROW = _ROW_OF.format("record r JOIN trace t ON t.doc = r.doc WHERE")
# Several documents by their numbers, in that order; a query for each would cost more.
_ASKED = "json_each(?) j JOIN record r ON r.doc = j.value"
_ROWS = _ROW_OF.format(_ASKED + " JOIN trace t ON t.doc = r.doc ORDER BY j.key")
_FINGERPRINTS = f"SELECT r.fingerprint FROM {_ASKED} ORDER BY j.key"  # noqa: S608  # text of ours
_Found = tuple[int, bytes, int, bytes, int, int | None, int, int]
_WITH_CLAIM_KEY = (
    "r.doc IN (SELECT c.doc FROM claim_key k JOIN claim c ON c.key = k.number WHERE k.key = ?) "
    "ORDER BY r.seq, r.id"
)

_OVERDUE = (
    "SELECT c.doc FROM commitment c JOIN record r ON r.doc = c.doc "
    "WHERE c.status = 0 AND c.deadline_ms < ? "
    "ORDER BY c.deadline_ms DESC, r.seq DESC, r.id LIMIT ? OFFSET ?"
)
_CLASS_ID = (
    "SELECT c.id FROM record r JOIN entity e ON e.doc = r.doc "
    "JOIN class c ON c.number = e.class WHERE r.id = ?"
)
_PAGE = 64


class IndexCorpus:
    """The traces inside a cut; see `hikmah.views.corpus.Corpus` for the contract."""

    def __init__(self, reader: Reader, cut: Cut | None = None) -> None:
        self._reader = reader
        self._cut = cut
        self._words: dict[int | None, str] = {None: "private"}

    @property
    def size(self) -> int:
        """How many traces the cut holds."""
        return int(self._header("traces")) if self._cut is None else len(self._inside)

    @property
    def total_length(self) -> int:
        """The sum of their lengths in terms."""
        return int(self._header("length")) if self._cut is None else sum(self._inside.values())

    @property
    def ceilings(self) -> Ceilings:
        """Bounds over every trace ever indexed."""
        salience, confidence, authority, verified = (self._header(name) for name in CEILINGS)
        return Ceilings(
            salience=salience,
            confidence=confidence,
            authority=authority,
            verified=bool(verified),
        )

    def frequency(self, wanted: Iterable[str]) -> Mapping[str, int]:
        """Return in how many traces each term stands, without those that stand nowhere."""
        if self._cut is None:
            return postings.frequencies(self._reader, wanted)
        found = {term: len(self.postings(term).docs) for term in wanted}
        return {term: df for term, df in found.items() if df}

    def postings(self, term: str) -> Postings:
        """Return every posting of a term; empty columns when it stands nowhere."""
        found = postings.read_postings(self._reader, term)
        if self._cut is None:
            return found
        known = self._inside
        kept = [doc in known for doc in found.docs]
        return found.only(kept)

    def postings_in(self, term: str, docs: Sequence[int]) -> Postings:
        """Return a term's postings in some documents of the cut, ascending."""
        return postings.postings_in(self._reader, term, docs)

    def by_tag(self, tag: str) -> Sequence[int]:
        """Return the documents that carry a normalized tag, ascending."""
        return self.postings(postings.tag_term(tag)).docs

    def documents(self) -> Sequence[int]:
        """Return every document of the cut, ascending."""
        if self._cut is not None:
            return list(self._inside)
        return array(
            "I", [doc for (doc,) in self._reader.all("SELECT doc FROM trace ORDER BY doc")]
        )

    def facts(self, docs: Sequence[int]) -> Sequence[Facts]:
        """Return the facts of documents, in the order asked for."""
        return [self._facts(row) for row in self._each(_FACTS, docs)]

    def rows(self, docs: Sequence[int]) -> Sequence[TraceRow]:
        """Return documents in full, in the order asked for."""
        return [self._row(row) for row in self._each(_ROWS, docs)]

    def find(self, ids: Iterable[str]) -> Sequence[TraceRow]:
        """Return the traces with these full ids, without those that are not in the cut."""
        found = (self._reader.one(_ROW + "r.id = ?", bytes.fromhex(one)) for one in ids)
        return [self._row(row) for row in found if row is not None and self._holds(row)]

    def fingerprints(self, docs: Sequence[int]) -> Sequence[frozenset[int]]:
        """Return each document's set of term numbers, in order."""
        return [terms.read_fingerprint(data) for (data,) in self._each(_FINGERPRINTS, docs)]

    def _each(self, query: str, docs: Sequence[int]) -> list[Any]:
        """Return a row for each of some documents, in their order."""
        if not docs:
            return []
        found = self._reader.all(query, "[" + ",".join(map(str, docs)) + "]")
        if len(found) != len(docs):
            raise DamagedIndexError("the index has postings of documents and no such traces")
        return found

    def claims(self, keys: Iterable[str]) -> Sequence[TraceRow]:
        """Return every trace whose claim has one of these normalized keys, any status."""
        found: list[TraceRow] = []
        for key in dict.fromkeys(keys):
            kept = dict.fromkeys((key, self._kept_key(key)))
            rows = [row for one in kept for row in self._reader.all(_ROW + _WITH_CLAIM_KEY, one)]
            found += self._claiming([self._row(row) for row in rows if self._holds(row)], key)
        return found

    def _kept_key(self, key: str) -> str:
        """Return the key under which the index keeps what a fact claims inside the cut."""
        entity, slash, predicate = key.partition("/")
        if self._cut is None or not slash or not re.fullmatch(FULL_ID, entity):
            return key
        row = self._reader.one(_CLASS_ID, bytes.fromhex(entity))
        return key if row is None else FACT_CLAIM.format(row[0].hex(), predicate)

    def _claiming(self, rows: list[TraceRow], key: str) -> list[TraceRow]:
        if self._cut is None:
            return rows
        held = [row for row in rows if row.claim and terms.normal_key(row.claim.key) == key]
        return sorted(held, key=lambda row: (row.seq, row.id))

    def commitments(self) -> Sequence[int]:
        """Return the active commitments, ascending."""
        if self._cut is None:
            found = self._reader.all("SELECT doc FROM commitment WHERE status = 0 ORDER BY doc")
            return [doc for (doc,) in found]
        docs = [doc for (doc,) in self._reader.all("SELECT doc FROM commitment ORDER BY doc")]
        known = [doc for doc in docs if doc in self._inside]
        return [fact.doc for fact in self.facts(known) if fact.status == "active"]

    def overdue(self, now_ms: int) -> Iterator[int]:
        """Yield the active commitments whose deadline has passed, the latest deadline first."""
        if self._cut is None:
            for start in itertools.count(0, _PAGE):
                page = self._reader.all(_OVERDUE, now_ms, _PAGE, start)
                yield from (doc for (doc,) in page)
                if len(page) < _PAGE:
                    return
        facts = [
            f
            for f in self.facts(self.commitments())
            if f.deadline_ms is not None and f.deadline_ms < now_ms
        ]
        ids = {row.doc: row.id for row in self.rows([f.doc for f in facts])}
        facts.sort(key=lambda f: (-(f.deadline_ms or 0), -f.seq, ids[f.doc]))
        yield from (f.doc for f in facts)

    @functools.cached_property
    def _inside(self) -> dict[int, int]:
        """Map the documents of the cut, ascending, to their lengths."""
        found = self._reader.all("SELECT doc, length, seq, created_at_ms FROM trace ORDER BY doc")
        return {doc: length for doc, length, seq, at_ms in found if inside(self._cut, seq, at_ms)}

    def _holds(self, row: _Found) -> bool:
        return inside(self._cut, row[2], row[6])

    def _facts(self, row: tuple[Any, ...]) -> Facts:
        (
            doc,
            seq,
            status,
            kind,
            privacy,
            source,
            at_ms,
            deadline,
            salience,
            confidence,
            authority,
            verified,
            length,
        ) = row
        name = status_of(status)
        if status and self._cut is not None:
            record_id = self._one("SELECT id FROM record WHERE doc = ?", doc)[0]
            name = fold(self._reader, record_id, self._cut).status
        words = self._words
        return Facts(
            doc,
            seq,
            name,
            words.get(kind) or self._word(kind),
            words.get(privacy) or self._word(privacy),
            words.get(source) or self._word(source),
            at_ms,
            deadline,
            DEFAULT_UNIT if salience is None else salience,
            DEFAULT_UNIT if confidence is None else confidence,
            DEFAULT_UNIT if authority is None else authority,
            verified is not None,
            length,
        )

    def _row(self, row: _Found) -> TraceRow:
        doc, record_id, seq, data, status, status_seq, _, replaces = row
        trace = blobs.unpack_record(data, record_id)
        if not isinstance(trace, Trace):
            raise DamagedIndexError(f"{record_id.hex()} is kept as a trace and is none")
        by: tuple[str, ...] = ()
        name = status_of(status)
        if status:
            folded = fold(self._reader, record_id, self._cut)
            name, status_seq, by = folded.status, folded.status_seq, folded.superseded_by
        return TraceRow(
            doc=doc,
            id=record_id.hex(),
            seq=seq,
            trace=trace,
            status=name,
            status_seq=seq if status_seq is None else status_seq,
            superseded_by=by,
            supersedes=replaced_by(self._reader, record_id, self._cut) if replaces else (),
            fact_claim=self._fact_claim(trace.fact),
        )

    def _fact_claim(self, fact: Fact | None) -> Claim | None:
        """Return what a single-valued fact claims, under its entity's id inside the cut."""
        if fact is None or fact.multi:
            return None
        from hikmah.index.classes import fact_claim  # few traces are facts

        return fact_claim(fact, self._entity_id(fact.entity))

    def _entity_id(self, trace_id: str) -> str:
        """Return the id of the entity that a trace is of; the trace's own when it is of none."""
        if self._cut is not None:
            from hikmah.index.graph import Graph  # which reads rows through a corpus

            one = Graph(self._reader, self, self._cut).entity(trace_id)
            return trace_id if one is None else one.id
        row = self._reader.one(_CLASS_ID, bytes.fromhex(trace_id))
        return trace_id if row is None else str(row[0].hex())

    def _one(self, query: str, doc: int | None) -> tuple[Any, ...]:
        row = self._reader.one(query, doc)
        if row is None:
            raise DamagedIndexError(f"the index has postings of document {doc} and no such trace")
        return row

    def _word(self, number: int | None) -> str:
        text = self._words.get(number)
        if text is None:
            query = "SELECT text FROM word WHERE number = ?"
            text = self._words[number] = str(self._one(query, number)[0])
        return text

    def _header(self, name: str) -> float:
        row = self._reader.one("SELECT value FROM header WHERE name = ?", name)
        return 0 if row is None else row[0]
