"""Standard output and error as bytes: UTF-8 always, quiet when nobody reads."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import IO

import click

from hikmah.errors import StoreError

PIECE_BYTES = 1 << 16


def write_out(text: str) -> None:
    """Write an answer to standard output at once.

    Raises:
        click.exceptions.Exit: The reader has gone (a closed pipe); code 0, as it got its fill.
        StoreError: It cannot be written, for example because a disk is full.
    """
    _write_whole(text.encode("utf-8", "backslashreplace"))


def _write_whole(data: bytes) -> None:
    try:
        _write(data, err=False)
    except OSError as e:
        silence(sys.stdout)
        raise StoreError(
            f"the answer could not be written to standard output: {e.strerror}",
            hint="what the command did stands; only its answer is lost",
        ) from e


@contextlib.contextmanager
def buffered_out() -> Iterator[Callable[[bytes], object]]:
    """Give a function that writes bytes to standard output in large pieces, as they are.

    A terminal gets text instead: what it could act on is written out.
    """
    pieces: list[bytes] = []
    held = 0

    def flush() -> None:
        nonlocal held
        data, held = b"".join(pieces), 0
        pieces.clear()
        if is_terminal(sys.stdout):
            from hikmah.cli.text import visible_lines

            data = "\n".join(visible_lines(data.decode("utf-8", "replace"))).encode()
        _write_whole(data)

    def write(data: bytes) -> None:
        nonlocal held
        pieces.append(data)
        held += len(data)
        if held >= PIECE_BYTES and data.endswith(b"\n"):
            flush()

    yield write
    flush()


def write_err(text: str) -> None:
    """Write talk to standard error; that nobody can read it is no reason to stop."""
    _write(text.encode("utf-8", "backslashreplace"), err=True)


def _write(data: bytes, *, err: bool) -> None:
    try:
        click.echo(data, nl=False, err=err)
    except BrokenPipeError:
        silence(sys.stderr if err else sys.stdout)
        if not err:
            raise click.exceptions.Exit(0) from None
    except OSError:
        if not err:
            raise
        silence(sys.stderr)


def settle() -> None:
    """Leave nothing in the streams that Python would fail to write when it ends."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:  # said already, by whoever wrote it; the exit code tells the rest
            silence(stream)


def silence(stream: IO[str]) -> None:
    """Send what is left in a stream nowhere, so that closing it cannot fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def use_utf8() -> None:
    """Make help and prompts, which click prints, UTF-8 with plain line ends too."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def is_terminal(stream: IO[str] | None) -> bool:
    """Tell whether a person looks at a stream; a closed one has nobody."""
    return stream is not None and not stream.closed and stream.isatty()
