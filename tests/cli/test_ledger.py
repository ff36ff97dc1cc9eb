"""The commands on the ledger itself, when something is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hikmah.cli.tamper import amend
from tests import world

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

REF = "refs/hikmah/memory"
AGENT = {"CLAUDECODE": "1"}


class Store:
    """A store with three traces, and ways to harm it."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.folder = shell.folder / ".hikmah"
        self.commits = [self.remember(text) for text in ("one", "two", "three")]

    def remember(self, text: str) -> str:
        """Write a trace and return the commit."""
        commit: str = self.shell("remember", "--content", text).document["commit"]
        return commit

    def head_file(self) -> Path:
        """Where the acknowledged head stands."""
        return self.folder / "hikmah" / "memory" / "head"

    def move_ref(self, commit: str) -> None:
        """Set the ref as `git update-ref` would."""
        (self.folder / REF).write_text(f"{commit}\n")

    def errors(self) -> list[str]:
        """Return the codes of what verification finds; it exits 6 when there are some."""
        result = self.shell("verify-ledger")
        found = [error["code"] for error in result.document["errors"]]
        assert result.code == (6 if found else 0)
        assert result.document["ok"] is not bool(found)
        return found


@pytest.fixture
def store(hikmah: Shell) -> Store:
    """Return a store that is well."""
    return Store(hikmah)


def test_a_ledger_that_is_well_is_ok(store: Store) -> None:
    """Exit 0, and a pin that is met."""
    assert store.errors() == []
    assert store.shell("verify-ledger", "--expect-head", store.commits[2]).code == 0
    assert store.shell("verify-ledger", "--contains", store.commits[0]).code == 0
    assert store.shell("verify-ledger", "--since", store.commits[1]).code == 0


@pytest.mark.parametrize("option", ["--expect-head", "--contains"])
def test_a_pin_that_is_not_met_exits_six(option: str, store: Store) -> None:
    """The report is printed all the same."""
    result = store.shell("verify-ledger", option, "f" * 40)
    assert (result.code, result.document["ok"]) == (6, False)
    text = store.shell("verify-ledger", option, "f" * 40, "--format", "text")
    assert text.out.startswith("NOT OK")


def test_a_lost_tail_is_found_refuses_writes_and_can_be_restored(store: Store) -> None:
    """The commits are still there: a person brings the ref back."""
    store.move_ref(store.commits[0])
    assert store.errors() == ["ref_behind"]
    refused = store.shell("remember", "--content", "four")
    assert (refused.code, refused.error["code"]) == (6, "integrity")
    assert store.shell("verify-ledger", "--restore-tail", env=AGENT).code == 5
    restored = store.shell("verify-ledger", "--restore-tail")
    assert restored.code == 0
    assert restored.document["commit"] == store.commits[2]
    assert store.errors() == []
    assert store.shell("remember", "--content", "four").code == 0


def test_a_foreign_tail_is_found_refuses_writes_and_can_be_accepted(store: Store) -> None:
    """Verification lists the records nobody acknowledged; accepting prints them."""
    known = store.head_file().read_bytes()
    foreign = store.remember("four, which nobody acknowledged")
    store.head_file().write_bytes(known)
    assert store.errors() == ["unacknowledged"]
    listed = store.shell("verify-ledger").document["unacknowledged"]
    assert [record["preview"] for record in listed] == ["four, which nobody acknowledged"]
    assert "nobody acknowledged" in store.shell("verify-ledger", "--format", "text").out
    assert store.shell("remember", "--content", "five").code == 6
    accepted = store.shell("verify-ledger", "--accept-tail", "--format", "text")
    assert accepted.code == 0
    assert foreign in accepted.out
    assert store.errors() == []


def test_a_rewritten_history_names_the_commit(store: Store) -> None:
    """An amended record does not fit its path, and the old head is missed."""
    forged = amend(store.folder, REF, "three", "other")
    found = store.shell("verify-ledger")
    assert found.code == 6
    named = [error["commit"] for error in found.document["errors"]]
    assert forged in named
    assert "rewritten" in store.errors()
    assert forged in store.shell("verify-ledger", "--format", "text").out
    told = store.shell("verify-ledger", "--format", "text").out
    assert "--restore-tail" in told
    # What breaks a rule is never accepted; the ref goes back to what was acknowledged.
    assert store.shell("verify-ledger", "--reset-head").code == 6
    restored = store.shell("verify-ledger", "--restore-tail")
    assert (restored.code, restored.document["before"]) == (0, forged)
    assert store.errors() == []


def test_a_decision_where_there_is_nothing_to_decide_is_an_error(store: Store) -> None:
    """Nothing changes, and the error says why."""
    for option in ("--accept-tail", "--restore-tail", "--reset-head"):
        result = store.shell("verify-ledger", option)
        assert (result.code, result.error["code"]) == (6, "integrity")


def test_repair_goes_back_to_what_can_be_read(store: Store) -> None:
    """An emptied newest commit, as a power cut leaves it, costs that commit and no more."""
    newest = store.commits[2]
    path = store.folder / "objects" / newest[:2] / newest[2:]
    path.chmod(0o644)
    path.write_bytes(b"")
    assert store.shell("verify-ledger").code == 6
    assert store.shell("repair", env=AGENT).code == 5
    repaired = store.shell("repair", "--format", "text")
    assert repaired.code == 0, repaired.err
    assert newest in repaired.out
    assert store.shell("log").document["total"] == 2
    assert store.shell("remember", "--content", "again").code == 0
    assert store.shell("repair").document["action"] == "none"


def test_doctor_says_what_to_run(store: Store) -> None:
    """Facts and problems, exit 0 either way."""
    well = store.shell("doctor")
    assert well.code == 0
    assert store.shell("doctor", "--format", "text").code == 0
    store.move_ref(store.commits[0])
    ill = store.shell("doctor", "--format", "text")
    assert ill.code == 0
    assert "verify-ledger" in ill.out


def test_compact_and_reindex_change_no_answer(store: Store) -> None:
    """Space and speed are all they are about."""
    words = ("recall", "two", "--now", "2100-01-01")
    before = store.shell(*words).out
    for command in ("compact", "reindex"):
        assert store.shell(command).code == 0
        assert store.shell(command, "--format", "text").code == 0
        assert store.shell(*words).out == before
    assert store.errors() == []


def test_a_policy_file_is_used_and_printed(hikmah: Shell) -> None:
    """What `policy` prints is a policy file."""
    defaults = hikmah("policy").out
    assert defaults == hikmah("policy", "--print-defaults").out
    assert "digest:" in hikmah("policy").err
    (hikmah.folder / "mine.json").write_text('{"recall_limit": 3}')
    printed = hikmah("policy", env={"HIKMAH_POLICY": "mine.json"})
    assert printed.document["recall_limit"] == 3
    (hikmah.folder / "again.json").write_text(printed.out)
    again = hikmah("--policy", "again.json", "policy")
    assert (again.out, again.err) == (printed.out, printed.err)
    overruled = hikmah("--policy", "mine.json", "policy", "--print-defaults")
    assert overruled.out == defaults


def test_doctor_says_where_the_gate_stands(store: Store) -> None:
    """Hosts where the gate is installed are named, and settings that cannot be read."""
    (gate,) = [f for f in store.shell("doctor").document["findings"] if f["subject"] == "gate"]
    assert (gate["level"], gate["detail"]) == ("ok", "not active in any host")
    assert store.shell("hooks", "install", "--host", "kimi").code == 0
    (gate,) = [f for f in store.shell("doctor").document["findings"] if f["subject"] == "gate"]
    assert (gate["level"], gate["run"]) == ("note", "hikmah hooks status")
    assert "inactive in kimi" in gate["detail"]
    assert store.shell("hooks", "uninstall", "--host", "kimi").code == 0
    for folder in Path(store.shell.environ["HOME"]).iterdir():
        folder.rmdir()  # empty again: the settings are gone


READERS = [
    ("recall", "one"),
    ("log",),
    ("conflicts",),
    ("entity", "list"),
    ("stats",),
    ("deliberate", "--from-ledger"),
]
QUIET = [*READERS, ("verify-ledger",), ("status",), ("doctor",)]


@pytest.mark.parametrize("line", READERS, ids=" ".join)
def test_a_reader_is_warned_when_the_ref_is_elsewhere(store: Store, line: tuple[str, ...]) -> None:
    """The answer comes all the same; the warning names both commits and what to run."""
    store.move_ref(store.commits[1])
    result = store.shell(*line)
    assert result.code == 0
    assert result.document
    assert result.err.startswith("warning: refs/hikmah/memory is not where")
    assert store.commits[1] in result.err
    assert store.commits[2] in result.err
    assert "hikmah verify-ledger" in result.err


def test_a_reader_is_warned_of_a_damaged_head(store: Store) -> None:
    """What is acknowledged cannot be read; the answer does not depend on it."""
    store.head_file().write_bytes(b"{")
    result = store.shell("recall", "one")
    assert (result.code, result.document["total"]) == (0, 1)
    assert result.err.startswith("warning: the acknowledged head is damaged")
    assert "hikmah repair" in result.err


@pytest.mark.parametrize("line", QUIET, ids=" ".join)
def test_nothing_is_warned_of_a_ledger_that_is_well(store: Store, line: tuple[str, ...]) -> None:
    """Nor in a clone that acknowledged nothing yet, nor while a write acknowledges."""
    assert "warning" not in store.shell(*line).err
    known = store.head_file().read_bytes()
    store.head_file().unlink()
    assert "warning: refs" not in store.shell(*line).err
    store.head_file().write_bytes(
        known.replace(store.commits[2].encode(), store.commits[1].encode())
    )
    (store.head_file().parent / "next").write_text(f"{store.commits[2]}\n")
    assert "warning: refs" not in store.shell(*line).err


def put_by_git(store: Store, number: int, kind: str, text: str) -> None:
    """Add one record to the ledger by plain git, as another version would write it."""
    blob = world.git(store.folder, "hash-object", "-w", "--stdin", text=text)
    path = f"records/0000/00/{number:02}-{kind}-{blob[:12]}.json"
    listing = world.git(store.folder, "ls-tree", "-r", REF)
    index = f"{listing}\n100644 blob {blob}\t{path}\n"
    world.git(store.folder, "update-index", "--index-info", text=index)
    tree = world.git(store.folder, "write-tree")
    commit = world.git(store.folder, "commit-tree", tree, "-p", REF, "-m", "by another version")
    world.git(store.folder, "update-ref", REF, commit)


def test_records_of_a_later_version_are_said_once(store: Store) -> None:
    """They are kept and left out of answers, and the reader who meets them first is told."""
    put_by_git(store, 4, "promote", '{\n  "type": "promote"\n}\n')
    told = store.shell("recall", "one")
    assert (told.code, told.document["total"]) == (0, 1)
    assert "that this version does not know: 1 (promote)" in told.err
    assert "does not know" not in store.shell("recall", "one").err
    assert store.shell("log").document["items"][0]["type"] == "promote"
