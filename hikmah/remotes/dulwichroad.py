"""The road without a `git` program: dulwich's client, in a process of its own.

Rules the module keeps:

1. A client that waits on a socket can be ended only from outside, so each errand is a process
   (`hikmah.remotes.errand`), bounded and ended as a `git` program is. It has no terminal.
2. The address goes to it on standard input, so that no list of processes shows a password.
3. What it can do less than git: credentials come from the URL or a `credential.helper` of
   the kind `store`; `http.*`, proxies in git's configuration and `insteadOf` do not count; a
   push of SHA-256 objects over a connection is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from hikmah.errors import NotFoundError, RemoteError
from hikmah.ledger.gitstore import GitStore
from hikmah.model.secrets import mask
from hikmah.remotes.gitprogram import quiet_environment, ssh_command_of, sync_folders, tips_of
from hikmah.remotes.naming import shown, without_secrets
from hikmah.remotes.road import OtherFormatError, Patience, Pushed, Watch, check_heads
from hikmah.remotes.running import run

_PACKAGES = Path(__file__).resolve().parents[2]
_SAID_CHARS = 2_000


class Errand(Struct, frozen=True, kw_only=True):
    """What the process is to do: `heads`, `fetch` or `push`."""

    kind: str
    git_dir: str
    url: str
    ssh_command: str
    ref: str = ""
    new: str = ""
    tips: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """What came of an errand.

    `heads` and `algorithm` are the remote's; `head` is what was fetched, or what the remote's
    ref held after a push that was not taken; `refused` is why it was not.
    """

    heads: dict[str, str] = {}
    algorithm: str | None = None
    head: str | None = None
    done: bool = False
    moved: bool = False
    refused: str = ""
    failed: str = ""


class DulwichRoad:
    """One remote, reached through dulwich. Made by `hikmah.remotes.road.open_road`.

    Args:
        store: The repository at this end.
        url: The remote.
        environ: The surrounding environment.
        patience: How long to wait.
        watch: Told how a transfer is getting on.
    """

    def __init__(
        self,
        store: GitStore,
        url: str,
        *,
        environ: Mapping[str, str],
        patience: Patience,
        watch: Watch | None = None,
    ) -> None:
        self.shown = shown(url)
        self._store = store
        self._url = url
        self._patience = patience
        self._watch = watch
        self._ssh_command = ssh_command_of(store)
        self._environ = quiet_environment(environ, self._ssh_command) | {
            "PYTHONPATH": str(_PACKAGES),
            "PYTHONUTF8": "1",
        }

    def heads(self) -> dict[str, str]:
        """Ask which ledgers the remote has; see `Road.heads`."""
        answer = self._ask("heads", brief=True)
        if answer.heads and answer.algorithm not in {None, self._store.algorithm}:
            raise OtherFormatError(str(answer.algorithm), self._store.algorithm, self.shown)
        return check_heads(answer.heads, self._store.algorithm, self.shown)

    def fetch(self, ref: str) -> str:
        """Bring what a ref of the remote reaches; see `Road.fetch`."""
        if ref not in self.heads():
            raise NotFoundError(
                f"{self.shown} has no {ref}", hint="`hikmah push` brings it there", where=ref
            )
        answer = self._ask("fetch", ref=ref, tips=tuple(tips_of(self._store, ref)))
        self._store.close()  # packs have come that were not there when it looked
        sync_folders(self._store.objects_dir)
        if answer.head is None or not self._store.has(answer.head):
            raise RemoteError(f"{self.shown} did not send what {ref} holds")
        return answer.head

    def push(self, ref: str, new: str, expected_old: str | None) -> Pushed:
        """Offer a commit as the new value of a remote's ref; see `Road.push`."""
        answer = self._ask("push", ref=ref, new=new)
        if answer.done:
            return Pushed(kind="done", now=new)
        if answer.moved or answer.head != expected_old:
            return Pushed(kind="moved", now=answer.head)
        return Pushed(kind="refused", now=answer.head, reason=self._clear(answer.refused))

    def _ask(
        self,
        kind: str,
        *,
        ref: str = "",
        new: str = "",
        tips: tuple[str, ...] = (),
        brief: bool = False,
    ) -> Answer:
        errand = Errand(
            kind=kind,
            git_dir=str(self._store.common_dir),
            url=self._url,
            ssh_command=self._ssh_command,
            ref=ref,
            new=new,
            tips=tips,
            stores=self._store.settings("credential", None, "helper"),
        )
        done = run(
            [sys.executable, "-P", "-m", "hikmah.remotes.errand"],
            environ=self._environ,
            cwd=self._store.common_dir,
            idle_s=self._patience.idle_s,
            total_s=self._patience.idle_s if brief else self._patience.total_s,
            watch=self._watch,
            given=msgspec.json.encode(errand),
        )
        try:
            answer = msgspec.json.decode(done.out, type=Answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as e:
            said = self._clear(done.said)
            raise RemoteError(f"{self.shown} could not be reached: {said or e}") from e
        if answer.failed:
            raise RemoteError(
                f"{self.shown} could not be reached: {self._clear(answer.failed)}",
                hint="check the address and your access; a git program can reach more",
                where=self.shown,
            )
        return answer

    def _clear(self, text: str) -> str:
        return mask(without_secrets(text, self._url))[-_SAID_CHARS:].strip()
