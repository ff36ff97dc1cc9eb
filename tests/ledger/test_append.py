"""Appends: what is acknowledged is there, whatever happens in between."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hikmah.errors import BusyError, IntegrityError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.append import append, settle, start
from hikmah.ledger.chain import FORMAT, Genesis
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.lock import writer_lock
from hikmah.model.records import blob_id, canonical
from tests import world
from tests.faultpoints import dies_at

# Every step is killed before, after and (for writes) half-way. More rounds repeat them all
# in other situations: HIKMAH_TEST_KILLS=500 is the figure in docs/evidence.md.
KILLS = int(os.environ.get("HIKMAH_TEST_KILLS", "120"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return world.ledger(world.repository(tmp_path / "repo"))


def foreign_commit(ledger: Ledger) -> str:
    """Return a commit that plain git put on top of the ledger's head; no ref moves."""
    repo = ledger.store.common_dir
    return world.git(repo, "commit-tree", f"{world.REF}^{{tree}}", "-p", world.REF, "-m", "x")


def overtaken_append(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write one record, and let plain git move the ref just before the next append does.

    Returns:
        The commit that git moves the ref to.
    """
    world.put(ledger, "one")
    repo, foreign = ledger.store.common_dir, foreign_commit(ledger)
    real = durable.link

    def link(source: Path, target: Path) -> None:
        monkeypatch.setattr(durable, "link", real)
        world.git(repo, "update-ref", world.REF, foreign)
        real(source, target)

    monkeypatch.setattr(durable, "link", link)
    return foreign


class TestAppend:
    def test_an_append_adds_one_file_and_moves_the_ref(self, ledger: Ledger) -> None:
        """One record is one commit that adds one file at the path of its number and id."""
        appended = world.put(ledger, "first")
        repo = ledger.store.common_dir
        added = world.git(repo, "diff", "--name-status", f"{world.REF}^", world.REF)
        record_id = blob_id(canonical(world.trace("first")))
        assert added == f"A\trecords/0000/00/01-remember-{record_id[:12]}.json"
        assert world.git(repo, "rev-parse", world.REF) == appended.tip.commit
        assert world.git(repo, "rev-parse", f"{world.REF}:{added[2:]}") == record_id

    def test_a_batch_is_one_commit_in_the_order_given(self, ledger: Ledger) -> None:
        """Records of a batch get the numbers that follow, in the order given."""
        appended = world.put(ledger, "b", "a", "c")
        assert (appended.old.seq, appended.tip.seq) == (0, 3)
        assert [json.loads(text)["content"] for text in world.contents(ledger)] == ["b", "a", "c"]
        assert world.git(ledger.store.common_dir, "rev-list", "--count", world.REF) == "2"

    def test_the_sequence_carries_over_every_level_of_the_path(self, ledger: Ledger) -> None:
        """Number 100 opens a new BB folder, number 10,000 a new AAAA folder."""
        world.put(ledger, *[f"t{n}" for n in range(99)])
        assert world.put(ledger, "hundredth").tip.seq == 100
        listing = world.git(
            ledger.store.common_dir, "ls-tree", "--name-only", f"{world.REF}:records/0000"
        )
        assert listing.split() == ["00", "01"]

    def test_nothing_prepared_writes_nothing(self, ledger: Ledger) -> None:
        """A `prepare` that returns no record leaves ref and objects alone."""
        before = ledger.tip_commit()
        assert append(ledger, lambda _: [], time_s=0, lock_timeout_s=1) is None
        assert ledger.tip_commit() == before

    def test_an_error_in_prepare_writes_nothing(self, ledger: Ledger) -> None:
        """Validation happens before a byte reaches git."""
        before = sorted(ledger.store.objects_dir.rglob("*"))

        def refuse(_: object) -> list[object]:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            append(ledger, refuse, time_s=0, lock_timeout_s=1)  # type: ignore[arg-type]  # wrong on purpose
        assert sorted(ledger.store.objects_dir.rglob("*")) == before

    def test_git_finds_nothing_wrong(self, ledger: Ledger) -> None:
        """`git fsck --full --strict` is clean and the work tree untouched."""
        for n in range(12):
            world.put(ledger, f"trace {n}")
        repo = ledger.store.repository.root
        assert world.git(repo, "fsck", "--full", "--strict", "--no-progress") in {
            "",
            "notice: HEAD points to an unborn branch (main)",
        }
        assert world.git(repo, "status", "--porcelain") == ""

    @pytest.mark.parametrize("options", [("--object-format=sha256",), ("--bare",)], ids=str)
    def test_other_repositories_work_the_same(
        self, tmp_path: Path, options: tuple[str, ...]
    ) -> None:
        """SHA-256 and bare repositories hold a ledger like any other."""
        ledger = world.ledger(world.repository(tmp_path / "other", *options))
        world.put(ledger, "one")
        world.put(ledger, "two")
        assert ledger.standing().kind == "equal"
        assert len(world.contents(ledger)) == 2
        world.git(ledger.store.common_dir, "fsck", "--full", "--strict")

    def test_a_full_ledger_says_so(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        """Past the last sequence number an append is refused with the way on."""
        monkeypatch.setattr("hikmah.ledger.chain.MAX_SEQ", 1)
        world.put(ledger, "one")
        with pytest.raises(Exception, match="full") as caught:
            world.put(ledger, "two")
        assert "new ledger" in caught.value.hint  # type: ignore[attr-defined]  # HikmahError


class TestDisagreement:
    """The design's table of ref against acknowledged head, cases 1 to 6."""

    def test_case_2_a_foreign_commit_stops_writes_and_is_named(self, ledger: Ledger) -> None:
        """Commits that no hikmah write acknowledged are listed, and writes are refused."""
        world.put(ledger, "one")
        foreign = foreign_commit(ledger)
        world.git(ledger.store.common_dir, "update-ref", world.REF, foreign)
        assert ledger.standing().kind == "ahead"
        with pytest.raises(IntegrityError, match=foreign) as caught:
            world.put(ledger, "two")
        assert "--accept-tail" in caught.value.hint

    def test_case_3_a_ref_moved_back_stops_writes(self, ledger: Ledger) -> None:
        """Faults row 9: the newest records cannot be dropped without being missed."""
        tips = [world.put(ledger, f"t{n}").tip.commit for n in range(4)]
        world.git(ledger.store.common_dir, "update-ref", world.REF, tips[0])
        standing = ledger.standing()
        assert (standing.kind, standing.commits) == ("behind", tuple(tips[1:]))
        with pytest.raises(IntegrityError, match=tips[3]) as caught:
            world.put(ledger, "more")
        assert "--restore-tail" in caught.value.hint

    def test_case_3_a_deleted_ref_never_becomes_a_new_genesis(self, ledger: Ledger) -> None:
        """A ledger that is gone is missed, not begun again."""
        world.put(ledger, "one")
        world.git(ledger.store.common_dir, "update-ref", "-d", world.REF)
        assert ledger.standing().kind == "gone"
        with pytest.raises(IntegrityError, match="gone"):
            world.begin(ledger)
        with pytest.raises(IntegrityError, match="gone"):
            world.put(ledger, "two")

    def test_case_4_a_rewritten_history_stops_writes(self, ledger: Ledger) -> None:
        """Faults row 9: a suffix written anew with valid hashes is still another history."""
        world.put(ledger, "one")
        world.put(ledger, "two")
        repo = ledger.store.common_dir
        other = world.git(
            repo, "commit-tree", f"{world.REF}^{{tree}}", "-p", f"{world.REF}^", "-m", "x"
        )
        world.git(repo, "update-ref", world.REF, other)
        assert ledger.standing().kind == "rewritten"
        with pytest.raises(IntegrityError, match="rewritten") as caught:
            world.put(ledger, "three")
        assert "--reset-head" in caught.value.hint

    def test_case_5_a_first_write_adopts_a_fresh_clone(
        self, ledger: Ledger, tmp_path: Path
    ) -> None:
        """Without an acknowledged head the ref is taken as it is, and the append says so."""
        world.put(ledger, "one")
        clone = world.repository(tmp_path / "clone")
        world.git(clone, "fetch", "-q", str(ledger.store.common_dir), f"{world.REF}:{world.REF}")
        theirs = world.reopened(clone)
        assert theirs.standing().kind == "unanchored"
        assert world.put(theirs, "two").adopted
        assert theirs.standing().kind == "equal"
        assert not world.put(theirs, "three").adopted

    def test_case_6_an_append_needs_a_genesis(self, tmp_path: Path) -> None:
        """A ledger that was never begun is not begun by accident."""
        ledger = world.ledger(world.repository(tmp_path / "repo"), started=False)
        assert ledger.standing().kind == "empty"
        with pytest.raises(IntegrityError, match="no genesis"):
            world.put(ledger, "one")

    def test_a_second_start_leaves_the_ledger_alone(self, ledger: Ledger) -> None:
        """Beginning what has begun returns the tip that is there."""
        tip = world.put(ledger, "one").tip
        genesis = Genesis(format=FORMAT, ledger="0" * 32, name="memory", created_at_ms=9)
        assert start(ledger, genesis, time_s=9, lock_timeout_s=1) == tip


class TestLocks:
    def test_a_held_writer_lock_ends_in_busy_naming_the_holder(self, ledger: Ledger) -> None:
        """Waiting is bounded, and the error says who holds the lock."""
        with (
            writer_lock(ledger.state.lock_file, timeout_s=1),
            pytest.raises(BusyError, match=f"process {os.getpid()}"),
        ):
            world.put(ledger, "one", lock_timeout_s=0.01)

    def test_a_foreign_ref_lock_is_reported_with_path_and_age(self, ledger: Ledger) -> None:
        """Faults row 3: a lock that git left behind gives a clear message and no endless wait."""
        lock = ledger.store.common_dir / f"{world.REF}.lock"
        lock.touch()
        before = ledger.tip_commit()
        with pytest.raises(BusyError, match=r"memory\.lock, \d+ s old") as caught:
            world.put(ledger, "one", lock_timeout_s=0.02)
        assert str(lock) in caught.value.hint
        assert ledger.tip_commit() == before
        lock.unlink()
        assert world.put(ledger, "one").tip.seq == 1

    def test_threads_of_one_process_lose_nothing(self, ledger: Ledger) -> None:
        """Eight threads that write at once make one chain with every record."""

        def work(name: str) -> None:
            own = world.reopened(ledger.store.repository.root)
            for n in range(5):
                world.put(own, f"{name}-{n}", lock_timeout_s=30)

        threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ledger.tip(ledger.tip_commit() or "").seq == 40
        assert ledger.standing().kind == "equal"

    def test_a_race_with_a_foreign_program_is_lost_cleanly(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A ref that moves between reading and moving makes the append refuse, not overwrite."""
        foreign = overtaken_append(ledger, monkeypatch)
        with pytest.raises(IntegrityError, match=foreign):
            world.put(ledger, "two")
        assert ledger.tip_commit() == foreign


class TestDisk:
    @pytest.mark.parametrize(
        "step", ["create", "write_new", "sync_handle", "sync_folder", "replace", "link"]
    )
    def test_a_disk_that_refuses_loses_nothing(
        self, ledger: Ledger, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every step that fails (disk full) leaves the ledger as it was or with the record."""
        world.put(ledger, "one")
        counter = Counter(step)
        survived = False
        for at in range(1, 60):
            with monkeypatch.context() as patch:
                counter.arm(patch, at)
                try:
                    world.put(ledger, f"{step} {at}")
                    survived = not counter.fired
                except StoreError:
                    pass
            assert ledger.standing().kind == "equal", f"{step} at {at}"
            if survived:
                break
        assert survived
        world.put(ledger, "after")
        world.git(ledger.store.common_dir, "fsck", "--full", "--strict")

    @pytest.mark.parametrize("fails", ["once", "from then on"])
    def test_a_disk_that_fails_after_the_ref_moved_is_told_and_not_raised(
        self, ledger: Ledger, fails: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The record is in for every reader: a caller told otherwise would write it twice."""
        world.put(ledger, "one")
        refs = ledger.store.common_dir / "refs/hikmah"
        real = durable.sync_folder
        failing: list[Path] = []

        def refuse(path: Path) -> None:
            if path == refs or (failing and fails != "once"):
                failing.append(path)
                raise OSError(5, "Input/output error")
            real(path)

        with monkeypatch.context() as patch:
            patch.setattr(durable, "sync_folder", refuse)
            appended = world.put(ledger, "two")
        assert failing
        assert appended.warnings[0].startswith("the disk failed after the records were in")
        standing = ledger.standing()
        assert (standing.kind, standing.tip) == ("equal", appended.tip.commit)
        assert world.put(ledger, "three").warnings == ()
        assert len(world.contents(ledger)) == 3

    def test_a_genesis_that_is_in_is_not_reported_as_failed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first commit is held to the same rule."""
        ledger = world.ledger(world.repository(tmp_path / "new"), started=False)
        refs = ledger.store.common_dir / "refs/hikmah"
        real = durable.sync_folder

        def refuse(path: Path) -> None:
            if path == refs:
                raise OSError(5, "Input/output error")
            real(path)

        with monkeypatch.context() as patch:
            patch.setattr(durable, "sync_folder", refuse)
            world.begin(ledger)
        assert ledger.standing().kind == "equal"

    @pytest.mark.parametrize("times", [1, 2])
    @pytest.mark.parametrize("step", ["create", "replace", "link"])
    def test_folders_that_git_removes_as_empty_are_made_again(
        self, ledger: Ledger, step: str, times: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`git gc` and `git pack-refs` remove empty folders beside a running append."""
        world.put(ledger, "one")
        real: Callable[..., object] = getattr(durable, step)
        gone: list[Path] = []

        def stand_in(*args: Path) -> object:
            folder = args[0 if step == "create" else 1].parent
            there = list(folder.iterdir())
            # What is being written goes with the folder, as if the folder had gone just before.
            if len(gone) < times and all(path.name.startswith("tmp_obj_") for path in there):
                gone.append(folder)
                for path in there:
                    path.unlink()
                folder.rmdir()
            return real(*args)

        if step == "link":
            world.git(ledger.store.common_dir, "pack-refs", "--all", "--prune")
        with monkeypatch.context() as patch:
            patch.setattr(durable, step, stand_in)
            world.put(ledger, "two")
        assert len(gone) == times
        world.git(ledger.store.common_dir, "fsck", "--full", "--strict")
        assert ledger.standing().kind == "equal"
        assert len(world.contents(ledger)) == 2

    def test_folders_that_go_on_going_are_an_error(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Trying again is bounded: what never works is said."""

        def never(*_: object) -> int:
            raise FileNotFoundError(2, "No such file or directory")

        with monkeypatch.context() as patch:
            patch.setattr(durable, "create", never)
            with pytest.raises(StoreError, match="No such file"):
                world.put(ledger, "two")
        assert ledger.standing().kind == "equal"

    def test_without_hard_links_a_copy_serves_as_the_lock(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """File systems without hard links write, and clear their own stale lock."""

        def no_links(_source: Path, _target: Path) -> None:
            raise PermissionError(1, "no links here")

        monkeypatch.setattr(durable, "link", no_links)
        tip = world.put(ledger, "one").tip
        note = f"{'e' * 40}\n"
        ledger.state.next_file.write_text(note)
        (ledger.store.common_dir / f"{world.REF}.lock").write_text(note)
        assert world.put(ledger, "two").tip.seq == tip.seq + 1


class Counter:
    """Makes the n-th call of one durable step fail as a full disk does."""

    def __init__(self, step: str) -> None:
        self.step = step
        self.fired = False

    def arm(self, patch: pytest.MonkeyPatch, at: int) -> None:
        """Fail call number `at`, once."""
        real: Callable[..., object] = getattr(durable, self.step)
        self.fired = False
        calls = iter(range(1, 10_000))

        def stand_in(*args: object, **kwargs: object) -> object:
            if next(calls) == at:
                self.fired = True
                raise OSError(28, "No space left on device")
            return real(*args, **kwargs)

        patch.setattr(durable, self.step, stand_in)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither fork nor SIGKILL")
class TestKill:
    """Faults row 3: SIGKILL at every step of an append; no person is needed afterwards."""

    def test_a_kill_at_any_step_leaves_before_or_after(self, tmp_path: Path) -> None:
        """The record is there or it is not; the next write works; git finds nothing wrong."""
        done = 0
        seen: set[bool] = set()
        situations = 0
        while done < KILLS:
            repo = world.repository(tmp_path / f"r{situations}")
            fresh = situations % 3 == 0  # the genesis itself is killed, too
            ledger = world.ledger(repo, started=not fresh)
            for at in range(1, 400):
                killed = kill_at(ledger, at, f"doomed {at}", fresh=fresh)
                if not killed:
                    break
                done += 1
                seen.add(self.check(repo, f"doomed {at}"))
                fresh = False
            situations += 1
            world.git(repo, "fsck", "--full", "--strict")
        assert seen == {True, False}

    def check(self, repo: Path, text: str) -> bool:
        """Check a ledger after a kill; tell whether the record got in."""
        ledger = world.reopened(repo)
        standing = ledger.standing()
        assert standing.kind in {"equal", "empty"}, standing
        if standing.kind == "empty":
            world.begin(ledger)
        before = ledger.tip(ledger.tip_commit() or "").seq
        world.put(ledger, f"after {text}")
        after = ledger.standing()
        assert after.kind == "equal"
        assert ledger.tip(after.tip or "").seq == before + 1
        assert not ledger.state.next_file.exists()
        records = world.contents(ledger)
        assert len(records) == before + 1
        return any(f'"content": "{text}"' in record for record in records)


def kill_at(ledger: Ledger, at: int, text: str, *, fresh: bool) -> bool:
    """Append in a child process that kills itself at a step; tell whether it got that far."""

    def doomed() -> None:
        if fresh:
            world.begin(ledger)
        world.put(ledger, text)

    return dies_at(at, doomed)


class TestSettle:
    """Cases of the note of intent, as `hikmah.ledger.head` numbers them."""

    @pytest.fixture
    def moved(self, ledger: Ledger) -> tuple[Ledger, str, Head]:
        """A ledger whose last append died between moving the ref and acknowledging."""
        world.put(ledger, "one")
        head = ledger.state.read_head()
        assert head is not None
        tip = world.put(ledger, "two").tip.commit
        ledger.state.acknowledge(head)
        ledger.state.next_file.write_text(f"{tip}\n")
        return ledger, tip, head

    def test_case_2_the_move_happened(self, moved: tuple[Ledger, str, Head]) -> None:
        """The ref holds the note: it counts as acknowledged, before and after settling."""
        ledger, tip, _ = moved
        assert ledger.standing().kind == "equal"
        settle(ledger)
        assert ledger.state.read_head() == Head(commit=tip, seq=2)
        assert not ledger.state.next_file.exists()

    def test_case_3_something_foreign_came_on_top(self, moved: tuple[Ledger, str, Head]) -> None:
        """Acknowledged up to the note; the rest is reported."""
        ledger, tip, _ = moved
        repo = ledger.store.common_dir
        foreign = world.git(repo, "commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", "x")
        world.git(repo, "update-ref", world.REF, foreign)
        standing = ledger.standing()
        assert (standing.kind, standing.commits) == ("ahead", (foreign,))
        settle(ledger)
        assert ledger.state.read_head() == Head(commit=tip, seq=2)

    def test_case_4_the_move_never_happened(self, moved: tuple[Ledger, str, Head]) -> None:
        """A note that the ref never held is dropped."""
        ledger, _, head = moved
        world.git(ledger.store.common_dir, "update-ref", world.REF, head.commit)
        assert ledger.standing().kind == "equal"
        settle(ledger)
        assert ledger.state.read_head() == head
        assert not ledger.state.next_file.exists()

    def test_half_a_note_means_nothing_moved(self, ledger: Ledger) -> None:
        """A note cut off by a crash is dropped."""
        tip = world.put(ledger, "one").tip.commit
        ledger.state.next_file.write_text(tip[:20])
        settle(ledger)
        assert ledger.standing().kind == "equal"
        assert not ledger.state.next_file.exists()

    def test_a_note_older_than_a_reset_is_dropped(self, moved: tuple[Ledger, str, Head]) -> None:
        """A head that a person set since is not undone by an old note."""
        ledger, tip, head = moved
        repo = ledger.store.common_dir
        other = world.git(repo, "commit-tree", f"{tip}^{{tree}}", "-p", head.commit, "-m", "other")
        ledger.state.acknowledge(Head(commit=other, seq=2))
        settle(ledger)
        assert ledger.state.read_head() == Head(commit=other, seq=2)


class TestSpace:
    """What appends leave loose is packed now and then, and a large batch is one pack."""

    def loose(self, ledger: Ledger) -> int:
        return int(world.git(ledger.store.common_dir, "count-objects").split()[0])

    def test_loose_objects_stay_bounded(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Faults row 7: one commit an item never piles up loose objects."""
        monkeypatch.setattr("hikmah.ledger.space.TIDY_EVERY", 32)
        most = 0
        for n in range(100):
            world.put(ledger, f"trace {n}")
            most = max(most, self.loose(ledger))
        assert most <= 6 * (32 + 16)
        world.git(ledger.store.common_dir, "fsck", "--full", "--strict")
        assert len(world.contents(ledger)) == 100

    def test_a_large_batch_is_one_pack(self, ledger: Ledger) -> None:
        """Its objects are never loose, and nothing keeps the pack from git afterwards."""
        before = self.loose(ledger)
        world.put(ledger, *[f"item {n}" for n in range(200)])
        assert self.loose(ledger) == before
        packs = sorted(p.suffix for p in (ledger.store.objects_dir / "pack").iterdir())
        assert packs == [".idx", ".pack"]
        assert len(world.contents(ledger)) == 200

    def test_packing_that_fails_is_told_and_the_record_stands(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The record is acknowledged by then: the append succeeds with a warning."""

        def full(*_: object) -> None:
            raise StoreError("no space left")

        monkeypatch.setattr("hikmah.ledger.space.tidy", full)
        told = [world.put(ledger, f"t{n}").warnings for n in range(16)]
        assert told[-1] == ("the ledger's objects were not packed: no space left",)
        assert ledger.standing().kind == "equal"

    def test_a_batch_that_loses_the_race_leaves_no_trace_in_the_ledger(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A pack written for nothing is harmless."""
        foreign = overtaken_append(ledger, monkeypatch)
        with pytest.raises(IntegrityError, match=foreign):
            world.put(ledger, *[f"item {n}" for n in range(200)])
        assert len(world.contents(ledger)) == 1
