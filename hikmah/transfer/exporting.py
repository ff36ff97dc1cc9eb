"""Export: records as a file for ledgers, programs and people.

`jsonl` keeps every record as it is. `markdown` and `mcp-memory` hold what is active, for
people and for programs that know no history.

Example:
    with Memory.open() as memory, open("memory.jsonl", "wb") as file:
        report = export(memory, file.write, to="jsonl")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import msgspec

from hikmah.errors import InvalidInputError
from hikmah.model.trace import Trace
from hikmah.transfer import markdown, mcp, own
from hikmah.transfer.results import ExportReport
from hikmah.transfer.selection import Chosen, LeftOut, Selection

if TYPE_CHECKING:
    from hikmah.memory import Memory
    from hikmah.model.records import Stored

ExportFormat = Literal["jsonl", "markdown", "mcp-memory"]
EXPORT_FORMATS: tuple[str, ...] = get_args(ExportFormat)
ALL = Selection()
# Purged traces are here only when they were asked for.
_NOTED = ("active", "purged")
STEP = 1_000  # records between two words of progress

Write = Callable[[bytes], object]
Progress = Callable[[int], None]


class _Written(NamedTuple):
    """How many records a format wrote, and how many it has no words for."""

    records: int = 0
    skipped: int = 0


def export(
    memory: Memory,
    write: Write,
    *,
    to: str,
    selection: Selection = ALL,
    progress: Progress | None = None,
) -> ExportReport:
    """Write a ledger's records in a format.

    Args:
        memory: Whose records.
        write: Takes the bytes, piece by piece.
        to: One of `EXPORT_FORMATS`.
        selection: Which traces; all but purged and sensitive ones by default.
        progress: Called with the number of records read so far, now and then.

    Raises:
        InvalidInputError: There is no such format, or it cannot be filtered so.
        NotFoundError: There is no ledger.
        IntegrityError: An object is missing or damaged.
    """
    if to not in EXPORT_FORMATS:
        raise InvalidInputError(
            f"{to!r} is no format to export to", hint=f"formats: {', '.join(EXPORT_FORMATS)}"
        )
    head = memory.head()
    if to == mcp.SYSTEM:
        return _entities(memory, head, write, selection)
    chosen = Chosen(_watched(memory.records(head), progress), selection)
    if to == "jsonl":
        done = _lines(chosen.among(memory.records(head)), write)
        warnings = tuple(_warnings(chosen, done))
    else:
        done = _notes(chosen, memory.records(head), write, memory.name)
        warnings = ()
    return ExportReport(
        format=to, head=head, written=done.records, left_out=chosen.left_out, warnings=warnings
    )


def _lines(records: Iterable[Stored], write: Write) -> _Written:
    written = skipped = 0
    for stored in records:
        line = own.line(stored)
        if line is None:
            skipped += 1
        else:
            written += 1
            write(line)
    return _Written(written, skipped)


def _notes(chosen: Chosen, records: Iterable[Stored], write: Write, name: str) -> _Written:
    traces = [
        (stored.id, stored.record)
        for stored in chosen.among(records)
        if isinstance(stored.record, Trace) and chosen.statuses.of(stored.id) in _NOTED
    ]
    for piece in markdown.file_of(traces, name):
        write(piece)
    return _Written(len(traces))


def _entities(memory: Memory, head: str, write: Write, selection: Selection) -> ExportReport:
    if msgspec.structs.replace(selection, include_sensitive=False) != ALL:
        raise InvalidInputError(
            f"{mcp.SYSTEM} holds all active entities, and cannot be filtered",
            hint="leave out all but --include-sensitive; jsonl and markdown can be filtered",
        )
    written = 0
    for line in mcp.file_of(memory.entities(include_sensitive=selection.include_sensitive)):
        write(line)
        written += 1
    return ExportReport(format=mcp.SYSTEM, head=head, written=written, left_out=LeftOut())


def _warnings(chosen: Chosen, done: _Written) -> Iterator[str]:
    if chosen.dangling:
        yield (
            f"{chosen.dangling} trace(s) point at traces that were left out: another ledger will"
            " take them in without those links, under ids of their own"
        )
    if done.skipped:
        yield f"{done.skipped} record(s) are not in canonical form and were left out"


def _watched(records: Iterable[Stored], progress: Progress | None) -> Iterator[Stored]:
    for count, stored in enumerate(records, start=1):
        if progress is not None and count % STEP == 0:
            progress(count)
        yield stored
