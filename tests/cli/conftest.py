"""Runs the command in this process or in one of its own, with nothing inherited."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from hikmah.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


class Result(NamedTuple):
    """What one command line came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The JSON object on the last line of standard error."""
        error: dict[str, Any] = json.loads(self.err.splitlines()[-1])["error"]
        return error


class Stream(io.TextIOWrapper):
    """A standard stream in memory that may pass for a terminal."""

    def __init__(self, data: bytes = b"", *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", newline="\n", write_through=True)
        self.terminal = terminal

    def isatty(self) -> bool:
        """Tell what the test wants told."""
        return self.terminal

    def written(self) -> str:
        """Return everything written so far."""
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode("utf-8")


class Shell:
    """A folder and an environment to run the command in."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.environ = {"PATH": os.environ.get("PATH", ""), "HOME": str(home)}
        if "SYSTEMROOT" in os.environ:
            self.environ["SYSTEMROOT"] = os.environ["SYSTEMROOT"]

    def __call__(
        self,
        *words: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        terminal: bool = False,
    ) -> Result:
        """Run one command line in this process."""
        out, err = Stream(terminal=terminal), Stream(terminal=terminal)
        with (
            mock.patch.dict(os.environ, {**self.environ, **(env or {})}, clear=True),
            mock.patch.multiple(
                sys, stdin=Stream(stdin, terminal=terminal), stdout=out, stderr=err
            ),
        ):
            before = Path.cwd()
            os.chdir(self.folder)
            try:
                code = main(words)
            finally:
                os.chdir(before)
        return Result(code, out.written(), err.written())

    def process(
        self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> Result:
        """Run one command line in a process of its own."""
        done = self.python("-m", "hikmah", *words, stdin=stdin, env=env)
        return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    def python(
        self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run Python with the package in reach."""
        coverage = {k: v for k, v in os.environ.items() if k.startswith("COVERAGE_")}
        environ = {**self.environ, "PYTHONPATH": str(ROOT), **coverage, **(env or {})}
        return subprocess.run(
            [sys.executable, *words],
            input=stdin,
            capture_output=True,
            cwd=self.folder,
            env=environ,
            check=False,
            timeout=60,
        )


@pytest.fixture
def hikmah(tmp_path: Path) -> Iterator[Shell]:
    """Return a shell in an empty folder, with an empty home and no git identity."""
    home, folder = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    folder.mkdir()
    yield Shell(folder, home)
    assert list(home.iterdir()) == [], "the command left files in the home folder"


@pytest.fixture(scope="session")
def shells() -> type[Shell]:
    """Return the shell's class, for fixtures that outlive a test."""
    return Shell
