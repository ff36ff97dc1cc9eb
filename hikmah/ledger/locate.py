"""Where a ledger lives: finding the repository, naming the ledger's ref.

Rules the module keeps:

1. A store is any git repository; a folder that holds `.hikmah/` (a bare repository) is one
   too, and wins over `.git` beside it.
2. An explicit path must be a store itself; without one, the nearest folder upwards counts.
3. Linked worktrees share their repository's common folder; a submodule has its own.
4. Nothing of a surrounding `GIT_DIR` or the like is read.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from hikmah.errors import InvalidInputError, NotFoundError, StoreError
from hikmah.ledger.refs import StrPath

if TYPE_CHECKING:
    from pathlib import Path

STANDALONE = ".hikmah"
DEFAULT_LEDGER = "memory"
LEDGERS = "refs/hikmah/"
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_LATER = _FIRST | frozenset("._-")
MAX_NAME_CHARS = 64


class Repository(Struct, frozen=True):
    """A repository that was found.

    `git_dir` holds objects, refs and config (shared by linked worktrees); `folder` is the one
    a person would name: the work tree, the folder of `.hikmah/`, or a bare repository. Both
    are texts, since questions do without pathlib, and paths for who writes.
    """

    git_dir: str
    folder: str

    @property
    def common_dir(self) -> Path:
        """The folder of objects, refs and config."""
        from pathlib import Path  # see above

        return Path(self.git_dir)

    @property
    def root(self) -> Path:
        """The folder a person would name."""
        from pathlib import Path  # see above

        return Path(self.folder)


def is_ledger_name(name: str) -> bool:
    """Tell whether a ledger may be called so: safe in a path, valid in a ref."""
    shaped = name[:1] in _FIRST and _LATER.issuperset(name) and len(name) <= MAX_NAME_CHARS
    return shaped and ".." not in name and not name.endswith((".", ".lock"))


def ledger_ref(name: str) -> str:
    """Return the ref of a ledger.

    Raises:
        InvalidInputError: The name could escape its folder or is not a valid ref.
    """
    if not is_ledger_name(name):
        shown = ascii(name if len(name) <= 80 else name[:80] + "...")
        raise InvalidInputError(
            f"{shown} is not a ledger name",
            hint="use 1 to 64 of a-z 0-9 . _ - that start with a letter or digit, as in `memory`",
            where="ledger",
        )
    return f"{LEDGERS}{name}"


def at(path: StrPath) -> Repository | None:
    """Return the store that a folder is or holds, or None."""
    folder = os.fspath(path)
    own = os.path.join(folder, STANDALONE)
    if is_git_dir(own):
        return Repository(own, folder)
    dot_git = os.path.join(folder, ".git")
    if os.path.isdir(dot_git) and is_git_dir(dot_git):
        return Repository(_common_dir(dot_git), folder)
    if os.path.isfile(dot_git):
        return Repository(_common_dir(_linked(dot_git)), folder)
    if is_git_dir(folder):
        return Repository(_common_dir(folder), folder)
    return None


def find(start: StrPath) -> Repository | None:
    """Return the nearest store at a folder or above it, or None."""
    folder, above = os.fspath(start), ""
    while folder != above:
        found = at(folder)
        if found is not None:
            return found
        folder, above = os.path.dirname(folder), folder
    return None


def explicit(path: StrPath) -> Repository:
    """Return the store at a path that somebody named.

    Raises:
        NotFoundError: Nothing is there, or what is there is no store.
    """
    found = at(path)
    if found is not None:
        return found
    from pathlib import Path  # an error shows the path without what says nothing in it

    shown = Path(path)
    if not shown.exists():
        raise NotFoundError(
            f"no store at {shown}: there is no such folder",
            hint="check the path, or make one with `hikmah --store PATH init`",
            where=str(shown),
        )
    above = find(shown)
    nearest = f"; the nearest store above it is {above.root}" if above else ""
    raise NotFoundError(
        f"no store at {shown}: neither a git repository nor a folder with {STANDALONE}/{nearest}",
        hint="name the repository's own folder, or make a store with `hikmah --store PATH init`",
        where=str(shown),
    )


def is_git_dir(path: StrPath) -> bool:
    """Tell whether a folder is a git folder: `HEAD`, `objects` and `refs` (or `commondir`)."""
    head, objects, refs, shared = (
        os.path.join(path, name) for name in ("HEAD", "objects", "refs", "commondir")
    )
    if not os.path.isfile(head) and not os.path.islink(head):
        return False
    return (os.path.isdir(objects) and os.path.exists(refs)) or os.path.isfile(shared)


def _linked(dot_git: str) -> str:
    """Follow a `.git` file, as worktrees and submodules have, to the git folder."""
    text = _text(dot_git)
    target = os.path.join(os.path.dirname(dot_git), text.removeprefix("gitdir:").strip())
    if not text.startswith("gitdir:") or not is_git_dir(target):
        raise StoreError(
            f"{dot_git} points at {target!r}, which is not a git folder",
            hint="repair the worktree with `git worktree repair`",
            where=dot_git,
        )
    return os.path.realpath(target)


def _common_dir(git_dir: str) -> str:
    """Return the folder that a git folder shares with its linked worktrees."""
    shared = os.path.join(git_dir, "commondir")
    if not os.path.isfile(shared):
        return git_dir
    return os.path.realpath(os.path.join(git_dir, _text(shared)))


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().strip()
