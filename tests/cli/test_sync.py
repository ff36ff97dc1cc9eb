"""`sync` as a command: answers, text, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.memory import Memory
from tests import world
from tests.cli.conftest import Shell

REF = world.REF


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return an empty bare repository: the remote."""
    return world.repository(tmp_path / "remote.git", "--bare")


@pytest.fixture
def shop(hikmah: Shell, bare: Path) -> Shell:
    """Return a shell in a repository whose ledger of one trace is at its remote, too."""
    world.repository(hikmah.folder)
    world.git(hikmah.folder, "remote", "add", "origin", str(bare))
    said = ("--claim-key", "port", "--claim-value", "22")
    assert hikmah("remember", "--content", "the port is 22", *said).code == 0
    assert hikmah("sync", "--yes").code == 0
    return hikmah


def elsewhere(bare: Path, folder: Path) -> None:
    """Let another machine write to the remote: a verified trace that contradicts this one's."""
    repo = world.repository(folder)
    world.git(repo, "fetch", "-q", str(bare), f"{REF}:{REF}")
    with Memory.open(repo, environ=world.environment(repo)) as memory:
        memory.remember("it is 49222", source="ann", verified=True, claim=("port", "49222"))
        memory.sync(str(bare), yes=True)


def test_a_first_sync_is_a_first_push(hikmah: Shell, bare: Path) -> None:
    """Without a terminal and without `--yes`: exit 5, nothing sent."""
    world.repository(hikmah.folder)
    hikmah("remember", "--content", "private")
    result = hikmah("sync", str(bare))
    assert (result.code, result.error["code"]) == (5, "refused")
    assert "--yes" in result.error["hint"]
    assert world.git(bare, "for-each-ref") == ""
    assert hikmah("sync", str(bare), "--yes").document["sent"] == 1


def test_one_document_says_what_happened(shop: Shell, bare: Path, tmp_path: Path) -> None:
    """Counts of what came and went, the heads, the backup."""
    elsewhere(bare, tmp_path / "other")
    shop("remember", "--content", "written here")
    before = world.git(shop.folder, "rev-parse", REF)
    answer = shop("sync").document
    assert answer["schema"] == "hikmah.sync/1"
    assert (answer["received"], answer["merges"], answer["sent"]) == (1, 1, 1)
    assert answer["before"] == before
    assert answer["commit"] == world.git(bare, "rev-parse", REF)
    (backup,) = answer["backups"]
    assert world.git(shop.folder, "rev-parse", backup) == before
    arrived = answer["arrived"]
    assert (arrived["records"], arrived["traces"], arrived["conflicts"]) == (1, 1, ["port"])
    assert arrived["verified"] == {"ann": 1}
    assert [line["preview"] for line in arrived["newest"]] == ["it is 49222"]


def test_text_tells_a_person_what_to_look_at(shop: Shell, bare: Path, tmp_path: Path) -> None:
    """What arrived, what is disputed now, whose word is only their own."""
    elsewhere(bare, tmp_path / "other")
    out = shop("sync", "--format", "text").out
    for words in (
        "synced",
        "1 records in 1 commits",
        "kept at refs/hikmah-backup/memory/",
        "new here: 1 traces",
        "new contradictions (1): port",
        "hikmah conflicts",
        "marked as verified elsewhere",
        "it is 49222",
    ):
        assert words in out
    assert "nothing to sync" in shop("sync", "--format", "text").out


def test_what_another_machine_retired_is_said(shop: Shell, bare: Path, tmp_path: Path) -> None:
    """A correction that arrives takes a trace out of the answers here."""
    repo = world.repository(tmp_path / "other")
    world.git(repo, "fetch", "-q", str(bare), f"{REF}:{REF}")
    with Memory.open(repo, environ=world.environment(repo)) as memory:
        memory.remember("it is 49222", supersedes=memory.log().items[0].id)
        memory.sync(str(bare), yes=True)
    assert "not active any more: 1 superseded" in shop("sync", "--format", "text").out


def test_doctor_counts_the_backups(shop: Shell, bare: Path, tmp_path: Path) -> None:
    """Each join that moved the ledger left one, until a person deletes it."""
    elsewhere(bare, tmp_path / "other")
    shop("sync")
    findings = {f["subject"]: f for f in shop("doctor").document["findings"]}
    assert findings["backups"]["detail"].startswith("1 earlier heads")
    assert findings["backups"]["run"].startswith("git update-ref -d refs/hikmah-backup/memory/")


@pytest.mark.parametrize(
    ("break_it", "code"),
    [
        pytest.param("cut", 6, id="a tail that was cut here"),
        pytest.param("rewrite", 6, id="a remote that was rewritten"),
        pytest.param("other", 5, id="another ledger there"),
        pytest.param("gone", 8, id="no remote there"),
    ],
)
def test_exit_codes(shop: Shell, bare: Path, tmp_path: Path, break_it: str, code: int) -> None:
    """Integrity is 6, what cannot be joined 5, what cannot be reached 8."""
    shop("remember", "--content", "two")
    where = str(bare)
    if break_it == "cut":
        world.git(shop.folder, "update-ref", REF, f"{REF}^")
    elif break_it == "rewrite":
        shop("sync")
        world.git(bare, "update-ref", REF, world.git(bare, "rev-parse", f"{REF}^"))
    elif break_it == "other":
        where = str(world.repository(tmp_path / "far"))
        world.ledger(Path(where))
    else:
        where = str(tmp_path / "nowhere")
    before = world.git(shop.folder, "rev-parse", REF)
    result = shop("sync", where if break_it in {"other", "gone"} else "origin")
    assert result.code == code, result.err
    assert world.git(shop.folder, "rev-parse", REF) == before
