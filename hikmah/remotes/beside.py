"""A remote at a path of this machine, read and written without a git program.

dulwich would run no hooks there and sync no folders, so our own store does it. A repository
whose hooks would judge a push is left to the `git` program, which runs them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from hikmah.errors import BusyError, RefusedError, RemoteError
from hikmah.ledger import durable, locate
from hikmah.ledger.ancestry import compare
from hikmah.ledger.append import drop_lock_of
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.lock import writer_lock
from hikmah.ledger.objects import RawObject
from hikmah.ledger.packwriter import PackWriter
from hikmah.remotes.missing import missing_objects

_HOOKS = ("pre-receive", "update", "proc-receive", "reference-transaction")
# Fewer objects than this are written as loose files, as appends write them.
_PACK_FROM = 100
# How long to wait for another push to move its ref: no longer than a few file operations.
_WAIT_S = 10

Tell = Callable[[int, int], None]


class MovedError(RemoteError):
    """The other end holds what the new commit does not descend from (`now`)."""

    def __init__(self, now: str | None) -> None:
        super().__init__(f"it holds {now}")
        self.now = now


def store_at(path: Path) -> GitStore:
    """Return the store at a path.

    Raises:
        NotFoundError: There is none.
    """
    return GitStore(locate.explicit(path), environ={})


def heads_of(there: GitStore) -> dict[str, str]:
    """Return the ledgers of a store: full ref name to commit."""
    names = there.refs_below(locate.LEDGERS)
    ledgers = [name for name in names if locate.is_ledger_name(name.removeprefix(locate.LEDGERS))]
    found = {name: there.ref(name) for name in ledgers}
    return {name: oid for name, oid in found.items() if oid is not None}


def copy(source: GitStore, target: GitStore, new: str, old: str | None, tell: Tell) -> None:
    """Write what a head reaches, and another does not, from one store to another, synced."""
    with ObjectReader(source) as reader:
        ids = list(missing_objects(reader.read, new, old, source.algorithm))
        if len(ids) < _PACK_FROM:
            target.write_loose(RawObject(*reader.read(oid), oid) for oid in reversed(ids))
            return

        def raw() -> Iterable[RawObject]:
            for done, oid in enumerate(ids):
                tell(done, len(ids))
                yield RawObject(*reader.read(oid), oid)

        _write_pack(target, raw())
    target.close()


def push(here: GitStore, there: GitStore, ref: str, new: str, tell: Tell) -> None:
    """Copy a head to another store and set its ref to it, forward only.

    Raises:
        MovedError: The ref there holds something else.
        RefusedError: Hooks there would have to judge this.
    """
    _check_hooks(there)
    old = there.ref(ref)
    with ObjectReader(here) as reader:
        if old is not None and (
            not here.has(old)
            or compare(reader.read, new, old, here.algorithm).kind not in {"same", "ahead"}
        ):
            raise MovedError(old)
    if old == new:
        return
    copy(here, there, new, old, tell)
    _move(there, ref, old, new)


def _move(there: GitStore, ref: str, old: str | None, new: str) -> None:
    """Move a ref of another store; a lock that a push of ours left when it died goes first.

    All who push there this way write the same note, one at a time, so it tells whose a lock is.
    """
    note = there.common_dir / "hikmah-push"
    with writer_lock(there.common_dir / "hikmah-push.lock", timeout_s=_WAIT_S):
        drop_lock_of(there.common_dir / f"{ref}.lock", note)
        durable.unlink(note)
        durable.write_new(note, f"{new}\n".encode())
        try:
            moved = there.move_ref(ref, old, new, note=note)
        except BaseException as e:
            # Ours may stand there still; when it was busy it is another program's.
            if not isinstance(e, BusyError):
                with contextlib.suppress(OSError):  # the disk may refuse this, too
                    drop_lock_of(there.common_dir / f"{ref}.lock", note)
            raise
        finally:
            durable.unlink(note)
    if not moved:
        raise MovedError(there.ref(ref))


def _check_hooks(there: GitStore) -> None:
    configured = there.settings("core", None, "hooksPath") or ("hooks",)
    folder = there.common_dir / Path(configured[-1]).expanduser()
    for name in _HOOKS:
        if os.access(folder / name, os.X_OK):
            raise RefusedError(f"its hook {name} would have to judge this: a git program is needed")


def _write_pack(target: GitStore, objects: Iterable[RawObject]) -> None:
    """Write objects as one pack: whole and synced, or not at all."""
    folder = target.objects_dir / "pack"
    durable.make_folder(folder)
    temporary = folder / f"tmp_pack_hikmah_{os.getpid()}"
    durable.unlink(temporary)
    try:
        with durable.new_file(temporary) as file:
            writer = PackWriter(file, target.algorithm)
            for raw in objects:
                writer.add(bytes.fromhex(raw.oid), raw.kind, raw.data)
            checksum, index = writer.finish()
        name = folder / f"pack-{checksum.hex()}"
        durable.replace(temporary, name.with_suffix(".pack"))
    finally:
        durable.unlink(temporary)
    durable.write_atomic(name.with_suffix(".idx"), index)
