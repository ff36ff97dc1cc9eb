"""Push: verified, never forced, agreed to the first time."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.errors import IntegrityError, NotFoundError, RefusedError, RemoteError
from hikmah.ledger.ledger import Ledger
from hikmah.model.trace import Trace
from hikmah.remotes.pushing import FirstPush, push_ledger
from tests import world
from tests.remotes.roads import copy_of, fetch, other_genesis, push, refs, remote, road, tip

REF = world.REF


class TestFirst:
    """The first push to a remote publishes."""

    def test_everything_goes_and_is_counted(self, here: Ledger, bare: Path) -> None:
        """Case 2 with nothing there: genesis and two records."""
        report = push(here, bare)
        assert (report.changed, report.first, report.before) == (True, True, None)
        assert (report.commits, report.records, report.seq) == (3, 2, 2)
        assert refs(bare) == {REF: tip(here)}
        assert refs(here.store.common_dir)[report.tracking_ref] == tip(here)

    def test_whoever_asked_must_agree(self, here: Ledger, bare: Path) -> None:
        """Refused, with how many private traces would have gone; nothing was sent."""
        world.put(here, Trace(created_at_ms=0, content="known", privacy="public"))
        with pytest.raises(RefusedError, match="2 private traces among 3 records") as caught:
            push(here, bare, yes=False)
        assert "--yes" in caught.value.hint
        assert refs(bare) == {}

    def test_what_is_agreed_to_is_told(self, here: Ledger, bare: Path) -> None:
        """Records, private and sensitive ones, and where to."""
        world.put(
            here,
            Trace(created_at_ms=0, content="a", privacy="sensitive"),
            Trace(created_at_ms=0, content="b"),
        )
        asked: list[FirstPush] = []

        def agree(first: FirstPush) -> bool:
            asked.append(first)
            return False

        with pytest.raises(RefusedError, match="1 sensitive"):
            push_ledger(here, remote(here, bare), road(here, bare), agree=agree, timeout_s=5)
        url = str(bare)
        assert asked == [FirstPush(remote=url, url=url, records=4, private=3, sensitive=1)]

    def test_the_second_push_asks_nobody(self, here: Ledger, bare: Path) -> None:
        """What was agreed to once stays agreed to."""
        push(here, bare)
        world.put(here, "three")
        report = push(here, bare, yes=False)
        assert (report.changed, report.first, report.records) == (True, False, 1)

    def test_a_remote_that_others_filled_is_still_a_first_push(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """This machine's traces were never there: only they are counted."""
        there = copy_of(here, tmp_path / "there")
        push(here, bare)
        world.put(there, "of this machine")
        with pytest.raises(RefusedError, match="1 private traces among 1 records"):
            push(there, bare, yes=False)

    def test_having_fetched_is_no_agreement(self, here: Ledger, bare: Path, tmp_path: Path) -> None:
        """What came from there was somebody else's; what goes there is this machine's."""
        there = copy_of(here, tmp_path / "there")
        push(here, bare)
        fetch(there, bare)
        world.put(there, "of this machine")
        with pytest.raises(RefusedError, match="1 private traces among 1 records"):
            push(there, bare, yes=False)
        assert push(there, bare).first
        world.put(there, "more")
        assert not push(there, bare, yes=False).first

    def test_a_push_that_had_nothing_to_send_is_no_agreement(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """Nobody was asked, because nothing was published."""
        there = copy_of(here, tmp_path / "there")
        push(here, bare)
        assert not push(there, bare, yes=False).changed
        world.put(there, "of this machine")
        with pytest.raises(RefusedError, match="first push"):
            push(there, bare, yes=False)

    def test_a_remote_that_moves_to_another_address_is_asked_about_anew(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """Other people can read that one."""
        repo = here.store.common_dir
        world.git(repo, "remote", "add", "team", str(bare))
        push(here, "team")
        other = world.repository(tmp_path / "other.git", "--bare")
        world.git(other, "fetch", "-q", str(bare), f"{REF}:{REF}")
        world.git(repo, "remote", "set-url", "team", str(other))
        here = world.reopened(repo, here.name)
        world.put(here, "three")
        with pytest.raises(RefusedError, match=r"other\.git"):
            push(here, "team", yes=False)
        assert push(here, "team").first

    def test_a_damaged_note_is_no_agreement(self, here: Ledger, bare: Path) -> None:
        """Asked again rather than published unasked."""
        push(here, bare)
        (here.state.folder / "remotes.agreed").write_bytes(b"\xff{")
        world.put(here, "three")
        with pytest.raises(RefusedError, match="first push"):
            push(here, bare, yes=False)


class TestLater:
    """Cases 1 to 4."""

    def test_case_1_the_remote_has_it_all(self, here: Ledger, bare: Path) -> None:
        """Nothing is sent, nobody is asked."""
        push(here, bare)
        report = push(here, bare, yes=False)
        assert (report.changed, report.commits, report.before) == (False, 0, tip(here))

    def test_case_2_only_what_the_remote_lacks_is_verified(self, here: Ledger, bare: Path) -> None:
        """Damage in what the remote has already does not stop what is new."""
        push(here, bare)
        world.put(here, "three")
        report = push(here, bare)
        assert (report.commits, report.records, report.seq) == (1, 1, 3)

    @pytest.mark.parametrize("fetched", [False, True], ids=["unknown here", "fetched"])
    def test_case_3_a_remote_that_is_ahead_wants_a_sync(
        self, here: Ledger, bare: Path, tmp_path: Path, *, fetched: bool
    ) -> None:
        """Exit 8 with the command that joins; the remote is as it was."""
        push(here, bare)
        there = copy_of(here, tmp_path / "there")
        world.put(there, "there")
        push(there, bare)
        if fetched:
            fetch(here, bare)
        with pytest.raises(RemoteError, match=tip(there)) as caught:
            push(here, bare)
        assert "hikmah sync" in caught.value.hint
        world.put(here, "diverged")
        with pytest.raises(RemoteError) as caught:
            push(here, bare)
        assert "hikmah sync" in caught.value.hint
        assert refs(bare) == {REF: tip(there)}

    def test_case_4_a_remote_that_was_rewound_is_told_with_both_commits(
        self, here: Ledger, bare: Path
    ) -> None:
        """A push would heal it, and hide that somebody took records away."""
        first = tip(here)
        world.put(here, "three")
        push(here, bare)
        world.git(bare, "update-ref", REF, first)
        world.put(here, "four")
        with pytest.raises(IntegrityError, match="rewritten") as caught:
            push(here, bare)
        assert first in caught.value.message
        assert caught.value.exit_code == 6

    def test_case_4_a_ledger_that_vanished_is_told(self, here: Ledger, bare: Path) -> None:
        """Until a person forgets what was seen there."""
        report = push(here, bare)
        world.git(bare, "update-ref", "-d", REF)
        with pytest.raises(IntegrityError, match="gone") as caught:
            push(here, bare)
        assert report.tracking_ref in caught.value.hint
        world.git(here.store.common_dir, "update-ref", "-d", report.tracking_ref)
        assert push(here, bare).first


class TestRefusals:
    """What never leaves this machine."""

    def test_no_ledger(self, tmp_path: Path, bare: Path) -> None:
        """There is nothing to push."""
        empty = world.ledger(world.repository(tmp_path / "empty"), started=False)
        with pytest.raises(NotFoundError):
            push(empty, bare)

    def test_a_ledger_in_disagreement(self, here: Ledger, bare: Path) -> None:
        """What nobody here acknowledged is not published in this machine's name."""
        world.git(here.store.common_dir, "update-ref", REF, f"{tip(here)}~1")
        with pytest.raises(IntegrityError, match="lacks"):
            push(here, bare)
        assert refs(bare) == {}

    def test_records_that_break_a_rule(self, here: Ledger, bare: Path) -> None:
        """Verified before it is sent: the commit is named, and nothing went."""
        repo = here.store.common_dir
        text = world.git(repo, "cat-file", "commit", tip(here))
        forged = world.git(repo, "hash-object", "-t", "commit", "-w", "--stdin", text=text + "x\n")
        world.git(repo, "update-ref", REF, forged)
        for file in here.state.folder.iterdir():
            file.unlink()
        with pytest.raises(IntegrityError, match="breaks a rule") as caught:
            push(here, bare)
        assert caught.value.where == forged
        assert refs(bare) == {}

    @pytest.mark.parametrize("there", [True, False], ids=["the remote has it", "one of two there"])
    def test_a_plain_copy_is_verified_whatever_the_remote_has(
        self, here: Ledger, bare: Path, tmp_path: Path, *, there: bool
    ) -> None:
        """What a remote holds vouches for nothing: a clone would believe what was noted here."""
        repo = here.store.common_dir
        forged = world.git(repo, "commit-tree", f"{REF}^{{tree}}", "-p", REF, "-m", "x")
        world.git(repo, "push", "-q", str(bare), f"{forged}:{REF}")
        copy = world.other_machine(tmp_path / "copy", world.reopened(bare))
        if not there:
            world.git(repo, "push", "-qf", str(bare), f"{forged}~1:{REF}")
        with pytest.raises(IntegrityError, match="breaks a rule") as caught:
            push(copy, bare)
        assert caught.value.where == forged
        assert set(refs(copy.store.common_dir)) == {REF}

    def test_another_ledger(self, here: Ledger, bare: Path, tmp_path: Path) -> None:
        """Two beginnings cannot be joined, whether its commits are here or not."""
        push(here, bare)
        other = world.ledger(world.repository(tmp_path / "other"), started=False)
        other_genesis(other)
        with pytest.raises(RemoteError):
            push(other, bare)
        world.git(other.store.common_dir, "fetch", "-q", str(bare), REF)
        with pytest.raises(RefusedError, match="two beginnings"):
            push(other, bare)

    def test_what_the_remote_refuses(self, here: Ledger, bare: Path) -> None:
        """Its reason is passed on, and no tracking ref says otherwise."""
        hook = bare / "hooks" / "update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho 'only on Fridays' >&2\nexit 1\n")
        hook.chmod(0o755)
        with pytest.raises(RemoteError, match="only on Fridays"):
            push(here, bare)
        assert set(refs(here.store.common_dir)) == {REF}
