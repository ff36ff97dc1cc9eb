"""What went wrong, in one form: exit code, text for people, JSON for programs."""

from __future__ import annotations

import json
import re
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
        return Failure(USAGE, "usage", _sentence(error.format_message()), _usage_hint(error))
    if isinstance(error, KeyboardInterrupt | click.Abort | EOFError):
        return Failure(INTERRUPTED, "interrupted", "interrupted; nothing more was done")
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return Failure(UNEXPECTED, "store", reason, _DEBUG, str(error.filename or ""))
    text = f"unexpected {type(error).__name__}: {error}"
    return Failure(UNEXPECTED, "unexpected", text, f"{_DEBUG}, and report it")


_DEBUG = "run the same command with --debug to see where it happened"


def _usage_hint(error: click.UsageError) -> str:
    """Return where the options are told, after what a stray argument was meant to be."""
    context = error.ctx
    if context is None:
        return "run hikmah --help"
    help_of = f"run {context.command_path} --help"
    stray = getattr(context.command, "stray_hint", "")
    return f"{stray}; {help_of}" if stray and error.message.startswith(_STRAY) else help_of


_STRAY = "Got unexpected extra argument"


def _sentence(message: str) -> str:
    """Return click's message as ours are written: one line, no capital, no full stop."""
    text = _BROKEN.sub(" ", message.strip()).removesuffix(".")
    return text[:1].lower() + text[1:]


_BROKEN = re.compile(r"\n\t*")  # click lists choices on lines of their own
