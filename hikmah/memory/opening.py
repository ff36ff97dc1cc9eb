"""Finding or making the store that a `Memory` works on.

Rules the module keeps:

1. A store that is named must be there (but for `init`): a mistyped path is an error.
2. Without a name, the nearest store upwards counts; `HIKMAH_STORE` and `HIKMAH_LEDGER` name
   one in the environment.
3. The work tree is never touched; a standalone store inside one is put into git's own
   `info/exclude`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hikmah.errors import NotFoundError, StoreError
from hikmah.ledger import locate
from hikmah.ledger.gitstore import GitStore, init_bare
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.locate import DEFAULT_LEDGER, STANDALONE, Repository
from hikmah.ledger.refs import StrPath
from hikmah.model import policy as policies
from hikmah.model.policy import Policy

if TYPE_CHECKING:
    from pathlib import Path

    from hikmah.ledger.chain import Genesis

OLDER_FILE = "memory.jsonl"


def find_ledger(
    store: StrPath | None,
    name: str | None,
    *,
    environ: Mapping[str, str],
    cwd: str,
) -> Ledger | None:
    """Return the ledger that is meant (whether or not it has a genesis), or None.

    Raises:
        NotFoundError: A store that was named is not there.
        InvalidInputError: The ledger's name is not one.
    """
    chosen = ledger_name(name, environ)
    locate.ledger_ref(chosen)
    named = _named(store, environ)
    if named is not None:
        repository: Repository | None = locate.explicit(os.path.join(cwd, named))
    else:
        repository = locate.find(cwd)
    if repository is None:
        return None
    return Ledger(GitStore(repository, environ=environ), chosen)


def ledger_name(given: str | None, environ: Mapping[str, str]) -> str:
    """Return the name of the ledger that is meant: given, the environment's, or `memory`."""
    return given or environ.get("HIKMAH_LEDGER") or DEFAULT_LEDGER


def _named(store: StrPath | None, environ: Mapping[str, str]) -> StrPath | None:
    """Return the store that somebody named, or None when it is to be looked for."""
    return store if store is not None else environ.get("HIKMAH_STORE") or None


def no_store(cwd: str) -> NotFoundError:
    """Return the error for a folder with no store at it or above it."""
    return NotFoundError(
        f"no store in {cwd} or above it",
        hint="make one with `hikmah init`, take a remote's with `hikmah clone URL`, or name one "
        "with --store PATH",
        where=str(cwd),
    )


def make_standalone(place: StrPath, algorithm: str = "sha1") -> Repository:
    """Make a bare repository at `<folder>/.hikmah`, or return the one that is there.

    Inside a work tree it is added to `.git/info/exclude`, so that `git status` stays clean.

    Raises:
        StoreError: The disk refused.
    """
    from pathlib import Path  # questions make nothing

    folder = Path(place)
    path = folder / STANDALONE
    surrounding = locate.find(folder)
    try:
        if not locate.is_git_dir(path):
            folder.mkdir(parents=True, exist_ok=True)
            init_bare(path, algorithm)
        if surrounding is not None and (surrounding.root / ".git").exists():
            _exclude(surrounding)
    except OSError as e:
        raise StoreError(
            f"cannot make a store at {path}: {e.strerror or e}", where=str(path)
        ) from e
    return Repository(str(path), str(folder))


def unmake(repository: Repository) -> None:
    """Take a bare repository away that this call made.

    Raises:
        StoreError: The disk refused.
    """
    import shutil  # only what failed is taken back

    try:
        shutil.rmtree(repository.common_dir)
    except OSError as e:
        raise StoreError(
            f"cannot take back {repository.common_dir}: {e.strerror or e}",
            where=str(repository.common_dir),
        ) from e


def _exclude(surrounding: Repository) -> None:
    """Add `.hikmah/` to the exclusions of the repository around, once."""
    from hikmah.ledger import durable

    path = surrounding.common_dir / "info" / "exclude"
    line = f"{STANDALONE}/"
    text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
    if line in text.splitlines():
        return
    path.parent.mkdir(exist_ok=True)
    ending = "" if not text or text.endswith("\n") else "\n"
    durable.append(path, f"{ending}{line}\n".encode())


def older_ledger(root: Path) -> tuple[str, ...]:
    """Return what to tell of a ledger file of the system that came before, when one is there."""
    if not (root / STANDALONE / OLDER_FILE).is_file():
        return ()
    name = f"{STANDALONE}/{OLDER_FILE}"
    told = (
        f"{name} is the ledger of an older version, which is not read; take it in with"
        f" `hikmah import {name} --from hikmah-jsonl` (--dry-run looks first)"
    )
    return (told,)


def new_genesis(name: str, *, now_ms: int) -> Genesis:
    """Return the first word of a new ledger, with an id of its own."""
    import uuid  # only a new ledger needs these

    from hikmah.ledger.chain import FORMAT, Genesis

    return Genesis(format=FORMAT, ledger=uuid.uuid4().hex, name=name, created_at_ms=now_ms)


def place_for(
    store: StrPath | None,
    *,
    standalone: bool,
    environ: Mapping[str, str],
    cwd: str,
) -> tuple[Repository, bool]:
    """Return the repository that `init` works in, made when it must be, and whether it was.

    A git repository at the folder (or, when none is named, above it) is used as it is; else,
    or with `standalone`, a bare `.hikmah/` is made in the folder.
    """
    named = _named(store, environ)
    folder = cwd if named is None else os.path.join(cwd, named)
    there = locate.find(folder) if named is None else locate.at(folder)
    if there is not None and not (standalone and there.common_dir.name != STANDALONE):
        return there, False
    return make_standalone(folder), True


def load_policy(given: Policy | StrPath | None, environ: Mapping[str, str], cwd: str) -> Policy:
    """Return the policy in force: one that was given, a file's, the environment's, the defaults.

    Raises:
        NotFoundError: The file is not there.
        InvalidInputError: It does not hold a policy.
    """
    if isinstance(given, Policy):
        return given
    named = given if given is not None else environ.get("HIKMAH_POLICY") or None
    if named is None:
        return policies.DEFAULTS
    from pathlib import Path  # most runs have no policy of their own

    path = Path(cwd, named)
    try:
        data = path.read_bytes()
    except OSError as e:
        raise NotFoundError(
            f"cannot read the policy {path}: {e.strerror or e}",
            hint="`hikmah policy --print-defaults` prints one to start from",
            where=str(path),
        ) from e
    return policies.parse(data, str(path))
