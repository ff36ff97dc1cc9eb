"""What text is drawn on: lines, tables, blocks, colour only where it is seen.

A screen collects lines; the run writes them at once. It is given its width, its colours and
its clock, so that drawing is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hikmah.cli.text import (
    clip,
    iso,
    one_line,
    pad,
    relative,
    short_ids,
    visible_lines,
    width,
    wrap,
)

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
GAP = "  "
NARROWEST = 16


class Screen:
    """Lines of text being drawn.

    Args:
        columns: How wide a line may be.
        color: Whether styles become escape sequences.
        now_ms: The clock that relative times are told by.
        verbose: Ids stand in full, and commands may say more.
    """

    def __init__(self, *, columns: int, color: bool, now_ms: int, verbose: bool = False) -> None:
        self.columns = columns
        self.color = color
        self.now_ms = now_ms
        self.verbose = verbose
        self._lines: list[str] = []
        self._short: dict[str, str] = {}

    def line(self, text: str = "") -> None:
        """Add one line as it is."""
        self._lines.append(text.rstrip())

    def style(self, text: str, *styles: str) -> str:
        """Return text in the named styles, or plain where colour is not wanted."""
        if not self.color or not styles or not text:
            return text
        return f"\x1b[{';'.join(STYLES[s] for s in styles)}m{text}\x1b[0m"

    def know(self, ids: Iterable[str]) -> None:
        """Take the ids that this screen will show, so that their short forms differ."""
        self._short = short_ids(ids)

    def id(self, identity: str) -> str:
        """Return the short form of an id, or all of it on a verbose screen."""
        if self.verbose:
            return identity
        return self._short.get(identity, identity[:8])

    def ids(self, identities: Iterable[str]) -> str:
        """Return short ids in one line."""
        return " ".join(self.id(identity) for identity in identities)

    def time(self, time_ms: int) -> str:
        """Return a time, and how far it is from now."""
        return f"{iso(time_ms)} ({relative(time_ms, self.now_ms)})"

    def heading(self, text: str) -> None:
        """Add a title line, with an empty line before it unless it is the first."""
        if self._lines:
            self.line()
        self.line(self.style(text, "bold"))

    def block(self, text: str, *, indent: int = 2) -> None:
        """Add a stored text, wrapped and indented, so that it cannot pass for output."""
        margin = " " * indent
        room = max(NARROWEST, self.columns - indent)
        for line in visible_lines(text):
            for part in wrap(line, room):
                self.line(margin + part)

    def wrapped(self, text: str, *styles: str, indent: int = 3) -> None:
        """Add one line of the command's own, broken where the terminal ends."""
        for part in wrap(text, max(NARROWEST, self.columns - indent)):
            self.line(" " * indent + self.style(part, *styles))

    def fields(self, rows: Sequence[tuple[str, str]], *, indent: int = 0) -> None:
        """Add `label  value` lines with the values aligned; empty values are left out.

        A value of one word, a path for example, stays in one piece, so that it can be copied.
        """
        kept = [(label, value) for label, value in rows if value]
        column = max((width(label) for label, _ in kept), default=0)
        room = max(NARROWEST, self.columns - indent - column - len(GAP))
        for label, value in kept:
            head, *rest = wrap(value, room) if " " in value else [value]
            self.line(" " * indent + self.style(pad(label, column), "dim") + GAP + head)
            for part in rest:
                self.line(" " * (indent + column) + GAP + part)

    def table(
        self, titles: Sequence[str], rows: Sequence[Sequence[str]], *, right: str = ""
    ) -> None:
        """Add an aligned table; the last column takes the room that is left.

        Args:
            titles: The heads of the columns.
            rows: Their cells as stored text; each is made harmless and cut to one line.
            right: Titles, separated by blanks, of columns that align to the right.
        """
        cells = [[one_line(cell) for cell in row] for row in rows]
        columns = [
            max(width(titles[place]), *(width(row[place]) for row in cells))
            if cells
            else width(titles[place])
            for place in range(len(titles))
        ]
        left = self.columns - sum(columns[:-1]) - len(GAP) * (len(columns) - 1)
        columns[-1] = min(columns[-1], max(NARROWEST, left))
        sides = [title in right.split() for title in titles]
        self.line(self.style(_joined(titles, columns, sides), "dim"))
        for row in cells:
            self.line(_joined(row, columns, sides))

    def text(self) -> str:
        """Return everything drawn, ending in a line end."""
        return "".join(f"{line}\n" for line in self._lines)


def _joined(cells: Sequence[str], columns: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        pad(clip(cell, room), room, right=side)
        for cell, room, side in zip(cells, columns, right, strict=True)
    ]
    return GAP.join(parts).rstrip()
