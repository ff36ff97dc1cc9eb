"""Where a ledger lives: finding the repository, naming the ledger's ref.

Rules the module keeps:

1. A store is any git repository; a folder that holds `.hikmah/` (a bare repository) is one
   too, and wins over `.git` beside it.
2. An explicit path must be a store itself; without one, the nearest folder upwards counts.
3. Linked worktrees share their repository's common folder; a submodule has its own.
4. Nothing of a surrounding `GIT_DIR` or the like is read.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from hikmah.errors import InvalidInputError, NotFoundError, StoreError

STANDALONE = ".hikmah"
DEFAULT_LEDGER = "memory"
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_LATER = _FIRST | frozenset("._-")
MAX_NAME_CHARS = 64


class Repository(Struct, frozen=True):
    """A repository that was found.

    `common_dir` holds objects, refs and config (shared by linked worktrees); `root` is the
    folder a person would name: the work tree, the folder of `.hikmah/`, or a bare repository.
    """

    common_dir: Path
    root: Path


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
    return f"refs/hikmah/{name}"


def at(path: Path) -> Repository | None:
    """Return the store that a folder is or holds, or None."""
    own = path / STANDALONE
    if is_git_dir(own):
        return Repository(own, path)
    dot_git = path / ".git"
    if dot_git.is_dir() and is_git_dir(dot_git):
        return Repository(_common_dir(dot_git), path)
    if dot_git.is_file():
        return Repository(_common_dir(_linked(dot_git)), path)
    if is_git_dir(path):
        return Repository(_common_dir(path), path)
    return None


def find(start: Path) -> Repository | None:
    """Return the nearest store at a folder or above it, or None."""
    for folder in (start, *start.parents):
        found = at(folder)
        if found is not None:
            return found
    return None


def explicit(path: Path) -> Repository:
    """Return the store at a path that somebody named.

    Raises:
        NotFoundError: Nothing is there, or what is there is no store.
    """
    found = at(path)
    if found is not None:
        return found
    if not path.exists():
        raise NotFoundError(
            f"no store at {path}: there is no such folder",
            hint="check the path, or make one with `hikmah --store PATH init`",
            where=str(path),
        )
    above = find(path)
    nearest = f"; the nearest store above it is {above.root}" if above else ""
    raise NotFoundError(
        f"no store at {path}: neither a git repository nor a folder with {STANDALONE}/{nearest}",
        hint="name the repository's own folder, or make a store with `hikmah --store PATH init`",
        where=str(path),
    )


def is_git_dir(path: Path) -> bool:
    """Tell whether a folder is a git folder: `HEAD`, `objects` and `refs` (or `commondir`)."""
    if not (path / "HEAD").is_file() and not (path / "HEAD").is_symlink():
        return False
    shared = (path / "objects").is_dir() and (path / "refs").exists()
    return shared or (path / "commondir").is_file()


def _linked(dot_git: Path) -> Path:
    """Follow a `.git` file, as worktrees and submodules have, to the git folder."""
    text = dot_git.read_text(encoding="utf-8", errors="surrogateescape").strip()
    target = dot_git.parent / text.removeprefix("gitdir:").strip()
    if not text.startswith("gitdir:") or not is_git_dir(target):
        raise StoreError(
            f"{dot_git} points at {str(target)!r}, which is not a git folder",
            hint="repair the worktree with `git worktree repair`",
            where=str(dot_git),
        )
    return target.resolve()


def _common_dir(git_dir: Path) -> Path:
    """Return the folder that a git folder shares with its linked worktrees."""
    shared = git_dir / "commondir"
    if not shared.is_file():
        return git_dir
    text = shared.read_text(encoding="utf-8", errors="surrogateescape").strip()
    return (git_dir / text).resolve()
