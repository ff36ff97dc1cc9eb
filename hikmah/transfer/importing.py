"""Import: what ledgers, programs and people wrote down, as records.

Rules the module keeps:

1. Every item is judged by itself, by the rules that hold for every write. What breaks one is
   refused and listed with its line, and the others go on.
2. All that is new becomes one commit: after a crash nothing of it is there.
3. Importing again adds nothing.
4. A dry run does everything but the writing, and reports the same.

Example:
    with Memory.open() as memory, open("memory.jsonl", "rb") as file:
        report = import_file(memory, file, form="jsonl")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, get_args

from hikmah.errors import (
    AgentSessionError,
    HikmahError,
    InvalidInputError,
    RefusedError,
    SecretError,
)
from hikmah.model.trace import Kind
from hikmah.transfer import legacy, markdown, mcp, own
from hikmah.transfer.items import Built, Intake, Item
from hikmah.transfer.results import MAX_LISTED, ImportReport, Refusal, refusal

if TYPE_CHECKING:
    from hikmah.memory import Memory
    from hikmah.memory.admitting import Incoming
    from hikmah.memory.pending import Written

ImportFormat = Literal["jsonl", "hikmah-jsonl", "mcp-memory", "markdown"]
IMPORT_FORMATS: tuple[str, ...] = get_args(ImportFormat)

Progress = Callable[[int], None]
Read = Callable[[BinaryIO, Intake], Iterator[Item]]


class _Format(NamedTuple):
    """How a format is read, and how far its records are this project's own.

    `own`: they were written by Hikmah, keep their bytes, and may say together what a join of
    two ledgers says.
    """

    read: Read
    own: bool = False


class Said(NamedTuple):
    """What the formats of other programs do not tell, and an import may.

    Attributes:
        file: What the file is called, for locators.
        source: Who says what it says; the format's name, for notes the file's.
        kind: Of which kind notes are.
    """

    file: str = ""
    source: str = ""
    kind: Kind = "preference"


_FORMATS: dict[str, _Format] = {
    "jsonl": _Format(own.read_items, own=True),
    legacy.SYSTEM: _Format(legacy.read_items),
    mcp.SYSTEM: _Format(mcp.read_items),
    markdown.SYSTEM: _Format(markdown.read_items),
}
NOTHING_SAID = Said()
_POLICY = frozenset({RefusedError.code, SecretError.code, AgentSessionError.code})
_STEP = 500


def import_file(
    memory: Memory,
    stream: BinaryIO,
    *,
    form: str,
    said: Said = NOTHING_SAID,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Take in a file.

    Args:
        memory: Where to.
        stream: The file's bytes; it must be able to seek, for it may be read twice.
        form: One of `IMPORT_FORMATS`.
        said: What the file does not tell of itself.
        dry_run: Write nothing.
        progress: Called with the number of items read so far, now and then.

    Returns:
        What became of each item; refusals are part of it and raise nothing.

    Raises:
        InvalidInputError: There is no such format.
        IntegrityError: The chain of an old ledger is broken; or ours is not acknowledged.
        BusyError, StoreError: As for every write; nothing was written.
    """
    if form not in _FORMATS:
        raise InvalidInputError(
            f"{form!r} is no format to import from", hint=f"formats: {', '.join(IMPORT_FORMATS)}"
        )
    source = said.source or (said.file if form == markdown.SYSTEM else "") or form
    taken = _Taking(
        memory, stream, _FORMATS[form], said=said._replace(source=source), progress=progress
    )
    streamed = memory.take_in(
        taken, each=taken.placed, refuse=taken.refuse, own=_FORMATS[form].own, dry_run=dry_run
    )
    return taken.report(form, dry_run=dry_run, commit=streamed.commit, told=streamed.warnings)


class _Taking:
    """One import under way: iterating it builds the records, and it hears what became of each.

    A race with a foreign program makes the ledger ask for everything again, from the start.
    """

    def __init__(
        self,
        memory: Memory,
        stream: BinaryIO,
        form: _Format,
        *,
        said: Said,
        progress: Progress | None,
    ) -> None:
        self._memory = memory
        self._stream = stream
        self._format = form
        self._said = said
        self._progress = progress
        self._begin()

    def _begin(self) -> None:
        file, source, kind = self._said
        self._intake = Intake(self._memory, file=file, source=source, kind=kind)
        self._refusals: list[Refusal] = []
        self._codes: Counter[str] = Counter()
        self._items = self._written = self._present = self._relinked = 0
        self._item: Item | None = None
        self._built: Built | None = None

    def __iter__(self) -> Iterator[Incoming]:
        from hikmah.memory.admitting import Incoming

        self._begin()
        for item in self._format.read(self._stream, self._intake):
            self._step(item)
            try:
                built = item.build()
            except HikmahError as e:
                self.refuse(e)
                continue
            if built is None:
                self._present += 1
                continue
            self._built = built
            yield Incoming(built.record, built.data, built.id)
            if self._built is not None:  # neither placed nor refused: it changes nothing
                self._present += 1

    def _step(self, item: Item) -> None:
        self._item, self._items = item, self._items + 1
        if self._progress is not None and self._items % _STEP == 0:
            self._progress(self._items)

    def placed(self, placed: Written) -> None:
        """Hear where the record asked for last stands now."""
        assert self._item is not None and self._built is not None  # noqa: S101, PT018 - just yielded
        if self._item.name:
            self._intake.ids[self._item.name] = placed.id
        self._relinked += self._built.relinked
        self._built = None
        if placed.deduplicated:
            self._present += 1
        else:
            self._written += 1

    def refuse(self, error: HikmahError) -> None:
        """Hear why the item asked for last is not taken in."""
        assert self._item is not None  # noqa: S101 - only items are refused
        item, built, self._built = self._item, self._built, None
        if built is not None and self._format.own and self._memory.holds(built.id):
            # What the ledger holds already need not pass the rules of writing once more.
            self._intake.ids[item.name] = built.id
            self._present += 1
            return
        if item.name:
            self._intake.refused[item.name] = item.line
        told = refusal(item.line, error)
        self._codes[told.code] += 1
        if len(self._refusals) < MAX_LISTED:
            self._refusals.append(told)

    def report(
        self, form: str, *, dry_run: bool, commit: str | None, told: tuple[str, ...]
    ) -> ImportReport:
        """Return what the import came to."""
        return ImportReport(
            format=form,
            dry_run=dry_run,
            commit=commit,
            items=self._items,
            written=self._written,
            present=self._present,
            refused=self._codes.total(),
            codes=dict(sorted(self._codes.items())),
            relinked=self._relinked,
            refusals=tuple(self._refusals),
            truncated=self._codes.total() > len(self._refusals),
            torn_line=self._intake.torn_line,
            warnings=(*told, *self._intake.warnings),
        )


def exit_code(report: ImportReport) -> int:
    """Return the code a command ends with: 0, or what the weightiest refusal would give.

    Policy (5) weighs more than a value that is wrong (3), of whatever sort.
    """
    if not report.refused:
        return 0
    by_policy = not _POLICY.isdisjoint(report.codes)
    return RefusedError.exit_code if by_policy else InvalidInputError.exit_code
