r"""Text for people: stored text made harmless, widths, times, short ids. Pure.

Text from memory is data. Whatever a terminal would act on (control characters, escape
sequences, marks that reorder a line) is written out as `\x1b`, never sent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime

# C0 and C1 controls, line and paragraph separators, marks that embed, override or isolate
# direction, invisible operators and tags, the byte order mark, halves of surrogate pairs.
_ACTIVE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_WHITE = re.compile(r"[ \t\r\n\v\f]+")
SHORT = 8
_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))


def visible(text: str) -> str:
    """Return text with every active character written out, line ends and tabs too."""
    return _ACTIVE.sub(lambda found: _escape(found[0]), text)


def visible_lines(text: str) -> list[str]:
    """Return the lines of a text, each made harmless; tabs become four spaces."""
    whole = text.replace("\r\n", "\n").replace("\t", "    ")
    return [visible(line) for line in whole.split("\n")]


def one_line(text: str, limit: int = 200) -> str:
    """Return text on one harmless line, at most `limit` columns wide."""
    return clip(visible(_WHITE.sub(" ", text[: limit * 8]).strip()), limit)


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """Return how many terminal columns a text takes: wide characters two, marks none."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def clip(text: str, limit: int) -> str:
    """Return the text if it fits into `limit` columns, else its start and three dots."""
    if width(text) <= limit:
        return text
    room, kept = limit - 3, ""
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept += character
    return kept + "..."


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Return the text filled with spaces to a number of columns."""
    fill = " " * max(0, columns - width(text))
    return fill + text if right else text + fill


def wrap(text: str, limit: int) -> list[str]:
    """Break one line at spaces into lines of at most `limit` columns; long words are cut."""
    lines: list[str] = []
    current, used = "", 0
    for word in _pieces(text, limit):
        columns = width(word)
        if current and used + columns > limit:
            lines.append(current.rstrip())
            current, used = "", 0
            word = word.lstrip()  # noqa: PLW2901  # the break stands for the space
            columns = width(word)
        current, used = current + word, used + columns
    return [*lines, current.rstrip()]


def _pieces(text: str, limit: int) -> Iterable[str]:
    """Yield words with the spaces before them, cut so that each fits one line."""
    for word in re.findall(r"\s*\S+|\s+$", text):
        rest = word
        while width(rest) > limit:
            head = clip(rest, limit + 3)[:-3] if width(rest) > limit + 3 else rest[: limit // 2]
            yield head
            rest = rest[len(head) :]
        yield rest


def iso(time_ms: int) -> str:
    """Return a time as UTC ISO 8601, to the second."""
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def relative(time_ms: int, now_ms: int) -> str:
    """Return the distance between two times, rounded: `3 hours ago`, `in 2 days`, `now`."""
    distance = abs(now_ms - time_ms)
    for unit_ms, name in _UNITS:
        if distance >= unit_ms:
            count = (distance + unit_ms // 2) // unit_ms
            words = f"{count} {name}{'s' if count > 1 else ''}"
            return f"in {words}" if time_ms > now_ms else f"{words} ago"
    return "now"


def size(count: int) -> str:
    """Return a number of bytes in the largest binary unit that keeps it above one."""
    amount, units = float(count), ["B", "KiB", "MiB", "GiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "B" else f"{amount:.1f} {units[0]}"


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Map full ids to their first 8 digits, or to more where two of them share those."""
    whole = sorted(set(ids))
    shown: dict[str, str] = {}
    for place, identity in enumerate(whole):
        near = whole[max(0, place - 1) : place] + whole[place + 1 : place + 2]
        shared = max((_common(identity, other) for other in near), default=0)
        shown[identity] = identity[: max(SHORT, shared + 1)]
    return shown


def _common(one: str, other: str) -> int:
    """Return how many characters two texts share from the start."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def json_escapes(text: str) -> str:
    """Return JSON text with active characters as JSON escapes; the value stays the same."""
    return _ACTIVE.sub(lambda found: _json_escape(found[0]), text)


def _json_escape(character: str) -> str:
    code = ord(character)
    if code == 0x0A:  # between values; inside a string it is escaped already
        return character
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
