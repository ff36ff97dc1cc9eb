"""Evolution: what could be done about knowledge that has grown. Proposes only.

`EvolutionEngine` is a port: one method, from a view of the knowledge to proposals. The engine
here is deterministic; each of its parts has a switch and thresholds in `policy.evolution`:

1. consolidate: promote the proposals that are eligible.
2. merge: entities of one type whose names differ in separators alone; the older one stays.
3. resolve: one source asserted a newer value for a key: it supersedes the older. Never across
   sources, never an unverified over a verified, never for a source that is nobody's name.
4. decay: retire old traces of little salience and confidence that nothing was concluded from;
   never a commitment, constraint, preference, forecast or outcome, event, entity or
   relationship, nor what is verified or supersedes. Reads leave no trace, so use is no reason.
5. prune: retire entities without an active fact or relationship.
6. summarize: refresh copies that are old or say something else than would be said now.

A trace is touched by one proposal at most, of the part that comes first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol, get_args

import msgspec
from msgspec import Struct

from hikmah.errors import EngineError
from hikmah.model.policy import DecayEvolution, Policy
from hikmah.model.records import canonical_json
from hikmah.model.status import payload_of
from hikmah.model.trace import RecordId, is_model
from hikmah.views.claims import contradict
from hikmah.views.commitments import HOUR_MS
from hikmah.views.consolidation import UNATTRIBUTED, ConsolidationProposal, source_of
from hikmah.views.corpus import Row
from hikmah.views.scoring import DAY_MS
from hikmah.views.summaries import EntitySummary, is_stale

Part = Literal["consolidate", "merge", "resolve", "decay", "prune", "summarize"]
PARTS: tuple[Part, ...] = get_args(Part)
Action = Literal["promote", "supersede", "deprecate", "summarize"]
MAX_PROPOSALS = 1_000
# Kinds that do not fade: what was promised, ruled or wished, and what forecasts are judged by.
_LASTING = frozenset({"commitment", "constraint", "preference", "prediction", "outcome"})
# Unicode categories and characters that separate the parts of a name and tell none apart.
_SEPARATING = frozenset({"Pd", "Pc", "Ps", "Pe", "Pi", "Pf", "Zs"})
_SEPARATORS = frozenset(".,:;/\\'\"`")


class EvolutionProposal(Struct, frozen=True, kw_only=True):
    """One thing to do: to a trace, an entity's summary, or a consolidation proposal.

    `target` is a trace's id, for `promote` the id of a consolidation proposal, for
    `summarize` an entity's; `by` is what supersedes; `evidence` are the traces that say why.
    """

    part: Part
    action: Action
    target: str
    by: RecordId | None = None
    reason: str
    evidence: tuple[RecordId, ...] = ()


class Evolution(Struct, frozen=True, kw_only=True):
    """What an engine proposes for a ledger at one head; the digest stands for exactly that."""

    digest: str
    head: str
    proposals: tuple[EvolutionProposal, ...]
    total: int
    truncated: bool


class EntityStanding(Struct, frozen=True, kw_only=True):
    """An active entity: its normalized name, its active traces in order, whether it is used."""

    id: str
    name: str
    entity_type: str
    active: tuple[str, ...]
    updated_at_ms: int
    bound: bool


class FaintTrace(Struct, frozen=True, kw_only=True):
    """An active trace of little salience, and whether anything was concluded from it."""

    row: Row
    leads_on: bool


class SummaryCopy(Struct, frozen=True, kw_only=True):
    """A copy that was kept of an entity's summary, and what would be said now."""

    copy: EntitySummary
    fresh: EntitySummary


class EvolutionView(Struct, frozen=True, kw_only=True):
    """The knowledge that an engine looks at."""

    policy: Policy
    consolidation: tuple[ConsolidationProposal, ...] = ()
    contested: tuple[tuple[Row, ...], ...] = ()
    faint: tuple[FaintTrace, ...] = ()
    entities: tuple[EntityStanding, ...] = ()
    summaries: tuple[SummaryCopy, ...] = ()


class EvolutionEngine(Protocol):
    """What a plug-in writes: proposals from a view and a clock; callers use `ask`."""

    def propose(self, view: EvolutionView, *, now_ms: int) -> Iterable[EvolutionProposal]:
        """Return proposals, the most important first."""
        ...


class NoEvolution:
    """The engine that proposes nothing."""

    def propose(self, view: EvolutionView, *, now_ms: int) -> Iterable[EvolutionProposal]:  # noqa: ARG002 - the port's
        """Return no proposals."""
        return ()


class MemoryEvolutionEngine:
    """The deterministic engine; what it proposes is a function of view and clock."""

    def propose(self, view: EvolutionView, *, now_ms: int) -> Iterable[EvolutionProposal]:
        """Return the proposals of every part that the policy has switched on."""
        parts = view.policy.evolution
        if parts.consolidate.enabled:
            yield from _consolidate(view.consolidation)
        if parts.merge.enabled:
            yield from _merge(view.entities)
        if parts.resolve.enabled:
            gap_ms = parts.resolve.min_gap_hours * HOUR_MS
            for group in view.contested:
                yield from _resolve(group, gap_ms)
        if parts.decay.enabled:
            yield from _decay(view.faint, parts.decay, now_ms)
        if parts.prune.enabled:
            yield from _prune(view.entities, now_ms - parts.prune.min_age_days * DAY_MS)
        if parts.summarize.enabled:
            oldest_ms = now_ms - parts.summarize.stale_after_days * DAY_MS
            yield from _summarize(view.summaries, oldest_ms)


def ask(
    engine: EvolutionEngine,
    view: EvolutionView,
    *,
    head: str,
    now_ms: int,
    parts: Sequence[str] = (),
) -> Evolution:
    """Ask an engine, and admit what it may propose: well-formed, bounded, each trace once.

    Raises:
        EngineError: The engine failed, or proposed what is no proposal.
    """
    try:
        given = list(engine.propose(view, now_ms=now_ms))
        proposed = msgspec.convert(msgspec.to_builtins(given), list[EvolutionProposal])
    except Exception as e:  # an engine may fail in any way
        raise EngineError(f"the evolution engine failed: {type(e).__name__}") from e
    admitted = list(_once(p for p in proposed if not parts or p.part in parts))
    shown = tuple(admitted[:MAX_PROPOSALS])
    return Evolution(
        digest=digest(head, shown),
        head=head,
        proposals=shown,
        total=len(admitted),
        truncated=len(shown) < len(admitted),
    )


def digest(head: str, proposals: Sequence[EvolutionProposal]) -> str:
    """Return what stands for some proposals at one head of the ledger."""
    import hashlib  # only proposals need it

    return hashlib.sha256(canonical_json({"head": head, "proposals": proposals})).hexdigest()


def _once(proposals: Iterable[EvolutionProposal]) -> Iterator[EvolutionProposal]:
    """Leave out proposals that would touch what an earlier one of another part touches."""
    touched: dict[str, str] = {}
    done: set[tuple[str, str]] = set()
    for one in proposals:
        kind = "summary" if one.action == "summarize" else "trace"
        names = [one.target, *([one.by] if one.by else [])]
        names += one.evidence if one.action == "promote" else ()
        if (kind, one.target) in done or any(
            touched.get(f"{kind} {name}", one.part) != one.part for name in names
        ):
            continue
        done.add((kind, one.target))
        touched |= {f"{kind} {name}": one.part for name in names}
        yield one


def _consolidate(found: Iterable[ConsolidationProposal]) -> Iterator[EvolutionProposal]:
    for one in found:
        if one.eligible_for_promotion:
            sources = ", ".join(one.sources)
            yield EvolutionProposal(
                part="consolidate",
                action="promote",
                target=one.id,
                reason=f"{one.key} = {one.value}: said by {sources}",
                evidence=one.support,
            )


def merge_key(name: str) -> str:
    """Return a normalized name without what only separates: `node.js` and `nodejs` are one.

    Signs that tell names apart stay: `c++` is not `c`.
    """
    return "".join(
        c for c in name if unicodedata.category(c) not in _SEPARATING and c not in _SEPARATORS
    )


def _merge(entities: Iterable[EntityStanding]) -> Iterator[EvolutionProposal]:
    groups: dict[tuple[str, str], list[EntityStanding]] = {}
    for one in entities:
        key = merge_key(one.name)
        if key and one.active:
            groups.setdefault((key, one.entity_type), []).append(one)
    for (_, entity_type), group in sorted(groups.items()):
        kept, *others = group
        for other in others:
            for trace in other.active:
                yield EvolutionProposal(
                    part="merge",
                    action="supersede",
                    target=trace,
                    by=kept.active[-1],
                    reason=f"{other.name!r} and {kept.name!r} name one {entity_type}",
                    evidence=(other.id, kept.id),
                )


def _resolve(group: Sequence[Row], gap_ms: float) -> Iterator[EvolutionProposal]:
    """Yield, for each claim, the newest one of the same source that replaces it."""
    rows = sorted(group, key=lambda row: (row.seq, row.id))
    for place, old in enumerate(rows):
        newer = [row for row in rows[place + 1 :] if _may_replace(row, old, gap_ms)]
        if newer:
            new = newer[-1]
            source = old.trace.provenance.source.strip()
            yield EvolutionProposal(
                part="resolve",
                action="supersede",
                target=old.id,
                by=new.id,
                reason=f"{source} said later: {new.claim.value if new.claim else ''}",
                evidence=(old.id, new.id),
            )


def _may_replace(new: Row, old: Row, gap_ms: float) -> bool:
    source = source_of(new)
    return (
        source == source_of(old) != UNATTRIBUTED
        and not is_model(source)
        and new.trace.created_at_ms - old.trace.created_at_ms >= gap_ms
        and (new.trace.provenance.verified or not old.trace.provenance.verified)
        and payload_of(new.trace) == payload_of(old.trace)
        and contradict(new, old)
    )


def _decay(
    faint: Iterable[FaintTrace], limits: DecayEvolution, now_ms: int
) -> Iterator[EvolutionProposal]:
    until_ms = now_ms - limits.min_age_days * DAY_MS
    for one in faint:
        trace = one.row.trace
        if (
            trace.created_at_ms <= until_ms
            and trace.salience <= limits.max_salience
            and trace.confidence <= limits.max_confidence
            and trace.kind not in _LASTING
            and payload_of(trace) in {None, "fact"}
            and not trace.provenance.verified
            and not one.row.supersedes
            and not one.leads_on
        ):
            yield EvolutionProposal(
                part="decay",
                action="deprecate",
                target=one.row.id,
                reason=f"older than {limits.min_age_days:g} days, salience {trace.salience:g},"
                f" confidence {trace.confidence:g}, and nothing was concluded from it",
                evidence=(one.row.id,),
            )


def _prune(entities: Iterable[EntityStanding], until_ms: float) -> Iterator[EvolutionProposal]:
    for one in entities:
        if one.bound or one.updated_at_ms > until_ms:
            continue
        for trace in one.active:
            yield EvolutionProposal(
                part="prune",
                action="deprecate",
                target=trace,
                reason=f"{one.name!r} ({one.entity_type}) has no active fact or relationship",
                evidence=(one.id,),
            )


def _summarize(copies: Iterable[SummaryCopy], oldest_ms: float) -> Iterator[EvolutionProposal]:
    for one in copies:
        changed = is_stale(one.copy, one.fresh)
        if changed or one.copy.generated_at_ms <= oldest_ms:
            told = "says something else than would be said now" if changed else "is old"
            yield EvolutionProposal(
                part="summarize",
                action="summarize",
                target=one.fresh.entity,
                reason=f"the summary of {one.fresh.name!r} {told}",
                evidence=(one.fresh.entity,),
            )
