"""Writes that survive a power cut: every file of the ledger room is written here.

Rules the module keeps:

1. A file is written under a temporary name, synced, renamed, and its folder synced; a
   reader sees the old file or the new one, never half of one.
2. Each function is one step, so that tests can stop the world at any of them.

Folders cannot be synced on Windows, where renames are journalled; there it is left out.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

# macOS: fsync(2) leaves data in the drive's cache; fcntl(2) F_FULLFSYNC does not.
_FULL_SYNC = 51


def create(path: Path, data: bytes, mode: int = 0o666) -> int:
    """Create a file that must not exist yet and write it whole, not synced.

    Returns:
        The open handle, for `sync_handle` and `os.close`: several files that are written
        first and synced after cost the disk little more than one.

    Raises:
        FileExistsError: The file is there already.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
    except OSError:
        os.close(handle)
        raise
    return handle


def write_new(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Create a file that must not exist yet, write it whole and sync it.

    Raises:
        FileExistsError: The file is there already.
    """
    handle = create(path, data, mode)
    try:
        sync_handle(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Create a file that must not exist yet, for reading and writing; synced when done.

    Raises:
        FileExistsError: The file is there already.
    """
    with path.open("x+b") as file:
        yield file
        file.flush()
        sync_handle(file.fileno())


def sync_handle(handle: int) -> None:
    """Sync an open file down to the platter."""
    if sys.platform == "darwin":
        import fcntl  # not there on Windows

        fcntl.fcntl(handle, _FULL_SYNC)
    else:
        os.fsync(handle)


def sync_folder(path: Path) -> None:
    """Sync a folder, so that names created or moved in it survive."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        sync_handle(handle)
    finally:
        os.close(handle)


def replace(source: Path, target: Path) -> None:
    """Move a file over another, atomically."""
    os.replace(source, target)  # noqa: PTH105 - the one place where files move


def link(source: Path, target: Path) -> None:
    """Give a file a second name.

    Raises:
        FileExistsError: The second name is taken.
        OSError: The file system has no hard links.
    """
    os.link(source, target)


def append(path: Path, data: bytes) -> None:
    """Add to the end of a file in one write, creating it; not synced."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0))
    try:
        os.write(handle, data)
    finally:
        os.close(handle)


def unlink(path: Path) -> None:
    """Remove a name; that it is gone already is fine."""
    path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, syncing each parent that gained a name."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file's content: the old or the new one survives, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    unlink(temporary)
    write_new(temporary, data)
    replace(temporary, path)
    sync_folder(path.parent)
