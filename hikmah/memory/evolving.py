"""Evolution through the door: what an engine proposes, and writing exactly that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hikmah.errors import IntegrityError, InvalidInputError
from hikmah.index.database import Index
from hikmah.memory.building import provenance
from hikmah.memory.consolidating import promotion
from hikmah.memory.desk import Desk
from hikmah.memory.knowledge_reading import At, at_moment
from hikmah.memory.knowledge_results import Evolved
from hikmah.memory.summarizing import decoded, keep, summarized
from hikmah.memory.writing import write
from hikmah.model import session as sessions
from hikmah.model.records import Purge, Record, Supersede
from hikmah.model.trace import Provenance
from hikmah.views.consolidation import ConsolidationProposal, consolidation_proposals
from hikmah.views.corpus import Row
from hikmah.views.evolution import (
    PARTS,
    EntityStanding,
    Evolution,
    EvolutionEngine,
    EvolutionProposal,
    EvolutionView,
    FaintTrace,
    MemoryEvolutionEngine,
    SummaryCopy,
    ask,
)
from hikmah.views.scoring import DAY_MS
from hikmah.views.summaries import EntitySummary

MIN_DIGEST = 12


class Asked(NamedTuple):
    """What was proposed, with the rows that its promotions rest on."""

    evolution: Evolution
    support: dict[str, tuple[ConsolidationProposal, list[Row]]]


def propose(
    desk: Desk,
    engine: EvolutionEngine | None,
    *,
    parts: Sequence[str],
    as_of: str | int | None,
) -> Evolution:
    """Return what the engine proposes; see `Knowledge.evolve`."""
    return _asked(desk, engine, parts, as_of).evolution


def apply(
    desk: Desk,
    engine: EvolutionEngine | None,
    digest: str,
    *,
    parts: Sequence[str],
    source: str,
) -> Evolved:
    """Write what was proposed; see `Knowledge.apply_evolution`."""
    if desk.session is not None:
        raise sessions.refuse(desk.session, "evolve --apply")
    wanted = digest.strip().lower()
    if len(wanted) < MIN_DIGEST:
        raise InvalidInputError(
            f"{digest[:80]!r} is no digest of proposals",
            hint=f"`hikmah evolve` prints it; at least {MIN_DIGEST} digits of it",
            where="digest",
        )
    asked = _asked(desk, engine, parts, None)
    evolution = asked.evolution
    if not evolution.digest.startswith(wanted):
        raise IntegrityError(
            "what is proposed now is not what that digest was printed for: the ledger, the"
            " summaries or the time moved on since",
            hint="run `hikmah evolve` again, look, and apply the new digest",
            where=evolution.head,
        )
    records = _records(desk, asked, provenance(desk, source))
    outcome = write(desk, records, only_at=evolution.head) if records else None
    refreshed = [p.target for p in evolution.proposals if p.action == "summarize"]
    _refresh(desk, refreshed)
    return Evolved(
        digest=evolution.digest,
        commit=outcome.commit if outcome else None,
        written=tuple(item.id for item in outcome.items) if outcome else (),
        refreshed=tuple(refreshed),
        warnings=outcome.warnings if outcome else (),
    )


def _asked(
    desk: Desk, engine: EvolutionEngine | None, parts: Sequence[str], as_of: str | int | None
) -> Asked:
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise InvalidInputError(
            f"{unknown[0]!r} is not a part of evolution",
            hint=f"parts: {', '.join(PARTS)}",
            where="parts",
        )

    def question(index: Index) -> Asked:
        with at_moment(desk, index, as_of) as at:
            view = _view(desk, at, copies=as_of is None)
            now_ms = at.knowledge.now_ms
            asked = engine or MemoryEvolutionEngine()
            evolution = ask(asked, view, head=at.head, now_ms=now_ms, parts=parts)
            by_id = {one.id: one for one in view.consolidation}
            promoted = [by_id[p.target] for p in evolution.proposals if p.target in by_id]
            support = {one.id: (one, at.asked.rows(one.support)) for one in promoted}
            return Asked(evolution, support)

    return desk.answer(question)


def _view(desk: Desk, at: At, *, copies: bool) -> EvolutionView:
    """Read what engines look at; copies of summaries are of now and of no other moment."""
    policy, graph = desk.policy, at.knowledge.graph
    singles = policy.consolidation_min_support == 1
    decay = policy.evolution.decay
    faint = graph.faint(
        max_salience=decay.max_salience,
        until_ms=int(at.knowledge.now_ms - decay.min_age_days * DAY_MS),
    )
    contested = (
        tuple(row for row in rows if row.status == "active") for _, rows in graph.contested()
    )
    allow = at.knowledge.allow_sensitive
    return EvolutionView(
        policy=policy,
        consolidation=consolidation_proposals(
            graph.repeated(singles=singles), policy, allow_sensitive=allow
        ).proposals,
        contested=tuple(contested),
        faint=tuple(FaintTrace(row=row, leads_on=graph.leads_on(row.id)) for row in faint),
        entities=tuple(_entities(at)),
        summaries=tuple(_copies(at)) if copies else (),
    )


def _entities(at: At) -> list[EntityStanding]:
    graph = at.knowledge.graph
    classes = sorted(graph.entities().classes, key=lambda one: (one.members[0].seq, one.id))
    bound = graph.bound()
    docs = [member.doc for one in classes for member in one.members]
    times = {fact.doc: fact.created_at_ms for fact in graph.corpus.facts(docs)}
    return [
        EntityStanding(
            id=one.id,
            name=one.speaker.name,
            entity_type=one.speaker.type,
            active=tuple(m.id for m in one.members if m.status == "active"),
            updated_at_ms=max(times[m.doc] for m in one.members),
            bound=not bound.isdisjoint(one.ids),
        )
        for one in classes
    ]


def _copies(at: At) -> list[SummaryCopy]:
    """Return copies of active entities, the newest of each, with what would be said now."""
    found: dict[str, SummaryCopy] = {}
    for identity, data in at.asked.kept_summaries():
        copy, one = decoded(data), at.knowledge.graph.entity(identity)
        view = at.knowledge.entity(one) if one is not None else None
        if copy is None or one is None or view is None or one.status != "active":
            continue
        known = found.get(one.id)
        if known is None or known.copy.generated_at_ms < copy.generated_at_ms:
            found[one.id] = SummaryCopy(copy=copy, fresh=summarized(at, one, view))
    return list(found.values())


def _records(desk: Desk, asked: Asked, said: Provenance) -> list[Record]:
    """Return the records that proposals stand for, in their order."""
    found = (_record(desk, one, asked, said) for one in asked.evolution.proposals)
    return [record for record in found if record is not None]


def _record(desk: Desk, one: EvolutionProposal, asked: Asked, said: Provenance) -> Record | None:
    at_ms = desk.clock()
    if one.action == "promote":
        if one.target not in asked.support:
            raise InvalidInputError(f"there is no consolidation proposal {one.target!r}")
        proposal, rows = asked.support[one.target]
        return promotion(desk, proposal, rows, source=said.source)
    if one.action == "supersede":
        by = one.by or ""
        return Supersede(id=one.target, by=by, reason=one.reason, at_ms=at_ms, provenance=said)
    if one.action == "deprecate":
        return Purge(
            id=one.target, reason=one.reason, mode="deprecate", at_ms=at_ms, provenance=said
        )
    return None


def _refresh(desk: Desk, entities: Sequence[str]) -> None:
    """Keep new copies of summaries, as they are after what was written."""

    def question(index: Index) -> list[EntitySummary]:
        with at_moment(desk, index, None) as at:
            classes = [at.knowledge.graph.entity(one) for one in entities]
            views = [(one, at.knowledge.entity(one)) for one in classes if one is not None]
            return [summarized(at, one, view) for one, view in views if view is not None]

    if entities:
        keep(desk, desk.answer(question))
