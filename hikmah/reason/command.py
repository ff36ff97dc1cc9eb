"""An engine that is any local program: JSON request in, JSON response out.

Rules the module keeps:

1. No shell: the words are split as a shell would, and the program is run as it is.
2. A budget bounds the whole call and a limit the output; past either the program and what it
   started are killed, and the request is answered by abstentions.
3. Its standard error goes nowhere and its exit code must be 0.

The response is `{"request_id", "answers", "version"?}`; docs/decisions.md has an example.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from hikmah.errors import EngineError, EngineSetupError
from hikmah.reason.budget import MAX_BUDGET_MS, budget_ms
from hikmah.reason.port import DecisionRequest, Reply
from hikmah.reason.wire import parse_reply, request_bytes, versioned

DEFAULT_BUDGET_MS = 30_000
MAX_OUTPUT_BYTES = 4 * 1024 * 1024
BUDGET_VARIABLE = "HIKMAH_COMMAND_TIMEOUT_MS"


class CommandEngine:
    """Runs a program for each request."""

    def __init__(self, words: Sequence[str], *, limit_ms: int = DEFAULT_BUDGET_MS) -> None:
        self.name = _name(words)
        self._words = tuple(words)
        self._limit_ms = limit_ms

    @classmethod
    def parse(
        cls, line: str, environ: Mapping[str, str], *, cap_ms: int = MAX_BUDGET_MS
    ) -> CommandEngine:
        """Set one up from a command line.

        Raises:
            EngineSetupError: The line cannot be split, or the program is not there.
        """
        try:
            words = _words(line)
        except ValueError as e:
            raise EngineSetupError(f"the command cannot be split into words: {e}") from e
        if not words:
            raise EngineSetupError("the command is empty", hint="--engine 'command:PROGRAM'")
        program = shutil.which(words[0], path=environ.get("PATH"))
        if program is None:
            raise EngineSetupError(f"there is no program {words[0]!r}", hint="give its path")
        limit = budget_ms(environ, BUDGET_VARIABLE, default=DEFAULT_BUDGET_MS, cap_ms=cap_ms)
        return cls((program, *words[1:]), limit_ms=limit)

    def answer(self, request: DecisionRequest) -> Reply:
        """Run the program.

        Raises:
            EngineError: It cannot run, fails, takes too long or says too much.
        """
        try:
            process = subprocess.Popen(  # noqa: S603  # the caller named this program
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as e:
            raise EngineError(f"the program cannot run: {e.strerror}") from e
        try:
            output = self._converse(process, request_bytes(request))
        except BaseException:
            _kill(process)
            raise
        finally:
            _close(process)
        return versioned(parse_reply(output))

    def _converse(self, process: subprocess.Popen[bytes], request: bytes) -> bytes:
        """Hand over the request and return all that was written, if the program ended well."""
        ends_at = time.monotonic() + self._limit_ms / 1000
        output = bytearray()
        reading = threading.Thread(target=_read, args=(process.stdout, output), daemon=True)
        threading.Thread(target=_write, args=(process.stdin, request), daemon=True).start()
        reading.start()
        reading.join(self._limit_ms / 1000)
        if len(output) > MAX_OUTPUT_BYTES:
            raise EngineError(f"the program wrote more than {MAX_OUTPUT_BYTES} bytes")
        late = EngineError(f"the program took longer than {self._limit_ms} ms")
        if reading.is_alive():
            raise late
        try:
            code = process.wait(max(0.0, ends_at - time.monotonic()))
        except subprocess.TimeoutExpired as e:
            raise late from e
        if code:
            raise EngineError(f"the program ended with exit code {code}")
        return bytes(output)


def _words(line: str) -> list[str]:
    """Split a line as the system's shell would; on Windows a backslash is part of a path."""
    if os.name != "posix":  # pragma: no cover - Windows
        return [word.strip('"') for word in shlex.split(line, posix=False)]
    return shlex.split(line)


def _name(words: Sequence[str]) -> str:
    """Return `command-<program>`, and `-<script>` where its first argument is a file."""
    stems = [Path(words[0]).stem] + [Path(word).stem for word in words[1:2] if Path(word).is_file()]
    kept = "-".join(("command", *stems))
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in kept)


def _read(pipe: IO[bytes], output: bytearray) -> None:
    """Gather what the program writes, a little past the limit at most."""
    while len(output) <= MAX_OUTPUT_BYTES and (piece := pipe.read1(65536)):  # type: ignore[attr-defined]  # a buffered pipe has it
        output += piece


def _write(pipe: IO[bytes], request: bytes) -> None:
    """Write the request; a program need not read it."""
    with contextlib.suppress(OSError), pipe:
        pipe.write(request)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and what it started; its id is still its own, as nobody waited."""
    if os.name != "posix":  # pragma: no cover - Windows has no groups of processes
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _close(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    cast("IO[bytes]", process.stdout).close()
