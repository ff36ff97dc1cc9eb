"""A join that dies, or whose disk fails: the old state or the new one, and no person needed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hikmah.errors import StoreError
from hikmah.ledger import durable
from hikmah.ledger.head import Head
from hikmah.remotes import backups
from hikmah.remotes.join import JoinOutcome, join
from tests import world
from tests.faultpoints import STEPS, dies_at

NOW_MS = 1_900_000_000_000


class Pair:
    """A ledger, and another machine's copy whose objects are in the same store already."""

    def __init__(self, folder: Path) -> None:
        self.now_ms = NOW_MS
        self.mine = world.ledger(world.repository(folder))
        world.put(self.mine, "one")
        repo = self.mine.store.common_dir
        (repo / "refs/hikmah/theirs").write_text(f"{self.mine.tip_commit()}\n")
        self.theirs = world.reopened(folder, "theirs")

    def diverge(self, name: str, *, ahead: bool = False) -> tuple[str, str, str]:
        """Let both sides write; return my head, theirs, and the head that a join makes."""
        self.now_ms += 10
        world.put(self.theirs, f"{name} from them")
        if not ahead:
            world.put(self.mine, f"{name} from me")
        heads = [ledger.tip_commit() or "" for ledger in (self.mine, self.theirs)]
        repo = self.mine.store.common_dir
        (repo / "refs/hikmah/trial").write_text(f"{heads[0]}\n")
        trial = world.reopened(self.mine.store.repository.root, "trial")
        durable.make_folder(trial.state.folder)
        trial.state.acknowledge(Head(commit=heads[0], seq=trial.tip(heads[0]).seq))
        made = join(trial, heads[1], now_ms=NOW_MS, lock_timeout_s=5).head
        return heads[0], heads[1], made

    def join(self) -> JoinOutcome:
        """Join the other side."""
        incoming = self.theirs.tip_commit()
        assert incoming is not None
        return join(self.mine, incoming, now_ms=self.now_ms, lock_timeout_s=5)

    def keep_up(self) -> None:
        """Let the other machine have what was joined."""
        incoming = self.mine.tip_commit()
        assert incoming is not None
        join(self.theirs, incoming, now_ms=NOW_MS, lock_timeout_s=5)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path / "repo")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither fork nor SIGKILL")
class TestKill:
    @pytest.mark.parametrize("ahead", [False, True], ids=["diverged", "behind"])
    def test_a_kill_at_any_step_leaves_before_or_after(self, pair: Pair, *, ahead: bool) -> None:
        """The old head or the joined one; the next join or write needs no person."""
        seen: set[bool] = set()
        for at in range(1, 400):
            before, _, after = pair.diverge(f"{at}", ahead=ahead)
            killed = dies_at(at, pair.join)
            standing = world.reopened(pair.mine.store.repository.root).standing()
            assert standing.kind == "equal", f"killed at {at}: {standing}"
            assert standing.tip in {before, after}
            if not killed:
                break
            seen.add(standing.tip == after)
            if at % 2:
                world.put(pair.mine, f"written after {at}")
            pair.join()
            assert pair.join().kind in {"same", "ahead"}
            assert not pair.mine.state.next_file.exists()
            pair.keep_up()
        assert seen == {True, False}
        repo = pair.mine.store.common_dir
        assert list((repo / "refs/hikmah-backup").rglob("*.lock")) == []
        assert not (pair.mine.state.folder / "backup").exists()
        world.check_sound(pair.mine)

    def test_a_killed_join_is_made_the_same_again(self, pair: Pair) -> None:
        """Whether or not the first try got through, the head is the one that both machines make."""
        for at in (5, 25, 45):
            _, _, after = pair.diverge(f"{at}")
            assert dies_at(at, pair.join)
            assert pair.join().head == after
            pair.keep_up()


class TestDisk:
    @pytest.mark.parametrize("step", [step for step in STEPS if step not in {"unlink", "append"}])
    def test_a_disk_that_refuses_loses_nothing(
        self, pair: Pair, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every step that fails (disk full) leaves the ledger as it was, or joined."""
        for at in range(1, 40):
            before, _, after = pair.diverge(f"{step} {at}")
            with monkeypatch.context() as patch:
                fired = fail_at(patch, step, at)
                try:
                    pair.join()
                except StoreError:
                    assert pair.mine.tip_commit() in {before, after}
            assert pair.mine.standing().kind == "equal"
            assert pair.join().head == after
            pair.keep_up()
            if not fired:
                break
        assert not fired
        world.check_sound(pair.mine)


def fail_at(patch: pytest.MonkeyPatch, step: str, at: int) -> list[bool]:
    """Let call number `at` of a durable step fail; the list is filled when it did."""
    real: Callable[..., object] = getattr(durable, step)
    calls = iter(range(1, 10_000))
    fired: list[bool] = []

    def stand_in(*args: object, **kwargs: object) -> object:
        if next(calls) == at:
            fired.append(True)
            raise OSError(28, "No space left on device")
        return real(*args, **kwargs)

    patch.setattr(durable, step, stand_in)
    return fired


class TestBackups:
    def test_joins_of_one_millisecond_keep_each_head(self, pair: Pair) -> None:
        """A name that is taken by another head is passed over."""
        kept = []
        for n in range(3):
            kept.append(pair.diverge(f"{n}")[0])
            pair.now_ms = NOW_MS + 10
            pair.join()
            pair.keep_up()
        refs = [f"{backups.prefix(pair.mine)}{NOW_MS + 10 + n}" for n in range(3)]
        assert [pair.mine.store.ref(ref) for ref in refs] == kept

    def test_a_head_that_is_kept_already_is_kept_once(self, pair: Pair) -> None:
        """A join that died after its backup does not leave a second one at that moment."""
        head = pair.mine.tip_commit()
        assert head is not None
        first = backups.keep(pair.mine, head, now_ms=NOW_MS)
        assert backups.keep(pair.mine, head, now_ms=NOW_MS) == first
        assert len(pair.mine.store.refs_below(backups.prefix(pair.mine))) == 1

    def test_a_backup_outlives_packing_of_refs_and_garbage(self, pair: Pair) -> None:
        """It is a ref like any other to git."""
        before = pair.diverge("x")[0]
        outcome = pair.join()
        assert outcome.backup is not None
        repo = pair.mine.store.common_dir
        world.git(repo, "pack-refs", "--all")
        world.git(repo, "gc", "-q", "--prune=now")
        assert pair.mine.store.ref(outcome.backup) == before
        assert pair.mine.store.refs_below(backups.prefix(pair.mine)) == [outcome.backup]
