"""Terms: how text becomes what is searched, in traces and queries alike.

Rules the module keeps:

1. Text is compared in NFKC, casefolded, split at anything but letters, marks and digits of
   any script; decimal digits of every script are one digit.
2. A word is stemmed by the Snowball algorithm of its script; a run of a script without
   spaces becomes its characters and its pairs of characters.
3. An identifier or path counts as its parts, and once more whole; a word with accents counts
   as itself, and once more without them. Neither copy adds to a text's length.
4. English stopwords are dropped while something else is left.
5. No text is an error: what holds no letter and no digit has no terms.

`VERSION` changes with anything that changes a term: an index of another version is rebuilt.

Example:
    >>> sorted(term.term for term in query_terms("Renamed getUserName in src/app.py"))
    ['app', 'get', 'getusernam', 'name', 'py', 'renam', 'src', 'src/app.py', 'user']
"""

from __future__ import annotations

import functools
import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct, structs

from hikmah.index import stems, stopwords
from hikmah.model.trace import Trace

VERSION = 5
# A word longer than this is cut: what follows is noise (base64, hashes of hashes).
MAX_TERM_CHARS = 64
CACHED_CHUNKS = 1 << 16

_ASCII_CHUNK = re.compile(
    r"[A-Za-z0-9]+(?:(?:[-.'@&]|_+|[:/\\]{1,3})[A-Za-z0-9]+)*(?:\+\+|#)?", re.ASCII
)
_PART = r"[-.'@&_:/\\]+"
# `getUserName` -> get User Name; `HTTPServer` -> HTTP Server; `mRNA`, `iPhone`, `IDEs` stay.
_CAMEL = r"(?<=[a-z0-9]{2})(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})"
# `utf8` -> utf 8; more than two changes are a hash or an id, whose parts say nothing.
_DIGITS = r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
_MAX_HALVES = 3
_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_HYPHENS = "\u2010\u2011\u2012\u2212"
_APOSTROPHES = "\u2018\u2019\u02bc\uff07"
# Format characters that stand inside words (soft hyphen, joiners, direction marks).
_INVISIBLE = "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff"
_JOINING_ASCII = frozenset("-.'@&_:/\\+#")


class Chunk(Struct, frozen=True):
    """What one run of text without a blank stands for."""

    words: tuple[str, ...] = ()
    wholes: tuple[str, ...] = ()
    folded: tuple[tuple[str, str], ...] = ()
    stops: tuple[str, ...] = ()


class QueryTerm(Struct, frozen=True):
    """One term of a query: how much it weighs, and whether it only adds to its parts.

    An `extra` term (an identifier in one piece, a word with or without its accents) that
    stands nowhere in the ledger is left out, as if it had not been asked for.
    """

    term: str
    weight: float
    extra: bool


def query_terms(text: str, language: str = "english") -> list[QueryTerm]:
    """Return the terms of a query, each once, its weight the number of times it stands there.

    Returns:
        Terms in the order of the query; an empty list when it holds no letter and no digit.
    """
    weights: dict[tuple[str, bool], float] = {}
    stops: list[str] = []
    expand = expander(language)
    for chunk in chunks(text):
        found = expand(chunk)
        stops += found.stops
        for term, weight, extra in _weigh(found):
            weights[term, extra] = weights.get((term, extra), 0.0) + weight
    if not weights:
        for word in stops:
            weights[word, False] = weights.get((word, False), 0.0) + 1.0
    return [QueryTerm(term, weight, extra) for (term, extra), weight in weights.items()]


def _weigh(found: Chunk) -> Iterator[tuple[str, float, bool]]:
    """Yield a chunk's terms for a query: a word and its copy without accents share one vote."""
    folded = dict(found.folded)
    for word in found.words:
        if word in folded:
            yield word, 0.5, False
            yield folded[word], 0.5, True
        else:
            yield word, 1.0, False
    for whole in found.wholes:
        yield whole, 1.0, True


def read_fingerprint(data: bytes) -> frozenset[int]:
    """Return the set of numbers that `fingerprint` packed."""
    return frozenset(_little_endian(array("I", data)))


def _little_endian(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def chunks(text: str) -> list[str]:
    """Split text into runs without blanks, joined identifiers kept together."""
    return chunks_in(plain(text))


def plain(text: str) -> str:
    """Return text in normal form: beyond ASCII, words, joiners and blanks are all it holds."""
    if text.isascii():
        return text
    import unicodedata  # text in ASCII does without

    return unicodedata.normalize("NFKC", text).translate(_CHARACTERS)


def chunks_in(text: str) -> list[str]:
    """Split text in normal form, or any piece of it between blanks."""
    return (_ASCII_CHUNK if text.isascii() else _any_chunk()).findall(text)


@functools.cache
def _any_chunk() -> re.Pattern[str]:
    """Compile the pattern for text beyond ASCII, whose separators are already blanks."""
    return re.compile(_ASCII_CHUNK.pattern.replace("[A-Za-z0-9]", r"[^ \-.'@&_:/\\+#]"))


@functools.cache
def expander(language: str) -> functools._lru_cache_wrapper[Chunk]:
    """Return the cached function that turns one chunk into its terms."""

    def expand(chunk: str) -> Chunk:
        if chunk.isascii():
            return _expand_words(chunk, language)
        from hikmah.index import scripts  # text in ASCII does without

        found = [
            Chunk(words=tuple(scripts.grams(run.casefold())))
            if unspaced
            else _expand_words(run.strip("-.'@&_:/\\+#"), language)
            for unspaced, run in scripts.runs(chunk)
        ]
        return Chunk(
            words=tuple(x for one in found for x in one.words),
            wholes=tuple(x for one in found for x in one.wholes),
            folded=tuple(x for one in found for x in one.folded),
            stops=tuple(x for one in found for x in one.stops),
        )

    return functools.lru_cache(maxsize=CACHED_CHUNKS)(expand)


def _expand_words(chunk: str, language: str) -> Chunk:
    """Return the terms of a chunk in a script with spaces."""
    if is_word(chunk):
        return _expand_simple([chunk], language)
    name, suffix = _split_suffix(chunk)
    english = language == "english"
    if english and _has_clitic(name):
        return _expand_simple([name], language)
    parts = [part for piece in re.split(_PART, name) for part in _pieces(piece)]
    if not parts:
        return Chunk()
    found = _expand_simple(parts, language)
    if len(parts) == 1 and not suffix:
        return found
    whole = _whole(name + suffix, language)
    if not found.words:
        return Chunk(words=(whole,), stops=found.stops)
    return structs.replace(found, wholes=(whole,))


def _pieces(name: str) -> Iterator[str]:
    """Yield the parts of a name without joiners: `getUserName`, `utf8`, `10ms`; not a hash."""
    for part in filter(None, re.split(_CAMEL, name)):
        halves = re.split(_DIGITS, part)
        if len(halves) <= _MAX_HALVES:
            yield from halves
        else:
            yield part


def is_word(chunk: str) -> bool:
    """Tell whether a chunk is one plain word in ASCII, with at most its first letter large."""
    return chunk.isalpha() and chunk.isascii() and (len(chunk) == 1 or chunk[1:].islower())


def _has_clitic(name: str) -> bool:
    """Tell whether a chunk is one English word with an ending such as `'s` or `'ll`."""
    word, apostrophe, ending = name.partition("'")
    return bool(apostrophe) and word.isalnum() and ending.casefold() in _CLITICS


def _split_suffix(chunk: str) -> tuple[str, str]:
    """Split `C++` or `F#` in two; after a longer word the signs are punctuation."""
    name = chunk.rstrip("+#")
    return name, chunk[len(name) :] if len(name) <= 2 else ""


def _expand_simple(parts: list[str], language: str) -> Chunk:
    words: list[str] = []
    folded: list[tuple[str, str]] = []
    stops: list[str] = []
    for part in parts:
        word = part.casefold()
        if not any(map(str.isalnum, word)):  # a mark that stands alone
            continue
        term = term_of(word, language)
        if not term:
            stops.append(word)
            continue
        plain = term if word.isascii() else _stem(_without_accents(word), language)
        words.append(term)
        if plain and plain != term:
            folded.append((term, plain))
    return Chunk(words=tuple(words), folded=tuple(folded), stops=tuple(stops))


def term_of(word: str, language: str) -> str:
    """Return the term of one casefolded word; empty for a stopword."""
    if language == "english":
        if word in stopwords.STOPWORDS:
            return ""
        if word in stopwords.CONTRACTED_NEGATIONS:
            return "not"
    return _stem(word, language)


def _whole(name: str, language: str) -> str:
    """Return an identifier in one piece: stemmed when it is letters only (`mRNAs`)."""
    word = name.casefold()
    return _stem(word, language) if word.isalpha() else word[:MAX_TERM_CHARS]


@functools.lru_cache(maxsize=CACHED_CHUNKS)
def _stem(word: str, latin: str) -> str:
    short = word[:MAX_TERM_CHARS]
    if not short or short.isdigit():
        return short
    if not short[0].isascii():
        from hikmah.index import scripts

        latin = scripts.stem_language(short, latin)
    return stems.stemmer(latin)(short) or short


def _without_accents(word: str) -> str:
    from hikmah.index import scripts

    return scripts.without_accents(word)


def field_texts(trace: Trace) -> dict[str, list[str]]:
    """Return the searchable texts of a trace beside its content, by the field they stand in."""
    fields: dict[str, list[str]] = {}
    if trace.claim is not None:
        fields["claim"] = [trace.claim.key, trace.claim.value]
    if trace.tags:
        fields["tags"] = list(trace.tags)
    if trace.entity is not None:
        fields["entity"] = [trace.entity.name]
    if trace.fact is not None:
        fields["fact"] = [trace.fact.predicate, trace.fact.object]
    if trace.relationship is not None:
        fields["relationship"] = [trace.relationship.relation_type]
    if trace.event is not None:
        fields["event"] = [trace.event.event_type, *_strings(trace.event.payload)]
    return fields


def terms_in(texts: Iterable[str], wanted: frozenset[str], language: str) -> set[str]:
    """Return which of some terms stand in texts, without stemming what cannot be one of them.

    An English stem is its word but for the end, so that most words need no stemming; other
    languages take prefixes off.
    """
    beginnings = tuple({_beginning(term) for term in wanted})
    sure = language != "english"
    expand = expander(language)
    found: set[str] = set()
    for chunk in (c for text in texts for c in chunks(text)):
        if sure or _may_hold(chunk, beginnings):
            one = expand(chunk)
            found.update(one.words, one.wholes, one.stops, (plain for _, plain in one.folded))
    return found & wanted


def _beginning(term: str) -> str:
    """Return what every English word of this stem begins with: all but its last two letters.

    Snowball's English algorithm cuts a word's end off and puts at most two other letters
    there (`ying` to `ie`, `bility` to `ble`).
    """
    return term[:-2] or term[0]


def _may_hold(chunk: str, beginnings: tuple[str, ...]) -> bool:
    text = chunk.lower()
    if text.startswith(beginnings):
        return True
    if (text == chunk and chunk.isalpha() and chunk.isascii()) or is_word(chunk):
        return text in stopwords.CONTRACTED_NEGATIONS
    return not chunk.isascii() or any(beginning in text for beginning in beginnings)


def _strings(value: object) -> Iterator[str]:
    """Yield every string in a decoded JSON value, keys too, without recursion."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            pending += item


class _Characters(dict[int, str | None]):
    """What becomes of each character beyond ASCII; filled as characters are met."""

    def __missing__(self, code: int) -> str | None:
        self[code] = result = _character(chr(code))
        return result


def _character(char: str) -> str | None:
    """Return a character as terms know it: itself, its digit, a joiner, a blank, or None."""
    if char in _INVISIBLE:
        return None
    if char in _HYPHENS:
        return "-"
    if char in _APOSTROPHES:
        return "'"
    import unicodedata

    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    keep = category[0] in "LMN" or char in _JOINING_ASCII
    return char if keep else " "


_CHARACTERS = _Characters()


def normal_tag(tag: str) -> str:
    """Return a tag as it is matched: NFKC, trimmed, casefolded."""
    return _normal("NFKC", tag).strip().casefold()


@functools.lru_cache(maxsize=4_096)  # claims of one key are held against each other in pairs
def normal_key(text: str) -> str:
    """Return a claim's key as it is compared: NFC, white space collapsed, casefolded."""
    return normal_value(text).casefold()


@functools.lru_cache(maxsize=4_096)
def normal_value(text: str) -> str:
    """Return a claim's value as it is compared: NFC, white space collapsed, case kept."""
    return " ".join(_normal("NFC", text).split())


def _normal(form: Literal["NFC", "NFKC"], text: str) -> str:
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize(form, text)
