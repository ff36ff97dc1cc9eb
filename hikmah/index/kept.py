"""What the index keeps beside what it derives: copies a rebuild must not lose.

The copies are made from the ledger too, on demand. Damage may take them; nothing else does.
A copy belongs to the ledger it was made from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from hikmah.index.schema import KEPT

Saved = Mapping[str, Sequence[tuple[Any, ...]]]


def rows(connection: sqlite3.Connection) -> Saved:
    """Return what the kept tables hold; nothing where a file is too damaged to say."""
    found: dict[str, Sequence[tuple[Any, ...]]] = {}
    for table in KEPT:
        try:
            found[table] = connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - names of ours
        except (sqlite3.Error, UnicodeDecodeError):
            found[table] = ()
    return found


def put_back(connection: sqlite3.Connection, saved: Saved) -> None:
    """Write rows into the kept tables of another file."""
    for table, kept in saved.items():
        for row in kept:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)  # noqa: S608 - names of ours
