"""Which store a memory opens, and what it never touches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hikmah.errors import IntegrityError, InvalidInputError, NotFoundError, StoreError
from hikmah.memory import Memory
from hikmah.model.policy import Policy
from tests import world


class TestOpen:
    def test_a_mistyped_store_is_an_error(self, tmp_path: Path) -> None:
        """A path that is not a store is not an empty memory."""
        with pytest.raises(NotFoundError, match="no store at"):
            Memory.open(tmp_path / "typo", environ={})

    @pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
    def test_no_time_to_wait_is_refused(self, repo: Path, seconds: float) -> None:
        """Whoever waits until NaN waits for ever."""
        with pytest.raises(InvalidInputError, match="no time to wait") as caught:
            Memory.open(repo, environ={}, lock_timeout_s=seconds)
        assert caught.value.where == "lock_timeout_s"

    def test_a_working_folder_that_is_gone_is_missed_only_when_needed(
        self, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A store named by its full path is found from nowhere, too."""
        with Memory.open(repo, environ={}) as memory:
            memory.remember("one")
        gone = tmp_path / "gone"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        with Memory.open(repo, environ={}) as memory:
            assert memory.recall("one").total == 1
        with Memory.open(environ={"HIKMAH_STORE": str(repo)}) as memory:
            assert memory.recall("one").total == 1
        for store in (None, "repo"):
            with pytest.raises(NotFoundError, match="no longer there"):
                Memory.open(store, environ={})

    def test_without_a_store_anywhere(self, tmp_path: Path) -> None:
        """Outside any store, reading says how to make one."""
        with pytest.raises(NotFoundError, match="no store in") as caught:
            Memory.open(environ={}, cwd=tmp_path)
        assert "hikmah init" in caught.value.hint

    def test_reading_a_ledger_that_is_not_there(self, repo: Path) -> None:
        """A repository without the ledger is said to have none."""
        with (
            Memory.open(repo, environ={}) as memory,
            pytest.raises(NotFoundError, match="no ledger 'memory'"),
        ):
            memory.recall("anything")

    def test_a_first_write_starts_the_ledger_and_says_so(self, repo: Path) -> None:
        """Writing into a repository without a ledger makes its genesis first."""
        with Memory.open(repo, environ={}) as memory:
            first = memory.remember("hello")
            second = memory.remember("again")
        assert first.seq == 1
        assert "started a new ledger" in first.warnings[0]
        assert second.warnings == ()

    def test_a_first_write_outside_any_store_makes_one_and_says_so(self, tmp_path: Path) -> None:
        """`create` makes `.hikmah/` in the working folder."""
        with Memory.open(environ={}, cwd=tmp_path, create=True) as memory:
            remembered = memory.remember("hello")
        assert (tmp_path / ".hikmah" / "HEAD").is_file()
        assert any("no store was found" in warning for warning in remembered.warnings)
        with Memory.open(environ={}, cwd=tmp_path) as memory:
            assert memory.status().records == 1

    def test_the_environment_names_store_and_ledger(self, repo: Path, tmp_path: Path) -> None:
        """`HIKMAH_STORE` and `HIKMAH_LEDGER` stand in for arguments that are left out."""
        environ = {"HIKMAH_STORE": str(repo), "HIKMAH_LEDGER": "team"}
        with Memory.open(environ=environ, cwd=tmp_path) as memory:
            memory.remember("hello")
        assert world.git(repo, "for-each-ref", "--format=%(refname)") == "refs/hikmah/team"

    def test_git_variables_of_another_repository_redirect_nothing(
        self, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Faults row 5: inherited `GIT_DIR` and friends do not move a write."""
        other = world.repository(tmp_path / "other")
        for name in ("GIT_DIR", "GIT_COMMON_DIR"):
            monkeypatch.setenv(name, str(other / ".git"))
        monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
        monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git/objects"))
        monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(other / ".git/objects"))
        monkeypatch.setenv("GIT_NAMESPACE", "elsewhere")
        before = sorted(p for p in (other / ".git").rglob("*"))
        with Memory.open(repo, environ=os.environ) as memory:
            memory.remember("mine")
        assert sorted(p for p in (other / ".git").rglob("*")) == before
        assert world.git(repo, "rev-list", "--count", world.REF) == "2"

    @pytest.mark.parametrize("name", ["../../x", "refs/heads/main", "-rf", "a\nb"])
    def test_a_ledger_name_that_could_escape(self, repo: Path, name: str) -> None:
        """Faults row 16: refused before any path is built."""
        with pytest.raises(InvalidInputError, match="not a ledger name"):
            Memory.open(repo, ledger=name, environ={})

    def test_a_policy_file_that_is_not_there(self, repo: Path) -> None:
        """A named policy must exist."""
        with pytest.raises(NotFoundError, match="policy"):
            Memory.open(repo, policy=repo / "none.json", environ={})

    def test_a_policy_is_taken_from_a_file_or_the_environment(self, repo: Path) -> None:
        """Any subset of the policy can be overridden."""
        path = repo / "policy.json"
        path.write_text('{"recall_limit": 3}')
        with Memory.open(repo, policy=path, environ={}) as memory:
            assert memory.policy.recall_limit == 3
        with Memory.open(repo, environ={"HIKMAH_POLICY": str(path)}) as memory:
            assert memory.policy.recall_limit == 3
        with Memory.open(repo, policy=Policy(recall_limit=2), environ={}) as memory:
            assert memory.policy.recall_limit == 2


class TestInit:
    def test_inside_a_repository_it_uses_it(self, repo: Path) -> None:
        """A git repository is the store; its work tree stays clean."""
        memory, made = Memory.init(repo, environ={})
        memory.close()
        assert (made.created, made.created_store) == (True, False)
        assert world.git(repo, "status", "--porcelain") == ""
        assert world.git(repo, "rev-parse", world.REF) == made.commit

    def test_twice_is_as_good_as_once(self, repo: Path) -> None:
        """A second init leaves the ledger as it is."""
        first, made = Memory.init(repo, environ={})
        again, there = Memory.init(repo, environ={})
        first.close()
        again.close()
        assert not there.created
        assert (there.commit, there.ledger) == (made.commit, made.ledger)

    def test_elsewhere_it_makes_a_standalone_store(self, tmp_path: Path) -> None:
        """A folder that is no repository, or not there yet, gets `.hikmah/`."""
        memory, made = Memory.init(tmp_path / "new" / "place", environ={})
        memory.close()
        assert made.created_store
        assert (tmp_path / "new/place/.hikmah/HEAD").is_file()

    def test_standalone_inside_a_work_tree_is_excluded(self, repo: Path) -> None:
        """`git status` does not see the store; the exclusion is written once."""
        for _ in range(2):
            memory, made = Memory.init(repo, standalone=True, environ={})
            memory.close()
        assert not made.created
        assert world.git(repo, "status", "--porcelain") == ""
        assert (repo / ".git/info/exclude").read_text().splitlines().count(".hikmah/") == 1

    def test_a_deleted_ledger_is_not_begun_again(self, repo: Path) -> None:
        """A ref that is gone is missed by init as by every write."""
        memory, _ = Memory.init(repo, environ={})
        memory.close()
        world.git(repo, "update-ref", "-d", world.REF)
        with pytest.raises(IntegrityError, match="gone"):
            Memory.init(repo, environ={})

    def test_a_folder_that_refuses(self, tmp_path: Path) -> None:
        """A store that cannot be made is a store error that names the place."""
        (tmp_path / "file").write_text("x")
        with pytest.raises(StoreError, match="cannot make a store"):
            Memory.init(tmp_path / "file" / "inside", environ={})


class TestPlaces:
    def test_worktrees_share_one_memory(self, repo: Path, tmp_path: Path) -> None:
        """Faults row 6: written in a worktree, removed, recalled from the main one."""
        (repo / "f").write_text("x")
        world.git(repo, "add", "f")
        world.git(repo, "commit", "-q", "-m", "one")
        tree = tmp_path / "tree"
        world.git(repo, "worktree", "add", "-q", "-b", "side", str(tree))
        (tree / "deep").mkdir()
        with Memory.open(environ={}, cwd=tree / "deep") as memory:
            memory.remember("the cache is warm")
        world.git(repo, "worktree", "remove", "--force", str(tree))
        with Memory.open(repo, environ={}) as memory:
            assert memory.recall("cache").total == 1
        assert world.git(repo, "status", "--porcelain") == ""
        world.git(repo, "switch", "-q", "side")

    def test_no_hook_of_the_repository_runs(self, repo: Path) -> None:
        """Faults row 4: our writes fire no git hook, so no hook can wait for our lock."""
        for name in ("pre-commit", "post-commit", "reference-transaction", "post-update"):
            hook = repo / ".git/hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(f"#!/bin/sh\ntouch '{repo}/fired'\n")
            hook.chmod(0o755)
        with Memory.open(repo, environ={}) as memory:
            memory.remember("quiet")
        assert not (repo / "fired").exists()

    def test_signing_and_a_missing_identity_stop_nothing(self, tmp_path: Path) -> None:
        """Faults row 8: no identity, and `commit.gpgsign` with a program that hangs."""
        repo = world.repository(tmp_path / "signed")
        world.git(repo, "config", "commit.gpgsign", "true")
        world.git(repo, "config", "gpg.program", "/bin/false")
        with Memory.open(repo, environ={}) as memory:
            assert memory.remember("written at once").seq == 1
        assert "gpgsig" not in world.git(repo, "cat-file", "-p", world.REF)

    def test_a_store_that_cannot_be_written_is_still_read(
        self, repo: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without a state folder that can be written, the index lives in memory."""
        memory.remember("readable all the same")
        memory.close()
        state = repo / ".git/hikmah/memory"
        for path in state.glob("index*"):
            path.unlink()
        state.chmod(0o555)
        try:
            with Memory.open(repo, environ={}) as readonly:
                if os.access(state, os.W_OK):  # root may write anywhere: take the index away
                    monkeypatch.setattr(
                        "hikmah.ledger.head.State.index_file", property(lambda _: None)
                    )
                assert readonly.recall("readable").total == 1
        finally:
            state.chmod(0o755)
