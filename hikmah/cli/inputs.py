"""What commands read: long texts, JSON lines, times, ids.

Text from standard input or a file is UTF-8, and a final line end is not part of it (as
`$(...)` in a shell has it); everything else is kept as given. JSON may begin with a byte
order mark, which PowerShell writes and no decoder takes.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from hikmah.cli.streams import is_terminal, write_err
from hikmah.errors import DecodeError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from hikmah.cli.run import Run

STDIN = "-"


def read_bytes(name: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: It cannot be read.
    """
    if name == STDIN:
        if is_terminal(sys.stdin):
            write_err("reading from the terminal; an end-of-file key ends it\n")
        return b"" if sys.stdin is None else sys.stdin.buffer.read()
    from pathlib import Path  # most commands read no file

    try:
        return Path(name).read_bytes()
    except FileNotFoundError as e:
        raise NotFoundError(f"there is no file {name!r}", hint="check the path") from e
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or str(e)
        raise InvalidInputError(f"cannot read {name!r}: {reason}") from e


def json_bytes(name: str) -> bytes:
    """Return what `read_bytes` does, without a byte order mark."""
    return read_bytes(name).removeprefix(codecs.BOM_UTF8)


def read_text(name: str) -> str:
    """Return the text of a file, or of standard input for `-`, without a final line end."""
    text = _utf8(read_bytes(name), name)
    return text.removesuffix("\n").removesuffix("\r")


def _utf8(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        shown = "standard input" if name == STDIN else repr(name)
        raise DecodeError(
            f"{shown} is not UTF-8 (byte {e.start})", hint="convert it, for example with iconv"
        ) from e


def content_of(content: str | None, content_file: str | None) -> str | None:
    """Return what `--content` and `--content-file` come to, or None without either.

    Raises:
        click.UsageError: Both are given.
    """
    if content is not None and content_file is not None:
        raise click.UsageError("--content and --content-file are two ways to say one thing")
    if content_file is not None:
        return read_text(content_file)
    return read_text(STDIN) if content == STDIN else content


def filled_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield line numbers and lines, one at a time; blank lines are skipped."""
    import io

    for number, line in enumerate(io.BytesIO(data), start=1):
        if line.strip():
            yield number, line


def json_lines(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line numbers and the objects of JSON lines; blank lines are skipped.

    Raises:
        DecodeError: A line is not a JSON object, or has a key twice; `where` is its number.
    """
    import msgspec  # only batches are JSON lines

    for number, line in filled_lines(data):
        try:
            value = msgspec.json.decode(line)
            _refuse_doubled(line, number)
        except (msgspec.DecodeError, ValueError, RecursionError) as e:
            raise DecodeError(f"not JSON: {e}", where=f"line {number}") from e
        if not isinstance(value, Mapping):
            raise DecodeError("not a JSON object", where=f"line {number}")
        yield number, dict(value)


def _refuse_doubled(line: bytes, number: int) -> None:
    """Raise when a key stands twice in one object: only one of the values would be kept."""
    import json  # the decoder of every other input keeps the last without a word

    def check(pairs: list[tuple[str, object]]) -> None:
        keys = [key for key, _ in pairs]
        for key in dict.fromkeys(keys):
            if keys.count(key) > 1:
                raise DecodeError(
                    f"the key {key!r:.80} stands twice in one object",
                    hint="keep one of them",
                    where=f"line {number}",
                )

    json.loads(line, object_pairs_hook=check)


def one_id(positional: str | None, option: str | None) -> str:
    """Return the id that was given as an argument or as `--id`.

    Raises:
        click.UsageError: Neither, or two that differ.
    """
    if positional and option and positional != option:
        raise click.UsageError(f"two ids are given: {positional} and {option}")
    chosen = positional or option
    if not chosen:
        raise click.UsageError("an id is missing: give it as an argument or with --id")
    return chosen


def full_commit(option: str, text: str) -> str:
    """Return a commit id that is written in full, as a pin has to be.

    Raises:
        InvalidInputError: It is short, or no id at all.
    """
    from hikmah.model.trace import FULL_ID  # only pins are ids in full

    if not re.fullmatch(FULL_ID, text.strip().lower()):
        raise InvalidInputError(
            f"{option} {text!r} is not a full commit id",
            hint="a pin is the whole id: 40 hexadecimal digits, 64 in a SHA-256 repository",
        )
    return text.strip().lower()


def moment(run: Run, text: str | None, *, end_of_day: bool = False) -> int | None:
    """Return a time option in milliseconds, or None when it is not given.

    Args:
        run: Gives the clock and the zone; a remark on how a time was read goes to its notes.
        text: What the person wrote.
        end_of_day: A date alone means the end of that day, not its start.
    """
    if text is None:
        return None
    from hikmah.model.deadline import parse_deadline, parse_time  # times are rare

    parse = parse_deadline if end_of_day else parse_time
    found = parse(text, now_ms=run.now_ms, tz=run.options.tz)
    run.note(found.note)
    return found.ms
