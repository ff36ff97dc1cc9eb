"""What came with a head from elsewhere: records that are new here, for people."""

from __future__ import annotations

import heapq

from msgspec import Struct

from hikmah.ledger.chain import PLAIN_FILES, Read, parse_path, tree_changes
from hikmah.ledger.findings import Unacknowledged
from hikmah.ledger.objects import parse_commit
from hikmah.ledger.previews import listed
from hikmah.model.records import read_stored

SHOWN = 20


class Arrivals(Struct, frozen=True, kw_only=True):
    """Records that one head holds beyond another.

    `types` counts them by type; `verified` counts traces that say a person checked them, by
    source: nobody here did, so look at these first. `newest` are the last few, oldest first.
    """

    records: int = 0
    types: dict[str, int] = {}
    verified: dict[str, int] = {}
    newest: tuple[Unacknowledged, ...] = ()


def arrivals(read: Read, here: str | None, there: str, algorithm: str) -> Arrivals:
    """Return what a commit's tree holds that another's does not; both must be verified.

    Args:
        read: Reads an object by id.
        here: The commit of this machine; None: it has no such ledger.
        there: The commit that came.
        algorithm: `sha1` or `sha256`.
    """
    old = parse_commit(read(here)[1]).tree if here else None
    new = parse_commit(read(there)[1]).tree
    types: dict[str, int] = {}
    verified: dict[str, int] = {}
    newest: list[tuple[int, str, Unacknowledged]] = []
    for change in tree_changes(read, old, new, algorithm):
        parts = parse_path(change.path)
        if parts is None or change.new is None or change.new.mode not in PLAIN_FILES:
            continue
        line = listed(parts.seq, change.new.oid, read_stored(read(change.new.oid)[1]))
        types[line.type] = types.get(line.type, 0) + 1
        if line.verified and line.source:
            verified[line.source] = verified.get(line.source, 0) + 1
        keep = heapq.heappush if len(newest) < SHOWN else heapq.heappushpop
        keep(newest, (line.seq, line.id, line))
    return Arrivals(
        records=sum(types.values()),
        types=dict(sorted(types.items())),
        verified=dict(sorted(verified.items())),
        newest=tuple(line for _, _, line in sorted(newest, key=lambda row: row[:2])),
    )
