"""One run of a command: its options, its clock, its memory, and how it prints.

A command module does three things: parse options (click), make one call to `Run.memory()`,
and hand the answer to `Run.show`, with a function that draws it for people.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from hikmah.cli.options import Globals, globals_of
from hikmah.cli.streams import is_terminal, write_err, write_out

if TYPE_CHECKING:
    from hikmah.cli.progress import Progress
    from hikmah.cli.screen import Screen
    from hikmah.memory import Memory

P = ParamSpec("P")
T = TypeVar("T")
SCHEMA = 1
PIPE_COLUMNS = 100


class Run:
    """What a command needs: options, clock, memory, output."""

    def __init__(self, context: click.Context) -> None:
        self.context = context
        self.options: Globals = globals_of(context)
        self._bars: list[Progress] = []
        self._memory: Memory | None = None

    @functools.cached_property
    def now_ms(self) -> int:
        """The clock of this run, `--now` or the machine's, in milliseconds."""
        clock_ms = time.time_ns() // 1_000_000
        if self.options.now is None:
            return clock_ms
        from hikmah.model.deadline import parse_time  # only --now needs it

        return parse_time(self.options.now, now_ms=clock_ms, tz=self.options.tz).ms

    @property
    def as_json(self) -> bool:
        """Whether the answer is a JSON document."""
        if self.options.json or self.options.format == "json":
            return True
        return self.options.format == "auto" and not is_terminal(sys.stdout)

    def memory(self, *, writes: bool = False, reports: bool = False) -> Memory:
        """Open the memory that the options name.

        Args:
            writes: The command writes: `./.hikmah` is made where there is no store and none
                was named.
            reports: The command reports itself how the ref stands; others are warned here
                (a write is refused instead).
        """
        from hikmah.memory import Memory  # --help and usage errors come without

        options = self.options
        memory = Memory.open(
            options.store,
            ledger=options.ledger,
            policy=options.policy,
            now_ms=self.fixed_ms,
            lock_timeout_s=options.lock_timeout,
            tz=options.tz,
            create=writes,
            progress=self.progress("indexing"),
        )
        if not writes and not reports:
            self.note(memory.standing_warning(), label="warning")
        self._memory = memory
        return memory

    @property
    def fixed_ms(self) -> int | None:
        """The clock that `--now` sets, or None for the machine's."""
        return None if self.options.now is None else self.now_ms

    def show(self, name: str, value: object, draw: Callable[[Screen], None]) -> None:
        """Print an answer: as one JSON document, or drawn for a person.

        Args:
            name: The document's name; its `schema` is `hikmah.<name>/1`.
            value: A struct or mapping whose fields are the document's.
            draw: Draws the same answer as text.
        """
        self.clear()
        for warning in self._memory.told() if self._memory else ():
            self.note(warning, label="warning")
        if self.as_json:
            write_out(document(name, value))
            return
        screen = self.screen()
        draw(screen)
        write_out(screen.text())

    def clear(self) -> None:
        """Take away the progress that is still drawn."""
        for bar in self._bars:
            bar.clear()

    def screen(self) -> Screen:
        """Return an empty screen of this run's width, colours and clock."""
        from shutil import get_terminal_size  # a JSON answer comes without these two

        from hikmah.cli.screen import Screen

        terminal = is_terminal(sys.stdout)
        columns = get_terminal_size((PIPE_COLUMNS, 24)).columns if terminal else PIPE_COLUMNS
        return Screen(
            columns=columns,
            color=terminal and colors(os.environ),
            now_ms=self.now_ms,
            verbose=self.options.verbose,
        )

    def note(self, text: str, *, label: str = "note") -> None:
        """Say something beside the answer, on standard error."""
        if not self.options.quiet and text:
            from hikmah.cli.text import visible  # most runs say nothing

            write_err(f"{label}: {visible(text)}\n")

    def warn(self, warnings: Iterable[str]) -> None:
        """Say what an answer warns of; a JSON answer carries its warnings itself."""
        if not self.as_json:
            for warning in warnings:
                self.note(warning, label="warning")

    def progress(self, label: str) -> Progress | None:
        """Return what draws progress on standard error, or None where nobody watches."""
        if self.options.quiet or not is_terminal(sys.stderr):
            return None
        from hikmah.cli.progress import Progress  # only a terminal has one

        bar = Progress(label)
        self._bars.append(bar)
        return bar

    def exit(self, code: int) -> None:
        """End the command with an exit code, after its answer was printed."""
        self.context.exit(code)


def colors(environ: Mapping[str, str]) -> bool:
    """Tell whether a terminal may be sent colours (https://no-color.org)."""
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return sys.platform != "win32" or "WT_SESSION" in environ


def document(name: str, value: object) -> str:
    """Return an answer as JSON text: `schema` first, then its fields in their own order.

    Characters that a terminal would act on are written as escapes, which says the same.
    """
    fields: dict[str, Any]
    if isinstance(value, Mapping):
        fields = dict(value)
    else:
        fields = {key: getattr(value, key) for key in getattr(value, "__struct_fields__", ())}
    return json_text({"schema": f"hikmah.{name}/{SCHEMA}", **fields})


def json_text(value: object) -> str:
    """Return any value as indented JSON text that cannot act on a terminal."""
    import msgspec  # text output and help do without

    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    if not text.isascii() or "\x7f" in text:
        from hikmah.cli.text import json_escapes  # beside its text counterpart

        text = json_escapes(text)
    return text + "\n"


def pass_run(command: Callable[Concatenate[Run, P], T]) -> Callable[P, T]:
    """Give a command function its `Run` as the first argument."""

    @functools.wraps(command)
    def with_run(*args: P.args, **kwargs: P.kwargs) -> T:
        return command(Run(click.get_current_context()), *args, **kwargs)

    return with_run
