"""Evolution: what the deterministic engine proposes, and what any engine may."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest

from hikmah.errors import EngineError
from hikmah.model.policy import DEFAULTS, EvolutionPolicy, Policy
from hikmah.model.trace import Provenance, Trace
from hikmah.views.consolidation import consolidation_proposals
from hikmah.views.corpus import Row
from hikmah.views.evolution import (
    MAX_PROPOSALS,
    PARTS,
    EntityStanding,
    EvolutionProposal,
    EvolutionView,
    FaintTrace,
    MemoryEvolutionEngine,
    NoEvolution,
    SummaryCopy,
    ask,
    digest,
    merge_key,
)
from hikmah.views.scoring import DAY_MS
from hikmah.views.summaries import EntitySummary
from tests.index.knowledge import entity, event, fact, relationship
from tests.views.ledgers import id_of, trace

NOW_MS = 1_000 * DAY_MS
HEAD = "c" * 40


def row(record: Trace, seq: int = 1, **fields: Any) -> Row:
    """Return an active row of a trace."""
    return Row(
        doc=seq, id=id_of(record), seq=seq, trace=record, status="active", status_seq=seq, **fields
    )


def proposals(
    policy: Policy = DEFAULTS, parts: Sequence[str] = (), **view: Any
) -> tuple[EvolutionProposal, ...]:
    """Return what the deterministic engine proposes."""
    made = EvolutionView(policy=policy, **view)
    asked = ask(MemoryEvolutionEngine(), made, head=HEAD, now_ms=NOW_MS, parts=parts)
    return asked.proposals


def switched_off(part: str) -> Policy:
    """Return a policy without one part."""
    raw = {part: {"enabled": False}}
    evolution = msgspec.convert(raw, EvolutionPolicy)
    return msgspec.structs.replace(DEFAULTS, evolution=evolution)


def says(source: str, value: str, seq: int, **fields: Any) -> Row:
    """Return a row in which a source claims the port."""
    made = trace(f"{source} {value} {seq}", claim=("port", value), source=source, **fields)
    return row(made, seq)


class TestConsolidate:
    def test_what_is_eligible_is_promoted(self) -> None:
        """Others are not proposed; the switch turns it off."""
        groups = {
            "port": [says("a", "1", 1, verified=True), says("b", "1", 2, verified=True)],
            "gate": [says("a", "1", 1), says("a", "1", 2)],
        }
        found = consolidation_proposals(groups.items(), DEFAULTS).proposals
        (one,) = proposals(consolidation=found)
        assert (one.part, one.action, one.target) == ("consolidate", "promote", found[0].id)
        assert one.evidence == found[0].support
        assert one.reason == "port = 1: said by a, b"
        assert proposals(switched_off("consolidate"), consolidation=found) == ()


def standing(name: str, *, n: int = 1, bound: bool = True, **fields: Any) -> EntityStanding:
    """Return an entity; `n` makes its ids and age."""
    known: dict[str, Any] = {
        "id": f"{n:040x}",
        "name": name,
        "entity_type": "code",
        "active": (f"{n:039x}a", f"{n:040x}"),
        "updated_at_ms": NOW_MS - 365 * DAY_MS,
        "bound": bound,
    }
    return EntityStanding(**(known | fields))


class TestMerge:
    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("node.js", "nodejs", True),
            ("node-js", "node js", True),
            ("check_out (old)", "checkout: old", True),
            ("«o'brien»", "obrien", True),
            ("c", "c++", False),
            ("c#", "c", False),
            ("at&t", "att", False),
            ("...", "---", True),
        ],
    )
    def test_separators_tell_no_names_apart(self, one: str, other: str, *, same: bool) -> None:
        """Signs that make another name stay."""
        assert (merge_key(one) == merge_key(other)) is same

    def test_the_older_entity_stays_and_all_that_speak_for_the_other_give_way(self) -> None:
        """Each active trace of the newer one is superseded by the older one's newest."""
        old, new = standing("node.js", n=1), standing("nodejs", n=2)
        found = proposals(entities=(old, new))
        assert [(p.action, p.target, p.by) for p in found] == [
            ("supersede", trace_id, old.active[-1]) for trace_id in new.active
        ]
        assert found[0].evidence == (new.id, old.id)
        assert found[0].reason == "'nodejs' and 'node.js' name one code"

    @pytest.mark.parametrize(
        "entities",
        [
            (standing("a.b"), standing("ab", n=2, entity_type="person")),
            (standing("..."), standing("---", n=2)),
            (standing("ab"), standing("a.b", n=2, active=())),
            (standing("ab"), standing("ac", n=2)),
        ],
        ids=["types differ", "nothing but separators", "none is active", "names differ"],
    )
    def test_others_are_left_alone(self, entities: tuple[EntityStanding, ...]) -> None:
        """Only names that separators tell apart are of one entity."""
        assert proposals(entities=entities) == ()

    def test_the_switch_turns_it_off(self) -> None:
        """Then nothing is merged."""
        entities = (standing("node.js", n=1), standing("nodejs", n=2))
        assert proposals(switched_off("merge"), entities=entities) == ()


class TestResolve:
    def test_a_source_that_said_something_newer_is_taken_at_its_word(self) -> None:
        """Each claim is superseded by the newest of the same source that contradicts it."""
        one, two, three = says("Ops", "1", 1), says("ops ", "2", 2), says("ops", "1", 3)
        found = proposals(contested=((three, one, two),))
        assert [(p.target, p.by) for p in found] == [(one.id, two.id), (two.id, three.id)]
        assert found[0].reason == "Ops said later: 2"
        assert proposals(switched_off("resolve"), contested=((one, two),)) == ()

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (says("a", "1", 1), says("b", "2", 2)),
            (says("unknown", "1", 1), says("unknown", "2", 2)),
            (says("user", "1", 1), says("", "2", 2)),
            (says("model:x", "1", 1), says("model:x", "2", 2)),
            (says("a", "1", 1, verified=True), says("a", "2", 2)),
            (says("a", "1", 1, valid_until_ms=5), says("a", "2", 2, valid_from_ms=5)),
            (
                says("a", "1", 1),
                row(fact("d" * 40, "port", "2", provenance=Provenance(source="a"))),
            ),
        ],
        ids=["sources", "nobody", "blank", "a model", "verified", "other times", "a fact"],
    )
    def test_others_are_left_to_a_person(self, old: Row, new: Row) -> None:
        """Across sources, for nobody in particular, against what was verified: never."""
        assert proposals(contested=((old, new),)) == ()

    def test_the_gap_is_the_policy_s(self) -> None:
        """What was said within it may be one statement."""
        raw = {"resolve": {"min_gap_hours": 2}}
        policy = msgspec.structs.replace(DEFAULTS, evolution=msgspec.convert(raw, EvolutionPolicy))
        hour_ms = 3_600_000
        for hours, count in ((1, 0), (2, 1)):
            old = says("a", "1", 1, created_at_ms=0)
            new = says("a", "2", 2, created_at_ms=hours * hour_ms)
            assert len(proposals(policy, contested=((old, new),))) == count


def faint(*, leads_on: bool = False, **fields: Any) -> FaintTrace:
    """Return a trace that would decay, but for the fields given."""
    supersedes = fields.pop("replaced", ())
    known: dict[str, Any] = {"created_at_ms": 0, "salience": 0.1, "confidence": 0.4}
    return FaintTrace(
        row=row(trace("a", **(known | fields)), supersedes=supersedes), leads_on=leads_on
    )


class TestDecay:
    def test_what_is_old_faint_and_unsupported_is_retired(self) -> None:
        """The reason has the figures, none of which the passing of time changes."""
        one = faint()
        (found,) = proposals(faint=(one,))
        assert (found.part, found.action, found.target) == ("decay", "deprecate", one.row.id)
        assert found.reason == (
            "older than 180 days, salience 0.1, confidence 0.4, and nothing was concluded from it"
        )
        assert proposals(switched_off("decay"), faint=(one,)) == ()

    @pytest.mark.parametrize(
        "one",
        [
            faint(created_at_ms=NOW_MS - 179 * DAY_MS),
            faint(created_at_ms=NOW_MS + DAY_MS),
            faint(salience=0.21),
            faint(confidence=0.51),
            faint(verified=True),
            faint(replaced=("d" * 40,)),
            faint(leads_on=True),
            *(faint(kind=kind) for kind in ("commitment", "constraint", "preference")),
            *(faint(kind=kind) for kind in ("prediction", "outcome")),
            *(
                FaintTrace(row=row(msgspec.structs.replace(made, salience=0.0)), leads_on=False)
                for made in (entity("e"), event("e"), relationship("d" * 40, "r", "e" * 40))
            ),
        ],
    )
    def test_others_do_not_fade(self, one: FaintTrace) -> None:
        """Young, weighty, sure, verified, correcting, concluded from, lasting, structured."""
        assert proposals(faint=(one,)) == ()

    def test_a_fact_may_fade(self) -> None:
        """It is a statement like any other."""
        made = fact("d" * 40, "mood", "fine", salience=0.1, confidence=0.1)
        assert len(proposals(faint=(FaintTrace(row=row(made), leads_on=False),))) == 1


class TestPrune:
    def test_an_entity_without_fact_or_relationship_is_retired_whole(self) -> None:
        """All its active traces, once it has been so for a while."""
        one = standing("thing", bound=False)
        found = proposals(entities=(one,))
        assert [(p.part, p.action, p.target) for p in found] == [
            ("prune", "deprecate", trace_id) for trace_id in one.active
        ]
        assert found[0].reason == "'thing' (code) has no active fact or relationship"
        assert proposals(switched_off("prune"), entities=(one,)) == ()

    @pytest.mark.parametrize(
        "one",
        [
            standing("thing"),
            standing("thing", bound=False, updated_at_ms=NOW_MS - 29 * DAY_MS),
            standing("thing", bound=False, active=()),
        ],
        ids=["bound", "young", "a circle"],
    )
    def test_others_stay(self, one: EntityStanding) -> None:
        """Used ones and young ones."""
        assert proposals(entities=(one,)) == ()


def copy(text: str = "a", *, days: int = 0) -> EntitySummary:
    """Return a summary that was made some days ago."""
    return EntitySummary(
        entity="d" * 40,
        name="Thing",
        entity_type="code",
        summary_text=text,
        active_facts_count=1,
        relationships_count=0,
        disputed=(),
        last_updated_ms=0,
        generated_at_ms=NOW_MS - days * DAY_MS,
    )


class TestSummarize:
    @pytest.mark.parametrize(
        ("kept", "told"),
        [
            (copy("b"), "says something else than would be said now"),
            (copy(days=7), "is old"),
            (copy(days=6), None),
        ],
        ids=["changed", "old", "fresh"],
    )
    def test_stale_copies_are_refreshed(self, kept: EntitySummary, told: str | None) -> None:
        """Those that say something else, and those of last week."""
        found = proposals(summaries=(SummaryCopy(copy=kept, fresh=copy()),))
        assert [p.reason for p in found] == ([f"the summary of 'Thing' {told}"] if told else [])
        assert (
            proposals(switched_off("summarize"), summaries=(SummaryCopy(copy=kept, fresh=copy()),))
            == ()
        )


class Engine:
    """An engine that proposes what it is given."""

    def __init__(self, *given: object) -> None:
        self.given = given

    def propose(self, view: EvolutionView, *, now_ms: int) -> Iterable[Any]:
        """Yield it, failing where it is an error."""
        del view, now_ms
        for one in self.given:
            if isinstance(one, Exception):
                raise one
            yield one


def deprecate(n: int, part: Any = "decay") -> EvolutionProposal:
    """Return a proposal to retire a trace."""
    return EvolutionProposal(part=part, action="deprecate", target=f"{n:040x}", reason="r")


EMPTY = EvolutionView(policy=DEFAULTS)


class TestAsk:
    def test_no_engine_proposes_nothing(self) -> None:
        """The null form of the port."""
        asked = ask(NoEvolution(), EMPTY, head=HEAD, now_ms=NOW_MS)
        assert (asked.proposals, asked.total, asked.truncated) == ((), 0, False)
        assert asked.digest == digest(HEAD, ())

    @pytest.mark.parametrize(
        "given",
        [
            ValueError("secret"),
            {"part": "decay"},
            "text",
            {"part": "x", "action": "deprecate", "target": "a", "reason": "r"},
            {"part": "decay", "action": "supersede", "target": "a", "by": "b", "reason": "r"},
        ],
        ids=["an error", "a part of one", "text", "no such part", "no id"],
    )
    def test_an_engine_that_fails_is_one_error_without_its_words(self, given: object) -> None:
        """Only EngineError leaves the port."""
        with pytest.raises(EngineError) as caught:
            ask(Engine(given), EMPTY, head=HEAD, now_ms=NOW_MS)
        assert "secret" not in str(caught.value)

    def test_a_trace_is_touched_by_one_part_once(self) -> None:
        """What an earlier part retires, replaces or rests on is left alone by later ones."""
        a, b = deprecate(1).target, deprecate(2).target
        merge = EvolutionProposal(part="merge", action="supersede", target=a, by=b, reason="r")
        rests = EvolutionProposal(
            part="consolidate", action="promote", target="abc", evidence=(f"{3:040x}",), reason="r"
        )
        given = (
            rests,
            merge,
            deprecate(1),
            deprecate(2),
            deprecate(3),
            deprecate(4),
            deprecate(4),
            EvolutionProposal(part="summarize", action="summarize", target=a, reason="r"),
        )
        asked = ask(Engine(*given), EMPTY, head=HEAD, now_ms=NOW_MS)
        assert asked.proposals == (rests, merge, deprecate(4), given[-1])

    def test_parts_are_chosen_and_the_digest_is_of_what_is_left(self) -> None:
        """Another head, or other proposals, have another digest."""
        given = Engine(deprecate(1), deprecate(2, "prune"))
        some = ask(given, EMPTY, head=HEAD, now_ms=NOW_MS, parts=["prune"])
        assert some.proposals == (deprecate(2, "prune"),)
        everything = ask(given, EMPTY, head=HEAD, now_ms=NOW_MS, parts=PARTS)
        elsewhere = ask(given, EMPTY, head="d" * 40, now_ms=NOW_MS)
        assert len({some.digest, everything.digest, elsewhere.digest}) == 3

    def test_proposals_are_bounded(self) -> None:
        """The rest comes with the next run."""
        given = Engine(*map(deprecate, range(MAX_PROPOSALS + 5)))
        asked = ask(given, EMPTY, head=HEAD, now_ms=NOW_MS)
        assert (len(asked.proposals), asked.total, asked.truncated) == (1000, 1005, True)
