"""What plain git shows otherwise than it stands in the ledger is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.ledger.verify import verify
from tests.ledger.forge import Forge, note


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return a ledger of three commits, in a repository of either hash."""
    forge = Forge(tmp_path / "store", request.param)
    forge.init()
    forge.add_many(2)
    return forge


def warned(forge: Forge) -> list[str]:
    """Verify, demand no error, and return the texts of `replaced` warnings, and no other."""
    report = verify(forge.ledger)
    assert report.errors == ()
    assert {problem.code for problem in report.warnings} <= {"replaced"}
    return [problem.text for problem in report.warnings]


def test_a_replaced_commit_is_told(forge: Forge) -> None:
    """`git replace` makes `git log` show a forged message; the ledger itself stands."""
    head = forge.head()
    forged = forge.rewrite(head, message="remember: all is well\n")
    forge.git("replace", head, forged)
    assert "all is well" in forge.git("log", "refs/hikmah/memory")
    (text,) = warned(forge)
    assert text.startswith(f"refs/replace/{head} makes git show something else than {head}")


@pytest.mark.parametrize("kind", ["record", "tree"])
def test_replaced_records_and_trees_are_told(forge: Forge, kind: str) -> None:
    """Whatever git shows otherwise is told, packed refs included."""
    if kind == "record":
        was, instead = forge.id(note("note 1")), forge.blob(b"note 0")
    else:
        was, instead = forge.parse(forge.head()).tree, forge.tree({})
    forge.git("replace", was, instead)
    forge.git("pack-refs", "--all")
    (text,) = warned(forge)
    assert was in text


def test_replaced_objects_of_the_host_are_its_own_affair(forge: Forge) -> None:
    """Only what stands in the ledger is told."""
    forge.git("replace", forge.blob(b"theirs"), forge.blob(b"theirs, too"))
    assert warned(forge) == []


def test_a_graft_is_told(forge: Forge) -> None:
    """`info/grafts` gives a commit other parents, and git hides what was before it."""
    info = forge.path / "info"
    info.mkdir(exist_ok=True)
    (info / "grafts").write_text(f"# cut\n{forge.head()}\n")
    assert forge.git("rev-list", "--count", "refs/hikmah/memory") == "1"
    (text,) = warned(forge)
    assert text.startswith("info/grafts makes git show something else")
