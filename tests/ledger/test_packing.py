"""What goes into a pack, and what stays where it is when something cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hikmah.errors import IntegrityError, StoreError
from hikmah.ledger import space
from hikmah.ledger.bulk import loose_path
from hikmah.ledger.growth import TreeReader
from hikmah.ledger.objects import FILE_MODE, TREE_MODE, TreeEntry, object_id, tree_bytes
from hikmah.ledger.ownpacks import OwnPacks
from hikmah.ledger.packing import Packer
from hikmah.ledger.packs import PackFile
from tests.ledger.forge import Forge, note


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return a ledger of five records, in a repository of either hash."""
    forge = Forge(tmp_path / "store", request.param)
    forge.init()
    forge.add_many(5)
    return forge


def loose(forge: Forge) -> set[str]:
    """Return the ids of the repository's loose objects."""
    return {oid for oid, _ in OwnPacks(forge.ledger).loose()}


def damage(forge: Forge, oid: str) -> None:
    """Empty a loose object, as a power cut does."""
    path = loose_path(forge.path / "objects", oid)
    path.chmod(0o644)
    path.write_bytes(b"")


def literal(forge: Forge, kind: str, data: bytes) -> str:
    """Write an object that git itself would not."""
    return forge.git("hash-object", "-t", kind, "-w", "--literally", "--stdin", data=data)


# ---- damage ----------------------------------------------------------------------------


UNREADABLE: list[tuple[str, Callable[[Forge, str], str]]] = [
    ("a commit", lambda _, commit: commit),
    ("a root tree", lambda forge, commit: forge.parse(commit).tree),
    ("a folder's tree", lambda forge, commit: forge.git("rev-parse", f"{commit}:records/0000")),
    ("a record", lambda forge, _: forge.id(note("note 3"))),
]


@pytest.mark.parametrize("which", [pytest.param(w, id=i) for i, w in UNREADABLE])
def test_whatever_cannot_be_read_is_named_and_stays(
    forge: Forge, which: Callable[[Forge, str], str]
) -> None:
    """What can still be reached past it is packed; nothing that is good is lost."""
    commits = forge.git("rev-list", "--reverse", "refs/hikmah/memory").splitlines()
    oid = which(forge, commits[3])
    damage(forge, oid)
    good = loose(forge) - {oid}
    report = space.compact(forge.ledger)
    assert report.damaged == (oid,)
    assert oid in loose(forge)
    reader = OwnPacks(forge.ledger)
    (name,) = reader.read().packs
    pack = reader.open(name)
    assert pack is not None
    packed = {packed.hex() for packed in pack.ids()}
    pack.close()
    assert packed | loose(forge) == good | {oid}


def test_a_commit_that_is_none_is_named(forge: Forge) -> None:
    """It is an object all the same, and is packed as it stands."""
    commit = literal(forge, "commit", b"tree of nothing\n")
    (forge.path / "refs/hikmah/memory").write_text(f"{commit}\n")  # git would not
    report = space.compact(forge.ledger)
    assert report.damaged == (commit,)
    assert report.objects == 1


# ---- trees that no append makes --------------------------------------------------------


def test_a_file_that_is_no_record_goes_in_whole(forge: Forge) -> None:
    """Only records have lines in common with their like."""
    files = forge.files(forge.head()) | {"README": ("100644", forge.blob(b"by hand\n"))}
    forge.set_ref(forge.commit(forge.tree(files), [forge.head()], "by hand"))
    space.compact(forge.ledger)
    assert loose(forge) == set()
    assert forge.git("show", "refs/hikmah/memory:README") == "by hand"


def test_a_changed_last_file_is_no_folder_to_go_into(forge: Forge) -> None:
    """A tree may differ from the newer one in its last entry's id alone, and that be a file."""
    files = forge.files(forge.head())
    last = max(files)
    changed = files | {last: ("100644", forge.blob(b"{}\n"))}
    forge.set_ref(forge.commit(forge.tree(changed), [forge.head()], "tampered"))
    space.compact(forge.ledger)
    assert loose(forge) == set()
    forge.git("fsck", "--full")


def test_a_record_unlike_its_type_goes_in_whole(forge: Forge) -> None:
    """A delta that would be longer than the record is not made."""
    files = forge.files(forge.head())
    foreign = forge.blob(bytes(range(33, 127)) * 20)
    files["records/0000/00/99-remember-000000000000.json"] = ("100644", foreign)
    forge.set_ref(forge.commit(forge.tree(files), [forge.head()], "foreign"))
    space.compact(forge.ledger)
    assert loose(forge) == set()
    assert forge.raw(foreign) == bytes(range(33, 127)) * 20


# ---- own packs -------------------------------------------------------------------------


def test_a_pack_that_fails_while_it_is_written_leaves_nothing(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The temporary file goes; every object is where it was."""
    before = loose(forge)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Packer, "add_history", fail)
    with pytest.raises(StoreError, match="No space"):
        space.compact(forge.ledger)
    assert list((forge.path / "objects/pack").iterdir()) == []
    assert loose(forge) == before


@pytest.mark.parametrize("times", [0, 1])
def test_a_pack_that_goes_before_it_is_read_back_replaces_nothing(
    forge: Forge, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git gc` may take it up at any moment: what is not seen again is not trusted."""
    before = loose(forge)
    real = OwnPacks.open
    opened: list[str] = []

    def gone(packs: OwnPacks, name: str) -> PackFile | None:
        opened.append(name)
        return real(packs, name) if len(opened) <= times else None

    monkeypatch.setattr(OwnPacks, "open", gone)
    if times == 0:
        with pytest.raises(StoreError, match="does not open"):
            space.compact(forge.ledger)
    else:
        assert space.compact(forge.ledger).loose_removed == 0
    assert loose(forge) == before


def test_what_a_note_says_of_a_pack_that_is_not_own_is_dropped(forge: Forge) -> None:
    """A sweep for a pack that went meanwhile has nothing to sweep for."""
    packs = OwnPacks(forge.ledger)
    own = packs.change(packs.read(), sweep="pack-" + "0" * 40, drop=("pack-" + "1" * 40,))
    after, swept = packs.sweep(own)
    assert (after.sweep, after.drop) == (None, ())
    assert (swept.loose, swept.packs) == (0, 0)


def test_files_among_loose_objects_that_are_none_stay(forge: Forge) -> None:
    """Only what is named as an object is one."""
    folder = next(path for path in (forge.path / "objects").iterdir() if len(path.name) == 2)
    (folder / "tmp_obj_left").write_bytes(b"")
    (folder / "x").write_bytes(b"")
    space.compact(forge.ledger)
    assert {path.name for path in folder.iterdir()} == {"tmp_obj_left", "x"}


# ---- trees, compared -------------------------------------------------------------------


def test_an_object_that_is_no_tree_is_refused(forge: Forge) -> None:
    """A commit may name anything as its tree."""
    trees = TreeReader(forge.ledger.store.read, forge.algorithm)
    with pytest.raises(IntegrityError, match="is a commit, not a tree"):
        trees.raw(forge.head())


def test_large_trees_are_compared_in_bounded_memory() -> None:
    """Trees are let go of and read again; what is said of them stays the same."""
    count = 20_000
    blob = "0" * 40
    names = [b"%05d" % n for n in range(count)]
    folder = tree_bytes(TreeEntry(FILE_MODE, name, blob) for name in names)
    more = tree_bytes(TreeEntry(FILE_MODE, name, blob) for name in [*names, b"x"])
    kept = {object_id(b"tree", data, "sha1"): data for data in (folder, more)}
    old, new = kept
    for inner in (old, new):
        data = tree_bytes([TreeEntry(TREE_MODE, b"records", inner)])
        kept[object_id(b"tree", data, "sha1")] = data
    before, after = list(kept)[2:]
    trees = TreeReader(lambda oid: (b"tree", kept[oid]), "sha1")
    for _ in range(2):
        assert [file.path for file in trees.growth(before, after).added] == ["records/x"]
        assert len(trees.files(before)) == count
