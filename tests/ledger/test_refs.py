"""Refs are read from files exactly as git would, and refused where git's answer is unsafe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hikmah.errors import HikmahError, IntegrityError, InvalidInputError, RefusedError, StoreError
from hikmah.ledger import refs
from hikmah.ledger.refs import (
    clean_environment,
    read_ref,
    read_ref_with_git,
    repository_format,
)

REF = "refs/hikmah/memory"
OID = "0123456789abcdef0123456789abcdef01234567"
OTHER = "f" * 40
OID256 = OID + "0" * 24


@pytest.fixture
def common(tmp_path: Path) -> Path:
    """Make the smallest folder that passes for a git folder."""
    (tmp_path / "refs" / "hikmah").mkdir(parents=True)
    (tmp_path / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
    return tmp_path


def loose(common: Path, data: bytes) -> None:
    (common / REF).write_bytes(data)


def git(*arguments: str, cwd: Path) -> str:
    environ = clean_environment(os.environ) | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=environ, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def repository(folder: Path, *arguments: str) -> tuple[Path, str]:
    """Make a bare repository with one commit on the ledger's ref."""
    git("init", "-q", "--bare", *arguments, str(folder), cwd=folder.parent)
    tree = git("hash-object", "-w", "-t", "tree", os.devnull, cwd=folder)
    commit = git("commit-tree", tree, "-m", "one", cwd=folder)
    git("update-ref", REF, commit, cwd=folder)
    return folder, commit


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(OID.encode() + b"\n", id="newline"),
        pytest.param(OID.encode(), id="no newline"),
        pytest.param(OID.encode() + b"\r\n", id="CRLF"),
        pytest.param(OID.upper().encode() + b"\n", id="upper case"),
    ],
)
def test_a_loose_ref_gives_its_id_in_lower_case(common: Path, data: bytes) -> None:
    loose(common, data)
    assert read_ref(common, REF) == OID


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty after a power cut"),
        pytest.param(b"\0" * 41, id="zeros after a power cut"),
        pytest.param(OID[:39].encode(), id="too short"),
        pytest.param(OID256.encode(), id="wrong algorithm"),
        pytest.param(b"g" * 40, id="not hex"),
        pytest.param(b"\xff\xfe", id="not text"),
    ],
)
def test_a_damaged_loose_ref_is_an_integrity_error_that_names_the_file(
    common: Path, data: bytes
) -> None:
    loose(common, data)
    with pytest.raises(IntegrityError) as caught:
        read_ref(common, REF)
    assert caught.value.where.endswith("memory")
    assert "repair" in caught.value.hint


def test_no_ref_is_none_not_an_error(common: Path) -> None:
    assert read_ref(common, REF) is None


@pytest.mark.parametrize(
    ("packed", "expected"),
    [
        pytest.param(b"", None, id="empty file"),
        pytest.param(b"# pack-refs with: peeled fully-peeled sorted \n", None, id="header only"),
        pytest.param(f"{OID} {REF}\n".encode(), OID, id="no header"),
        pytest.param(f"{OID} {REF}".encode(), OID, id="no last newline"),
        pytest.param(f"# x\r\n{OID} {REF}\r\n".encode(), OID, id="CRLF"),
        pytest.param(
            f"{OTHER} refs/hikmah/a\n^{OTHER}\n{OID} {REF}\n^{OTHER}\n".encode(), OID, id="peeled"
        ),
        pytest.param(f"{OTHER} {REF}2\n{OID} {REF}\n".encode(), OID, id="longer name before"),
        pytest.param(f"{OTHER} {REF}2\n".encode(), None, id="longer name only"),
        pytest.param(f"{OTHER} x/{REF}\n".encode(), None, id="name as a suffix"),
    ],
)
def test_packed_refs_are_read_as_git_writes_them(
    common: Path, packed: bytes, expected: str | None
) -> None:
    (common / "packed-refs").write_bytes(packed)
    assert read_ref(common, REF) == expected


def test_a_loose_ref_wins_over_a_packed_one(common: Path) -> None:
    (common / "packed-refs").write_text(f"{OTHER} {REF}\n")
    loose(common, OID.encode())
    assert read_ref(common, REF) == OID


def test_a_folder_at_the_place_of_the_ref_leaves_the_packed_one(common: Path) -> None:
    (common / REF).mkdir()
    (common / "packed-refs").write_text(f"{OID} {REF}\n")
    assert read_ref(common, REF) == OID


def test_a_file_in_the_place_of_a_parent_folder_is_no_ref(common: Path) -> None:
    (common / "refs" / "hikmah").rmdir()
    (common / "refs" / "hikmah").write_text("x")
    assert read_ref(common, REF) is None


def test_a_symbolic_ref_is_refused_with_the_ref_named(common: Path) -> None:
    loose(common, b"ref: refs/heads/main\n")
    with pytest.raises(RefusedError, match="symbolic"):
        read_ref(common, REF)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_in_the_file_system_is_a_symbolic_ref(common: Path) -> None:
    (common / REF).symlink_to("../heads/main")
    with pytest.raises(RefusedError, match="symbolic"):
        read_ref(common, REF)


@pytest.mark.parametrize(
    "name",
    ["", "HEAD", "refs/", "refs/../config", "refs/a//b", "refs/.x", "refs/x.lock", "refs/a\nb"],
)
def test_what_is_no_ref_name_is_refused_before_a_path_is_built(common: Path, name: str) -> None:
    with pytest.raises(InvalidInputError):
        read_ref(common, name)
    with pytest.raises(InvalidInputError):
        read_ref_with_git(common, name, environ={})


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param("", ("sha1", "files"), id="empty"),
        pytest.param("[extensions]\n objectFormat = sha256\n", ("sha256", "files"), id="plain"),
        pytest.param("[EXTENSIONS] OBJECTFORMAT=SHA256", ("sha256", "files"), id="one line"),
        pytest.param('[extensions]\nobjectformat = "sha256" # x', ("sha256", "files"), id="quoted"),
        pytest.param("[extensions]\n;objectformat=sha256\n", ("sha1", "files"), id="comment"),
        pytest.param("[extensions]\nobject\\\nFormat=sha256", ("sha256", "files"), id="continued"),
        pytest.param('[extensions "x"]\nobjectformat=sha256', ("sha1", "files"), id="sub-section"),
        pytest.param("[core]\nobjectformat=sha256\n", ("sha1", "files"), id="other section"),
        pytest.param("[extensions]\nworktreeConfig\n", ("sha1", "files"), id="bare key"),
        pytest.param("[extensions]\nrefStorage = reftable", ("sha1", "reftable"), id="reftable"),
        pytest.param("[extensions]\nrefstorage=reftable:///x", ("sha1", "reftable"), id="located"),
        pytest.param("\ufeff[extensions]\nobjectformat=sha256", ("sha256", "files"), id="BOM"),
    ],
)
def test_the_format_is_read_from_the_config(
    common: Path, config: str, expected: tuple[str, str]
) -> None:
    (common / "config").write_text(config, encoding="utf-8")
    found = repository_format(common)
    assert (found.algorithm, found.ref_format) == expected


def test_a_missing_config_means_gits_defaults(tmp_path: Path) -> None:
    found = repository_format(tmp_path)
    assert (found.algorithm, found.ref_format) == ("sha1", "files")


def test_an_unknown_object_format_is_a_store_error(common: Path) -> None:
    (common / "config").write_text("[extensions]\nobjectformat = sha3\n")
    with pytest.raises(StoreError, match="sha3"):
        read_ref(common, REF)


def test_reftable_is_refused_and_points_to_the_git_program(common: Path) -> None:
    (common / "config").write_text("[extensions]\nrefstorage = reftable\n")
    with pytest.raises(StoreError) as caught:
        read_ref(common, REF)
    assert "git program" in caught.value.hint


def test_a_sha256_repository_wants_64_digits(common: Path) -> None:
    (common / "config").write_text("[extensions]\nobjectformat = sha256\n")
    loose(common, OID256.encode())
    assert read_ref(common, REF) == OID256
    loose(common, OID.encode())
    with pytest.raises(IntegrityError):
        read_ref(common, REF)


def test_an_unreadable_file_is_a_store_error(common: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(refs, "open", fail, raising=False)
    with pytest.raises(StoreError, match="Permission denied"):
        read_ref(common, REF)


@pytest.mark.parametrize("extra", [(), ("--object-format=sha256",)], ids=["sha1", "sha256"])
def test_what_git_wrote_is_read_loose_and_packed_and_through_git(
    tmp_path: Path, extra: tuple[str, ...]
) -> None:
    folder, commit = repository(tmp_path / "r.git", *extra)
    assert read_ref(folder, REF) == commit
    git("pack-refs", "--all", cwd=folder)
    assert not (folder / REF).exists()
    assert read_ref(folder, REF) == commit
    assert read_ref_with_git(folder, REF, environ=os.environ) == commit
    assert read_ref_with_git(folder, "refs/hikmah/none", environ=os.environ) is None


def test_git_refuses_a_symbolic_ref_too(tmp_path: Path) -> None:
    folder, _ = repository(tmp_path / "r.git")
    git("symbolic-ref", "refs/hikmah/link", REF, cwd=folder)
    with pytest.raises(RefusedError, match="symbolic"):
        read_ref_with_git(folder, "refs/hikmah/link", environ=os.environ)


def test_a_surrounding_git_dir_redirects_nothing(tmp_path: Path) -> None:
    """Faults row 5."""
    folder, commit = repository(tmp_path / "r.git")
    other, _ = repository(tmp_path / "other.git")
    environ = dict(os.environ) | {"GIT_DIR": str(other), "GIT_NAMESPACE": "x"}
    assert read_ref_with_git(folder, REF, environ=environ) == commit


def test_no_git_program_is_a_store_error_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        read_ref_with_git(tmp_path, REF, environ={"PATH": str(tmp_path)})
    assert "git" in caught.value.hint


def test_a_folder_that_is_no_repository_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="git could not read"):
        read_ref_with_git(tmp_path, REF, environ=os.environ)


def test_git_that_does_not_answer_is_given_up_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expire(arguments: list[str], **options: object) -> None:
        raise subprocess.TimeoutExpired(arguments, 0.1)

    monkeypatch.setattr(subprocess, "run", expire)
    with pytest.raises(StoreError, match="could not be asked"):
        read_ref_with_git(tmp_path, REF, environ=os.environ, timeout_s=0.1)


def test_reading_a_ref_imports_neither_a_git_library_nor_msgspec() -> None:
    """The gate's hook may look for a ledger before it pays for anything."""
    code = (
        "import sys, hikmah.ledger.refs; "
        "print([m for m in ('dulwich', 'msgspec', 'sqlite3', 'click') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    # Measured coverage starts in every process that is told of it, and imports much.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=plain,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]"


def test_every_error_is_ours(common: Path) -> None:
    """Whatever bytes stand in the ref's file, only our own errors come out."""
    for data in (b"\0", b"ref:", b"\n\n", b"x" * 4096, bytes(range(256))):
        loose(common, data)
        with pytest.raises(HikmahError):
            read_ref(common, REF)
