"""Evolution through the door: proposals, digest, applying, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from hikmah.errors import AgentSessionError, EngineError, IntegrityError, InvalidInputError
from hikmah.memory import Memory
from hikmah.memory.knowledge import Knowledge
from hikmah.memory.results import Shown
from hikmah.views.evolution import (
    EvolutionProposal,
    EvolutionView,
    MemoryEvolutionEngine,
    NoEvolution,
)
from hikmah.views.scoring import DAY_MS

START_MS = 1_700_000_000_000


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def pass_days(self, days: float) -> None:
        """Move on."""
        self.now_ms += int(days * DAY_MS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def grown(repo: Path, clock: Clock) -> Iterator[Memory]:
    """A memory in which every part has something to propose."""
    with Memory.open(repo, environ={}, clock=clock) as memory:
        known = memory.knowledge
        memory.remember("lunch was late", salience=0.1, confidence=0.3)
        for name in ("node.js", "nodejs", "leftover"):
            known.get_or_create_entity(name, "code")
        for name in ("node.js", "nodejs"):
            known.add_fact(name, "kind", "runtime", multi=True)
        known.generate_summary("node.js")
        known.add_fact("node.js", "licence", "MIT", multi=True)
        for value in ("22", "23"):
            memory.remember(f"port {value}", claim=("port", value), source="ops")
        for source in ("audit", "review"):
            claim = ("host", "db1")
            memory.remember(f"{source} host", claim=claim, source=source, verified=True)
        clock.pass_days(200)
        yield memory


PARTS = ["consolidate", "merge", "resolve", "decay", "prune", "summarize"]


def test_every_part_proposes_and_nothing_is_written(grown: Memory) -> None:
    """The same proposals and the same digest however often it is asked, and a day later."""
    before = grown.log().total
    first = grown.knowledge.evolve()
    assert [p.part for p in first.proposals] == PARTS
    assert grown.knowledge.evolve() == first
    assert grown.log().total == before


def test_time_alone_does_not_change_a_digest(grown: Memory, clock: Clock) -> None:
    """Unless something crosses a threshold, what was looked at can be applied later."""
    first = grown.knowledge.evolve()
    clock.pass_days(1)
    assert grown.knowledge.evolve().digest == first.digest


def test_applying_writes_exactly_the_proposals_in_one_commit(grown: Memory) -> None:
    """Each as a record of its own, and the summaries as copies; then nothing is left to do."""
    known = grown.knowledge
    evolution = known.evolve()
    before = grown.log().total
    applied = known.apply_evolution(evolution.digest[:16], source="alex")
    assert len(applied.written) == 5
    assert grown.log().total == before + 5
    assert applied.refreshed == (evolution.proposals[-1].target,)
    belief = grown.show(applied.written[0])
    assert isinstance(belief, Shown)
    assert (belief.trace.content, belief.trace.provenance.source) == ("host: db1", "alex")
    assert belief.trace.derived_from == evolution.proposals[0].evidence
    merged = known.get_entity("nodejs").entity
    assert merged.id == known.get_entity("node.js").entity.id
    assert grown.conflicts().total == 0
    assert known.get_entity("leftover").entity.status == "deprecated"
    summary = known.get_summary("node.js")
    assert summary
    assert summary.active_facts_count == 3
    assert known.evolve().proposals == ()


def test_applying_twice_is_refused(grown: Memory) -> None:
    """The ledger moved by the first; the digest stood for what was before."""
    digest = grown.knowledge.evolve().digest
    grown.knowledge.apply_evolution(digest)
    before = grown.log().total
    with pytest.raises(IntegrityError, match="moved on"):
        grown.knowledge.apply_evolution(digest)
    assert grown.log().total == before


def test_applying_after_the_ledger_moved_is_refused(grown: Memory) -> None:
    """Even when the record that came changes no proposal."""
    digest = grown.knowledge.evolve().digest
    grown.remember("something else")
    before = grown.log().total
    with pytest.raises(IntegrityError, match="moved on") as caught:
        grown.knowledge.apply_evolution(digest)
    assert caught.value.exit_code == 6
    assert grown.log().total == before


def test_a_write_between_looking_and_writing_is_refused(
    grown: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proposals are written at the commit they were made for, or not at all."""
    from hikmah.memory import evolving

    build: Callable[..., object] = evolving._records

    def interrupted(*args: object) -> object:
        made = build(*args)
        grown.remember("another writer was faster")
        return made

    digest = grown.knowledge.evolve().digest
    monkeypatch.setattr(evolving, "_records", interrupted)
    with pytest.raises(IntegrityError, match="moved on from"):
        grown.knowledge.apply_evolution(digest)
    assert grown.knowledge.get_entity("leftover").entity.status == "active"


def test_applying_is_refused_in_an_agent_session(repo: Path, grown: Memory, clock: Clock) -> None:
    """An agent may look and propose; a person applies."""
    with Memory.open(repo, environ={"CLAUDECODE": "1"}, clock=clock) as agents:
        digest = agents.knowledge.evolve().digest
        assert digest == grown.knowledge.evolve().digest
        with pytest.raises(AgentSessionError, match="evolve --apply"):
            agents.knowledge.apply_evolution(digest)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_proposed_and_applied_alone(grown: Memory, part: str) -> None:
    """Its digest stands for it alone."""
    alone = grown.knowledge.evolve(parts=[part])
    assert [p.part for p in alone.proposals] == [part]
    with pytest.raises(IntegrityError):
        grown.knowledge.apply_evolution(alone.digest)
    applied = grown.knowledge.apply_evolution(alone.digest, parts=[part])
    assert len(applied.written) + len(applied.refreshed) == 1
    assert (applied.commit is None) == (part == "summarize")
    assert grown.knowledge.evolve(parts=[part]).proposals == ()


def test_a_moment_of_the_past_is_looked_at_as_it_was(grown: Memory) -> None:
    """By its clock too; copies of summaries are of no moment but now."""
    known = grown.knowledge
    assert known.evolve(as_of=2).proposals == ()
    assert [p.part for p in known.evolve(as_of=8).proposals] == ["merge"]
    assert [p.part for p in known.evolve(as_of=11).proposals] == ["consolidate", "merge", "resolve"]


@pytest.mark.parametrize("digest", ["", "abc", "a" * 11])
def test_a_digest_that_is_none_is_refused(grown: Memory, digest: str) -> None:
    """At least twelve digits of it."""
    with pytest.raises(InvalidInputError, match="no digest"):
        grown.knowledge.apply_evolution(digest)


def test_a_part_that_is_none_is_refused(grown: Memory) -> None:
    """The error lists those there are."""
    with pytest.raises(InvalidInputError, match="'rot' is not a part"):
        grown.knowledge.evolve(parts=["rot"])


class Engine:
    """An engine of somebody's own, for the door."""

    def __init__(self, *given: EvolutionProposal) -> None:
        self.given = given
        self.seen: EvolutionView | None = None

    def propose(self, view: EvolutionView, *, now_ms: int) -> Iterable[EvolutionProposal]:
        """Note what it was shown, and propose what it was given."""
        assert now_ms
        self.seen = view
        return self.given


def test_an_engine_is_given_at_construction(grown: Memory) -> None:
    """It sees the knowledge; what it proposes is bound by the rules of every write."""
    assert Knowledge(grown, evolution=NoEvolution()).evolve().total == 0
    default = Knowledge(grown, evolution=MemoryEvolutionEngine()).evolve()
    assert default == grown.knowledge.evolve()
    note = grown.remember("a note")
    retire = EvolutionProposal(part="decay", action="deprecate", target=note.id, reason="r")
    engine = Engine(retire)
    mine = Knowledge(grown, evolution=engine)
    mine.apply_evolution(mine.evolve().digest)
    assert engine.seen is not None
    assert [one.name for one in engine.seen.entities] == ["node.js", "nodejs", "leftover"]
    shown = grown.show(note.id)
    assert isinstance(shown, Shown)
    assert shown.status == "deprecated"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (
            EvolutionProposal(part="decay", action="deprecate", target="d" * 40, reason="r"),
            "no trace",
        ),
        (
            EvolutionProposal(part="consolidate", action="promote", target="abc", reason="r"),
            "no consolidation proposal",
        ),
    ],
    ids=["a trace that is not there", "a proposal that is not there"],
)
def test_an_engine_cannot_write_past_the_rules(
    grown: Memory, given: EvolutionProposal, error: str
) -> None:
    """Nothing of such a set is written."""
    note = grown.remember("a note")
    good = EvolutionProposal(part="decay", action="deprecate", target=note.id, reason="r")
    mine = Knowledge(grown, evolution=Engine(good, given))
    digest = mine.evolve().digest
    before = grown.log().total
    with pytest.raises(Exception, match=error):
        mine.apply_evolution(digest)
    assert grown.log().total == before


def test_an_engine_that_fails_is_said_so(grown: Memory) -> None:
    """And nothing else of it gets out."""

    class Broken:
        def propose(self, view: EvolutionView, *, now_ms: int) -> Iterable[EvolutionProposal]:
            raise RuntimeError(f"{now_ms} {view}")

    with pytest.raises(EngineError, match="failed: RuntimeError"):
        Knowledge(grown, evolution=Broken()).evolve()


def test_copies_of_what_is_gone_are_not_refreshed(grown: Memory) -> None:
    """Entities that were retired, and copies that cannot be read, are passed over."""
    known = grown.knowledge
    index = grown._desk.index()
    index.keep_summaries([("d" * 40, b"{}")])
    leftover = known.generate_summary("leftover")
    assert known.evolve(parts=["summarize"]).total == 1
    known.add_fact("leftover", "kind", "code")
    assert known.evolve(parts=["summarize"]).total == 2
    known.deprecate("leftover", reason="gone")
    assert known.evolve(parts=["summarize"]).total == 1
    assert known.get_summary(leftover.entity) == leftover
