"""The union of two trees: by structure, without reading what both share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.errors import IntegrityError, RefusedError
from hikmah.ledger.chain import MAX_DEPTH, FileAt, extend_tree, record_path
from hikmah.ledger.growth import TreeReader
from hikmah.ledger.objects import (
    FILE_MODE,
    TREE_MODE,
    RawObject,
    TreeEntry,
    object_id,
    raw_object,
    tree_bytes,
)
from hikmah.remotes.union import unite

ALGORITHMS = ["sha1", "sha256"]


class Trees:
    """Trees in a dictionary; counts what is read."""

    def __init__(self, algorithm: str = "sha1") -> None:
        self.algorithm = algorithm
        self.objects: dict[str, tuple[bytes, bytes]] = {}
        self.reads = 0

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Read an object as a store does."""
        self.reads += 1
        if oid not in self.objects:
            raise IntegrityError(f"object {oid} is not there")
        return self.objects[oid]

    def write(self, raw: RawObject) -> str:
        """Keep an object."""
        self.objects[raw.oid] = (raw.kind, raw.data)
        return raw.oid

    def records(self, *numbers: tuple[int, str], on: str | None = None) -> str:
        """Return a tree with a record at each (number, text), made as appends make it."""
        root = on
        if root is None:
            files = [FileAt("ledger.json", self.blob("genesis"))]
            root = self.all(list(extend_tree(self.read, None, files, self.algorithm)))
        for seq, text in numbers:
            blob = self.blob(text)
            files = [FileAt(record_path(seq, "remember", blob), blob)]
            root = self.all(list(extend_tree(self.read, root, files, self.algorithm)))
        return root

    def all(self, written: list[RawObject]) -> str:
        """Keep objects and return the last one's id."""
        return [self.write(raw) for raw in written][-1]

    def blob(self, text: str) -> str:
        """Return the id of a blob, which no union has to read."""
        return object_id(b"blob", text.encode(), self.algorithm)

    def tree(self, *entries: TreeEntry) -> str:
        """Keep a tree of these entries, whatever they are."""
        return self.write(raw_object(b"tree", tree_bytes(entries), self.algorithm))

    def files(self, root: str) -> set[tuple[str, str]]:
        """Return the files of a tree."""
        return {(f.path, f.oid) for f in TreeReader(self.read, self.algorithm).files(root)}

    def unite(self, one: str, other: str) -> str:
        """Unite two trees, keep what was written, and return the root."""
        union = unite(self.read, one, other, self.algorithm)
        for raw in union.written:
            self.write(raw)
        return union.root


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(mine=st.sets(st.integers(1, 12_000)), theirs=st.sets(st.integers(1, 12_000)))
def test_it_holds_every_file_of_either_and_no_other(
    algorithm: str, mine: set[int], theirs: set[int]
) -> None:
    """And which is named first makes no difference."""
    trees = Trees(algorithm)
    one = trees.records(*[(n, f"mine {n % 3}") for n in sorted(mine)])
    other = trees.records(*[(n, f"theirs {n % 2}") for n in sorted(theirs)])
    united = trees.unite(one, other)
    assert trees.files(united) == trees.files(one) | trees.files(other)
    assert trees.unite(other, one) == united
    growth = TreeReader(trees.read, algorithm).growth(one, united)
    assert (growth.lost, growth.changed, growth.malformed) == ([], [], [])


def test_a_tree_with_itself_reads_nothing() -> None:
    """Equal ids are equal trees."""
    trees = Trees()
    root = trees.records((1, "a"))
    trees.reads = 0
    assert unite(trees.read, root, root, "sha1") == (root, ())
    assert trees.reads == 0


def test_a_tree_that_holds_the_other_is_the_union_and_nothing_is_written() -> None:
    """As when both sides hold the same records by other commits."""
    trees = Trees()
    small = trees.records((1, "a"))
    large = trees.records((2, "b"), on=small)
    assert unite(trees.read, small, large, "sha1") == (large, ())
    assert unite(trees.read, large, small, "sha1") == (large, ())


def test_folders_that_both_share_are_not_read() -> None:
    """The cost follows what differs: a hundred full folders before it are left alone."""
    trees = Trees()
    base = trees.records(*[(n, f"{n}") for n in range(1, 10_001, 50)])
    one = trees.records((10_002, "mine"), on=base)
    other = trees.records((10_002, "theirs"), on=base)
    trees.reads = 0
    united = unite(trees.read, one, other, "sha1")
    assert trees.reads == 8  # root, records, AAAA and BB of each
    assert [raw.kind for raw in united.written] == [b"tree"] * 4


@pytest.mark.parametrize(
    ("mine", "theirs", "told"),
    [
        pytest.param((FILE_MODE, "a"), (FILE_MODE, "b"), "is the file", id="two files"),
        pytest.param((TREE_MODE, "a"), (FILE_MODE, "b"), "is the folder", id="folder and file"),
        pytest.param((FILE_MODE, "a"), (b"100755", "a"), "is the file", id="two modes"),
        pytest.param((b"160000", "a"), (TREE_MODE, "b"), "is the file", id="submodule and folder"),
    ],
)
def test_two_things_at_one_path_are_refused_with_both_ids(
    mine: tuple[bytes, str], theirs: tuple[bytes, str], told: str
) -> None:
    """There is no union, and nobody's is taken."""
    trees = Trees()
    ids = [trees.blob(text) for _, text in (mine, theirs)]
    inner = [
        trees.tree(TreeEntry(mode, b"01-remember-x.json", oid))
        for (mode, _), oid in zip((mine, theirs), ids, strict=True)
    ]
    one, other = (trees.tree(TreeEntry(TREE_MODE, b"records", oid)) for oid in inner)
    with pytest.raises(RefusedError, match=f"records/01-remember-x.json {told}") as caught:
        trees.unite(one, other)
    assert all(oid in caught.value.message for oid in ids)
    assert caught.value.where == "records/01-remember-x.json"


def test_what_is_deeper_than_any_record_is_an_error() -> None:
    """A tree made to go on for ever is not followed."""
    trees = Trees()
    one, other = (trees.tree(TreeEntry(FILE_MODE, b"f", trees.blob(text))) for text in "ab")
    for _ in range(MAX_DEPTH + 2):
        one, other = (trees.tree(TreeEntry(TREE_MODE, b"d", oid)) for oid in (one, other))
    with pytest.raises(IntegrityError, match="deeper than any record"):
        trees.unite(one, other)


def test_what_is_no_tree_is_an_error() -> None:
    """A blob in a tree's place is named for what it is."""
    trees = Trees()
    blob = trees.write(raw_object(b"blob", b"x", "sha1"))
    with pytest.raises(IntegrityError, match="is a blob, not a tree"):
        trees.unite(trees.records((1, "a")), blob)
