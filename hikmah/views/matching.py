"""Which traces share a term with a query, and how well: BM25 over postings.

Rules the module keeps:

1. Terms are taken rarest first (ties by the term), so a sum is the same whatever was skipped.
2. An `Auction` may say that a trace needs a certain sum to matter. Once the terms still to
   come cannot lift an unseen trace that far, they only refine the traces already seen, and
   of those only the ones they can still lift (Turtle and Flood 1995, term at a time).
3. Nothing here knows of metadata, filters or text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import compress, repeat
from operator import add
from typing import TYPE_CHECKING

from msgspec import Struct

from hikmah.index.rows import Postings
from hikmah.index.terms import QueryTerm
from hikmah.model.policy import RecallPolicy
from hikmah.views.scoring import idf, length_share

if TYPE_CHECKING:
    from hikmah.views.corpus import Corpus

# Below this many postings still to come, scoring them is cheaper than asking what can be left.
WORTH_ASKING = 2_000
# What the remaining terms can add must be below this share of the best sum before the question
# what a trace needs is worth its answer.
HOPEFUL = 0.8
# ... and is worth asking again when so much of that is left.
ASK_AGAIN = 0.9
# A term that stands in more traces than this many times those of interest is looked up in them.
SPARSE = 32


class Weighted(Struct, frozen=True):
    """A query term that stands in the ledger, and the most it can add to a trace's sum."""

    term: str
    weight: float
    frequency: int


class Scale(Struct, frozen=True):
    """How a count becomes a share: `(presence + n / (n + base + slope x length)) / (1 + presence)`.

    The length lessens what a count is worth; that the term stands there at all is worth
    something in any text (BM25+, Lv and Zhai 2011).
    """

    base: float
    slope: float
    presence: float


class Prepared(Struct, frozen=True):
    """A query made ready for one corpus: its terms, rarest first, and what they sum up to.

    `mass` is the sum over every term asked for, also those the ledger does not have;
    `absent` are those.
    """

    terms: tuple[Weighted, ...]
    mass: float
    absent: tuple[str, ...]
    scale: Scale


class Matches(Struct, frozen=True):
    """BM25 sums by document; `complete` unless pruning left traces out."""

    sums: dict[int, float]
    complete: bool


# Given the sums so far: what a trace must be able to reach to matter (0 when all matter).
Auction = Callable[[dict[int, float]], float]


def prepare(corpus: Corpus, terms: Sequence[QueryTerm], policy: RecallPolicy) -> Prepared:
    """Weigh a query's terms by how rare they are in a corpus.

    BM25's constant factor k1 + 1 stands in every sum and in what sums are divided by; it is
    left out of both, so that a term's weight is the most it can add.
    """
    frequencies = corpus.frequency([q.term for q in terms])
    present, absent, mass = [], [], 0.0
    for q in terms:
        frequency = frequencies.get(q.term, 0)
        if frequency:
            weight = q.weight * idf(corpus.size, frequency)
            present.append(Weighted(q.term, weight, frequency))
            mass += weight
        elif not q.extra:
            absent.append(q.term)
            mass += q.weight * idf(corpus.size, 0)
    present.sort(key=lambda t: (t.frequency, t.term))
    return Prepared(tuple(present), mass, tuple(absent), _scale(corpus, policy))


def _scale(corpus: Corpus, policy: RecallPolicy) -> Scale:
    mean = corpus.total_length / corpus.size if corpus.size else 0.0
    b = length_share(policy, mean)
    slope = policy.k1 * b / mean if mean else 0.0
    return Scale(policy.k1 * (1 - b), slope, policy.presence)


def match(corpus: Corpus, prepared: Prepared, auction: Auction) -> Matches:
    """Sum up BM25 for every trace that shares a term and can still matter."""
    sums: dict[int, float] = {}
    read: list[Postings] = []
    rest = sum(t.weight for t in prepared.terms)
    to_come = sum(t.frequency for t in prepared.terms)
    ask_below = math.inf
    for i, term in enumerate(prepared.terms):
        hopeful = sums and to_come >= WORTH_ASKING and rest < ask_below
        if hopeful and rest < HOPEFUL * max(sums.values()):
            needed = auction(sums)
            ask_below = ASK_AGAIN * rest
            if rest < needed:
                late = _Late(corpus, prepared, read, auction)
                return Matches(late.refine(sums, i), complete=False)
        found = corpus.postings(term.term)
        _add(sums, term.weight, prepared.scale, found)
        read.append(found)
        rest -= term.weight
        to_come -= term.frequency
    return Matches(sums, complete=True)


def sums_of(corpus: Corpus, prepared: Prepared, lengths: Mapping[int, int]) -> dict[int, float]:
    """Return the sums of some documents, given their lengths, as `match` would have them."""
    docs = sorted(lengths)
    sums: dict[int, float] = {}
    for term in prepared.terms:
        counts = corpus.counts_in(term.term, docs)
        held = list(compress(docs, counts))
        found = Postings(held, list(filter(None, counts)), [lengths[doc] for doc in held])
        _add(sums, term.weight, prepared.scale, found)
    return sums


class _Late:
    """The end of a match, when no trace that was not seen yet can matter any more."""

    def __init__(
        self, corpus: Corpus, prepared: Prepared, read: Sequence[Postings], auction: Auction
    ) -> None:
        self._corpus = corpus
        self._prepared = prepared
        self._read = read
        self._auction = auction

    def refine(self, sums: dict[int, float], start: int) -> dict[int, float]:
        """Add the remaining terms to the traces that they can still lift to what is needed."""
        terms = self._prepared.terms[start:]
        rest = sum(t.weight for t in terms)
        ask_below = math.inf
        for term in terms:
            if rest < ask_below:
                ask_below = ASK_AGAIN * rest
                least = self._auction(sums) - rest
                sums = {doc: got for doc, got in sums.items() if got >= least}
            _add(sums, term.weight, self._prepared.scale, self._postings(term, sums))
            rest -= term.weight
        return sums

    def _postings(self, term: Weighted, docs: Collection[int]) -> Postings:
        """Return a term's postings for some documents, by the way that reads less."""
        if term.frequency < SPARSE * len(docs):
            found = self._corpus.postings(term.term)
            kept = [doc in docs for doc in found.docs]
            return found.only(kept)
        ordered = sorted(docs)
        counts = self._corpus.counts_in(term.term, ordered)
        held = list(compress(ordered, counts))
        lengths = self._lengths(set(held))
        return Postings(held, list(filter(None, counts)), [lengths[doc] for doc in held])

    def _lengths(self, docs: Collection[int]) -> dict[int, int]:
        """Return the lengths of documents from the postings already read."""
        return {
            doc: length
            for postings in self._read
            for doc, length in zip(postings.docs, postings.lengths, strict=True)
            if doc in docs
        }


def _add(sums: dict[int, float], weight: float, scale: Scale, postings: Postings) -> None:
    """Add one term's share to every trace it stands in.

    Most counts are 1, for which the share depends on the length alone; the rest of the work
    is left to loops inside the interpreter.
    """
    base, slope, lengths = scale.base, scale.slope, postings.lengths
    weight /= 1 + scale.presence
    there = weight * scale.presence
    once = {length: there + weight / (1 + base + slope * length) for length in set(lengths)}
    shares = list(map(once.__getitem__, lengths))
    for i, n in enumerate(postings.counts):
        if n != 1:
            shares[i] = there + weight * n / (n + base + slope * lengths[i])
    docs = postings.docs
    sums.update(zip(docs, map(add, map(sums.get, docs, repeat(0.0)), shares), strict=True))
