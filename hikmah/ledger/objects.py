"""Git objects as bytes: trees and commits, written and read without any library.

Pure functions. Object ids are lower-case hex text, 40 digits (SHA-1) or 64 (SHA-256); the
algorithm is `sha1` or `sha256`. Formats: gitformat-pack(5), git-hash-object(1) and the
"Git Objects" chapter of the Git book.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from hikmah.errors import IntegrityError

TREE_MODE = b"40000"
FILE_MODE = b"100644"
_TIME_DIGITS = 19  # of a signed 64-bit number; Python reads no number of many thousands
DIGEST_BYTES = {"sha1": 20, "sha256": 32}
# What an object is, by its number in a pack: gitformat-pack(5).
KINDS = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}


class TreeEntry(Struct, frozen=True):
    """One line of a tree: `mode` as git writes it (`100644`, `40000`), name, object id."""

    mode: bytes
    name: bytes
    oid: str


class RawObject(NamedTuple):
    """An object to be written: its kind (`blob`, `tree`, `commit`), content and id."""

    kind: bytes
    data: bytes
    oid: str


class Commit(Struct, frozen=True):
    """A commit's parts; `author` and `committer` are whole lines without their keyword."""

    tree: str
    parents: tuple[str, ...]
    author: bytes
    committer: bytes
    message: bytes

    @property
    def time_s(self) -> int:
        """Commit time in seconds since the epoch (0 when the line is malformed)."""
        parts = self.committer.rsplit(b" ", 2)
        told = len(parts) == 3 and parts[1].isdigit() and len(parts[1]) <= _TIME_DIGITS
        return int(parts[1]) if told else 0


def object_id(kind: bytes, data: bytes, algorithm: str) -> str:
    """Return the id git gives to this content."""
    import hashlib  # OpenSSL is 3 ms of a start, and reading commands hash nothing

    digest = hashlib.new(algorithm, b"%s %d\0" % (kind, len(data)), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def raw_object(kind: bytes, data: bytes, algorithm: str) -> RawObject:
    """Pair content with its id."""
    return RawObject(kind, data, object_id(kind, data, algorithm))


def parse_tree(data: bytes, algorithm: str) -> list[TreeEntry]:
    """Split a tree into its entries, in their order.

    Raises:
        IntegrityError: The bytes are not a tree.
    """
    size = DIGEST_BYTES[algorithm]
    entries: list[TreeEntry] = []
    at = 0
    while at < len(data):
        space = data.find(b" ", at)
        nul = data.find(b"\0", space)
        end = nul + 1 + size
        if space < 0 or nul < 0 or end > len(data):
            raise IntegrityError("a tree object is malformed")
        oid = data[nul + 1 : end].hex()
        entries.append(TreeEntry(data[at:space], data[space + 1 : nul], oid))
        at = end
    return entries


def tree_bytes(entries: Iterable[TreeEntry]) -> bytes:
    """Return the bytes of a tree; entries are put into git's order (folders as `name/`)."""
    return b"".join(
        b"%s %s\0%s" % (e.mode, e.name, bytes.fromhex(e.oid))
        for e in sorted(entries, key=_tree_order)
    )


def _tree_order(entry: TreeEntry) -> bytes:
    return entry.name + b"/" if entry.mode == TREE_MODE else entry.name


_HEADER = re.compile(
    rb"tree ([0-9a-f]{40}|[0-9a-f]{64})\n"
    rb"((?:parent (?:[0-9a-f]{40}|[0-9a-f]{64})\n)*)"
    rb"author ([^\n]*)\ncommitter ([^\n]*)\n"
)


def parse_commit(data: bytes) -> Commit:
    """Split a commit into its parts; further headers (`gpgsig`, `encoding`) are skipped.

    Raises:
        IntegrityError: The bytes are not a commit.
    """
    match = _HEADER.match(data)
    if match is None:
        raise IntegrityError("a commit object is malformed")
    tree, parents, author, committer = match.groups()
    _, _, message = data[match.end() - 1 :].partition(b"\n\n")
    return Commit(
        tree.decode(),
        tuple(line[7:].decode() for line in parents.splitlines()),
        author,
        committer,
        message,
    )


# As `git fsck` wants it: a name may be empty, but not the space after it; no leading zeros.
_SIGNATURE = re.compile(rb"[^<>\0]* <[^<>\0]*> (0|[1-9][0-9]{0,18}) [+-][0-9]{4}")
_LAST_TIME_S = (1 << 63) - 1


def is_signature(line: bytes) -> bool:
    """Tell whether an author or committer line is `name <email> seconds zone`, as git has it."""
    match = _SIGNATURE.fullmatch(line)
    return match is not None and int(match[1]) <= _LAST_TIME_S


def commit_bytes(commit: Commit) -> bytes:
    """Return the bytes of a commit."""
    lines = [f"tree {commit.tree}".encode()]
    lines += [f"parent {parent}".encode() for parent in commit.parents]
    lines += [b"author " + commit.author, b"committer " + commit.committer, b"", commit.message]
    return b"\n".join(lines)
