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
from collections.abc import Iterable

from msgspec import Struct

from hikmah.index import stopwords
from hikmah.index.terms import CACHED_CHUNKS, chunks, chunks_in, expander, field_texts, plain
from hikmah.model.trace import Trace

_WORD_CHARS = 32  # no word of a language is longer, but for compounds that seldom come twice
_DIGIT = re.compile("[0-9]")


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
    words, copies, stops = _collect(content, language)
    counts = Counter(words)
    said = tuple(counts) or tuple(dict.fromkeys(stops))
    if beside := "\n".join(others):
        more_words, more_copies, more_stops = _collect(beside, language)
        known = counts.keys() | set(copies)
        counts.update([word for word in more_words if word not in known])
        copies += [copy for copy in more_copies if copy not in known]
        stops += more_stops
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
        telling = term in stopwords.NEGATIONS or any(c.isdigit() for c in term)
        number = zlib.crc32(term.encode()) & ~1 | telling
        if len(self) >= CACHED_CHUNKS:
            self.clear()
        self[term] = number
        return number


_number_of = _Numbers().__getitem__


def _collect(text: str, language: str) -> tuple[list[str], list[str], list[str]]:
    """List a text's words and its copies (wholes, words without accents).

    Its stopwords are listed only where it has no word.
    """
    # No chunk reaches over a blank, and most of what stands between two blanks is one word.
    pieces = plain(text).split()
    known = _pieces(language)
    found = list(map(known.get, pieces))
    copies: list[str] = []
    stops: list[str] = []
    if None in found:
        words = _expand(pieces, found, copies, language)
    else:
        words = [word for word in found if word]
    if not words:
        for chunk in chunks(text):
            stops += expander(language)(chunk).stops
    return words, copies, stops


class _Pieces(dict[str, str]):
    """What pieces of text stand for that are one word, or (empty) stopwords alone."""

    def learn(self, piece: str, word: str) -> None:
        """Remember a piece that may well come again: numbers, hashes, encoded data do not."""
        if len(piece) > _WORD_CHARS or _DIGIT.search(piece):
            return
        if len(self) >= CACHED_CHUNKS:
            self.clear()
        self[piece] = word


@functools.cache
def _pieces(_language: str) -> _Pieces:
    return _Pieces()


def _expand(
    pieces: list[str], found: list[str | None], copies: list[str], language: str
) -> list[str]:
    """Return the words of pieces, not all of which are known; add what else they stand for."""
    known, expand = _pieces(language), expander(language)
    words: list[str] = []
    for piece, word in zip(pieces, found, strict=True):
        if word is not None:
            words.append(word)
            continue
        parts = [expand(chunk) for chunk in chunks_in(piece)]
        said = [word for part in parts for word in part.words]
        beside = [whole for part in parts for whole in part.wholes]
        beside += [bare for part in parts for _, bare in part.folded]
        words += said
        copies += beside
        if len(said) <= 1 and not beside:
            known.learn(piece, said[0] if said else "")
    return [word for word in words if word]
