"""`hikmah demo`: a tour in a temporary store, in commands that really ran."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from hikmah.cli.options import Command
from hikmah.cli.run import Run, json_text, pass_run
from hikmah.cli.streams import write_out
from hikmah.cli.tamper import amend
from hikmah.errors import IntegrityError

REF = "refs/hikmah/memory"
PROMISE = "Send the incident report to the platform team"
FORGED = "Send the incident report to nobody"


class Chapter(NamedTuple):
    """One part of the tour: what it shows, and commands as a person would type them.

    `{name}` in a command stands for the id of the newest record from that source.
    """

    title: str
    commands: tuple[str, ...]


STORY: tuple[Chapter, ...] = (
    Chapter("A ledger is one ref in a git repository; here, in a new bare one.", ("init",)),
    Chapter(
        "Remember what happened, what is believed and by whom, and what was promised.",
        (
            (
                "remember --source incident-review --tag deployment"
                ' --content "Migration failed because the deploy lock timed out"'
            ),
            (
                "remember --kind belief --source runbook"
                ' --content "The deploy lock times out after 30 seconds"'
                ' --claim-key "deploy lock timeout" --claim-value "30 s"'
            ),
            (
                "remember --kind belief --source oncall"
                ' --content "The deploy lock now waits 90 seconds"'
                ' --claim-key "deploy lock timeout" --claim-value "90 s"'
            ),
        ),
    ),
    Chapter(
        "Recall by what is asked. What disagrees is said beside each result.",
        ('recall "why did the migration fail?"',),
    ),
    Chapter(
        "A contradiction stays visible until somebody settles it.",
        (
            "conflicts",
            'supersede {runbook} {oncall} --reason "changed after the incident"',
            "conflicts",
        ),
    ),
    Chapter(
        "A promise has a deadline, and is due until it is kept.",
        (
            f'remember --kind commitment --source lead --deadline +48h --content "{PROMISE}"',
            "commitments --within-hours 168",
        ),
    ),
    Chapter("The history proves itself: every object is hashed again.", ("verify-ledger",)),
)


@click.command(cls=Command)
@pass_run
def demo(run: Run) -> None:
    """Walk through everything in a temporary store.

    It prints text unless JSON is asked for, writes nothing outside the temporary folder, and
    ends with a falsified copy that verification sees through.
    """
    wants_json = run.options.json or run.options.format == "json"
    with temporary_folder() as folder:
        tour = Tour(run, capture=wants_json)
        for chapter in STORY:
            tour.tell(chapter)
        forged = falsify(folder)
        tour.tell(Chapter(f"Now the owner of the disk rewrites a copy: {FORGED}.", ()))
        caught = tour.do(["--store", "copy", "verify-ledger"]) == IntegrityError.exit_code
    tour.say(f"Caught: verification names the forged commit {forged}." if caught else "Not caught!")
    tour.say("That store was temporary and is gone. Yours begins with: hikmah init")
    if wants_json:
        steps = {"steps": tour.steps, "forged_commit": forged, "caught": caught}
        write_out(json_text({"schema": "hikmah.demo/1", **steps}))
    if not caught:
        run.exit(1)


class Tour:
    """Runs commands and shows them with what they print.

    Args:
        run: The run of the demo itself.
        capture: Keep the steps for a JSON document in place of printing them.
    """

    def __init__(self, run: Run, *, capture: bool) -> None:
        self.run = run
        self.capture = capture
        self.steps: list[dict[str, Any]] = []

    def tell(self, chapter: Chapter) -> None:
        """Say what a chapter shows, and run its commands."""
        self.say(chapter.title)
        for line in chapter.commands:
            self.do(shlex.split(re.sub(r"\{(\w+)\}", lambda m: self.newest(m[1])[:8], line)))

    def say(self, text: str) -> None:
        """Say something between the commands."""
        if not self.capture:
            screen = self.run.screen()
            screen.line()
            screen.line(screen.style(text, "bold"))
            write_out(screen.text())

    def do(self, words: list[str]) -> int:
        """Run one command line as a shell would, and return its exit code."""
        line = shlex.join(["hikmah", *words])
        if not self.capture:
            write_out(f"$ {line}\n")
            return execute(words)
        with captured() as output:
            code = execute(words)
        text = output.getvalue().decode("utf-8")
        self.steps.append({"command": line, "exit_code": code, "output": text})
        return code

    def newest(self, source: str) -> str:
        """Return the id of the newest record from a source."""
        from hikmah.memory import Memory  # --help comes without

        with Memory.open() as memory:
            return memory.log(source=source, limit=1).items[0].id


def falsify(folder: Path) -> str:
    """Copy the store, amend its newest commit, and return the commit that was forged."""
    shutil.copytree(folder / ".hikmah", folder / "copy")
    return amend(folder / "copy", REF, PROMISE, FORGED)


def execute(words: list[str]) -> int:
    """Run one command line of the group in this process and return its exit code."""
    from hikmah.cli import cli  # the group's module loads this one

    try:
        with cli.make_context("hikmah", ["--format", "text", *words]) as context:
            cli.invoke(context)
    except click.exceptions.Exit as e:
        return e.exit_code
    return 0


def make_bare(folder: Path) -> None:
    """Make an empty bare repository, so that no repository around the folder is looked at."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    settings = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
    (folder / "config").write_text(settings, encoding="ascii")


@contextlib.contextmanager
def captured() -> Iterator[io.BytesIO]:
    """Collect what is written to standard output."""
    output = io.BytesIO()
    stream = io.TextIOWrapper(output, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(stream):
        yield output
    stream.detach()


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Work in an empty folder without the caller's settings; both are as before afterwards."""
    before, settings = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="hikmah-demo-") as name:
        for variable in [v for v in os.environ if v.startswith("HIKMAH_")]:
            del os.environ[variable]
        make_bare(Path(name) / ".hikmah")
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)
            os.environ.update(settings)
