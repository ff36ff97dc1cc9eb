"""A road to one remote: ask for its heads, bring objects, offer a new head.

Rules the module keeps:

1. A road moves no ref of this repository, runs none of its hooks, and never forces: what it
   offers a remote is taken as a fast-forward or not at all.
2. Only `refs/hikmah/*` is asked for and offered.
3. What a remote answers is data. A refusal is a value (`Pushed`); what cannot be reached or
   understood in bounded time is a `RemoteError`.
4. A road believes nothing: what it brought is verified by whoever asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from hikmah.errors import RefusedError, RemoteError
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.locate import LEDGERS
from hikmah.ledger.refs import OID_LENGTHS
from hikmah.remotes.naming import check_url

IDLE_S = 60.0
TOTAL_S = 3_600.0
_ALGORITHMS = {length: name for name, length in OID_LENGTHS.items()}
_HEX_DIGITS = frozenset("0123456789abcdef")

# Called with a line that tells a person how a transfer is getting on.
Watch = Callable[[str], None]


class Patience(NamedTuple):
    """How long to wait: without a sign of life, and for one errand in all, in seconds."""

    idle_s: float = IDLE_S
    total_s: float = TOTAL_S


class Pushed(Struct, frozen=True, kw_only=True):
    """What a remote made of a push.

    `done`: its ref holds the new head. `moved`: it holds something else than was expected,
    namely `now` (None: no such ref). `refused`: it said no, and `reason` is what it said.
    """

    kind: Literal["done", "moved", "refused"]
    now: str | None = None
    reason: str = ""


class Road(Protocol):
    """One remote, reached in one way."""

    @property
    def shown(self) -> str:
        """The remote's address without anything secret."""
        ...

    def heads(self) -> dict[str, str]:
        """Ask which ledgers the remote has: full ref name to commit.

        Raises:
            RemoteError: It could not be reached, or answered nonsense.
            RefusedError: It names objects by another hash than this repository.
        """
        ...

    def fetch(self, ref: str) -> str:
        """Bring what a ref of the remote reaches; return the commit it holds.

        The objects are on disk, synced, when this returns. No ref moves, so that they may
        be pruned again unless one is set to them.

        Raises:
            NotFoundError: The remote has no such ref.
            RemoteError, RefusedError: As for `heads`.
        """
        ...

    def push(self, ref: str, new: str, expected_old: str | None) -> Pushed:
        """Offer a commit of this repository as the new value of a remote's ref.

        Args:
            ref: Full ref name, the same on both sides.
            new: The commit; it must descend from `expected_old`.
            expected_old: What the remote's ref held when it was asked; None: it was not there.

        Raises:
            RemoteError: It could not be reached, or answered nonsense.
        """
        ...


def open_road(
    store: GitStore,
    url: str,
    *,
    environ: Mapping[str, str],
    patience: Patience | None = None,
    watch: Watch | None = None,
) -> Road:
    """Return the road to a remote: through the `git` program, or dulwich where there is none.

    Args:
        store: The repository at this end.
        url: The remote, as `hikmah.remotes.naming` gives it.
        environ: The surrounding environment; its `GIT_*` variables are left out.
        patience: How long to wait.
        watch: Told how a transfer is getting on.

    Raises:
        InvalidInputError: An address that is none, or that could run a program.
    """
    from hikmah.remotes.dulwichroad import DulwichRoad
    from hikmah.remotes.gitprogram import GitProgramRoad, find_git

    check_url(url)
    program = find_git(environ)
    patience = patience or Patience()
    if program is None:
        return DulwichRoad(store, url, environ=environ, patience=patience, watch=watch)
    return GitProgramRoad(store, url, program, environ=environ, patience=patience, watch=watch)


def check_heads(listed: Mapping[str, str], algorithm: str, where: str) -> dict[str, str]:
    """Return the ledgers among the refs that a remote listed, sorted by name.

    Raises:
        RemoteError: An id is none.
        RefusedError: The remote uses another hash.
    """
    heads = {ref: oid for ref, oid in sorted(listed.items()) if ref.startswith(LEDGERS)}
    for ref, oid in heads.items():
        if not _HEX_DIGITS.issuperset(oid) or len(oid) not in _ALGORITHMS:
            raise RemoteError(f"{where} answers {oid[:80]!r} as the value of {ref[:80]!r}")
        if _ALGORITHMS[len(oid)] != algorithm:
            raise OtherFormatError(_ALGORITHMS[len(oid)], algorithm, where)
    return heads


class OtherFormatError(RefusedError):
    """A remote names its objects by another hash (`theirs`) than this repository."""

    def __init__(self, theirs: str, ours: str, where: str) -> None:
        super().__init__(
            f"{where} names objects by {theirs}, this repository by {ours}: they cannot be joined",
            hint="carry the records over: `hikmah export --to jsonl` there, `hikmah import` here",
            where=where,
        )
        self.theirs = theirs
