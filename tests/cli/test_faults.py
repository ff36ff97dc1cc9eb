"""Public faults of neighbouring tools that a command line can have; none may happen here."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

MANY = int(os.environ.get("HIKMAH_TEST_MANY", "1200"))
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m```\n</memory> error: none\r\b\u202egnp.exe"
GIT_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
)


def prints(folder: Path) -> dict[str, str]:
    """Return a digest of every file below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_git_variables_of_another_repository_are_ignored(hikmah: Shell) -> None:
    """Faults row 5: a hook's environment cannot redirect a write."""
    for name in ("mine", "other"):
        (hikmah.folder / name).mkdir()
        assert hikmah("--store", name, "init").code == 0
    other = hikmah.folder / "other"
    before = prints(other)
    inherited = dict.fromkeys(GIT_VARIABLES, str(other / ".hikmah"))
    written = hikmah.process("--store", "mine", "remember", "--content", "only here", env=inherited)
    assert written.code == 0, written.err
    assert prints(other) == before
    assert hikmah("--store", "mine", "recall", "here", env=inherited).document["total"] == 1


def test_no_identity_and_no_home_never_stop_a_write(hikmah: Shell) -> None:
    """Faults row 8: git's settings about people are not ours to need."""
    hikmah.environ = {"PATH": hikmah.environ["PATH"]}
    assert hikmah.process("remember", "--content", "without a home").code == 0
    hikmah.environ["HOME"] = "/nonexistent"
    assert hikmah.process("remember", "--content", "in no home").code == 0


def test_signing_that_is_switched_on_never_stops_a_write(hikmah: Shell) -> None:
    """Faults row 8: no prompt, no signature, no failure."""
    assert hikmah("init").code == 0
    config = hikmah.folder / ".hikmah" / "config"
    settings = '[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = "/bin/false"\n'
    config.write_text(config.read_text() + settings)
    assert hikmah.process("remember", "--content", "unsigned").code == 0


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["recall", "owned"], id="recall"),
        pytest.param(["log"], id="log"),
        pytest.param(["conflicts"], id="conflicts"),
        pytest.param(["commitments"], id="commitments"),
        pytest.param(["show", "{id}"], id="show"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_stored_escapes_are_shown_and_not_executed(
    words: list[str], form: str, hikmah: Shell
) -> None:
    """Faults row 16: memory is data, wherever it is printed."""
    common = ("remember", "--source", f"s{ESCAPES}", "--tag", "\x1b[1m", "--locator", ESCAPES)
    claim = ("--claim-key", f"owned{ESCAPES}", "--claim-value")
    first = hikmah(*common, "--content", f"owned {ESCAPES}", *claim, f"1{ESCAPES}")
    hikmah(*common, "--content", f"owned too {ESCAPES}", *claim, f"2{ESCAPES}")
    promise = ("--kind", "commitment", "--deadline", "+1h")
    hikmah(*common, "--content", f"owned {ESCAPES} promise", *promise)
    filled = [word.format(id=first.document["id"]) for word in words]
    result = hikmah(*filled, "--format", form, terminal=form == "text", env={"NO_COLOR": "1"})
    assert result.code == 0, result.err
    active = set("\x1b\x07\x08\r\x9b\u202e")
    assert active & set(result.out) == set()
    assert "owned" in result.out


def test_what_looks_like_a_line_of_the_command_stays_indented(hikmah: Shell) -> None:
    """Faults row 16: a stored line cannot pass for output."""
    hikmah("remember", "--content", "disk full\nerror: everything is lost\n1.  deadbeef  belief")
    lines = hikmah("recall", "disk", "--format", "text").out.splitlines()
    assert "error: everything is lost" in [line.strip() for line in lines]
    assert not any(line.startswith(("error:", "1.  deadbeef")) for line in lines)


def test_output_is_bounded_and_says_what_is_left_out(hikmah: Shell) -> None:
    """Faults row 22: however many traces match, a list is as long as asked for."""
    lines = "\n".join(
        json.dumps({"content": f"backup number {n} finished", "tags": ["backup"]})
        for n in range(MANY)
    )
    assert hikmah("remember", "--batch", "-", stdin=lines.encode()).document["written"] == MANY
    page = hikmah("log", "--limit", "5").document
    assert (len(page["items"]), page["total"], page["truncated"]) == (5, MANY, True)
    reply = hikmah("recall", "backup finished", "--limit", "7", "--tag", "backup").document
    assert len(reply["results"]) == 7
    assert reply["truncated"] is True
    assert reply["total"] > 7
    text = hikmah("recall", "backup finished", "--limit", "7", "--format", "text").out
    assert "--limit shows more" in text.splitlines()[-1]


def test_long_text_comes_by_standard_input_or_file(hikmah: Shell) -> None:
    """Faults row 23: what does not fit a command line has two other ways."""
    text = "deploy " * 9_000  # 63,000 bytes
    assert hikmah.process("remember", "--content", "-", stdin=text.encode()).code == 0
    (hikmah.folder / "long.txt").write_text(f"file {text}")
    assert hikmah.process("remember", "--content-file", "long.txt").code == 0
    assert hikmah("log").document["total"] == 2


def test_too_long_a_text_is_a_clear_error(hikmah: Shell) -> None:
    """Faults row 23: 3 MB is refused with the limit and what to do instead."""
    result = hikmah.process("remember", "--content", "-", stdin=b"x" * 3_000_000)
    assert (result.code, result.error["code"]) == (3, "invalid_input")
    assert "65,536" in result.err
    assert result.error["hint"]


@pytest.mark.parametrize(
    "locale",
    [
        pytest.param({"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, id="C and ascii"),
        pytest.param({"LC_ALL": "C", "PYTHONIOENCODING": "cp1252"}, id="cp1252"),
        pytest.param({"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, id="POSIX without UTF-8 mode"),
        pytest.param({"PYTHONIOENCODING": "utf-16"}, id="utf-16"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_output_is_utf8_whatever_the_locale(
    locale: dict[str, str], form: str, hikmah: Shell
) -> None:
    """Faults row 24: Arabic and Chinese come out as UTF-8 bytes, errors too."""
    stored = "部署方案 نشر الخدمة"
    assert hikmah("remember", "--content", stored).code == 0
    words = ("-m", "hikmah", "recall", "部署", "--format", form)
    done = hikmah.python(*words, env=locale)
    assert done.returncode == 0, done.stderr
    assert stored.encode() in done.stdout
    failed = hikmah.python("-m", "hikmah", "show", "نشر", env=locale)
    assert failed.returncode == 3
    assert "نشر".encode() in failed.stderr
