"""What one tree has beyond another: the comparison that verification rests on.

Rules the module keeps:

1. Every tree on the way to a difference is read (and so hashed); equal subtrees are not.
2. An honest append extends the right edge only: equal bytes up to the last entry, then a
   changed last entry or new ones. That is told from raw bytes, without parsing.
3. Everything else takes the general path, which also checks git's order of entries.
4. `hikmah/1` knows files at most four levels deep; deeper trees are named, not followed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hikmah.errors import IntegrityError
from hikmah.ledger.chain import MAX_DEPTH, Read
from hikmah.ledger.objects import DIGEST_BYTES, FILE_MODE, TREE_MODE, TreeEntry, parse_tree

_CACHE_BYTES = 1 << 20
_PARSE_FROM = 20  # ids to look for in one folder
_MAX_REPEATED_BYTES = 1 << 20  # some 15,000 files


class TreeFile(Struct, frozen=True):
    """A file as a tree holds it: path, mode as git writes it, blob id."""

    path: str
    mode: bytes
    oid: str


class Growth(Struct, frozen=True):
    """How a tree differs from an older one: files added, paths lost, paths changed.

    `malformed` lists what no write makes: folders whose entries are out of order, empty or
    too deep, names with a slash in them. `after` is the last path of the older tree, where
    that was come by on the way.
    """

    added: list[TreeFile]
    lost: list[str]
    changed: list[str]
    malformed: list[str]
    after: str | None = None


class TreeReader:
    """Compares trees of one repository; keeps the few it read last."""

    def __init__(self, read: Read, algorithm: str) -> None:
        self._read = read
        self._algorithm = algorithm
        self._id_bytes = DIGEST_BYTES[algorithm]
        self._cache: dict[str, bytes] = {}
        self._cache_bytes = 0
        self._met: set[str] = set()
        self._repeated_bytes = 0

    def raw(self, oid: str) -> bytes:
        """Return a tree's bytes.

        Raises:
            IntegrityError: Missing, damaged, or not a tree.
        """
        data = self._cache.get(oid)
        if data is not None:
            return data
        kind, data = self._read(oid)
        if kind != b"tree":
            raise IntegrityError(f"object {oid} is a {kind.decode()}, not a tree", where=oid)
        self._cache_bytes += len(data)
        if self._cache_bytes > _CACHE_BYTES:
            # Neighbours in history share trees; what is further away is read again.
            self._cache.clear()
            self._cache_bytes = len(data)
        self._cache[oid] = data
        return data

    def entries(self, oid: str) -> list[TreeEntry]:
        """Return a tree's entries."""
        return parse_tree(self.raw(oid), self._algorithm)

    def growth(self, old: str | None, new: str) -> Growth:
        """Return how the tree `new` differs from `old` (None: an empty one).

        Raises:
            IntegrityError: A tree on the way is missing, damaged or malformed.
        """
        edge = self._right_edge(old, new) if old is not None else None
        if edge is not None:
            return edge
        found = Growth([], [], [], [])
        self._met.clear()
        self._repeated_bytes = 0
        self._compare("", old, new, found, MAX_DEPTH)
        return found

    def _right_edge(self, old: str, new: str) -> Growth | None:
        """Return the growth of a tree by files in its last folder; None when it is not that.

        The commonest case by far, told by comparing bytes: `_compare` says the same.
        """
        size = self._id_bytes
        path = b""
        known, raw = self._cache.get, self.raw
        while old != new:
            before, after = known(old) or raw(old), known(new) or raw(new)
            if len(before) != len(after):
                return self._last_folder(path, before, after)
            nul = len(after) - size - 1
            space = after.rfind(b" ", 0, nul)
            if before[:-size] != after[:-size] or after[space - 5 : space] != TREE_MODE:
                return None
            path += after[space + 1 : nul] + b"/"
            old, new = before[-size:].hex(), after[-size:].hex()
        return None

    def _last_folder(self, path: bytes, before: bytes, after: bytes) -> Growth | None:
        """Return the growth of one folder by files at its end; None when it is not that."""
        if not before or not after.startswith(before):
            return None
        entries = parse_tree(after[len(before) :], self._algorithm)
        nul = len(before) - self._id_bytes - 1
        last = before[before.rfind(b" ", 0, nul) + 1 : nul]
        names = [last, *(entry.name for entry in entries)]
        if TREE_MODE in [entry.mode for entry in entries] or _out_of_order(names):
            return None
        if b"/" in b"".join(names):
            return None
        prefix = _text(path)
        added = [TreeFile(prefix + _text(e.name), e.mode, e.oid) for e in entries]
        return Growth(added, [], [], [], prefix + _text(last))

    def holding(self, root: str, ids: set[str]) -> set[str]:
        """Return which of some records stand in a ledger's tree, looking from its new end.

        Most links point at what is recent, so that few folders are read. What cannot be
        read holds nothing.
        """
        missing = {bytes.fromhex(oid): oid for oid in ids}
        for folder in self._last_first(root, (b"records", None, None), set()):
            # Bytes first: that an id stands in them is told faster than what the entries are.
            if len(missing) > _PARSE_FROM or any(raw in folder for raw in missing):
                for oid in self._plain_files(folder):
                    missing.pop(bytes.fromhex(oid), None)
            if not missing:
                break
        return ids.difference(missing.values())

    def _plain_files(self, folder: bytes) -> list[str]:
        try:
            entries = parse_tree(folder, self._algorithm)
        except IntegrityError:
            return []
        return [entry.oid for entry in entries if entry.mode == FILE_MODE]

    def _last_first(
        self, oid: str, names: Sequence[bytes | None], seen: set[str]
    ) -> Iterator[bytes]:
        """Yield the folders under a path (None: any name), each once, last ones first.

        Not through the cache: each is wanted once, and what is there may be wanted again.
        """
        if oid in seen:
            return
        seen.add(oid)
        try:
            kind, data = self._read(oid)
            entries = parse_tree(data, self._algorithm) if names else []
        except IntegrityError:
            return
        if kind == b"tree" and not names:
            yield data
        for entry in reversed(entries):
            if entry.mode == TREE_MODE and names[0] in (None, entry.name):
                yield from self._last_first(entry.oid, names[1:], seen)

    def files(self, root: str) -> list[TreeFile]:
        """Return every file below a tree."""
        return self.growth(None, root).added

    def _compare(self, prefix: str, old: str | None, new: str, found: Growth, depth: int) -> None:
        if old == new:
            return
        if depth == 0:
            found.malformed.append(prefix)
            return
        before = b"" if old is None else self.raw(old)
        after = self.raw(new)
        if (prefix and not after) or self._is_bomb(new, len(after)):
            found.malformed.append(prefix)
            return
        size = self._id_bytes
        if len(before) == len(after) and before[:-size] == after[:-size]:
            last = self.last_entry(after)
            if last.mode == TREE_MODE:
                was = before[-size:].hex()
                self._compare(f"{prefix}{_text(last.name)}/", was, last.oid, found, depth - 1)
                return
        if after.startswith(before):
            self._appended(prefix, before, after, found, depth)
        else:
            self._general(prefix, before, after, found, depth)

    def _is_bomb(self, oid: str, size: int) -> bool:
        """Tell whether trees met again in this comparison have become too many to follow.

        A few small trees that hold each other many times over stand for more files than any
        machine can list. Honest folders hardly ever repeat: the ids are in their names.
        """
        if oid in self._met:
            self._repeated_bytes += size
        self._met.add(oid)
        return self._repeated_bytes > _MAX_REPEATED_BYTES

    def last_entry(self, data: bytes) -> TreeEntry:
        """Return the last entry of a tree without parsing what stands before it.

        Sound for names without a space, which a record's path cannot have: an entry with
        one is reported when the commit that adds it is checked, from a known boundary.
        """
        nul = len(data) - self._id_bytes - 1
        space = data.rfind(b" ", 0, nul)
        mode = TREE_MODE if data[space - 5 : space] == TREE_MODE else b""
        return TreeEntry(mode, data[space + 1 : nul], data[nul + 1 :].hex())

    def _appended(
        self, prefix: str, before: bytes, after: bytes, found: Growth, depth: int
    ) -> None:
        entries = parse_tree(after[len(before) :], self._algorithm)
        last = self.last_entry(before) if before else None
        self._check_order(prefix, [last, *entries] if last else entries, found)
        for entry in entries:
            self._add(prefix, entry, found, depth)

    def _general(self, prefix: str, before: bytes, after: bytes, found: Growth, depth: int) -> None:
        old = {e.name: e for e in parse_tree(before, self._algorithm)}
        entries = parse_tree(after, self._algorithm)
        self._check_order(prefix, entries, found)
        for entry in entries:
            was = old.pop(entry.name, None)
            if was is None:
                self._add(prefix, entry, found, depth)
            elif was.mode == entry.mode == TREE_MODE:
                self._compare(f"{prefix}{_text(entry.name)}/", was.oid, entry.oid, found, depth - 1)
            elif was != entry:
                found.changed.append(prefix + _text(entry.name))
        found.lost.extend(prefix + _text(name) for name in old)

    def _add(self, prefix: str, entry: TreeEntry, found: Growth, depth: int) -> None:
        path = prefix + _text(entry.name)
        if b"/" in entry.name or not entry.name:
            # Joined to its folder's path it could pass for a record's.
            found.malformed.append(path)
        elif entry.mode == TREE_MODE:
            self._compare(path + "/", None, entry.oid, found, depth - 1)
        else:
            found.added.append(TreeFile(path, entry.mode, entry.oid))

    def _check_order(self, prefix: str, entries: list[TreeEntry], found: Growth) -> None:
        keys = [e.name + b"/" if e.mode == TREE_MODE else e.name for e in entries]
        if _out_of_order(keys):
            found.malformed.append(prefix)

    def last_seq(self, root: str) -> int:
        """Return the largest sequence number in a ledger's tree by its right edge, else 0."""
        digits = b""
        oid = next((e.oid for e in self.entries(root) if e.name == b"records"), "")
        for width in (4, 2, 2):
            data = self.raw(oid) if oid else b""
            if not data:
                return 0
            last = self.last_entry(data)
            digits += last.name[:width]
            oid = last.oid
        return int(digits) if digits.isdigit() else 0


def _out_of_order(keys: list[bytes]) -> bool:
    return any(a >= b for a, b in itertools.pairwise(keys))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
