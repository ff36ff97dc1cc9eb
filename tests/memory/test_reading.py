"""Asking: every question is answered from the ledger as it is, whatever became of the index."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hikmah.errors import AgentSessionError, InvalidInputError, NotFoundError
from hikmah.memory import Memory
from hikmah.memory.results import Shown, ShownRecord
from hikmah.views.recall import POOL
from tests import world
from tests.memory.conftest import NOW_MS, ticking


@pytest.fixture
def filled(memory: Memory) -> Memory:
    """A memory with a correction, a contradiction, a promise and a purge."""
    old = memory.remember("SSH port of host alpha is 22", claim=("alpha/ssh", "22"))
    memory.remember("host alpha listens on 49222 for ssh", supersedes=old.id)
    memory.remember("the deploy window is monday", claim=("deploy", "mon"), source="lee")
    memory.remember("the deploy window is friday", claim=("deploy", "fri"), source="kim")
    memory.remember("send the report", kind="commitment", deadline_ms=NOW_MS + 3_600_000)
    gone = memory.remember("a wrong idea about caches")
    memory.purge(gone.id, reason="wrong")
    return memory


def _scribble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(4_096, len(data), 64):
        data[at : at + 16] = b"\xa5" * 16
    path.write_bytes(data)


def _set_header(path: Path, name: str, value: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE header SET value = ? WHERE name = ?", (value, name))
    connection.commit()
    connection.close()


class TestShow:
    def test_a_trace_with_its_history(self, filled: Memory) -> None:
        """Status, successor, switches, conflicts and what was derived stand beside it."""
        rows = filled.recall("deploy window").results
        shown = filled.show(rows[0].id)
        assert isinstance(shown, Shown)
        assert shown.conflicts == (rows[1].id,)
        made = filled.remember("it depends", derived_from=[shown.id])
        again = filled.show(shown.id)
        assert isinstance(again, Shown)
        assert again.derived == (made.id,)

    def test_a_purged_trace_is_shown_without_its_words(self, filled: Memory) -> None:
        """What left every view is not read out by its id either; its history is."""
        gone = filled.remember("the colour is teal", tags=("teal",), claim=("colour", "teal"))
        assert b"teal" in msgspec.json.encode(filled.show(gone.id))
        filled.purge(gone.id, reason="not so")
        shown = filled.show(gone.id)
        assert isinstance(shown, Shown)
        assert (shown.status, shown.hidden, shown.trace.kind) == ("purged", True, "observation")
        assert [link.text for link in shown.history] == ["not so"]
        assert b"teal" not in msgspec.json.encode(shown)

    def test_a_sensitive_trace_is_shown_only_where_the_policy_shows_it(
        self, repo: Path, memory: Memory
    ) -> None:
        """Library code that let it in sees it; others see that it is there."""
        with Memory.open(repo, environ={}, allow_sensitive=True) as trusted:
            kept = trusted.remember("the alarm code is 4711", privacy="sensitive")
            assert b"4711" in msgspec.json.encode(trusted.show(kept.id))
        shown = memory.show(kept.id)
        assert isinstance(shown, Shown)
        assert (shown.status, shown.hidden) == ("active", True)
        assert b"4711" not in msgspec.json.encode(shown)

    def test_a_switch_is_shown_as_it_stands(self, filled: Memory) -> None:
        """Records that are no traces are shown, too."""
        newest = filled.log(limit=1).items[0]
        shown = filled.show(newest.id)
        assert isinstance(shown, ShownRecord)
        assert (shown.type, shown.record["reason"]) == ("purge", "wrong")

    @pytest.mark.parametrize(
        ("text", "error"),
        [
            pytest.param("xyz", InvalidInputError, id="not hexadecimal"),
            pytest.param("abc", InvalidInputError, id="too short"),
            pytest.param("", InvalidInputError, id="empty"),
            pytest.param("0000000000", NotFoundError, id="nothing there"),
        ],
    )
    def test_ids_that_name_nothing(self, filled: Memory, text: str, error: type[Exception]) -> None:
        """An id is a unique prefix of at least four hex digits."""
        with pytest.raises(error):
            filled.show(text)

    def test_ids_are_read_in_any_case_and_as_events(self, filled: Memory) -> None:
        """Upper case, blanks around, and an event's `evt_` before it are all one id."""
        newest = filled.log(limit=1).items[0].id
        assert filled.show(f"  EVT_{newest[:9].upper()} ").id == newest


class TestLists:
    def test_the_log_is_newest_first_and_counted(self, filled: Memory) -> None:
        """`total` and `truncated` say what a limit left out."""
        page = filled.log(limit=3)
        assert [item.seq for item in page.items] == [7, 6, 5]
        assert (page.total, page.truncated) == (7, True)
        assert filled.log(kind="commitment").total == 1
        assert filled.log(source="lee").total == 1
        assert filled.log(until_ms=0).total == 0

    def test_conflicts_and_commitments(self, filled: Memory) -> None:
        """Open contradictions by key, promises by deadline."""
        assert [conflict.key for conflict in filled.conflicts().conflicts] == ["deploy"]
        due = filled.commitments(within_hours=2)
        assert [item.overdue for item in due.commitments] == [False]
        assert filled.commitments(within_hours=0).total == 0

    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(lambda m: m.log(limit=0), id="no limit"),
            pytest.param(lambda m: m.log(limit=1_001), id="limit too large"),
            pytest.param(lambda m: m.log(kind="rumour"), id="unknown kind"),
            pytest.param(lambda m: m.conflicts(limit=-1), id="negative limit"),
            pytest.param(lambda m: m.commitments(within_hours=-1), id="negative horizon"),
            pytest.param(lambda m: m.commitments(within_hours=float("nan")), id="NaN hours"),
            pytest.param(lambda m: m.recall("x", limit=0), id="recall nothing"),
            pytest.param(lambda m: m.recall("x", kinds=["rumour"]), id="recall unknown kind"),
            pytest.param(lambda m: m.recall("x", as_of="yesterday"), id="no moment"),
        ],
    )
    def test_questions_that_make_no_sense(
        self, filled: Memory, call: Callable[[Memory], object]
    ) -> None:
        """A bad number or word is said so."""
        with pytest.raises(InvalidInputError):
            call(filled)

    def test_status_counts_everything(self, filled: Memory) -> None:
        """One look: head, standing, kinds, statuses, what is open."""
        status = filled.status()
        assert (status.records, status.seq, status.standing) == (7, 7, "equal")
        assert status.statuses == {"active": 4, "purged": 1, "superseded": 1}
        assert (status.conflicts, status.commitments_open, status.commitments_overdue) == (1, 1, 0)

    def test_a_focus_keeps_what_recalls_bring(self, filled: Memory) -> None:
        """It starts empty, as large as the policy says, and absorbs a reply's results."""
        empty = filled.focus()
        assert (empty.held, empty.capacity) == ((), filled.policy.working_set_limit)
        reply = filled.recall("deploy window")
        kept = empty.absorb(reply.results)
        assert {one.id for one in kept.held} == {result.id for result in reply.results}


class TestAsOf:
    def test_a_receipt_can_be_replayed(self, repo: Path, filled: Memory) -> None:
        """The same question as of the receipt's head: the same bytes after 500 other writes.

        Among them each kind that would change the answer: a correction of what was found, a
        purge, a contradiction, and near-copies in crowds.
        """
        question = "which port does ssh on alpha use, and when is the deploy window"
        first = filled.recall(question)
        found = [result.id for result in first.results]
        filled.remember("ssh on alpha moved to port 22022", supersedes=found[0])
        filled.purge(found[1], reason="no longer so")
        filled.remember("the deploy window is sunday", claim=("deploy", "sun"), source="ann")
        for batch in range(7):
            filled.remember_batch(
                {"content": f"ssh on alpha, window {batch}, note {n}"} for n in range(70)
            )
        for n in range(7):
            filled.remember(f"alpha's port of ssh, said once more: {n}")
        assert filled.status().records == 7 + 500
        receipt = first.receipt
        with Memory.open(repo, environ={}, now_ms=receipt.now_ms) as later:
            replayed = later.recall(question, as_of=receipt.head)
            assert msgspec.json.encode(replayed) == msgspec.json.encode(first)
            assert later.recall(question) != first

    def test_a_sequence_number(self, filled: Memory) -> None:
        """Before its correction the old value was the answer."""
        found = filled.recall("ssh port alpha", as_of=1)
        assert [r.trace.content for r in found.results] == ["SSH port of host alpha is 22"]

    def test_a_time(self, filled: Memory) -> None:
        """What was written up to it, with its clock."""
        found = filled.recall("deploy window", as_of=str(NOW_MS))
        assert found.total == 0
        assert found.receipt.now_ms == NOW_MS

    @pytest.mark.parametrize("commit", ["e" * 40, "blob"], ids=["nowhere", "not a commit"])
    def test_a_commit_that_is_none_of_the_ledger(
        self, repo: Path, filled: Memory, commit: str
    ) -> None:
        """A commit outside the ledger's history is not found."""
        if commit == "blob":
            commit = world.git(repo, "hash-object", "-w", "--stdin", text="x")
        with pytest.raises(NotFoundError, match="history"):
            filled.recall("x", as_of=commit)

    def test_a_commit_of_a_joined_history(self, repo: Path, filled: Memory) -> None:
        """After a join a commit's history is no prefix by number; it is answered exactly."""
        base = world.git(repo, "rev-parse", world.REF)
        left = filled.remember("the left side knows of llamas").commit
        before = filled.recall("llamas and ostriches", as_of=left)
        world.git(repo, "update-ref", world.REF, base)
        filled.reset_head()
        right = filled.remember("the right side knows of ostriches").commit
        world.git(repo, "update-ref", world.REF, world.join(repo, left, right))
        assert filled.recall("llamas and ostriches").total == 2
        replayed = filled.recall("llamas and ostriches", as_of=left)
        assert (replayed.results, replayed.receipt) == (before.results, before.receipt)


class TestIndex:
    """The index is derived: whatever happens to it, the answers are right."""

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda p: p.unlink(), id="deleted"),
            pytest.param(lambda p: p.write_bytes(b""), id="empty"),
            pytest.param(lambda p: p.write_bytes(b"garbage " * 4_000), id="garbage"),
            pytest.param(lambda p: p.write_bytes(p.read_bytes()[:9_000]), id="truncated"),
            pytest.param(_scribble, id="scribbled over"),
            pytest.param(lambda p: _set_header(p, "format", "0"), id="older format"),
            pytest.param(lambda p: _set_header(p, "head", "e" * 40), id="head of nowhere"),
            pytest.param(lambda p: _set_header(p, "ledger", "f" * 32), id="another ledger's"),
        ],
    )
    def test_damage_is_silently_made_good(
        self, repo: Path, filled: Memory, damage: Callable[[Path], object]
    ) -> None:
        """Deleted, cut, overwritten, old or foreign: the same answer, no error."""
        before = filled.recall("deploy window on friday").results
        filled.close()
        damage(repo / ".git/hikmah/memory/index.db")
        with Memory.open(repo, environ={}, clock=ticking()) as memory:
            after = memory.recall("deploy window on friday").results
            assert [r.id for r in after] == [r.id for r in before]
            memory.remember("and writing goes on")
            assert memory.verify().ok

    @pytest.mark.parametrize(
        "write",
        [
            pytest.param(lambda m, one, two: m.supersede(one, two), id="supersede"),
            pytest.param(lambda m, one, _: m.purge(one[:12], reason="wrong"), id="purge"),
            pytest.param(lambda m, one, _: m.remember("right", supersedes=one), id="correct"),
            pytest.param(
                lambda m, one, two: m.remember("so", derived_from=[one, two]), id="conclude"
            ),
            pytest.param(
                lambda m, one, _: m.remember(verified=True, supersedes=one), id="verify a copy"
            ),
        ],
    )
    def test_damage_that_a_write_comes_upon_is_made_good(
        self, repo: Path, filled: Memory, write: Callable[[Memory, str, str], object]
    ) -> None:
        """A write reads the index too: records in it that do not inflate cost nothing."""
        one, two = (filled.log(source=name).items[0].id for name in ("lee", "kim"))
        filled.close()
        connection = sqlite3.connect(repo / ".git/hikmah/memory/index.db")
        connection.execute("UPDATE record SET data = x'0102030405060708'")
        connection.commit()
        connection.close()
        with Memory.open(repo, environ={}, clock=ticking()) as memory:
            write(memory, one, two)
            assert memory.log().total == 8
            assert memory.verify().ok

    def test_an_index_cut_anywhere_is_made_good(self, repo: Path, filled: Memory) -> None:
        """Whatever a torn page says in place of a value, the answer is the same."""
        before = filled.recall("deploy window host alpha report").results
        filled.close()
        path = repo / ".git/hikmah/memory/index.db"
        whole = path.read_bytes()
        for size in range(len(whole) - 2_048, 0, -4 * 4_096):
            for beside in path.parent.glob("index.db?*"):
                beside.unlink()
            path.write_bytes(whole[:size])
            with Memory.open(repo, environ={}, clock=ticking()) as memory:
                after = memory.recall("deploy window host alpha report").results
            assert [r.id for r in after] == [r.id for r in before]

    def test_a_rebuilt_index_gives_the_same_bytes(self, repo: Path, filled: Memory) -> None:
        """Rebuilt or grown, the answer is the same."""
        filled.close()
        with Memory.open(repo, environ={}, now_ms=NOW_MS) as memory:
            grown = memory.recall("deploy window host alpha report")
            done = memory.reindex()
            assert (done.records, memory.recall("deploy window host alpha report")) == (7, grown)

    def test_a_ledger_that_was_replaced(self, repo: Path, filled: Memory, tmp_path: Path) -> None:
        """Another ledger under the same ref is another memory."""
        other = world.repository(tmp_path / "other")
        with Memory.open(other, environ={}) as memory:
            memory.remember("something else entirely")
        world.git(repo, "fetch", "-q", str(other), f"+{world.REF}:{world.REF}")
        filled.close()
        with Memory.open(repo, environ={}) as memory:
            assert memory.recall("deploy window").total == 0
            assert memory.recall("else entirely").total == 1

    def test_the_index_can_be_kept_and_moved(self, repo: Path, filled: Memory) -> None:
        """A copy of the whole store answers the same."""
        filled.close()
        copy = repo.parent / "copy"
        shutil.copytree(repo, copy)
        with Memory.open(copy, environ={}) as memory:
            assert memory.recall("deploy window").total == 2

    def test_verification_warns_of_an_index_that_is_behind(
        self, repo: Path, filled: Memory
    ) -> None:
        """Commits that came by plain git are taken in, and said; the second time all is well."""
        known = filled.log(limit=1).total
        left = world.git(repo, "rev-parse", world.REF)
        with Memory.open(repo, environ={}, clock=ticking()) as other:
            other.remember("one more")
        newest = world.git(repo, "rev-parse", world.REF)
        filled.close()
        _set_header(repo / ".git/hikmah/memory/index.db", "head", left)
        report = filled.verify()
        assert report.ok
        assert [problem.code for problem in report.warnings] == ["index_behind"]
        assert left in report.warnings[0].text
        assert filled.verify().warnings == ()
        page = filled.log(limit=1)
        assert (page.total, page.items[0].text) == (known + 1, "one more")
        assert report.head is not None
        assert report.head.commit == newest


class TestDoctor:
    def told(self, memory: Memory) -> dict[str, tuple[str, str]]:
        return {f.subject: (f.level, f.run) for f in memory.doctor().findings}

    def test_a_healthy_ledger(self, filled: Memory) -> None:
        """Nothing to run but what a person may want."""
        report = filled.doctor()
        assert report.ok
        assert {f.subject for f in report.findings} >= {"store", "ledger", "index", "objects"}

    def test_a_lock_left_behind_is_named_with_its_age(self, repo: Path, filled: Memory) -> None:
        """Faults rows 3 and 7: a stale lock is told by path and age, with what to do."""
        lock = repo / ".git" / f"{world.REF}.lock"
        lock.touch()
        report = filled.doctor()
        (found,) = [f for f in report.findings if f.subject == "locks"]
        assert not report.ok
        assert str(lock) in found.detail
        assert "s old" in found.detail
        assert "rm" in found.run

    def test_a_ledger_in_disagreement(self, repo: Path, filled: Memory) -> None:
        """What verification would say is hinted at."""
        world.git(repo, "update-ref", world.REF, f"{world.REF}^")
        assert self.told(filled)["ledger"] == ("problem", "hikmah verify-ledger")

    def test_a_damaged_ref(self, repo: Path, filled: Memory) -> None:
        """A ref that holds nonsense is a finding and not a crash."""
        (repo / ".git" / world.REF).write_text("nonsense\n")
        assert self.told(filled)["ledger"] == ("problem", "hikmah repair")
        assert self.told(filled)["index"][0] == "note"

    def test_backups_are_counted(self, repo: Path, filled: Memory) -> None:
        """Heads kept before a join are listed with how to let go of them."""
        world.git(repo, "update-ref", "refs/hikmah-backup/memory/1", world.REF)
        world.git(repo, "pack-refs", "--all")
        world.git(repo, "update-ref", "refs/hikmah-backup/memory/2", world.REF)
        assert self.told(filled)["backups"][0] == "note"

    def test_an_empty_repository(self, repo: Path) -> None:
        """Before the first write there is nothing wrong, and the way on is said."""
        with Memory.open(repo, environ={"CLAUDECODE": "1"}) as memory:
            told = self.told(memory)
        assert told["ledger"] == ("note", "hikmah init")
        assert told["index"][0] in {"ok", "note"}


class TestUpkeep:
    def test_compacting_changes_no_answer(self, repo: Path, filled: Memory) -> None:
        """Packed or loose, the ledger verifies, answers and takes writes as before."""
        before = [r.id for r in filled.recall("deploy window").results]
        report = filled.compact()
        assert report.loose_removed > 0
        assert filled.verify().ok
        assert [r.id for r in filled.recall("deploy window").results] == before
        assert filled.remember("and on").seq == 8
        world.git(repo, "gc", "-q", "--prune=now", "--aggressive")
        world.git(repo, "fsck", "--full", "--strict")
        assert filled.verify().ok

    def test_a_damaged_newest_record_is_repaired(self, repo: Path, filled: Memory) -> None:
        """After a power cut emptied the newest objects, the ref goes back to what is whole."""
        last = filled.remember("lost to the power cut")
        tree = world.git(repo, "rev-parse", f"{last.commit}^{{tree}}")
        filled.close()
        for oid in (last.id, last.commit, tree):
            path = repo / ".git/objects" / oid[:2] / oid[2:]
            path.chmod(0o644)
            path.write_bytes(b"")
        assert not filled.verify().ok
        report = filled.repair()
        assert report.before == last.commit
        assert report.after.seq == 7
        assert filled.verify().ok
        assert filled.recall("deploy window").total == 2
        assert filled.remember("again").seq == 8

    def test_an_agent_does_not_repair(self, repo: Path, filled: Memory) -> None:
        """Moving a ref back is a person's decision."""
        assert filled.verify().ok
        with (
            Memory.open(repo, environ={"CLAUDECODE": "1"}) as agent,
            pytest.raises(AgentSessionError, match="repair"),
        ):
            agent.repair()


class TestCrowds:
    """Thousands of traces that are alike: questions stay bounded, answers stay right."""

    COUNT = 1_500  # more than recall folds among

    def test_numbered_traces_do_not_hide_each_other(self, memory: Memory) -> None:
        """Faults row 22: one of many that differ by a number is found, and only that one."""
        memory.remember_batch({"content": f"batch {n}"} for n in range(self.COUNT))
        found = memory.recall("batch 17")
        assert [r.trace.content for r in found.results] == ["batch 17"]
        every = memory.recall("batch", limit=8)
        assert (len(every.results), every.total, every.truncated) == (8, self.COUNT, True)

    def test_copies_fold_into_one(self, memory: Memory) -> None:
        """Faults row 15: endless re-captures are one result, with the copies it stands for."""
        memory.remember_batch(
            {"content": "the same sentence again", "source": f"s{n}"} for n in range(self.COUNT)
        )
        found = memory.recall("same sentence")
        assert len(found.results) == 1
        assert found.results[0].duplicate_count == POOL - 1
        assert (found.total, found.truncated) == (self.COUNT, True)


MISTYPED: list[tuple[str, Callable[[Any], object], str]] = [
    ("a number as question", lambda m: m.recall(5), "$.text"),
    ("a text as limit", lambda m: m.recall("x", limit="5"), "$.limit"),
    ("half a limit", lambda m: m.recall("x", limit=1.5), "$.limit"),
    ("one text for tags", lambda m: m.recall("x", tags="ops"), "$.tags"),
    ("a number as tag", lambda m: m.recall("x", tags=[5]), "$.tags[0]"),
    ("a number for kinds", lambda m: m.recall("x", kinds=5), "$.kinds"),
    ("NaN as time", lambda m: m.recall("x", since_ms=float("nan")), "$.since_ms"),
    ("NaN as time of a log", lambda m: m.log(since_ms=float("nan")), "since_ms"),
    ("a text as time of a log", lambda m: m.log(until_ms="1"), "until_ms"),
    ("a number as source", lambda m: m.log(source=5), "source"),
    ("a list as kind", lambda m: m.log(kind=["belief"]), "kind"),
    ("a text as length of a log", lambda m: m.log(limit="5"), "limit"),
    ("true as limit", lambda m: m.conflicts(limit=True), "limit"),
    ("a text as horizon", lambda m: m.commitments(within_hours="168"), "within_hours"),
    ("NaN as horizon", lambda m: m.commitments(within_hours=float("nan")), "within_hours"),
]


@pytest.mark.parametrize(("call", "where"), [pytest.param(c, w, id=i) for i, c, w in MISTYPED])
def test_a_mistyped_argument_is_named(
    filled: Memory, call: Callable[[Any], object], where: str
) -> None:
    """No value of a wrong type gets so far that Python has words for it."""
    with pytest.raises(InvalidInputError) as caught:
        call(filled)
    assert caught.value.where == where
