"""What each command imports: start-up costs only what is used, and a test holds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WATCHED = ("asyncio", "click", "dulwich", "msgspec", "sqlite3", "snowballstemmer", "urllib.request")
# What a plain question does without, each of which would cost its start a hundredth or more;
# and how many modules of our own it loads at most, each a five hundredth. Raise the number only
# for what every question needs.
NOT_FOR_QUESTIONS = frozenset(
    {
        "bisect",
        "dataclasses",
        "hashlib",
        "inspect",
        "ipaddress",
        "json",
        "locale",
        "pathlib",
        "random",
        "shutil",
        "struct",
        "subprocess",
        "tempfile",
        "unicodedata",
        "urllib.parse",
        "uuid",
    }
)
MOST_OWN_MODULES = 62
LOADED = """
import click, msgspec, sqlite3
import sys
before = set(sys.modules)
from hikmah.__main__ import main
code = main(sys.argv[1:])
print(*sorted(set(sys.modules) - before), file=sys.stderr)
sys.exit(code)
"""
PROGRAM = """
import sys
from hikmah.__main__ import main
code = main(sys.argv[1:])
print(*sorted(set({watched!r}) & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def imported(*words: str, folder: Path, code: int = 0) -> set[str]:
    """Return which watched modules a process had imported after one command line."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(watched=WATCHED), *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == code, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_the_package_itself_imports_nothing() -> None:
    """`import hikmah` costs its version and a docstring."""
    program = "import sys; before = set(sys.modules); import hikmah; print(set(sys.modules)-before)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "{'hikmah'}"


@pytest.mark.parametrize("words", [["--help"], [], ["--version"], ["no-such-command"]], ids=str)
def test_help_imports_click_and_nothing_else(words: list[str], tmp_path: Path) -> None:
    """Help and usage errors load no command module, so neither msgspec nor dulwich nor SQLite."""
    code = 2 if words == ["no-such-command"] else 0
    assert imported(*words, folder=tmp_path, code=code) == {"click"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a folder with a ledger of two traces and a current index."""
    claim = ["--claim-key", "timeout", "--claim-value"]
    promise = ["--kind", "commitment", "--deadline", "+1h"]
    imported("remember", "--content", "the lock timed out", *claim, "30", folder=tmp_path)
    imported("remember", "--content", "send the report", *promise, folder=tmp_path)
    imported("recall", "lock", folder=tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["recall", "lock"],
        ["conflicts"],
        ["commitments"],
        ["log"],
        ["show", "{id}"],
        ["consolidate"],
        ["entity", "list"],
        ["entity", "search", "x"],
        ["event", "list"],
        ["evolve"],
        ["stats"],
        ["hash"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_reading_commands_import_no_git_library(words: list[str], store: Path) -> None:
    """With a current index they read the ref and SQLite, and nothing of git."""
    done = subprocess.run(
        [sys.executable, "-m", "hikmah", "log", "--json"],
        capture_output=True,
        cwd=store,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)},
        check=True,
    )
    newest = json.loads(done.stdout)["items"][0]["id"]
    found = imported(*(word.format(id=newest) for word in words), folder=store)
    assert {"click", "msgspec", "sqlite3"} <= found
    assert found & {"dulwich", "asyncio", "urllib.request"} == set()


def test_a_question_loads_what_it_needs_and_little_else(store: Path) -> None:
    """What an answer in JSON and ASCII does without stays out."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "recall", "why did the lock time out"],
        capture_output=True,
        text=True,
        cwd=store,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)},
        check=True,
    )
    loaded = set(done.stderr.split())
    assert loaded.isdisjoint(NOT_FOR_QUESTIONS), loaded & NOT_FOR_QUESTIONS
    own = {name for name in loaded if name.partition(".")[0] == "hikmah"}
    assert len(own) <= MOST_OWN_MODULES, sorted(own)


@pytest.mark.parametrize(
    "name", ["recall", "remember", "verify-ledger", "show", "import", "export"]
)
def test_help_of_a_command_imports_no_git_library(name: str, tmp_path: Path) -> None:
    """Reading how a command is used needs no store."""
    found = imported(name, "--help", folder=tmp_path)
    assert found & {"dulwich", "sqlite3", "asyncio", "urllib.request"} == set()


def test_writing_imports_neither_an_event_loop_nor_an_http_client(store: Path) -> None:
    """A write pays for git, and not for what git libraries can also do."""
    found = imported("remember", "--content", "a third", folder=store)
    assert "dulwich" in found
    assert found & {"asyncio", "urllib.request"} == set()
