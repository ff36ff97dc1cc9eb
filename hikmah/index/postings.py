"""Where each term stands: blocks of postings in SQLite, read by memory copy.

Rules the module keeps:

1. A posting is a document, a count and the document's length; a block is the documents
   (4 bytes each), then the counts (1), then the lengths (2), so that reading copies memory.
2. Documents ascend within a block and from block to block. A term's newest postings are its
   tail, in the term's own row: an append rewrites tails only. A tail that outgrows
   `TAIL_POSTINGS` moves into the last block, until that is full; nothing rewrites a full one.
3. A block's place is the term's number and its first document, so that the block which would
   hold a document is one look-up away.
4. Tags are terms too, behind a control character that no term holds.
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hikmah.index.container import Reader
from hikmah.index.rows import DamagedIndexError, Postings

TAIL_POSTINGS = 64
BLOCK_POSTINGS = 1024
POSTING_BYTES = 7
MAX_COUNT = 0xFF
MAX_LENGTH = 0xFFFF
MAX_DOC = 0xFFFF_FFFF
# Where the parts of a waiting number stand, in items of 4, 1 and 2 bytes.
_DOC, _COUNT, _LENGTH = (1, 2, 0) if sys.byteorder == "little" else (0, 5, 3)
TAG_MARK = "\x01"
# Postings gathered before they are written: 8 bytes each, and about 100 a term.
PENDING_POSTINGS = 4_000_000
# Below this share of a term's blocks, single look-ups read less than the whole term.
_SPARSE = 0.25


class Columns(Postings, frozen=True):
    """Postings as arrays that can be written: 4, 1 and 2 bytes a posting."""

    docs: array[int]
    counts: array[int]
    lengths: array[int]

    def part(self, start: int, end: int) -> Columns:
        """Return the postings from one place up to another."""
        return Columns(self.docs[start:end], self.counts[start:end], self.lengths[start:end])

    def extend(self, other: Postings) -> None:
        """Put postings of later documents behind these."""
        self.docs.extend(other.docs)
        self.counts.extend(other.counts)
        self.lengths.extend(other.lengths)


def tag_term(normal_tag: str) -> str:
    """Return the term a normalized tag is kept as."""
    return TAG_MARK + normal_tag


class PostingWriter:
    """Gathers postings and writes them, term by term, inside the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        import struct  # only writers pack

        self._one = struct.Struct("=IBH")  # a block of one posting
        self._connection = connection
        self._reader = Reader(connection)
        # One number a posting while it waits: document, count, length. In arrays, for the
        # collector of garbage would look through lists again and again.
        self._pending: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))
        self._count = 0
        top = connection.execute("SELECT value FROM header WHERE name = 'terms_used'").fetchone()
        self._next_number = int(top[0]) if top else 0
        self._is_first = not self._next_number

    def add(self, doc: int, counts: Mapping[str, int], length: int) -> None:
        """Take in one document's terms; documents must come in ascending order."""
        pending = self._pending
        low = doc << 32 | min(length, MAX_LENGTH)
        once = low | 1 << 16  # most terms stand once; one number for all of them
        for term, count in counts.items():
            pending[term].append(once if count == 1 else low | min(count, MAX_COUNT) << 16)
        self._count += len(counts)
        if self._count >= PENDING_POSTINGS:
            self.flush()

    def flush(self) -> None:
        """Write what waits; terms in order, so that neighbours share pages."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO term VALUES (?, ?, ?, ?)",
            (self._row(term, self._pending[term]) for term in sorted(self._pending)),
        )
        self._pending.clear()
        self._count = 0
        self._is_first = False
        self._connection.execute(
            "INSERT OR REPLACE INTO header VALUES ('terms_used', ?)", (self._next_number,)
        )

    def _row(self, term: str, waiting: array[int]) -> tuple[str, int, int, bytes]:
        """Return a term's row with what waits, after moving what is too long for a tail."""
        row = None if self._is_first else _term(self._reader, term)
        if row is None:
            number, df, tail = self._next_number, 0, b""
            self._next_number += 1
        else:
            number, df, tail = row
        if len(waiting) == 1 and not tail:  # most terms stand in one document only
            (packed,) = waiting
            one = self._one.pack(packed >> 32, packed >> 16 & MAX_COUNT, packed & MAX_LENGTH)
            return term, number, df + 1, one
        if len(waiting) <= TAIL_POSTINGS and not tail:
            return term, number, df + len(waiting), _encode(waiting)
        merged = join([tail, _encode(waiting)])
        if len(merged.docs) > TAIL_POSTINGS:
            merged = self._move_to_blocks(number, merged)
        return term, number, df + len(waiting), encode(merged)

    def _move_to_blocks(self, number: int, merged: Columns) -> Columns:
        """Write a long tail into blocks, topping up the last one; return the new tail, empty."""
        last = self._connection.execute(
            "SELECT place, data FROM block WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1",
            (number << 32, number << 32 | MAX_DOC),
        ).fetchone()
        if last is not None and len(last[1]) < BLOCK_POSTINGS * POSTING_BYTES:
            merged = join([last[1], encode(merged)])
        for start in range(0, len(merged.docs), BLOCK_POSTINGS):
            part = merged.part(start, start + BLOCK_POSTINGS)
            self._connection.execute(
                "INSERT OR REPLACE INTO block VALUES (?, ?)",
                (number << 32 | part.docs[0], encode(part)),
            )
        return join([])


def frequencies(reader: Reader, terms: Iterable[str]) -> dict[str, int]:
    """Return in how many documents each term stands, without those that stand nowhere."""
    found: dict[str, int] = {}
    for term in terms:
        row = reader.one("SELECT df FROM term WHERE term = ?", term)
        if row is not None:
            found[term] = row[0]
    return found


def read_postings(reader: Reader, term: str) -> Postings:
    """Return every posting of a term; empty columns when it stands nowhere."""
    row = _term(reader, term)
    if row is None:
        return join([])
    number, df, tail = row
    blocks = []
    if df * POSTING_BYTES > len(tail):
        blocks = [
            data
            for (data,) in reader.all(
                "SELECT data FROM block WHERE place BETWEEN ? AND ? ORDER BY place",
                number << 32,
                number << 32 | MAX_DOC,
            )
        ]
    postings = join([*blocks, tail])
    if len(postings.docs) != df:
        raise DamagedIndexError(f"a term has {len(postings.docs)} postings of {df}")
    return postings


def postings_in(reader: Reader, term: str, docs: Sequence[int]) -> Postings:
    """Return a term's postings in some documents, ascending."""
    row = _term(reader, term)
    if row is None:
        return join([])
    number, df, tail = row
    if len(docs) > _SPARSE * df / BLOCK_POSTINGS:
        return _pick(read_postings(reader, term), docs)
    newest = join([tail])
    first_in_tail = newest.docs[0] if newest.docs else MAX_DOC
    found = join([])
    for doc in docs:
        near = newest if doc >= first_in_tail else _block_of(reader, number, doc)
        found.extend(_pick(near, [doc]))
    return found


def _term(reader: Reader, term: str) -> tuple[int, int, bytes] | None:
    """Return a term's number, document frequency and tail, or None."""
    query = "SELECT number, df, tail FROM term WHERE term = ?"
    row = reader.one(query, term)
    return None if row is None else (row[0], row[1], row[2])


def _block_of(reader: Reader, number: int, doc: int) -> Columns:
    """Return the only block of a term that may hold a document."""
    row = reader.one(
        "SELECT data FROM block WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1",
        number << 32,
        number << 32 | doc,
    )
    return join([] if row is None else [row[0]])


def _pick(postings: Postings, docs: Sequence[int]) -> Postings:
    """Return the postings of some documents, ascending, without those that are not there."""
    from bisect import bisect_left  # most questions read whole terms

    found = postings.docs
    size = len(found)
    places: list[int] = []
    at = 0
    for doc in docs:
        at = bisect_left(found, doc, at)
        if at < size and found[at] == doc:
            places.append(at)
    return postings.at(places)


def join(blocks: Sequence[bytes]) -> Columns:
    """Decode blocks into one set of columns."""
    docs, counts, lengths = array("I"), array("B"), array("H")
    for data in blocks:
        size, rest = divmod(len(data), POSTING_BYTES)
        if rest:
            raise DamagedIndexError("a block of postings is cut short")
        docs.frombytes(data[: 4 * size])
        counts.frombytes(data[4 * size : 5 * size])
        lengths.frombytes(data[5 * size :])
    return Columns(docs, counts, lengths)


def encode(columns: Columns) -> bytes:
    """Return the block that `join` reads."""
    return columns.docs.tobytes() + columns.counts.tobytes() + columns.lengths.tobytes()


def _encode(waiting: array[int]) -> bytes:
    """Return the block of numbers that wait, each taken apart by slicing."""
    packed = waiting.tobytes()
    docs, lengths = array("I", packed)[_DOC::2], array("H", packed)[_LENGTH::4]
    return docs.tobytes() + packed[_COUNT::8] + lengths.tobytes()
