"""Record bytes as the index keeps them: deflated against what all have in common.

A record's canonical form repeats the same field names; with a typical one as the preset
dictionary 850 bytes become about 150, and come back in 3 microseconds.
"""

from __future__ import annotations

import functools
import zlib

from hikmah.index.rows import DamagedIndexError
from hikmah.model.records import Record, Unknown, canonical, read_stored
from hikmah.model.trace import Claim, Provenance, Trace

_WINDOW_BITS = -12  # raw deflate; 4 KiB reach past the fields' names
_LEVEL = 3
_MEMORY = 4
# Part of the index's format: another dictionary cannot read what this one wrote.
_COMMON = canonical(
    Trace(
        content="",
        created_at_ms=1_700_000_000_000,
        tags=("",),
        claim=Claim(key="", value=""),
        provenance=Provenance(source="agent:"),
    )
) + canonical(Trace(content="", created_at_ms=1_700_000_000_000))
CHECKSUM_BYTES = 4
COMMON_DIGEST = f"{zlib.crc32(_COMMON):08x}"


def pack(data: bytes, record_id: bytes) -> bytes:
    """Return a record's bytes deflated, behind a checksum of them and of the record's id."""
    squeezer = _squeezer().copy()  # which has read the dictionary already
    return _checksum(data, record_id) + squeezer.compress(data) + squeezer.flush()


@functools.cache
def _squeezer() -> zlib._Compress:
    return zlib.compressobj(
        _LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _COMMON
    )


def unpack(packed: bytes, record_id: bytes) -> bytes:
    """Return the bytes of a record.

    The checksum finds damage, which is all an index must find: it is never trusted, and
    hashing again would load OpenSSL into every command that only reads.

    Raises:
        DamagedIndexError: What comes out is not what was packed for that id.
    """
    try:
        data = zlib.decompressobj(_WINDOW_BITS, _COMMON).decompress(packed[CHECKSUM_BYTES:])
    except zlib.error as e:
        raise DamagedIndexError(f"a record cannot be inflated: {e}") from e
    if _checksum(data, record_id) != packed[:CHECKSUM_BYTES]:
        raise DamagedIndexError(f"the bytes kept for {record_id.hex()} are not that record's")
    return data


def _checksum(data: bytes, record_id: bytes) -> bytes:
    return zlib.crc32(data, zlib.crc32(record_id)).to_bytes(CHECKSUM_BYTES, "little")


def unpack_record(packed: bytes, record_id: bytes) -> Record | Unknown:
    """Return a record, decoded from bytes checked against its id."""
    return read_stored(unpack(packed, record_id))
