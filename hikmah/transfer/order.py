"""Lines in an order that no export has, and what they would bring back to life.

A line that says what is active no more may point at what is neither in the ledger nor on an
earlier line. Then it loses its link or is refused, as where that record stayed behind for good.
But when it comes on a later line, a trace would be active that was not; and to leave out
one line more would revive what that one superseded. Such a file is refused whole, unless a
later line says the same once more (`cat one.jsonl two.jsonl`).
"""

from __future__ import annotations

from collections.abc import Mapping

from hikmah.errors import InvalidInputError
from hikmah.model.records import Record
from hikmah.model.trace import Trace
from hikmah.transfer.statuses import targets


class Order:
    """Keeps which lines could not switch a trace off, and what came after them."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}  # a trace that is still on -> the line that said "off"
        self._awaited: dict[str, set[str]] = {}  # what such a line lacked -> those traces
        self._late: dict[str, None] = {}  # of those traces, for which it came after all

    def came(self, record_id: str) -> None:
        """Note a line, before its record is built."""
        self._late |= dict.fromkeys(sorted(self._awaited.get(record_id, ())))

    def note(self, record: Record, names: Mapping[str, str | None], line: int) -> None:
        """Note whether a record switches a trace off.

        Args:
            record: The record, as it stands on the line.
            names: What each id that it points at is called here; None for what is not here.
            line: The line.
        """
        off = record.supersedes if isinstance(record, Trace) else record.id
        if off is None:
            return
        needed = (off,) if isinstance(record, Trace) else targets(record)
        lacking = [one for one in needed if names[one] is None]
        if not lacking:
            self._lines.pop(off, None)
            return
        self._lines.setdefault(off, line)
        for one in lacking:
            self._awaited.setdefault(one, set()).add(off)

    def check(self) -> None:
        """Raise when something is on that the file says is off; to be asked at its end.

        Raises:
            InvalidInputError: The lines are not in the order of an export.
        """
        for off in self._late:
            if off in self._lines:
                raise InvalidInputError(
                    f"line {self._lines[off]} says that {off} is active no more, and stands"
                    " before what it needs for that; nothing was written",
                    hint="lines keep the order of the export: put them back in that order",
                    where="$.id",
                )
