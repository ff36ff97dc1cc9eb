"""Every transport, with the `git` program and with dulwich alone: real servers on loopback."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hikmah.errors import NotFoundError, RefusedError, RemoteError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.ledger import Ledger
from hikmah.remotes import beside
from hikmah.remotes.dulwichroad import DulwichRoad
from hikmah.remotes.gitprogram import GitProgramRoad
from hikmah.remotes.road import Patience, Road, open_road
from tests import world
from tests.remotes import servers
from tests.remotes.roads import copy_of, refs, tip

REF = world.REF
PASSWORD = "pass-w0rd/of:tester@home"
QUOTED = "pass-w0rd%2Fof%3Atester%40home"
TRANSPORTS = ("path", "daemon", "http", "ssh")


class Travel:
    """A way to a bare repository: its address, and who takes it."""

    def __init__(self, url: str, program: str, ssh: str | None, hidden: Path) -> None:
        self.url = url
        self.program = program
        self._ssh = ssh
        self._hidden = hidden

    def road(self, ledger: Ledger, url: str | None = None, *, idle_s: float = 30) -> Road:
        """Open the road from a ledger's repository."""
        if self._ssh is not None:
            world.git(ledger.store.common_dir, "config", "core.sshCommand", self._ssh)
        environ = world.environment(ledger.store.common_dir)
        if self.program == "dulwich":
            environ["PATH"] = str(self._hidden)
        patience = Patience(idle_s, idle_s * 4)
        made = open_road(ledger.store, url or self.url, environ=environ, patience=patience)
        assert isinstance(made, DulwichRoad if self.program == "dulwich" else GitProgramRoad)
        return made


@pytest.fixture(params=["git", "dulwich"])
def program(request: pytest.FixtureRequest) -> str:
    """Return which program carries the objects."""
    return str(request.param)


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """Return a PATH with ssh and without git."""
    folder = tmp_path / "bin"
    folder.mkdir()
    ssh = shutil.which("ssh")
    if ssh is not None:
        (folder / "ssh").symlink_to(ssh)
    assert shutil.which("git", path=str(folder)) is None
    return folder


@pytest.fixture(params=TRANSPORTS)
def travel(
    request: pytest.FixtureRequest, program: str, hidden: Path, bare: Path, tmp_path: Path
) -> Iterator[Travel]:
    """Return a way to the remote over each transport."""
    world.git(bare, "config", "http.receivepack", "true")
    if request.param == "ssh" and servers.no_sshd():
        pytest.skip(servers.no_sshd())
    with ExitStack() as stack:
        ssh = None
        if request.param == "path":
            url = str(bare)
        elif request.param == "daemon":
            url = f"{stack.enter_context(servers.daemon(bare.parent))}/remote.git"
        elif request.param == "http":
            address = stack.enter_context(servers.http_server(bare.parent, PASSWORD))
            url = f"{address.replace('://', f'://tester:{QUOTED}@')}/remote.git"
        else:
            address, ssh = stack.enter_context(servers.ssh_server(tmp_path / "sshd"))
            url = f"{address}{bare}"
        yield Travel(url, program, ssh, hidden)


class TestErrands:
    """Heads, push, fetch, whatever carries them."""

    def test_a_ledger_travels(
        self, travel: Travel, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """Whole the first time, then what is new; nothing but its ref is there."""
        assert travel.road(here).heads() == {}
        assert travel.road(here).push(REF, tip(here), None).kind == "done"
        assert refs(bare) == {REF: tip(here)}
        there = world.ledger(world.repository(tmp_path / "there"), started=False)
        assert travel.road(there).fetch(REF) == tip(here)
        before = tip(here)
        world.put(here, *(f"record {n}" for n in range(60)))
        assert travel.road(here).push(REF, tip(here), before).kind == "done"
        world.git(there.store.common_dir, "update-ref", REF, before)
        assert travel.road(there).fetch(REF) == tip(here)
        world.git(there.store.common_dir, "fsck", "--strict", tip(here))
        world.git(bare, "fsck", "--strict")
        assert refs(there.store.common_dir) == {REF: before}, "no ref moved"

    def test_another_machine_was_first(
        self, travel: Travel, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """A value with the commit that stands there; the remote is as it was."""
        travel.road(here).push(REF, tip(here), None)
        before = tip(here)
        there = copy_of(here, tmp_path / "there")
        world.put(there, "there")
        travel.road(there).push(REF, tip(there), before)
        world.put(here, "here")
        pushed = travel.road(here).push(REF, tip(here), before)
        assert (pushed.kind, pushed.now) == ("moved", tip(there))
        assert refs(bare) == {REF: tip(there)}

    def test_a_push_is_never_forced(self, travel: Travel, here: Ledger, bare: Path) -> None:
        """Not even to what was there a moment ago."""
        first = tip(here)
        world.put(here, "three")
        travel.road(here).push(REF, tip(here), None)
        pushed = travel.road(here).push(REF, first, tip(here))
        assert pushed.kind in {"refused", "moved"}
        assert refs(bare) == {REF: tip(here)}

    def test_twice_is_as_good_as_once(self, travel: Travel, here: Ledger) -> None:
        """Pushing what is there is done; fetching what is here brings nothing."""
        travel.road(here).push(REF, tip(here), None)
        assert travel.road(here).push(REF, tip(here), tip(here)).kind == "done"
        assert travel.road(here).fetch(REF) == tip(here)

    def test_a_missing_ledger_is_not_found(self, travel: Travel, here: Ledger) -> None:
        """The remote is there, and has no such ref."""
        with pytest.raises(NotFoundError, match="has no refs/hikmah/memory"):
            travel.road(here).fetch(REF)

    def test_a_missing_repository_is_a_remote_error(self, travel: Travel, here: Ledger) -> None:
        """For each errand, without the password that may stand in the address."""
        way = travel.road(here, travel.url.replace("remote.git", "gone.git"))
        for errand in (way.heads, lambda: way.fetch(REF), lambda: way.push(REF, tip(here), None)):
            with pytest.raises(RemoteError) as caught:
                errand()
            assert QUOTED not in caught.value.message
            assert PASSWORD not in caught.value.message

    def test_a_hook_of_the_remote_is_never_passed_by(
        self, travel: Travel, here: Ledger, bare: Path
    ) -> None:
        """It refuses, or the push is refused because nobody could ask it."""
        hook = bare / "hooks" / "update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho 'only on Fridays' >&2\nexit 1\n")
        hook.chmod(0o755)
        pushed = travel.road(here).push(REF, tip(here), None)
        assert (pushed.kind, pushed.now) == ("refused", None)
        assert pushed.reason
        assert refs(bare) == {}

    def test_a_hook_in_a_folder_of_the_home_is_one_too(
        self, hidden: Path, here: Ledger, bare: Path
    ) -> None:
        """Git reads `~` in `core.hooksPath`; so does who cannot run what stands there."""
        home = Path(world.environment(here.store.common_dir)["HOME"])
        hook = home / "shared-hooks" / "update"
        hook.parent.mkdir(parents=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
        world.git(bare, "config", "core.hooksPath", "~/shared-hooks")
        pushed = Travel(str(bare), "dulwich", None, hidden).road(here).push(REF, tip(here), None)
        assert (pushed.kind, refs(bare)) == ("refused", {})

    def test_another_hash_is_refused(self, travel: Travel, bare: Path, tmp_path: Path) -> None:
        """A ledger of SHA-256 objects at the address of a SHA-1 repository's push."""
        first = world.ledger(world.repository(tmp_path / "one"))
        travel.road(first).push(REF, tip(first), None)
        other = world.ledger(world.repository(tmp_path / "two", "--object-format=sha256"))
        with pytest.raises(RefusedError, match="sha1"):
            travel.road(other).heads()
        assert refs(bare) == {REF: tip(first)}

    def test_two_pushes_at_once_make_one_head(
        self, travel: Travel, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """One is done, the other hears that the remote moved; nothing is lost of either."""
        travel.road(here).push(REF, tip(here), None)
        before = tip(here)
        there = copy_of(here, tmp_path / "there")
        world.put(here, "here")
        world.put(there, "there")
        kinds: dict[str, str] = {}
        ways = {tip(ledger): travel.road(ledger) for ledger in (here, there)}

        def go(head: str) -> None:
            kinds[head] = ways[head].push(REF, head, before).kind

        threads = [threading.Thread(target=go, args=(head,)) for head in ways]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(kinds.values()) == ["done", "moved"]
        (winner,) = [head for head, kind in kinds.items() if kind == "done"]
        assert refs(bare) == {REF: winner}


class TestCredentials:
    """Smart HTTP with basic authentication."""

    @pytest.fixture
    def web(self, program: str, hidden: Path, bare: Path) -> Iterator[Travel]:
        """Return a way over HTTP whose address holds no password."""
        world.git(bare, "config", "http.receivepack", "true")
        with servers.http_server(bare.parent, PASSWORD) as address:
            yield Travel(f"{address}/remote.git", program, None, hidden)

    @pytest.mark.parametrize("where", ["tester:wrong-9@", "tester@", ""])
    def test_who_cannot_sign_in_is_told_and_never_asked(
        self, web: Travel, here: Ledger, where: str
    ) -> None:
        """No prompt, no wrong password in what is said."""
        way = web.road(here, web.url.replace("://", f"://{where}"))
        with pytest.raises(RemoteError) as caught:
            way.heads()
        assert "wrong-9" not in caught.value.message + caught.value.where

    @pytest.mark.parametrize("named", ["", "tester@"])
    def test_a_credential_helper_signs_in(
        self, web: Travel, here: Ledger, bare: Path, tmp_path: Path, named: str
    ) -> None:
        """The user's own arrangement counts, with the program and without it."""
        kept = tmp_path / "kept"
        kept.write_text(web.url.replace("://", f"://tester:{QUOTED}@").replace("remote.git", ""))
        helper = f"store --file={kept}"
        for one in ("!true # don't", helper):
            world.git(here.store.common_dir, "config", "--add", "credential.helper", one)
        way = web.road(here, web.url.replace("://", f"://{named}"))
        assert way.push(REF, tip(here), None).kind == "done"
        assert refs(bare) == {REF: tip(here)}


class TestBadServers:
    """What answers badly is a `RemoteError`, soon."""

    @pytest.fixture(params=["git", "http"])
    def scheme(self, request: pytest.FixtureRequest) -> str:
        """Return how the bad server is asked."""
        return str(request.param)

    def test_refused(self, program: str, scheme: str, hidden: Path, here: Ledger) -> None:
        """Nobody listens."""
        url = f"{scheme}://127.0.0.1:{servers.free_port()}/x"
        with pytest.raises(RemoteError):
            Travel(url, program, None, hidden).road(here).heads()

    def test_silent(self, program: str, scheme: str, hidden: Path, here: Ledger) -> None:
        """It takes the connection and says nothing: the wait is bounded, every errand's."""
        done = threading.Event()

        def wait(_: socket.socket) -> None:
            done.wait(60)

        with servers.answering(wait) as port:
            travel = Travel(f"{scheme}://127.0.0.1:{port}/x", program, None, hidden)
            way = travel.road(here, idle_s=3)
            before = time.monotonic()
            for errand in (way.heads, lambda: way.push(REF, tip(here), None)):
                with pytest.raises(RemoteError, match="no answer in time") as caught:
                    errand()
                assert "--timeout" in caught.value.hint
            assert time.monotonic() - before < 40
            done.set()

    @pytest.mark.parametrize(
        "answer",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b"\0" * 100, id="zeros"),
            pytest.param(b"0005x" * 50, id="packets of nonsense"),
            pytest.param(b"ffff" + b"x" * 65531, id="a long packet"),
            pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n", id="a page"),
            pytest.param(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement"
                b"\r\nContent-Length: 8\r\n\r\n0004zzzz",
                id="half an advertisement",
            ),
            pytest.param(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", id="an error page"),
        ],
    )
    def test_garbage(
        self, program: str, scheme: str, hidden: Path, here: Ledger, answer: bytes
    ) -> None:
        """Whatever bytes come, nothing is believed and nothing crashes."""

        def reply(connection: socket.socket) -> None:
            connection.recv(65_536)
            connection.sendall(answer)

        with servers.answering(reply) as port:
            way = Travel(f"{scheme}://127.0.0.1:{port}/x", program, None, hidden).road(here)
            with pytest.raises(RemoteError):
                way.heads()
            with pytest.raises(RemoteError):
                way.push(REF, tip(here), None)


def test_a_file_url_is_a_path(
    program: str, hidden: Path, here: Ledger, bare: Path, tmp_path: Path
) -> None:
    """Escapes in it are read, as git reads them."""
    there = world.repository(tmp_path / "with space.git", "--bare")
    for url, repo in ((f"file://{bare}", bare), (f"file://{tmp_path}/with%20space.git", there)):
        way = Travel(url, program, None, hidden).road(here)
        assert way.push(REF, tip(here), None).kind == "done"
        assert refs(repo) == {REF: tip(here)} == way.heads()


def test_dulwich_sends_what_is_new_whatever_else_both_ends_have(
    hidden: Path, here: Ledger, bare: Path
) -> None:
    """A project's branches, which stand there too, tell nothing of the ledger."""
    world.git(bare, "config", "receive.unpackLimit", "1")
    repo = here.store.common_dir
    tree = world.git(repo, "mktree", text="").strip()
    for name in "abcdefgh":
        commit = world.git(repo, "commit-tree", tree, "-m", name).strip()
        world.git(repo, "update-ref", f"refs/heads/{name}", commit)
    world.git(repo, "push", "-q", str(bare), "refs/heads/*:refs/heads/*")
    with servers.daemon(bare.parent) as url:
        way = Travel(f"{url}/remote.git", "dulwich", None, hidden).road(here)
        first = tip(here)
        assert way.push(REF, first, None).kind == "done"
        before = packed(bare)
        world.put(here, "three")
        assert way.push(REF, tip(here), first).kind == "done"
    assert packed(bare) - before == 6, "blob, four trees, commit"


def packed(repo: Path) -> int:
    """Count the objects in a repository's packs."""
    counts = dict(line.split(": ") for line in world.git(repo, "count-objects", "-v").splitlines())
    return int(counts["in-pack"])


def test_dulwich_alone_pushes_no_sha256_over_a_connection(hidden: Path, tmp_path: Path) -> None:
    """It would send a pack that no server reads: refused, with the way."""
    bare = world.repository(tmp_path / "remote.git", "--bare", "--object-format=sha256")
    world.git(bare, "config", "http.receivepack", "true")
    ledger = world.ledger(world.repository(tmp_path / "two", "--object-format=sha256"))
    with servers.http_server(tmp_path) as address:
        way = Travel(f"{address}/remote.git", "dulwich", None, hidden).road(ledger)
        with pytest.raises(RemoteError, match="git program"):
            way.push(REF, tip(ledger), None)
    at_path = Travel(str(bare), "dulwich", None, hidden).road(ledger)
    assert at_path.push(REF, tip(ledger), None).kind == "done"


@pytest.mark.parametrize("linked", [True, False], ids=["linked", "copied"])
def test_a_lock_that_a_killed_push_left_at_a_path_is_ours_to_remove(
    here: Ledger, bare: Path, hidden: Path, *, linked: bool
) -> None:
    """The note beside it tells; without the note it is another program's, and is named."""
    road = Travel(str(bare), "dulwich", None, hidden).road(here)
    note, lock = bare / "hikmah-push", bare / f"{REF}.lock"
    note.write_text(f"{tip(here)}\n")
    lock.parent.mkdir(parents=True)
    if linked:
        lock.hardlink_to(note)
    else:
        lock.write_bytes(note.read_bytes())
    assert road.push(REF, tip(here), None).kind == "done"
    assert refs(bare) == {REF: tip(here)}
    old = tip(here)
    world.put(here, "more")
    lock.write_text(f"{tip(here)}\n")
    pushed = road.push(REF, tip(here), old)
    assert pushed.kind == "refused"
    assert str(lock) in (pushed.reason or "")
    assert lock.exists()
    assert not note.exists()


def test_a_push_at_a_path_that_fails_leaves_no_lock_behind(
    here: Ledger, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither lock nor note; the next one goes through."""
    there = beside.store_at(bare)
    real = durable.replace

    def replace(source: Path, target: Path) -> None:
        if target == bare / REF:
            raise OSError(5, "the disk failed")
        real(source, target)

    def push() -> None:
        beside.push(here.store, there, REF, tip(here), lambda _done, _all: None)

    with monkeypatch.context() as m:
        m.setattr(durable, "replace", replace)
        with pytest.raises(StoreError, match="the disk failed"):
            push()
    assert not (bare / f"{REF}.lock").exists()
    assert not (bare / "hikmah-push").exists()
    push()
    assert refs(bare) == {REF: tip(here)}
