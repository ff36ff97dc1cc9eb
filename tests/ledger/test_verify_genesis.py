"""The two ends of a history that tampering may aim at: the first commit, and merges."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hikmah.ledger.chain import Genesis, genesis_data, genesis_message
from hikmah.ledger.findings import CODES
from hikmah.ledger.growth import TreeReader
from hikmah.ledger.links import Role, links, role
from hikmah.ledger.verify import verify
from hikmah.model.records import Unknown
from hikmah.model.trace import Outcome, Prediction
from tests.ledger.forge import Forge, note

GENESIS = Genesis(format="hikmah/1", ledger="0" * 32, name="memory", created_at_ms=0)
GOOD = genesis_data(GENESIS)
FILE = "100644"


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    """Return an empty repository."""
    return Forge(tmp_path / "store")


def first_commit(
    forge: Forge, files: dict[str, tuple[str, bytes]], message: bytes | None = None
) -> set[str]:
    """Make a first commit of files by mode and content, and return the codes found."""
    written = {path: (mode, forge.blob(data)) for path, (mode, data) in files.items()}
    text = (genesis_message(GENESIS) if message is None else message).decode()
    forge.set_ref(forge.commit(forge.tree(written), [], text))
    found = {problem.code for problem in verify(forge.ledger).errors}
    assert found <= CODES.keys()
    return found


@pytest.mark.parametrize(
    ("files", "named"),
    [
        pytest.param({"ledger.json": (FILE, GOOD)}, set(), id="good"),
        pytest.param(
            {"ledger.json": (FILE, GOOD), "README": (FILE, b"x")}, {"genesis_tree"}, id="more"
        ),
        pytest.param({"README": (FILE, b"x")}, {"genesis_tree"}, id="another file"),
        pytest.param({"ledger.json": ("100755", GOOD)}, {"genesis_tree"}, id="executable"),
        pytest.param({"ledger.json": (FILE, b"{}\n")}, {"genesis_record"}, id="not a genesis"),
        pytest.param({"ledger.json": (FILE, b"\xff")}, {"genesis_record"}, id="no text"),
        pytest.param(
            {"ledger.json": (FILE, json.dumps(json.loads(GOOD)).encode())},
            {"genesis_record"},
            id="not canonical",
        ),
    ],
)
def test_a_first_commit_holds_one_canonical_genesis(
    forge: Forge, files: dict[str, tuple[str, bytes]], named: set[str]
) -> None:
    """Anything else in it, or another form of it, is named."""
    assert first_commit(forge, files) == named


def test_the_first_commits_message_says_what_the_genesis_says(forge: Forge) -> None:
    """`git log` alone must not tell of another ledger."""
    assert first_commit(forge, {"ledger.json": (FILE, GOOD)}, b"genesis other\n") == {
        "genesis_message"
    }


def test_a_missing_genesis_blob_or_tree_is_named(forge: Forge) -> None:
    """The first commit is checked like any other."""
    head = forge.init()
    forge.add(note("one"))
    for spec in (f"{head}:ledger.json", f"{head}^{{tree}}"):
        oid = forge.git("rev-parse", spec)
        (forge.path / "objects" / oid[:2] / oid[2:]).unlink()
        forge.reopen()
        assert {p.code for p in verify(forge.ledger).errors} == {"missing_object"}


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(lambda a, b, _: sorted([a, b], reverse=True), id="wrong order"),
        pytest.param(lambda a, b, c: sorted([a, b, c]), id="three parents"),
    ],
)
def test_a_merge_has_two_parents_in_order(forge: Forge, order: object) -> None:
    """Both machines must make the same commit, so there is one way to make it."""
    assert callable(order)
    base = forge.init()
    heads: list[str] = []
    for n in range(3):
        forge.set_ref(base)
        forge.ledger.state.head_file.unlink(missing_ok=True)
        heads.append(forge.add(note(f"branch {n}")).tip.commit)
    parents = order(*heads)
    files = {path: at for parent in parents for path, at in forge.files(parent).items()}
    forge.set_ref(forge.commit(forge.tree(files), parents, "merge"))
    assert "merge_parents" in {p.code for p in verify(forge.ledger).errors}


def test_a_merge_with_an_unreadable_tree_is_named(forge: Forge) -> None:
    """The union cannot be told when one side cannot be read."""
    base = forge.init()
    one = forge.add(note("one")).tip.commit
    forge.set_ref(base)
    forge.ledger.state.head_file.unlink()
    other = forge.add(note("other")).tip.commit
    files = {**forge.files(one), **forge.files(other)}
    forge.set_ref(forge.commit(forge.tree(files), sorted([one, other]), "merge"))
    oid = forge.git("rev-parse", f"{one}^{{tree}}")
    (forge.path / "objects" / oid[:2] / oid[2:]).unlink()
    assert "missing_object" in {p.code for p in verify(forge.ledger).errors}


def test_a_link_must_lead_to_what_it_is_for() -> None:
    """Each field names the role that its target must fill."""
    outcome = note("it did", outcome=Outcome(prediction="ab" * 20, observed="yes"))
    assert [(link.field, link.need) for link in links(outcome)] == [
        ("outcome.prediction", Role.PREDICTION)
    ]
    forecast = Prediction(
        family="f", answer_kind="noul", forecaster="me", question="will it?", p=0.5
    )
    assert role(note("it will", kind="prediction", prediction=forecast)) & Role.PREDICTION
    assert links(Unknown(type="new")) == []
    assert role(Unknown(type="new")) == Role.UNKNOWN


def test_a_tree_that_lost_and_changed_at_once_is_compared_in_full(forge: Forge) -> None:
    """The general comparison finds what the quick one leaves to it."""
    blob, other = forge.blob(b"one"), forge.blob(b"other")
    old = forge.tree({"a/b": (FILE, blob), "c": (FILE, blob), "d/e": (FILE, blob)})
    new = forge.tree({"a/b": (FILE, other), "c/x": (FILE, blob), "f/g": (FILE, blob)})
    trees = TreeReader(forge.ledger.store.read, forge.algorithm)
    found = trees.growth(old, new)
    assert [file.path for file in found.added] == ["f/g"]
    assert (found.lost, found.changed) == (["d"], ["a/b", "c"])
    assert trees.growth(old, old).added == []
    assert trees.last_seq(old) == 0
