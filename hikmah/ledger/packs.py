"""Git pack files read through mmap: 100,000 objects a second in bounded memory.

Rules the module keeps:

1. Nothing in a file is trusted: an offset, a size or a delta that does not fit raises
   `DamagedError`; nothing here ever reads past an end or loops on hostile bytes.
2. An object's id is not checked here; `hikmah.ledger.bulk` hashes what it hands out.
3. Only index version 2 is read (git has written no other since 2007); for the rest
   `open_pack` says None and the caller takes the slower general way.

Formats: gitformat-pack(5). Object ids are raw bytes here, 20 (SHA-1) or 32 (SHA-256).
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hikmah.errors import IntegrityError
from hikmah.ledger.objects import KINDS

OFS_DELTA = 6
REF_DELTA = 7
# An offset in an index with this bit set is a place in the table of 8-byte offsets.
LARGE_OFFSET = 0x80000000
# Objects found in a pack before a table of its ids is worth making.
_TABLES_AFTER = 300
INDEX_MAGIC = b"\377tOc\0\0\0\2"
_FANOUT_END = 8 + 1024
_CACHE_BYTES = 8 << 20
# Longest head of an entry: ten bytes of size, then an id.
_HEAD_BYTES = 48
_AT_ONCE_BYTES = 1 << 16
# For each copy instruction: by how much to shift the bytes that follow it.
_COPY_SHIFTS = tuple(tuple(8 * bit for bit in range(7) if op >> bit & 1) for op in range(0x100))
# No object of a ledger comes near this; a delta of a few bytes may claim any size: refuse to
# be blown up.
MAX_OBJECT_BYTES = 1 << 24


class DamagedError(IntegrityError):
    """A pack, an index or an object in one is not what its format says."""


class Entry(NamedTuple):
    """An entry as a pack holds it: deflated body, and the base when it is a delta."""

    oid: bytes
    number: int
    size_bytes: int
    base: bytes | None
    body: memoryview


class PackFile:
    """One pack and its index. Close it before the files may be deleted (Windows)."""

    def __init__(self, index_path: Path, id_bytes: int) -> None:
        """Map both files; `open_pack` is the way in that does not raise."""
        self.path = index_path.with_suffix(".pack")
        self._id_bytes = id_bytes
        self._index = _map(index_path)
        self._pack = _map(self.path)
        self._end = len(self._pack) - id_bytes
        self._view = memoryview(self._pack)[: self._end]
        self._check_header()
        # Ids that begin with byte b stand at places from `_fanout[b]` up to `_fanout[b + 1]`.
        self._fanout = (0, *struct.unpack(">256I", self._index[8:_FANOUT_END]))
        self.count = self._fanout[256]
        self._crcs = _FANOUT_END + self.count * id_bytes
        self._offsets = self._crcs + 4 * self.count
        self._large = self._offsets + 4 * self.count
        self._check_index()
        # The first 8 bytes of every id, and every offset, once many were found here: 16 bytes
        # of memory an object. A host project's large pack is asked much and holds nothing of
        # ours; for it the tables would cost seconds.
        self._prefixes: array[int] | None = None
        self._places: array[int] | None = None
        self._found = 0
        self._bases: dict[int, tuple[bytes, bytes]] = {}
        self._bases_bytes = 0

    def close(self) -> None:
        """Release both files."""
        self._view.release()
        # An error under way may still hold a slice; the file then closes with the last of it.
        with contextlib.suppress(BufferError):
            self._pack.close()
        self._index.close()

    def _check_header(self) -> None:
        if self._index[:8] != INDEX_MAGIC or len(self._index) < _FANOUT_END:
            raise DamagedError("not a pack index of version 2", where=str(self.path))
        if self._pack[:4] != b"PACK" or self._pack[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
            raise DamagedError("not a pack", where=str(self.path))

    def _check_index(self) -> None:
        counted = int.from_bytes(self._pack[8:12], "big") == self.count
        ordered = all(a <= b for a, b in itertools.pairwise(self._fanout))
        if not (counted and ordered and self._large + 2 * self._id_bytes <= len(self._index)):
            raise DamagedError("the pack's index does not fit the pack", where=str(self.path))

    def _index_prefixes(self) -> Iterator[int]:
        ids = memoryview(self._index)[_FANOUT_END : self._crcs]
        try:
            for (prefix,) in struct.iter_unpack(f">Q{self._id_bytes - 8}x", ids):
                yield prefix
        finally:
            ids.release()

    def _index_offsets(self) -> Iterator[int]:
        table = memoryview(self._index)[self._offsets : self._large]
        try:
            for (offset,) in struct.iter_unpack(">I", table):
                yield self._large_offset(offset) if offset & LARGE_OFFSET else offset
        finally:
            table.release()

    def _large_offset(self, offset: int) -> int:
        start = self._large + 8 * (offset & ~LARGE_OFFSET)
        return int.from_bytes(self._index[start : start + 8], "big")

    def ids(self) -> Iterator[bytes]:
        """Yield every object id, in order."""
        for at in range(_FANOUT_END, self._crcs, self._id_bytes):
            yield self._index[at : at + self._id_bytes]

    def offsets(self) -> dict[int, bytes]:
        """Return every object id by its offset, in the order of the file."""
        found = dict(zip(self._index_offsets(), self.ids(), strict=True))
        return dict(sorted(found.items()))

    def entries(self) -> Iterator[Entry]:
        """Yield every entry in the order of the file, for copying as it stands.

        Raises:
            DamagedError: An entry does not begin as one.
        """
        ids = self.offsets()
        for offset, end in zip(ids, [*list(ids)[1:], self._end], strict=True):
            number, size, at, base_offset = self._entry(offset)
            base = None if base_offset is None else ids.get(base_offset)
            if base is None and base_offset is not None:
                raise self._damaged(offset, "the base of its delta is no object")
            yield Entry(ids[offset], number, size, base, self._view[at:end])

    def find(self, oid: bytes) -> int | None:
        """Return the offset of an object, or None when it is not in this pack."""
        first = oid[0]
        low, high = self._fanout[first], self._fanout[first + 1]
        prefixes, places = self._prefixes, self._places
        if prefixes is None or places is None:
            return self._search(oid, low, high)
        prefix = int.from_bytes(oid[:8], "big")
        at = bisect_left(prefixes, prefix, low, high)
        while at < high and prefixes[at] == prefix:
            if self._id(at) == oid:
                return places[at]
            at += 1
        return None

    def get(self, oid: bytes) -> tuple[bytes, bytes] | None:
        """Return an object for a caller that hashes it; None when it is not in this pack.

        Quicker than `find` and `read_at`: with a table, only the id's beginning is compared.

        Raises:
            DamagedError: As for `read_at`.
        """
        prefixes, places = self._prefixes, self._places
        if prefixes is None or places is None:
            offset = self.find(oid)
            return None if offset is None else self.read_at(offset)
        first = oid[0]
        high = self._fanout[first + 1]
        prefix = int.from_bytes(oid[:8], "big")
        at = bisect_left(prefixes, prefix, self._fanout[first], high)
        if at == high or prefixes[at] != prefix:
            return None
        return self.read_at(places[at])

    def _id(self, at: int) -> bytes:
        start = _FANOUT_END + at * self._id_bytes
        return self._index[start : start + self._id_bytes]

    def _search(self, oid: bytes, low: int, high: int) -> int | None:
        """Find an object without tables, and make them when many have been found."""
        at = bisect_left(range(high), oid, low, high, key=self._id)
        if at == high or self._id(at) != oid:
            return None
        self._found += 1
        if self._found == _TABLES_AFTER:
            self._prefixes = array("Q", self._index_prefixes())
            self._places = array("Q", self._index_offsets())
        start = self._offsets + 4 * at
        offset = int.from_bytes(self._index[start : start + 4], "big")
        return self._large_offset(offset) if offset & LARGE_OFFSET else offset

    def read_at(self, offset: int) -> tuple[bytes, bytes]:
        """Return kind and content of the object at an offset.

        Raises:
            DamagedError: The bytes there are no object, or its deltas do not apply.
        """
        number, size, at, base = self._entry(offset)
        if base is None:
            return KINDS[number], self._inflate(at, size)
        known = self._bases.get(base)
        if known is None:
            known = self._resolve(base)
        delta = self._inflate(at, size)
        return known[0], apply_delta(known[1], delta)

    def _resolve(self, offset: int) -> tuple[bytes, bytes]:
        """Return an object that deltas are built on, and remember it and its own bases."""
        # Places, not contents: a long chain of large deltas must not fill the memory.
        deltas: dict[int, tuple[int, int]] = {}
        known = self._bases.get(offset)
        while known is None:
            number, size, at, base = self._entry(offset)
            if base is None:
                known = KINDS[number], self._inflate(at, size)
                break
            deltas[offset] = at, size
            if base in deltas:
                raise self._damaged(offset, "its deltas go round in a circle")
            offset = base
            known = self._bases.get(offset)
        self._remember(offset, known)
        for place, (at, size) in reversed(deltas.items()):
            known = known[0], apply_delta(known[1], self._inflate(at, size))
            self._remember(place, known)
        return known

    def _remember(self, offset: int, base: tuple[bytes, bytes]) -> None:
        """Keep an object that deltas are built on; when there are too many, start afresh."""
        self._bases_bytes += len(base[1])
        if self._bases_bytes > _CACHE_BYTES:
            self._bases.clear()
            self._bases_bytes = len(base[1])
        self._bases[offset] = base

    def _entry(self, offset: int) -> tuple[int, int, int, int | None]:
        """Return an entry's type number, inflated size, body's place, and base's offset."""
        if not 12 <= offset < self._end:
            raise self._damaged(offset, "it lies outside the pack")
        head = self._pack[offset : min(offset + _HEAD_BYTES, self._end)]
        base: int | None = None
        try:
            byte = head[0]
            number, size, shift, at = (byte >> 4) & 7, byte & 15, 4, 1
            while byte & 0x80:
                byte = head[at]
                size |= (byte & 0x7F) << shift
                shift += 7
                at += 1
            if number == OFS_DELTA:
                byte = head[at]
                at += 1
                distance = byte & 0x7F
                while byte & 0x80:
                    byte = head[at]
                    at += 1
                    distance = ((distance + 1) << 7) | (byte & 0x7F)
                base = offset - distance
                if not 0 <= base < offset:
                    raise self._damaged(offset, "the base of its delta lies outside the pack")
            elif number not in KINDS:
                base, at = self._named_base(number, offset, head, at)
        except IndexError as e:
            raise self._damaged(offset, "its header does not end") from e
        if size > MAX_OBJECT_BYTES:
            raise self._damaged(offset, f"it claims {size} bytes")
        return number, size, offset + at, base

    def _named_base(self, number: int, offset: int, head: bytes, at: int) -> tuple[int, int]:
        """Return the offset of a delta's base by its id, and where the delta's body begins."""
        if number != REF_DELTA:
            raise self._damaged(offset, f"it is of the unknown kind {number}")
        end = at + self._id_bytes
        base = self.find(head[at:end]) if end <= len(head) else None
        if base is None:
            raise self._damaged(offset, "the base of its delta is not in the pack")
        return base, end

    def _inflate(self, at: int, size: int) -> bytes:
        """Inflate `size` bytes from a place in the pack; more or fewer are damage."""
        # compressBound() of zlib: what `size` bytes can take at most when deflated by it.
        bound = at + size + (size >> 12) + (size >> 14) + (size >> 25) + 64
        body = self._view[at:bound]
        if size > _AT_ONCE_BYTES:
            return self._inflate_carefully(body, bound, at, size)
        try:
            # Deflate makes at most 1,032 bytes of one: even a lie stays below 70 MB here.
            data = zlib.decompress(body, bufsize=size + 1)
        except zlib.error:
            return self._inflate_carefully(body, bound, at, size)
        if len(data) != size:
            raise self._damaged(at, "it is cut short or too long")
        return data

    def _inflate_carefully(self, body: memoryview, bound: int, at: int, size: int) -> bytes:
        stream = zlib.decompressobj()
        try:
            data = stream.decompress(body, size + 1)
            if not stream.eof:
                data = self._inflate_on(stream, data, bound, size)
        except zlib.error as e:
            raise self._damaged(at, str(e)) from e
        if len(data) != size or not stream.eof:
            raise self._damaged(at, "it is cut short or too long")
        return data

    def _inflate_on(self, stream: zlib._Decompress, data: bytes, at: int, size: int) -> bytes:
        """Go on past the usual bound: other writers may deflate less well than zlib."""
        while not stream.eof and len(data) <= size:
            more = stream.unconsumed_tail or bytes(self._view[at : min(at + 4096, self._end)])
            if not more:
                break
            if not stream.unconsumed_tail:
                at += len(more)
            data += stream.decompress(more, size + 1 - len(data))
        return data

    def _damaged(self, offset: int, why: str) -> DamagedError:
        return DamagedError(
            f"the object at {offset} of {self.path.name} is damaged: {why}", where=str(self.path)
        )


def open_pack(index_path: Path, id_bytes: int) -> PackFile | None:
    """Open a pack by its index; None when the files are gone or are not to be made sense of."""
    try:
        return PackFile(index_path, id_bytes)
    except (OSError, ValueError, struct.error, DamagedError):
        return None


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """Return what a delta makes of its base.

    Raises:
        DamagedError: The delta does not fit the base, or not itself.
    """
    try:
        # Sizes of two bytes, written out: nearly every delta of a ledger has two such.
        one, two, three, four = delta[:4] if len(delta) > 4 else b"\0\0\0\0"
        if one > 0x7F >= two and three > 0x7F >= four:
            base_size, size, at = one & 0x7F | two << 7, three & 0x7F | four << 7, 4
        else:
            base_size, at = _varint(delta, 0)
            size, at = _varint(delta, at)
        if base_size != len(base):
            raise DamagedError("a delta was made for a base of another size")
        if size > MAX_OBJECT_BYTES:
            raise DamagedError(f"a delta claims to make {size} bytes")
        made = _copy_and_insert(base, delta, at, size)
    except IndexError as e:
        raise DamagedError("a delta is cut short") from e
    if len(made) != size:
        raise DamagedError("a delta makes an object of another size than it says")
    return made


def _copy_and_insert(base: bytes, delta: bytes, at: int, size: int) -> bytes:
    parts: list[bytes] = []
    made, end = 0, len(delta)
    while at < end:
        op = delta[at]
        at += 1
        if op < 0x80:
            part = delta[at : at + op]
            at += op
            length = op
        else:
            # The seven low bits say which bytes follow: four of the start, three of the length.
            if op == 0xB0:  # the beginning, two bytes of length: every older tree
                start, length = 0, delta[at] | delta[at + 1] << 8 or 0x10000
                at += 2
            else:
                value = 0
                for shift in _COPY_SHIFTS[op]:
                    value |= delta[at] << shift
                    at += 1
                start, length = value & 0xFFFFFFFF, value >> 32 or 0x10000
            part = base[start : start + length]
        made += length
        if not length or len(part) != length or made > size:
            raise DamagedError("a delta copies from outside its base")
        parts.append(part)
    return b"".join(parts)


def _varint(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
