"""Duplicates: near-identical traces become one result.

Rules the module keeps:

1. Traces are near-identical when their contents are equal but for case and white space, or
   when their terms overlap (Jaccard) by at least `fold_at` and no term that differs holds a
   digit or a negation: "port 22" and "port 49222" are two statements.
2. The best trace stands for its copies. What is less alike, but more than half as much, loses
   up to `overlap_penalty` of its score for what a better result already said.
3. A claim is never folded into, nor penalised against, a claim it contradicts; an open
   commitment folds only into another.

The order is greedy (Carbonell and Goldstein 1998): the best score after penalties comes next.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from msgspec import Struct

from hikmah.index.rows import TraceRow as Row
from hikmah.model.policy import RecallPolicy
from hikmah.model.trace import Trace
from hikmah.views.claims import contradict
from hikmah.views.scoring import DECIMALS


class Candidate(Struct, frozen=True, kw_only=True):
    """A trace with its score before folding, and what it is compared by."""

    row: Row
    score: float
    fingerprint: frozenset[int]
    content: str


class Folded(Struct, frozen=True, kw_only=True):
    """A trace that stands for its copies: its score after penalties, and their ids."""

    candidate: Candidate
    score: float
    overlap: float
    duplicates: tuple[str, ...]


class _Entry(Struct, frozen=True, order=True):
    """A place in the queue; `compared` counts the results it was held against so far."""

    order: tuple[float, int, str]
    position: int
    overlap: float
    compared: int


def candidate(row: Row, score: float, fingerprint: frozenset[int]) -> Candidate:
    """Return a trace ready to be compared."""
    content = normal_content(row.trace.content)
    return Candidate(row=row, score=score, fingerprint=fingerprint, content=content)


def normal_content(text: str) -> str:
    """Return content as duplicates compare it: NFKC, casefolded, white space collapsed."""
    if not text.isascii():
        import unicodedata  # text in ASCII does without

        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """Return the share of terms that two traces have in common; 0 when neither has any."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def near_identical(one: Candidate, other: Candidate, fold_at: float) -> bool:
    """Tell whether two traces say the same thing (rules 1 and 3)."""
    alike = jaccard(one.fingerprint, other.fingerprint)
    return _same(one, other, alike, fold_at) and not contradict(one.row, other.row)


def _same(one: Candidate, other: Candidate, alike: float, fold_at: float) -> bool:
    """Tell whether two texts are copies, given their Jaccard overlap (rule 1)."""
    if one.content == other.content:
        return True
    if alike < fold_at:
        return False
    # `terms.fingerprint` makes the numbers of telling terms odd.
    return not any(number & 1 for number in one.fingerprint ^ other.fingerprint)


def fold(candidates: Sequence[Candidate], limit: int, policy: RecallPolicy) -> list[Folded]:
    """Choose the best results, folding copies into them.

    Args:
        candidates: Traces that may come back, in any order.
        limit: How many results to choose at most.
        policy: Where `fold_at` and `overlap_penalty` stand.

    Returns:
        Results by score after penalties; every candidate that is a copy of one is named there.
    """
    queue = [_Entry(_order(c, c.score), i, 0.0, 0) for i, c in enumerate(candidates)]
    heapq.heapify(queue)
    chosen: list[tuple[Candidate, float, float]] = []
    copies: list[list[str]] = []
    while queue:
        entry = heapq.heappop(queue)
        one = candidates[entry.position]
        copy_of, overlap = _compare(one, chosen, entry, policy)
        if copy_of is not None:
            copies[copy_of].append(one.row.id)
        elif len(chosen) < limit:
            score = round(one.score * (1 - policy.overlap_penalty * overlap), DECIMALS)
            if -entry.order[0] > score:
                again = _Entry(_order(one, score), entry.position, overlap, len(chosen))
                heapq.heappush(queue, again)
            else:
                chosen.append((one, score, overlap))
                copies.append([])
    return [
        Folded(candidate=c, score=score, overlap=overlap, duplicates=tuple(ids))
        for (c, score, overlap), ids in zip(chosen, copies, strict=True)
    ]


def _order(one: Candidate, score: float) -> tuple[float, int, str]:
    """Best first; ties go to the newer trace, then to the smaller id."""
    return (-score, -one.row.seq, one.row.id)


def _compare(
    one: Candidate,
    chosen: Sequence[tuple[Candidate, float, float]],
    entry: _Entry,
    policy: RecallPolicy,
) -> tuple[int | None, float]:
    """Hold a candidate against the results it was not yet held against."""
    overlap = entry.overlap
    for i, (other, _, _) in enumerate(chosen[entry.compared :], entry.compared):
        if contradict(one.row, other.row):
            continue
        alike = jaccard(one.fingerprint, other.fingerprint)
        if _same(one, other, alike, policy.fold_at) and _may_fold(one.row.trace, other.row):
            return i, overlap
        overlap = max(overlap, _repeated(alike, policy.fold_at))
    return None, overlap


def _repeated(alike: float, fold_at: float) -> float:
    """Return how much of a text another one said: 0 up to half of `fold_at`, then up to 1.

    Texts on one subject share words, the query's at least, and do not repeat each other.
    """
    share = alike / fold_at
    return min(1.0, max(0.0, 2 * share - 1))


def _may_fold(one: Trace, other: Row) -> bool:
    """Keep promises apart from texts that merely repeat them (rule 3)."""
    promised = other.trace.kind == "commitment" and other.status == "active"
    return one.kind != "commitment" or promised
