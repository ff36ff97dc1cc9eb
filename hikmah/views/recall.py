"""Recall: the few traces that matter for a query, each with the reason why.

Rules the module keeps:

1. A trace must share a term or a tag with the query. Without a query, everything is listed
   by its metadata; an overdue commitment comes back whatever was asked.
2. Order is the score after penalties, then newer, then id: nothing else, so one corpus, one
   policy and one `now_ms` give one answer.
3. An empty answer says why.

Pure: a corpus, a query, a policy and `now_ms` in, an answer out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from hikmah.errors import InvalidInputError
from hikmah.index.rows import Facts
from hikmah.index.terms import normal_tag, query_terms
from hikmah.model.limits import MAX_LIMIT
from hikmah.model.policy import Policy
from hikmah.model.trace import KINDS
from hikmah.views import scoring
from hikmah.views.beside import Beside
from hikmah.views.claims import is_expired
from hikmah.views.filters import Filters, normal_source
from hikmah.views.folding import Candidate, Folded, candidate, fold
from hikmah.views.matching import match, prepare, sums_of
from hikmah.views.ranking import Cues, Ranker, Ranking, Scored, gate
from hikmah.views.results import Channels, Query, Recalled, Result, within_budget
from hikmah.views.where import matched

if TYPE_CHECKING:
    from hikmah.views.corpus import Corpus

# Traces ranked beyond the limit, to fold copies among; more are fetched when that is too few.
SPARE = 8
# Duplicates are looked for among so many of the best traces: thousands of copies, or of texts
# that repeat each other in part, must not make a question slow.
POOL = 1_024


def recall(corpus: Corpus, query: Query, policy: Policy, *, now_ms: int) -> Recalled:
    """Answer a query from one cut of the ledger.

    Raises:
        InvalidInputError: A limit, a budget or a kind that cannot be.
    """
    _check(query)
    return _Recall(corpus, query, policy, now_ms).answer()


def _check(query: Query) -> None:
    if query.limit is not None and not 1 <= query.limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit {query.limit} is not in 1..{MAX_LIMIT}", where="limit")
    if query.budget_chars is not None and query.budget_chars < 1:
        raise InvalidInputError(f"budget {query.budget_chars} is not positive", where="budget")
    for kind in query.kinds:
        if kind not in KINDS:
            raise InvalidInputError(
                f"{kind!r} is not a kind of trace", hint=f"kinds: {', '.join(KINDS)}", where="kind"
            )


def _filters(query: Query, policy: Policy) -> Filters:
    return Filters(
        kinds=frozenset(query.kinds),
        sources=frozenset(map(normal_source, query.sources)),
        since_ms=query.since_ms,
        until_ms=query.until_ms,
        include_superseded=query.include_superseded,
        allow_sensitive=policy.allow_sensitive_persistence,
    )


def _coverage(corpus: Corpus, tags: Sequence[str]) -> dict[int, float]:
    """Return the share of the asked tags that each document carries."""
    counts: dict[int, int] = {}
    for tag in tags:
        for doc in corpus.by_tag(tag):
            counts[doc] = counts.get(doc, 0) + 1
    return {doc: n / len(tags) for doc, n in counts.items()}


class _Recall:
    """One query being answered."""

    def __init__(self, corpus: Corpus, query: Query, policy: Policy, now_ms: int) -> None:
        self._corpus = corpus
        self._query = query
        self._policy = policy
        self._weights = policy.recall
        self._now_ms = now_ms
        self._limit = query.limit or policy.recall_limit
        self._filters = _filters(query, policy)
        self._terms = query_terms(query.text or "", policy.recall.latin_language)
        self._prepared = prepare(corpus, self._terms, self._weights) if self._terms else None
        self._tags = tuple(dict.fromkeys(t for t in map(normal_tag, query.tags) if t))
        self._coverage = _coverage(corpus, self._tags)
        self._listing = query.text is None and not self._tags
        self._ranker = self._make_ranker()

    def answer(self) -> Recalled:
        """Rank, fold, cut to the budget, and explain."""
        count = self._limit + SPARE
        most = max(POOL, 2 * count)
        while True:
            cues = self._cues(count)
            ranking = self._ranker.rank(cues, count)
            pool = self._with_overdue(ranking, cues)
            chosen = fold(self._candidates(pool), self._limit, self._weights)
            if count >= most or self._is_settled(ranking, chosen, count):
                break
            count = min(4 * count, most)
        shown = within_budget(chosen, self._query.budget_chars)
        scored = {s.facts.doc: s for s in pool}
        beside = Beside(self._corpus, self._filters, self._weights, ranking)
        results = tuple(
            self._result(folded, scored[folded.candidate.row.doc], beside) for folded in shown
        )
        return self._reply(results, ranking, len(pool), cues)

    def _make_ranker(self) -> Ranker:
        minimum = 0.0 if self._listing else self._policy.minimum_recall_score
        return Ranker(
            self._corpus,
            self._filters,
            self._weights,
            gate=gate(self._corpus, self._prepared, minimum),
            now_ms=self._now_ms,
            listing=self._listing,
        )

    def _cues(self, count: int) -> Cues:
        """Return how relevant each document is; `scoring` has the formula."""
        if self._listing:
            return Cues(dict.fromkeys(self._corpus.documents(), self._weights.listing))
        if self._prepared is None:
            return Cues(self._coverage)
        unit = 1 / self._prepared.mass if self._prepared.mass else 1.0
        if not self._tags:
            needed = partial(self._needed, unit=unit, count=count)
            found = match(self._corpus, self._prepared, needed)
            return Cues(found.sums, unit, found.complete)
        # Every trace matters: tags may lift one that terms cannot.
        sums = match(self._corpus, self._prepared, lambda _: 0.0).sums
        docs = [*sums, *(doc for doc in self._coverage if doc not in sums)]
        return Cues({doc: self._cue(sums.get(doc, 0.0) * unit, doc) for doc in docs})

    def _needed(self, sums: dict[int, float], *, unit: float, count: int) -> float:
        return self._ranker.needed(Cues(sums, unit), count)

    def _cue(self, lexical: float, doc: int) -> float:
        return scoring.cue(lexical, self._coverage.get(doc, 0.0), self._weights)

    def _with_overdue(self, ranking: Ranking, cues: Cues) -> list[Scored]:
        """Return the best traces with overdue commitments lifted to their floor, or added.

        Those that are not among the best take at most a quarter of the places.
        """
        pool = {s.facts.doc: self._lifted(s) for s in ranking.best}
        places = max(1, self._limit // 4, self._limit - len(pool))
        late = [f for f in itertools.islice(self._overdue(), places) if f.doc not in pool]
        for facts, cue in zip(late, self._cues_of(late, cues), strict=True):
            pool[facts.doc] = self._lifted(self._ranker.score(facts, cue))
        return list(pool.values())

    def _overdue(self) -> Iterator[Facts]:
        """Yield the overdue commitments that pass the filters, the latest deadline first."""
        if self._query.kinds and "commitment" not in self._query.kinds:
            return
        for doc in self._corpus.overdue(self._now_ms):
            (facts,) = self._ranker.facts([doc])
            if self._filters.refusal(facts) is None:
                yield facts

    def _cues_of(self, found: Sequence[Facts], cues: Cues) -> list[float]:
        """Return the cues of traces that pruning may have left out."""
        if cues.complete or self._prepared is None:
            return [cues.of(facts.doc) for facts in found]
        sums = sums_of(self._corpus, self._prepared, [facts.doc for facts in found])
        return [sums.get(facts.doc, 0.0) * cues.unit for facts in found]

    def _lifted(self, scored: Scored) -> Scored:
        if not scoring.is_overdue(scored.facts, self._now_ms):
            return scored
        lifted = max(scored.score, self._weights.overdue_floor)
        return msgspec.structs.replace(scored, score=lifted)

    def _candidates(self, pool: Sequence[Scored]) -> list[Candidate]:
        docs = [s.facts.doc for s in pool]
        rows = self._corpus.rows(docs)
        prints = self._corpus.fingerprints(docs)
        return [
            candidate(row, scored.score, terms)
            for row, scored, terms in zip(rows, pool, prints, strict=True)
        ]

    def _is_settled(self, ranking: Ranking, chosen: Sequence[Folded], count: int) -> bool:
        """Tell whether no trace outside the pool could still be among the results.

        Fewer than were asked for means that no other trace passes the gate: as long as
        fewer pass, pruning leaves out only what cannot (`Ranker.needed`).
        """
        if len(ranking.best) < count:
            return True
        if ranking.complete and ranking.passing == len(ranking.best):
            return True
        return len(chosen) == self._limit and chosen[-1].score > ranking.best[-1].score

    def _result(self, folded: Folded, scored: Scored, beside: Beside) -> Result:
        row = folded.candidate.row
        trace = row.trace
        language = self._weights.latin_language
        return Result(
            id=row.id,
            seq=row.seq,
            score=folded.score,
            status=row.status,
            trace=trace,
            matched=matched(trace, [q.term for q in self._terms], self._tags, language),
            channels=self._channels(folded, scored),
            conflicts=beside.conflicts(row),
            duplicates=folded.duplicates,
            duplicate_count=len(folded.duplicates),
            supersedes=beside.supersedes(row),
            superseded_by=beside.superseded_by(row),
            also_asserted_by_superseded=beside.stale_copies(folded.candidate, scored),
            expired=is_expired(trace, self._now_ms),
        )

    def _channels(self, folded: Folded, scored: Scored) -> Channels:
        factors = scoring.meta(scored.facts, self._weights, self._now_ms)
        tags = self._coverage.get(scored.facts.doc, 0.0) if self._tags else None
        lexical = None if self._prepared is None else self._lexical(scored.cue, tags)
        return Channels(
            lexical=lexical,
            tags=None if tags is None else round(tags, scoring.DECIMALS),
            cue=0.0 if self._listing else round(scored.cue, scoring.DECIMALS),
            overlap=round(folded.overlap, scoring.DECIMALS),
            overdue=scoring.is_overdue(scored.facts, self._now_ms),
            **{k: round(v, scoring.DECIMALS) for k, v in msgspec.structs.asdict(factors).items()},
        )

    def _lexical(self, cue: float, tags: float | None) -> float:
        """Take the tags' part off a cue again."""
        if tags is not None:
            cue = (cue - self._weights.tag_share * tags) / (self._weights.lexical_share or 1.0)
        return round(cue, scoring.DECIMALS)

    def _reply(
        self, results: tuple[Result, ...], ranking: Ranking, pooled: int, cues: Cues
    ) -> Recalled:
        total = max(ranking.passing, pooled) if ranking.complete else self._at_least(cues)
        told = sum(1 + result.duplicate_count for result in results)
        return Recalled(
            results=results,
            total=total,
            total_exact=ranking.complete,
            truncated=told < total,
            reason=self._reason(ranking, cues, pooled, found=bool(results)),
            query=self._asked(),
        )

    def _at_least(self, cues: Cues) -> int:
        """Return how many traces share a cue at least, the same whatever was pruned."""
        if self._prepared is None:
            return len(cues.values)
        most = max((t.frequency for t in self._prepared.terms), default=0)
        return max(most, len(self._coverage))

    def _reason(self, ranking: Ranking, cues: Cues, pooled: int, *, found: bool) -> str | None:
        """Say why nothing matched, also where overdue commitments stand in the reply."""
        if found and ranking.best:
            return None
        if pooled and not found:
            return "nothing that was found fits into the budget"
        from hikmah.views.reasons import explain  # most answers hold something

        return explain(
            size=self._corpus.size,
            asked=bool(self._terms or self._tags or self._listing),
            has_cue=bool(cues.values),
            refused=ranking.refused,
        )

    def _asked(self) -> Query:
        """Return the query as a receipt keeps it: encodable, with the limit that applied."""
        text = self._query.text
        if text is not None:
            text = text.encode("utf-8", "replace").decode("utf-8")
        tags = tuple(t.encode("utf-8", "replace").decode("utf-8") for t in self._query.tags)
        return msgspec.structs.replace(self._query, text=text, tags=tags, limit=self._limit)
