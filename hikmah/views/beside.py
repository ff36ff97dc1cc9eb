"""What stands beside a result: disputes, corrections, replaced copies."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hikmah.index.rows import TraceRow as Row
from hikmah.index.terms import normal_key
from hikmah.model.policy import RecallPolicy
from hikmah.views.claims import Rivals, same_claim
from hikmah.views.filters import Filters
from hikmah.views.folding import Candidate, candidate, near_identical
from hikmah.views.ranking import Ranking, Scored

if TYPE_CHECKING:
    from hikmah.views.corpus import Corpus

# So many replaced traces, best first, are held against the results.
STALE_COMPARED = 64
# A replaced trace with less than this share of a result's cue is no copy of it.
STALE_CUE_SHARE = 0.5


class Beside:
    """Looks up what belongs beside the results of one recall."""

    def __init__(
        self, corpus: Corpus, filters: Filters, policy: RecallPolicy, ranking: Ranking
    ) -> None:
        self._corpus = corpus
        self._filters = filters
        self._policy = policy
        self._ranking = ranking
        self._rivals: dict[str, Rivals] = {}

    def conflicts(self, row: Row) -> tuple[str, ...]:
        """Return the first active traces that claim another value, but those the policy hides."""
        if row.claim is None:
            return ()
        key = normal_key(row.claim.key)
        if key not in self._rivals:
            claiming = self._corpus.claims([key])
            self._rivals[key] = Rivals(rival for rival in claiming if self._visible(rival))
        return self._rivals[key].against(row)

    def supersedes(self, row: Row) -> tuple[str, ...]:
        """Return what a trace replaced, but what was purged or the policy hides."""
        found = self._corpus.find(row.supersedes) if row.supersedes else ()
        return tuple(other.id for other in found if self._visible(other))

    def superseded_by(self, row: Row) -> tuple[str, ...]:
        """Return what replaced a trace, but what the filters or the policy hide."""
        found = self._corpus.find(row.superseded_by) if row.superseded_by else ()
        facts = self._corpus.facts([other.doc for other in found])
        return tuple(
            other.id
            for other, one in zip(found, facts, strict=True)
            if self._filters.refusal(one) is None
        )

    def stale_copies(self, one: Candidate, scored: Scored) -> tuple[str, ...]:
        """Return the replaced traces that an active result repeats without replacing them."""
        if one.row.status != "active":
            return ()
        return tuple(
            stale.row.id
            for stale, cue in self._stale
            if cue >= STALE_CUE_SHARE * scored.cue
            and self._repeats(one, stale)
            and one.row.id not in self._successors(stale.row)
        )

    def _visible(self, row: Row) -> bool:
        return self._filters.visible(row.status, row.trace.privacy)

    @cached_property
    def _stale(self) -> list[tuple[Candidate, float]]:
        """Return the replaced traces that every way of searching is sure to have met."""
        best = self._ranking.best
        surely = 0.0 if self._ranking.complete or not best else best[-1].score
        met = [s for s in self._ranking.replaced if s.score >= surely]
        met.sort(key=lambda s: (-s.score, -s.facts.seq))
        docs = [s.facts.doc for s in met[:STALE_COMPARED]]
        rows, prints = self._corpus.rows(docs), self._corpus.fingerprints(docs)
        return [
            (candidate(row, s.score, terms), s.cue)
            for s, row, terms in zip(met, rows, prints, strict=False)
        ]

    def _repeats(self, one: Candidate, stale: Candidate) -> bool:
        """Tell whether a trace says, or claims, what a replaced one did."""
        if same_claim(one.row, stale.row):
            return True
        return near_identical(one, stale, self._policy.fold_at)

    def _successors(self, row: Row) -> set[str]:
        """Return the ids of everything that replaced a trace, directly or in turn."""
        found: set[str] = set()
        pending = set(row.superseded_by)
        while pending:
            found |= pending
            replaced = self._corpus.find(sorted(pending))
            pending = {i for r in replaced for i in r.superseded_by} - found
        return found
