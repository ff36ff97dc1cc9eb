"""Join: every case, the same result on both machines, and never half of one."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from hikmah.errors import BusyError, IntegrityError, NotFoundError, RefusedError, StoreError
from hikmah.ledger import append as appending
from hikmah.ledger.append import start
from hikmah.ledger.chain import FORMAT, Genesis
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.objects import parse_commit
from hikmah.model.records import Record, Stored, Supersede, blob_id, canonical
from hikmah.model.trace import Provenance
from hikmah.remotes import backups
from hikmah.remotes import join as joining
from hikmah.remotes.join import Arrival, JoinOutcome, join
from tests import world

NOW_MS = 1_900_000_000_000


def joined(mine: Ledger, theirs: Ledger, now_ms: int = NOW_MS) -> JoinOutcome:
    """Bring another machine's head by plain git and join it."""
    return join(mine, world.bring(mine, theirs), now_ms=now_ms, lock_timeout_s=5)


@pytest.fixture
def a(tmp_path: Path) -> Ledger:
    """The first machine: two records."""
    ledger = world.ledger(world.repository(tmp_path / "a"))
    world.put(ledger, "one")
    world.put(ledger, "two")
    return ledger


@pytest.fixture
def b(tmp_path: Path, a: Ledger) -> Ledger:
    """The second machine, which had what the first one has now."""
    ledger = world.other_machine(tmp_path / "b", a)
    joined(ledger, a)
    return ledger


def written(ledger: Ledger, record: Record | str) -> str:
    """Append a record and return its id."""
    world.put(ledger, record)
    return blob_id(canonical(world.trace(record) if isinstance(record, str) else record))


def paths(ledger: Ledger) -> dict[str, str]:
    """Return the files of a ledger by path, read by git alone."""
    listed = world.git(ledger.store.common_dir, "ls-tree", "-r", ledger.ref).splitlines()
    return {line.split("\t")[1]: line.split("\t")[0].split(" ")[2] for line in listed}


def head(ledger: Ledger) -> str:
    """Return what a ledger's ref holds, read by git alone."""
    return world.git(ledger.store.common_dir, "rev-parse", ledger.ref)


def parents(ledger: Ledger) -> list[str]:
    """Return the head's parents, read by git alone."""
    repo = ledger.store.common_dir
    return world.git(repo, "log", "-1", "--format=%P", ledger.ref).split()


def backup_refs(ledger: Ledger) -> dict[str, str]:
    """Return the backups by name, read by git alone."""
    repo = ledger.store.common_dir
    form = "--format=%(refname) %(objectname)"
    listed = world.git(repo, "for-each-ref", form, "refs/hikmah-backup").splitlines()
    return {line.split(" ")[0]: line.split(" ")[1] for line in listed}


class TestCases:
    def test_case_1_the_same_head_changes_nothing(self, a: Ledger, b: Ledger) -> None:
        """Two machines with one head have nothing to join, and no backup is made."""
        outcome = joined(b, a)
        assert (outcome.kind, outcome.old, outcome.head) == ("same", head(a), head(a))
        assert backup_refs(b) == {}

    def test_case_2_a_machine_that_is_behind_moves_forward(self, a: Ledger, b: Ledger) -> None:
        """The ref moves to the incoming head itself: no commit is made for it."""
        before = head(b)
        world.put(a, "three")
        world.put(a, "four")
        outcome = joined(b, a)
        assert (outcome.kind, outcome.commits, outcome.seq) == ("forward", 2, 4)
        assert head(b) == head(a) == outcome.head
        assert backup_refs(b) == {f"refs/hikmah-backup/memory/{NOW_MS}": before}
        assert b.state.read_head() == Head(commit=outcome.head, seq=4)
        world.check_sound(b)

    def test_case_3_a_machine_that_is_ahead_stays(self, a: Ledger, b: Ledger) -> None:
        """What the other one has is here already."""
        world.put(b, "three")
        before = head(b)
        outcome = joined(b, a)
        assert (outcome.kind, outcome.head) == ("ahead", before)
        assert head(b) == before
        assert backup_refs(b) == {}

    def test_case_4_machines_that_diverged_make_one_and_the_same_commit(
        self, a: Ledger, b: Ledger
    ) -> None:
        """Each joins the other's head; the commit, and so the ledger, is the same on both."""
        world.put(a, "three from a")
        world.put(b, "three from b")
        world.put(b, "four from b")
        heads = [head(a), head(b)]
        from_b, from_a = world.bring(a, b), world.bring(b, a)
        on_a = join(a, from_b, now_ms=NOW_MS, lock_timeout_s=5)
        on_b = join(b, from_a, now_ms=NOW_MS + 5, lock_timeout_s=5)
        assert (on_a.kind, on_a.commits) == ("merged", 2)
        assert (on_b.kind, on_b.commits) == ("merged", 1)
        assert on_a.head == on_b.head == head(a) == head(b)
        assert parents(a) == sorted(heads)
        assert joined(a, b).kind == joined(b, a).kind == "same"
        for ledger in (a, b):
            world.check_sound(ledger)

    def test_case_4_the_tree_is_the_union(self, a: Ledger, b: Ledger) -> None:
        """Every file of either side, none changed, none added; two may share a number."""
        world.put(a, "three from a")
        world.put(b, "three from b")
        expected = paths(a) | paths(b)
        outcome = joined(a, b)
        assert paths(a) == expected
        assert outcome.seq == 3
        assert len([p for p in expected if p.startswith("records/0000/00/03-")]) == 2

    def test_case_4_the_merge_says_who_and_when_by_its_parents_alone(
        self, a: Ledger, b: Ledger
    ) -> None:
        """Author, committer, time and message do not depend on the machine."""
        repo = a.store.common_dir
        world.git(repo, "config", "user.name", "Somebody")
        world.git(repo, "config", "user.email", "somebody@example.org")
        world.put(a, "three from a")
        world.put(b, "three from b")
        joined(a, b)
        shown = world.git(repo, "log", "-1", "--format=%an <%ae> %ad|%cn <%ce> %cd|%s", a.ref)
        date = "Thu Jan 1 00:00:02 1970 +0000"
        one = f"hikmah <hikmah@localhost> {date}"
        assert shown == f"{one}|{one}|merge: two heads of one ledger"

    def test_case_4_writing_goes_on_after_a_join(self, a: Ledger, b: Ledger) -> None:
        """The next record gets the number after the largest of both sides."""
        world.put(a, "three from a")
        for n in range(3):
            world.put(b, f"{n} from b")
        joined(a, b)
        assert world.put(a, "next").tip.seq == 6
        world.check_sound(a)

    def test_case_5_another_beginning_is_refused_with_the_way_round(
        self, a: Ledger, tmp_path: Path
    ) -> None:
        """Both ledgers are named, nothing changes, and the way to take records over is told."""
        other = world.ledger(world.repository(tmp_path / "other"), started=False)
        genesis = Genesis(format=FORMAT, ledger="0bad" * 8, name="memory", created_at_ms=0)
        start(other, genesis, time_s=1, lock_timeout_s=5)
        before = head(a)
        with pytest.raises(RefusedError, match=f"{world.LEDGER_ID}.*{'0bad' * 8}") as caught:
            joined(a, other)
        for word in ("export --to jsonl", "clone", "import --from jsonl"):
            assert word in caught.value.hint
        assert head(a) == before
        assert backup_refs(a) == {}

    def test_case_5_a_branch_of_a_project_is_no_ledger(self, a: Ledger) -> None:
        """A commit of something else altogether is told for what it is."""
        repo = a.store.repository.root
        (repo / "file").write_text("x")
        world.git(repo, "add", "file")
        world.git(repo, "commit", "-q", "-m", "one")
        with pytest.raises(RefusedError, match="of no ledger"):
            join(a, world.git(repo, "rev-parse", "HEAD"), now_ms=NOW_MS, lock_timeout_s=5)

    def test_case_6_what_does_not_verify_is_refused_naming_commit_and_reason(
        self, a: Ledger, b: Ledger
    ) -> None:
        """An edited record changes nothing here."""
        repo = b.store.common_dir
        empty = world.git(repo, "commit-tree", f"{b.ref}^{{tree}}", "-p", b.ref, "-m", "tampered")
        world.git(repo, "update-ref", b.ref, empty)
        before = head(a)
        with pytest.raises(IntegrityError, match=f"commit {empty}: the commit adds nothing"):
            joined(a, b)
        assert head(a) == before
        assert a.standing().kind == "equal"
        assert backup_refs(a) == {}

    def test_case_6_a_second_beginning_behind_a_merge_is_refused(
        self, a: Ledger, b: Ledger, tmp_path: Path
    ) -> None:
        """Another ledger cannot be brought in beside this one's own history."""
        other = world.ledger(world.repository(tmp_path / "other"), started=False)
        genesis = Genesis(format=FORMAT, ledger="0bad" * 8, name="memory", created_at_ms=0)
        start(other, genesis, time_s=1, lock_timeout_s=5)
        foreign = world.bring(b, other)
        merge = world.join(b.store.repository.root, head(b), foreign)
        world.git(b.store.common_dir, "update-ref", b.ref, merge)
        before = head(a)
        with pytest.raises(IntegrityError):
            joined(a, b)
        assert head(a) == before

    def test_case_7_a_ledger_with_commits_nobody_acknowledged_joins_nothing(
        self, a: Ledger, b: Ledger
    ) -> None:
        """What a foreign program put here must be decided on first."""
        world.put(a, "three from a")
        repo = b.store.common_dir
        foreign = world.git(repo, "commit-tree", f"{b.ref}^{{tree}}", "-p", b.ref, "-m", "x")
        world.git(repo, "update-ref", b.ref, foreign)
        with pytest.raises(IntegrityError, match=foreign) as caught:
            joined(b, a)
        assert "--accept-tail" in caught.value.hint
        assert head(b) == foreign

    def test_case_7_a_ledger_whose_tail_was_cut_joins_nothing(self, a: Ledger, b: Ledger) -> None:
        """A join must not cover up that acknowledged records were taken away."""
        world.put(b, "three from b")
        world.git(b.store.common_dir, "update-ref", b.ref, f"{b.ref}^")
        world.put(a, "three from a")
        with pytest.raises(IntegrityError, match="lacks the 1 newest"):
            joined(b, a)

    def test_case_7_a_damaged_ledger_joins_nothing(self, a: Ledger, b: Ledger) -> None:
        """A commit that cannot be read stops the join before anything is written."""
        world.put(b, "three from b")
        world.put(b, "four from b")
        world.put(a, "three from a")
        incoming = world.bring(b, a)
        lost = b.store.loose_path(world.git(b.store.common_dir, "rev-parse", f"{b.ref}^"))
        lost.unlink()
        with pytest.raises(IntegrityError, match="cannot be compared") as caught:
            join(b, incoming, now_ms=NOW_MS, lock_timeout_s=5)
        assert "verify-ledger" in caught.value.hint
        assert b.standing().kind == "equal"

    def test_case_7_a_copy_that_was_never_acknowledged_is_verified_whole_and_adopted(
        self, a: Ledger, tmp_path: Path
    ) -> None:
        """A plain `git fetch` of the ledger can be joined at once, and says that it was adopted."""
        c = world.other_machine(tmp_path / "c", a)
        world.put(a, "three")
        outcome = joined(c, a)
        assert (outcome.kind, outcome.adopted) == ("forward", True)
        assert c.standing().kind == "equal"

    def test_case_7_an_unacknowledged_copy_is_anchored_even_with_nothing_to_join(
        self, a: Ledger, tmp_path: Path
    ) -> None:
        """It was verified: from here on it is remembered."""
        c = world.other_machine(tmp_path / "c", a)
        outcome = joined(c, a)
        assert (outcome.kind, outcome.adopted) == ("same", True)
        assert c.state.read_head() == Head(commit=head(a), seq=2)
        assert not joined(c, a).adopted

    def test_case_7_an_unacknowledged_copy_that_does_not_verify_is_not_adopted(
        self, a: Ledger, tmp_path: Path
    ) -> None:
        """Whoever forged it must not have it acknowledged by a join."""
        c = world.other_machine(tmp_path / "c", a)
        repo = c.store.common_dir
        forged = world.git(repo, "commit-tree", f"{c.ref}^{{tree}}", "-p", c.ref, "-m", "forged")
        world.git(repo, "update-ref", c.ref, forged)
        world.put(a, "three")
        with pytest.raises(IntegrityError, match="does not verify, so nothing is joined"):
            joined(c, a)
        assert c.state.read_head() is None

    def test_case_7_an_unacknowledged_copy_that_moves_while_it_is_verified_is_not_adopted(
        self, a: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What stands there now was not looked at."""
        c = world.other_machine(tmp_path / "c", a)
        repo = c.store.common_dir
        forged = world.git(repo, "commit-tree", f"{c.ref}^{{tree}}", "-p", c.ref, "-m", "forged")
        world.put(a, "three")
        incoming = world.bring(c, a)
        real = appending.locked

        def late(ledger: Ledger, timeout_s: float) -> object:
            world.git(repo, "update-ref", c.ref, forged)
            return real(ledger, timeout_s)

        monkeypatch.setattr("hikmah.remotes.join.locked", late)
        with pytest.raises(BusyError, match=f"to {forged} while it was verified"):
            join(c, incoming, now_ms=NOW_MS, lock_timeout_s=5)
        assert c.state.read_head() is None

    @pytest.mark.parametrize("ahead", [False, True], ids=["to merge", "ahead"])
    def test_case_7_a_copy_that_moves_after_it_was_compared_is_not_adopted(
        self, a: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ahead: bool
    ) -> None:
        """What was verified is what is acknowledged, never what the ref holds a moment later."""
        c = world.other_machine(tmp_path / "c", a)
        repo = c.store.common_dir
        looked_at = c.tip_commit()
        forged = world.git(repo, "commit-tree", f"{c.ref}^{{tree}}", "-p", c.ref, "-m", "forged")
        if not ahead:
            world.put(a, "three")
        incoming = world.bring(c, a)
        real = joining._try

        def late(*args: Any, **more: Any) -> object:
            world.git(repo, "update-ref", c.ref, forged)
            return real(*args, **more)

        monkeypatch.setattr(joining, "_try", late)
        if ahead:
            join(c, incoming, now_ms=NOW_MS, lock_timeout_s=5)
        else:
            with pytest.raises(BusyError, match="while it was verified"):
                join(c, incoming, now_ms=NOW_MS, lock_timeout_s=5)
        head = c.state.read_head()
        assert (head and head.commit) == (looked_at if ahead else None)

    def test_case_8_another_object_format_is_refused(self, a: Ledger) -> None:
        """Ids of another length belong to another kind of repository."""
        with pytest.raises(RefusedError, match=r"64 digits.*have 40") as caught:
            join(a, "e" * 64, now_ms=NOW_MS, lock_timeout_s=5)
        assert "export --to jsonl" in caught.value.hint

    def test_no_ledger_here_is_not_found(self, a: Ledger, tmp_path: Path) -> None:
        """There is nothing to join to; the way to get a ledger is told."""
        empty = world.ledger(world.repository(tmp_path / "empty"), started=False)
        incoming = world.bring(empty, a)
        with pytest.raises(NotFoundError) as caught:
            join(empty, incoming, now_ms=NOW_MS, lock_timeout_s=5)
        assert "hikmah clone" in caught.value.hint

    def test_a_head_that_is_not_there_is_told(self, a: Ledger) -> None:
        """A head whose objects were never brought cannot be compared."""
        with pytest.raises(IntegrityError, match="e" * 40):
            join(a, "e" * 40, now_ms=NOW_MS, lock_timeout_s=5)


class TestSameRecords:
    """What both machines wrote alike."""

    def test_one_record_at_one_path_is_one_file(self, a: Ledger, b: Ledger) -> None:
        """The same bytes at the same number are the same file."""
        world.put(a, "both")
        world.put(b, "both")
        world.put(b, "more")
        assert joined(a, b).seq == 4
        assert len(paths(a)) == 5
        world.check_sound(a)

    def test_one_record_at_two_paths_stands_at_both_and_is_told_once(
        self, a: Ledger, b: Ledger
    ) -> None:
        """Nothing is removed; what arrives lists the record once, at its smaller number."""
        world.put(a, "first on a")
        world.put(a, "both")
        world.put(b, "both")
        arrived: list[Stored] = []
        incoming = world.bring(a, b)
        join(
            a,
            incoming,
            now_ms=NOW_MS,
            lock_timeout_s=5,
            arriving=lambda x: arrived.extend(x.stored),
        )
        both = blob_id(canonical(world.trace("both")))
        assert sorted(p for p, oid in paths(a).items() if oid == both) == [
            f"records/0000/00/03-remember-{both[:12]}.json",
            f"records/0000/00/04-remember-{both[:12]}.json",
        ]
        assert [(s.seq, s.id) for s in arrived] == [(3, both)]
        world.check_sound(a)

    def test_the_same_trees_by_other_commits_still_join(self, a: Ledger, b: Ledger) -> None:
        """A batch here, two commits there: one tree, and nothing to write but the merge."""
        world.put(a, "x", "y")
        world.put(b, "x")
        world.put(b, "y")
        assert joined(a, b).kind == "merged"
        world.check_sound(a)

    def test_two_ids_that_share_their_path_are_refused_with_both_ids(
        self, a: Ledger, b: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """48 equal bits of two ids: told, with both ids and the path, and nothing changes."""
        monkeypatch.setattr("hikmah.ledger.chain.ID_DIGITS_IN_PATH", 0)
        monkeypatch.setattr("hikmah.remotes.join.examine", lambda *_: Nothing)
        one = written(a, "three from a")
        other = written(b, "three from b")
        before = head(a)
        with pytest.raises(RefusedError, match=f"records/0000/00/03-.*{one}.*{other}"):
            joined(a, b)
        assert head(a) == before


class Nothing:
    """A report of incoming commits with nothing wrong in it."""

    errors = ()


class TestManyMachines:
    def test_three_machines_make_merges_of_two(self, a: Ledger, b: Ledger, tmp_path: Path) -> None:
        """Never an octopus: three heads take two merges."""
        c = world.other_machine(tmp_path / "c", a)
        for name, ledger in (("a", a), ("b", b), ("c", c)):
            world.put(ledger, f"from {name}")
        joined(a, b)
        assert len(parents(a)) == 2
        joined(a, c)
        assert len(parents(a)) == 2
        assert joined(b, a).kind == joined(c, a).kind == "forward"
        assert head(a) == head(b) == head(c)
        world.check_sound(c)

    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
    def test_any_order_of_joins_gives_one_tree(
        self, a: Ledger, b: Ledger, tmp_path: Path, order: tuple[int, ...]
    ) -> None:
        """Which machine joins first changes commits, never records."""
        c = world.other_machine(tmp_path / "c", a)
        ledgers = [a, b, c]
        for n, ledger in enumerate(ledgers):
            for m in range(n + 1):
                world.put(ledger, f"{m} from {n}")
        expected = paths(a) | paths(b) | paths(c)
        first, second, third = (ledgers[n] for n in order)
        joined(first, second)
        joined(third, first)
        assert paths(third) == expected

    def test_machines_that_keep_joining_each_other_come_to_rest(
        self, a: Ledger, b: Ledger, tmp_path: Path
    ) -> None:
        """Each joins each in turn until nothing moves: soon, with one head and few merges."""
        c = world.other_machine(tmp_path / "c", a)
        ledgers = [a, b, c]
        for n, ledger in enumerate(ledgers):
            world.put(ledger, f"from {n}")
        rounds = 0
        moved = {""}
        while moved != {"same"} and rounds < 10:
            rounds += 1
            moved = {joined(*pair).kind for pair in itertools.permutations(ledgers, 2)}
        assert rounds <= 3
        assert len({head(ledger) for ledger in ledgers}) == 1
        merges = world.git(a.store.common_dir, "rev-list", "--count", "--merges", a.ref)
        assert int(merges) <= 3

    def test_both_join_the_other_at_once_and_nothing_is_left_to_do(
        self, a: Ledger, b: Ledger
    ) -> None:
        """Crossing joins do not bounce: the second exchange finds one head, not a new merge."""
        for n in range(5):
            world.put(a, f"{n} from a")
            world.put(b, f"{n} from b")
            from_b, from_a = world.bring(a, b), world.bring(b, a)
            one = join(a, from_b, now_ms=NOW_MS, lock_timeout_s=5)
            other = join(b, from_a, now_ms=NOW_MS, lock_timeout_s=5)
            assert one.head == other.head
        merges = world.git(a.store.common_dir, "rev-list", "--count", "--merges", a.ref)
        assert merges == "5"


class TestRow10:
    """Faults row 10: a revoked entry returns, links dangle, entries get new ids."""

    @pytest.mark.parametrize("first", ["a", "b"])
    def test_a_supersession_survives_every_exchange(self, a: Ledger, b: Ledger, first: str) -> None:
        """Links hold, what was superseded stays so, and both machines end up alike."""
        old = blob_id(canonical(world.trace("one")))
        new = written(a, "one, corrected")
        link = Supersede(id=old, by=new, at_ms=5, provenance=Provenance(source="user"))
        switch = written(a, link)
        other = written(b, "unrelated, from b")
        mine, theirs = (a, b) if first == "a" else (b, a)
        joined(mine, theirs)
        joined(theirs, mine)
        assert head(a) == head(b)
        for ledger in (a, b):
            assert {old, new, switch, other} <= set(paths(ledger).values())
            world.check_sound(ledger)


class TestArriving:
    def test_it_is_told_what_is_new_before_the_ref_moves(self, a: Ledger, b: Ledger) -> None:
        """The records between old and new tip, in order, while the ref still holds the old."""
        world.put(a, "three from a")
        world.put(b, "three from b")
        world.put(b, "four from b")
        told: list[tuple[str | None, Arrival, list[str]]] = []

        def arriving(arrival: Arrival) -> None:
            told.append((a.tip_commit(), arrival, [s.id for s in arrival.stored]))

        before = head(a)
        incoming = world.bring(a, b)
        outcome = join(a, incoming, now_ms=NOW_MS, lock_timeout_s=5, arriving=arriving)
        ((ref, arrival, ids),) = told
        assert (ref, arrival.old.commit, arrival.new.commit) == (before, before, outcome.head)
        assert ids == [blob_id(canonical(world.trace(f"{n} from b"))) for n in ("three", "four")]

    def test_an_error_in_it_changes_nothing(self, a: Ledger, b: Ledger) -> None:
        """Whoever looks at what arrives can stop it."""
        world.put(b, "three from b")
        incoming = world.bring(a, b)
        before = head(a)

        def refuse(_: Arrival) -> None:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            join(a, incoming, now_ms=NOW_MS, lock_timeout_s=5, arriving=refuse)
        assert (head(a), backup_refs(a)) == (before, {})


class TestRaces:
    def test_a_writer_between_is_joined_too(
        self, a: Ledger, b: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An append on this machine after the check and before the lock is no obstacle."""
        world.put(b, "three from b")
        incoming = world.bring(a, b)
        real = appending.locked

        def late(ledger: Ledger, timeout_s: float) -> object:
            monkeypatch.undo()
            world.put(a, "just now")
            return real(ledger, timeout_s)

        monkeypatch.setattr("hikmah.remotes.join.locked", late)
        outcome = join(a, incoming, now_ms=NOW_MS, lock_timeout_s=5)
        assert outcome.kind == "merged"
        assert len(paths(a)) == 5
        world.check_sound(a)

    def test_a_foreign_move_is_refused_and_not_covered(
        self, a: Ledger, b: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A program that moves the ref while we do loses nothing: the next round refuses."""
        world.put(b, "three from b")
        incoming = world.bring(a, b)
        repo = a.store.common_dir
        foreign = world.git(repo, "commit-tree", f"{a.ref}^{{tree}}", "-p", a.ref, "-m", "x")
        real = backups.keep

        def keep(ledger: Ledger, commit: str, *, now_ms: int) -> str:
            world.git(repo, "update-ref", a.ref, foreign)
            return real(ledger, commit, now_ms=now_ms)

        monkeypatch.setattr(backups, "keep", keep)
        with pytest.raises(IntegrityError, match=foreign):
            join(a, incoming, now_ms=NOW_MS, lock_timeout_s=5)
        assert head(a) == foreign

    def test_a_ref_that_never_stands_still_ends_as_busy(
        self, a: Ledger, b: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Rounds are bounded."""
        world.put(b, "three from b")
        incoming = world.bring(a, b)
        monkeypatch.setattr("hikmah.remotes.join.publish", lambda *_: "lost")
        with pytest.raises(BusyError, match="times in a row"):
            join(a, incoming, now_ms=NOW_MS, lock_timeout_s=5)


class TestRepositories:
    def test_a_join_of_many_trees_is_written_as_one_pack(
        self, a: Ledger, b: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As a batch is: and both ways give the same commit."""
        world.put(a, "three from a")
        world.put(b, "three from b")
        from_b, from_a = world.bring(a, b), world.bring(b, a)
        loose = join(a, from_b, now_ms=NOW_MS, lock_timeout_s=5)
        monkeypatch.setattr("hikmah.ledger.append.PACK_FROM_OBJECTS", 2)
        packed = join(b, from_a, now_ms=NOW_MS, lock_timeout_s=5)
        assert packed.head == loose.head
        assert not b.store.loose_path(packed.head).exists()
        world.check_sound(b)
        assert list((b.store.objects_dir / "pack").glob("*.keep")) == []

    def test_a_ref_in_the_way_of_backups_is_named(self, a: Ledger, b: Ledger) -> None:
        """A backup beside it would leave git with a name that is a folder and a ref."""
        world.git(a.store.common_dir, "update-ref", "refs/hikmah-backup/memory", a.ref)
        world.git(a.store.common_dir, "pack-refs", "--all")
        world.put(b, "three")
        before = head(a)
        with pytest.raises(StoreError, match="refs/hikmah-backup/memory is in the way"):
            joined(a, b)
        assert head(a) == before

    def test_sha256_repositories_join_the_same(self, tmp_path: Path) -> None:
        """Ids of 64 digits, from the genesis to the merge."""
        option = "--object-format=sha256"
        a = world.ledger(world.repository(tmp_path / "a", option))
        world.put(a, "one")
        b = world.other_machine(tmp_path / "b", a, option)
        world.put(a, "two from a")
        world.put(b, "two from b")
        from_b, from_a = world.bring(a, b), world.bring(b, a)
        one = join(a, from_b, now_ms=NOW_MS, lock_timeout_s=5)
        other = join(b, from_a, now_ms=NOW_MS, lock_timeout_s=5)
        assert one.head == other.head
        assert len(one.head) == 64
        world.check_sound(a)

    def test_packed_and_bare_repositories_join_the_same(self, a: Ledger, tmp_path: Path) -> None:
        """Packed refs and objects make no difference, nor does a missing work tree."""
        b = world.other_machine(tmp_path / "b", a, "--bare")
        world.put(a, "three from a")
        world.put(b, "three from b")
        for ledger in (a, b):
            world.git(ledger.store.common_dir, "gc", "-q")
            ledger.store.close()
        assert joined(a, b).kind == "merged"
        assert joined(b, a).kind == "forward"
        assert head(a) == head(b)
        world.check_sound(b)

    def test_the_work_tree_and_its_branches_stay_as_they_are(self, a: Ledger, b: Ledger) -> None:
        """A join is nothing to `git status`."""
        repo = a.store.repository.root
        (repo / "file").write_text("x")
        world.git(repo, "add", "file")
        world.git(repo, "commit", "-q", "-m", "one")
        before = world.git(repo, "rev-parse", "HEAD")
        world.put(a, "three from a")
        world.put(b, "three from b")
        joined(a, b)
        assert world.git(repo, "status", "--porcelain") == ""
        assert world.git(repo, "rev-parse", "HEAD") == before

    def test_another_ledger_of_the_repository_is_not_touched(self, a: Ledger, b: Ledger) -> None:
        """Each ledger has its own ref, state and backups."""
        side = world.ledger(a.store.repository.root, "side")
        world.put(side, "aside")
        before = head(side)
        world.put(b, "three from b")
        joined(a, b)
        assert head(side) == before
        assert side.standing().kind == "equal"
        assert list(backup_refs(a)) == [f"refs/hikmah-backup/memory/{NOW_MS}"]


class TestCost:
    def test_a_join_reads_what_differs(self, a: Ledger, tmp_path: Path) -> None:
        """The objects read do not grow with the ledger."""
        reads: list[int] = []
        for size in (1, 600):
            world.put(a, *[f"{size} {n}" for n in range(size)])
            for n in range(size // 20):
                world.put(a, f"{size} singly {n}")
            b = world.other_machine(tmp_path / f"b{size}", a)
            joined(b, a)
            world.put(a, f"{size} from a")
            world.put(b, f"{size} from b")
            incoming = world.bring(a, b)
            reads.append(count_reads(a, incoming))
        assert reads[1] <= reads[0] + 10, reads


def count_reads(ledger: Ledger, incoming: str) -> int:
    """Join and count the objects that were read."""
    real = ledger.store.read
    count = 0

    def read(oid: str) -> tuple[bytes, bytes]:
        nonlocal count
        count += 1
        return real(oid)

    ledger.store.read = read  # type: ignore[method-assign]  # a real store, watched
    assert join(ledger, incoming, now_ms=NOW_MS, lock_timeout_s=5).kind == "merged"
    ledger.store.read = real  # type: ignore[method-assign]  # as it was
    return count


def test_the_merge_is_what_verification_expects(a: Ledger, b: Ledger) -> None:
    """One rule makes the commit and checks it: its bytes follow from its parents."""
    world.put(a, "three from a")
    world.put(b, "three from b")
    outcome = joined(a, b)
    commit = parse_commit(a.store.read(outcome.head)[1])
    assert commit.parents == tuple(sorted((outcome.old, outcome.incoming)))
    assert commit.message == b"merge: two heads of one ledger\n"
