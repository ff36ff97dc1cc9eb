"""Opening the index file: SQLite as a container that may always be thrown away.

Rules the module keeps:

1. Opening never fails for what the file holds. Missing, empty, truncated, garbage, of another
   format or ledger: it is emptied, and the caller fills it.
2. A file is deleted only while no other process has it open (a shared lock on a file beside
   it says who has); otherwise the caller works in memory.
3. Where nothing can be written, the file is read in the mode that fits its companions:
   with a `-wal`, `mode=ro`; without one, `immutable=1`; else memory.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator
from typing import IO, Any

from hikmah.errors import BusyError, StoreError
from hikmah.index import schema
from hikmah.index.layout import read_only_uri
from hikmah.index.rows import DamagedIndexError

if sys.platform != "win32":
    import fcntl

StrPath = str | os.PathLike[str]  # importing pathlib costs a start more than a question
BUSY_TIMEOUT_S = 30.0
SQLITE_VERSION = sqlite3.sqlite_version
# Damage inside a text, or inside the message about the damage, is no UTF-8.
DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_STORE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


class Container:
    """One open index: a connection, whether it may be written, and the lock that shares it."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        path: str | None = None,
        lock: IO[bytes] | None = None,
        writable: bool = True,
    ) -> None:
        self.connection = connection
        self.reader = Reader(connection)
        self.path = path
        self.lock = lock
        self.writable = writable

    def close(self) -> None:
        """Close the file and give up the shared lock."""
        self.connection.close()
        if self.lock is not None:
            self.lock.close()


def open_container(path: str | None, expected: dict[str, str], *, writable: bool) -> Container:
    """Open the index at a path, or an empty one in memory when that cannot be.

    Args:
        path: The index file; None for memory.
        expected: What its header must say (`schema.header`).
        writable: False never writes, not even to make a folder.
    """
    if path is not None and writable:
        opened = _open_writable(path, expected)
        if opened is not None:
            return opened
    if path is not None:
        opened = _open_read_only(path, expected)
        if opened is not None:
            return opened
    return in_memory(expected)


def in_memory(expected: dict[str, str]) -> Container:
    """Return an empty index in memory."""
    connection = _connect(":memory:")
    create(connection, expected)
    return Container(connection)


def copy_to_memory(source: Container) -> Container:
    """Return a copy in memory of an index that cannot be written."""
    connection = _connect(":memory:")
    with mapped_errors():
        source.connection.backup(connection)
    return Container(connection)


def recreate(damaged: Container, expected: dict[str, str]) -> Container:
    """Close a damaged index and open an empty one in its place, or in memory."""
    from hikmah.index import kept  # only damage needs it

    saved = kept.rows(damaged.connection)
    damaged.close()
    opened = in_memory(expected) if damaged.path is None else None
    if damaged.path is not None and damaged.writable:
        try:
            with _share(damaged.path) as lock:
                deleted = _delete(damaged.path, lock)
        except OSError:
            deleted = False
        opened = open_container(damaged.path if deleted else None, expected, writable=True)
    opened = opened or in_memory(expected)
    with mapped_errors():
        kept.put_back(opened.connection, saved)
    return opened


@contextlib.contextmanager
def mapped_errors() -> Iterator[None]:
    """Map what SQLite raises to our errors: busy, store, or a damaged index.

    Raises:
        BusyError: Another process held the index longer than we wait.
        StoreError: The disk is full, read-only or failing.
        DamagedIndexError: Anything else: the file is not what it must be.
    """
    try:
        yield
    except DATABASE_ERRORS as e:
        raise mapped(e) from e


def mapped(error: Exception) -> StoreError | BusyError:
    """Return our error for one of SQLite's."""
    code = _code(error)
    if code in _BUSY:
        return BusyError("another process is updating the index", hint="try again")
    if code in _STORE:
        return StoreError(f"the index cannot be used: {error}")
    return DamagedIndexError(f"the index is damaged: {error}")


def _code(error: Exception) -> int:
    """Return SQLite's primary code; what Python found wrong with a value has none."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


class Reader:
    """Queries of one connection, answered whole, their errors mapped."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def all(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return every row."""
        try:
            return self._execute(query, values).fetchall()
        except DATABASE_ERRORS as e:
            raise mapped(e) from e

    def one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        """Return the first row, or None."""
        try:
            row: tuple[Any, ...] | None = self._execute(query, values).fetchone()
        except DATABASE_ERRORS as e:
            raise mapped(e) from e
        return row


def create(connection: sqlite3.Connection, expected: dict[str, str]) -> None:
    """Make the tables and the header, inside the caller's transaction if there is one."""
    for statement in schema.TABLES.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    for statement in schema.KEPT.values():
        connection.execute(statement)
    connection.executemany("INSERT INTO header VALUES (?, ?)", sorted(expected.items()))


def empty(connection: sqlite3.Connection, expected: dict[str, str]) -> None:
    """Drop what the file holds, but what is kept, and make the tables anew.

    In the caller's transaction. A table that is kept and has another form goes too.
    """
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\'"
    ).fetchall()
    for name, made_by in found:
        if name in schema.KEPT and _same_form(made_by, schema.KEPT[name]):
            continue
        connection.execute('DROP TABLE "{}"'.format(name.replace('"', '""')))
    create(connection, expected)


def _same_form(made_by: object, wanted: str) -> bool:
    return made_by == wanted.replace("IF NOT EXISTS ", "", 1)


def _open_writable(path: str, expected: dict[str, str]) -> Container | None:
    """Open or make the file; None when the place cannot be written or is in other hands."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        lock = _share(path)
    except OSError:
        return None
    try:
        try:
            return Container(_connect_file(path, expected), path=path, lock=lock)
        except DamagedIndexError:
            if _delete(path, lock):
                return Container(_connect_file(path, expected), path=path, lock=lock)
    except BusyError:  # nobody knows what stands in a file that is being written
        lock.close()
        return in_memory(expected)
    except StoreError:  # what cannot be written may still be read
        pass
    lock.close()
    return None


def _connect_file(path: str, expected: dict[str, str]) -> sqlite3.Connection:
    """Connect for writing; tables of another format or ledger are replaced."""
    with mapped_errors():
        connection = _connect(path)
    try:
        with mapped_errors():
            # A derived file: a commit need not reach the disk, only be whole when it does.
            connection.execute("PRAGMA synchronous = NORMAL")
            if not _is_usable(connection, expected):
                _make_usable(connection, expected)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_usable(connection: sqlite3.Connection, expected: dict[str, str]) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_usable(connection, expected):  # another process may have been faster
            empty(connection, expected)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # SQLite may have done it
            connection.execute("ROLLBACK")
        raise


def _open_read_only(path: str, expected: dict[str, str]) -> Container | None:
    """Open the file without writing anything; None when it is missing or of no use."""
    if not os.path.isfile(path):
        return None
    try:
        with mapped_errors():
            connection = _connect(read_only_uri(path), uri=True)
    except (BusyError, StoreError):
        return None
    try:
        with mapped_errors():
            if _is_usable(connection, expected):
                return Container(connection, path=path, writable=False)
    except (BusyError, StoreError):  # of no use: the caller fills one in memory
        pass
    connection.close()
    return None


def _connect(name: str, *, uri: bool = False) -> sqlite3.Connection:
    # Threads are serialized by the library's door; transactions are begun by hand.
    connection = sqlite3.connect(
        name, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, uri=uri
    )
    connection.execute("PRAGMA cell_size_check = ON")  # finds more damage as pages are read
    return connection


def _is_usable(connection: sqlite3.Connection, expected: dict[str, str]) -> bool:
    """Tell whether the header says what it must; a file without tables does not."""
    try:
        found = dict(connection.execute("SELECT name, value FROM header").fetchall())
    except sqlite3.OperationalError as e:
        if _code(e) == sqlite3.SQLITE_ERROR:  # no such table, no such column, no text
            return False
        raise
    return all(found.get(name) == value for name, value in expected.items())


def _share(path: str) -> IO[bytes]:
    """Take the shared lock that says this process has the index open."""
    lock = open(f"{path}-users", "ab")  # noqa: SIM115  # held for as long as the index is open
    if sys.platform != "win32":
        # Where files cannot be locked nothing is deleted either: `_delete` asks again.
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def _delete(path: str, lock: IO[bytes]) -> bool:
    """Delete a damaged index with its companions, unless another process has it open.

    SQLite gives no way to replace a file under its other users: their `-wal` would be
    replayed over the new one. (Windows refuses to delete an open file by itself.)
    """
    try:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for suffix in ("-wal", "-shm", "-journal", ""):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + suffix)
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_SH)
    except OSError:
        return False
    return True
