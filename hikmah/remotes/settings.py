"""Settings written into a repository's git configuration, one section at its end.

What stands there stays as it is, comments and order included; a value given later counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from hikmah.errors import BusyError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.locate import LEDGERS
from hikmah.remotes.naming import TRACKING, Remote, default_remote


def refspec_of(name: str) -> str:
    """Return what brings a remote's ledgers to their tracking refs, forward only (no `+`)."""
    return f"{LEDGERS}*:{TRACKING}{name}/*"


def follow(store: GitStore, name: str) -> bool:
    """Let a plain `git fetch` of a named remote bring its ledgers to their tracking refs.

    Returns:
        False when it did so already.
    """
    refspec = refspec_of(name)
    if refspec in store.settings("remote", name, "fetch"):
        return False
    add_settings(store, "remote", name, [("fetch", refspec)])
    return True


def make_default(store: GitStore, remote: Remote) -> bool:
    """Make a remote the one that is meant when none is named, unless one is set already.

    Returns:
        False when nothing had to be, or could be, changed.
    """
    if store.settings("hikmah", None, "remote") or default_remote(store.settings) == remote.kept:
        return False
    add_settings(store, "hikmah", None, [("remote", remote.kept)])
    return True


def add_settings(
    store: GitStore, section: str, sub: str | None, pairs: Sequence[tuple[str, str]]
) -> None:
    """Add a section with some values to the end of a repository's configuration.

    Raises:
        BusyError: Another program is changing it.
        StoreError: It cannot be written.
    """
    path = store.common_dir / "config"
    lock = path.with_name("config.lock")
    header = f"[{section}]" if sub is None else f"[{section} {_quoted(sub)}]"
    lines = [header, *(f"\t{key} = {_quoted(value)}" for key, value in pairs)]
    try:
        text = path.read_bytes() if path.exists() else b""
        if text and not text.endswith(b"\n"):
            text += b"\n"
        durable.write_new(lock, text + ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
        try:
            if path.exists():
                lock.chmod(path.stat().st_mode & 0o777)
            durable.replace(lock, path)
        except OSError:
            durable.unlink(lock)
            raise
        durable.sync_folder(path.parent)
    except FileExistsError as e:
        raise BusyError(
            f"{lock} is there: another program is changing git's configuration",
            hint=f"when no git program is running, remove it: {lock}",
            where=str(lock),
        ) from e
    except OSError as e:
        raise StoreError(f"cannot change {path}: {e.strerror or e}", where=str(path)) from e


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
