"""Documents: the terms that a trace is found by, and the mark of its text.

A document has its terms by the rules of `hikmah.index.terms`, whichever texts were seen
before: what is remembered between texts only saves doing the same again.

Example:
    >>> document_of("the lock timed out, the lock", "english").counts
    Counter({'lock': 2, 'time': 1})
"""

from __future__ import annotations

import functools
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from hikmah.index import stopwords
from hikmah.index.terms import (
    CACHED_CHUNKS,
    chunks,
    chunks_in,
    expander,
    field_texts,
    is_word,
    plain,
    term_of,
)
from hikmah.model.trace import Trace

_WORD_CHARS = 32  # no word of a language is longer, but for compounds that seldom come twice
_DIGIT = re.compile("[0-9]")
_MANY = " "  # no word holds a blank
_SHORT_CHARS = 256


class Document(Struct, frozen=True):
    """The terms of a trace with their counts, its length in words, and its content's words.

    Duplicates are told by the content's words: a tag or a claim does not make another text.
    """

    counts: dict[str, int]
    length: int
    content: tuple[str, ...]


def document(trace: Trace, language: str = "english") -> Document:
    """Return the terms of everything in a trace that can be searched.

    Fields beside the content add the terms that the content lacks: a claim or a tag that
    repeats the text does not make the text longer.
    """
    return document_of(
        trace.content, language, [text for texts in field_texts(trace).values() for text in texts]
    )


def document_of(content: str, language: str, others: Iterable[str] = ()) -> Document:
    """Return the terms of a content and of the texts that stand beside it."""
    counts, copies, stops = _collect(content, language)
    said = tuple(counts) or tuple(dict.fromkeys(stops))
    if beside := "\n".join(others):
        collect = _collect_again if len(beside) <= _SHORT_CHARS else _collect
        more, more_copies, more_stops = collect(beside, language)
        known = counts.keys() | set(copies)
        counts |= {word: count for word, count in more.items() if word not in known}
        copies = [*copies, *(copy for copy in more_copies if copy not in known)]
        stops = [*stops, *more_stops]
    if not counts:
        counts = Counter(stops)
    length = counts.total()
    for copy in copies:
        counts[copy] += 1
    return Document(counts, length, said)


def fingerprint(counts: Iterable[str]) -> bytes:
    """Return a text's set of terms as sorted 32-bit numbers, little-endian.

    A number is odd when its term tells texts apart that otherwise look alike: a term with a
    digit in it, or a negation.
    """
    numbers = sorted(set(map(_number_of, counts)))
    return struct.pack(f"<{len(numbers)}I", *numbers)


class _Numbers(dict[str, int]):
    """The number of each term; filled as terms are met, and afresh when it is full."""

    def __missing__(self, term: str) -> int:
        telling = term in stopwords.NEGATIONS
        if not term.isalpha():
            telling |= any(map(str.isdigit, term))
        number = zlib.crc32(term.encode()) & ~1 | telling
        if len(self) >= CACHED_CHUNKS:
            self.clear()
        self[term] = number
        return number


_number_of = _Numbers().__getitem__


def _collect(text: str, language: str) -> tuple[Counter[str], Sequence[str], Sequence[str]]:
    """Count a text's words and list its copies (wholes, words without accents).

    Its stopwords are listed only where it has no word.
    """
    # No chunk reaches over a blank, and most of what stands between two blanks is one word.
    pieces = plain(text).split()
    counts = Counter(map(_pieces(language).__getitem__, pieces))
    copies: list[str] = []
    stops: list[str] = []
    if _MANY in counts:
        counts = Counter(_expand(pieces, copies, language))
    counts.pop("", None)
    if not counts:
        for chunk in chunks(text):
            stops += expander(language)(chunk).stops
    return counts, copies, stops


# Tags and types come again and again, in the same company; nobody changes what is returned.
_collect_again = functools.lru_cache(maxsize=1 << 12)(_collect)


class _Pieces(dict[str, str]):
    """What pieces of text stand for: one word, (empty) stopwords alone, or `_MANY` terms.

    Filled as pieces are met, and afresh when it is full.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._expand = expander(language)

    def __missing__(self, piece: str) -> str:
        if is_word(piece):
            word = term_of(piece.lower(), self._language)
        else:
            words, copies = self.terms(piece)
            word = _MANY if copies or len(words) > 1 else "".join(words)
        # Numbers, hashes and encoded data seldom come again.
        if len(piece) <= _WORD_CHARS and not _DIGIT.search(piece):
            if len(self) >= CACHED_CHUNKS:
                self.clear()
            self[piece] = word
        return word

    def terms(self, piece: str) -> tuple[list[str], list[str]]:
        """Return all the words of a piece, and their copies."""
        parts = [self._expand(chunk) for chunk in chunks_in(piece)]
        copies = [whole for part in parts for whole in part.wholes]
        copies += [bare for part in parts for _, bare in part.folded]
        return [word for part in parts for word in part.words], copies


_pieces = functools.cache(_Pieces)


def _expand(pieces: list[str], copies: list[str], language: str) -> list[str]:
    """Return the words of pieces, some of which stand for many; add their copies."""
    known = _pieces(language)
    words: list[str] = []
    for piece in pieces:
        word = known[piece]
        if word != _MANY:
            words.append(word)
            continue
        more, beside = known.terms(piece)
        words += more
        copies += beside
    return words
