"""A message made ready for the rules: normalized, code blanked, clauses found.

Standard library only, Python 3.9 and newer, linear time: no pattern here can backtrack over
more than the stretch it has just read, and clauses are looked for in a bounded window.

Both forms of a `Text` have one character at each place, so that what the rules find in
`clean` (lower case, code as backticks) is quoted from `source` (as it was written, composed,
without invisible characters).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

LOOK_BACK = 200  # characters looked at before a word for a negation or a clause's start
LOOK_AHEAD = 400  # and after it for the clause's end
QUOTE_CHARS = 160  # the longest sentence quoted

_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u02b9\uff07"
_INVISIBLE = (
    "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u180e"
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_BLANKS = (
    "\t\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
# Composing sorts runs of marks in quadratic time: text goes through in short pieces.
_PIECE = 256
# A full stop directly before a letter or digit is inside a name or a number: `proxy.ts`.
_STOPS = "!?;\n"
_OTHER_STOPS = "。！？；।؟"  # noqa: RUF001  # ends of other scripts
_OPENING = "“„«‹「『《〈‚"  # noqa: RUF001  # opening quotes of many scripts
_BEFORE_QUOTE = " \n([{<-—–:,=/>*_"  # noqa: RUF001  # dashes are meant
_TODO_NAME = r"Todos?[A-Z]|[a-z]Todos?\b|\btodos?_[a-z]|[a-z]_todos?\b|/todos?\b|\btodo app\b"
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_END = re.compile(rf"[{_STOPS}{_OTHER_STOPS}]|\.(?![a-z0-9])")
_FENCE = r"(?m)^[ >]*(`{3,}|~{3,})"
_LONGEST_TICKS = 8
_TICKS = r"`+"


@cache
def pattern(source: str) -> re.Pattern[str]:
    """Compile on first use: most messages reach few patterns, and compiling is dear."""
    return re.compile(source, re.ASCII)


class Text:
    """A message in two forms of equal length: `source` to quote from, `clean` to judge."""

    __slots__ = ("_stops", "_todos_are_things", "clean", "source")

    def __init__(self, message: str) -> None:
        self.source = _visible(message)
        low = self.source.replace("\u0130", "i").lower()  # the one letter that grows
        for letter in _APOSTROPHES:
            low = low.replace(letter, "'")
        for blank in _BLANKS:
            low = low.replace(blank, " ")
        self._todos_are_things: bool | None = None
        self._stops = _STOPS if low.isascii() else _STOPS + _OTHER_STOPS
        self.clean = _without_code(low) if "`" in low or "~~~" in low else low

    def clause(self, start: int, end: int) -> tuple[int, int]:
        """Return where the clause around a term begins and ends, within the window."""
        low = self._clause_start(start)
        high = min(len(self.clean), end + LOOK_AHEAD)
        found = _END.search(self.clean, end, high)
        return low, found.start() if found else high

    def _clause_start(self, start: int) -> int:
        """Return where the clause before a place begins, looking back a bounded way.

        By searching for each end on its own: it is done for every word that may matter.
        """
        clean = self.clean
        low = max(0, start - LOOK_BACK)
        best = max(clean.rfind(stop, low, start) for stop in self._stops)
        at = clean.rfind(".", low, start)
        while at > best:
            if clean[at + 1] not in _NAME:
                best = at
            at = clean.rfind(".", low, at)
        return best + 1 if best >= 0 else low

    def is_asked(self, end: int) -> bool:
        """Tell whether the clause that goes on after `end` is a question."""
        found = _END.search(self.clean, end, end + LOOK_AHEAD)
        return found is not None and found[0] in "?？؟"  # noqa: RUF001  # other scripts

    def is_mentioned(self, start: int) -> bool:
        """Tell whether a term follows an opening quote directly."""
        clean = self.clean
        at = start - 1
        while at >= 0 and start - at < 4 and clean[at] in "*_":
            at -= 1
        if at < 0:
            return False
        if clean[at] == " " and at and clean[at - 1] == "«":
            return True
        if clean[at] in _OPENING:
            return True
        return clean[at] in "\"'" and (at == 0 or clean[at - 1] in _BEFORE_QUOTE)

    def is_inside_quotes(self, start: int, end: int) -> bool:
        """Tell whether a term stands anywhere in a short quotation of its clause."""
        low, high = self.clause(start, end)
        before, after = self.clean[low:start], self.clean[end:high]
        straight = before.count('"') % 2 == 1 and '"' in after
        return straight or (before.rfind("“") > before.rfind("”") and "”" in after)

    def is_about_todos(self, start: int, end: int) -> bool:
        """Tell whether a term in small letters names what a program of to-dos works on.

        Such a program has names with the word in them: `TodoStore`, `todo_items`, `/todos`.
        """
        if not self.source[start:end].islower():
            return False
        if self._todos_are_things is None:
            named = pattern(_TODO_NAME).search(self.source)
            self._todos_are_things = named is not None
        return self._todos_are_things

    def passage(self, start: int, end: int) -> tuple[str, str, int]:
        """Return the clause around a term and the term as written, and where in it that is."""
        low, high = self.clause(start, end)
        return self.source[low:high], self.source[start:end], start - low


def one_line(passage: str, start: int, end: int) -> str:
    """Return a passage on one line of at most `QUOTE_CHARS`, cut around the term if longer."""
    if len(passage) > QUOTE_CHARS:
        first = max(0, min(start - 60, len(passage) - QUOTE_CHARS))
        last = max(end, first + QUOTE_CHARS)
        rest = "…" if last < len(passage) else ""
        passage = ("…" if first else "") + passage[first:last] + rest
    line = "".join(char if char.isprintable() else " " for char in " ".join(passage.split()))
    return line if len(line) <= QUOTE_CHARS else line[: QUOTE_CHARS - 1] + "…"


def _visible(message: str) -> str:
    """Return the text composed (NFC), without characters of no width."""
    if message.isascii():
        return message
    for char in _INVISIBLE:
        message = message.replace(char, "")
    return "".join(_composed(message))


def _composed(text: str) -> Iterator[str]:
    """Yield the text in composed pieces, cut at blanks where there are any."""
    from unicodedata import normalize

    at = 0
    while at < len(text):
        end = at + _PIECE
        if end < len(text):
            end = max(text.rfind(" ", at + 1, end), text.rfind("\n", at + 1, end), at) or end
            end = end if end > at else at + _PIECE
        piece = text[at:end]
        yield piece if piece.isascii() else normalize("NFC", piece)
        at = end


def _without_code(low: str) -> str:
    """Return the text with fenced and inline code as backticks, place by place."""
    parts: list[str] = []
    at = 0
    while at < len(low):
        fence = pattern(_FENCE).search(low, at)
        prose_end = fence.start() if fence else len(low)
        parts.append("\n".join(map(_without_spans, low[at:prose_end].split("\n"))))
        at = prose_end if fence is None else _fence_end(low, fence)
        parts.append(_blank(low[prose_end:at]))
    return "".join(parts)


def _fence_end(low: str, fence: re.Match[str]) -> int:
    """Return where a fenced block ends: after its closing line, or at the end of the text."""
    ticks = fence[1]
    at = low.find("\n", fence.end())
    while at >= 0:
        end = low.find("\n", at + 1)
        line = low[at + 1 : end if end >= 0 else len(low)].strip(" >")
        if line.startswith(ticks) and not line.strip(ticks[0]):
            return end if end >= 0 else len(low)
        at = end
    return len(low)


def _blank(code: str) -> str:
    """Return backticks in place of code; line ends stay line ends."""
    return "\n".join("`" * len(line) for line in code.split("\n"))


def _without_spans(line: str) -> str:
    """Return a line with its inline code as backticks, the ticks included.

    A run of ticks opens a span only when a run of the same length closes it on the line.
    A length that found no closing run is not looked for again, so a line is read a bounded
    number of times.
    """
    if "`" not in line:
        return line
    parts: list[str] = []
    unclosed: set[int] = set()
    done = at = 0
    while opening := pattern(_TICKS).search(line, at):
        at, length = opening.end(), opening.end() - opening.start()
        if length > _LONGEST_TICKS or length in unclosed:
            continue
        closing = pattern(rf"(?<!`)`{{{length}}}(?!`)").search(line, at)
        if closing is None:
            unclosed.add(length)
            continue
        parts += [line[done : opening.start()], "`" * (closing.end() - opening.start())]
        done = at = closing.end()
    return "".join(parts) + line[done:]
