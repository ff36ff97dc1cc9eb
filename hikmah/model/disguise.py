"""Text as a reader takes it: letters narrow, blanks plain, nothing invisible.

What is pasted from a web page, a chat or a Japanese keyboard holds no-break spaces, zero
width characters and full-width letters; whoever reads it reads the plain ones. Sources:
Unicode's White_Space property, its default ignorable format characters, and the block
"Halfwidth and Fullwidth Forms", whose letters stand 0xFEE0 above ASCII's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_INVISIBLE = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_BLANK = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_WIDE = range(0xFF01, 0xFF5F)
_ANY = re.compile(f"[{_INVISIBLE}{_BLANK}\uff01-\uff5e]")
_GONE = re.compile(f"[{_INVISIBLE}]")
_BLANKS = (0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
_PLAIN: dict[int, int] = {code: code - 0xFEE0 for code in _WIDE} | dict.fromkeys(_BLANKS, 0x20)


class Plain(NamedTuple):
    """A text without disguise; `places` says where each character stands in the original."""

    text: str
    places: Sequence[int]


def undisguised(text: str) -> Plain | None:
    """Return a text as it is read, or None when that is how it stands."""
    if text.isascii() or not _ANY.search(text):
        return None
    gone = {found.start() for found in _GONE.finditer(text)}
    places = [at for at in range(len(text)) if at not in gone] if gone else range(len(text))
    return Plain(_GONE.sub("", text).translate(_PLAIN), places)
