"""The guard of a shared repository, by its path: no ledger need be at hand."""

from __future__ import annotations

import os
from pathlib import Path

from hikmah.errors import HikmahError, InvalidInputError
from hikmah.ledger import locate
from hikmah.ledger.gitstore import GitStore
from hikmah.remotes import guardhook
from hikmah.remotes.guard import Judgement, is_id, judge
from hikmah.remotes.guardhook import Guarded
from hikmah.remotes.updatehook import lines

__all__ = ["Guarded", "Judgement", "check", "install", "lines", "uninstall"]


def install(repository: str | Path, *, chain: bool = False) -> Guarded:
    """Install the guard; see `hikmah.remotes.guardhook.install`.

    Ledgers that stand in the repository already are examined: from then on they are trusted.
    """
    store = _store(repository)
    done = guardhook.install(store, environ=os.environ, chain=chain)
    return done._replace(note="; ".join(_doubtful(store)))


def uninstall(repository: str | Path) -> Guarded:
    """Take the guard out; see `hikmah.remotes.guardhook.uninstall`."""
    return guardhook.uninstall(_store(repository))


def check(repository: str | Path | None, *, ref: str, old: str, new: str) -> Judgement:
    """Judge a move of a ref by hand, as the hook does.

    Args:
        repository: Where the new objects are; None for the store that the present folder
            is in.
        ref: The full name of the ref.
        old: The full id that it has, zeros or nothing at all when it is not there.
        new: The full id that it shall have.

    Raises:
        InvalidInputError: An id is not a full one.
    """
    store = _store(repository)
    digits = 64 if store.algorithm == "sha256" else 40
    ids = [old or "0" * digits, new]
    for name, text in zip(("OLD", "NEW"), ids, strict=True):
        if not is_id(text) or len(text) != digits:
            raise InvalidInputError(
                f"{name} is {text[:80]!a}, not a full object id of {digits} digits",
                hint="`git rev-parse REF` prints one; zeros stand for a ref that is not there",
                where=name,
            )
    return judge(store, ref, *ids)


def _store(repository: str | Path | None) -> GitStore:
    if repository is not None:
        found = locate.explicit(Path(repository).absolute())
    else:
        nearest = locate.find(Path.cwd())
        found = nearest or locate.explicit(Path.cwd())
    return GitStore(found, environ=os.environ)


def _doubtful(store: GitStore) -> list[str]:
    """Say which ledgers that stand already would not get in now."""
    zeros = "0" * (64 if store.algorithm == "sha256" else 40)

    refs = store.refs_below(locate.LEDGERS)
    return [f"{ref}: {why}" for ref in refs if (why := _reason(store, ref, zeros))]


def _reason(store: GitStore, ref: str, zeros: str) -> str:
    try:
        found = judge(store, ref, zeros, store.ref(ref) or zeros)
    except HikmahError as e:
        return e.message
    count = len(found.problems)
    return found.reason + (f" ({count} problem{'s' * (count > 1)})" if count else "")
