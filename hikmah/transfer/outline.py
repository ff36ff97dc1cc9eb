"""List items of a Markdown text, with the headings and items they stand below.

Not a Markdown parser: it knows what tells list items from all else. Rules:

1. Front matter, comments, and code outside items hold no items; neither does a line indented
   by four or more that no item stands above.
2. An item is inside the one above it when it is indented by two more than that one is.
3. A line belongs to an item until a heading, a rule, or, after an empty line, one that is not
   indented as far as the item's text.
4. Wrapped lines are one line; an empty line parts paragraphs; code keeps its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*)|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_ITEM = re.compile(r"[ \t]*([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|$)")
_BOX = re.compile(r"\[([ xX])\](?:[ \t]+|$)")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_RULE = re.compile(r"[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_NESTED = 2  # how much further an item inside another is indented
_CODE = 4  # a line so far indented is code, unless an item stands above it
_TAB = 4


class Note(NamedTuple):
    """One list item: its line from 1, its text, what it stands below, its check box.

    `box` is what stands in the box: a blank, an `x`, or nothing when there is no box. `parent`
    tells that items stand below it.
    """

    line: int
    text: str
    headings: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    box: str = ""
    parent: bool = False


class _Paragraph:
    """Lines that belong together: wrapped text, or code with its line breaks."""

    def __init__(self, lines: list[str], *, code: bool = False) -> None:
        self.lines = lines
        self.code = code

    @property
    def text(self) -> str:
        return ("\n" if self.code else " ").join(self.lines).strip()


class _Open:
    """An item that is being read."""

    def __init__(self, line: int, indent: int, text: str, headings: tuple[str, ...]) -> None:
        self.line = line
        self.indent = indent
        self.headings = headings
        self.above: tuple[str, ...] = ()
        self.parent = False
        box = _BOX.match(text)
        self.box = box.group(1) if box else ""
        self.paragraphs = [_Paragraph([text[box.end() :] if box else text])]

    @property
    def text(self) -> str:
        texts = (paragraph.text for paragraph in self.paragraphs)
        return "\n\n".join(text for text in texts if text)

    def note(self) -> Note:
        return Note(self.line, self.text, self.headings, self.above, self.box, self.parent)


class Outline(NamedTuple):
    """What a text holds: its list items in order, and how many lines stand in none of them.

    Headings, rules, comments and front matter do not count as such lines.
    """

    notes: list[Note]
    outside: int


def outline(text: str) -> Outline:
    """Return what a Markdown text holds, empty list items left out."""
    reader = _Reader()
    for number, line in _without_comments(_without_front_matter(text.split("\n"))):
        reader.take(number, line)
    found = [one.note() for one in reader.items]
    return Outline([note for note in found if note.text], reader.outside)


def notes(text: str) -> list[Note]:
    """Return the list items of a Markdown text alone."""
    return outline(text).notes


def _without_front_matter(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield numbered lines, without what stands between two rules at the very start."""
    numbered = list(enumerate((line.removesuffix("\r") for line in lines), start=1))
    if numbered[0][1].rstrip() == "---":
        for number, line in numbered[1:]:
            if line.rstrip() in ("---", "..."):
                numbered = numbered[number:]
                break
    yield from numbered


def _without_comments(numbered: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield lines without comments, and without lines that were nothing else."""
    inside = fenced = False
    for number, line in numbered:
        if not inside and _FENCE.match(line):
            fenced = not fenced
        if fenced:
            yield number, line
            continue
        kept, inside = _cut_comments(line, inside=inside)
        if kept.strip() or not line.strip():
            yield number, kept


def _cut_comments(line: str, *, inside: bool) -> tuple[str, bool]:
    """Return what of a line is no comment, and whether one goes on behind it."""
    kept: list[str] = []
    quoted = False  # in code that may show how a comment is written
    at = 0
    while True:
        if inside:
            end = line.find("-->", at)
            if end < 0:
                return "".join(kept), True
            at = end + len("-->")
        start = line.find("<!--", at)
        before = line[at:] if start < 0 else line[at:start]
        quoted ^= before.count("`") % 2 == 1
        if start < 0:
            return "".join([*kept, before]), False
        inside = not quoted
        kept.append(before.rstrip() if inside else before + "<!--")
        at = start + len("<!--")


class _Reader:
    """Reads line by line; `items` are those begun so far, `outside` counts lines in none."""

    def __init__(self) -> None:
        self.items: list[_Open] = []
        self.outside = 0
        self._open: list[_Open] = []
        self._headings: list[tuple[int, str]] = []
        self._fence = ""
        self._blank = True
        self._paragraph = ""

    def take(self, number: int, line: str) -> None:
        if self._fence:
            self._code(line)
            return
        if not line.strip():
            self._blank, self._paragraph = True, ""
            return
        if not (self._heading(line) or self._begin_code(line) or self._item(number, line)):
            self._text(line)
        self._blank = False

    def _code(self, line: str) -> None:
        if self._open:
            top = self._open[-1]
            top.paragraphs[-1].lines.append(_dedented(line, top.indent + _NESTED))
        else:
            self.outside += bool(line.strip())
        closing = line.strip()
        if closing.startswith(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""

    def _begin_code(self, line: str) -> bool:
        found = _FENCE.match(line)
        if found is None:
            return False
        self._close(_width(line), lazily=False)
        self._fence, self._paragraph = found.group(1), ""
        if self._open:
            top = self._open[-1]
            opening = _dedented(line, top.indent + _NESTED)
            top.paragraphs.append(_Paragraph([opening], code=True))
        else:
            self.outside += 1
        return True

    def _heading(self, line: str) -> bool:
        """Take a heading or a rule; both end every list."""
        found = _HEADING.fullmatch(line)
        if found is None and self._paragraph and _UNDERLINE.fullmatch(line):
            level, title = (1 if "=" in line else 2), self._paragraph
            self.outside -= 1  # the line above was a heading's
        elif found is not None:
            level, title = len(found.group(1)), _title(found.group(2) or "")
        elif _RULE.fullmatch(line):
            self._open, self._paragraph = [], ""
            return True
        else:
            return False
        self._open, self._paragraph = [], ""
        self._headings = [one for one in self._headings if one[0] < level]
        self._headings.append((level, title))
        return True

    def _item(self, number: int, line: str) -> bool:
        found = _ITEM.fullmatch(line)
        indent = _width(line)
        if found is None or (not self._open and indent >= _CODE):
            return False
        marker = found.group(1)
        if self._paragraph and marker[:-1] not in ("", "1"):
            return False  # a sentence that begins with a number
        self._close(indent, lazily=False)
        headings = tuple(title for _, title in self._headings if title)
        item = _Open(number, indent, (found.group(2) or "").strip(), headings)
        if self._open:
            above = self._open[-1]
            above.parent = True
            item.above = (*above.above, above.text)
        self._open.append(item)
        self.items.append(item)
        return True

    def _text(self, line: str) -> None:
        self._close(_width(line), lazily=not self._blank)
        if not self._open:
            self._paragraph = line.strip()
            self.outside += 1
            return
        paragraphs = self._open[-1].paragraphs
        if self._blank or paragraphs[-1].code:
            paragraphs.append(_Paragraph([line.strip()]))
        else:
            paragraphs[-1].lines.append(line.strip())

    def _close(self, indent: int, *, lazily: bool) -> None:
        """End the items that a line so far indented is not part of."""
        while not lazily and self._open and indent < self._open[-1].indent + _NESTED:
            self._open.pop()


def _title(text: str) -> str:
    """Return a heading's words, without the marks that may close it."""
    words = text.strip()
    plain = words.rstrip("#")
    return plain.rstrip() if not plain or plain[-1:] in " \t" else words


def _width(line: str) -> int:
    """Return how far a line is indented."""
    expanded = line.expandtabs(_TAB)
    return len(expanded) - len(expanded.lstrip(" "))


def _dedented(line: str, columns: int) -> str:
    expanded = line.expandtabs(_TAB) if line[:1].isspace() else line
    return expanded[min(columns, _width(line)) :].rstrip()
