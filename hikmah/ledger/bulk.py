"""Every object of a repository, by id, hashed again on the way out, quickly.

Rules the module keeps:

1. What `read` returns has been hashed: its content is what its id says.
2. An object may stand in several places (packs, loose, alternates): one good copy is
   enough, a damaged copy beside it is noted in `damaged_copies`.
3. Packs are read through mmap (`hikmah.ledger.packs`); what that does not cover (an old
   index, quoted alternates) goes to the general reader given as `fallback`.
4. Memory is bounded: a table of 8 bytes an object, and a cache of delta bases.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from hikmah.errors import HikmahError, IntegrityError
from hikmah.ledger.gitstore import CorruptObjectError, MissingObjectError
from hikmah.ledger.objects import DIGEST_BYTES, KINDS
from hikmah.ledger.packs import MAX_OBJECT_BYTES, DamagedError, PackFile, open_pack

_ALTERNATE_DEPTH = 5  # as git's own limit on chains of alternates
_HASH = {"sha1": hashlib.sha1, "sha256": hashlib.sha256}


class Store(Protocol):
    """What is read of a repository; `GitStore` is one."""

    @property
    def algorithm(self) -> str:
        """`sha1` or `sha256`."""
        ...

    @property
    def objects_dir(self) -> Path:
        """The folder of objects."""
        ...

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Return kind and content by the general way."""
        ...


class ObjectReader:
    """Reads objects of one repository; a context manager that closes the packs."""

    def __init__(self, store: Store) -> None:
        self.algorithm = store.algorithm
        self.damaged_copies: dict[str, str] = {}
        self.objects = 0
        self._hash = _HASH[store.algorithm]
        self._fallback = store.read
        self._folders = list(object_folders(store.objects_dir))
        self._packs: list[PackFile] = []
        self._opened: set[Path] = set()
        self._open_packs()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Close the packs."""
        self.close()

    def close(self) -> None:
        """Close the packs."""
        for pack in self._packs:
            pack.close()
        self._packs.clear()

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Return kind and content of an object.

        Raises:
            MissingObjectError: It is nowhere.
            CorruptObjectError: No copy of it is what its id says.
        """
        self.objects += 1
        raw = bytes.fromhex(oid)
        packs = self._packs
        try:
            # The pack that gave the last object, then the others: as in `_first_copy`.
            found = packs[0].get(raw) if packs else None
            kind, data = found = found or self._first_copy(oid, raw)
        except (OSError, DamagedError):
            return self._any_copy(oid, raw)
        # As in `_digest`, written out: this is the innermost loop of verification.
        whole = b"%s %d\0%s" % (kind, len(data), data)
        if self._hash(whole, usedforsecurity=False).digest() == raw:
            return found
        return self._any_copy(oid, raw)

    def content(self, oid: str, kind: bytes) -> bytes:
        """Return the content of an object that must be of one kind.

        Raises:
            IntegrityError: It is missing, damaged, or of another kind.
        """
        found, data = self.read(oid)
        if found != kind:
            text = f"object {oid} is a {found.decode()}, not a {kind.decode()}"
            raise IntegrityError(text, where=oid)
        return data

    def _first_copy(self, oid: str, raw: bytes) -> tuple[bytes, bytes]:
        """Return the copy that git would take: packed, else loose."""
        packs = self._packs
        for at, pack in enumerate(packs):
            found = pack.get(raw)
            if found is None:
                continue
            if at:
                # Neighbours in history are neighbours in packs: ask this one first.
                packs.insert(0, packs.pop(at))
            return found
        return parse_loose(loose_path(self._folders[0], oid).read_bytes())

    def _digest(self, found: tuple[bytes, bytes]) -> bytes:
        kind, data = found
        whole = b"%s %d\0%s" % (kind, len(data), data)
        return self._hash(whole, usedforsecurity=False).digest()

    def _any_copy(self, oid: str, raw: bytes) -> tuple[bytes, bytes]:
        """Try every copy there is, packs that came since included; the first good one wins."""
        self._open_packs()
        reasons: list[str] = []
        for read in (self._packed_copies, self._loose_copies, self._general_copy):
            for found in read(oid, raw, reasons):
                if self._digest(found) == raw:
                    if reasons:
                        self.damaged_copies[oid] = reasons[0]
                    return found
                reasons.append("its content is not what its id says")
        if reasons:
            raise CorruptObjectError(f"object {oid} is damaged: {reasons[0]}", where=oid)
        raise MissingObjectError(f"object {oid} is missing", where=oid)

    def _packed_copies(
        self, _oid: str, raw: bytes, reasons: list[str]
    ) -> Iterator[tuple[bytes, bytes]]:
        for pack in self._packs:
            offset = pack.find(raw)
            if offset is None:
                continue
            try:
                found = pack.read_at(offset)
            except DamagedError as e:
                reasons.append(e.message)
                continue
            yield found

    def _loose_copies(
        self, oid: str, _raw: bytes, reasons: list[str]
    ) -> Iterator[tuple[bytes, bytes]]:
        for folder in self._folders:
            try:
                data = loose_path(folder, oid).read_bytes()
                found = parse_loose(data)
            except FileNotFoundError:
                continue
            except (OSError, DamagedError) as e:
                reasons.append(str(e))
                continue
            yield found

    def _general_copy(
        self, oid: str, _raw: bytes, reasons: list[str]
    ) -> Iterator[tuple[bytes, bytes]]:
        """Ask the general reader, unless a damaged copy is what it would find again."""
        if reasons:
            return
        try:
            found = self._fallback(oid)
        except HikmahError:
            # It says missing or damaged; either way this reader has its own words for it.
            return
        yield found

    def _open_packs(self) -> None:
        for folder in self._folders:
            for index_path in sorted((folder / "pack").glob("*.idx")):
                if index_path in self._opened:
                    continue
                self._opened.add(index_path)
                pack = open_pack(index_path, DIGEST_BYTES[self.algorithm])
                if pack is not None:
                    self._packs.append(pack)


def loose_path(folder: Path, oid: str) -> Path:
    """Return where a loose object stands under a folder of objects."""
    return folder / oid[:2] / oid[2:]


def parse_loose(data: bytes) -> tuple[bytes, bytes]:
    """Return kind and content of a loose object's file.

    Raises:
        DamagedError: The file is empty, cut short, or no object.
    """
    if not data:
        raise DamagedError("its file is empty")
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(data, MAX_OBJECT_BYTES)
    except zlib.error as e:
        raise DamagedError(f"its file does not inflate: {e}") from e
    header, _, content = raw.partition(b"\0")
    kind, _, size = header.partition(b" ")
    if not stream.eof:
        raise DamagedError("its file is cut short")
    if kind not in KINDS.values() or size != b"%d" % len(content):
        raise DamagedError("its file has no object's header")
    return kind, content


def object_folders(folder: Path) -> Iterator[Path]:
    """Yield a folder of objects and those it borrows from (`info/alternates`), once each."""
    seen: set[Path] = set()
    waiting = [(folder, 0)]
    while waiting:
        at, depth = waiting.pop(0)
        if at in seen or depth > _ALTERNATE_DEPTH:
            continue
        seen.add(at)
        yield at
        waiting += [(other, depth + 1) for other in _alternates(at)]


def _alternates(folder: Path) -> Iterator[Path]:
    """Yield what `info/alternates` lists; quoted lines are left to the general reader."""
    try:
        lines = (folder / "info" / "alternates").read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        if line and not line.startswith((b"#", b'"')):
            # Text, not the file system, decides: `..` of a symbolic link is git's rule too.
            yield Path(os.path.normpath(folder / os.fsdecode(line)))
