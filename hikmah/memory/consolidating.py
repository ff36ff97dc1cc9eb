"""Consolidation through the door: what could be promoted, and promoting it."""

from __future__ import annotations

from hikmah.errors import IntegrityError, InvalidInputError, NotFoundError, RefusedError
from hikmah.index.database import Index
from hikmah.memory.building import provenance
from hikmah.memory.desk import Desk
from hikmah.memory.moments import moment
from hikmah.memory.reading import checked_limit
from hikmah.memory.results import Promoted
from hikmah.memory.writing import conflicts_of, write
from hikmah.model import session as sessions
from hikmah.model.limits import MAX_DERIVED_FROM, MAX_TAGS
from hikmah.model.trace import Claim, Trace
from hikmah.views.consolidation import (
    ConsolidationList,
    ConsolidationProposal,
    consolidation_proposals,
)
from hikmah.views.corpus import Row

# Each time another writer moved the ledger between a proposal and its promotion.
_MAX_ROUNDS = 5


def consolidate(desk: Desk, *, limit: int, as_of: str | int | None) -> ConsolidationList:
    """Return what could be promoted; see `Memory.consolidate`."""
    checked = checked_limit(limit)
    singles = desk.policy.consolidation_min_support == 1

    def question(index: Index) -> ConsolidationList:
        with moment(desk, index, as_of) as at:
            return consolidation_proposals(
                at.asked.graph(at.cut).repeated(singles=singles),
                desk.policy,
                limit=checked,
                allow_sensitive=desk.policy.allow_sensitive_persistence,
            )

    return desk.answer(question)


def promote(desk: Desk, proposal_id: str, *, source: str) -> Promoted:
    """Write the belief that a proposal stands for; see `Memory.promote`."""
    if desk.session is not None:
        raise sessions.refuse(desk.session, "--promote")
    for _ in range(_MAX_ROUNDS):
        head, proposal, support = desk.answer(lambda index: _eligible(desk, index, proposal_id))
        belief = promotion(desk, proposal, support, source=source)
        try:
            outcome = write(desk, [belief], only_at=head)
        except IntegrityError:
            if desk.head() == head:
                raise
            continue
        item = outcome.items[0]
        return Promoted(
            id=item.id,
            seq=item.seq,
            commit=outcome.commit or head,
            proposal=proposal.id,
            derived_from=belief.derived_from,
            conflicts=conflicts_of(desk, [item.id])[item.id],
            warnings=outcome.warnings,
        )
    raise IntegrityError("the ledger kept moving while a proposal was promoted", hint="try again")


def _eligible(
    desk: Desk, index: Index, proposal_id: str
) -> tuple[str, ConsolidationProposal, list[Row]]:
    groups = index.graph().repeated(singles=desk.policy.consolidation_min_support == 1)
    allow = desk.policy.allow_sensitive_persistence
    listed = consolidation_proposals(groups, desk.policy, allow_sensitive=allow)
    wanted = proposal_id.strip().lower()
    found = next((p for p in listed.proposals if p.id == wanted), None)
    if found is None:
        raise NotFoundError(
            f"no proposal {proposal_id[:80]!r}",
            hint="`hikmah consolidate` lists them; an id changes with what supports it",
            where="proposal",
        )
    if found.promoted_as:
        raise InvalidInputError(
            f"proposal {found.id} was promoted already, as {', '.join(found.promoted_as)}",
            where="proposal",
        )
    if not found.eligible_for_promotion:
        raise RefusedError(
            f"proposal {found.id} is not eligible: {_lack(found, desk)}",
            hint="the policy says what a promotion needs; settle conflicts with supersede or purge",
            where="proposal",
        )
    return index.head or "", found, index.rows(found.support)


def _lack(proposal: ConsolidationProposal, desk: Desk) -> str:
    """Return what a proposal lacks, with the figures."""
    policy = desk.policy
    if proposal.conflicting_values:
        return f"it stands against {', '.join(proposal.conflicting_values)}"
    figures = (
        (len(proposal.support), policy.consolidation_min_support, "traces support it"),
        (len(proposal.sources), policy.consolidation_min_independent_sources, "sources say so"),
        (proposal.confidence, policy.consolidation_min_confidence, "is its confidence"),
    )
    for has, needs, what in figures:
        if has < needs:
            return f"{has:g} {what}, and the policy asks for {needs:g}"
    return "its support never holds all at one time"


def promotion(
    desk: Desk, proposal: ConsolidationProposal, support: list[Row], *, source: str
) -> Trace:
    """Return the belief that a proposal stands for: a fact when all of its support are facts."""
    first = support[0]
    traces = [row.trace for row in support]
    facts = all(trace.fact is not None for trace in traces)
    claim = first.claim or Claim(key=proposal.key, value=proposal.value)
    tags = dict.fromkeys(tag for trace in traces for tag in trace.tags)
    return Trace(
        content=first.trace.content if facts else f"{claim.key.strip()}: {claim.value.strip()}",
        kind="belief",
        created_at_ms=desk.clock(),
        tags=tuple(tags)[:MAX_TAGS],
        salience=max(trace.salience for trace in traces),
        confidence=proposal.confidence,
        privacy="public" if all(t.privacy == "public" for t in traces) else "private",
        provenance=provenance(desk, source),
        claim=None if facts else claim,
        fact=first.trace.fact if facts else None,
        valid_from_ms=proposal.valid_from_ms,
        valid_until_ms=proposal.valid_until_ms,
        derived_from=proposal.support[:MAX_DERIVED_FROM],
    )
