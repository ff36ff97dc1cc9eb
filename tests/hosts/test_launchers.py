"""The launcher for Windows, read and, where there is a `cmd` to run it, run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).resolve().parents[2] / "hooks" / "truth_gate.cmd"
COMMANDS = [
    line
    for line in LAUNCHER.read_text("ascii").splitlines()
    if not line.lower().startswith(("rem ", "@echo off"))
]
CMD = (
    ["cmd", "/c"]
    if sys.platform == "win32"
    else [shutil.which("wine") or "", "cmd", "/c"]
    if shutil.which("wine") and os.environ.get("HIKMAH_TEST_WINE")
    else []
)


def test_it_has_no_labels_and_no_blocks() -> None:
    """Labels are missed in files without CRLF; variables in blocks are expanded too early."""
    assert not [line for line in COMMANDS if line.startswith(":") or "goto" in line.lower()]
    assert not [line for line in COMMANDS if line.rstrip().endswith("(") or line.startswith(")")]


def test_it_starts_no_helper_of_the_system() -> None:
    """`where.exe` may be missing from a hook's PATH; what is looked for is looked for by cmd."""
    assert not [line for line in COMMANDS if re.search(r"\bwhere\b", line)]


def test_it_ends_by_allowing() -> None:
    """Whatever was not found, the host reads an object and exit code 0."""
    assert COMMANDS[-2:] == ["echo {}", "exit /b 0"]
    assert all(line.endswith("exit /b 0") for line in COMMANDS if " %*" in line)


@pytest.mark.skipif(not CMD, reason="no cmd: Windows, or wine and HIKMAH_TEST_WINE=1")
def test_without_python_and_hikmah_it_allows(tmp_path: Path) -> None:
    """In a folder with a blank in its name, with nothing on PATH."""
    folder = tmp_path / "a b"
    folder.mkdir()
    shutil.copy(LAUNCHER, folder)
    environ = {name: value for name, value in os.environ.items() if name.upper() != "PATH"}
    system = str(Path(os.environ.get("SYSTEMROOT", "/")) / "System32")
    environ["PATH"] = system if sys.platform == "win32" else os.environ["PATH"]
    done = subprocess.run(
        [*CMD, LAUNCHER.name],
        cwd=folder,
        env=environ,
        input=b"{}",
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout.strip()) == (0, b"{}")
