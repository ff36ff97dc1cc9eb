"""Objects that are missing, empty, cut short or swapped: named, and checking goes on."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from hikmah.ledger.bulk import loose_path
from hikmah.ledger.packs import open_pack
from hikmah.ledger.verify import verify
from tests.ledger.forge import Forge


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return a ledger of five records, in a repository of either hash."""
    forge = Forge(tmp_path / "store", request.param)
    forge.init()
    forge.add_many(5)
    return forge


def blob_of(forge: Forge, commit: str) -> str:
    """Return the blob of the record a commit added."""
    return forge.git("diff-tree", "-r", "--no-commit-id", commit).split()[3]


def leaf_tree_of(forge: Forge, commit: str) -> str:
    """Return the deepest tree of a commit."""
    return forge.git("rev-parse", f"{commit}:records/0000/00")


def commit_of(_forge: Forge, commit: str) -> str:
    """Return the commit itself."""
    return commit


def root_of(forge: Forge, commit: str) -> str:
    """Return the root tree of a commit."""
    return forge.git("rev-parse", f"{commit}^{{tree}}")


def empty(_data: bytes) -> bytes:
    """Leave nothing, as a power cut does."""
    return b""


def cut(data: bytes) -> bytes:
    """Leave half."""
    return data[: len(data) // 2]


def garbage(_data: bytes) -> bytes:
    """Put something in that is no object."""
    return b"garbage" * 10


def swapped(_data: bytes) -> bytes:
    """Put another good object in."""
    return zlib.compress(b"blob 5\0hello")


def headless(_data: bytes) -> bytes:
    """Put something in that inflates and is no object."""
    return zlib.compress(b"hello")


WHICH = [blob_of, leaf_tree_of, commit_of, root_of]
HOW: list[Callable[[bytes], bytes]] = [empty, cut, garbage, swapped, headless]


@pytest.mark.parametrize("how", HOW, ids=lambda how: how.__name__)
@pytest.mark.parametrize("which", WHICH, ids=lambda which: which.__name__)
def test_a_damaged_loose_object_is_named(
    forge: Forge, which: Callable[[Forge, str], str], how: Callable[[bytes], bytes]
) -> None:
    """Content that is not what the id says never passes, and nothing raises."""
    oid = which(forge, forge.git("rev-parse", "refs/hikmah/memory~2"))
    path = loose_path(forge.ledger.store.objects_dir, oid)
    path.chmod(0o644)
    path.write_bytes(how(path.read_bytes()))
    report = verify(forge.ledger)
    assert not report.ok
    assert {p.code for p in report.errors} == {"damaged_object"}
    assert any(oid in p.text for p in report.errors)


@pytest.mark.parametrize("which", WHICH, ids=lambda which: which.__name__)
def test_a_missing_object_is_named(forge: Forge, which: Callable[[Forge, str], str]) -> None:
    """`git prune --expire=now` at the wrong moment leaves this."""
    oid = which(forge, forge.git("rev-parse", "refs/hikmah/memory~2"))
    loose_path(forge.ledger.store.objects_dir, oid).unlink()
    report = verify(forge.ledger)
    assert {p.code for p in report.errors} == {"missing_object"}
    assert any(oid in p.text for p in report.errors)


def test_records_behind_a_missing_commit_are_still_checked(forge: Forge) -> None:
    """The child's tree lists them all; only the steps before it cannot be checked."""
    missing = forge.git("rev-parse", "refs/hikmah/memory~2")
    loose_path(forge.ledger.store.objects_dir, missing).unlink()
    report = verify(forge.ledger)
    assert {p.code for p in report.errors} == {"missing_object"}
    assert report.records == 5


def test_a_head_behind_a_hole_cannot_be_looked_for(forge: Forge) -> None:
    """The acknowledged head may be behind the damage: that is said, not "rewritten"."""
    head = forge.ledger.tip(forge.git("rev-parse", "refs/hikmah/memory~4"))
    missing = forge.git("rev-parse", "refs/hikmah/memory~2")
    forge.ledger.state.head_file.write_text(f'{{"commit": "{head.commit}", "seq": {head.seq}}}')
    loose_path(forge.ledger.store.objects_dir, missing).unlink()
    assert {p.code for p in verify(forge.ledger).errors} == {"missing_object", "head_untold"}


def test_a_ref_to_a_commit_that_is_not_there_is_named(forge: Forge) -> None:
    """A power cut can leave the ref pointing at nothing."""
    loose_path(forge.ledger.store.objects_dir, forge.head()).unlink()
    report = verify(forge.ledger)
    assert {p.code for p in report.errors} == {"missing_object"}
    assert report.records == 0


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("tree", "refs/hikmah/memory^{tree}"), ("blob", "refs/hikmah/memory:ledger.json")],
)
def test_a_ref_to_something_else_than_a_commit_is_named(forge: Forge, kind: str, spec: str) -> None:
    """The ref must hold a commit."""
    oid = forge.git("rev-parse", spec)
    (forge.path / "refs/hikmah/memory").write_text(oid + "\n")
    report = verify(forge.ledger)
    assert "malformed_commit" in {p.code for p in report.errors}
    assert any(kind in p.text for p in report.errors)


def test_a_tree_where_a_record_should_be_is_named(forge: Forge) -> None:
    """A path of a record must lead to a blob; git's plumbing allows anything."""
    head = forge.head()
    tree = leaf_tree_of(forge, head)
    files = {**forge.files(head), f"records/0000/00/06-remember-{tree[:12]}.json": ("100644", tree)}
    lines = "".join(
        f"{m} blob {o}\t{p.rpartition('/')[2]}\n" for p, (m, o) in files.items() if "/" in p
    )
    leaf = raw_tree(forge, lines)
    middle = raw_tree(forge, f"040000 tree {leaf}\t00\n")
    records = raw_tree(forge, f"040000 tree {middle}\t0000\n")
    genesis = files["ledger.json"][1]
    root = raw_tree(forge, f"100644 blob {genesis}\tledger.json\n040000 tree {records}\trecords\n")
    forge.set_ref(forge.commit(root, [head], "remember"))
    assert "not_a_record" in {p.code for p in verify(forge.ledger).errors}


def raw_tree(forge: Forge, lines: str) -> str:
    """Write a tree without git's own checks."""
    data = b""
    for line in lines.splitlines():
        meta, name = line.split("\t")
        mode, _, oid = meta.split(" ")
        data += mode.lstrip("0").encode() + b" " + name.encode() + b"\0" + bytes.fromhex(oid)
    return forge.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=data)


def test_a_tree_out_of_order_is_named(forge: Forge) -> None:
    """Two entries of one name, or a wrong order, could hide a record from other tools."""
    head = forge.head()
    records = forge.git("rev-parse", f"{head}:records")
    genesis = forge.files(head)["ledger.json"][1]
    blob = forge.blob(b"first")
    root = raw_tree(
        forge,
        f"100644 blob {genesis}\tledger.json\n040000 tree {records}\trecords\n"
        f"100644 blob {blob}\ta-file\n",
    )
    forge.set_ref(forge.commit(root, [head], "x"))
    assert {"malformed_tree", "not_a_record"} <= {p.code for p in verify(forge.ledger).errors}


def test_a_tree_too_deep_is_named_and_not_followed(forge: Forge) -> None:
    """A thousand nested folders cost nothing."""
    head = forge.head()
    blob = forge.blob(b"deep")
    tree = raw_tree(forge, f"100644 blob {blob}\tf\n")
    for _ in range(50):
        tree = raw_tree(forge, f"040000 tree {tree}\td\n")
    records = forge.git("rev-parse", f"{head}:records")
    genesis = forge.files(head)["ledger.json"][1]
    root = raw_tree(
        forge,
        f"040000 tree {tree}\tdeep\n100644 blob {genesis}\tledger.json\n"
        f"040000 tree {records}\trecords\n",
    )
    forge.set_ref(forge.commit(root, [head], "x"))
    assert "malformed_tree" in {p.code for p in verify(forge.ledger).errors}


def test_bytes_that_are_no_tree_and_no_commit_are_named(forge: Forge) -> None:
    """Objects may hash well and still be nonsense."""
    head = forge.head()
    tree = forge.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=b"nonsense")
    forge.set_ref(forge.commit(tree, [head], "x"))
    assert "malformed_tree" in {p.code for p in verify(forge.ledger).errors}
    commit = forge.git(
        "hash-object", "-t", "commit", "-w", "--literally", "--stdin", data=b"nonsense"
    )
    (forge.path / "refs/hikmah/memory").write_text(commit + "\n")
    assert "malformed_commit" in {p.code for p in verify(forge.ledger).errors}


# ---- packs -----------------------------------------------------------------------------


def damage_in_pack(forge: Forge, oid: str) -> None:
    """Turn bytes of one packed object over."""
    (index,) = (forge.path / "objects/pack").glob("*.idx")
    pack = open_pack(index, len(oid) // 2)
    assert pack is not None
    offset = pack.find(bytes.fromhex(oid))
    assert offset is not None
    path = pack.path
    pack.close()
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(offset + 4)
        file.write(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("which", WHICH, ids=lambda which: which.__name__)
def test_a_damaged_packed_object_is_named(forge: Forge, which: Callable[[Forge, str], str]) -> None:
    """Damage in a pack is found as it is among loose objects."""
    oid = which(forge, forge.git("rev-parse", "refs/hikmah/memory~2"))
    forge.git("gc", "-q")
    damage_in_pack(forge, oid)
    forge.reopen()
    report = verify(forge.ledger)
    assert "damaged_object" in {p.code for p in report.errors}


def test_a_good_copy_beside_a_damaged_one_is_enough_and_said(forge: Forge) -> None:
    """An object in a damaged pack that also stands loose is read from there."""
    oid = blob_of(forge, forge.head())
    data = forge.raw(oid)
    forge.git("gc", "-q")
    forge.git("hash-object", "-w", "--stdin", data=data)
    path = loose_path(forge.ledger.store.objects_dir, oid)
    if not path.exists():  # git does not write again what a pack holds
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(b"blob %d\0" % len(data) + data))
    damage_in_pack(forge, oid)
    forge.reopen()
    report = verify(forge.ledger)
    assert report.ok
    assert "damaged_copy" in {w.code for w in report.warnings}


def test_a_pack_without_its_index_is_as_good_as_missing(forge: Forge) -> None:
    """Everything in it is named missing; nothing raises."""
    forge.git("gc", "-q")
    for index in (forge.path / "objects/pack").glob("*.idx"):
        index.unlink()
    forge.reopen()
    assert {p.code for p in verify(forge.ledger).errors} == {"missing_object"}


@pytest.mark.parametrize("name", ["head", "next"])
@pytest.mark.parametrize("how", ["a folder", "a link to itself"])
def test_a_state_file_that_cannot_be_read_is_a_problem(forge: Forge, name: str, how: str) -> None:
    """What this machine remembers is then unknown: said, with the history still checked."""
    path = forge.ledger.state.folder / name
    path.unlink(missing_ok=True)
    if how == "a folder":
        path.mkdir()
    else:
        path.symlink_to(path)
    report = verify(forge.ledger)
    assert [problem.code for problem in report.errors] == ["acknowledged_damaged"]
    assert report.records == 5
