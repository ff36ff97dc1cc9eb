"""What each command imports: start-up costs only what is used, and a test holds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WATCHED = ("asyncio", "click", "dulwich", "msgspec", "sqlite3", "snowballstemmer", "urllib.request")
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
