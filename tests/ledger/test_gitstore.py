"""Objects are checked when read and durable when written; refs move only by comparison."""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path

import pytest

from hikmah.errors import BusyError, RefusedError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.gitstore import (
    DEFAULT_IDENTITY,
    CorruptObjectError,
    GitStore,
    MissingObjectError,
)
from hikmah.ledger.locate import explicit
from hikmah.ledger.objects import raw_object
from tests import world


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return world.repository(tmp_path / "repo")


@pytest.fixture
def store(repo: Path) -> GitStore:
    return GitStore(explicit(repo), environ=world.environment(repo))


def blob(store: GitStore, text: str = "hello") -> str:
    raw = raw_object(b"blob", text.encode(), store.algorithm)
    store.write_loose([raw])
    return raw.oid


class TestObjects:
    def test_what_is_written_git_reads(self, repo: Path, store: GitStore) -> None:
        """A loose object is git's own, read-only, and stands under its id."""
        oid = blob(store)
        assert world.git(repo, "cat-file", "-p", oid) == "hello"
        assert store.read(oid) == (b"blob", b"hello")
        assert stat.S_IMODE(store.loose_path(oid).stat().st_mode) & 0o222 == 0

    def test_packed_objects_are_read_and_found(self, repo: Path, store: GitStore) -> None:
        """What git packed meanwhile is still there."""
        oid = blob(store)
        world.git(repo, "update-ref", "refs/tags/keep", oid)
        world.git(repo, "gc", "-q")
        assert not store.loose_path(oid).exists()
        assert store.has(oid)
        assert store.read(oid) == (b"blob", b"hello")

    def test_alternates_are_followed(self, repo: Path, store: GitStore, tmp_path: Path) -> None:
        """Objects borrowed from another repository are found."""
        oid = blob(store)
        other = world.repository(tmp_path / "other")
        (other / ".git/objects/info/alternates").write_text(f"{repo}/.git/objects\n")
        assert GitStore(explicit(other), environ={}).read(oid) == (b"blob", b"hello")

    def test_a_missing_object_is_named(self, store: GitStore) -> None:
        """An object that is not there is an error with its id."""
        with pytest.raises(MissingObjectError, match="e" * 40):
            store.read("e" * 40)
        assert not store.has("e" * 40)

    @pytest.mark.parametrize(
        ("damage", "error"),
        [
            pytest.param(b"", MissingObjectError, id="empty"),
            pytest.param(b"garbage", CorruptObjectError, id="garbage"),
            pytest.param(zlib.compress(b"blob 5\0HELLO"), CorruptObjectError, id="swapped"),
            pytest.param(zlib.compress(b"blob 5\0hello")[:-6], CorruptObjectError, id="truncated"),
        ],
    )
    def test_damage_is_noticed_and_mended_by_writing_again(
        self, store: GitStore, damage: bytes, error: type[Exception]
    ) -> None:
        """A damaged loose object never passes for good, and writing it again replaces it."""
        oid = blob(store)
        path = store.loose_path(oid)
        path.chmod(0o644)
        path.write_bytes(damage)
        with pytest.raises(error, match=oid):
            store.read(oid)
        blob(store)
        assert store.read(oid) == (b"blob", b"hello")

    def test_a_damaged_pack_is_noticed(self, repo: Path, store: GitStore) -> None:
        """A pack that was flipped somewhere is an error, not other content."""
        oid = blob(store, "text " * 100)
        world.git(repo, "update-ref", "refs/tags/keep", oid)
        world.git(repo, "gc", "-q")
        (pack,) = (repo / ".git/objects/pack").glob("*.pack")
        pack.chmod(0o644)
        data = bytearray(pack.read_bytes())
        data[20] ^= 0xFF
        pack.write_bytes(data)
        with pytest.raises(CorruptObjectError, match=oid):
            store.read(oid)

    def test_a_good_object_is_not_written_twice(self, store: GitStore) -> None:
        """What stands there already is left as it is."""
        oid = blob(store)
        before = store.loose_path(oid).stat().st_mtime_ns
        blob(store)
        assert store.loose_path(oid).stat().st_mtime_ns == before


class TestRefs:
    def move(self, store: GitStore, old: str | None, new: str) -> bool:
        note = store.common_dir / "note"
        durable.unlink(note)
        durable.write_new(note, f"{new}\n".encode())
        return store.move_ref(world.REF, old, new, note=note)

    def test_a_ref_is_created_once(self, store: GitStore) -> None:
        """Creation is lost when the ref is there already."""
        assert self.move(store, None, "a" * 40)
        assert not self.move(store, None, "b" * 40)
        assert store.ref(world.REF) == "a" * 40

    def test_a_ref_moves_only_from_what_it_holds(self, store: GitStore) -> None:
        """Comparison comes before the swap, and a lost race leaves no lock behind."""
        self.move(store, None, "a" * 40)
        assert not self.move(store, "c" * 40, "b" * 40)
        assert self.move(store, "a" * 40, "b" * 40)
        assert store.ref(world.REF) == "b" * 40

    def test_packed_refs_are_compared_too(self, repo: Path, store: GitStore) -> None:
        """After `git pack-refs` the value is still the value."""
        oid = blob(store)
        self.move(store, None, oid)
        world.git(repo, "pack-refs", "--all")
        assert not self.move(store, None, "b" * 40)
        assert self.move(store, oid, "b" * 40)

    def test_a_lock_of_another_program_is_respected(self, store: GitStore) -> None:
        """A lock that is there means busy."""
        lock = store.common_dir / f"{world.REF}.lock"
        lock.parent.mkdir(parents=True)
        lock.touch()
        with pytest.raises(BusyError, match="another program"):
            self.move(store, None, "a" * 40)

    def test_a_symbolic_ledger_ref_is_refused(self, repo: Path, store: GitStore) -> None:
        """Writing through a symbolic ref would move a branch."""
        world.git(repo, "symbolic-ref", world.REF, "refs/heads/main")
        with pytest.raises(RefusedError, match="symbolic"):
            self.move(store, None, "a" * 40)


class TestIdentity:
    def test_git_configuration_names_the_author(
        self, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`user.name` and `user.email` are taken where they are set."""
        monkeypatch.setenv("HOME", str(repo))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(repo))
        world.git(repo, "config", "user.name", "Zayd <ibn> Ali")
        world.git(repo, "config", "user.email", "zayd@example.org")
        assert GitStore(explicit(repo), environ={}).identity == b"Zayd ibn Ali <zayd@example.org>"

    def test_a_name_that_acts_on_a_terminal_is_written_without_that(self, tmp_path: Path) -> None:
        """`git log` shows names as they stand: what git takes no name with goes, and controls."""
        repo = world.repository(tmp_path)
        world.git(repo, "config", "user.name", "Zayd \x1b[2J<ibn>\x07 Ali")
        world.git(repo, "config", "user.email", "zayd@example.org\x7f")
        identity = GitStore(explicit(repo), environ={}).identity
        assert identity == b"Zayd [2Jibn Ali <zayd@example.org>"

    @pytest.mark.parametrize("config", ["", "[user]\n name = x\n", "[user\nbroken"], ids=repr)
    def test_without_identity_writes_go_on(
        self, repo: Path, config: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Faults row 8: a missing, half or broken identity never stops a write."""
        monkeypatch.setenv("HOME", str(repo))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(repo))
        with (repo / ".git/config").open("a") as file:
            file.write(config)
        assert GitStore(explicit(repo), environ={}).identity == DEFAULT_IDENTITY


class TestSettings:
    """Any key of git's configuration."""

    def test_every_value_is_returned_the_one_that_counts_last(
        self, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The repository's own values come after those of the person's file."""
        monkeypatch.setenv("HOME", str(repo))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        (repo / ".gitconfig").write_text('[remote "a.b"]\n\turl = https://home/x\n')
        for url in ("https://one/x", "https://two/x"):
            world.git(repo, "config", "--add", "remote.a.b.url", url)
        found = GitStore(explicit(repo), environ={}).settings("remote", "a.b", "url")
        assert found == ("https://home/x", "https://one/x", "https://two/x")

    def test_a_key_that_is_not_there_has_no_values(self, store: GitStore) -> None:
        """Missing is empty, for sections with and without a name below them."""
        assert store.settings("hikmah", None, "remote") == ()
        assert store.settings("remote", "origin", "url") == ()

    def test_what_cannot_be_read_is_said(self, repo: Path, store: GitStore) -> None:
        """A remote of a broken configuration is not silently another one."""
        with (repo / ".git/config").open("a") as file:
            file.write("[user\nbroken")
        with pytest.raises(StoreError, match="configuration"):
            store.settings("hikmah", None, "remote")


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be synced on Windows")
def test_folders_are_synced(store: GitStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new object's folder, and the folder that folder stands in, are synced."""
    synced: list[Path] = []
    monkeypatch.setattr(durable, "sync_folder", synced.append)
    oid = blob(store, "other")
    assert synced == [store.objects_dir, store.loose_path(oid).parent]
