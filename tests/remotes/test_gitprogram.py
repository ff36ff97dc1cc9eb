"""The road through the `git` program: what it does, and above all what it never does."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hikmah.errors import NotFoundError, RefusedError, RemoteError
from hikmah.ledger.ledger import Ledger
from hikmah.remotes.gitprogram import quiet_environment
from hikmah.remotes.road import open_road
from tests import world
from tests.remotes.roads import refs, road, tip

REF = world.REF


def program(path: Path, *lines: str) -> Path:
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


class TestErrands:
    """Heads, push, fetch."""

    def test_an_empty_remote_has_no_heads(self, here: Ledger, bare: Path) -> None:
        """No ledger is an answer, not an error."""
        assert road(here, bare).heads() == {}

    def test_push_then_heads_then_fetch(self, here: Ledger, bare: Path, tmp_path: Path) -> None:
        """What was offered stands there, and comes whole to another repository."""
        assert road(here, bare).push(REF, tip(here), None).kind == "done"
        assert road(here, bare).heads() == {REF: tip(here)}
        there = world.ledger(world.repository(tmp_path / "there"), started=False)
        assert road(there, bare).fetch(REF) == tip(here)
        repo = there.store.common_dir
        assert refs(repo) == {}, "no ref moved"
        assert not (repo / "FETCH_HEAD").exists()
        world.git(repo, "rev-list", "--objects", tip(here))

    def test_a_fetched_object_is_read_by_a_store_that_looked_before(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """Packs that came are seen by the store that was open already."""
        world.put(here, *(f"record {n}" for n in range(50)))
        road(here, bare).push(REF, tip(here), None)
        there = world.ledger(world.repository(tmp_path / "there"))
        world.git(there.store.common_dir, "gc", "-q")
        assert there.store.read(tip(there))
        assert there.store.read(road(there, bare).fetch(REF))[0] == b"commit"

    def test_only_ledgers_are_asked_for(self, here: Ledger, bare: Path) -> None:
        """The project's branches and tags are nobody's business here."""
        world.git(here.store.common_dir, "push", "-q", str(bare), f"{tip(here)}:refs/heads/main")
        world.git(here.store.common_dir, "push", "-q", str(bare), f"{tip(here)}:refs/hikmah/b")
        assert road(here, bare).heads() == {"refs/hikmah/b": tip(here)}

    def test_a_ref_that_is_not_there_cannot_be_fetched(self, here: Ledger, bare: Path) -> None:
        """It is told as not found, with what would bring it there."""
        with pytest.raises(NotFoundError, match="has no refs/hikmah/memory"):
            road(here, bare).fetch(REF)

    def test_a_push_is_never_forced(self, here: Ledger, bare: Path, tmp_path: Path) -> None:
        """Neither backwards nor sideways, whatever the configuration wants."""
        first = tip(here)
        world.put(here, "three")
        road(here, bare).push(REF, tip(here), None)
        world.git(here.store.common_dir, "config", "push.default", "matching")
        back = road(here, bare).push(REF, first, tip(here))
        assert (back.kind, back.now) == ("refused", tip(here))
        other = world.ledger(world.repository(tmp_path / "other"))
        sideways = road(other, bare).push(REF, tip(other), None)
        assert (sideways.kind, sideways.now) == ("moved", tip(here))
        assert refs(bare) == {REF: tip(here)}

    def test_a_remote_that_moved_says_where_it_is_now(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """Another machine was first: a value, with the commit that stands there."""
        road(here, bare).push(REF, tip(here), None)
        before = tip(here)
        copy = world.repository(tmp_path / "copy")
        world.git(copy, "fetch", "-q", str(bare), f"{REF}:{REF}")
        there = world.reopened(copy)
        world.put(there, "there")
        assert road(there, bare).push(REF, tip(there), before).kind == "done"
        world.put(here, "here")
        pushed = road(here, bare).push(REF, tip(here), before)
        assert (pushed.kind, pushed.now) == ("moved", tip(there))

    def test_a_hook_of_the_remote_refuses_in_its_own_words(self, here: Ledger, bare: Path) -> None:
        """What the server said reaches the person, whatever it is."""
        program(bare / "hooks" / "update", "echo 'not today' >&2", "exit 1")
        pushed = road(here, bare).push(REF, tip(here), None)
        assert (pushed.kind, pushed.now) == ("refused", None)
        assert "not today" in pushed.reason

    def test_pushing_what_is_there_is_done(self, here: Ledger, bare: Path) -> None:
        """Twice is as good as once."""
        road(here, bare).push(REF, tip(here), None)
        assert road(here, bare).push(REF, tip(here), tip(here)).kind == "done"

    def test_another_hash_is_refused_with_the_way(self, here: Ledger, tmp_path: Path) -> None:
        """SHA-1 and SHA-256 ledgers cannot be joined: the records can be carried over."""
        bare = world.repository(tmp_path / "sha256.git", "--bare", "--object-format=sha256")
        other = world.ledger(world.repository(tmp_path / "other", "--object-format=sha256"))
        assert road(other, bare).push(REF, tip(other), None).kind == "done"
        with pytest.raises(RefusedError, match="sha256") as caught:
            road(here, bare).heads()
        assert "export --to jsonl" in caught.value.hint

    def test_transfers_are_told_as_they_go(self, here: Ledger, bare: Path) -> None:
        """Whoever watches hears of it line by line."""
        heard: list[str] = []
        around = world.environment(here.store.common_dir)
        open_road(here.store, str(bare), environ=around, watch=heard.append).push(
            REF, tip(here), None
        )
        assert any("100%" in line for line in heard)


class TestNothingElse:
    """What the surroundings want is not done."""

    def test_no_hook_of_this_repository_runs(self, here: Ledger, bare: Path) -> None:
        """Neither before a push nor when refs move."""
        marks = here.store.common_dir / "ran"
        for name in ("pre-push", "reference-transaction", "post-merge", "pre-auto-gc"):
            program(here.store.common_dir / "hooks" / name, f"touch {marks}", "exit 1")
        assert road(here, bare).push(REF, tip(here), None).kind == "done"
        road(here, bare).fetch(REF)
        assert not marks.exists()

    def test_no_other_ref_is_pushed_or_fetched(self, here: Ledger, bare: Path) -> None:
        """Neither tags that point into the history nor what the configuration adds."""
        repo = here.store.common_dir
        world.git(repo, "tag", "-a", "-m", "x", "v1", tip(here))
        world.git(repo, "update-ref", "refs/heads/main", tip(here))
        for setting in ("push.followTags=true", "push.gpgSign=if-asked", "fetch.prune=true"):
            world.git(repo, "config", *setting.split("="))
        world.git(repo, "remote", "add", "--mirror=fetch", "origin", str(bare))
        assert road(here, bare).push(REF, tip(here), None).kind == "done"
        assert set(refs(bare)) == {REF}
        before = refs(repo)
        road(here, bare).fetch(REF)
        assert refs(repo) == before

    def test_settings_around_do_not_count(self, here: Ledger, bare: Path, tmp_path: Path) -> None:
        """`GIT_DIR` and its like lead nowhere, and no program of theirs starts."""
        marks = tmp_path / "ran"
        spy = program(tmp_path / "spy", f"touch {marks}", "exit 1")
        around = {
            "GIT_DIR": str(tmp_path / "nowhere"),
            "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
            "GIT_NAMESPACE": "other",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.sshCommand",
            "GIT_CONFIG_VALUE_0": str(spy),
            "GIT_SSH_COMMAND": str(spy),
            "GIT_PROXY_COMMAND": str(spy),
            "GIT_ASKPASS": str(spy),
        }
        assert road(here, bare, **around).push(REF, tip(here), None).kind == "done"
        assert set(refs(bare)) == {REF}
        with pytest.raises(RemoteError):
            road(here, "git://127.0.0.1:1/x", **around).heads()
        assert not marks.exists()

    def test_a_rewritten_address_runs_no_program(self, here: Ledger, tmp_path: Path) -> None:
        """`url.<base>.insteadOf` may turn an address into `ext::`, and git then refuses it."""
        marks = tmp_path / "ran"
        key = f"url.ext::touch {marks} .insteadOf"
        world.git(here.store.common_dir, "config", key, "https://host/")
        with pytest.raises(RemoteError):
            road(here, "https://host/x").heads()
        assert not marks.exists()

    def test_nobody_is_asked(self) -> None:
        """No `askpass`, no terminal, no window; the user's ssh command is kept as it was."""
        around = {"SSH_ASKPASS": "/bin/ask", "DISPLAY": ":0", "GIT_TRACE": "1", "PATH": "/bin"}
        quiet = quiet_environment(around, "ssh -o BatchMode=yes")
        assert quiet == {
            "PATH": "/bin",
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "GCM_INTERACTIVE": "never",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "SSH_ASKPASS_REQUIRE": "never",
        }


class TestSsh:
    """How ssh is called."""

    @pytest.mark.parametrize(
        ("configured", "asks"),
        [(None, "-o BatchMode=yes"), ("SSH -i key", "-o BatchMode=yes"), ("PLINK -v", "-v")],
    )
    def test_the_configured_command_counts(
        self, here: Ledger, tmp_path: Path, configured: str | None, asks: str
    ) -> None:
        """Ssh itself is told to ask nothing; what is no ssh is left as the user wrote it."""
        said = tmp_path / "said"
        script = (f'echo "$@" > {said}', "exit 1")
        ssh = program(tmp_path / "bin" / "ssh", *script)
        plink = program(tmp_path / "bin" / "plink", *script)
        if configured is not None:
            value = configured.replace("SSH", str(ssh)).replace("PLINK", str(plink))
            world.git(here.store.common_dir, "config", "core.sshCommand", value)
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        with pytest.raises(RemoteError):
            road(here, "ssh://ann@host/x", PATH=path).heads()
        words = said.read_text()
        assert asks in words
        assert "ann@host" in words

    def test_a_command_that_cannot_be_split_is_left_alone(self, here: Ledger) -> None:
        """It is git's to complain of."""
        world.git(here.store.common_dir, "config", "core.sshCommand", "ssh 'open")
        with pytest.raises(RemoteError):
            road(here, "ssh://host/x").heads()


class TestFailures:
    """What cannot be reached is told, in bounded time, and without secrets."""

    @pytest.mark.parametrize("errand", ["heads", "fetch", "push"])
    def test_a_missing_repository_is_a_remote_error(
        self, here: Ledger, tmp_path: Path, errand: str
    ) -> None:
        """With the address and git's own words."""
        to = road(here, tmp_path / "gone")
        with pytest.raises(RemoteError, match="gone"):
            to.push(REF, tip(here), None) if errand == "push" else getattr(to, errand)(
                *([REF] if errand == "fetch" else [])
            )

    def test_a_damaged_remote_is_a_remote_error(self, here: Ledger, bare: Path) -> None:
        """Its objects are gone: nothing is believed to have come."""
        road(here, bare).push(REF, tip(here), None)
        there = world.ledger(world.repository(bare.parent / "there"), started=False)
        shutil.rmtree(bare / "objects")
        (bare / "objects").mkdir()
        with pytest.raises(RemoteError):
            road(there, bare).fetch(REF)

    def test_an_answer_that_is_no_list_is_a_remote_error(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """A `git` that prints something else is not believed."""
        program(tmp_path / "bin" / "git", "echo hello")
        with pytest.raises(RemoteError, match="no list of refs"):
            road(here, bare, PATH=str(tmp_path / "bin")).heads()

    def test_an_id_that_is_none_is_a_remote_error(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """Nothing else than full ids goes on from here."""
        program(tmp_path / "bin" / "git", r"printf -- '--exec=x\trefs/hikmah/memory\n'")
        with pytest.raises(RemoteError, match="--exec=x"):
            road(here, bare, PATH=str(tmp_path / "bin")).heads()

    def test_a_push_without_a_word_on_its_ref_is_a_remote_error(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """Exit code 0 alone proves nothing."""
        program(tmp_path / "bin" / "git", "exit 0")
        with pytest.raises(RemoteError, match="could not be pushed to"):
            road(here, bare, PATH=str(tmp_path / "bin")).push(REF, tip(here), None)
