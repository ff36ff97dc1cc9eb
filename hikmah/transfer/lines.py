"""Lines of a file that nobody vouches for.

One at a time, none longer than a bound; a byte order mark at the start and line ends are no
part of them.
"""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from hikmah.errors import InvalidInputError, StoreError

# Longer than any record can be: a content of 64 KiB is 400 KB when every byte is escaped.
MAX_LINE_BYTES = 16 * 1024 * 1024


class Line(NamedTuple):
    """One line: its number from 1, its bytes (None: too long), where the next one begins.

    `ended` tells that a line end follows; only a file's last line can lack one.
    """

    number: int
    data: bytes | None
    end: int
    ended: bool


def lines(stream: BinaryIO, *, longest: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Yield the lines of a stream from its beginning, blank ones left out."""
    number = end = 0
    with readable():
        stream.seek(0)
    while data := _piece(stream, longest + 1):
        number += 1
        end += len(data)
        ended = data.endswith(b"\n")
        if not ended and len(data) > longest:
            end, ended = _skip(stream, end)
            yield Line(number, None, end, ended)
            continue
        text = data.removesuffix(b"\n")
        if number == 1:
            text = text.removeprefix(codecs.BOM_UTF8)
        if text.strip():
            yield Line(number, text, end, ended)


def _piece(stream: BinaryIO, size: int) -> bytes:
    with readable():
        return stream.readline(size)


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """Map what the disk refuses while a file is read to an error of ours."""
    try:
        yield
    except OSError as e:
        raise StoreError(f"the file cannot be read: {e.strerror or e}") from e


def _skip(stream: BinaryIO, end: int) -> tuple[int, bool]:
    """Read to the end of a line without keeping it."""
    while data := _piece(stream, 1 << 16):
        end += len(data)
        if data.endswith(b"\n"):
            return end, True
    return end, False


def whole(line: Line) -> bytes:
    """Return a line's bytes.

    Raises:
        InvalidInputError: The line is longer than anything that could be meant.
    """
    if line.data is None:
        raise InvalidInputError(
            f"the line has more than {MAX_LINE_BYTES:,} bytes, more than any record",
            hint="check that the file is what its format says",
        )
    return line.data
