"""Sync over real transports: every case, races, processes that die or run at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hikmah.errors import IntegrityError, NotFoundError, RefusedError, RemoteError
from hikmah.ledger.ledger import Ledger
from hikmah.remotes import sync as syncing
from hikmah.remotes.road import Pushed, Road
from tests import world
from tests.remotes.roads import copy_of, fetch, other_genesis, push, refs, road, sync, tip

REF = world.REF
ROOT = Path(__file__).resolve().parents[2]
NOW_MS = 1_900_000_000_000


def merges(repo: Path) -> int:
    """Count the merge commits of a repository's ledger."""
    return int(world.git(repo, "rev-list", "--count", "--merges", REF))


@pytest.fixture
def there(here: Ledger, bare: Path, tmp_path: Path) -> Ledger:
    """A second machine; both have what the remote has."""
    push(here, bare)
    ledger = copy_of(here, tmp_path / "there")
    fetch(ledger, bare)
    return ledger


def test_a_mirror_that_lags_behind_was_not_rewritten(
    here: Ledger, bare: Path, tmp_path: Path
) -> None:
    """Each address of a remote is held against what was seen at that address."""
    repo = here.store.common_dir
    mirror = world.repository(tmp_path / "mirror.git", "--bare")
    world.git(repo, "remote", "add", "team", str(mirror))
    world.git(repo, "config", "remote.team.pushurl", str(bare))
    here = world.reopened(repo, here.name)
    sync(here, "team")
    world.git(mirror, "fetch", "-q", str(bare), f"{here.ref}:{here.ref}")
    lagging = fetch(here, "team").commit
    world.put(here, "three")
    assert sync(here, "team", yes=False).rounds == 1
    assert push(here, "team").changed is False
    again = fetch(here, "team")
    assert (again.commit, again.relation) == (lagging, "ahead")
    assert refs(bare) == {here.ref: tip(here)}


class TestCases:
    def test_case_1_a_remote_without_the_ledger_gets_it(self, here: Ledger, bare: Path) -> None:
        """Nothing to join, all to push."""
        outcome = sync(here, bare)
        assert (outcome.joins, outcome.rounds) == ((), 1)
        assert outcome.push is not None
        assert (outcome.push.first, outcome.push.records) == (True, 2)
        assert refs(bare) == {REF: tip(here)}

    def test_case_1_and_only_when_somebody_agrees(self, here: Ledger, bare: Path) -> None:
        """A sync publishes as a push does, and asks as a push does."""
        with pytest.raises(RefusedError, match="2 private traces"):
            sync(here, bare, yes=False)
        assert refs(bare) == {}

    def test_a_remote_that_others_filled_is_asked_about_too(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """That the remote was fetched from in between is no agreement to publish there."""
        other = copy_of(here, tmp_path / "other")
        push(here, bare)
        world.put(other, "never seen there")
        with pytest.raises(RefusedError, match="1 private traces among 1 records"):
            sync(other, bare, yes=False)
        assert refs(bare)[REF] == tip(here)

    def test_case_2_what_the_remote_lacks_is_pushed(self, here: Ledger, bare: Path) -> None:
        """One round, no merge."""
        push(here, bare)
        world.put(here, "three")
        outcome = sync(here, bare, yes=False)
        assert [join.kind for join in outcome.joins] == ["ahead"]
        assert outcome.push is not None
        assert outcome.push.records == 1
        assert refs(bare)[REF] == tip(here)

    def test_nothing_to_do_pushes_nothing(self, there: Ledger, bare: Path) -> None:
        """Both have the same head."""
        outcome = sync(there, bare)
        assert (outcome.push, outcome.before) == (None, outcome.commit)

    def test_case_3_a_machine_that_is_behind_moves_forward(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """No merge where none is needed, and nothing to push after it."""
        world.put(here, "three")
        sync(here, bare)
        outcome = sync(there, bare)
        assert ([join.kind for join in outcome.joins], outcome.push) == (["forward"], None)
        assert tip(there) == tip(here)
        world.check_sound(there)

    def test_case_3_both_sides_end_with_one_head(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """The second joins and pushes the merge, the first moves forward to it."""
        world.put(here, "three from here")
        world.put(there, "three from there")
        sync(here, bare)
        assert sync(there, bare).joins[0].kind == "merged"
        assert sync(here, bare).joins[0].kind == "forward"
        assert tip(here) == tip(there) == refs(bare)[REF]
        assert merges(bare) == 1
        world.check_sound(here)
        world.check_sound(there)

    def test_another_ledger_is_refused(self, here: Ledger, bare: Path, tmp_path: Path) -> None:
        """Case 5 of the join, before anything moves."""
        other = world.ledger(world.repository(tmp_path / "other"), started=False)
        other_genesis(other)
        push(other, bare)
        before = tip(here)
        with pytest.raises(RefusedError, match="two beginnings"):
            sync(here, bare)
        assert (tip(here), refs(bare)[REF]) == (before, tip(other))

    def test_another_object_format_is_refused(self, here: Ledger, tmp_path: Path) -> None:
        """Case 8 of the join: told by the remote's ids, before anything is fetched."""
        far = world.ledger(world.repository(tmp_path / "far", "--object-format=sha256"))
        with pytest.raises(RefusedError, match="sha256"):
            sync(here, far.store.common_dir)

    def test_a_rewritten_remote_is_refused(self, here: Ledger, bare: Path) -> None:
        """What was seen there before is gone: nothing is joined, nothing pushed."""
        push(here, bare)
        world.put(here, "three")
        world.git(bare, "update-ref", REF, world.git(bare, "rev-parse", f"{REF}^"))
        with pytest.raises(IntegrityError, match="was rewritten"):
            sync(here, bare)
        assert here.standing().kind == "equal"

    def test_a_ledger_that_is_not_well_asks_no_remote(self, here: Ledger, bare: Path) -> None:
        """Case 7 of the join comes first: a cut tail is not filled from elsewhere."""
        world.git(here.store.common_dir, "update-ref", REF, f"{REF}^")
        with pytest.raises(IntegrityError, match="lacks the 1 newest"):
            sync(here, bare / "nowhere")

    def test_no_ledger_here_is_not_found(self, bare: Path, tmp_path: Path) -> None:
        """A sync begins no ledger: the way to get one is told."""
        empty = world.ledger(world.repository(tmp_path / "empty"), started=False)
        with pytest.raises(NotFoundError, match="no ledger"):
            sync(empty, bare)

    def test_a_symbolic_ref_there_is_read_as_what_it_holds_and_never_followed_here(
        self, here: Ledger, bare: Path
    ) -> None:
        """A remote may keep its ledger as it likes; here the ref stays one of its own."""
        push(here, bare)
        world.git(bare, "update-ref", "refs/hikmah/real", REF)
        world.git(bare, "symbolic-ref", REF, "refs/hikmah/real")
        world.put(here, "three")
        sync(here, bare)
        assert world.git(bare, "rev-parse", "refs/hikmah/real") == tip(here)
        loose = here.store.common_dir / REF
        assert not loose.read_text().startswith("ref:")


class Meddling:
    """A road on which something happens just before the first push, or before each."""

    def __init__(self, way: Road, before_push: Callable[[], object], *, times: int = 1) -> None:
        self._way = way
        self._before_push = before_push
        self._times = times
        self.shown = way.shown
        self.heads = way.heads
        self.fetch = way.fetch

    def push(self, ref: str, new: str, expected_old: str | None) -> Pushed:
        """Let it happen, then push."""
        if self._times:
            self._times -= 1
            self._before_push()
        return self._way.push(ref, new, expected_old)


class TestRaces:
    def test_case_4_a_remote_that_moves_meanwhile_is_fetched_again(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """The second round joins what came; the remote ends with both."""
        world.put(here, "three from here")
        world.put(there, "three from there")
        way = Meddling(road(here, bare), lambda: push(there, bare))
        outcome = sync(here, bare, way=way)
        assert (outcome.rounds, [join.kind for join in outcome.joins]) == (2, ["ahead", "merged"])
        assert refs(bare)[REF] == tip(here)
        assert sync(there, bare).joins[0].kind == "forward"
        assert merges(bare) == 1

    def test_case_4_rounds_are_bounded(
        self, here: Ledger, there: Ledger, bare: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A remote that never stands still ends as exit 8; what came was joined."""
        monkeypatch.setattr(syncing, "MAX_ROUNDS", 3)
        numbers = iter(range(100))

        def move() -> None:
            world.put(there, f"{next(numbers)} from there")
            sync(there, bare)

        world.put(here, "three from here")
        with pytest.raises(RemoteError, match="moved 3 times") as caught:
            sync(here, bare, way=Meddling(road(here, bare), move, times=99))
        assert "hikmah sync" in caught.value.hint
        world.check_sound(here)
        assert sync(here, bare).rounds == 1

    def test_two_that_diverged_from_each_other_make_one_merge(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """Both sync at once, each between the other's fetch and push: one merge commit, not two."""
        world.put(here, "three from here")
        world.put(there, "three from there")
        way = Meddling(road(here, bare), lambda: sync(there, bare))
        sync(here, bare, way=way)
        sync(there, bare)
        assert tip(here) == tip(there) == refs(bare)[REF]
        assert merges(bare) == 1

    def test_a_sync_that_dies_before_its_push_is_made_good_by_the_next(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """The ledger here moved first: it is ahead, and the next sync pushes."""
        world.put(here, "three from here")
        sync(here, bare)
        world.put(there, "three from there")

        def die() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sync(there, bare, way=Meddling(road(there, bare), die))
        merged = tip(there)
        assert there.standing().kind == "equal"
        assert sync(there, bare).commit == merged == refs(bare)[REF]


SYNC = """
import sys
from hikmah.memory import Memory
name, count = sys.argv[1], int(sys.argv[2])
with Memory.open(lock_timeout_s=60) as memory:
    for n in range(count):
        print(memory.remember(f"{name} item {n}").id, flush=True)
        memory.sync("origin", yes=True)
"""


def start(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    """Start a process that remembers and syncs."""
    return subprocess.Popen(
        [sys.executable, "-c", SYNC, name, str(count)],
        cwd=folder,
        env=world.environment(folder) | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class TestProcesses:
    """Real processes, two machines and two on one machine, one remote."""

    @pytest.fixture
    def folders(self, here: Ledger, there: Ledger, bare: Path) -> list[Path]:
        """The two machines' folders, twice the first: two processes share that machine."""
        for ledger in (here, there):
            world.git(ledger.store.common_dir, "remote", "add", "origin", str(bare))
        mine, theirs = (ledger.store.repository.root for ledger in (here, there))
        return [mine, theirs, mine]

    def test_syncs_at_once_lose_nothing_and_come_to_rest(
        self, folders: list[Path], here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """Whatever was acknowledged is on both machines and the remote afterwards."""
        started = [start(folder, f"p{n}", 3) for n, folder in enumerate(folders)]
        ids: set[str] = set()
        for process in started:
            out, err = process.communicate()
            assert process.returncode == 0, err
            ids |= set(out.split())
        assert len(ids) == 9
        for ledger in (here, there, here):
            sync(ledger, bare)
        assert tip(here) == tip(there) == refs(bare)[REF]
        held = world.git(bare, "ls-tree", "-r", "--object-only", REF).split()
        assert ids <= set(held)
        world.check_sound(here)
        world.check_sound(there)
        world.git(bare, "fsck", "--full", "--strict", "--no-progress", "--no-dangling")

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
    def test_a_killed_sync_needs_no_person(
        self, folders: list[Path], there: Ledger, bare: Path
    ) -> None:
        """Killed at a moment nobody chose, again and again: the next sync goes on."""
        ids: set[str] = set()
        for n in range(3):
            world.put(there, f"{n} from there")
            sync(there, bare)
            process = start(folders[0], f"doomed {n}", 50)
            assert process.stdout is not None
            for _ in range(n + 1):
                ids.add(process.stdout.readline().strip())
            os.kill(process.pid, signal.SIGKILL)
            ids |= set(process.communicate()[0].split())
            sync(world.reopened(folders[0]), bare)
        sync(there, bare)
        ledger = world.reopened(folders[0])
        assert ledger.standing().kind == "equal"
        assert tip(ledger) == tip(there) == refs(bare)[REF]
        held = world.git(bare, "ls-tree", "-r", "--object-only", REF).split()
        assert ids - {""} <= set(held)
        world.check_sound(ledger)
