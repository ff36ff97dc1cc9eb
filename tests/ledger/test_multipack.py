"""Packs that go while git's index over several packs names them."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from hikmah.errors import StoreError
from hikmah.ledger import durable, multipack, space
from hikmah.ledger.ownpacks import Own, OwnPacks
from hikmah.ledger.verify import verify
from tests.ledger.forge import Forge


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return a ledger in two own packs beside a pack of the host's."""
    forge = Forge(tmp_path / "store", request.param)
    tree = forge.tree({"main.py": ("100644", forge.blob(b"source code"))})
    forge.git("update-ref", "refs/heads/main", forge.commit(tree, [], "Start"))
    forge.git("repack", "-q", "-d")
    forge.init()
    for first in (1, 10):
        forge.add_many(4, first=first)
        pack_loose(forge)
    return forge


def pack_loose(forge: Forge) -> None:
    """Put what is loose into one more own pack."""
    packs = OwnPacks(forge.ledger)
    space._rewrite(forge.ledger, packs, packs.read(), everything=False)


def folder(forge: Forge) -> Path:
    """Return where packs stand."""
    return forge.path / "objects/pack"


def several(forge: Forge) -> list[str]:
    """Return what there is of an index over several packs."""
    return sorted(path.name for path in folder(forge).glob("multi-pack-index*"))


def sound(forge: Forge) -> None:
    """Demand that git and verification find nothing."""
    forge.reopen()
    assert verify(forge.ledger).errors == ()
    forge.git("multi-pack-index", "verify")
    forge.git("fsck", "--full", "--strict")
    forge.git("gc", "-q")
    forge.git("fsck", "--full", "--strict")


def test_an_index_over_packs_that_go_goes_first(forge: Forge) -> None:
    """`git maintenance` writes one; with it left behind the host's `git fsck` would fail."""
    forge.git("multi-pack-index", "write")
    assert several(forge) == ["multi-pack-index"]
    assert space.compact(forge.ledger).packs_removed == 2
    assert several(forge) == []
    sound(forge)


def test_its_bitmap_goes_with_it(forge: Forge) -> None:
    """What lies beside it is named after its checksum and is of no use alone."""
    forge.git("repack", "-q", "-a", "-d", "-b", "--write-midx", "--keep-pack=none.pack")
    forge.add_many(3, first=20)
    pack_loose(forge)
    forge.git("multi-pack-index", "write", "--bitmap")
    assert len(several(forge)) > 1
    forge.add_many(3, first=30)
    space.compact(forge.ledger)
    assert several(forge) == []
    sound(forge)


def test_an_index_that_names_only_packs_that_stay_is_left(forge: Forge) -> None:
    """The host's index is the host's."""
    forge.git("multi-pack-index", "write")
    before = (folder(forge) / "multi-pack-index").read_bytes()
    forge.add_many(4, first=20)
    pack_loose(forge)  # no pack goes
    multipack.let_go(folder(forge), ["pack-" + "0" * 40])
    assert (folder(forge) / "multi-pack-index").read_bytes() == before
    sound(forge)


def test_merging_small_packs_lets_it_go_too(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only `compact` removes packs: an append that tidies does as well."""
    monkeypatch.setattr(space, "MERGE_AT", 2)
    forge.git("multi-pack-index", "write")
    packs = OwnPacks(forge.ledger)
    report = space._merge_small(packs, packs.read())
    assert report is not None
    assert report.packs_removed == 2
    assert several(forge) == []
    sound(forge)


def test_a_layered_index_goes_whole(forge: Forge) -> None:
    """Since git 2.47 it may stand in layers, which one file lists."""
    forge.git("multi-pack-index", "write")
    chain = folder(forge) / "multi-pack-index.d"
    chain.mkdir()
    (folder(forge) / "multi-pack-index").rename(chain / "multi-pack-index-aa.midx")
    for name in ("multi-pack-index-chain", "multi-pack-index-aa.rev"):
        (chain / name).write_text("aa\n")
    space.compact(forge.ledger)
    assert list(chain.iterdir()) == []
    sound(forge)


def test_packs_stay_when_the_index_over_them_cannot_go(forge: Forge) -> None:
    """A disk that refuses leaves a repository that git can read."""
    forge.git("multi-pack-index", "write")
    real = durable.unlink

    def refuse(path: Path) -> None:
        if path.name == "multi-pack-index":
            raise OSError("read-only")
        real(path)

    before = OwnPacks(forge.ledger).read().packs
    with mock.patch.object(durable, "unlink", refuse), pytest.raises(StoreError):
        space.compact(forge.ledger)
    assert set(before) < {path.stem for path in folder(forge).glob("*.pack")}
    forge.git("fsck", "--full", "--strict")
    left = OwnPacks(forge.ledger).settle()
    assert (len(left.packs), left.drop) == (1, Own().drop)
    sound(forge)
