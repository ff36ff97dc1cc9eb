"""What a reader must know of an index file before it reads one.

Standard library only: the gate looks at one table for a moment and must not import what
commands need. So the form of a file, the dictionary that its records are deflated against and
the way to open one without writing are here, and the rest of the room builds on them.
"""

from __future__ import annotations

import os
import sqlite3
import zlib

# Raise it with any change to a table, to an encoding, or to what is derived from a record:
# an index of another format is emptied and filled again.
#   1  first form
#   2  entities and their classes, facts, relationships, events; what facts claim; claims that
#      several traces repeat
FORMAT = 2
WINDOW_BITS = -12  # raw deflate; 4 KiB reach past the fields' names
CHECKSUM_BYTES = 4
# Two typical traces, as `blobs` writes them. Part of the format: another dictionary cannot
# read what this one wrote.
COMMON = b"""\
{
  "claim": {
    "key": "",
    "value": ""
  },
  "confidence": 0.5,
  "content": "",
  "created_at_ms": 1700000000000,
  "deadline_ms": null,
  "derived_from": [],
  "entity": null,
  "event": null,
  "fact": null,
  "idempotency_key": null,
  "imported": null,
  "kind": "observation",
  "outcome": null,
  "prediction": null,
  "privacy": "private",
  "provenance": {
    "authority": 0.5,
    "locator": null,
    "observed_at_ms": null,
    "source": "agent:",
    "verified": false
  },
  "relationship": null,
  "salience": 0.5,
  "supersedes": null,
  "tags": [
    ""
  ],
  "type": "remember",
  "valid_from_ms": null,
  "valid_until_ms": null
}
{
  "claim": null,
  "confidence": 0.5,
  "content": "",
  "created_at_ms": 1700000000000,
  "deadline_ms": null,
  "derived_from": [],
  "entity": null,
  "event": null,
  "fact": null,
  "idempotency_key": null,
  "imported": null,
  "kind": "observation",
  "outcome": null,
  "prediction": null,
  "privacy": "private",
  "provenance": {
    "authority": 0.5,
    "locator": null,
    "observed_at_ms": null,
    "source": "unknown",
    "verified": false
  },
  "relationship": null,
  "salience": 0.5,
  "supersedes": null,
  "tags": [],
  "type": "remember",
  "valid_from_ms": null,
  "valid_until_ms": null
}
"""
COMMON_DIGEST = f"{zlib.crc32(COMMON):08x}"


def inflate(packed: bytes, record_id: bytes) -> bytes:
    """Return the bytes of a record, checked against the checksum kept before them.

    Raises:
        ValueError: What comes out is not what was packed for that id.
    """
    try:
        data = zlib.decompressobj(WINDOW_BITS, COMMON).decompress(packed[CHECKSUM_BYTES:])
    except zlib.error as e:
        raise ValueError(f"a record cannot be inflated: {e}") from e
    if checksum(data, record_id) != packed[:CHECKSUM_BYTES]:
        raise ValueError(f"the bytes kept for {record_id.hex()} are not that record's")
    return data


def checksum(data: bytes, record_id: bytes) -> bytes:
    """Return what finds damage; it is no protection against forgery."""
    return zlib.crc32(data, zlib.crc32(record_id)).to_bytes(CHECKSUM_BYTES, "little")


def open_to_read(path: str, *, timeout_s: float) -> sqlite3.Connection:
    """Open an index file and write nothing, not even beside it.

    Raises:
        sqlite3.Error: There is none, or it cannot be opened.
    """
    opened = sqlite3.connect(read_only_uri(path), uri=True, timeout=timeout_s, isolation_level=None)
    opened.execute("PRAGMA cell_size_check = ON")  # finds more damage as pages are read
    return opened


def read_only_uri(path: str) -> str:
    """Return the address under which SQLite opens a file and writes nothing, not even beside it.

    With a `-wal` beside it `mode=ro` reads both; without one nothing may be made: `immutable`.
    The form of the address is SQLite's own (https://sqlite.org/uri.html, section 3.1).
    """
    mode = "mode=ro" if os.path.exists(f"{path}-wal") else "immutable=1"
    place = os.path.realpath(path).replace(os.sep, "/")
    for special in "%?#":
        place = place.replace(special, f"%{ord(special):02x}")
    return f"file://{place if place.startswith('/') else '/' + place}?{mode}"
