"""The README's walk, run as it stands: real commands, real git, an empty home."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What differs from run to run, and what stands for it when shown and printed are compared.
MASKS = (
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?\b"), "TIME"),
    (re.compile(r"\b0\.\d+\b"), "SCORE"),
    (re.compile(r"\b(?:\d+ (?:seconds?|minutes?|hours?|days?)(?: ago)?|now)\b"), "AGE"),
    (re.compile(r"[ \t]+"), " "),
)
needs_bash = pytest.mark.skipif(
    sys.platform == "win32", reason="the walk is written for a POSIX shell"
)


class Step(NamedTuple):
    """A shell block and the output shown below it; None when none is shown."""

    commands: str
    shown: str | None


def steps(text: str) -> list[Step]:
    """Return the shell blocks of a text, each with the `text` block that follows it."""
    blocks = [*BLOCK.findall(text), ("", "")]
    return [
        Step(code, following[1] if following[0] == "text" else None)
        for (language, code), following in itertools.pairwise(blocks)
        if language == "sh"
    ]


def walk() -> str:
    """Return the part of the README that is one session in a shell."""
    return README.split("\n## A walk\n")[1].split("\n## ")[0]


def masked(text: str) -> list[str]:
    """Return text as lines in which ids, times and scores have become words."""
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return [line.strip() for line in text.splitlines() if line.strip()]


def stranger(folder: Path) -> dict[str, str]:
    """Return the environment of somebody with git, a `hikmah` command and nothing set up."""
    programs, home = folder / "bin", folder / "home"
    programs.mkdir()
    home.mkdir()
    command = programs / "hikmah"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hikmah "$@"\n', "utf-8")
    command.chmod(0o755)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "GIT_CONFIG_NOSYSTEM": "1",
        "HIKMAH_FORMAT": "text",
        "LC_ALL": "C",
    }


def run_in_order(commands: list[str], folder: Path) -> list[str]:
    """Run shell blocks as one session; return what each printed."""
    mark = "==== next step ===="
    script = f"\necho '{mark}'\n".join(commands)
    work = folder / "work"
    work.mkdir()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=work,
        env=stranger(folder),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.split(f"{mark}\n")


@needs_bash
def test_the_walk_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    """Every command of the walk succeeds in order, and each output shown is what it prints."""
    taken = steps(walk())
    printed = run_in_order([step.commands for step in taken], tmp_path)
    for step, output in zip(taken, printed, strict=True):
        if step.shown is not None:
            assert masked(output) == masked(step.shown), step.commands


def test_the_library_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python block of the README runs, and what it asserts holds."""
    (example,) = [code for language, code in BLOCK.findall(walk()) if language == "python"]
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})


def test_every_capability_names_its_tests() -> None:
    """Each row of the capability table links test files that exist and says how far they go."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", README, re.MULTILINE)[2:]
    assert len(rows) >= 10
    for capability, tests, evidence in rows:
        linked = re.findall(r"\]\((tests/[\w/]+\.py)\)", tests)
        assert linked, capability
        assert all((ROOT / name).is_file() for name in linked), tests
        assert evidence.startswith("tested"), capability


def test_steps_pair_commands_with_what_they_show() -> None:
    """A shell block takes the text block right after it, and no other."""
    text = "```sh\na\n```\n\n```text\nA\n```\n\n```sh\nb\n```\n\n```python\nc\n```\n"
    assert steps(text) == [Step("a\n", "A\n"), Step("b\n", None)]


def test_masks_hide_only_what_varies() -> None:
    """Ids, times, scores and ages become words; everything else is compared."""
    line = "remembered c5b60bc5 at 2030-01-31T10:00:00Z, 2 hours ago, score 0.4412, record 12"
    assert masked(line) == ["remembered ID at TIME, AGE, score SCORE, record 12"]
