"""Putting the guard into a repository as its `update` hook, and taking it out.

Rules the module keeps:

1. A hook of somebody else's is never overwritten: installing refuses and says what line to
   add, or, when asked to chain, gives it a second name, untouched, takes its first name in
   one step, and calls it first. At no moment is there no hook.
2. Installing twice is installing once. What is written carries a sum of itself, so that a
   hook that was changed by hand is told from ours and left alone.
3. Uninstalling gives back the hook from before, to the byte.
4. The hook names this Python and this package by absolute paths and takes nothing from the
   environment of whoever pushes. When either is gone it refuses to move a ledger, and
   lets every other ref pass.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from hikmah.errors import RefusedError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.chain import plain
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.refs import clean_environment

HOOK = "update"
CHAINED = "update.before-hikmah"
_TRY_S = 60
_MARK = "# hikmah guard 1 "
Outcome = Literal["installed", "renewed", "already", "removed", "absent"]

# Python starts isolated (-I): neither PYTHON* variables nor the current folder count.
_SCRIPT = """\
# Judges pushes to ledgers (refs/hikmah/*). Written by `hikmah guard install`; take it out
# with `hikmah guard uninstall`.
python={python}
package={package}
{chain}case "$1" in
refs/heads/* | refs/tags/*)
    link=
    if [ -f "${{GIT_DIR:-.}}/$1" ]; then read -r link <"${{GIT_DIR:-.}}/$1" || :; fi
    case "$link" in ref:*) ;; *) exit 0 ;; esac
    ;;
esac
if [ ! -x "$python" ]; then
    echo "hikmah guard: $python is gone; refusing to move $1 until" \\
        "\\`hikmah guard install\\` is run again in this repository" >&2
    exit 1
fi
exec "$python" -I -c '
import sys
sys.path.insert(0, sys.argv[1])
try:
    from hikmah.remotes.updatehook import main
except ImportError as e:
    sys.exit(
        f"hikmah guard: hikmah cannot be imported ({{e}}); refusing to move {{sys.argv[3]}} until"
        " `hikmah guard install` is run again in this repository"
    )
sys.exit(main(sys.argv[2:]))
' "$package" "${{GIT_DIR:-.}}" "$1" "$2" "$3"
"""
_CHAIN = """\
before="${{GIT_DIR:-.}}/hooks/{before}"
if [ ! -f "$before" ]; then
    echo "hikmah guard: $before, which is called first, is gone; refusing until" \\
        "\\`hikmah guard install\\` is run again in this repository" >&2
    exit 1
fi
if [ -x "$before" ]; then "$before" "$@" || exit; fi
"""
_LINE = 'hikmah guard check --ref "$1" -- "$2" "$3" || exit 1'


class Guarded(NamedTuple):
    """What was done to a repository's hook, and where it is."""

    outcome: Outcome
    path: str
    chained: bool
    note: str = ""


def install(store: GitStore, *, environ: Mapping[str, str], chain: bool = False) -> Guarded:
    """Make the guard a repository's `update` hook.

    Args:
        store: The repository that is pushed to.
        environ: The surrounding environment, to try the hook in.
        chain: Whether to keep a hook that is there and call it first.

    Raises:
        RefusedError: There is a hook of somebody else's, or git looks for hooks elsewhere.
        StoreError: The disk refused, or the hook does not run here.
    """
    path = _hook_path(store)
    before = path.with_name(CHAINED)
    was = _read(path)
    _try(store, environ)
    if was is None or is_ours(was):
        chained = _is_there(before)
        script = hook_script(chained=chained)
        if was == script and _is_executable(path):
            return Guarded("already", str(path), chained)
        _write(path, script)
        return Guarded("renewed" if was else "installed", str(path), chained)
    _refuse_foreign(path, was, before, chain=chain)
    _set_aside(path, before)
    _write(path, hook_script(chained=True))
    return Guarded("installed", str(path), chained=True)


def uninstall(store: GitStore) -> Guarded:
    """Take the guard out and put back what was there before.

    Raises:
        RefusedError: The guard's hook was changed by hand.
        StoreError: The disk refused.
    """
    path = _hook_path(store)
    before = path.with_name(CHAINED)
    was = _read(path)
    if was is None or not is_ours(was):
        if was is not None and _MARK.encode() in was:
            raise RefusedError(
                f"{path} was changed by hand since it was installed",
                hint="take out by hand what should go",
                where=str(path),
            )
        return Guarded("absent", str(path), _is_there(before))
    chained = _is_there(before)
    try:
        if chained:
            durable.replace(before, path)
        else:
            durable.unlink(path)
        durable.sync_folder(path.parent)
    except OSError as e:
        raise _disk(path, e) from e
    return Guarded("removed", str(path), chained=False)


def hook_script(*, chained: bool) -> bytes:
    """Return the hook's text, for this Python and this package.

    Args:
        chained: Whether a hook that was there before is called first.
    """
    package = Path(__file__).resolve().parents[2]
    chain = _CHAIN.format(before=CHAINED) if chained else ""
    body = _SCRIPT.format(
        python=shlex.quote(sys.executable), package=shlex.quote(str(package)), chain=chain
    ).encode("utf-8", "surrogateescape")
    return b"#!/bin/sh\n%s%s\n%s" % (_MARK.encode(), _sum(body), body)


def is_ours(data: bytes) -> bool:
    """Tell whether a hook is one that `install` wrote, and nobody changed."""
    first, _, rest = data.partition(b"\n")
    mark, _, body = rest.partition(b"\n")
    return first == b"#!/bin/sh" and mark == _MARK.encode() + _sum(body)


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _hook_path(store: GitStore) -> Path:
    """Return where git looks for the hook.

    Raises:
        RefusedError: It looks in a folder that other repositories may share.
    """
    folder = store.common_dir / "hooks"
    elsewhere = store.settings("core", None, "hooksPath")
    if elsewhere or folder.is_symlink():
        where = elsewhere[-1] if elsewhere else str(folder.resolve())
        raise RefusedError(
            f"git looks for this repository's hooks in {where}, which others may share",
            hint=f"add this line to the `{HOOK}` hook there: {_LINE}",
            where=where,
        )
    return folder / HOOK


def _refuse_foreign(path: Path, was: bytes, before: Path, *, chain: bool) -> None:
    if _MARK.encode() in was:
        raise RefusedError(
            f"{path} was changed by hand since it was installed",
            hint="move it away and install again, or take your changes into a hook of your own",
            where=str(path),
        )
    if not chain:
        raise RefusedError(
            f"{path} is a hook of somebody else's",
            hint=f"add this line to it: {_LINE} ; or install with --chain, which calls it first",
            where=str(path),
        )
    if _is_there(before) and not _is_copy(path, before):
        raise RefusedError(
            f"{before} is there already",
            hint="look what it is and move it away first",
            where=str(before),
        )


def _set_aside(path: Path, before: Path) -> None:
    """Give a hook its second name; it keeps the first one until ours takes that over.

    What an installation that died in between left under that name is the same hook.
    """
    if _is_there(before):
        return
    temporary = before.with_name(f".{before.name}.hikmah")
    try:
        durable.unlink(temporary)
        try:
            os.link(path, temporary, follow_symlinks=False)
        except OSError:  # no hard links here, or none of symbolic links: a copy serves
            shutil.copy2(path, temporary, follow_symlinks=False)
        durable.replace(temporary, before)
        durable.sync_folder(before.parent)
    except OSError as e:
        raise _disk(before, e) from e


def _is_copy(path: Path, before: Path) -> bool:
    """Tell whether the second name holds the hook itself."""
    one, other = path.lstat(), before.lstat()
    return one.st_mode == other.st_mode and _read(path) == _read(before)


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & stat.S_IXUSR)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        # A link that leads nowhere is a hook of somebody else's, too.
        return b"" if path.is_symlink() else None
    except OSError as e:
        raise _disk(path, e) from e


def _write(path: Path, script: bytes) -> None:
    temporary = path.with_name(f".{path.name}.hikmah")
    try:
        durable.make_folder(path.parent)
        durable.unlink(temporary)
        durable.write_new(temporary, script, 0o777)
        durable.replace(temporary, path)
        durable.sync_folder(path.parent)
    except OSError as e:
        raise _disk(path, e) from e


def _try(store: GitStore, environ: Mapping[str, str]) -> None:
    """Run what the hook runs, without a hook that it calls first.

    Raises:
        StoreError: It would refuse every push, or does not run at all.
    """
    nothing = "0" * 40
    # Taking away what is not there: the one move of Hikmah's own refs that is always allowed.
    words = ["update", "refs/hikmah-remotes/self/test", nothing, nothing]
    shell = shutil.which("sh", path=environ.get("PATH")) or "sh"
    try:
        done = subprocess.run(  # noqa: S603  # our own script, no word of it from elsewhere
            [shell, "-c", hook_script(chained=False), *words],
            cwd=store.common_dir,
            env={**clean_environment(environ), "GIT_DIR": "."},
            capture_output=True,
            check=False,
            timeout=_TRY_S,
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        raise StoreError(f"the guard does not run: {e}", where=str(store.common_dir)) from e
    if done.returncode:
        said = plain(done.stderr.decode("utf-8", "replace"), 300)
        raise StoreError(f"the guard would refuse every push: {said}", where=str(store.common_dir))


def _disk(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot change {path}: {error.strerror or error}", where=str(path))
