"""Putting the guard into a repository, and taking it out to the byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hikmah.errors import RefusedError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.locate import explicit
from hikmah.remotes import guardhook
from hikmah.remotes.guardhook import CHAINED, Guarded, hook_script, is_ours
from tests.ledger.forge import IDENTITY, Forge, note

REF = "refs/hikmah/memory"
FOREIGN = b'#!/bin/sh\necho "first: $1" >&2\ncase "$1" in *forbidden*) exit 3 ;; esac\n'


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """Return an empty bare repository whose path needs quoting."""
    path = tmp_path / "it's a $HOME; repository.git"
    subprocess.run(
        ["git", "init", "-q", "--bare", str(path)], check=True, env={**os.environ, **IDENTITY}
    )
    return path


@pytest.fixture
def client(tmp_path: Path) -> Forge:
    """Return a ledger of one record."""
    forge = Forge(tmp_path / "client")
    forge.init()
    forge.add(note("one"))
    return forge


def store(path: Path) -> GitStore:
    """Open a repository as a command would."""
    return GitStore(explicit(path), environ={**os.environ, **IDENTITY})


def install(path: Path, *, chain: bool = False) -> Guarded:
    """Install the guard."""
    return guardhook.install(store(path), environ=os.environ, chain=chain)


def hook(path: Path) -> Path:
    """Return where a repository's hook is."""
    return path / "hooks" / "update"


def foreign(path: Path, mode: int = 0o755) -> Path:
    """Put a hook of somebody else's in place."""
    hook(path).parent.mkdir(exist_ok=True)
    hook(path).write_bytes(FOREIGN)
    hook(path).chmod(mode)
    return hook(path)


def push(client: Forge, server: Path, *refs: str) -> tuple[bool, str]:
    """Push; return whether it went through and what was said."""
    done = subprocess.run(
        ["git", "push", str(server), *refs],
        cwd=client.path,
        env={**os.environ, **IDENTITY},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stderr


def everything(path: Path) -> dict[str, tuple[int, bytes]]:
    """Return the hooks folder: names, modes, contents."""
    files = sorted((path / "hooks").iterdir())
    return {f.name: (f.lstat().st_mode, f.read_bytes()) for f in files}


class TestInstall:
    """What installing does, and what it leaves alone."""

    def test_twice_is_once(self, server: Path) -> None:
        """The second time nothing is written."""
        before = everything(server)
        assert install(server).outcome == "installed"
        first = everything(server)
        assert install(server) == Guarded("already", str(hook(server)), chained=False)
        assert everything(server) == first
        assert first.items() - before.items() == {("update", first["update"])}
        assert os.access(hook(server), os.X_OK)

    def test_out_again_is_as_before(self, server: Path) -> None:
        """Nothing but the hook comes and goes."""
        before = everything(server)
        install(server)
        assert guardhook.uninstall(store(server)).outcome == "removed"
        assert everything(server) == before
        assert guardhook.uninstall(store(server)).outcome == "absent"

    def test_a_repository_without_a_hooks_folder(self, server: Path) -> None:
        """The folder is made."""
        for file in (server / "hooks").iterdir():
            file.unlink()
        (server / "hooks").rmdir()
        assert install(server).outcome == "installed"

    def test_a_work_repository(self, client: Forge, tmp_path: Path) -> None:
        """One with a work tree can be pushed to, and guarded, as well."""
        path = tmp_path / "work"
        subprocess.run(["git", "init", "-q", str(path)], check=True)
        assert install(path).path == str(path / ".git" / "hooks" / "update")
        assert push(client, path, REF)[0]
        assert not push(client, path, f":{REF}")[0]

    def test_an_older_one_is_renewed(self, server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A hook that names another Python is ours, and is written anew."""
        install(server)
        with monkeypatch.context() as patch:
            patch.setattr("sys.executable", "/usr/bin/python-of-before")
            hook(server).write_bytes(hook_script(chained=False))
        assert install(server).outcome == "renewed"
        assert b"python-of-before" not in hook(server).read_bytes()

    def test_one_that_lost_its_mode_is_renewed(self, server: Path) -> None:
        """Git runs no hook that is not executable."""
        install(server)
        hook(server).chmod(0o644)
        assert install(server).outcome == "renewed"
        assert os.access(hook(server), os.X_OK)

    def test_one_changed_by_hand_is_left_alone(self, server: Path) -> None:
        """Neither written over nor taken out."""
        install(server)
        changed = hook(server).read_bytes() + b"# mine\n"
        hook(server).write_bytes(changed)
        assert not is_ours(changed)
        with pytest.raises(RefusedError, match="changed by hand"):
            install(server, chain=True)
        with pytest.raises(RefusedError, match="changed by hand"):
            guardhook.uninstall(store(server))
        assert hook(server).read_bytes() == changed

    @pytest.mark.parametrize("how", ["config", "link"])
    def test_hooks_that_others_share_are_not_written_to(
        self, server: Path, tmp_path: Path, how: str
    ) -> None:
        """Where git looks elsewhere, a hook here would do nothing, and one there too much."""
        shared = tmp_path / "shared"
        if how == "config":
            shared.mkdir()
            words = ["git", "config", "core.hooksPath", str(shared)]
            subprocess.run(words, cwd=server, check=True)
        else:
            (server / "hooks").rename(shared)
            (server / "hooks").symlink_to(shared)
        before = sorted(shared.iterdir())
        with pytest.raises(RefusedError, match="which others may share") as caught:
            install(server)
        assert 'guard check --ref "$1"' in caught.value.hint
        assert sorted(shared.iterdir()) == before

    def test_a_folder_that_refuses_is_said(
        self, server: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A full disk, or one that cannot be written to, is an error with the path."""

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("hikmah.ledger.durable.write_new", full)
        with pytest.raises(StoreError, match="No space left"):
            install(server)
        assert not hook(server).exists()

    def test_what_would_refuse_everything_is_not_installed(
        self, server: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The hook is tried first."""
        monkeypatch.setattr("sys.executable", "/nowhere/python")
        with pytest.raises(StoreError, match=r"would refuse every push.*is gone"):
            install(server)
        assert not hook(server).exists()

    def test_no_shell_is_said(self, server: Path) -> None:
        """A hook is a shell script."""
        with pytest.raises(StoreError, match="does not run"):
            guardhook.install(store(server), environ={"PATH": "/nowhere"})


class TestForeignHook:
    """A hook of somebody else's stays what it is."""

    def test_it_is_never_written_over(self, server: Path) -> None:
        """The refusal says the line to add, and the option."""
        foreign(server)
        before = everything(server)
        with pytest.raises(RefusedError, match="somebody else's") as caught:
            install(server)
        assert "--chain" in caught.value.hint
        assert everything(server) == before
        assert guardhook.uninstall(store(server)).outcome == "absent"
        assert everything(server) == before

    def test_chained_it_is_called_first(self, server: Path, client: Forge) -> None:
        """Both must agree; its word and its exit code count."""
        foreign(server)
        assert install(server, chain=True).chained
        went, said = push(client, server, REF)
        assert went
        assert f"first: {REF}" in said
        went, said = push(client, server, f"{REF}:refs/heads/forbidden")
        assert not went
        assert "hikmah guard" not in said
        went, said = push(client, server, f":{REF}")
        assert not went
        assert "first:" in said
        assert "hikmah guard" in said

    def test_it_comes_back_to_the_byte(self, server: Path) -> None:
        """Content, mode and name."""
        foreign(server, 0o750)
        before = everything(server)
        install(server, chain=True)
        assert install(server).outcome == "already"
        assert everything(server)[CHAINED] == before["update"]
        guardhook.uninstall(store(server))
        assert everything(server) == before

    def test_a_link_comes_back_as_a_link(self, server: Path, tmp_path: Path) -> None:
        """A manager of repositories links its own hook."""
        own = tmp_path / "manager-hook"
        own.write_bytes(FOREIGN)
        own.chmod(0o755)
        hook(server).symlink_to(own)
        install(server, chain=True)
        guardhook.uninstall(store(server))
        assert hook(server).readlink() == own
        assert own.read_bytes() == FOREIGN

    def test_one_switched_off_is_not_called(self, server: Path, client: Forge) -> None:
        """Git ignores a hook that is not executable, and so does the guard."""
        foreign(server, 0o644)
        install(server, chain=True)
        went, said = push(client, server, REF)
        assert went
        assert "first:" not in said

    def test_one_that_went_missing_refuses(self, server: Path, client: Forge) -> None:
        """What somebody relies on is not left out without a word."""
        foreign(server)
        install(server, chain=True)
        (hook(server).parent / CHAINED).unlink()
        went, said = push(client, server, REF)
        assert not went
        assert "is gone" in said
        assert install(server).outcome == "renewed"
        assert push(client, server, REF)[0]

    def test_at_no_moment_is_there_no_hook(
        self, server: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Looked at before and after every move of a file; one that died is gone on with."""
        foreign(server)
        seen: list[bytes] = []

        def replace(source: Path, target: Path) -> None:
            seen.append(hook(server).read_bytes())
            if target == hook(server):
                raise OSError(5, "died")
            source.replace(target)
            seen.append(hook(server).read_bytes())

        with monkeypatch.context() as m:
            m.setattr(durable, "replace", replace)
            with pytest.raises(StoreError, match="died"):
                install(server, chain=True)
        assert seen == [FOREIGN] * 3
        assert install(server, chain=True).chained
        assert everything(server)[CHAINED][1] == FOREIGN
        assert is_ours(hook(server).read_bytes())

    def test_without_hard_links_a_copy_is_set_aside(
        self, server: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Mode and bytes are kept, and come back."""
        foreign(server, 0o750)
        before = everything(server)

        def link(*_: object, **__: object) -> None:
            raise PermissionError(1, "no links here")

        monkeypatch.setattr(os, "link", link)
        install(server, chain=True)
        assert everything(server)[CHAINED] == before["update"]
        guardhook.uninstall(store(server))
        assert everything(server) == before

    def test_a_name_that_is_taken_is_said(self, server: Path) -> None:
        """Nothing is moved over what is there."""
        foreign(server)
        taken = hook(server).parent / CHAINED
        taken.write_bytes(b"older")
        with pytest.raises(RefusedError, match="is there already"):
            install(server, chain=True)
        assert (hook(server).read_bytes(), taken.read_bytes()) == (FOREIGN, b"older")

    def test_a_link_that_leads_nowhere_is_a_hook_of_somebody_elses(self, server: Path) -> None:
        """It is not written through."""
        hook(server).symlink_to("/nowhere/at/all")
        with pytest.raises(RefusedError, match="somebody else's"):
            install(server)


class TestFailsClosed:
    """When the guard cannot run, ledgers stay and everything else goes on."""

    @pytest.mark.parametrize(
        ("was", "now", "said"),
        [
            pytest.param(b"\npython=", b"\npython=/nowhere; #", b"is gone", id="no Python"),
            pytest.param(b"\npackage=", b"\npackage=old; #", b"cannot be imported", id="no hikmah"),
        ],
    )
    def test_what_it_needs_is_gone(
        self, server: Path, client: Forge, was: bytes, now: bytes, said: bytes
    ) -> None:
        """The pusher is told what to run, and where."""
        (server / "old" / "hikmah").mkdir(parents=True)
        (server / "old" / "hikmah" / "__init__.py").touch()
        install(server)
        script = hook(server).read_bytes()
        assert was in script
        hook(server).write_bytes(script.replace(was, now, 1))
        went, told = push(client, server, REF)
        assert not went
        assert said.decode() in told
        assert "hikmah guard install" in told
        went, told = push(client, server, f"{REF}:refs/heads/main")
        assert went
        assert "hikmah" not in told.replace("refs/hikmah/memory", "").replace(str(server), "")

    def test_a_fault_of_its_own_refuses(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whatever is raised inside is a refusal."""
        from hikmah.remotes import updatehook

        words = [str(tmp_path / "no repository"), REF, "0" * 40, "1" * 40]
        assert updatehook.main(words) == 1
        assert "no store at" in capsys.readouterr().err

        def broken(*_: object) -> None:
            raise ZeroDivisionError("by \x1b[31mzero")

        monkeypatch.setattr("hikmah.ledger.locate.explicit", broken)
        assert updatehook.main(words) == 1
        assert "the guard failed: ZeroDivisionError: by [31mzero" in capsys.readouterr().err
        assert updatehook.main([]) == 1
