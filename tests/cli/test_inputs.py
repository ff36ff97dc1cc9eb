from __future__ import annotations

import io
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import click
import pytest

from hikmah.cli import inputs
from hikmah.errors import DecodeError, InvalidInputError, NotFoundError


def stdin(data: bytes) -> AbstractContextManager[object]:
    """Replace standard input by bytes."""
    return mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param(b"one\n", "one", id="a shell's echo"),
        pytest.param(b"one\r\n", "one", id="a Windows line end"),
        pytest.param(b"one\n\n", "one\n", id="only one line end goes"),
        pytest.param(b"  one  ", "  one  ", id="blanks stay"),
        pytest.param("\ufeffone".encode(), "\ufeffone", id="a byte order mark stays"),
        pytest.param("部署\u202e".encode(), "部署\u202e", id="any script"),
        pytest.param(b"", "", id="nothing"),
    ],
)
def test_a_text_is_what_was_given_but_for_its_final_line_end(
    given: bytes, kept: str, tmp_path: Path
) -> None:
    """Standard input and files are read alike."""
    path = tmp_path / "text"
    path.write_bytes(given)
    assert inputs.read_text(str(path)) == kept
    with stdin(given):
        assert inputs.read_text("-") == kept


def test_bytes_that_are_no_utf8_are_said_with_their_place(tmp_path: Path) -> None:
    """Text is never guessed at."""
    path = tmp_path / "latin"
    path.write_bytes(b"caf\xe9")
    with pytest.raises(DecodeError, match="byte 3"):
        inputs.read_text(str(path))
    with stdin(b"\xff"), pytest.raises(DecodeError, match="standard input"):
        inputs.read_text("-")


def test_a_file_that_is_not_there_or_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(NotFoundError, match="gone"):
        inputs.read_text(str(tmp_path / "gone"))
    with pytest.raises(InvalidInputError, match="cannot read"):
        inputs.read_text(str(tmp_path))
    with pytest.raises(InvalidInputError, match="cannot read"):
        inputs.read_text("a\0b")


def test_closed_standard_input_is_empty() -> None:
    """A process without a standard input reads nothing."""
    with mock.patch.object(sys, "stdin", None):
        assert inputs.read_text("-") == ""


def test_a_terminal_is_told_how_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Someone who types the text learns how it ends."""
    stream = SimpleNamespace(buffer=io.BytesIO(b"x\n"), closed=False, isatty=lambda: True)
    with mock.patch.object(sys, "stdin", stream):
        assert inputs.read_text("-") == "x"
    assert "end-of-file" in capsys.readouterr().err


def test_content_comes_one_way_only(tmp_path: Path) -> None:
    """`--content` and `--content-file` exclude each other; neither is None."""
    path = tmp_path / "text"
    path.write_text("from a file")
    assert inputs.content_of(None, None) is None
    assert inputs.content_of("given", None) == "given"
    assert inputs.content_of(None, str(path)) == "from a file"
    with stdin(b"piped"):
        assert inputs.content_of("-", None) == "piped"
    with pytest.raises(click.UsageError):
        inputs.content_of("given", str(path))


def test_json_lines_keep_their_numbers(tmp_path: Path) -> None:
    """Blank lines count and are skipped."""
    path = tmp_path / "lines"
    path.write_bytes(b'{"a": 1}\n\n  \n{"b": 2}')
    assert list(inputs.json_lines(inputs.json_bytes(str(path)))) == [(1, {"a": 1}), (4, {"b": 2})]


def test_a_byte_order_mark_is_no_part_of_json(tmp_path: Path) -> None:
    """PowerShell writes one, and no JSON decoder takes it."""
    path = tmp_path / "marked"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n')
    assert list(inputs.json_lines(inputs.json_bytes(str(path)))) == [(1, {"a": 1})]
    with stdin(path.read_bytes()):
        assert list(inputs.json_lines(inputs.json_bytes("-"))) == [(1, {"a": 1})]


def test_one_key_in_two_objects_of_a_line_is_fine(tmp_path: Path) -> None:
    """Only within one object a second value would be lost."""
    path = tmp_path / "lines"
    path.write_bytes(b'{"a": [{"b": 1}, {"b": 2}], "b": 3}\n')
    assert list(inputs.json_lines(inputs.json_bytes(str(path)))) == [
        (1, {"a": [{"b": 1}, {"b": 2}], "b": 3})
    ]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"{", id="torn"),
        pytest.param(b"[1]", id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(b'{"a": NaN}', id="NaN"),
        pytest.param(b'{"a": "\xff"}', id="not UTF-8"),
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b'{"a": 1, "b": 2, "a": 3}', id="a key twice"),
        pytest.param(b'{"b": {"a": 1, "a": 1}}', id="a key twice inside"),
        pytest.param(b'{"b": [{"a": 1, "\\u0061": 2}]}', id="a key twice in two spellings"),
        pytest.param(b'{"b": ' + b"9" * 5_000 + b"}", id="a number without end"),
    ],
)
def test_a_bad_line_is_named(line: bytes) -> None:
    """The place of an error is the number of the line."""
    with stdin(b'{"a": 1}\n' + line), pytest.raises(DecodeError) as caught:
        list(inputs.json_lines(inputs.json_bytes("-")))
    assert caught.value.where == "line 2"


def test_an_id_comes_as_argument_or_option() -> None:
    """Both may be given when they are one."""
    assert inputs.one_id("abcd", None) == inputs.one_id(None, "abcd") == "abcd"
    assert inputs.one_id("abcd", "abcd") == "abcd"
    with pytest.raises(click.UsageError, match="two ids"):
        inputs.one_id("abcd", "ef01")
    with pytest.raises(click.UsageError, match="missing"):
        inputs.one_id(None, None)
