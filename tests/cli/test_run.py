from __future__ import annotations

import json
import sys
from unittest import mock

import msgspec
import pytest

from hikmah.cli import cli
from hikmah.cli.completion import completion
from hikmah.cli.options import globals_of
from hikmah.cli.progress import Progress
from hikmah.cli.run import Run, colors, document


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    zebra: int
    apple: str
    nested: tuple[int, ...] = ()


def run_of(*words: str) -> Run:
    """Return the run that global options make, without a command."""
    return Run(cli.make_context("hikmah", list(words)))


def test_a_document_is_its_schema_and_its_fields_in_their_order() -> None:
    """Keys stand as the struct has them, after `schema`."""
    text = document("answer", Answer(zebra=1, apple="é", nested=(1, 2)))
    assert list(json.loads(text)) == ["schema", "zebra", "apple", "nested"]
    assert json.loads(text)["schema"] == "hikmah.answer/1"
    assert text.endswith("\n}\n")
    assert "é" in text
    assert document("answer", {"b": 1, "a": 2}).index('"b"') < document("x", {"a": 2}).index("}")


def test_a_document_cannot_act_on_a_terminal() -> None:
    """Active characters are JSON escapes; the value read back is the same."""
    text = document("answer", Answer(zebra=1, apple="\x1b[2J\x9b\u202e\x7f"))
    assert not {"\x1b", "\x9b", "\u202e", "\x7f"} & set(text)
    assert json.loads(text)["apple"] == "\x1b[2J\x9b\u202e\x7f"


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        pytest.param({}, True, id="a terminal"),
        pytest.param({"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param({"NO_COLOR": ""}, True, id="NO_COLOR empty is not set"),
        pytest.param({"TERM": "dumb"}, False, id="a dumb terminal"),
        pytest.param({"TERM": "xterm-256color"}, True, id="a usual terminal"),
    ],
)
def test_colours_follow_the_environment(environ: dict[str, str], *, wanted: bool) -> None:
    """https://no-color.org, and terminals that cannot."""
    with mock.patch.object(sys, "platform", "linux"):
        assert colors(environ) is wanted


def test_windows_has_colours_in_the_new_terminal_only() -> None:
    """The old console would print the sequences."""
    with mock.patch.object(sys, "platform", "win32"):
        assert colors({}) is False
        assert colors({"WT_SESSION": "1"}) is True


def test_a_commands_option_beats_the_groups_which_beats_the_variable() -> None:
    """The later one counts."""
    with mock.patch.dict("os.environ", {"HIKMAH_LEDGER": "one", "HIKMAH_STORE": ""}):
        assert globals_of(cli.make_context("hikmah", [])).ledger == "one"
        group = cli.make_context("hikmah", ["--ledger", "two"])
        assert globals_of(group).ledger == "two"
        assert globals_of(group).store is None
        command = completion.make_context("x", ["bash", "--ledger", "three"], parent=group)
        assert globals_of(command).ledger == "three"


def test_notes_go_to_standard_error_and_quiet_drops_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Talk is not part of the answer, and is shown harmlessly."""
    run_of().note("read \x07 it")
    run_of("--quiet").note("not this")
    run_of("--format", "text").warn(["mind"])
    run_of("--json").warn(["in the document already"])
    out, err = capsys.readouterr()
    assert (out, err) == ("", "note: read \\x07 it\nwarning: mind\n")


def test_progress_is_drawn_once_a_percent_and_cleared_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """However often it is told, and it leaves nothing behind."""
    bar = Progress("verifying")
    for done in range(10_001):
        bar(done, 10_000)
    bar.clear()
    bar.clear()
    drawn = capsys.readouterr().err.split("\r")
    assert len(drawn) == 103
    assert drawn[51] == "verifying [############............]  50 %"
    assert drawn[-1] == "\x1b[K"
    unknown = Progress("reading")
    unknown(5, 0)
    assert capsys.readouterr().err == "\rreading 5"


def test_progress_is_for_a_terminal_that_is_not_quiet() -> None:
    """A log file holds no bars."""
    assert run_of().progress("x") is None
    with mock.patch.object(sys, "stderr", mock.Mock(closed=False, isatty=lambda: True)):
        assert run_of().progress("x") is not None
        assert run_of("--quiet").progress("x") is None
