"""Commands that move memories in and out: `import`, `export`."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

import click

from hikmah.cli.inputs import STDIN, moment
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.streams import buffered_out, is_terminal, write_err
from hikmah.cli.text import one_line
from hikmah.errors import InvalidInputError, NotFoundError, StoreError
from hikmah.model.trace import KINDS, Kind
from hikmah.transfer.selection import LeftOut, Selection

if TYPE_CHECKING:
    from hikmah.memory import Memory
    from hikmah.transfer.results import ExportReport, ImportReport

IMPORT_FORMATS = ("jsonl", "hikmah-jsonl", "mcp-memory", "markdown")
EXPORT_FORMATS = ("jsonl", "markdown", "mcp-memory")
_IN_MEMORY_BYTES = 1 << 23
_LISTED = 20


@click.command(name="import", cls=Command)
@click.argument("name", metavar="FILE")
@click.option(
    "--from", "form", type=click.Choice(IMPORT_FORMATS), required=True, help="What the file is."
)
@click.option("--source", metavar="NAME", help="Who says so, where the file does not tell.")
@click.option("--kind", type=click.Choice(KINDS), help="Of which kind notes are: preference.")
@click.option("--dry-run", is_flag=True, help="Write nothing; report what an import would do.")
@pass_run
def import_(
    run: Run, name: str, form: str, source: str | None, kind: Kind | None, *, dry_run: bool
) -> None:
    """Take in an export, or another memory.

    FILE may be - for standard input. What breaks a rule is refused and listed by its line, the
    rest becomes one commit; importing again adds nothing.
    """
    from hikmah.transfer.importing import Said, exit_code, import_file

    if source is not None and form not in ("mcp-memory", "markdown"):
        raise click.UsageError(f"--source is not for {form}, whose records say it themselves")
    if kind is not None and form != "markdown":
        raise click.UsageError(f"--kind is for markdown, not for {form}")
    said = Said(file=_file_name(name), source=source or "", kind=kind or "preference")
    with _opened(name) as stream, _memory(run, dry_run=dry_run) as memory:
        report = import_file(
            memory,
            stream,
            form=form,
            said=said,
            dry_run=dry_run,
            progress=run.progress("importing"),
        )
    run.show("import", report, lambda screen: _draw_import(screen, report))
    run.warn(report.warnings)
    run.exit(exit_code(report))


@contextlib.contextmanager
def _memory(run: Run, *, dry_run: bool) -> Iterator[Memory]:
    """Give the memory to import into; for a dry run where no store is, an empty one."""
    with contextlib.ExitStack() as stack:
        try:
            memory = run.memory(writes=not dry_run)
        except NotFoundError:
            if not dry_run or run.options.store is not None:
                raise
            from hikmah.memory import Memory

            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hikmah-"))
            memory = Memory.init(folder, policy=run.options.policy, now_ms=run.fixed_ms)[0]
        yield stack.enter_context(memory)


def _file_name(name: str) -> str:
    """Return what a locator calls a file: its path from here, for what is below; else its name."""
    if name == STDIN:
        return ""
    path = Path(name).absolute()
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.name


@contextlib.contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """Give a file's bytes, able to seek; standard input is copied aside first.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: It cannot be read.
    """
    with contextlib.ExitStack() as stack:
        if name == STDIN:
            if is_terminal(sys.stdin):
                write_err("reading from the terminal; an end-of-file key ends it\n")
            yield stack.enter_context(_copied(None if sys.stdin is None else sys.stdin.buffer))
            return
        try:
            file: BinaryIO = stack.enter_context(Path(name).open("rb"))
            stream = file if file.seekable() else stack.enter_context(_copied(file))
        except FileNotFoundError as e:
            raise NotFoundError(f"there is no file {name!r}", hint="check the path") from e
        except (OSError, ValueError) as e:
            reason = getattr(e, "strerror", None) or str(e)
            raise InvalidInputError(f"cannot read {name!r}: {reason}") from e
        yield stream


def _copied(file: BinaryIO | None) -> BinaryIO:
    copied = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115 - given away
    while file is not None and (piece := file.read(1 << 16)):
        copied.write(piece)
    return cast("BinaryIO", copied)


def _draw_import(screen: Screen, report: ImportReport) -> None:
    verb = "would be written" if report.dry_run else "written"
    screen.line(
        f"{report.written:,} {verb}, {report.present:,} there already, {report.refused:,} refused"
    )
    if report.relinked:
        screen.line(f"{report.relinked:,} could not keep their ids")
    if report.torn_line is not None:
        screen.line(f"line {report.torn_line:,} is cut off: it was never written to its end")
    for refusal in report.refusals[:_LISTED]:
        screen.line(screen.style(f"line {refusal.line:,}: {one_line(refusal.message, 400)}", "red"))
        if refusal.hint:
            screen.wrapped(one_line(refusal.hint, 400))
    if report.refused > _LISTED:
        screen.line(f"... and {report.refused - _LISTED:,} more; --json lists up to 1,000")


@click.command(name="export", cls=Command)
@click.option(
    "--to", "form", type=click.Choice(EXPORT_FORMATS), required=True, help="What to write."
)
@click.option("--output", metavar="FILE", help="Where to: standard output.")
@click.option("--include-purged", is_flag=True, help="Purged traces, too.")
@click.option("--include-sensitive", is_flag=True, help="Sensitive traces, too.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only these kinds.")
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only from these sources.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only what has all these tags.")
@click.option("--since", metavar="TIME", help="Only what was made then or later.")
@click.option("--until", metavar="TIME", help="Only what was made then or earlier.")
@pass_run
def export(  # noqa: PLR0917 - click gives options by keyword
    run: Run,
    form: str,
    output: str | None,
    kinds: tuple[str, ...],
    sources: tuple[str, ...],
    tags: tuple[str, ...],
    since: str | None,
    until: str | None,
    *,
    include_purged: bool,
    include_sensitive: bool,
) -> None:
    """Write memories out, for elsewhere.

    Purged and sensitive traces stay behind unless they are asked for. With --output a report
    is printed; without, the export itself.
    """
    from hikmah.transfer.exporting import export as write_export

    selection = Selection(
        include_purged=include_purged,
        include_sensitive=include_sensitive,
        kinds=kinds,
        sources=sources,
        tags=tags,
        since_ms=moment(run, since),
        until_ms=moment(run, until, end_of_day=True),
    )
    with run.memory() as memory, _target(output) as write:
        report = write_export(
            memory, write, to=form, selection=selection, progress=run.progress("exporting")
        )
    run.clear()
    if output is not None:
        run.show("export", report, lambda screen: _draw_export(screen, report, output))
        run.warn(report.warnings)
        return
    for warning in report.warnings:  # standard output is the export's own
        run.note(warning, label="warning")
    if report.left_out != LeftOut():
        run.note(_behind(report.left_out))


@contextlib.contextmanager
def _target(output: str | None) -> Iterator[Callable[[bytes], object]]:
    """Give what takes an export's bytes: standard output, or a file that appears when whole.

    Raises:
        StoreError: It cannot be written.
    """
    if output is None:
        with buffered_out() as write:
            yield write
        return
    path = Path(os.path.realpath(output))  # a link stays one, and what it leads to is written
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file.write
            return
        with _replacing(path) as file:
            yield file.write
    except OSError as e:
        raise StoreError(
            f"cannot write {output!r}: {e.strerror or e}",
            hint="check the path, permissions and free space",
            where=output,
        ) from e


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Give a file that takes a path's place at the end; after a failure there is no trace of it.

    Only its owner can read it: what is remembered is private unless somebody decides otherwise.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _draw_export(screen: Screen, report: ExportReport, output: str) -> None:
    screen.line(f"{report.written:,} written to {one_line(output, 400)}")
    if report.left_out != LeftOut():
        screen.line(_behind(report.left_out))


def _behind(left: LeftOut) -> str:
    counts = {
        "purged (--include-purged)": left.purged,
        "sensitive (--include-sensitive)": left.sensitive,
        "filtered out": left.filtered,
        "superseded by one of those alone": left.would_revive,
    }
    return "left out: " + ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
