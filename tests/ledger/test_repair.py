"""Repair after a power cut: back to what can be read, nothing deleted, everything said."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from hikmah.errors import BusyError, IntegrityError, NotFoundError
from hikmah.ledger import append, space
from hikmah.ledger.bulk import loose_path
from hikmah.ledger.lock import writer_lock
from hikmah.ledger.repair import RepairReport, repair
from hikmah.ledger.verify import verify
from tests.ledger.forge import Forge, note
from tests.ledger.test_verify import branch_at, join

NOW_MS = 1_700_000_000_000


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return a ledger of five records, in a repository of either hash."""
    forge = Forge(tmp_path / "store", request.param)
    forge.init()
    forge.add_many(5)
    return forge


def mend(forge: Forge) -> RepairReport:
    """Repair, and demand that the ledger is sound and can be written afterwards."""
    forge.reopen()
    report = repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=1)
    forge.reopen()
    assert verify(forge.ledger).errors == ()
    assert forge.head() == report.after.commit
    forge.add(note("life goes on"))
    assert verify(forge.ledger).errors == ()
    return report


def break_object(forge: Forge, spec: str, data: bytes | None = b"") -> str:
    """Empty, replace or remove a loose object, and return its id."""
    oid = forge.git("rev-parse", spec)
    path = loose_path(forge.path / "objects", oid)
    path.chmod(0o644)
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)
    return oid


HEAD = "refs/hikmah/memory"


def test_case_1_a_sound_ledger_is_left_as_it_is(forge: Forge) -> None:
    """There is nothing to repair, and that is said."""
    head = forge.head()
    report = repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=1)
    assert (report.action, report.before, report.after.commit) == ("none", head, head)
    assert (report.damaged, report.out_of_reach) == ({}, ())


@pytest.mark.parametrize("data", [b"", b"{", b'{"commit": 3}'], ids=repr)
def test_case_2_a_damaged_head_file_is_written_anew_from_the_log(forge: Forge, data: bytes) -> None:
    """The log says that the ref's commit was acknowledged."""
    forge.ledger.state.head_file.write_bytes(data)
    report = mend(forge)
    assert (report.action, report.after.seq) == ("head_restored", 5)


def test_a_damaged_head_file_is_not_guessed_from_a_foreign_ref(forge: Forge) -> None:
    """The ref holds what the log does not know: a person must decide."""
    log = forge.ledger.state.log_file.read_bytes()
    forge.add(note("foreign"))
    forge.ledger.state.log_file.write_bytes(log)
    forge.ledger.state.head_file.write_bytes(b"")
    with pytest.raises(IntegrityError, match="log of acknowledged heads"):
        repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=1)


def test_readable_commits_that_nobody_acknowledged_are_not_for_repair(forge: Forge) -> None:
    """Accepting a foreign tail is another decision."""
    head, log = forge.ledger.state.read_head(), forge.ledger.state.log_file.read_bytes()
    forge.add(note("foreign"))
    assert head is not None
    forge.ledger.state.acknowledge(head)
    forge.ledger.state.log_file.write_bytes(log)
    with pytest.raises(IntegrityError, match="nothing to repair"):
        repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=1)


@pytest.mark.parametrize(
    "spec",
    [HEAD, f"{HEAD}^{{tree}}", f"{HEAD}:records", f"{HEAD}:records/0000/00"],
    ids=["commit", "root", "records", "leaf"],
)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(None, id="missing"),
        pytest.param(zlib.compress(b"blob 1\0x"), id="swapped"),
    ],
)
def test_case_3_the_ref_goes_back_to_the_newest_readable_head(
    forge: Forge, spec: str, data: bytes | None
) -> None:
    """The newest append is damaged; the one before it is whole."""
    before, target = forge.head(), forge.git("rev-parse", f"{HEAD}~1")
    oid = break_object(forge, spec, data)
    report = mend(forge)
    assert (report.action, report.before) == ("ref_moved", before)
    assert report.after.commit == target
    assert list(report.damaged) == [oid]
    assert [lost.commit for lost in report.out_of_reach] == [before]


def test_case_3_damage_in_a_record_takes_back_all_that_builds_on_it(forge: Forge) -> None:
    """Every later tree holds the record: the newest head without it is the third."""
    commits = forge.git("rev-list", HEAD).splitlines()
    path = forge.git("diff-tree", "-r", "--name-only", "--no-commit-id", f"{HEAD}~1")
    oid = break_object(forge, f"{HEAD}:{path}")
    report = mend(forge)
    assert report.after.seq == 3
    assert list(report.damaged) == [oid]
    assert [lost.commit for lost in report.out_of_reach] == commits[:2]
    assert report.out_of_reach[0].subject is not None
    assert "note 5" in report.out_of_reach[0].subject


def test_the_old_value_is_kept_in_the_state_folder_and_under_no_ref(forge: Forge) -> None:
    """A ref to a missing commit would break the host's `git gc`."""
    before = break_object(forge, HEAD, None)
    report = mend(forge)
    assert report.kept_in is not None
    (line,) = Path(report.kept_in).read_text().splitlines()
    assert json.loads(line) == {
        "at_ms": NOW_MS,
        "ref": HEAD,
        "before": before,
        "after": report.after.commit,
    }
    forge.git("gc", "-q")
    forge.git("for-each-ref")


def test_repairs_are_kept_one_below_the_other(forge: Forge) -> None:
    """A second repair does not take away what the first noted."""
    break_object(forge, HEAD, None)
    mend(forge)
    break_object(forge, HEAD, None)
    report = mend(forge)
    assert report.kept_in is not None
    assert len(Path(report.kept_in).read_text().splitlines()) == 2


@pytest.mark.parametrize("data", [b"", b"\0" * 41, b"garbage\n"], ids=["empty", "zeros", "garbage"])
def test_a_ref_file_that_is_no_id_is_replaced_and_its_bytes_kept(forge: Forge, data: bytes) -> None:
    """A power cut may leave the ref's own file empty or full of zeros."""
    head = forge.head()
    (forge.path / HEAD).write_bytes(data)
    report = mend(forge)
    assert report.after.commit == head
    assert report.kept_in is not None
    assert json.loads(Path(report.kept_in).read_text())["before"] == data.decode("latin-1")


def test_a_ref_file_that_is_no_id_over_a_packed_ref_is_replaced(forge: Forge) -> None:
    """Behind the damaged file stands an older value, packed."""
    forge.git("pack-refs", "--all")
    forge.add(note("six"))
    head = forge.head()
    (forge.path / HEAD).write_bytes(b"")
    assert mend(forge).after.commit == head


def test_a_deleted_ref_comes_back_when_its_newest_head_is_readable(forge: Forge) -> None:
    """The ref is gone with a damaged commit: the head before it is what is left."""
    target = forge.git("rev-parse", f"{HEAD}~1")
    break_object(forge, HEAD)
    forge.git("update-ref", "--no-deref", "-d", HEAD)
    assert mend(forge).after.commit == target


def test_case_4_without_a_log_the_newest_readable_commit_is_found_in_the_history(
    forge: Forge,
) -> None:
    """What is before an acknowledged head was acknowledged once."""
    target = forge.git("rev-parse", f"{HEAD}~3")
    path = forge.git("diff-tree", "-r", "--name-only", "--no-commit-id", f"{HEAD}~2")
    break_object(forge, f"{HEAD}:{path}")
    forge.ledger.state.log_file.unlink()
    report = mend(forge)
    assert report.after.commit == target
    assert len(report.out_of_reach) == 3


def test_case_5_nothing_readable_is_an_error_that_says_where_else_to_look(forge: Forge) -> None:
    """The genesis itself is damaged: no state of this ledger is whole."""
    break_object(forge, f"{HEAD}:ledger.json")
    before = forge.head()
    with pytest.raises(IntegrityError, match="can be read whole") as caught:
        repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=1)
    assert "remote" in caught.value.hint
    assert forge.head() == before


def test_repair_of_what_was_never_there_is_an_error(tmp_path: Path) -> None:
    """No ref, no head, no log."""
    forge = Forge(tmp_path / "store")
    with pytest.raises(NotFoundError):
        repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=1)


def test_damage_on_one_branch_of_a_joined_ledger_goes_back_before_the_join(forge: Forge) -> None:
    """The other branch is whole, and its head was acknowledged here."""
    base = forge.head()
    one = forge.add_many(2, first=10)[-1]
    branch_at(forge, base)
    other = forge.add_many(2, first=20)[-1]
    join(forge, one, other)
    break_object(forge, one)
    report = mend(forge)
    assert report.after.commit == other
    assert one in {lost.commit for lost in report.out_of_reach}


def test_no_object_is_ever_deleted(forge: Forge) -> None:
    """What is out of reach stays in the object store, for whoever can save it."""
    forge.add(note("beyond"))
    break_object(forge, f"{HEAD}~1^{{tree}}")
    before = {path for path in (forge.path / "objects").rglob("*") if path.is_file()}
    mend(forge)
    assert before <= {path for path in (forge.path / "objects").rglob("*") if path.is_file()}


def test_damage_in_a_pack_is_repaired_as_among_loose_objects(forge: Forge) -> None:
    """Repair reads whatever the objects stand in."""
    head = forge.head()
    space.compact(forge.ledger)
    forge.add(note("loose on top"))
    break_object(forge, HEAD)
    assert mend(forge).after.commit == head


def test_an_append_that_died_leaves_its_lock_and_repair_goes_on(forge: Forge) -> None:
    """A ref lock that is provably ours does not stand in the way."""
    break_object(forge, HEAD, None)
    state = forge.ledger.state
    state.next_file.write_text(forge.git("rev-parse", HEAD) + "\n")
    (forge.path / f"{HEAD}.lock").hardlink_to(state.next_file)
    assert mend(forge).after.seq == 4


def test_a_writer_at_work_is_waited_for_and_then_named(forge: Forge) -> None:
    """Repair takes the writer lock."""
    lock = forge.ledger.state.lock_file
    with writer_lock(lock, timeout_s=0), pytest.raises(BusyError):
        repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=0)


def test_a_ref_that_moves_meanwhile_is_left_alone(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race is lost, and that is said."""
    break_object(forge, HEAD, None)
    monkeypatch.setattr(append, "_move", lambda *_args: False)
    with pytest.raises(BusyError, match="moved"):
        repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=1)


def test_a_long_history_is_repaired_by_one_walk(forge: Forge) -> None:
    """Each object is read about once, however many heads the log holds."""
    from hikmah.ledger.bulk import ObjectReader

    forge.add_many(120, first=100)
    break_object(forge, f"{HEAD}~2^{{tree}}")
    reads: list[int] = []
    close = ObjectReader.close

    def closing(self: ObjectReader) -> None:
        reads.append(self.objects)
        close(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ObjectReader, "close", closing)
        report = repair(forge.ledger, now_ms=NOW_MS, lock_timeout_s=1)
    assert report.after.seq == 122
    assert reads[0] < 1.2 * 6 * 126
