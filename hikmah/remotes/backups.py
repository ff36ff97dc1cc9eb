"""The heads that joins left behind, each under a ref until a person deletes it.

`refs/hikmah-backup/<ledger>/<UTC ms>` holds the head that a join moved on from. It is an
ancestor of what came after, so it costs no object; it is there for a person who wants the
ledger as it was before a remote's records arrived.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from hikmah.errors import BusyError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.append import writing_to
from hikmah.ledger.ledger import Ledger

# Joins of one millisecond: with a clock that stands still, every join is one.
_TRIES = 1_000


def prefix(ledger: Ledger) -> str:
    """Return what the names of a ledger's backups begin with."""
    return f"refs/hikmah-backup/{ledger.name}/"


def keep(ledger: Ledger, commit: str, *, now_ms: int) -> str:
    """Keep a head under a ref of its own; needs the writer lock.

    Args:
        ledger: The ledger.
        commit: The head.
        now_ms: When; a name that holds another head by now is passed over.

    Returns:
        The ref's full name.

    Raises:
        BusyError: A thousand names from this moment on are taken.
        StoreError: The disk refused, or another ref's name leads through the backup's.
    """
    above = prefix(ledger).rstrip("/")
    if ledger.store.ref(above) is not None:
        raise StoreError(
            f"the ref {above} is in the way of the backups below that name",
            hint=f"give it another name, then `git update-ref -d {above}`",
            where=above,
        )
    note = ledger.state.folder / "backup"
    with writing_to(ledger.state.folder):
        _forget(ledger, note)
        durable.write_new(note, f"{commit}\n".encode())
        durable.sync_folder(note.parent)
    try:
        for at_ms in range(now_ms, now_ms + _TRIES):
            name = f"{prefix(ledger)}{at_ms}"
            held = ledger.store.ref(name)
            if held == commit:
                return name
            if held is None and ledger.store.move_ref(name, None, commit, note=note):
                return name
    finally:
        with contextlib.suppress(OSError):  # the next backup does it
            _forget(ledger, note)
    raise BusyError(f"{_TRIES} backups from {now_ms} on are there already: delete some")


def _forget(ledger: Ledger, note: Path) -> None:
    """Remove the note, and a ref's lock that a join which failed or died made of it."""
    if not note.exists():
        return
    for lock in (ledger.store.common_dir / prefix(ledger)).glob("*.lock"):
        with contextlib.suppress(FileNotFoundError):
            if lock.samefile(note) or lock.read_bytes() == note.read_bytes():
                durable.unlink(lock)
    durable.unlink(note)
