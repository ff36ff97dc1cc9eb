from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hikmah.cli import demo, tamper

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which the demo makes its store."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_demo_shows_everything_and_leaves_nothing(hikmah: Shell, temporary: Path) -> None:
    """Each part of the tour is there, and no file outside the temporary folder."""
    result = hikmah("demo")
    assert (result.code, result.err) == (0, "")
    for shown in ("remembered", "disagrees with", "deploy lock timeout", "superseded", "in 2 days"):
        assert shown in result.out
    assert list(temporary.iterdir()) == []
    assert list(hikmah.folder.iterdir()) == []


def test_the_demo_ends_with_a_falsified_copy_that_is_caught(hikmah: Shell, temporary: Path) -> None:
    """Verification names the forged commit and exits 6; the demo exits 0."""
    document = hikmah("demo", "--json").document
    assert (document["schema"], document["caught"]) == ("hikmah.demo/1", True)
    honest, forged = [s for s in document["steps"] if s["command"].endswith("verify-ledger")]
    assert (honest["exit_code"], forged["exit_code"]) == (0, 6)
    assert document["forged_commit"] in forged["output"]
    assert document["forged_commit"] not in honest["output"]
    assert list(temporary.iterdir()) == []


def test_the_demo_runs_where_there_is_nothing(hikmah: Shell, tmp_path: Path) -> None:
    """No git program, no home, no identity, a C locale, settings that point elsewhere."""
    hikmah.environ = {"PATH": str(tmp_path), "LC_ALL": "C"}
    settings = {"HIKMAH_STORE": "/nowhere", "HIKMAH_FORMAT": "text", "HIKMAH_POLICY": "/nothing"}
    result = hikmah.process("demo", env=settings)
    assert result.code == 0, result.err
    assert "Caught" in result.out


def test_the_demo_runs_in_an_agent_session(hikmah: Shell, temporary: Path) -> None:
    """Nothing in it is a person's decision."""
    assert hikmah("demo", env={"CLAUDECODE": "1"}).code == 0
    assert list(temporary.iterdir()) == []


def test_the_demo_touches_no_repository_around_the_temporary_folder(
    hikmah: Shell, temporary: Path
) -> None:
    """A TMPDIR inside a project is no invitation to write into it."""
    subprocess.run(["git", "init", "-q", str(temporary.parent)], check=True)
    files = sorted(p for p in (temporary.parent / ".git").rglob("*") if p.is_file())
    before = {path: path.read_bytes() for path in files}
    assert hikmah("demo").code == 0
    files = sorted(p for p in (temporary.parent / ".git").rglob("*") if p.is_file())
    assert {path: path.read_bytes() for path in files} == before


def test_the_demos_commands_are_printed_as_they_are_run(hikmah: Shell, temporary: Path) -> None:
    """A reader can type each line, ids included."""
    out = hikmah("demo").out
    lines = [line for line in out.splitlines() if line.startswith("$ ")]
    told = [line for chapter in demo.STORY for line in chapter.commands]
    assert len(lines) == len(told) + 1
    assert all(line.startswith("$ hikmah ") for line in lines)
    assert re.search(r"^\$ hikmah supersede [0-9a-f]{8} [0-9a-f]{8} --reason ", out, re.MULTILINE)
    assert list(temporary.iterdir()) == []


def test_an_uncaught_falsification_fails_the_demo(
    hikmah: Shell, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should verification ever miss it, the demo says so and exits 1."""
    monkeypatch.setattr(demo, "FORGED", demo.PROMISE)
    monkeypatch.setattr(demo, "amend", lambda *_: "f" * 40)
    result = hikmah("demo")
    assert result.code == 1
    assert "Not caught" in result.out
    assert list(temporary.iterdir()) == []


def test_tampering_writes_real_git_objects(hikmah: Shell) -> None:
    """What the demo falsifies, git itself finds well-formed."""
    hikmah("init")
    hikmah("remember", "--content", "an honest word")
    store = hikmah.folder / ".hikmah"
    forged = tamper.amend(store, demo.REF, "honest", "forged")
    for command in (["fsck", "--strict"], ["grep", "-q", "forged", demo.REF]):
        done = subprocess.run(["git", "-C", str(store), *command], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    head = subprocess.run(
        ["git", "-C", str(store), "rev-parse", demo.REF], capture_output=True, text=True, check=True
    )
    assert head.stdout.strip() == forged
