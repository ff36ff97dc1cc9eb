"""What went wrong, in one form: exit code, text for people, JSON for programs."""

from __future__ import annotations

import json
from typing import NamedTuple

import click

from hikmah.cli.text import visible
from hikmah.errors import AmbiguousIdError, HikmahError

UNEXPECTED, USAGE, INTERRUPTED = 1, 2, 130


class Failure(NamedTuple):
    """An error as the command shows it."""

    exit_code: int
    code: str
    message: str
    hint: str = ""
    where: str = ""
    candidates: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the lines for a person; nothing in them can act on a terminal."""
        lines = [f"error: {visible(self.message)}"]
        lines += [f"  {visible(candidate)}" for candidate in self.candidates]
        lines += [f"where: {visible(self.where)}"] if self.where else []
        lines += [f"hint: {visible(self.hint)}"] if self.hint else []
        return "".join(f"{line}\n" for line in lines)

    def json(self) -> str:
        """Return one line of JSON: the object `error`."""
        error: dict[str, object] = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "where": self.where,
        }
        if self.candidates:
            error["candidates"] = list(self.candidates)
        return json.dumps({"error": error}) + "\n"


def failure_of(error: BaseException) -> Failure:
    """Return what an exception means to the caller of the command."""
    if isinstance(error, HikmahError):
        candidates = error.candidates if isinstance(error, AmbiguousIdError) else ()
        return Failure(
            error.exit_code, error.code, error.message, error.hint, error.where, candidates
        )
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx is not None else "hikmah"
        return Failure(USAGE, "usage", _sentence(error.format_message()), f"run {path} --help")
    if isinstance(error, KeyboardInterrupt | click.Abort | EOFError):
        return Failure(INTERRUPTED, "interrupted", "interrupted; nothing more was done")
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return Failure(UNEXPECTED, "store", reason, _DEBUG, str(error.filename or ""))
    text = f"unexpected {type(error).__name__}: {error}"
    return Failure(UNEXPECTED, "unexpected", text, f"{_DEBUG}, and report it")


_DEBUG = "run the same command with --debug to see where it happened"


def _sentence(message: str) -> str:
    """Return click's message as ours are written: no capital, no full stop."""
    text = message.strip().removesuffix(".")
    return text[:1].lower() + text[1:]
