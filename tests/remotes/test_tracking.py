"""Tracking refs move forward only, by one at a time, and survive what dies on the way."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from hikmah.errors import BusyError, IntegrityError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.ledger import Ledger
from hikmah.remotes.naming import Remote
from hikmah.remotes.tracking import Tracking, trusted_heads
from tests import world
from tests.remotes.roads import refs, tip

TEAM = Remote("team", "team", "/srv/x", "/srv/x")
REF = "refs/hikmah-remotes/team/memory"


@pytest.fixture
def tracking(here: Ledger) -> Tracking:
    """Return the tracking of a remote that was never seen."""
    return Tracking(here, TEAM)


def advance(tracking: Tracking, ledger: Ledger, new: str, timeout_s: float = 5) -> bool:
    """Move the tracking ref."""
    return tracking.advance(new, ledger.store.read, timeout_s=timeout_s)


def test_it_moves_and_is_noted(here: Ledger, tracking: Tracking) -> None:
    """Ref and note; the second time there is nothing to do."""
    assert (tracking.commit(), tracking.verified()) == (None, None)
    assert advance(tracking, here, tip(here))
    assert tracking.commit() == tracking.verified() == tip(here)
    assert not advance(tracking, here, tip(here))
    assert refs(here.store.common_dir)[REF] == tip(here)


def test_it_never_moves_back(here: Ledger, tracking: Tracking) -> None:
    """Both commits are named, and the way to forget is a person's."""
    first = tip(here)
    world.put(here, "three")
    advance(tracking, here, tip(here))
    assert not advance(tracking, here, first)
    assert tracking.commit() == tracking.verified() == tip(here)
    with pytest.raises(IntegrityError, match=tip(here)) as caught:
        tracking.check_forward(first, here.store.read, seen=tracking.seen())
    assert first in caught.value.message
    assert f"git update-ref -d {REF}" in caught.value.hint
    world.git(here.store.common_dir, "update-ref", "-d", REF)
    assert tracking.verified() is None
    assert advance(tracking, here, first)


def test_a_head_beside_the_one_that_it_holds_is_told(here: Ledger, tracking: Tracking) -> None:
    """Another process moved it elsewhere meanwhile: nothing is covered."""
    first = tip(here)
    world.put(here, "three")
    advance(tracking, here, tip(here))
    beside = world.git(
        here.store.common_dir, "commit-tree", f"{first}^{{tree}}", "-p", first, "-m", "x"
    )
    with pytest.raises(IntegrityError, match="rewritten"):
        advance(tracking, here, beside)
    assert tracking.commit() == tracking.verified() == tip(here)


def test_a_ref_that_plain_git_rewound_is_still_held_to_the_note(
    here: Ledger, tracking: Tracking
) -> None:
    """What was verified counts beside what the ref holds now."""
    first = tip(here)
    world.put(here, "three")
    advance(tracking, here, tip(here))
    world.git(here.store.common_dir, "update-ref", REF, first)
    with pytest.raises(IntegrityError, match="rewritten"):
        tracking.check_forward(first, here.store.read, seen=tracking.seen())


def test_a_lock_that_is_a_copy_of_our_note_is_ours_to_remove(
    here: Ledger, tracking: Tracking
) -> None:
    """Where there are no hard links, a killed fetch leaves a copy."""
    note = tracking._note
    note.write_text(f"{tip(here)}\n")
    lock = here.store.common_dir / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(f"{tip(here)}\n")
    assert advance(tracking, here, tip(here))
    assert not lock.exists()


def test_a_move_that_fails_leaves_no_lock_behind(
    here: Ledger, tracking: Tracking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor when somebody interrupts it."""

    def replace(source: Path, target: Path) -> None:
        if target.name == "memory":
            raise KeyboardInterrupt(f"{source}")
        source.replace(target)

    with monkeypatch.context() as m:
        m.setattr(durable, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            advance(tracking, here, tip(here))
    assert not (here.store.common_dir / f"{REF}.lock").exists()
    assert advance(tracking, here, tip(here))


def test_a_lock_of_another_program_stays_whatever_is_in_it(
    here: Ledger, tracking: Tracking
) -> None:
    """A plain fetch of the same commit has the same content; the error names the file."""
    lock = here.store.common_dir / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(f"{tip(here)}\n")
    with pytest.raises(BusyError, match="another program") as caught:
        advance(tracking, here, tip(here), timeout_s=0.05)
    assert str(lock) in caught.value.hint
    assert lock.exists()
    assert not tracking._note.exists()


def test_a_lock_left_by_a_fetch_that_died_is_ours_to_remove(
    here: Ledger, tracking: Tracking
) -> None:
    """It is a second name of our own note, so nobody else's."""
    advance(tracking, here, tip(here))
    world.put(here, "three")
    note = tracking._note  # what a killed fetch leaves
    note.write_text(f"{tip(here)}\n")
    os.link(note, here.store.common_dir / f"{REF}.lock")
    assert advance(tracking, here, tip(here))
    assert not (here.store.common_dir / f"{REF}.lock").exists()
    assert not note.exists()


def test_a_copied_lock_left_by_a_fetch_that_died_is_ours_too(
    here: Ledger, tracking: Tracking
) -> None:
    """Where a file system has no hard links, the lock is a copy of the note."""
    lock = here.store.common_dir / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(f"{tip(here)}\n")
    with pytest.raises(BusyError) as caught:
        advance(tracking, here, tip(here), timeout_s=0.05)
    assert str(lock) in caught.value.hint
    note = here.state.folder / f"remote-{hashlib.sha256(REF.encode()).hexdigest()[:12]}"
    note.write_text(f"{tip(here)}\n")
    assert advance(tracking, here, tip(here))
    assert not lock.exists()
    assert not note.exists()


def test_a_lock_of_another_program_is_waited_for_and_left(here: Ledger, tracking: Tracking) -> None:
    """Bounded, and then told."""
    lock = here.store.common_dir / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("")
    with pytest.raises(BusyError, match=r"memory\.lock"):
        advance(tracking, here, tip(here), timeout_s=0.05)
    assert lock.exists()
    assert tracking.commit() is None
    lock.unlink()
    assert advance(tracking, here, tip(here))


def test_many_at_once_leave_one_forward_move(here: Ledger, tracking: Tracking) -> None:
    """Threads of one process, or fetches of several: one after the other."""
    moved: list[bool] = []
    threads = [
        threading.Thread(target=lambda: moved.append(advance(tracking, here, tip(here))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(moved) == [False] * 7 + [True]
    assert tracking.verified() == tip(here)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"[1]", b'{"a": 1}', b"\xff"], ids=repr)
def test_a_damaged_note_is_as_good_as_none(here: Ledger, tracking: Tracking, data: bytes) -> None:
    """Everything is verified again, and the note is written anew."""
    advance(tracking, here, tip(here))
    (here.state.folder / "remotes").write_bytes(data)
    assert tracking.verified() is None
    assert not advance(tracking, here, tip(here))
    assert tracking.verified() == tip(here)


def test_a_note_that_cannot_be_read_is_told(here: Ledger, tracking: Tracking) -> None:
    """A folder stands in its place."""
    advance(tracking, here, tip(here))
    (here.state.folder / "remotes").unlink()
    (here.state.folder / "remotes").mkdir()
    with pytest.raises(StoreError, match="cannot read"):
        tracking.verified()


def test_what_is_trusted(here: Ledger, tmp_path: Path) -> None:
    """The acknowledged head, and what else is here; a ref alone is not enough."""
    assert trusted_heads(here) == (tip(here),)
    assert trusted_heads(here, tip(here), None, "0" * 40) == (tip(here),)
    copy = world.repository(tmp_path / "copy")
    world.git(copy, "fetch", "-q", str(here.store.common_dir), f"{world.REF}:{world.REF}")
    assert trusted_heads(world.reopened(copy)) == ()
    (here.state.folder / "head").write_text("damaged")
    assert trusted_heads(here) == ()
