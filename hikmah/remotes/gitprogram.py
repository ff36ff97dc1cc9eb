"""The road through the `git` program: what the user's git can reach, this can.

Rules the module keeps:

1. Credentials come from git's own configuration (`credential.helper`, `core.sshCommand`, ssh's
   config). Nobody is asked: no terminal, no `askpass` program, no ssh question.
2. Nothing of the surrounding `GIT_*` counts, no hook of the repository runs, no maintenance
   starts, and settings that would push or fetch more than one ref are switched off.
3. Answers are data (ids from `ls-remote`, flags of `--porcelain`, exit codes). What git says
   in words is passed on to a person, never read.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from hikmah.errors import HikmahError, NotFoundError, RemoteError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.locate import LEDGERS
from hikmah.ledger.refs import clean_environment
from hikmah.model.secrets import mask
from hikmah.remotes.naming import TRACKING, shown, without_secrets
from hikmah.remotes.road import Patience, Pushed, Watch, check_heads
from hikmah.remotes.running import Finished, run

_REJECTED = 1  # `git push` exits so when a ref was not taken, and 128 when it failed
_SAID_CHARS = 2_000
_SERVER = "remote: "  # how git marks the lines that a server sent
_MAX_TIPS = 100
_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.fsync=all",
    "core.fsyncMethod=fsync",
    "core.askPass=",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.writeCommitGraph=false",
    "fetch.recurseSubmodules=false",
    "push.followTags=false",
    "push.gpgSign=false",
    "push.recurseSubmodules=no",
    "push.pushOption=",
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "advice.pushUpdateRejected=false",
)


def find_git(environ: Mapping[str, str]) -> str | None:
    """Return where the `git` program is, or None when PATH has none."""
    return shutil.which("git", path=environ.get("PATH", os.defpath))


class GitProgramRoad:
    """One remote, reached through `git`. Made by `hikmah.remotes.road.open_road`.

    Args:
        store: The repository at this end.
        url: The remote.
        program: The `git` program.
        environ: The surrounding environment.
        patience: How long to wait.
        watch: Told how a transfer is getting on.
    """

    def __init__(
        self,
        store: GitStore,
        url: str,
        program: str,
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
        self._program = program
        self._environ = quiet_environment(environ, ssh_command_of(store))

    def heads(self) -> dict[str, str]:
        """Ask which ledgers the remote has; see `Road.heads`."""
        # An answer is short: the whole of it may take no longer than a silence.
        done = self._git("ls-remote", "--refs", "--", self._url, f"{LEDGERS}*", brief=True)
        self._expect(done, "could not be asked")
        listed: dict[str, str] = {}
        for line in done.out.decode("utf-8", "replace").splitlines():
            oid, tab, ref = line.partition("\t")
            if not tab:
                raise RemoteError(f"{self.shown} answers what is no list of refs")
            listed[ref] = oid
        return check_heads(listed, self._store.algorithm, self.shown)

    def fetch(self, ref: str) -> str:
        """Bring what a ref of the remote reaches; see `Road.fetch`."""
        head = self.heads().get(ref)
        if head is None:
            raise NotFoundError(
                f"{self.shown} has no {ref}", hint="`hikmah push` brings it there", where=ref
            )
        tips = [f"--negotiation-tip={tip}" for tip in tips_of(self._store, ref)]
        done = self._git(
            "fetch",
            "--progress",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-gc",
            "--no-prune",
            "--no-recurse-submodules",
            "--refmap=",
            *tips,
            "--",
            self._url,
            head,
        )
        self._expect(done, "could not be fetched from")
        self._store.close()  # packs have come that were not there when it looked
        sync_folders(self._store.objects_dir)
        return head

    def push(self, ref: str, new: str, expected_old: str | None) -> Pushed:
        """Offer a commit as the new value of a remote's ref; see `Road.push`."""
        done = self._git(
            "push",
            "--porcelain",
            "--progress",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            "--",
            self._url,
            f"{new}:{ref}",
        )
        flags = _flags(done.out)
        rejected = [said for flag, said in flags if flag == "!"]
        if done.code == 0 and flags and not rejected:
            return Pushed(kind="done", now=new)
        if done.code != _REJECTED or not rejected:
            self._expect(done._replace(code=done.code or -1), "could not be pushed to")
        now = self.heads().get(ref)
        if now == new:
            return Pushed(kind="done", now=new)  # somebody else brought the same commit
        if now != expected_old:
            return Pushed(kind="moved", now=now)
        # The server's words, without git's own talk of the transfer around them.
        words = [line for line in done.said.split("\n") if line.startswith(_SERVER)]
        return Pushed(kind="refused", now=now, reason=self._clear([*rejected, *words]))

    # ---- running git -------------------------------------------------------------------

    def _git(self, *words: str, brief: bool = False) -> Finished:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        folder = self._store.common_dir
        return run(
            [self._program, f"--git-dir={folder}", *settings, *words],
            environ=self._environ,
            cwd=folder,
            idle_s=self._patience.idle_s,
            total_s=self._patience.idle_s if brief else self._patience.total_s,
            watch=None if self._watch is None else self._tell,
        )

    def _tell(self, line: str) -> None:
        if self._watch is not None:
            self._watch(without_secrets(line, self._url))

    def _expect(self, done: Finished, failed: str) -> None:
        """Raise unless git ended well."""
        if done.code == 0:
            return
        said = self._said(done)
        raise RemoteError(
            f"{self.shown} {failed} (git ended with {done.code})" + (f": {said}" if said else ""),
            hint="check the address and your access to it with `git ls-remote`",
            where=self.shown,
        )

    def _said(self, done: Finished) -> str:
        """Return what git said, for a person."""
        return self._clear(done.said.split("\n"))

    def _clear(self, lines: Sequence[str]) -> str:
        """Return lines as one, with nothing secret in it, and not without end."""
        text = "; ".join(filter(None, (line.strip() for line in lines)))
        return mask(without_secrets(text, self._url))[-_SAID_CHARS:]


def quiet_environment(environ: Mapping[str, str], ssh_command: str) -> dict[str, str]:
    """Return an environment in which git and what it starts ask nobody anything."""
    kept = {
        key: value
        for key, value in clean_environment(environ).items()
        if key not in {"SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY"}
    }
    return kept | {
        "GIT_ASKPASS": "",  # nothing to start; credential helpers are asked before
        "GCM_INTERACTIVE": "never",
        "GIT_SSH_COMMAND": ssh_command,
        "SSH_ASKPASS_REQUIRE": "never",
    }


def ssh_command_of(store: GitStore) -> str:
    """Return the ssh command of git's configuration, told to ask nothing when it is ssh."""
    configured = (store.settings("core", None, "sshCommand") or ("ssh",))[-1] or "ssh"
    try:
        program = Path(shlex.split(configured)[0]).name
    except (ValueError, IndexError):
        return configured
    if program not in {"ssh", "ssh.exe"}:
        return configured
    return f"{configured} -o BatchMode=yes -o ConnectTimeout=20"


def _flags(out: bytes) -> list[tuple[str, str]]:
    """Return flag and summary of each ref that `git push --porcelain` lists."""
    rows = [line.split("\t") for line in out.decode("utf-8", "replace").splitlines()]
    return [(row[0], row[-1]) for row in rows if len(row) > 1]


def tips_of(store: GitStore, ref: str) -> list[str]:
    """Return the commits of one ledger here: what is offered as known when it is fetched.

    A remote names the refs that a plain fetch makes here, as many as it likes and in ways
    that no ledger is called: what is not this ledger's is not looked at.
    """
    name = ref.removeprefix(LEDGERS)
    tracked = [one for one in store.refs_below(TRACKING) if one.endswith(f"/{name}")]
    tips = [_held(store, one) for one in (ref, *tracked[:_MAX_TIPS])]
    return sorted({tip for tip in tips if tip is not None and store.has(tip)})


def _held(store: GitStore, ref: str) -> str | None:
    """Return what a ref holds; None for one that says nothing: the fetch is only longer."""
    try:
        return store.ref(ref)
    except HikmahError:
        return None


def sync_folders(objects: Path) -> None:
    """Sync the folders of objects: git syncs files, and names get lost with their folder."""
    try:
        for folder in (objects, *(path for path in objects.iterdir() if path.is_dir())):
            durable.sync_folder(folder)
    except OSError as e:
        raise StoreError(f"cannot sync {objects}: {e.strerror or e}", where=str(objects)) from e
