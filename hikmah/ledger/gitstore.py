"""One git repository: its objects and refs; the only module to import dulwich.

Rules the module keeps:

1. What is read is checked: an object whose content does not hash to its id is an error,
   as is one that is not there. dulwich checks neither for loose objects.
2. What is written is durable when `write_loose` returns (files and folders synced), and a
   damaged file that stands where an object belongs is replaced.
3. A ref moves only by compare-and-swap, through a lock file that is a hard link of the
   state folder's note, so that a lock left by a crash is provably ours.
4. dulwich is imported when something packed, or git's configuration, is asked for; a
   question with a current index reads a ref and nothing else, and imports as little.

The work tree, git's index, hooks and signing are never touched.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

from hikmah.errors import BusyError, IntegrityError, StoreError
from hikmah.ledger.locate import Repository
from hikmah.ledger.refs import (
    RepositoryFormat,
    move_ref_with_git,
    read_ref,
    read_ref_with_git,
    refs_below,
    refs_below_with_git,
    repository_format,
)

if TYPE_CHECKING:
    from pathlib import Path

    from dulwich.config import StackedConfig
    from dulwich.object_store import DiskObjectStore
    from dulwich.objects import ObjectID

    from hikmah.ledger.objects import RawObject

# What git takes no name with, and what acts on a terminal that shows one.
_UNSAFE = b"<>\x7f" + bytes(range(32))
DEFAULT_IDENTITY = b"hikmah <hikmah@localhost>"
# Speed over size: a loose object lives until the next packing (git's own loose default).
_LOOSE_COMPRESSION = 1
# As often as git itself tries when folders go under its hands.
_TRIES = 3


def _oid(oid: str) -> ObjectID:
    """Return an id as dulwich wants it."""
    return cast("ObjectID", oid.encode())


class MissingObjectError(IntegrityError):
    """An object that should be there is not."""

    code = "missing_object"


class CorruptObjectError(IntegrityError):
    """An object is there, and its content is not what its id says."""

    code = "corrupt_object"


def _deflated(raw: RawObject) -> bytes:
    """Return the bytes of a loose object's file."""
    from hikmah.ledger.deflate import deflate

    return deflate(b"%s %d\0%s" % (raw.kind, len(raw.data), raw.data), _LOOSE_COMPRESSION)


class GitStore:
    """Objects and refs of one repository, by hex id and full ref name.

    Args:
        repository: Where it is.
        environ: The surrounding environment, for the `git` program where refs need it.
    """

    def __init__(self, repository: Repository, *, environ: Mapping[str, str]) -> None:
        self.repository = repository
        self._environ = environ

    @cached_property
    def common_dir(self) -> Path:
        """The folder of objects, refs and config."""
        return self.repository.common_dir

    @cached_property
    def objects_dir(self) -> Path:
        """The folder of loose objects and packs."""
        return self.common_dir / "objects"

    @cached_property
    def format(self) -> RepositoryFormat:
        """How the repository names objects and keeps refs."""
        return repository_format(self.repository.git_dir)

    @property
    def algorithm(self) -> str:
        """`sha1` or `sha256`."""
        return self.format.algorithm

    # ---- objects -----------------------------------------------------------------------

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Return an object's kind (`blob`, `tree`, `commit`) and content, checked by its id.

        Raises:
            MissingObjectError: It is not in this repository, or its file is empty.
            CorruptObjectError: Its content does not hash to its id, or cannot be inflated.
        """
        from hikmah.ledger.objects import object_id

        kind, data = self._read_loose(oid) or self._read_packed(oid)
        if object_id(kind, data, self.algorithm) != oid:
            raise CorruptObjectError(f"object {oid} holds other content than its id says")
        return kind, data

    def has(self, oid: str) -> bool:
        """Tell whether an object is there, without reading it."""
        return self.loose_path(oid).exists() or self._packed.contains_packed(_oid(oid))

    def loose_path(self, oid: str) -> Path:
        """Return where an object stands when it is loose."""
        return self.objects_dir / oid[:2] / oid[2:]

    def write_loose(self, objects: Iterable[RawObject]) -> None:
        """Write objects so that they survive a power cut once this returns.

        Raises:
            StoreError: The disk refused; nothing refers to what was written before.
        """
        missing = [raw for raw in objects if not self._is_there(raw)]
        try:
            _while_folders_go(lambda: self._write_missing(missing))
        except OSError as e:
            raise StoreError(
                f"cannot write to {self.objects_dir}: {e.strerror or e}",
                hint="check free space and permissions; what was there before is unharmed",
                where=str(self.objects_dir),
            ) from e

    def _write_missing(self, objects: list[RawObject]) -> None:
        """Write all, then sync all, then name all, then sync folders: few journal commits."""
        from hikmah.ledger import durable

        written: list[tuple[Path, Path]] = []
        try:
            with contextlib.ExitStack() as handles:
                syncing: list[int] = []
                for raw in objects:
                    path = self.loose_path(raw.oid)
                    temporary = path.with_name(f"tmp_obj_{os.getpid()}_{raw.oid[:12]}")
                    written.append((temporary, path))
                    durable.make_folder(path.parent)
                    durable.unlink(temporary)
                    syncing.append(durable.create(temporary, _deflated(raw), 0o444))
                    handles.callback(os.close, syncing[-1])
                for handle in syncing:
                    durable.sync_handle(handle)
            for temporary, path in written:
                durable.replace(temporary, path)
        except OSError:
            for temporary, _ in written:
                durable.unlink(temporary)
            raise
        for folder in {path.parent: None for _, path in written}:
            durable.sync_folder(folder)

    def _is_there(self, raw: RawObject) -> bool:
        """Tell whether a good loose copy stands there already."""
        return self.loose_path(raw.oid).exists() and self._is_good(raw)

    def _is_good(self, raw: RawObject) -> bool:
        try:
            return self._read_loose(raw.oid) == (raw.kind, raw.data)
        except IntegrityError:
            return False

    def _read_loose(self, oid: str) -> tuple[bytes, bytes] | None:
        import zlib

        try:
            packed = self.loose_path(oid).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as e:
            raise StoreError(f"cannot read object {oid}: {e.strerror}") from e
        if not packed:
            raise MissingObjectError(f"object {oid} is an empty file")
        try:
            header, _, data = zlib.decompress(packed).partition(b"\0")
        except zlib.error as e:
            raise CorruptObjectError(f"object {oid} cannot be inflated: {e}") from e
        return header.split(b" ")[0], data

    def _read_packed(self, oid: str) -> tuple[bytes, bytes]:
        from hikmah.ledger.objects import KINDS

        try:
            number, data = self._packed.get_raw(_oid(oid))
        except KeyError as e:
            raise MissingObjectError(f"object {oid} is not in {self.objects_dir}") from e
        except Exception as e:  # dulwich's errors share no base; all of them mean "damaged"
            raise CorruptObjectError(f"object {oid} cannot be read from its pack: {e}") from e
        return KINDS.get(number, b"?"), data

    @cached_property
    def _packed(self) -> DiskObjectStore:
        """What dulwich sees in the same folder: packs, multi-pack indexes and alternates."""
        import weakref

        from dulwich.object_format import get_object_format
        from dulwich.object_store import DiskObjectStore

        # Built directly: `dulwich.repo.Repo` refuses extensions that do not concern us.
        packed = DiskObjectStore(self.objects_dir, object_format=get_object_format(self.algorithm))
        # Packs stay mapped while this store lives; a caller who forgets `close` leaks nothing.
        self._close_packs = weakref.finalize(self, packed.close)
        return packed

    def close(self) -> None:
        """Let go of mapped packs; the store can be used again afterwards."""
        if "_packed" in self.__dict__:
            self._close_packs()
            del self._packed

    # ---- refs --------------------------------------------------------------------------

    def ref(self, name: str) -> str | None:
        """Return what a ref holds, or None when there is no such ref.

        Raises:
            RefusedError: The ref is symbolic.
            IntegrityError: Its file does not hold an object id.
            StoreError: It cannot be read (reftable without a `git` program among others).
        """
        if self.format.ref_format != "files":
            return read_ref_with_git(self.common_dir, name, environ=self._environ)
        return read_ref(self.repository.git_dir, name, self.format)

    def refs_below(self, prefix: str) -> list[str]:
        """Return the names of refs below a prefix that ends in a slash, sorted."""
        if self.format.ref_format != "files":
            return refs_below_with_git(self.common_dir, prefix, environ=self._environ)
        return refs_below(self.common_dir, prefix)

    def move_ref(self, name: str, old: str | None, new: str, *, note: Path) -> bool:
        """Move a ref from one value to another, or create it when `old` is None.

        Args:
            name: The full ref name.
            old: What it must hold now; None when it must not exist.
            new: What it shall hold; `note` must hold this value and a newline, synced.
            note: The file that becomes the lock and then the ref, by its second name.

        Returns:
            False when the ref holds something else than `old`: the race is lost.

        Raises:
            BusyError: Somebody else's lock stands on the ref.
            StoreError: The disk refused.
        """
        if self.format.ref_format != "files":
            return move_ref_with_git(self.common_dir, name, old, new, environ=self._environ)
        from hikmah.ledger import durable

        path = self.common_dir / name
        lock = path.with_name(path.name + ".lock")
        try:
            _while_folders_go(lambda: self._take_ref_lock(lock, note, new))
            if self.ref(name) != old:
                durable.unlink(lock)
                return False
            durable.replace(lock, path)
            durable.sync_folder(path.parent)
        except OSError as e:
            raise StoreError(f"cannot move {name}: {e.strerror or e}", where=str(path)) from e
        return True

    def _take_ref_lock(self, lock: Path, note: Path, new: str) -> None:
        from hikmah.ledger import durable

        durable.make_folder(lock.parent)
        try:
            try:
                durable.link(note, lock)
            except (FileExistsError, FileNotFoundError):
                raise
            except OSError:
                # No hard links here (some network and FAT file systems): a copy serves, and
                # is told apart after a crash by its content, under our writer lock.
                durable.write_new(lock, f"{new}\n".encode())
        except FileExistsError as e:
            raise BusyError(
                f"{lock} is there: another program is moving the ref",
                hint=f"when no git program is running, remove it: {lock}",
                where=str(lock),
            ) from e

    # ---- configuration -----------------------------------------------------------------

    @cached_property
    def identity(self) -> bytes:
        """`user.name <user.email>` of git's configuration, else Hikmah's own.

        Configuration that cannot be read never stops a write: it counts as not set.
        """
        try:
            config = self._configuration()
            name, email = (config.get((b"user",), key) for key in (b"name", b"email"))
        except (KeyError, ValueError, OSError):
            return DEFAULT_IDENTITY
        clean = [part.translate(None, _UNSAFE).strip() for part in (name, email)]
        return b"%s <%s>" % (clean[0], clean[1]) if all(clean) else DEFAULT_IDENTITY

    def settings(self, section: str, sub: str | None, key: str) -> tuple[str, ...]:
        """Return every value of a key of git's configuration, the one that counts last.

        Raises:
            StoreError: The configuration cannot be read.
        """
        where = (section.encode(),) if sub is None else (section.encode(), sub.encode())
        found: list[bytes] = []
        try:
            # The nearest file comes first here, and counts most.
            for file in reversed(self._configuration().backends):
                with contextlib.suppress(KeyError):
                    found += file.get_multivar(where, key.encode())
        except (ValueError, OSError) as e:
            raise StoreError(
                f"git's configuration cannot be read: {e}",
                hint="`git config --list` says where",
                where=str(self.common_dir / "config"),
            ) from e
        return tuple(os.fsdecode(value) for value in found)

    def _configuration(self) -> StackedConfig:
        from dulwich.config import ConfigFile, StackedConfig

        local = [ConfigFile.from_path(self.common_dir / "config")]
        return StackedConfig(local + StackedConfig.default_backends())


def _while_folders_go(step: Callable[[], None]) -> None:
    """Do a step again when a folder went: `git gc` and `git pack-refs` remove empty ones."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(FileNotFoundError):
            return step()
    return step()


def init_bare(path: Path, algorithm: str = "sha1") -> None:
    """Make an empty bare repository; its parent folder must exist.

    Raises:
        OSError: The disk refused.
    """
    from dulwich.repo import Repo

    Repo.init_bare(str(path), mkdir=not path.exists(), object_format=algorithm).close()
