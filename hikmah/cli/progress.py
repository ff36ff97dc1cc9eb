"""A progress bar on standard error, for whoever watches; gone when done."""

from __future__ import annotations

from hikmah.cli.streams import write_err

BAR = 24
LINE = 60
CLEAR = "\r\x1b[K"


class Progress:
    """Draws how far something is, once for each percent.

    Args:
        label: What is being done.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._percent = -1
        self._drawn = False

    def __call__(self, done: int, total: int = 0) -> None:
        """Take the state: so many of so many; a total of 0 is not known."""
        if not total:
            self._draw(f"{self.label} {done:,}")
            return
        percent = min(100, 100 * done // total)
        if percent == self._percent:
            return
        self._percent = percent
        filled = BAR * percent // 100
        bar = "#" * filled + "." * (BAR - filled)
        self._draw(f"{self.label} [{bar}] {percent:3d} %")

    def tell(self, line: str) -> None:
        """Show how something gets on in another program's words."""
        from hikmah.cli.text import one_line  # what came from elsewhere acts on no terminal

        self._draw(f"{CLEAR}{self.label}: {one_line(line, LINE)}")

    def _draw(self, text: str) -> None:
        self._drawn = True
        write_err(f"\r{text}")

    def clear(self) -> None:
        """Take the bar away, if there is one."""
        if self._drawn:
            write_err(CLEAR)
        self._drawn = False
