"""Writing: what is admitted, what is refused, and that a refusal writes nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hikmah.errors import (
    AgentSessionError,
    AmbiguousIdError,
    HikmahError,
    IntegrityError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
    SecretError,
)
from hikmah.memory import Memory
from hikmah.views.claims import MAX_CONFLICTS
from tests import world
from tests.memory.conftest import NOW_MS, ticking

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s-7"}


def state(repo: Path) -> tuple[str, list[Path]]:
    """Return everything a write could change: the refs, and the objects."""
    refs = world.git(repo, "for-each-ref")
    return refs, sorted((repo / ".git/objects").rglob("*"))


class TestRemember:
    def test_what_is_remembered_is_in_git(self, repo: Path, memory: Memory) -> None:
        """The id of a trace is its blob's, and git prints the trace."""
        remembered = memory.remember("the deploy lock timed out", source="incident-7", tags=["db"])
        printed = world.git(repo, "cat-file", "-p", remembered.id)
        assert '"content": "the deploy lock timed out"' in printed
        assert world.git(repo, "grep", "-c", "timed out", world.REF)

    def test_stored_text_is_exactly_what_was_given(self, memory: Memory) -> None:
        """No normal form, no trimming: bytes are kept as they came."""
        text = "  caf\u0065\u0301 \u202e\x1b[31m オフライン ۱۲ \r\n"
        shown = memory.show(memory.remember(text).id)
        assert shown.trace.content == text  # type: ignore[union-attr]  # a trace was written

    def test_a_contradiction_is_returned_and_kept(self, memory: Memory) -> None:
        """`remember` names the active traces that claim another value; none is replaced."""
        first = memory.remember("port is 22", claim=("alpha/port", "22"))
        second = memory.remember("port is 49222", claim={"key": " ALPHA/Port ", "value": "49222"})
        assert second.conflicts == (first.id,)
        assert memory.conflicts().total == 1

    def test_a_retry_with_a_key_is_not_stored_twice(self, memory: Memory) -> None:
        """Faults row 15: one idempotency key, one trace."""
        first = memory.remember("once", idempotency_key="job-1")
        again = memory.remember("once", idempotency_key="job-1")
        assert (again.id, again.deduplicated) == (first.id, True)
        assert memory.status().records == 1

    def test_a_key_with_other_content_names_the_first(self, memory: Memory) -> None:
        """A key stands for one content."""
        first = memory.remember("once", idempotency_key="job-1")
        with pytest.raises(InvalidInputError, match=first.id):
            memory.remember("twice", idempotency_key="job-1")

    def test_the_same_bytes_are_stored_once(self, repo: Path) -> None:
        """Two equal traces at one time are one record."""
        with Memory.open(repo, environ={}, now_ms=NOW_MS) as memory:
            first = memory.remember("same")
            again = memory.remember("same")
        assert (again.id, again.deduplicated, first.deduplicated) == (first.id, True, False)

    def test_sensitive_text_is_refused_but_to_library_code(self, repo: Path) -> None:
        """Only `allow_sensitive` lets it in."""
        with Memory.open(repo, environ={}) as memory, pytest.raises(RefusedError):
            memory.remember("private matter", privacy="sensitive")
        with Memory.open(repo, environ={}, allow_sensitive=True) as memory:
            remembered = memory.remember("private matter", privacy="sensitive")
            assert memory.recall("private matter").total == 1
        assert "private matter" not in world.git(
            repo, "log", "-1", "--format=%B", remembered.commit
        )

    def test_a_correction_supersedes(self, memory: Memory) -> None:
        """The corrected trace is found only when asked for."""
        old = memory.remember("SSH port of host alpha is 22")
        new = memory.remember("host alpha now listens on 49222 for ssh", supersedes=old.id[:8])
        found = [r.id for r in memory.recall("ssh port host alpha").results]
        assert found == [new.id]
        with_old = memory.recall("ssh port host alpha", include_superseded=True)
        assert {r.id for r in with_old.results} == {old.id, new.id}

    def test_links_must_lead_to_records(self, memory: Memory) -> None:
        """A link to nothing is an error that names the field."""
        memory.remember("something")
        with pytest.raises(NotFoundError) as caught:
            memory.remember("x", derived_from=["0000aaaa"])
        assert caught.value.where == "$.derived_from[0]"

    def test_a_key_that_everybody_writes_is_no_slower_for_it(self, memory: Memory) -> None:
        """Rivals are read once a key, and a reply names so many of them."""
        items = [{"content": f"reading {n}", "claim": ["sensor", str(n)]} for n in range(300)]
        batch = memory.remember_batch(items)
        assert {len(item.conflicts) for item in batch.items} == {MAX_CONFLICTS}
        assert batch.items[0].conflicts[0] == batch.items[1].id
        assert batch.items[1].conflicts[0] == batch.items[0].id

    def test_one_trace_is_superseded_once(self, memory: Memory) -> None:
        """A second supersession names the first."""
        old = memory.remember("a")
        memory.remember("b", supersedes=old.id)
        with pytest.raises(InvalidInputError, match="superseded"):
            memory.remember("c", supersedes=old.id)


REFUSED: list[tuple[str, Callable[[Memory, str], object], type[HikmahError]]] = [
    ("blank content", lambda m, _: m.remember("  "), InvalidInputError),
    ("no content", lambda m, _: m.remember(), InvalidInputError),
    ("unknown kind", lambda m, _: m.remember("x", kind="rumour"), InvalidInputError),
    ("confidence above 1", lambda m, _: m.remember("x", confidence=1.5), InvalidInputError),
    ("NaN", lambda m, _: m.remember("x", salience=float("nan")), InvalidInputError),
    ("lone surrogate", lambda m, _: m.remember("\ud800"), InvalidInputError),
    ("content too long", lambda m, _: m.remember("x" * 65_537), InvalidInputError),
    ("33 tags", lambda m, _: m.remember("x", tags=[f"t{n}" for n in range(33)]), InvalidInputError),
    ("half a claim", lambda m, _: m.remember("x", claim={"key": "k"}), InvalidInputError),
    ("claim of three", lambda m, _: m.remember("x", claim=("a", "b", "c")), InvalidInputError),  # type: ignore[arg-type]  # wrong on purpose
    (
        "deadline on a belief",
        lambda m, _: m.remember("x", kind="belief", deadline_ms=1),
        InvalidInputError,
    ),
    (
        "validity ends before it starts",
        lambda m, _: m.remember("x", valid_from_ms=2, valid_until_ms=1),
        InvalidInputError,
    ),
    ("a credential", lambda m, _: m.remember("key AKIAIOSFODNN7EXAMPLE"), SecretError),
    (
        "a model that verifies",
        lambda m, _: m.remember("x", source="model:x", verified=True),
        RefusedError,
    ),
    ("a prediction by hand", lambda m, _: m.remember("x", kind="prediction"), RefusedError),
    ("an outcome by hand", lambda m, _: m.remember("x", kind="outcome"), RefusedError),
    ("an id too short", lambda m, _: m.fulfill("abc"), InvalidInputError),
    ("an id that is none", lambda m, _: m.purge("xyz!", reason="r"), InvalidInputError),
    ("an id of nothing", lambda m, _: m.fulfill("0000dead"), NotFoundError),
    ("fulfilling an observation", lambda m, one: m.fulfill(one), InvalidInputError),
    ("purge without a reason", lambda m, one: m.purge(one, reason=" "), InvalidInputError),
    ("a purge mode", lambda m, one: m.purge(one, reason="r", mode="erase"), InvalidInputError),  # type: ignore[arg-type]  # wrong on purpose
    ("superseding itself", lambda m, one: m.supersede(one, one), InvalidInputError),
    (
        "a model that purges",
        lambda m, one: m.purge(one, reason="r", source="Model:x"),
        RefusedError,
    ),
    (
        "a secret as reason",
        lambda m, one: m.purge(one, reason="password=hunter2horse"),
        SecretError,
    ),
    ("an empty batch", lambda m, _: m.remember_batch([]), InvalidInputError),
    (
        "an unknown field in a batch",
        lambda m, _: m.remember_batch([{"content": "x", "colour": 1}]),
        InvalidInputError,
    ),
    ("one text for tags", lambda m, _: m.remember("x", tags="ops"), InvalidInputError),
    ("a number for tags", lambda m, _: m.remember("x", tags=5), InvalidInputError),  # type: ignore[arg-type]  # wrong on purpose
    ("a number as tag", lambda m, _: m.remember("x", tags=[5]), InvalidInputError),  # type: ignore[list-item]  # wrong on purpose
    ("one id for many", lambda m, one: m.remember("x", derived_from=one), InvalidInputError),
    (
        "one id for many in a batch",
        lambda m, one: m.remember_batch([{"content": "x", "derived_from": one}]),
        InvalidInputError,
    ),
    (
        "a nested provenance in a batch",
        lambda m, _: m.remember_batch([{"content": "x", "provenance": {"source": "ci"}}]),
        InvalidInputError,
    ),
    (
        "a batch with one bad item",
        lambda m, _: m.remember_batch([{"content": "x"}, {"content": ""}]),
        InvalidInputError,
    ),
]


@pytest.mark.parametrize(("call", "error"), [pytest.param(c, e, id=i) for i, c, e in REFUSED])
def test_bad_input_writes_nothing(
    repo: Path,
    memory: Memory,
    call: Callable[[Memory, str], object],
    error: type[HikmahError],
) -> None:
    """Whatever is refused leaves refs and objects as they were, and says what and where."""
    one = memory.remember("one").id
    before = state(repo)
    with pytest.raises(error) as caught:
        call(memory, one)
    assert state(repo) == before
    assert caught.value.message


class TestBatch:
    def test_a_batch_is_one_commit(self, repo: Path, memory: Memory) -> None:
        """All or nothing, in the order given."""
        batch = memory.remember_batch([{"content": f"item {n}"} for n in range(5)])
        assert batch.written == 5
        assert [item.seq for item in batch.items] == [1, 2, 3, 4, 5]
        assert world.git(repo, "rev-list", "--count", world.REF) == "2"

    def test_an_error_says_which_item(self, memory: Memory) -> None:
        """The message counts from one, the path from zero."""
        with pytest.raises(InvalidInputError, match="item 2") as caught:
            memory.remember_batch([{"content": "fine"}, {"content": "x", "confidence": 7}])
        assert caught.value.where == "$[1].confidence"

    def test_items_meet_what_the_batch_said_before(self, memory: Memory) -> None:
        """Two items cannot supersede one trace, and equal keys are one trace."""
        old = memory.remember("old").id
        with pytest.raises(InvalidInputError, match="superseded"):
            memory.remember_batch(
                [{"content": "a", "supersedes": old}, {"content": "b", "supersedes": old}]
            )
        keyed = {"content": "same", "idempotency_key": "k"}
        batch = memory.remember_batch([keyed, {"content": "other"}, keyed])
        assert [item.deduplicated for item in batch.items] == [False, False, True]
        assert batch.items[0].id == batch.items[2].id
        assert batch.written == 2

    def test_a_batch_of_what_is_there_writes_nothing(self, repo: Path, memory: Memory) -> None:
        """Repeating a batch with keys leaves the ledger as it is."""
        items = [{"content": f"{n}", "idempotency_key": f"k{n}"} for n in range(3)]
        memory.remember_batch(items)
        before = world.git(repo, "rev-parse", world.REF)
        again = memory.remember_batch(items)
        assert (again.commit, again.written) == (None, 0)
        assert world.git(repo, "rev-parse", world.REF) == before

    def test_a_large_batch(self, repo: Path, memory: Memory) -> None:
        """A thousand items are one commit, and git finds nothing wrong."""
        memory.remember_batch({"content": f"item {n}"} for n in range(1_000))
        assert memory.status().records == 1_000
        world.git(repo, "fsck", "--full", "--strict")


class TestSwitches:
    def test_a_commitment_is_fulfilled_once(self, memory: Memory) -> None:
        """A second fulfilment says `already` and writes nothing."""
        promise = memory.remember("send the report", kind="commitment", deadline_ms=NOW_MS)
        done = memory.fulfill(promise.id, evidence="sent")
        again = memory.fulfill(promise.id)
        assert (done.already, again.already, again.id) == (False, True, None)
        assert memory.commitments(include_all=True).commitments[0].status == "fulfilled"

    def test_purging_hides_and_says_that_it_does_not_erase(self, memory: Memory) -> None:
        """A purged trace leaves every view; the bytes stay."""
        one = memory.remember("wrong idea")
        purged = memory.purge(one.id, reason="wrong")
        assert "not erased" in purged.note
        assert memory.recall("wrong idea", include_superseded=True).total == 0
        assert memory.log().items[1].text == ""

    def test_deprecating_retires_without_a_successor(self, memory: Memory) -> None:
        """A deprecated trace is recalled no more; a purge may still follow, a second not."""
        one = memory.remember("old way")
        assert memory.purge(one.id, reason="old", mode="deprecate").note == ""
        assert memory.recall("old way").total == 0
        memory.purge(one.id, reason="and wrong")
        with pytest.raises(InvalidInputError, match="already"):
            memory.purge(one.id, reason="again")

    def test_two_existing_traces_are_linked(self, memory: Memory) -> None:
        """`supersede` puts one in the other's place; a circle is refused."""
        old, new = memory.remember("the build is red"), memory.remember("the build is green")
        memory.supersede(old.id[:10], new.id[:10], reason="fixed")
        shown = memory.show(old.id)
        assert shown.superseded_by == (new.id,)  # type: ignore[union-attr]  # a trace
        with pytest.raises(InvalidInputError):
            memory.supersede(new.id, old.id)

    def test_an_ambiguous_id_lists_the_candidates(self, memory: Memory) -> None:
        """A prefix that fits several is an error with all of them."""
        seen: dict[str, str] = {}
        for n in range(2_000):
            batch = memory.remember_batch({"content": f"n{n}-{k}"} for k in range(100))
            for item in batch.items:
                if item.id[:4] in seen:
                    with pytest.raises(AmbiguousIdError) as caught:
                        memory.show(item.id[:4])
                    assert {item.id, seen[item.id[:4]]} <= set(caught.value.candidates)
                    return
                seen[item.id[:4]] = item.id


class TestAgentSessions:
    def test_writes_are_stamped(self, repo: Path) -> None:
        """Every write of an agent carries its session, a caller's locator after it."""
        with Memory.open(repo, environ=AGENT) as memory:
            one = memory.remember("seen", locator="pr:12")
            shown = memory.show(one.id)
        locator = shown.trace.provenance.locator  # type: ignore[union-attr]  # a trace
        assert locator == "agent-session:claude-code:s-7; pr:12"

    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(lambda m: m.remember("x", verified=True), id="verified"),
            pytest.param(
                lambda m: m.remember_batch([{"content": "x", "verified": True}]), id="in a batch"
            ),
            pytest.param(lambda m: m.accept_tail(), id="accept-tail"),
            pytest.param(lambda m: m.restore_tail(), id="restore-tail"),
            pytest.param(lambda m: m.reset_head(), id="reset-head"),
        ],
    )
    def test_a_persons_decisions_are_refused(
        self, repo: Path, call: Callable[[Memory], object]
    ) -> None:
        """The refusal names the variables and tells an agent to ask a person."""
        with Memory.open(repo, environ={}) as memory:
            memory.remember("one")
        before = state(repo)
        with (
            Memory.open(repo, environ=AGENT) as memory,
            pytest.raises(AgentSessionError, match="CLAUDECODE") as caught,
        ):
            call(memory)
        assert "ask a person" in caught.value.hint
        assert state(repo) == before

    def test_a_chosen_time_is_refused_on_writes_only(self, repo: Path) -> None:
        """An agent cannot date its memories, and can still ask as of a time."""
        with Memory.open(repo, environ={}, clock=ticking()) as memory:
            memory.remember("one")
        with Memory.open(repo, environ=AGENT, now_ms=5) as memory:
            assert memory.recall("one").total == 1
            with pytest.raises(AgentSessionError, match="--now"):
                memory.remember("x")

    def test_a_chosen_time_is_refused_for_a_new_ledger(self, repo: Path) -> None:
        """An agent cannot date a ledger's beginning either; finding one that is there is fine."""
        with pytest.raises(AgentSessionError, match="--now"):
            Memory.init(repo, environ=AGENT, now_ms=5)
        Memory.init(repo, environ=AGENT)[0].close()
        memory, found = Memory.init(repo, environ=AGENT, now_ms=5)
        memory.close()
        assert not found.created

    def test_a_validity_from_the_epoch_on_is_not_left_out(self, repo: Path) -> None:
        """Zero is a time: what a person gives is kept, not copied over."""
        with Memory.open(repo, environ={}) as person:
            one = person.remember("port is 22", valid_from_ms=7, valid_until_ms=9)
            two = person.remember(verified=True, supersedes=one.id, valid_from_ms=0)
            trace = person.show(two.id).trace  # type: ignore[union-attr]  # a trace
        assert (trace.valid_from_ms, trace.valid_until_ms) == (0, 9)

    def test_a_person_verifies_what_an_agent_recorded(self, repo: Path) -> None:
        """What is left out is copied from the trace that is verified."""
        with Memory.open(repo, environ=AGENT) as agent:
            one = agent.remember("port is 22", kind="belief", claim=("port", "22"), tags=["ssh"])
        with Memory.open(repo, environ={}) as person:
            two = person.remember(verified=True, supersedes=one.id, source="lee")
            shown = person.show(two.id)
        trace = shown.trace  # type: ignore[union-attr]  # a trace
        assert (trace.content, trace.kind, trace.tags) == ("port is 22", "belief", ("ssh",))
        assert trace.claim is not None
        assert trace.provenance.verified
        assert trace.provenance.locator is None

    def test_a_batch_cannot_date_its_traces_there_either(self, repo: Path) -> None:
        """`created_at_ms` of an item is the clock by another way in."""
        with Memory.open(repo, environ={}) as person:
            old = person.remember_batch([{"content": "x", "created_at_ms": 5}])
            shown = person.show(old.items[0].id)
            assert shown.trace.created_at_ms == 5  # type: ignore[union-attr]  # a trace
        before = state(repo)
        with (
            Memory.open(repo, environ=AGENT) as agent,
            pytest.raises(AgentSessionError, match="created_at_ms"),
        ):
            agent.remember_batch([{"content": "y", "created_at_ms": 5}])
        assert state(repo) == before

    def test_verifying_a_promise_keeps_its_deadline(self, repo: Path) -> None:
        """What belongs to a kind goes with the kind, or the promise would never be due."""
        with Memory.open(repo, environ=AGENT, clock=ticking()) as agent:
            one = agent.remember("report", kind="commitment", deadline_ms=NOW_MS + 9_000_000)
        with Memory.open(repo, environ={}, clock=ticking()) as person:
            two = person.remember(verified=True, supersedes=one.id, source="lee")
            assert [item.id for item in person.commitments().commitments] == [two.id]
            three = person.remember(verified=True, supersedes=two.id, source="kim", kind="belief")
            shown = person.show(three.id)
        assert shown.trace.deadline_ms is None  # type: ignore[union-attr]  # a trace

    @pytest.mark.parametrize(
        "payload",
        [
            {"entity": {"name": "Ada", "entity_type": "person"}},
            {"event": {"event_type": "decision", "payload": {"n": 1}}, "kind": "episode"},
        ],
        ids=["entity", "event"],
    )
    def test_verifying_keeps_what_a_trace_stands_for(
        self, repo: Path, payload: dict[str, Any]
    ) -> None:
        """An entity that lost its payload would be none."""
        with Memory.open(repo, environ=AGENT) as agent:
            item = {"content": "it", "kind": "belief", **payload}
            one = agent.remember_batch([item]).items[0]
        with Memory.open(repo, environ={}) as person:
            two = person.show(person.remember(verified=True, supersedes=one.id, source="lee").id)
        for name, value in payload.items():
            kept = getattr(two.trace, name)  # type: ignore[union-attr]  # a trace
            assert kept is not None
            assert name == "kind" or msgspec.to_builtins(kept).items() >= value.items()

    def test_verifying_keeps_what_is_sensitive_sensitive(self, repo: Path) -> None:
        """Vouching for a text is not publishing it."""
        with Memory.open(repo, environ=AGENT, allow_sensitive=True) as agent:
            one = agent.remember("private matter", privacy="sensitive")
        with Memory.open(repo, environ={}) as person, pytest.raises(RefusedError):
            person.remember(verified=True, supersedes=one.id, source="lee")
        with Memory.open(repo, environ={}, allow_sensitive=True) as library:
            two = library.remember(verified=True, supersedes=one.id, source="lee")
            shown = library.show(two.id)
        assert shown.trace.privacy == "sensitive"  # type: ignore[union-attr]  # a trace


class TestTogether:
    def test_threads_share_one_memory(self, memory: Memory) -> None:
        """One object, eight threads, nothing lost."""

        def work(name: int) -> None:
            for n in range(5):
                memory.remember(f"thread {name} item {n}")
                memory.recall("thread item")

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.status().records == 40

    def test_a_foreign_commit_is_read_and_stops_writes(
        self, repo: Path, memory: Memory, tmp_path: Path
    ) -> None:
        """Faults row 2: reads include it, writes name it, a person accepts it."""
        memory.remember("mine")
        other = world.repository(tmp_path / "other")
        world.git(other, "fetch", "-q", str(repo), f"{world.REF}:{world.REF}")
        with Memory.open(other, environ={}, clock=ticking()) as elsewhere:
            foreign = elsewhere.remember("theirs").commit
        world.git(repo, "fetch", "-q", str(other), f"{world.REF}:{world.REF}")
        assert memory.recall("theirs").total == 1
        with pytest.raises(IntegrityError, match=foreign):
            memory.remember("blocked")
        report = memory.verify()
        assert [problem.code for problem in report.errors] == ["unacknowledged"]
        assert "--accept-tail" in report.advice[0]
        assert memory.accept_tail().accepted == (foreign,)
        assert memory.remember("again").seq == 3

    def test_a_commit_that_breaks_a_rule_is_put_back_and_never_accepted(
        self, repo: Path, memory: Memory
    ) -> None:
        """Accepting it would leave a ledger that never verifies; restoring takes the ref back."""
        mine = memory.remember("mine").commit
        tree = world.git(repo, "rev-parse", f"{world.REF}^{{tree}}")
        foreign = world.git(repo, "commit-tree", tree, "-p", world.REF, "-m", "adds nothing")
        world.git(repo, "update-ref", world.REF, foreign)
        assert "--restore-tail" in " ".join(memory.verify().advice)
        with pytest.raises(IntegrityError, match="breaks a rule") as caught:
            memory.accept_tail()
        assert "--restore-tail" in caught.value.hint
        restored = memory.restore_tail()
        assert (restored.commit, restored.before) == (mine, foreign)
        assert memory.verify().ok
        assert memory.remember("again").seq == 2

    def test_a_commit_that_is_no_ledger_is_never_accepted(self, repo: Path, memory: Memory) -> None:
        """A ref that somebody put on a branch's commit goes back where it was."""
        mine = memory.remember("mine").commit
        (repo / "file").write_text("x")
        world.git(repo, "add", "file")
        world.git(repo, "commit", "-q", "-m", "work")
        world.git(repo, "update-ref", world.REF, "HEAD")
        with pytest.raises(IntegrityError, match="was not accepted") as caught:
            memory.reset_head()
        assert "--restore-tail" in caught.value.hint
        assert memory.restore_tail().commit == mine
        assert memory.verify().ok

    def test_a_ref_moved_back_is_restored(self, repo: Path, memory: Memory) -> None:
        """What was cut off is still in the store, and comes back."""
        first = memory.remember("one")
        second = memory.remember("two")
        world.git(repo, "update-ref", world.REF, first.commit)
        with pytest.raises(IntegrityError, match=second.commit):
            memory.remember("three")
        assert memory.restore_tail().commit == second.commit
        assert memory.recall("two").total == 1
        world.git(repo, "update-ref", "-d", world.REF)
        with pytest.raises(IntegrityError, match="gone"):
            memory.recall("two")
        memory.restore_tail()
        assert memory.remember("three").seq == 3

    def test_a_rewritten_history_is_taken_only_by_decision(
        self, repo: Path, memory: Memory, tmp_path: Path
    ) -> None:
        """`reset_head` accepts an honest ref that another machine wrote; or it is put back."""
        first = memory.remember("one").commit
        mine = memory.remember("two").commit
        other = world.repository(tmp_path / "other")
        world.git(other, "fetch", "-q", str(repo), f"{first}:{world.REF}")
        with Memory.open(other, environ={}, clock=ticking()) as elsewhere:
            theirs = elsewhere.remember("two, as they saw it").commit
        world.git(repo, "fetch", "-q", str(other), f"+{world.REF}:{world.REF}")
        with pytest.raises(IntegrityError, match="does not apply"):
            memory.accept_tail()
        assert "--reset-head" in memory.verify().advice[0]
        assert memory.restore_tail().commit == mine
        world.git(repo, "update-ref", world.REF, theirs)
        assert memory.reset_head().commit == theirs
        assert memory.remember("three").seq == 3


class TestVerify:
    def test_a_ledger_written_through_the_door_verifies(self, memory: Memory) -> None:
        """Everything the verbs write passes verification, and the report says what it cannot."""
        one = memory.remember("one", claim=("k", "v"), tags=["t"])
        two = memory.remember("two", kind="commitment", deadline_ms=NOW_MS, supersedes=one.id)
        memory.fulfill(two.id)
        memory.purge(memory.remember("three").id, reason="wrong")
        last = memory.remember_batch({"content": f"b{n}"} for n in range(30))
        report = memory.verify(expect_head=last.commit, contains=[one.commit])
        assert report.errors == ()
        assert report.ok
        assert report.records == 35
        assert report.anchored

    def test_verifying_what_is_not_there(self, memory: Memory) -> None:
        """A ledger that does not exist is not an intact one."""
        with pytest.raises(NotFoundError, match="no ledger"):
            memory.verify()

    def test_a_pin_that_does_not_hold(self, memory: Memory) -> None:
        """Another head than the one expected is an error of the report, not an exception."""
        memory.remember("one")
        report = memory.verify(expect_head="e" * 40)
        assert not report.ok
        assert [problem.code for problem in report.errors] == ["expect_head"]

    @pytest.mark.parametrize("data", [b"", b"nonsense\n", b"ref: refs/heads/main\n"], ids=repr)
    def test_a_ref_that_cannot_be_read_is_for_the_report_to_say(
        self, repo: Path, memory: Memory, data: bytes
    ) -> None:
        """Verification reports damage; it does not raise it."""
        memory.remember("one")
        (repo / ".git" / world.REF).write_bytes(data)
        report = memory.verify()
        assert not report.ok
        assert "ref_unreadable" in {problem.code for problem in report.errors}
