"""What a format hands to an import, and what it may ask while it does.

A reader yields `Item`s in the order of the file. Building an item may fail: then that item
is refused and the next one asked for. What fails between items stops the whole import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from hikmah.model.records import Record, blob_id, canonical
from hikmah.model.trace import Imported, Kind, Provenance, Trace
from hikmah.transfer.order import Order

if TYPE_CHECKING:
    from hikmah.memory import Memory
    from hikmah.views.entities import EntityDetail


class Built(NamedTuple):
    """A record ready to be taken in: its bytes, its id, and whether it lost the id it had."""

    record: Record
    data: bytes
    id: str
    relinked: bool = False


class Item(NamedTuple):
    """One thing in the file: where it stands, what it is called there, how to make a record.

    `build` returns None for what says nothing new, such as a link that its own trace told.
    """

    line: int
    name: str
    build: Callable[[], Built | None]


class Intake:
    """What readers know of the ledger that takes their records in.

    Args:
        memory: The memory that takes the records in.
        file: What the file is called, for locators.
        source: Who says what the file says, where the format does not tell.
        kind: Of which kind a note is, where the format does not tell.
    """

    def __init__(self, memory: Memory, *, file: str, source: str, kind: Kind) -> None:
        self._memory = memory
        self._source = source
        self.file = file
        self.kind = kind
        self.algorithm = memory.algorithm
        self.now_ms = memory.now_ms()
        self.ids: dict[str, str] = {}  # an item's name in the file -> its id here
        self.refused: dict[str, int] = {}  # an item's name -> the line that was refused
        self.order = Order()
        self.torn_line: int | None = None
        self.warnings: list[str] = []

    def holds(self, record_id: str) -> bool:
        """Tell whether a record is in the ledger, by its full id."""
        return self._memory.holds(record_id)

    def entity(self, name: str, kind: str | None) -> EntityDetail | None:
        """Return the ledger's active entity of a name, and of a type when one is given."""
        return self._memory.entity_named(name, kind)

    def trace(self, line: int, system: str, name: str, **fields: Any) -> Trace:
        """Return a trace of this moment, with where it stood in the file."""
        locator = f"{self.file}:{line}" if self.file else None
        return Trace(
            created_at_ms=self.now_ms,
            provenance=Provenance(source=self._source, locator=locator),
            imported=Imported(system=system, id=name),
            **fields,
        )

    def built(self, record: Record, *, relinked: bool = False) -> Built:
        """Return a record with the bytes and the id it has in this ledger."""
        data = canonical(record)
        return Built(record, data, blob_id(data, self.algorithm), relinked)
