"""`push` and `fetch` as commands: answers, text, exit codes, questions."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests import world
from tests.cli.conftest import ROOT, Shell

REF = world.REF


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return an empty bare repository: the remote."""
    return world.repository(tmp_path / "remote.git", "--bare")


@pytest.fixture
def shop(hikmah: Shell, bare: Path) -> Shell:
    """Return a shell in a repository with a ledger of one trace and a remote `origin`."""
    world.repository(hikmah.folder)
    world.git(hikmah.folder, "remote", "add", "origin", str(bare))
    assert hikmah("remember", "--content", "the lock timed out").code == 0
    return hikmah


class TestPush:
    """`hikmah push`."""

    def test_answers_with_one_document(self, shop: Shell, bare: Path) -> None:
        """What went where, and that it was the first time."""
        answer = shop("push", "--yes").document
        assert answer["schema"] == "hikmah.push/1"
        assert (answer["remote"], answer["url"]) == ("origin", str(bare))
        assert (answer["first"], answer["records"], answer["changed"]) == (True, 1, True)
        assert shop("push").document["changed"] is False

    def test_without_a_terminal_the_first_push_wants_a_yes(self, shop: Shell, bare: Path) -> None:
        """Exit 5, and the number of private traces."""
        result = shop("push")
        assert (result.code, result.error["code"]) == (5, "refused")
        assert "1 private traces among 1 records" in result.error["message"]
        assert "--yes" in result.error["hint"]
        assert world.git(bare, "for-each-ref") == ""

    @pytest.mark.parametrize(("said", "code"), [(b"y\n", 0), (b"n\n", 5), (b"\n", 5)])
    def test_at_a_terminal_a_person_is_asked(self, shop: Shell, said: bytes, code: int) -> None:
        """The question names the remote and what goes; the answer decides."""
        result = shop("push", stdin=said, terminal=True)
        assert "1 private traces among 1 records" in result.err
        assert "Push?" in result.err
        assert result.code == code

    def test_text_says_what_went(self, shop: Shell) -> None:
        """For a person: where, the head, how much."""
        out = shop("push", "--yes", "--format", "text").out
        assert "pushed" in out
        assert "1 records in 2 commits, verified" in out
        assert "nothing to push" in shop("push", "--format", "text").out

    def test_a_remote_that_moved_is_exit_8(self, shop: Shell, bare: Path, tmp_path: Path) -> None:
        """With the command that helps."""
        shop("push", "--yes")
        other = world.repository(tmp_path / "other")
        world.git(other, "fetch", "-q", str(bare), f"{REF}:{REF}")
        world.put(world.reopened(other), "there")
        world.git(other, "push", "-q", str(bare), REF)
        result = shop("push")
        assert (result.code, result.error["code"]) == (8, "remote_moved")
        assert "hikmah sync" in result.error["hint"]

    def test_no_remote_is_exit_4(self, hikmah: Shell) -> None:
        """Neither named nor configured."""
        world.repository(hikmah.folder)
        hikmah("remember", "--content", "one")
        result = hikmah("push")
        assert (result.code, result.error["code"]) == (4, "not_found")

    @pytest.mark.parametrize("where", ["./gone.git", "git://127.0.0.1:1/x", "/dev/null"])
    def test_an_unreachable_remote_is_exit_8(self, shop: Shell, where: str) -> None:
        """Whatever the reason, in one error."""
        result = shop("push", where, "--yes", "--timeout", "20")
        assert (result.code, result.error["code"]) == (8, "remote")

    def test_a_password_appears_nowhere(self, shop: Shell) -> None:
        """Neither in the answer nor in what git said, nor in what was written."""
        url = "http://ann:hunter2-secret@127.0.0.1:1/x.git"
        for words in (("push", url, "--yes"), ("fetch", url), ("fetch", url, "--debug")):
            result = shop(*words)
            assert result.code == 8
            assert "hunter2-secret" not in result.out + result.err
        git_dir = shop.folder / ".git"
        written = [p.read_bytes() for p in git_dir.rglob("*") if p.is_file()]
        assert not any(b"hunter2-secret" in data for data in written)

    @pytest.mark.parametrize("where", ["ext::sh -c 'touch pwned'", "-x", "--upload-pack=x"])
    def test_an_address_runs_nothing(self, shop: Shell, where: str) -> None:
        """Refused before git sees it."""
        result = shop("push", "--yes", "--", where)
        assert result.code in {3, 5}
        assert not (shop.folder / "pwned").exists()


class TestFetch:
    """`hikmah fetch`."""

    def test_answers_with_what_arrived(self, shop: Shell, bare: Path, tmp_path: Path) -> None:
        """Records, sources of what others verified, and how the ledgers stand."""
        shop("push", "--yes")
        other = world.repository(tmp_path / "other")
        world.git(other, "fetch", "-q", str(bare), f"{REF}:{REF}")
        world.put(world.reopened(other), "there")
        world.git(other, "push", "-q", str(bare), REF)
        text = shop("fetch", "--format", "text").out
        assert "there" in text
        assert "hikmah sync" in text
        answer = shop("fetch").document
        assert answer["schema"] == "hikmah.fetch/1"
        assert (answer["relation"], answer["to_join"], answer["commits"]) == ("behind", 1, 0)
        assert answer["arrived"]["records"] == 1

    def test_a_rewritten_remote_is_exit_6(self, shop: Shell, bare: Path) -> None:
        """With both commits."""
        shop("push", "--yes")
        world.git(bare, "update-ref", REF, f"{REF}~1")
        result = shop("fetch")
        assert (result.code, result.error["code"]) == (6, "integrity")
        assert "rewritten" in result.error["message"]

    def test_what_others_call_verified_is_shown_apart(
        self, shop: Shell, bare: Path, tmp_path: Path
    ) -> None:
        """For a person to look at first."""
        shop("remember", "--content", "checked", "--verified", "--source", "review")
        shop("push", "--yes")
        (tmp_path / "new").mkdir()
        there = Shell(tmp_path / "new", tmp_path / "home")
        world.repository(there.folder)
        out = there("fetch", str(bare), "--format", "text").out
        assert "marked as verified elsewhere" in out
        assert "hikmah clone" in out


def shown(after: str) -> list[list[str]]:
    """Return the commands of the first block behind some words of docs/remotes.md."""
    page = (ROOT / "docs" / "remotes.md").read_text("utf-8")
    block = page.split(after, 1)[1].split("```sh\n", 1)[1].split("```", 1)[0]
    return [shlex.split(line) for line in block.splitlines()]


def run(shell: Shell, commands: list[list[str]], remote: Path) -> None:
    """Run commands as they stand on the page, with a path for the address there."""
    for program, *words in commands:
        if program == "hikmah":
            result = shell(*words)
            assert result.code == 0, (words, result)
        elif program == "rm":
            shutil.rmtree(shell.folder / words[-1])
        else:
            world.git(shell.folder, *(str(remote) if "@" in word else word for word in words))


class TestAnotherMachine:
    """What docs/remotes.md shows for a further machine, run as it stands there."""

    @pytest.fixture
    def laptop(self, shop: Shell, tmp_path: Path) -> Shell:
        """Return a shell on another machine; the ledger of the first is at the remote."""
        shop("push", "--yes")
        folder = world.repository(tmp_path / "laptop")
        return Shell(folder, tmp_path / "home")

    def test_names_the_remote_and_takes_its_ledger(self, laptop: Shell, bare: Path) -> None:
        """Then a plain `sync` knows where to go."""
        run(laptop, shown("name it on every further"), bare)
        assert laptop("recall", "lock").document["total"] == 1
        laptop("remember", "--content", "from the laptop")
        assert laptop("sync", "--yes").document["sent"] == 1

    def test_gives_a_ledger_begun_by_mistake_away(self, laptop: Shell, bare: Path) -> None:
        """Nothing that it held is lost, and the two join afterwards."""
        laptop("remember", "--content", "begun too early")
        world.git(laptop.folder, "remote", "add", "memory", str(bare))
        refused = laptop("clone", "memory")
        assert (refused.code, "begun by mistake" in refused.error["hint"]) == (5, True)
        run(laptop, shown("**A ledger begun by mistake**"), bare)
        assert laptop("recall", "lock").document["total"] == 1
        assert laptop("recall", "early").document["total"] == 1
        assert laptop("sync", "memory", "--yes").code == 0

    def test_reads_what_the_history_was_held_against(self, laptop: Shell, bare: Path) -> None:
        """A verification names the pin and the remote that it asked; without any, neither."""
        run(laptop, shown("name it on every further"), bare)
        laptop("pin", "--write", "pin.json")
        words = ("verify-ledger", "--format", "text")
        said = laptop(*words, "--pin", "pin.json", "--remote", "memory").out
        assert "held against  pin pin.json, remote memory" in said
        assert "held against" not in laptop(*words).out

    def test_of_plain_git_hears_what_takes_a_ledger(self, laptop: Shell, bare: Path) -> None:
        """Nothing is acknowledged after a plain fetch: `--accept-tail` names what does that."""
        world.git(laptop.folder, "remote", "add", "origin", str(bare))
        world.git(laptop.folder, "fetch", "-q", "origin", f"{REF}:{REF}")
        refused = laptop("verify-ledger", "--accept-tail")
        assert (refused.code, "hikmah sync" in refused.error["message"]) == (6, True)
        assert laptop("sync", "--yes").code == 0
        assert laptop("status").document["standing"] == "equal"

    def test_is_pointed_at_clone_before_there_is_a_ledger(self, laptop: Shell) -> None:
        """Reading makes no ledger; the hint says both ways to get one."""
        assert "hikmah clone" in laptop("recall", "lock").error["hint"]
