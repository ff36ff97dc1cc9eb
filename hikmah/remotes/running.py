"""Running a program that may hang: watched, bounded, ended with all it started."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from hikmah.errors import RemoteError

_CHUNK = 65_536
# What is kept of an answer and of the talk beside it: a million refs are 100 MB.
MAX_OUT_BYTES = 128 << 20
MAX_SAID_BYTES = 64 << 10
# A program that ended may leave a child that holds its streams open (a shared ssh
# connection does): what was written by then is there at once.
_LINGER_S = 1.0
_TERMINATE_S = 2.0


class Finished(NamedTuple):
    """How a program ended: its exit code, its answer, and what it said beside it."""

    code: int
    out: bytes
    said: str


class _TooMuch(Exception):  # noqa: N818 - a signal within this module, no error of a caller's
    """The program answers without end."""


def run(
    words: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path,
    idle_s: float,
    total_s: float,
    given: bytes = b"",
    watch: Callable[[str], None] | None = None,
) -> Finished:
    """Run a program to its end, unless it falls silent for too long.

    Args:
        words: The program and its arguments; no shell.
        environ: Its whole environment.
        cwd: Its working folder.
        idle_s: How long it may write nothing at all.
        total_s: How long it may take in all.
        given: What it finds on standard input; little enough for a pipe to hold.
        watch: Called with the newest line of what it says, as it says it.

    Raises:
        RemoteError: It could not be started, took too long, or answered without end.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - fixed program, checked arguments, no shell
            words,
            env=dict(environ),
            cwd=cwd,
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Without a terminal of its own nothing it starts can ask a person anything.
            start_new_session=True,
        )
    except OSError as e:
        raise RemoteError(f"{Path(words[0]).name} could not be started: {e.strerror or e}") from e
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(given)
    talk = _Talk(process, watch)
    try:
        return talk.finish(idle_s, time.monotonic() + total_s)
    except TimeoutError as e:
        said = talk.said()
        raise RemoteError(
            f"no answer in time: {e}" + (f"; last was said: {said[-200:]}" if said else ""),
            hint="check the network, or wait longer with --timeout SECONDS",
        ) from e
    except _TooMuch as e:
        raise RemoteError(f"the remote's answer passes {MAX_OUT_BYTES:,} bytes") from e
    finally:
        _end(process)


class _Talk:
    """A running program's two streams, read by a thread each."""

    def __init__(
        self, process: subprocess.Popen[bytes], watch: Callable[[str], None] | None
    ) -> None:
        self._process = process
        self._watch = watch
        self._out = bytearray()
        self._said = bytearray()
        self._events: queue.Queue[tuple[str, bytes]] = queue.Queue()
        for name, stream in (("out", process.stdout), ("said", process.stderr)):
            assert stream is not None  # noqa: S101 - both are pipes
            threading.Thread(target=self._read, args=(name, stream), daemon=True).start()
        threading.Thread(target=self._wait, daemon=True).start()

    def _read(self, name: str, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            while chunk := os.read(stream.fileno(), _CHUNK):
                self._events.put((name, chunk))
        self._events.put(("closed", b""))

    def _wait(self) -> None:
        self._process.wait()
        self._events.put(("ended", b""))

    def said(self) -> str:
        """Return the newest of what was said, without what a later line overwrote."""
        lines = self._said.decode("utf-8", "replace").split("\n")
        return "\n".join(filter(None, (line.rstrip("\r").rpartition("\r")[2] for line in lines)))

    def finish(self, idle_s: float, deadline: float) -> Finished:
        """Read until the program has ended.

        Raises:
            TimeoutError: It was silent, or ran, for too long.
        """
        streams, ended = 2, False
        while not (ended and streams == 0):
            left = min(_LINGER_S if ended else idle_s, deadline - time.monotonic())
            try:
                name, chunk = self._events.get(timeout=max(left, 0))
            except queue.Empty:
                if ended:
                    break
                if time.monotonic() >= deadline:
                    raise TimeoutError("it was not done in the time there is") from None
                raise TimeoutError(f"nothing was heard for {idle_s:g} s") from None
            if name == "ended":
                ended = True
            elif name == "closed":
                streams -= 1
            else:
                self._take(name, chunk)
        return Finished(self._process.wait(), bytes(self._out), self.said())

    def _take(self, name: str, chunk: bytes) -> None:
        if name == "out":
            self._out += chunk
            if len(self._out) > MAX_OUT_BYTES:
                raise _TooMuch
            return
        self._said += chunk
        del self._said[:-MAX_SAID_BYTES]
        if self._watch is not None:
            for line in filter(None, re.split(r"[\r\n]+", chunk.decode("utf-8", "replace"))):
                self._watch(line)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program that still runs, first asking it to tidy up, with what it started."""
    if process.poll() is not None:
        return
    _signal(process, signal.SIGTERM)
    try:
        process.wait(_TERMINATE_S)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a program and to all that it started: they are one group."""
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, number)
