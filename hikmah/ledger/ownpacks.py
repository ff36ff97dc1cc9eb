"""The packs that a ledger wrote itself: naming and replacing them.

Rules the module keeps:

1. `packs` in the state folder lists the own packs and what is under way, and is written
   before each step that a crash could cut; `settle` finishes or drops such a step.
2. A loose file or an old pack goes only after the new pack is synced, named, and read back
   object by object. Exactly the loose copies of what the pack holds go, nothing else.
3. A pack that cannot be read back stays, and so does everything it was to replace.
4. Before a pack goes, so does an index over several packs that names it
   (`hikmah.ledger.multipack`): git would look for objects in a pack that is not there.

Needs the writer lock (`hikmah.ledger.append.locked`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from hikmah.errors import IntegrityError, StoreError
from hikmah.ledger import durable, multipack
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.objects import DIGEST_BYTES, object_id
from hikmah.ledger.packs import DamagedError, PackFile, open_pack
from hikmah.ledger.packwriter import PackWriter

# What git may have put beside a pack, too; the index goes first, so that nobody looks.
_ENDINGS = (".idx", ".rev", ".bitmap", ".mtimes", ".pack")
_HASH_DIGITS = "0123456789abcdef"


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """The own packs of a ledger, and what is under way.

    `sweep` is a pack just written; loose copies of what it holds, and the packs in `drop`,
    go once it has been read back. `keep` is the pack of a batch that no ref reaches yet: a
    `.keep` file beside it holds off `git repack -ad`. `seq` is where `tidy` ran last.
    """

    packs: tuple[str, ...] = ()
    sweep: str | None = None
    drop: tuple[str, ...] = ()
    keep: str | None = None
    seq: int = 0


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """What went after a pack was read back."""

    loose: int = 0
    packs: int = 0
    freed_bytes: int = 0


class OwnPacks:
    """The own packs of one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.algorithm = ledger.algorithm
        self.id_bytes = DIGEST_BYTES[ledger.algorithm]
        self._objects = ledger.store.objects_dir
        self._folder = self._objects / "pack"
        self._note = ledger.state.folder / "packs"
        self._temporary = self._folder / f"tmp_pack_hikmah_{ledger.name}"

    def read(self) -> Own:
        """Return what is noted; nothing when the note is missing or damaged.

        Packs that no note lists are left alone, as the host's are.
        """
        try:
            return msgspec.json.decode(self._note.read_bytes(), type=Own)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return Own()

    def change(self, own: Own, **fields: object) -> Own:
        """Note something else, durably, and return it."""
        changed = msgspec.structs.replace(own, **fields)
        if changed != own or not self._note.exists():
            durable.write_atomic(self._note, msgspec.json.encode(changed) + b"\n")
        return changed

    def path(self, name: str, ending: str = ".pack") -> Path:
        """Return where a pack, or what belongs to it, stands."""
        return self._folder / f"{name}{ending}"

    def open(self, name: str) -> PackFile | None:
        """Open an own pack; None when it is gone or damaged beyond opening."""
        return open_pack(self.path(name, ".idx"), self.id_bytes)

    # ---- writing -----------------------------------------------------------------------

    @contextlib.contextmanager
    def writer(self) -> Iterator[PackWriter]:
        """Open the temporary pack; what the block leaves unfinished is removed."""
        durable.make_folder(self._folder)
        durable.unlink(self._temporary)
        try:
            with durable.new_file(self._temporary) as file:
                yield PackWriter(file, self.algorithm)
        except BaseException:
            durable.unlink(self._temporary)
            raise

    def discard(self) -> None:
        """Remove the temporary pack: nothing was worth writing."""
        durable.unlink(self._temporary)

    def publish(self, own: Own, name: str, index: bytes) -> Own:
        """Give the temporary pack its name and index; they survive once this returns.

        Args:
            own: What is noted; it is changed to list the pack before the pack is there.
            name: `pack-<checksum>`.
            index: The bytes of its index.
        """
        own = self.change(own, packs=tuple(dict.fromkeys((*own.packs, name))))
        if self.path(name, ".idx").exists():
            self.discard()
            return own
        waiting = self._temporary.with_suffix(".idx")
        durable.unlink(waiting)
        durable.write_new(waiting, index)
        durable.replace(self._temporary, self.path(name))
        durable.replace(waiting, self.path(name, ".idx"))
        durable.sync_folder(self._folder)
        return own

    # ---- letting go --------------------------------------------------------------------

    def settle(self) -> Own:
        """Finish or drop what a crash left, forget packs that git took, return the rest."""
        own = self.read()
        durable.unlink(self._temporary)
        durable.unlink(self._temporary.with_suffix(".idx"))
        if own.keep is not None:
            durable.unlink(self.path(own.keep, ".keep"))
        for name in own.packs:
            if not self.path(name, ".idx").exists():
                # Written without an index (nobody ever saw it), or taken up by `git gc`.
                durable.unlink(self.path(name))
        packs = tuple(name for name in own.packs if self.path(name, ".idx").exists())
        own = self.change(own, packs=packs, keep=None)
        if own.sweep is not None or own.drop:
            own, _ = self.sweep(own)
        return own

    def sweep(self, own: Own) -> tuple[Own, Swept]:
        """Let go of what the pack noted in `sweep` replaces, after reading it back.

        Raises:
            StoreError: The pack cannot be read back; nothing was let go of.
        """
        if own.sweep not in own.packs:
            return self.change(own, sweep=None, drop=()), Swept()
        try:
            self._read_back(own.sweep)
        except IntegrityError as e:
            self.change(own, sweep=None, drop=())
            raise StoreError(
                f"the new pack {own.sweep} cannot be read back: {e.message}",
                hint="nothing was removed; check the disk",
                where=str(self.path(own.sweep)),
            ) from e
        loose, loose_bytes = self._drop_loose(own.sweep)
        dropped = [name for name in own.drop if name != own.sweep]
        multipack.let_go(self._folder, dropped)
        freed = sum(self._drop_pack(name) for name in dropped)
        packs = tuple(name for name in own.packs if name not in dropped)
        own = self.change(own, packs=packs, sweep=None, drop=())
        return own, Swept(loose=loose, packs=len(dropped), freed_bytes=loose_bytes + freed)

    def _read_back(self, name: str) -> None:
        """Hash every object of a pack.

        Raises:
            DamagedError: One is not what its id says.
        """
        pack = self.open(name)
        if pack is None:
            raise DamagedError(f"{name} does not open")
        with contextlib.closing(pack):
            for offset, oid in pack.offsets().items():
                kind, data = pack.read_at(offset)
                if object_id(kind, data, self.algorithm) != oid.hex():
                    raise DamagedError(f"object {oid.hex()} is not what its id says")

    def _drop_loose(self, name: str) -> tuple[int, int]:
        pack = self.open(name)
        count = size = 0
        if pack is None:
            return count, size
        with contextlib.closing(pack):
            for oid, path in self.loose():
                if pack.find(bytes.fromhex(oid)) is None:
                    continue
                with contextlib.suppress(FileNotFoundError):
                    size += path.stat().st_size
                    durable.unlink(path)
                    count += 1
        return count, size

    def _drop_pack(self, name: str) -> int:
        size = 0
        for ending in _ENDINGS:
            path = self.path(name, ending)
            with contextlib.suppress(FileNotFoundError):
                size += path.stat().st_size
                durable.unlink(path)
        return size

    def loose(self) -> Iterator[tuple[str, Path]]:
        """Yield the id and file of every loose object of the repository."""
        rest = 2 * self.id_bytes - 2
        for folder in sorted(self._objects.iterdir()):
            if len(folder.name) != 2 or not set(folder.name) <= set(_HASH_DIGITS):
                continue
            for path in _listed(folder):
                if len(path.name) == rest and set(path.name) <= set(_HASH_DIGITS):
                    yield folder.name + path.name, path


def _listed(folder: Path) -> list[Path]:
    """Return what stands in a folder; nothing when git has removed it as empty."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
