"""Packing: less room, nothing lost, and nothing of the host project touched."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from hikmah.errors import StoreError
from hikmah.ledger import durable, space
from hikmah.ledger.bulk import loose_path
from hikmah.ledger.findings import VerifyReport
from hikmah.ledger.objects import raw_object
from hikmah.ledger.ownpacks import Own, OwnPacks
from hikmah.ledger.verify import verify
from tests.ledger.forge import Forge, note
from tests.ledger.test_verify import branch_at, join

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return an empty ledger, in a repository of either hash."""
    forge = Forge(tmp_path / "store", request.param)
    forge.init()
    return forge


def sound(forge: Forge) -> VerifyReport:
    """Demand that the ledger verifies and git finds nothing, and return the report."""
    forge.reopen()
    report = verify(forge.ledger)
    assert report.errors == ()
    forge.git("fsck", "--full", "--strict")
    return report


def loose(forge: Forge) -> set[str]:
    """Return the ids of the repository's loose objects."""
    return {oid for oid, _ in OwnPacks(forge.ledger).loose()}


def packs(forge: Forge) -> set[str]:
    """Return the names of the repository's packs."""
    return {path.stem for path in (forge.path / "objects/pack").glob("*.idx")}


def every_object(forge: Forge) -> bytes:
    """Return every object git knows of, with id, kind and content, in the order of ids."""
    done = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"],
        cwd=forge.path,
        capture_output=True,
        check=True,
    )
    return done.stdout


def host_objects(forge: Forge) -> set[str]:
    """Give the host project a branch, and something that nothing reaches; return the ids."""
    blob = forge.blob(b"source code")
    commit = forge.commit(forge.tree({"main.py": ("100644", blob)}), [], "Start")
    forge.git("update-ref", "refs/heads/main", commit)
    tree = forge.git("rev-parse", f"{commit}^{{tree}}")
    return {blob, commit, tree, forge.blob(b"not committed yet")}


# ---- compact ---------------------------------------------------------------------------


def test_compact_puts_the_ledger_into_one_pack_and_leaves_the_host_alone(forge: Forge) -> None:
    """Loose objects of the host stay loose, reachable or not."""
    theirs = host_objects(forge)
    forge.add_many(30)
    before, ours = every_object(forge), loose(forge) - theirs
    report = space.compact(forge.ledger)
    assert loose(forge) == theirs
    assert len(packs(forge)) == 1
    assert report.loose_removed == len(ours)
    assert report.objects == report.loose_removed
    assert every_object(forge) == before
    sound(forge)


def test_compact_twice_changes_nothing(forge: Forge) -> None:
    """The same objects make the same pack, byte for byte."""
    forge.add_many(10)
    space.compact(forge.ledger)
    (name,) = packs(forge)
    assert space.compact(forge.ledger).packs_removed == 0
    assert packs(forge) == {name}
    sound(forge)


def test_compact_merges_own_packs_and_keeps_the_hosts(forge: Forge) -> None:
    """A pack that no note lists is the host's, whatever it holds."""
    forge.add_many(5)
    forge.git("repack", "-q", "-d")
    theirs = packs(forge)
    for first in (10, 20, 30):
        forge.add_many(5, first=first)
        space._rewrite(forge.ledger, OwnPacks(forge.ledger), own(forge), everything=False)
    assert len(packs(forge)) == 4
    report = space.compact(forge.ledger)
    assert report.packs_removed == 3
    assert theirs < packs(forge)
    assert len(packs(forge)) == 2
    assert loose(forge) == set()
    sound(forge)


def own(forge: Forge) -> Own:
    """Return what is noted of own packs."""
    return OwnPacks(forge.ledger).read()


def test_compact_of_an_empty_or_missing_ledger_does_nothing(tmp_path: Path) -> None:
    """Nothing to pack leaves no file behind."""
    forge = Forge(tmp_path / "store")
    (forge.ledger.state.folder).mkdir(parents=True)
    assert space.compact(forge.ledger) == space.PackReport()
    assert list((forge.path / "objects/pack").iterdir()) == []


def test_compact_carries_what_is_not_reachable_any_more(forge: Forge) -> None:
    """A tail that was cut stays in the object store, so that it can be restored."""
    commits = forge.add_many(12)
    space.compact(forge.ledger)
    before = every_object(forge)
    branch_at(forge, commits[5])
    space.compact(forge.ledger)
    assert every_object(forge) == before
    forge.set_ref(commits[-1])
    assert forge.ledger.tip(commits[-1]).seq == 12
    forge.git("fsck", "--full", "--strict")


def test_compact_packs_joined_histories(forge: Forge) -> None:
    """Both branches of a merge are walked, and their trees still make deltas."""
    forge.add_many(3)
    base = forge.head()
    one = forge.add_many(20, first=100)[-1]
    branch_at(forge, base)
    other = forge.add_many(20, first=200)[-1]
    join(forge, one, other)
    forge.add_many(3, first=300)
    before = every_object(forge)
    space.compact(forge.ledger)
    assert loose(forge) == set()
    assert every_object(forge) == before
    assert sound(forge).records == 46


def test_batches_across_folders_pack_and_verify(forge: Forge) -> None:
    """Trees that gained several entries at once are no beginning of each other."""
    for n in range(6):
        forge.add(*[note(f"batch {n} record {m}") for m in range(37)])
    before = every_object(forge)
    space.compact(forge.ledger)
    assert every_object(forge) == before
    assert sound(forge).records == 6 * 37


def test_older_trees_take_little_room(forge: Forge) -> None:
    """A thousand versions of a folder cost a few bytes each, without a git program."""
    forge.add_many(130)
    report = space.compact(forge.ledger)
    assert report.written_bytes < 130 * 1_000


def test_progress_is_told_while_packing(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits walked so far."""
    monkeypatch.setattr(space, "_STEP", 5)
    forge.add_many(11)
    said: list[tuple[int, int]] = []
    space.compact(forge.ledger, progress=lambda done, total: said.append((done, total)))
    assert said == [(5, 0), (10, 0)]


@pytest.mark.parametrize(
    "command",
    [
        ("gc", "-q", "--prune=now", "--aggressive"),
        ("repack", "-q", "-a", "-d"),
        ("gc", "-q", "--auto"),
        ("pack-refs", "--all"),
        ("prune", "--expire=now"),
    ],
    ids=" ".join,
)
def test_a_packed_ledger_survives_what_git_does_to_a_repository(
    forge: Forge, command: tuple[str, ...]
) -> None:
    """Before, between and after our own packing."""
    forge.add_many(10)
    space.compact(forge.ledger)
    forge.git(*command)
    forge.add_many(10, first=100)
    space.compact(forge.ledger)
    forge.git(*command)
    space.compact(forge.ledger)
    assert sound(forge).records == 20


# ---- tidy ------------------------------------------------------------------------------


def test_appends_stay_below_a_bounded_number_of_loose_objects(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Faults row 7: loose objects do not pile up, nor do packs."""
    monkeypatch.setattr(space, "TIDY_EVERY", 6)
    monkeypatch.setattr(space, "MERGE_AT", 3)
    most_loose = most_packs = 0
    for n in range(80):
        forge.add(note(f"note {n}"))
        space.tidy(forge.ledger, n + 1)
        most_loose = max(most_loose, len(loose(forge)))
        most_packs = max(most_packs, len(packs(forge)))
    assert most_loose <= 6 * 6 + 3 + 6
    assert most_packs <= 4
    assert sound(forge).records == 80


def test_nothing_is_done_before_it_is_due(forge: Forge) -> None:
    """An append that finds little to do pays for one small file read."""
    forge.add_many(3)
    assert space.tidy(forge.ledger, 3) is None
    assert packs(forge) == set()


def test_a_ledger_that_went_back_is_tidied_anew(forge: Forge) -> None:
    """The number noted may be larger than the ledger's, after a restored tail."""
    forge.add_many(3)
    space.tidy(forge.ledger, 500)
    assert space.tidy(forge.ledger, 3) is not None


def test_only_packs_of_one_small_size_are_merged(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work of one append is bounded: a large pack is not written again."""
    forge.add_many(40)
    monkeypatch.setattr(space, "TIDY_EVERY", 1)
    monkeypatch.setattr(space, "MERGE_AT", 3)
    monkeypatch.setattr(space, "SIZE_CLASSES", (20, 50))
    space.tidy(forge.ledger, 40)
    (large,) = packs(forge)
    for n in range(12):
        forge.add(note(f"small {n}"))
        space.tidy(forge.ledger, 41 + n)
        assert large in packs(forge)
    assert len(packs(forge)) <= 6
    sound(forge)


def test_a_damaged_small_pack_is_left_as_it_is(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merging stops, says so, and removes nothing."""
    for n in range(2):
        forge.add_many(2, first=10 * n)
        space._rewrite(forge.ledger, OwnPacks(forge.ledger), own(forge), everything=False)
    monkeypatch.setattr(space, "TIDY_EVERY", 1)
    monkeypatch.setattr(space, "MERGE_AT", 2)
    path = OwnPacks(forge.ledger).path(own(forge).packs[0])
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(data[:12] + b"\xd0" + data[13:])
    report = space.tidy(forge.ledger, 1)
    assert report is not None
    assert "damaged" in report.damaged[0]
    assert len(packs(forge)) == 2


# ---- damage ----------------------------------------------------------------------------


def test_a_damaged_object_stays_where_it_is_and_is_named(forge: Forge) -> None:
    """What cannot be read is neither packed nor removed."""
    forge.add_many(5)
    oid = forge.git("rev-parse", "refs/hikmah/memory:ledger.json")
    path = loose_path(forge.path / "objects", oid)
    path.chmod(0o644)
    path.write_bytes(b"")
    report = space.compact(forge.ledger)
    assert report.damaged == (oid,)
    assert loose(forge) == {oid}


def test_an_own_pack_with_a_damaged_object_stays(forge: Forge) -> None:
    """The new pack holds all that is good; the old one is kept for what may be saved."""
    forge.add_many(5)
    space.compact(forge.ledger)
    (old,) = packs(forge)
    oid = forge.git("rev-parse", "refs/hikmah/memory:ledger.json")
    pack = OwnPacks(forge.ledger).open(old)
    assert pack is not None
    offset = pack.find(bytes.fromhex(oid))
    assert offset is not None
    pack.close()
    path = OwnPacks(forge.ledger).path(old)
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(offset + 2)
        file.write(b"\xff\xff\xff\xff")
    report = space.compact(forge.ledger)
    assert report.damaged == (oid,)
    assert old in packs(forge)
    assert report.packs_removed == 0


def test_a_new_pack_that_does_not_read_back_removes_nothing(forge: Forge) -> None:
    """A disk that lies is caught before anything is let go of."""
    forge.add_many(5)
    before = loose(forge)
    replace = durable.replace

    def lying(source: Path, target: Path) -> None:
        replace(source, target)
        if target.suffix == ".pack":
            data = target.read_bytes()
            target.write_bytes(data[:40] + bytes(8) + data[48:])

    with mock.patch.object(durable, "replace", lying), pytest.raises(StoreError, match="read back"):
        space.compact(forge.ledger)
    assert loose(forge) == before
    assert own(forge).sweep is None


def test_a_full_disk_is_a_clear_error_and_loses_nothing(forge: Forge) -> None:
    """Packing needs room; without it the loose objects simply stay."""
    forge.add_many(5)
    before = loose(forge)
    full = OSError(28, "No space left on device")
    with (
        mock.patch.object(durable, "sync_handle", side_effect=full),
        pytest.raises(StoreError, match="No space left"),
    ):
        space.compact(forge.ledger)
    assert loose(forge) == before
    assert list((forge.path / "objects/pack").iterdir()) == []
    sound(forge)


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"packs": [1]}'], ids=repr)
def test_a_damaged_note_makes_own_packs_the_hosts(forge: Forge, data: bytes) -> None:
    """They are then left alone; nothing is lost and packing goes on."""
    forge.add_many(5)
    space.compact(forge.ledger)
    (forge.ledger.state.folder / "packs").write_bytes(data)
    first = packs(forge)
    forge.add_many(5, first=10)
    space.compact(forge.ledger)
    assert first < packs(forge)
    sound(forge)


# ---- batches ---------------------------------------------------------------------------


def test_a_batch_is_one_pack_that_git_keeps_until_it_is_released(forge: Forge) -> None:
    """`git repack -ad` must not take what no ref reaches yet."""
    forge.add_many(2)
    raw = [raw_object(b"blob", b"record %d" % n, forge.algorithm) for n in range(300)]
    name = space.write_batch_pack(forge.ledger, raw)
    assert not loose(forge) & {o.oid for o in raw}
    forge.git("repack", "-q", "-a", "-d")
    assert forge.raw(raw[7].oid) == b"record 7"
    space.release_batch_pack(forge.ledger, name)
    assert not list((forge.path / "objects/pack").glob("*.keep"))
    assert name in own(forge).packs
    sound(forge)


def test_a_batch_that_died_is_let_go_of_by_the_next_packing(forge: Forge) -> None:
    """Its objects are harmless; the `.keep` file does not stay for ever."""
    forge.add_many(2)
    space.write_batch_pack(forge.ledger, [raw_object(b"blob", b"x", forge.algorithm)])
    space.compact(forge.ledger)
    assert not list((forge.path / "objects/pack").glob("*.keep"))
    assert own(forge).keep is None
    sound(forge)


# ---- crashes ---------------------------------------------------------------------------


def steps(forge: Forge) -> int:
    """Return how many durable steps a packing takes, by counting them."""
    with counting() as count:
        space.compact(forge.ledger)
    return count[0]


class Killed(BaseException):
    """What a killed process leaves behind is what this leaves behind."""


STEPS = ("write_new", "replace", "unlink", "sync_folder", "sync_handle", "write_atomic")


@contextlib.contextmanager
def counting(stop_at: int | None = None) -> Iterator[list[int]]:
    """Count the durable steps, and stop the world before one of them."""
    count = [0]

    def counted(original: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **kwargs: object) -> object:
            if stop_at is not None and count[0] >= stop_at:
                raise Killed
            count[0] += 1
            return original(*args, **kwargs)

        return step

    with contextlib.ExitStack() as stack:
        for name in STEPS:
            step = counted(getattr(durable, name))
            stack.enter_context(mock.patch.object(durable, name, step))
        yield count


def prepared(tmp_path: Path) -> Forge:
    """Return a ledger with an own pack and loose objects beside it."""
    forge = Forge(tmp_path)
    forge.init()
    forge.add_many(2)
    space.compact(forge.ledger)
    forge.add_many(1, first=50)
    return forge


def test_a_packing_stopped_at_any_step_loses_nothing_and_the_next_one_finishes(
    tmp_path: Path,
) -> None:
    """Before each write, rename, sync and removal in turn."""
    total = steps(prepared(tmp_path / "whole"))
    assert total > 20
    for stop_at in range(total):
        forge = prepared(tmp_path / str(stop_at))
        before = every_object(forge)
        with pytest.raises(Killed), counting(stop_at):
            space.compact(forge.ledger)
        forge.reopen()
        assert verify(forge.ledger).errors == ()
        assert every_object(forge) == before
        space.compact(forge.ledger)
        assert every_object(forge) == before
        assert loose(forge) == set()
        assert len(packs(forge)) <= 2
        left = {path.suffix for path in (forge.path / "objects/pack").iterdir()}
        assert left == {".pack", ".idx"}
    sound(forge)


KILLS = int(os.environ.get("HIKMAH_TEST_KILLS", "6"))
COMPACT = """
import os, pathlib, sys
from hikmah.ledger import durable, space
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.locate import explicit
left = int(sys.argv[2])
def dying(original):
    def step(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return original(*args, **kwargs)
    return step
for name in ("write_new", "replace", "unlink", "sync_folder", "write_atomic"):
    setattr(durable, name, dying(getattr(durable, name)))
space.compact(Ledger(GitStore(explicit(pathlib.Path(sys.argv[1])), environ={}), "memory"))
"""


def test_a_packing_killed_by_the_system_leaves_a_sound_repository(tmp_path: Path) -> None:
    """`kill -9` in the middle, again and again on one repository."""
    forge = prepared(tmp_path)
    before = every_object(forge)
    for n in range(KILLS):
        subprocess.run(
            [sys.executable, "-c", COMPACT, str(tmp_path), str(3 + 5 * n)],
            cwd=ROOT,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert every_object(forge) == before
    space.compact(forge.ledger)
    assert every_object(forge) == before
    assert loose(forge) == set()
    sound(forge)


def test_the_note_lists_a_pack_before_the_pack_is_there(forge: Forge) -> None:
    """What is under way can be read by whoever comes after a crash."""
    forge.add_many(2)
    seen: list[Own] = []
    replace = durable.replace

    def watching(source: Path, target: Path) -> None:
        if target.suffix == ".pack":
            seen.append(
                msgspec.json.decode((forge.ledger.state.folder / "packs").read_bytes(), type=Own)
            )
        replace(source, target)

    with mock.patch.object(durable, "replace", watching):
        space.compact(forge.ledger)
    assert [len(noted.packs) for noted in seen] == [1]


def test_files_and_folders_that_git_takes_meanwhile_are_passed_over(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git gc` beside `compact` removes loose files, and folders that are then empty."""
    forge.add_many(5)
    real = OwnPacks.loose

    def raced(packs: OwnPacks) -> Iterator[tuple[str, Path]]:
        for number, (oid, path) in enumerate(real(packs)):
            if sweeping and number % 2:
                path.unlink()
                with contextlib.suppress(OSError):
                    path.parent.rmdir()
            yield oid, path

    sweeping: list[bool] = []
    read_back = OwnPacks._read_back

    def then_race(packs: OwnPacks, name: str) -> None:
        read_back(packs, name)
        sweeping.append(True)

    monkeypatch.setattr(OwnPacks, "loose", raced)
    monkeypatch.setattr(OwnPacks, "_read_back", then_race)
    report = space.compact(forge.ledger)
    assert 0 < report.loose_removed < report.objects
    monkeypatch.undo()
    assert loose(forge) == set()
    sound(forge)


def test_a_folder_of_loose_objects_that_goes_is_passed_over(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went because it was empty."""
    forge.add_many(1)
    gone = forge.path / "objects/ff"
    listed = Path.iterdir

    def with_one_more(path: Path) -> Iterator[Path]:
        return iter([*listed(path), *([gone] if path.name == "objects" else [])])

    before = loose(forge)
    monkeypatch.setattr(Path, "iterdir", with_one_more)
    assert gone not in {path.parent for _, path in OwnPacks(forge.ledger).loose()} or gone.exists()
    assert loose(forge) == before
