"""Runs the click group as a process: exit codes, errors, pipes, completion."""

from __future__ import annotations

import os
import sys

import click

from hikmah.cli import cli
from hikmah.cli.streams import is_terminal, settle, silence, use_utf8, write_err

COMPLETE_VARIABLE = "_HIKMAH_COMPLETE"


def run(words: list[str]) -> int:
    """Run one command line and return its exit code; no exception but SystemExit gets out."""
    use_utf8()
    try:
        return _run(words)
    finally:
        settle()


def _run(words: list[str]) -> int:
    try:
        return _dispatch([utf8_word(word) for word in words])
    except click.exceptions.Exit as e:
        return e.exit_code
    except BrokenPipeError:
        silence(sys.stdout)
        return 0
    except (Exception, KeyboardInterrupt) as e:  # noqa: BLE001  # the outermost frame
        return _fail(e, words)


def utf8_word(word: str) -> str:
    """Return a word of the command line read as UTF-8, when the locale could not read it.

    In a C locale Python keeps such bytes as lone surrogates, which nothing can store.
    """
    if word.isascii() or not any("\udc80" <= character <= "\udcff" for character in word):
        return word
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        return word


def _dispatch(words: list[str]) -> int:
    instruction = os.environ.get(COMPLETE_VARIABLE)
    if instruction:
        from click.shell_completion import shell_complete  # a shell asked

        return shell_complete(cli, {}, "hikmah", COMPLETE_VARIABLE, instruction)
    with cli.make_context("hikmah", words) as context:
        cli.invoke(context)
    return 0


def _fail(error: BaseException, words: list[str]) -> int:
    """Say what happened on standard error and return the exit code."""
    from hikmah.cli.failure import failure_of  # only a failing command pays for it

    failure = failure_of(error)
    if "--debug" in words:
        import traceback

        write_err("".join(traceback.format_exception(error)))
    write_err(failure.text())
    if _wants_json(words):
        write_err(failure.json())
    return failure.exit_code


def _wants_json(words: list[str]) -> bool:
    """Tell whether the caller reads JSON; the words are looked at, as parsing may have failed."""
    form = os.environ.get("HIKMAH_FORMAT", "auto")
    for place, word in enumerate(words):
        if word == "--json":
            return True
        if word.startswith("--format"):
            form = (
                word.removeprefix("--format=") if "=" in word else "".join(words[place + 1 :][:1])
            )
    return form == "json" or (form != "text" and not is_terminal(sys.stdout))
