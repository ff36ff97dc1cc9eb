"""The best traces for a query, before folding: cues, filters, minimum, metadata.

Rules the module keeps:

1. What comes back is exact: the traces with the best scores among all that pass, whatever
   pruning skipped. Facts are read best cue first, and reading stops when no cue that is left
   could reach the scores already found, were its metadata perfect.
2. `needed` tells matching the same in BM25's units, from traces that passed every filter.
3. A weak match is left out: see `Gate`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from hikmah.index.rows import Facts
from hikmah.model.policy import RecallPolicy
from hikmah.views.filters import Filters
from hikmah.views.matching import Prepared
from hikmah.views.scoring import DECIMALS, highest_scale, idf, meta, scale

if TYPE_CHECKING:
    from hikmah.views.corpus import Corpus

# Up to so many traces that share a cue, all are looked at and `total` is exact.
COUNTED = 512
# A query of more rare terms than this is judged as if it had this many (docs/adr/0011).
GATE_TERMS = 4
_BATCH = 32
# So many documents give a first guess at the value that the best ones have.
_FIRST = 1_024
_ROUNDING = float(f"1e-{DECIMALS}")


class Gate(Struct, frozen=True):
    """The minimum score, made fair to long queries.

    A score is a share of the whole query, so that a match on one rare word weighs less and
    less the longer the query is. `relief` is how much longer the query is than `GATE_TERMS`
    terms as rare as terms can be; a score passes when score x relief reaches the minimum.
    """

    minimum: float
    relief: float

    def passes(self, score: float) -> bool:
        """Tell whether a score is strong enough to come back."""
        return score * self.relief >= self.minimum


class Scored(Struct, frozen=True):
    """A trace that may come back, with its rounded score."""

    score: float
    facts: Facts
    cue: float


class Ranking(Struct, frozen=True):
    """The best traces, how many pass, and what was left out by which rule.

    `complete` says that every trace with a cue was looked at, so that `passing` and `refused`
    are exact; `replaced` holds the superseded traces met on the way.
    """

    best: tuple[Scored, ...]
    passing: int
    complete: bool
    refused: Mapping[str, int]
    replaced: tuple[Scored, ...]


class Cues(Struct, frozen=True):
    """How relevant each document is: `values[doc] x unit` is its cue, in 0..1.

    `complete` says that no document with a cue is missing.
    """

    values: dict[int, float]
    unit: float = 1.0
    complete: bool = True

    def of(self, doc: int) -> float:
        """Return a document's cue; 0 when it has none."""
        return self.values.get(doc, 0.0) * self.unit


def gate(corpus: Corpus, prepared: Prepared | None, minimum: float) -> Gate:
    """Return the gate for a query; one without terms is not relieved."""
    if prepared is None or not corpus.size:
        return Gate(minimum, 1.0)
    reference = GATE_TERMS * idf(corpus.size, 1)
    return Gate(minimum, max(1.0, prepared.mass / reference))


class Ranker:
    """Ranks the traces of one corpus for one query at one time.

    A listing has no cue: metadata alone, not metadata over a floor, scales what it is given.
    """

    def __init__(
        self,
        corpus: Corpus,
        filters: Filters,
        policy: RecallPolicy,
        *,
        gate: Gate,
        now_ms: int,
        listing: bool = False,
    ) -> None:
        self._corpus = corpus
        self._filters = filters
        self._policy = policy
        self._gate = gate
        self._now_ms = now_ms
        self._listing = listing
        self._highest = 1.0 if listing else highest_scale(corpus.ceilings, policy)
        self._weakest = self._cue_for(gate.minimum / gate.relief)
        self._facts: dict[int, Facts] = {}
        self._scores: dict[int, Scored] = {}

    def needed(self, cues: Cues, count: int) -> float:
        """Return the value below which no document can be among the best `count` any more."""
        values, unit = cues.values, cues.unit
        if len(values) < count:
            return self._weakest / unit
        likely = self._highest_cues(values, 2 * count)
        passing = [s.score for s in self._score(likely, cues) if self._refusal(s) is None]
        if len(passing) < count:
            return self._weakest / unit
        return max(self._weakest, self._cue_for(heapq.nlargest(count, passing)[-1])) / unit

    @staticmethod
    def _highest_cues(values: dict[int, float], most: int) -> list[int]:
        """Return the documents with the highest values, and all that tie with the last.

        The rarest terms come first, so that the first documents tell where to look.
        """
        floor = heapq.nlargest(most, islice(values.values(), max(_FIRST, most)))[-1]
        found = [(value, doc) for doc, value in values.items() if value >= floor]
        least = heapq.nlargest(most, found)[-1][0]
        return [doc for value, doc in found if value >= least]

    def rank(self, cues: Cues, count: int) -> Ranking:
        """Return the best `count` traces by score, with every tie at the end of the list."""
        few = cues.complete and len(cues.values) <= COUNTED
        pending = self._promising(cues, 0.0 if few else self.needed(cues, count))
        tally = _Tally()
        read = 0
        while read < len(pending):
            if not few and self._settled(tally.found, count, cues, pending[read]):
                break
            # Growing steps: `_settled` looks at all that was found, so it must be asked seldom.
            batch = pending[read : read + max(_BATCH, read // 2)]
            for scored in self._score(batch, cues):
                tally.add(scored, self._refusal(scored))
            read += len(batch)
        return Ranking(
            best=_best(tally.found, count),
            passing=len(tally.found),
            complete=few or (cues.complete and len(tally.found) < count),
            refused=tally.refused,
            replaced=tuple(tally.replaced),
        )

    def score(self, facts: Facts, cue: float) -> Scored:
        """Return a trace with its score for a cue."""
        total = meta(facts, self._policy, self._now_ms).meta
        factor = total if self._listing else scale(total, self._policy)
        return Scored(round(cue * factor, DECIMALS), facts, cue)

    def facts(self, docs: Sequence[int]) -> list[Facts]:
        """Return the facts of documents, reading those not yet known."""
        unknown = [doc for doc in docs if doc not in self._facts]
        if unknown:
            self._facts.update((facts.doc, facts) for facts in self._corpus.facts(unknown))
        return [self._facts[doc] for doc in docs]

    def _cue_for(self, score: float) -> float:
        """Return a cue that is surely too small for a score, rounding considered."""
        return max(0.0, score - _ROUNDING) / self._highest

    @staticmethod
    def _promising(cues: Cues, needed: float) -> list[int]:
        """Return the documents worth reading, best cue first."""
        values = cues.values
        docs = [doc for doc, value in values.items() if value >= needed]
        docs.sort(key=values.__getitem__, reverse=True)
        return docs

    def _settled(self, found: Sequence[Scored], count: int, cues: Cues, next_doc: int) -> bool:
        """Tell whether no document that is left can be among the best."""
        if len(found) < count:
            return False
        worst = heapq.nlargest(count, (s.score for s in found))[-1]
        return cues.of(next_doc) < self._cue_for(worst)

    def _score(self, docs: Sequence[int], cues: Cues) -> list[Scored]:
        """Return documents with their scores, working out only those not yet known."""
        known, found = self._scores, []
        for facts in self.facts(docs):
            cue = cues.of(facts.doc)
            scored = known.get(facts.doc)
            if scored is None or scored.cue != cue:
                scored = known[facts.doc] = self.score(facts, cue)
            found.append(scored)
        return found

    def _refusal(self, scored: Scored) -> str | None:
        refusal = self._filters.refusal(scored.facts)
        if refusal is None and not self._gate.passes(scored.score):
            return "weak"
        return refusal


class _Tally:
    """What was met while reading facts: what passes, what does not and why."""

    def __init__(self) -> None:
        self.found: list[Scored] = []
        self.replaced: list[Scored] = []
        self.refused: Counter[str] = Counter()

    def add(self, scored: Scored, refusal: str | None) -> None:
        """Sort one trace in."""
        if refusal is None:
            self.found.append(scored)
        else:
            self.refused[refusal] += 1
        if scored.facts.status == "superseded" and refusal != "hidden":
            self.replaced.append(scored)


def _best(found: list[Scored], count: int) -> tuple[Scored, ...]:
    """Return the best traces, newer first among equals, and all that tie with the last."""
    found.sort(key=lambda s: (-s.score, -s.facts.seq))
    end = count
    while count <= end < len(found) and _ties(found[end], found[count - 1]):
        end += 1
    return tuple(found[:end])


def _ties(one: Scored, other: Scored) -> bool:
    return (one.score, one.facts.seq) == (other.score, other.facts.seq)
