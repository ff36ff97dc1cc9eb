"""A store is found where people expect it, and never anywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.errors import InvalidInputError, NotFoundError, StoreError
from hikmah.ledger.gitstore import init_bare
from hikmah.ledger.locate import at, explicit, find, is_git_dir, ledger_ref
from tests import world


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return world.repository(tmp_path / "project")


def commit(repo: Path) -> None:
    (repo / "file").write_text("x")
    world.git(repo, "add", "file")
    world.git(repo, "commit", "-q", "-m", "one")


class TestFind:
    def test_from_a_sub_folder(self, repo: Path) -> None:
        """The nearest repository upwards counts."""
        deep = repo / "a" / "b"
        deep.mkdir(parents=True)
        found = find(deep)
        assert found is not None
        assert (found.root, found.common_dir) == (repo, repo / ".git")

    def test_a_standalone_store_wins_over_git_beside_it(self, repo: Path) -> None:
        """`.hikmah/` in the same folder as `.git/` is the store."""
        init_bare(repo / ".hikmah")
        found = find(repo)
        assert found is not None
        assert found.common_dir == repo / ".hikmah"

    def test_a_linked_worktree_shares_the_common_folder(self, repo: Path, tmp_path: Path) -> None:
        """Faults row 6: memory written in a worktree is the repository's, not the worktree's."""
        commit(repo)
        world.git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
        found = find(tmp_path / "tree")
        assert found is not None
        assert found.common_dir == (repo / ".git").resolve()

    def test_a_submodule_has_its_own(self, repo: Path, tmp_path: Path) -> None:
        """Faults row 6: a submodule's memory is not its parent's."""
        part = world.repository(tmp_path / "part")
        commit(part)
        world.git(
            repo,
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            str(part),
            "sub",
        )
        found = find(repo / "sub")
        assert found is not None
        assert found.common_dir == (repo / ".git" / "modules" / "sub").resolve()

    def test_a_bare_repository_is_a_store(self, tmp_path: Path) -> None:
        """A folder that is a bare repository itself counts."""
        bare = world.repository(tmp_path / "bare.git", "--bare")
        found = find(bare)
        assert found is not None
        assert found.common_dir == bare

    def test_a_worktree_of_a_bare_repository(self, repo: Path, tmp_path: Path) -> None:
        """Faults row 6: worktrees of a bare repository share it."""
        commit(repo)
        bare = tmp_path / "bare.git"
        world.git(repo, "clone", "-q", "--bare", str(repo), str(bare))
        world.git(bare, "worktree", "add", "-q", str(tmp_path / "tree"))
        found = find(tmp_path / "tree")
        assert found is not None
        assert found.common_dir == bare.resolve()

    def test_a_git_folder_inside_is_found_from_within(self, repo: Path, tmp_path: Path) -> None:
        """Inside a worktree's own git folder, the common folder is meant."""
        commit(repo)
        world.git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
        inner = repo / ".git" / "worktrees" / "tree"
        found = at(inner)
        assert found is not None
        assert found.common_dir == (repo / ".git").resolve()

    def test_nothing_is_none(self, tmp_path: Path) -> None:
        """Where there is no store, none is invented."""
        assert at(tmp_path) is None

    def test_a_head_alone_is_no_repository(self, tmp_path: Path) -> None:
        """A folder needs more than a file called HEAD."""
        (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
        assert not is_git_dir(tmp_path)


class TestExplicit:
    def test_a_mistyped_path_is_an_error(self, tmp_path: Path) -> None:
        """A path that is not there is said so, with the way to make one."""
        with pytest.raises(NotFoundError, match="no such folder") as caught:
            explicit(tmp_path / "typo")
        assert "init" in caught.value.hint

    def test_a_sub_folder_names_the_store_above(self, repo: Path) -> None:
        """A folder inside a repository is not the repository; the error names it."""
        (repo / "sub").mkdir()
        with pytest.raises(NotFoundError, match="nearest store") as caught:
            explicit(repo / "sub")
        assert str(repo) in caught.value.message

    def test_a_folder_without_any_store(self, tmp_path: Path) -> None:
        """A folder with no store at it or above is said to be neither."""
        with pytest.raises(NotFoundError, match="neither"):
            explicit(tmp_path)

    def test_a_git_file_that_leads_nowhere(self, tmp_path: Path) -> None:
        """A worktree whose repository moved away is an error that says how to mend it."""
        (tmp_path / ".git").write_text("gitdir: /nowhere\n")
        with pytest.raises(StoreError, match="not a git folder") as caught:
            explicit(tmp_path)
        assert "worktree repair" in caught.value.hint


class TestNames:
    @pytest.mark.parametrize("name", ["memory", "a", "team-7", "x.y_z", "0", "a" * 64])
    def test_good_names(self, name: str) -> None:
        """Lower-case letters, digits, dots, dashes, underscores."""
        assert ledger_ref(name) == f"refs/hikmah/{name}"

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param("", id="empty"),
            pytest.param("../../x", id="climbs out"),
            pytest.param("a/b", id="a folder"),
            pytest.param("a\nb", id="newline"),
            pytest.param("refs/heads/main", id="a branch"),
            pytest.param("-rf", id="an option"),
            pytest.param("a" * 300, id="300 characters"),
            pytest.param("Memory", id="upper case"),
            pytest.param("a..b", id="two dots"),
            pytest.param("a.lock", id="git's lock name"),
            pytest.param("a.", id="dot at the end"),
            pytest.param(".a", id="dot at the start"),
            pytest.param("a b", id="space"),
            pytest.param("a\0b", id="NUL"),
            pytest.param("ä", id="not ASCII"),
            pytest.param("a~1", id="git's own syntax"),
        ],
    )
    def test_names_that_could_escape_are_refused(self, name: str) -> None:
        """Faults row 16: a name is refused before any path or ref is built from it."""
        with pytest.raises(InvalidInputError, match="not a ledger name"):
            ledger_ref(name)

    @pytest.mark.parametrize("name", ["memory", "team-7", "x.y_z", "a..b", "a.lock", "a."])
    def test_git_agrees(self, tmp_path: Path, name: str) -> None:
        """Every name that is allowed is a ref name to git."""
        repo = world.repository(tmp_path)
        try:
            world.git(repo, "check-ref-format", f"refs/hikmah/{name}")
            fine = True
        except AssertionError:
            fine = False
        try:
            ledger_ref(name)
        except InvalidInputError:
            assert not fine
        else:
            assert fine
