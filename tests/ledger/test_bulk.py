"""The reader of objects: wherever git keeps them, and never believed without hashing."""

from __future__ import annotations

import itertools
import os
import zlib
from pathlib import Path

import pytest

from hikmah.errors import IntegrityError
from hikmah.ledger.bulk import ObjectReader, loose_path, object_folders, parse_loose
from hikmah.ledger.gitstore import CorruptObjectError, GitStore, MissingObjectError
from hikmah.ledger.locate import explicit
from hikmah.ledger.packs import DamagedError
from tests.ledger.forge import Forge


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return an empty repository of either hash."""
    return Forge(tmp_path / "store", request.param)


def reader(forge: Forge) -> ObjectReader:
    """Open a reader on a repository as it is now."""
    return ObjectReader(GitStore(explicit(forge.path), environ=os.environ))


def some(forge: Forge, count: int = 3) -> list[str]:
    """Write blobs that a branch reaches, and return their ids."""
    blobs = [forge.blob(b"content %d " % n * 20) for n in range(count)]
    tree = forge.tree({f"file{n}": ("100644", oid) for n, oid in enumerate(blobs)})
    forge.git("update-ref", "refs/heads/main", forge.commit(tree, [], "some"))
    return blobs


@pytest.mark.parametrize(
    "how",
    [
        pytest.param([], id="loose"),
        pytest.param([("repack", "-q", "-a", "-d")], id="packed"),
        pytest.param(
            [("repack", "-q", "-a", "-d"), ("multi-pack-index", "write")], id="multi-pack-index"
        ),
        pytest.param([("-c", "pack.indexVersion=1", "repack", "-q", "-a", "-d")], id="old index"),
    ],
)
def test_an_object_is_found_wherever_git_keeps_it(forge: Forge, how: list[tuple[str, ...]]) -> None:
    """Loose, packed, and in packs with an index of the old version."""
    blobs = some(forge)
    if forge.algorithm == "sha256" and "pack.indexVersion=1" in str(how):
        pytest.skip("git writes no old index for SHA-256")
    for command in how:
        forge.git(*command)
    with reader(forge) as objects:
        for n, oid in enumerate(blobs):
            assert objects.read(oid) == (b"blob", b"content %d " % n * 20)
        assert objects.objects == 3


@pytest.mark.parametrize("relative", [False, True])
def test_an_object_is_found_in_a_repository_borrowed_from(
    forge: Forge, tmp_path: Path, relative: bool
) -> None:
    """Alternates of alternates, with comments, doubled and circular lines among them."""
    blobs = some(forge)
    forge.git("repack", "-q", "-a", "-d")
    middle = Forge(tmp_path / "middle", forge.algorithm)
    last = Forge(tmp_path / "last", forge.algorithm)
    there = "../../store/objects" if relative else str(forge.path / "objects")
    (middle.path / "objects/info/alternates").write_text(f"# a comment\n\n{there}\n{there}\n")
    (forge.path / "objects/info/alternates").write_text(f"{middle.path / 'objects'}\n")
    (last.path / "objects/info/alternates").write_text(f"{middle.path / 'objects'}\n")
    with reader(last) as objects:
        assert objects.read(blobs[0])[0] == b"blob"
    assert len(list(object_folders(last.path / "objects"))) == 3


def test_alternates_without_end_are_followed_as_far_as_git_does(tmp_path: Path) -> None:
    """A long chain is cut, not walked for ever."""
    folders = [tmp_path / str(n) for n in range(12)]
    for folder, after in itertools.pairwise(folders):
        (folder / "info").mkdir(parents=True)
        (folder / "info/alternates").write_text(f"{after}\n")
    assert len(list(object_folders(folders[0]))) == 6


def test_a_pack_that_came_later_is_found(forge: Forge) -> None:
    """Somebody packs, and removes the loose files, while the reader is open."""
    blobs = some(forge)
    with reader(forge) as objects:
        forge.git("repack", "-q", "-a", "-d")
        assert objects.read(blobs[1])[1].startswith(b"content 1")


def test_the_pack_that_served_last_is_asked_first(forge: Forge) -> None:
    """Objects of several packs are read in any order."""
    first = some(forge)
    forge.git("repack", "-q", "-d")
    second = [forge.blob(b"later %d" % n) for n in range(3)]
    tree = forge.tree({f"later{n}": ("100644", oid) for n, oid in enumerate(second)})
    forge.git("update-ref", "refs/heads/later", forge.commit(tree, [], "later"))
    forge.git("repack", "-q", "-d")
    with reader(forge) as objects:
        for oid in [*first, *second, *first]:
            assert objects.read(oid)[0] == b"blob"


def test_a_missing_object_is_missing(forge: Forge) -> None:
    """It is nowhere: loose, packed or borrowed."""
    some(forge)
    oid = "ab" * (20 if forge.algorithm == "sha1" else 32)
    with reader(forge) as objects, pytest.raises(MissingObjectError, match=oid):
        objects.read(oid)


def test_an_object_that_cannot_be_opened_is_damaged_not_missing(forge: Forge) -> None:
    """Permissions or a folder in its place: there is something, and it is no object."""
    (oid, *_) = some(forge)
    path = loose_path(forge.path / "objects", oid)
    path.unlink()
    path.mkdir()
    with reader(forge) as objects, pytest.raises(CorruptObjectError):
        objects.read(oid)


def test_content_of_another_kind_is_refused(forge: Forge) -> None:
    """Who asks for a commit gets a commit."""
    (oid, *_) = some(forge)
    with reader(forge) as objects:
        assert objects.content(oid, b"blob").startswith(b"content")
        with pytest.raises(IntegrityError, match="is a blob, not a commit"):
            objects.content(oid, b"commit")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"not deflated", id="not deflated"),
        pytest.param(zlib.compress(b"blob 5\0hello" * 9)[:-8], id="cut short"),
        pytest.param(zlib.compress(b"blob 6\0hello"), id="another size"),
        pytest.param(zlib.compress(b"blub 5\0hello"), id="another kind"),
        pytest.param(zlib.compress(b"hello"), id="no header"),
        pytest.param(zlib.compress(b"blob 05\0hello"), id="a size git does not write"),
    ],
)
def test_a_loose_file_that_is_no_object_is_damage(data: bytes) -> None:
    """Each says what is wrong with the file."""
    with pytest.raises(DamagedError, match="file"):
        parse_loose(data)
