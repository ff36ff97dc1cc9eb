"""The writer lock: one OS lock per ledger, released when its process dies.

A file in the state folder is locked whole; its text names the holder for whoever waits.
`filelock` was measured at 46 ms of every start (docs/adr), so this is on `fcntl`/`msvcrt`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hikmah.errors import BusyError, StoreError

_FIRST_WAIT_S = 0.0005
_LONGEST_WAIT_S = 0.01
_HOLDER_BYTES = 200
# Windows locks bytes, also against reading: lock one far past the holder's text.
_LOCKED_BYTE = 1 << 30


@contextmanager
def writer_lock(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold a ledger's writer lock.

    Args:
        path: The lock file; its folder must exist.
        timeout_s: How long to wait for another writer; 0 does not wait.

    Raises:
        BusyError: Somebody else held the lock all the while; the message names the holder.
        StoreError: The lock file cannot be opened.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as e:
        raise StoreError(
            f"cannot open the writer lock {path}: {e.strerror or e}",
            hint="check its permissions; it must be a plain file",
            where=str(path),
        ) from e
    try:
        _wait(handle, path, timeout_s)
        _name_holder(handle)
        try:
            yield
        finally:
            _release(handle)
    finally:
        os.close(handle)


def _wait(handle: int, path: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    pause = _FIRST_WAIT_S
    while not _try_lock(handle):
        left = deadline - time.monotonic()
        if left <= 0:
            raise BusyError(
                f"the ledger is being written by {_holder(handle)} (waited {timeout_s:g} s)",
                hint="try again, or wait longer with --lock-timeout SECONDS",
                where=str(path),
            )
        time.sleep(min(pause, left))  # no system lock waits for a bounded time
        pause = min(pause * 2, _LONGEST_WAIT_S)


def _name_holder(handle: int) -> None:
    text = f"process {os.getpid()} ({Path(sys.argv[0]).name or 'python'})".encode()[:_HOLDER_BYTES]
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, text)


def _holder(handle: int) -> str:
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, _HOLDER_BYTES).decode("utf-8", "replace") or "another process"


if sys.platform == "win32":  # pragma: no cover - run on Windows only
    import msvcrt

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(handle: int) -> None:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _release(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
