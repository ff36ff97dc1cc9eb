"""The command `guard`, and the workflow that runs it where there are no hooks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import world
from tests.cli.conftest import ROOT, Shell
from tests.ledger.forge import Forge, note
from tests.ledger.tampers import add_other_file, chain

WORKFLOW = ROOT / "examples" / "guard-workflow.yml"
REF = "refs/hikmah/memory"
ZEROS = "0" * 40
SECRET = "token: ghp_" + "a1B2" * 9


@pytest.fixture
def forge(hikmah: Shell) -> Forge:
    """Return a ledger of two records in the shell's folder."""
    forge = Forge(hikmah.folder)
    forge.init()
    forge.add_many(2)
    return forge


class TestCheck:
    """Judging by hand what the hook would judge."""

    def test_what_is_allowed_is_counted(self, hikmah: Shell, forge: Forge) -> None:
        """An honest move is exit 0."""
        old = chain(forge)[0]
        text = hikmah("guard", "check", "--ref", REF, old, forge.head(), "--format", "text")
        assert text.code == 0, text.err
        assert text.out == f"allowed  {REF}  2 records in 2 new commits\n"
        document = hikmah("guard", "check", "--ref", REF, old, forge.head()).document
        assert document == {
            "schema": "hikmah.guard-check/1",
            "allowed": True,
            "action": "grew",
            "ref": REF,
            "old": old,
            "new": forge.head(),
            "reason": "",
            "hint": "",
            "ledger": "0" * 32,
            "commits": 2,
            "records": 2,
            "problems": [],
        }

    @pytest.mark.parametrize("old", ["", ZEROS], ids=["empty", "zeros"])
    def test_a_ref_that_is_new_has_no_old_value(
        self, hikmah: Shell, forge: Forge, old: str
    ) -> None:
        """Zeros as git gives them, or nothing at all as a script has it."""
        found = hikmah("guard", "check", "--ref", REF, old, forge.head())
        assert found.document["action"] == "began"

    def test_what_is_refused_names_the_commit(self, hikmah: Shell, forge: Forge) -> None:
        """A dishonest move is exit 5, with the commit, the problem and what to do."""
        old, bad = forge.head(), add_other_file(forge)
        text = hikmah("guard", "check", "--ref", REF, old, bad, "--format", "text")
        assert text.code == 5
        words = " ".join(text.out.split())
        assert f"{REF} stays as it is: what is new does not honestly go on from it" in words
        assert f"commit {bad}: README.md is no record's path [not_a_record]" in words
        assert "what to do: `hikmah verify-ledger`" in words
        document = hikmah("guard", "check", "--ref", REF, old, bad).document
        (problem,) = document["problems"]
        assert (problem["code"], problem["commit"]) == ("not_a_record", bad)

    @pytest.mark.parametrize(
        ("old", "new", "code"),
        [
            pytest.param("main", ZEROS, 3, id="a name"),
            pytest.param("1" * 64, ZEROS, 3, id="another hash's id"),
            pytest.param(ZEROS, "", 3, id="no new value"),
            pytest.param(ZEROS, "A" * 40, 3, id="large letters"),
            pytest.param(ZEROS, ZEROS, 5, id="nothing becomes nothing"),
            pytest.param(ZEROS, "1" * 40, 5, id="an object that is not there"),
        ],
    )
    def test_bad_ids(self, hikmah: Shell, forge: Forge, old: str, new: str, code: int) -> None:
        """Only full ids are taken; what is not there is refused."""
        assert forge.head()
        result = hikmah("guard", "check", "--ref", REF, old, new)
        assert result.code == code, result

    def test_another_store_is_named_as_for_every_command(
        self, hikmah: Shell, forge: Forge, tmp_path: Path
    ) -> None:
        """`--store` says where the objects are; without any there is nothing to check."""
        (tmp_path / "empty").mkdir()
        elsewhere = Shell(tmp_path / "empty", Path(hikmah.environ["HOME"]))
        words = ("guard", "check", "--ref", REF, ZEROS, forge.head())
        assert elsewhere(*words).code == 4
        assert elsewhere(*words, "--store", str(forge.path)).code == 0


class TestInstall:
    """The hook, put in and taken out from the command line."""

    def test_in_and_out(self, hikmah: Shell, forge: Forge) -> None:
        """Each says what it did and where."""
        words = ("guard", "install", str(forge.path), "--format", "text")
        hook = forge.path / "hooks" / "update"
        assert hikmah(*words).out == f"installed: {hook}\n"
        assert hikmah(*words).out == f"already: {hook}\n"
        assert hikmah("guard", "uninstall", ".").document["outcome"] == "removed"
        assert not hook.exists()

    def test_somebody_elses_hook(self, hikmah: Shell, forge: Forge) -> None:
        """Refused with exit 5; with --chain both are called."""
        hook = forge.path / "hooks" / "update"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n")
        refused = hikmah("guard", "install", ".")
        assert refused.code == 5
        assert "--chain" in refused.error["hint"]
        chained = hikmah("guard", "install", ".", "--chain", "--format", "text")
        assert "after the hook that was there" in chained.out

    def test_a_ledger_that_would_not_get_in_is_said(self, hikmah: Shell, forge: Forge) -> None:
        """What stands already is trusted from then on; a person should know what it is."""
        forge.add(note(SECRET))
        forge.git("update-ref", "refs/hikmah/Broken", forge.head())
        done = hikmah("guard", "install", ".")
        assert done.code == 0
        assert f"{REF}: a new record must not get into a ledger (1 problem)" in done.err
        assert "refs/hikmah/Broken: it is not a ledger's ref" in done.err
        (forge.path / REF).write_text("nonsense\n")
        assert "not a sha1 object id" in hikmah("guard", "install", ".").err

    def test_no_repository(self, hikmah: Shell) -> None:
        """A mistyped path is exit 4."""
        assert hikmah("guard", "install", "nowhere").code == 4


class Step(NamedTuple):
    """One step of a workflow that runs commands."""

    name: str
    run: str


def steps(text: str) -> list[Step]:
    """Return the steps of a workflow that run commands, as a runner would read them."""
    found: list[Step] = []
    for step in re.split(r"^ {6}- ", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"name: (.*)\n", step)
        block = re.search(r"^ {8}run: \|\n((?: {10}.*\n|\n)+)", step, re.MULTILINE)
        line = re.search(r"^ {8}run: (?!\|)(.*)\n", step, re.MULTILINE)
        if name and block:
            found.append(Step(name[1], re.sub(r"^ {10}", "", block[1], flags=re.MULTILINE)))
        elif name and line:
            found.append(Step(name[1], line[1]))
    return found


class Runner:
    """A runner's workspace: a fresh clone, and each step by `bash -e`."""

    def __init__(self, folder: Path, remote: Path) -> None:
        self.folder = folder
        self.remote = remote
        text = WORKFLOW.read_text("utf-8")
        self.steps = [step for step in steps(text) if "pip install" not in step.run]
        variables = text.split("\nenv:\n")[1].split("\n\n")[0]
        self.variables = dict(re.findall(r"^  (\w+): (\S+)$", variables, re.MULTILINE))
        tool = folder / "bin" / "hikmah"
        tool.parent.mkdir(parents=True)
        tool.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m hikmah "$@"\n')
        tool.chmod(0o755)

    def run(self) -> tuple[str, str]:
        """Run the job; return the step that failed (or nothing) and what was said."""
        workspace = self.folder / "workspace"
        shutil.rmtree(workspace, ignore_errors=True)
        world.git(self.folder, "clone", "-q", str(self.remote), str(workspace))
        environ = world.environment(self.folder) | self.variables
        environ |= {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        environ |= {"RUNNER_TEMP": str(self.folder)}
        said = ""
        for step in self.steps:
            done = subprocess.run(
                ["bash", "-e", "-c", step.run],
                cwd=workspace,
                env=environ,
                capture_output=True,
                text=True,
                check=False,
            )
            said += done.stdout + done.stderr
            if done.returncode:
                return step.name, said
        return "", said

    def accepted(self) -> str:
        """Return what the branch of accepted heads holds."""
        return world.git(self.remote, "for-each-ref", "--format=%(objectname)", "refs/heads")


@pytest.mark.skipif(
    shutil.which("bash") is None, reason="the example runs in bash, as its runners do"
)
class TestWorkflow:
    """The example's own commands, against a repository that anyone can push to."""

    @pytest.fixture
    def runner(self, tmp_path: Path, forge: Forge) -> Runner:
        """Return a runner for a hosted repository that holds the ledger."""
        (tmp_path / "runner").mkdir()
        assert forge.head()
        return Runner(tmp_path / "runner", forge.path)

    def test_honest_growth_is_accepted(self, runner: Runner, forge: Forge) -> None:
        """The first run takes the ledger as it is, later ones what was added."""
        assert [step.name for step in runner.steps][-1] == "Accept it"
        assert runner.run()[0] == ""
        assert runner.accepted() == forge.head()
        assert runner.run()[0] == ""  # nothing new
        forge.add(note("third"))
        failed, said = runner.run()
        assert failed == ""
        assert "allowed" in said
        assert runner.accepted() == forge.head()

    def test_what_the_guard_would_refuse_fails_the_job(self, runner: Runner, forge: Forge) -> None:
        """A forced push, a foreign file, a credential, a deletion: accepted stays as it was."""
        runner.run()
        good = runner.accepted()
        for bad, named in (
            (chain(forge)[1], "does not descend"),
            (add_other_file(forge), "not_a_record"),
            (forge.add(note(SECRET)).tip.commit, "screened"),
        ):
            forge.set_ref(bad)
            failed, said = runner.run()
            assert failed == "Check what is new", said
            assert named in said
            assert runner.accepted() == good
        forge.git("update-ref", "-d", REF)
        assert runner.run()[0] == "Fetch the ledger, and what was accepted of it"
        assert runner.accepted() == good

    def test_a_remote_that_is_not_reached_is_no_fresh_start(
        self, runner: Runner, forge: Forge
    ) -> None:
        """That nothing was accepted yet is never concluded from an error."""
        runner.run()
        wanted = forge.head()
        step = runner.steps[0].run.replace("origin", "nowhere", 3).replace("nowhere", "origin", 1)
        runner.steps[0] = Step("fetch", step)
        assert runner.run()[0] == "fetch"
        assert runner.accepted() == wanted
