"""How the demo falsifies a ledger: with a text editor's means, nothing else.

It amends the newest commit of a bare repository as someone would who owns the disk: another
text in the newest record, new trees above it, a new commit with the old message, and the ref
set to it. Nothing of the ledger's code is used, so nothing of it can help.
"""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """One line of a git tree."""

    mode: bytes
    name: bytes
    oid: bytes


class Repository(NamedTuple):
    """A bare repository whose objects are loose."""

    folder: Path

    def read(self, oid: str) -> bytes:
        """Return an object's content without its header."""
        whole = zlib.decompress((self.folder / "objects" / oid[:2] / oid[2:]).read_bytes())
        return whole.partition(b"\0")[2]

    def write(self, kind: str, content: bytes) -> str:
        """Write an object and return its id."""
        whole = f"{kind} {len(content)}\0".encode() + content
        oid = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        path = self.folder / "objects" / oid[:2] / oid[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(whole))
        return oid

    def entries(self, oid: str) -> list[Entry]:
        """Return the lines of a tree."""
        found, rest = [], self.read(oid)
        while rest:
            head, _, rest = rest.partition(b"\0")
            mode, _, name = head.partition(b" ")
            found.append(Entry(mode, name, rest[:20]))
            rest = rest[20:]
        return found


def amend(folder: Path, ref: str, old: str, new: str) -> str:
    """Change a text in the newest record of a ledger and return the commit that says so.

    Args:
        folder: A bare repository that nothing packed yet.
        ref: The ledger's ref.
        old: What the record says.
        new: What it is made to say.
    """
    repository = Repository(folder)
    path = folder / ref
    head = path.read_text(encoding="ascii").strip()
    commit = repository.read(head)
    root = commit[5:45].decode()
    changed = _change(repository, root, old.encode(), new.encode())
    forged = repository.write("commit", commit.replace(root.encode(), changed.encode(), 1))
    path.write_text(f"{forged}\n", encoding="ascii")
    return forged


def _change(repository: Repository, tree: str, old: bytes, new: bytes) -> str:
    """Return the id of a tree whose last file, however deep, has another text."""
    *others, last = repository.entries(tree)
    if last.mode == b"40000":
        oid = _change(repository, last.oid.hex(), old, new)
    else:
        oid = repository.write("blob", repository.read(last.oid.hex()).replace(old, new))
    lines = [*others, last._replace(oid=bytes.fromhex(oid))]
    data = b"".join(b"%s %s\0%s" % line for line in lines)
    return repository.write("tree", data)
