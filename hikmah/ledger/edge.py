"""The right edge: the newest commit and trees, kept so appends read no pack.

A cache and nothing more: each object is checked by its id when it is loaded, and what is
missing or damaged is read from the repository.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hikmah.ledger.chain import Read
from hikmah.ledger.objects import RawObject, object_id


def load(path: Path, algorithm: str) -> dict[str, tuple[bytes, bytes]]:
    """Return the cached objects by id; an empty mapping when there is no good cache."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    found: dict[str, tuple[bytes, bytes]] = {}
    at = 0
    while (end := data.find(b"\n", at)) > 0:
        kind, _, size = data[at:end].partition(b" ")
        if not size.isdigit():
            break
        at = end + 1 + int(size)
        content = data[end + 1 : at]
        found[object_id(kind, content, algorithm)] = (kind, content)
    return found


def save(path: Path, objects: Iterable[RawObject]) -> None:
    """Keep the commit and trees of the newest append; a cache need not be durable."""
    path.write_bytes(b"".join(b"%s %d\n%s" % (o.kind, len(o.data), o.data) for o in objects))


def reader(cached: dict[str, tuple[bytes, bytes]], read_object: Read) -> Read:
    """Return a `read` that looks into the cache first."""

    def read(oid: str) -> tuple[bytes, bytes]:
        return cached.get(oid) or read_object(oid)

    return read
