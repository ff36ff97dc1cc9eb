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
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import compress, count, repeat
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
SPARSE = 10

# Bytes of counts to 1 where a term does not stand exactly once.
_OFTEN = bytes(n != 1 for n in range(256))


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
    rest = sum(t.weight for t in prepared.terms)
    to_come = sum(t.frequency for t in prepared.terms)
    ask_below = math.inf
    for i, term in enumerate(prepared.terms):
        hopeful = sums and to_come >= WORTH_ASKING and rest < ask_below
        if hopeful and rest < HOPEFUL * max(sums.values()):
            needed = auction(sums)
            ask_below = ASK_AGAIN * rest
            if rest < needed:
                late = _Late(corpus, prepared, auction)
                return Matches(late.refine(sums, i, needed), complete=False)
        _add(sums, term.weight, prepared.scale, corpus.postings(term.term))
        rest -= term.weight
        to_come -= term.frequency
    return Matches(sums, complete=True)


def sums_of(corpus: Corpus, prepared: Prepared, docs: Iterable[int]) -> dict[int, float]:
    """Return the sums of some documents, as `match` would have them."""
    ordered = sorted(docs)
    sums: dict[int, float] = {}
    for term in prepared.terms:
        _add(sums, term.weight, prepared.scale, corpus.postings_in(term.term, ordered))
    return sums


class _Late:
    """The end of a match, when no trace that was not seen yet can matter any more."""

    def __init__(self, corpus: Corpus, prepared: Prepared, auction: Auction) -> None:
        self._corpus = corpus
        self._prepared = prepared
        self._auction = auction

    def refine(self, sums: dict[int, float], start: int, needed: float) -> dict[int, float]:
        """Add the remaining terms to the traces that they can still lift to what is needed."""
        terms = self._prepared.terms[start:]
        rest = sum(t.weight for t in terms)
        sums = _hopeful(sums, needed - rest)
        ask_below = ASK_AGAIN * rest
        for term in terms:
            if rest < ask_below:
                ask_below = ASK_AGAIN * rest
                sums = _hopeful(sums, self._auction(sums) - rest)
            _add(sums, term.weight, self._prepared.scale, self._postings(term, sums))
            rest -= term.weight
        return sums

    def _postings(self, term: Weighted, docs: Collection[int]) -> Postings:
        """Return a term's postings for some documents, by the way that reads less."""
        if term.frequency >= SPARSE * len(docs):
            return self._corpus.postings_in(term.term, sorted(docs))
        found = self._corpus.postings(term.term)
        return found.at(list(compress(count(), map(docs.__contains__, found.docs))))


def _hopeful(sums: dict[int, float], least: float) -> dict[int, float]:
    return {doc: got for doc, got in sums.items() if got >= least}


class _Once(dict[int, float]):
    """What a term that stands once is worth, by the length of the text; filled as it is met."""

    def __init__(self, there: float, weight: float, base: float, slope: float) -> None:
        super().__init__()
        self._fields = there, weight, base, slope

    def __missing__(self, length: int) -> float:
        there, weight, base, slope = self._fields
        self[length] = worth = there + weight / (base + slope * length)
        return worth


def _add(sums: dict[int, float], weight: float, scale: Scale, postings: Postings) -> None:
    """Add one term's share to every trace it stands in.

    Most counts are 1, for which the share depends on the length alone; the rest of the work
    is left to loops inside the interpreter.
    """
    base, slope, lengths = scale.base, scale.slope, postings.lengths
    weight /= 1 + scale.presence
    there = weight * scale.presence
    shares = list(map(_Once(there, weight, 1 + base, slope).__getitem__, lengths))
    counts = bytes(postings.counts)
    often = counts.translate(_OFTEN)
    i = often.find(1)
    while i >= 0:
        n = counts[i]
        shares[i] = there + weight * n / (n + base + slope * lengths[i])
        i = often.find(1, i + 1)
    docs = list(postings.docs)  # numbers made once, for all that follows
    if not sums:
        sums.update(zip(docs, shares, strict=True))
        return
    sums.update(zip(docs, map(add, map(sums.get, docs, repeat(0.0)), shares), strict=True))
