"""Writes a pack and its index, so that they are there whole or not at all.

Rules the module keeps:

1. Objects go to a temporary file as they come; memory holds one index row each.
2. Pack and index are synced before they get their names, the index last: without an index
   a pack is not seen. Then the folder is synced.
3. The same objects in the same order make the same bytes, and the name says them.

Format: gitformat-pack(5), pack version 2, index version 2.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
import zlib
from array import array
from typing import BinaryIO

from hikmah.ledger.deflate import deflate
from hikmah.ledger.objects import KINDS
from hikmah.ledger.packs import INDEX_MAGIC, LARGE_OFFSET, OFS_DELTA, Entry

NUMBERS = {kind: number for number, kind in KINDS.items()}
_HEADER_BYTES = 12
_READ_BYTES = 1 << 20


class PackWriter:
    """Collects objects into one temporary pack file.

    Args:
        file: The open temporary file, at its beginning, for reading and writing.
        algorithm: `sha1` or `sha256`.
        level: zlib's level.
    """

    def __init__(self, file: BinaryIO, algorithm: str, *, level: int = 6) -> None:
        self._file = file
        self._algorithm = algorithm
        self._level = level
        # One row an object: its place among these arrays, by id.
        self._rows: dict[bytes, int] = {}
        self._offsets = array("Q")
        self._crcs = array("L")
        self._at = _HEADER_BYTES
        file.write(b"PACK" + struct.pack(">II", 2, 0))

    def __len__(self) -> int:
        """Return how many objects were added."""
        return len(self._rows)

    def __contains__(self, oid: bytes) -> bool:
        """Tell whether an object was added."""
        return oid in self._rows

    def add(self, oid: bytes, kind: bytes, data: bytes) -> None:
        """Add an object in full; one that is in already is left alone."""
        if oid not in self._rows:
            head = entry_header(NUMBERS[kind], len(data))
            self._put(oid, head + deflate(data, self._level))

    def add_delta(self, oid: bytes, base: bytes, delta: bytes) -> None:
        """Add an object as a delta of one that was added before."""
        if oid not in self._rows:
            head = entry_header(OFS_DELTA, len(delta)) + self._distance(base)
            self._put(oid, head + deflate(delta, self._level))

    def add_entry(self, entry: Entry) -> None:
        """Add an entry as another pack holds it; its base must have been added."""
        if entry.oid in self._rows:
            return
        if entry.base is None:
            head = entry_header(entry.number, entry.size_bytes)
        else:
            head = entry_header(OFS_DELTA, entry.size_bytes) + self._distance(entry.base)
        self._put(entry.oid, head + bytes(entry.body))

    def _distance(self, base: bytes) -> bytes:
        return distance_bytes(self._at - self._offsets[self._rows[base]])

    def _put(self, oid: bytes, entry: bytes) -> None:
        self._rows[oid] = len(self._offsets)
        self._offsets.append(self._at)
        self._crcs.append(zlib.crc32(entry))
        self._file.write(entry)
        self._at += len(entry)

    def finish(self) -> tuple[bytes, bytes]:
        """Complete the pack file.

        Returns:
            The pack's checksum, and the bytes of its index.
        """
        self._file.seek(8)
        self._file.write(struct.pack(">I", len(self._rows)))
        self._file.seek(0)
        digest = hashlib.new(self._algorithm, usedforsecurity=False)
        while chunk := self._file.read(_READ_BYTES):
            digest.update(chunk)
        self._file.write(digest.digest())
        return digest.digest(), self._index(digest.digest())

    def _index(self, checksum: bytes) -> bytes:
        ids = sorted(self._rows)
        order = [self._rows[oid] for oid in ids]
        offsets = [self._offsets[row] for row in order]
        large = [offset for offset in offsets if offset >= LARGE_OFFSET]
        places = {offset: LARGE_OFFSET | at for at, offset in enumerate(large)}
        body = b"".join(
            (
                INDEX_MAGIC,
                _fanout(ids),
                b"".join(ids),
                struct.pack(f">{len(ids)}I", *(self._crcs[row] for row in order)),
                struct.pack(f">{len(ids)}I", *(places.get(at, at) for at in offsets)),
                struct.pack(f">{len(large)}Q", *large),
                checksum,
            )
        )
        return body + hashlib.new(self._algorithm, body, usedforsecurity=False).digest()


def _fanout(ids: list[bytes]) -> bytes:
    """Return, for each first byte, how many ids begin with it or with a smaller one."""
    counts = [0] * 256
    for oid in ids:
        counts[oid[0]] += 1
    return struct.pack(">256I", *itertools.accumulate(counts))


def entry_header(number: int, size: int) -> bytes:
    """Return the bytes that begin a pack's entry: its type and its inflated size."""
    byte = number << 4 | size & 15
    size >>= 4
    out = bytearray()
    while size:
        out.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    out.append(byte)
    return bytes(out)


def distance_bytes(distance: int) -> bytes:
    """Return how an entry says how far back its delta's base is."""
    out = [distance & 0x7F]
    distance >>= 7
    while distance:
        distance -= 1
        out.append(0x80 | distance & 0x7F)
        distance >>= 7
    return bytes(reversed(out))
