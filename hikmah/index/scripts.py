"""Writing systems: which have no spaces, which stemmer fits, what a mark is.

Ranges are those of the Unicode blocks; a test walks them against `unicodedata`.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
import unicodedata

# Scripts written without spaces between words, and Hangul, whose particles are glued on.
# Thai, Lao, Tibetan, Myanmar, Hangul Jamo, Khmer, Kana and Han with their extensions.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0f00-\u0fbc\u1000-\u109f\u1100-\u11ff"
    "\u1780-\u17dd\u2e80-\u2fdf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u303b\u3041-\u3096\u3099-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97c\uaa60-\uaa7f\uac00-\ud7fb\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)

# First code point of a block, and the Snowball language for words that begin in it; an empty
# name means that words of the block are left as they are.
_BLOCKS = (
    (0x0000, "latin"),
    (0x0370, "greek"),
    (0x0400, "russian"),
    (0x0530, "armenian"),
    (0x0590, ""),
    (0x0600, "arabic"),
    (0x0700, ""),
    (0x0750, "arabic"),
    (0x0780, ""),
    (0x0900, "hindi"),
    (0x0980, ""),
    (0x0B80, "tamil"),
    (0x0C00, ""),
    (0x1E00, "latin"),
    (0x1F00, "greek"),
    (0x2000, ""),
    (0x2C60, "latin"),
    (0x2C80, ""),
    (0xA720, "latin"),
    (0xA800, ""),
)
_STARTS = [start for start, _ in _BLOCKS]
# Letters that carry their stroke or ligature inside: no decomposition takes it off.
_STROKES = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "æ": "ae",
        "œ": "oe",
        "\u0131": "i",
        "þ": "th",
        "ħ": "h",
    }
)
# Marks are vowels in the Indic scripts and voicing in Kana; only here are they accents.
_ACCENTED = ((0x00C0, 0x06FF), (0x1E00, 0x1FFF))


def stem_language(word: str, latin: str) -> str:
    """Return the Snowball language for a word, by its first letter; empty for none."""
    block = _BLOCKS[bisect.bisect_right(_STARTS, ord(word[0])) - 1][1]
    return latin if block == "latin" else block


def runs(chunk: str) -> list[tuple[bool, str]]:
    """Split text into runs of one sort: (True, run) for scripts without spaces."""
    pieces = _unspaced_runs().split(chunk)
    return [(i % 2 == 1, piece) for i, piece in enumerate(pieces) if piece]


@functools.cache
def _unspaced_runs() -> re.Pattern[str]:
    """Compile the pattern when the first such text comes: it takes two milliseconds."""
    return re.compile(f"([{UNSPACED}]+)")


def grams(run: str) -> list[str]:
    """Return the characters of a run, each with its marks, and its pairs of neighbours.

    A Thai vowel or tone mark says nothing without its consonant.
    """
    characters: list[str] = []
    for char in run:
        if characters and unicodedata.category(char)[0] == "M":
            characters[-1] += char
        else:
            characters.append(char)
    return [*characters, *map("".join, itertools.pairwise(characters))]


def without_accents(word: str) -> str:
    """Return a word without its diacritics; the same word where marks are not accents."""
    if word.isascii() or not any(a <= ord(c) <= z for c in word for a, z in _ACCENTED):
        return word
    plain = unicodedata.normalize("NFD", word).translate(_STROKES)
    return "".join(c for c in plain if not unicodedata.combining(c))
