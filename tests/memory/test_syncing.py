"""`Memory.sync`: what it counts for a person to look at, and that both sides answer alike."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hikmah.errors import NotFoundError, RefusedError, StoreError
from hikmah.index.database import Index
from hikmah.index.rows import DamagedIndexError
from hikmah.memory import Memory
from hikmah.memory.arriving import Arrived
from hikmah.memory.knowledge import Knowledge
from hikmah.memory.results import Remembered, Shown
from hikmah.model.records import Supersede, canonical
from hikmah.model.trace import Provenance
from hikmah.remotes.pushing import FirstPush
from hikmah.views.evolution import NoEvolution
from tests import world

NOW_MS = 1_800_000_000_000


def clock(step: int) -> Callable[[], int]:
    """Return a clock of its own for a machine."""
    ticks = itertools.count(NOW_MS + step, 1_000)
    return lambda: next(ticks)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return an empty bare repository: the remote."""
    return world.repository(tmp_path / "remote.git", "--bare")


@pytest.fixture
def a(tmp_path: Path, bare: Path) -> Iterator[Memory]:
    """The first machine, with one trace that the remote has as well."""
    repo = world.repository(tmp_path / "a")
    world.git(repo, "remote", "add", "origin", str(bare))
    with Memory.open(repo, environ=world.environment(repo), clock=clock(1)) as memory:
        memory.remember("the port is 22", claim=("port", "22"))
        memory.sync(yes=True)
        yield memory


@pytest.fixture
def b(tmp_path: Path, bare: Path, a: Memory) -> Iterator[Memory]:
    """The second machine, a plain git copy of what the remote has."""
    assert a.status().records == 1
    repo = world.repository(tmp_path / "b")
    world.git(repo, "remote", "add", "origin", str(bare))
    world.git(repo, "fetch", "-q", "origin", f"{world.REF}:{world.REF}")
    with Memory.open(repo, environ=world.environment(repo), clock=clock(500)) as memory:
        memory.sync(yes=True)
        yield memory


def first(memory: Memory) -> str:
    """Return the id of the trace that both machines began with."""
    return memory.log(limit=1000).items[-1].id


def shown(memory: Memory, trace_id: str) -> Shown:
    """Return one trace in full."""
    found = memory.show(trace_id)
    assert isinstance(found, Shown)
    return found


def exchange(a: Memory, b: Memory) -> None:
    """Sync until both have all: one after the other, then the first again."""
    for memory in (a, b, a):
        memory.sync(yes=True)


def at_one_moment(memory: Memory) -> Remembered:
    """Remember the same thing at the same time as another machine."""
    root = memory.status().store
    with Memory.open(root, environ=world.environment(Path(root)), now_ms=NOW_MS) as still:
        return still.remember("both")


def answers(memory: Memory) -> tuple[object, ...]:
    """Return what a machine answers about its ledger."""
    with Memory.open(memory.status().store, environ={}, now_ms=NOW_MS + 10**6) as at_rest:
        return (
            Knowledge(at_rest, evolution=NoEvolution()).compute_hash(everything=True),
            at_rest.conflicts(),
            at_rest.commitments(include_all=True),
            at_rest.recall("the port of the host").results,
        )


class TestCounts:
    """What arrived, as `Arrived` says it."""

    def test_nothing_new_counts_nothing(self, a: Memory) -> None:
        """A sync with nothing to join has nothing to look at."""
        done = a.sync()
        assert done.arrived == Arrived()
        assert (done.received, done.merges, done.sent, done.backups) == (0, 0, 0, ())

    def test_new_traces_are_counted_and_listed(self, a: Memory, b: Memory) -> None:
        """The number of records and traces, and the last few as lines."""
        for n in range(25):
            a.remember(f"number {n}")
        a.sync()
        arrived = b.sync().arrived
        assert (arrived.records, arrived.traces) == (25, 25)
        assert [line.preview for line in arrived.newest] == [f"number {n}" for n in range(5, 25)]

    def test_what_is_not_active_any_more_is_counted_by_status(self, a: Memory, b: Memory) -> None:
        """A correction that retires a trace here is news; one that came with its trace is not."""
        old = first(a)
        promise = a.remember("will do", kind="commitment", deadline_ms=NOW_MS * 2).id
        secret = a.remember("a mistake").id
        exchange(a, b)
        a.remember("the port is 49222", supersedes=old, claim=("port", "49222"))
        a.fulfill(promise, evidence="done")
        a.purge(secret, reason="wrong")
        short = a.remember("short-lived").id
        a.purge(short, reason="gone at once")
        a.sync()
        arrived = b.sync().arrived
        assert arrived.switched == {"fulfilled": 1, "purged": 1, "superseded": 1}
        assert arrived.traces == 2

    def test_new_contradictions_are_named_by_key(self, a: Memory, b: Memory) -> None:
        """A trace that arrives and contradicts one that is here."""
        a.remember("the port is 49222", claim=("Port ", "49222"))
        a.remember("the host is up", claim=("host", "up"))
        a.sync()
        assert b.sync().arrived.conflicts == ("port",)
        b.remember("unrelated")
        b.sync(yes=True)
        assert a.sync().arrived.conflicts == ()

    def test_verified_traces_are_counted_by_source(self, a: Memory, b: Memory) -> None:
        """Nobody on this machine verified them: a person should look."""
        for source in ("ann", "ann", "tests"):
            a.remember(f"checked by {source}", source=source, verified=True)
        a.remember("not checked", source="ann")
        a.sync()
        assert b.sync().arrived.verified == {"ann": 2, "tests": 1}

    def test_a_record_both_machines_wrote_is_not_new(self, a: Memory, b: Memory) -> None:
        """It stands at two paths and counts once, at its smaller number."""
        a.remember("first on a")
        one, two = at_one_moment(a), at_one_moment(b)
        assert (one.id, one.seq, two.seq) == (two.id, 3, 2)
        b.sync(yes=True)
        arrived = a.sync().arrived
        assert (arrived.records, arrived.traces) == (0, 0)
        b.sync()
        assert shown(a, one.id).seq == shown(b, one.id).seq == 2
        assert a.status().records == b.status().records == 3
        assert answers(a) == answers(b)

    def test_one_idempotency_key_on_both_sides_keeps_both_and_finds_the_smaller(
        self, a: Memory, b: Memory
    ) -> None:
        """Neither is lost; a retry with the key gets the same id on both machines."""
        a.remember("before it")
        on_a = a.remember("said once", idempotency_key="k")
        on_b = b.remember("said once", idempotency_key="k")
        exchange(a, b)
        assert (on_b.seq, on_a.seq) == (2, 3)
        for memory in (a, b):
            again = memory.remember("said once", idempotency_key="k")
            assert (again.id, again.deduplicated) == (on_b.id, True)
            assert shown(memory, on_a.id).status == "active"


class TestDamagedIndex:
    """An index can be filled anew; a join never fails for it."""

    @pytest.fixture
    def more(self, a: Memory, b: Memory) -> tuple[str, str]:
        """Let the first machine replace what both know; return the old and the new trace."""
        old = first(a)
        new = a.remember("the port is 49222", supersedes=old, source="ann", verified=True).id
        a.sync()
        assert b.status().records == 1
        return old, new

    def test_one_that_breaks_while_it_is_asked_is_filled_anew(
        self, b: Memory, more: tuple[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What came is counted as if nothing had been wrong."""
        real, broken = Index.stored, iter([True])

        def stored(index: Index, record_id: str) -> object:
            if next(broken, False):
                raise DamagedIndexError("malformed")
            return real(index, record_id)

        monkeypatch.setattr(Index, "stored", stored)
        done = b.sync()
        assert (done.arrived.records, done.arrived.switched) == (1, {"superseded": 1})
        assert done.arrived.verified == {"ann": 1}
        assert done.warnings == ()
        assert shown(b, more[1]).status == "active"

    @pytest.mark.parametrize("name", ["stored", "rows"], ids=["before", "afterwards"])
    def test_one_that_cannot_be_had_costs_the_counts(
        self, b: Memory, more: tuple[str, str], monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        """The ledger moved, and a warning says that nothing was counted."""

        def broken(index: Index, _: object) -> object:
            raise StoreError(f"{name} of {index.head} is gone")

        with monkeypatch.context() as m:
            m.setattr(Index, name, broken)
            done = b.sync()
        assert (done.received, done.arrived) == (1, Arrived())
        assert [w for w in done.warnings if "could not be counted" in w]
        assert shown(b, more[0]).status == "superseded"


class TestAlike:
    """Afterwards the state does not depend on who joined first."""

    def test_different_corrections_of_one_trace_stay_as_a_conflict(
        self, a: Memory, b: Memory
    ) -> None:
        """Both replacements are active, and both machines say so."""
        old = first(a)
        for memory, port in ((a, "49222"), (b, "2222")):
            memory.remember(f"the port is {port}", supersedes=old, claim=("port", port))
        exchange(a, b)
        assert answers(a) == answers(b)
        (conflict,) = a.conflicts().conflicts
        assert {value.value for value in conflict.values} == {"49222", "2222"}
        assert len(shown(a, old).superseded_by) == 2

    def test_a_supersession_is_not_undone(self, a: Memory, b: Memory) -> None:
        """Faults row 10, through the verbs: t1 stays superseded, u1 is there, links hold."""
        old = first(a)
        new = a.remember("the port is 49222").id
        a.supersede(old, new)
        other = b.remember("unrelated").id
        exchange(b, a)
        for memory in (a, b):
            assert shown(memory, old).status == "superseded"
            assert shown(memory, old).superseded_by == (new,)
            assert shown(memory, other).status == "active"
            assert memory.verify().errors == ()
        assert answers(a) == answers(b)

    def test_the_index_grown_by_joins_is_that_of_a_rebuild(self, a: Memory, b: Memory) -> None:
        """Records that arrive with smaller numbers than those here are placed as if in order."""
        for n in range(3):
            a.remember(f"{n} on a", claim=(f"k{n}", "a"))
            b.remember(f"{n} on b", claim=(f"k{n}", "b"))
            exchange(a, b)
        before = answers(a)
        a.reindex()
        assert answers(a) == before == answers(b)


class TestRefusals:
    def test_without_a_ledger_the_way_to_one_is_told(self, tmp_path: Path, bare: Path) -> None:
        """A sync begins none."""
        repo = world.repository(tmp_path / "new")
        with (
            Memory.open(repo, environ=world.environment(repo)) as memory,
            pytest.raises(NotFoundError) as caught,
        ):
            memory.sync(str(bare))
        assert "hikmah clone" in caught.value.hint

    def test_a_first_push_wants_a_yes(self, tmp_path: Path, bare: Path) -> None:
        """Nobody agreed: refused, and `agree` is asked with what would go."""
        repo = world.repository(tmp_path / "new")
        with Memory.open(repo, environ=world.environment(repo)) as memory:
            memory.remember("private")
            with pytest.raises(RefusedError, match="1 private traces"):
                memory.sync(str(bare))
            asked: list[FirstPush] = []

            def agree(first: FirstPush) -> bool:
                asked.append(first)
                return True

            memory.sync(str(bare), agree=agree)
        assert [first.private for first in asked] == [1]

    def test_an_unacknowledged_copy_says_that_it_was_verified(
        self, a: Memory, tmp_path: Path, bare: Path
    ) -> None:
        """A plain git copy becomes a ledger that is remembered here."""
        assert a.status().records == 1
        repo = world.repository(tmp_path / "c")
        world.git(repo, "fetch", "-q", str(bare), f"{world.REF}:{world.REF}")
        with Memory.open(repo, environ=world.environment(repo)) as memory:
            done = memory.sync(str(bare))
            assert any("no acknowledged head" in text for text in done.warnings)
            assert memory.verify().anchored


def test_a_switch_before_its_target_is_known_here_is_no_loss(a: Memory, b: Memory) -> None:
    """Links that a newer machine wrote about traces that arrive with them fold all the same."""
    old, new = a.remember("first").id, a.remember("second").id
    link = Supersede(id=old, by=new, at_ms=1, provenance=Provenance(source="user"))
    assert canonical(link)
    a.supersede(old, new)
    a.sync()
    arrived = b.sync().arrived
    assert (arrived.records, arrived.traces, arrived.switched) == (3, 2, {})
    assert shown(b, old).status == "superseded"
