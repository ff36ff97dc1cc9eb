"""Trees and commits are the bytes that git itself writes and reads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from hikmah.errors import IntegrityError
from hikmah.ledger.objects import (
    FILE_MODE,
    TREE_MODE,
    Commit,
    TreeEntry,
    commit_bytes,
    is_signature,
    object_id,
    parse_commit,
    parse_tree,
    tree_bytes,
)
from tests import world

OID = "0123456789abcdef0123456789abcdef01234567"
ENTRIES = st.lists(
    st.builds(
        TreeEntry,
        st.sampled_from([FILE_MODE, TREE_MODE]),
        st.binary(min_size=1, max_size=20).filter(lambda n: b"\0" not in n and b"/" not in n),
        st.just(OID),
    ),
    unique_by=lambda entry: entry.name,
)


@given(ENTRIES)
def test_a_tree_reads_back_in_git_order(entries: list[TreeEntry]) -> None:
    """Writing and reading a tree gives the same entries, sorted, whatever the order given."""
    data = tree_bytes(entries)
    assert sorted(map(astuple, parse_tree(data, "sha1"))) == sorted(map(astuple, entries))
    assert tree_bytes(parse_tree(data, "sha1")) == data


def test_folders_sort_as_if_their_names_ended_in_a_slash(tmp_path: Path) -> None:
    """`a.b` stands before the folder `a`, as `git mktree` writes it."""
    repo = world.repository(tmp_path)
    blob = world.git(repo, "hash-object", "-w", "--stdin", text="x")
    inner = world.git(repo, "mktree", text=f"100644 blob {blob}\tf\n")
    listing = f"040000 tree {inner}\ta\n100644 blob {blob}\ta.b\n100644 blob {blob}\ta0\n"
    entries = [
        TreeEntry(TREE_MODE, b"a", inner),
        TreeEntry(FILE_MODE, b"a.b", blob),
        TreeEntry(FILE_MODE, b"a0", blob),
    ]
    assert object_id(b"tree", tree_bytes(entries), "sha1") == world.git(
        repo, "mktree", text=listing
    )


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_ids_are_git_ids(tmp_path: Path, algorithm: str) -> None:
    """The id of content is what `git hash-object` says, under either hash."""
    repo = world.repository(tmp_path, f"--object-format={algorithm}")
    assert object_id(b"blob", b"hello", algorithm) == world.git(
        repo, "hash-object", "--stdin", text="hello"
    )


def test_a_commit_reads_back() -> None:
    """Writing and reading a commit gives the same parts."""
    commit = Commit(
        OID, (OID, "f" * 40), b"A <a@b> 1 +0000", b"C <c@d> 23 +0000", b"subject\n\nbody\n"
    )
    assert parse_commit(commit_bytes(commit)) == commit
    assert commit.time_s == 23


def test_further_headers_are_skipped() -> None:
    """A signed commit's message is found behind its signature."""
    data = (
        f"tree {OID}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n"
        "gpgsig -----BEGIN\n more\n -----END\n\nthe message\n"
    ).encode()
    assert parse_commit(data).message == b"the message\n"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"100644 name", id="no NUL"),
        pytest.param(b"100644name\0" + b"x" * 20, id="no space"),
        pytest.param(b"100644 name\0short", id="id cut off"),
    ],
)
def test_what_is_no_tree_is_refused(data: bytes) -> None:
    """Bytes that are not a tree are an integrity error, not a crash."""
    with pytest.raises(IntegrityError, match="tree"):
        parse_tree(data, "sha1")


@pytest.mark.parametrize("data", [b"", b"tree x\n", b"not a commit at all"], ids=repr)
def test_what_is_no_commit_is_refused(data: bytes) -> None:
    """Bytes that are not a commit are an integrity error, not a crash."""
    with pytest.raises(IntegrityError, match="commit"):
        parse_commit(data)


def test_a_malformed_time_counts_as_the_epoch() -> None:
    """A committer line without a number has no time."""
    commit = Commit(OID, (), b"a", b"nobody knows when", b"")
    assert commit.time_s == 0


SIGNATURES = [
    pytest.param(b"Ada <ada@example.org> 1700000000 +0000", True, id="usual"),
    pytest.param(b"Ada L. O'N <> 0 -1200", True, id="no address, the first second"),
    pytest.param(b" <ada@example.org> 1 +0530", True, id="empty name"),
    pytest.param(b"A\xff <a> 9223372036854775807 +0000", True, id="the last second"),
    pytest.param(b"", False, id="nothing"),
    pytest.param(b"Ada 1700000000 +0000", False, id="no address at all"),
    pytest.param(b"<ada@example.org> 1 +0000", False, id="no space before the address"),
    pytest.param(b"Ada<ada@example.org> 1 +0000", False, id="name stuck to the address"),
    pytest.param(b"Ada <ada@example.org 1 +0000", False, id="address does not end"),
    pytest.param(b"Ada <a<b> 1 +0000", False, id="bracket in the address"),
    pytest.param(b"A>da <a> 1 +0000", False, id="bracket in the name"),
    pytest.param(b"A\0da <a> 1 +0000", False, id="NUL in the name"),
    pytest.param(b"Ada <a>1 +0000", False, id="no space before the time"),
    pytest.param(b"Ada <a> 01 +0000", False, id="zero before the time"),
    pytest.param(b"Ada <a> yesterday +0000", False, id="time in words"),
    pytest.param(b"Ada <a> -1 +0000", False, id="before 1970"),
    pytest.param(b"Ada <a> 9223372036854775808 +0000", False, id="a second past the last"),
    pytest.param(b"Ada <a> 99999999999999999999999 +0000", False, id="far too late"),
    pytest.param(b"Ada <a> 1", False, id="no zone"),
    pytest.param(b"Ada <a> 1 UTC", False, id="zone in words"),
    pytest.param(b"Ada <a> 1 +00000", False, id="zone of five digits"),
]


@pytest.mark.parametrize(("line", "good"), SIGNATURES)
def test_an_author_line_is_what_git_fsck_lets_pass(
    line: bytes, *, good: bool, tmp_path: Path
) -> None:
    """`name <email> seconds zone`; what git refuses, a host may refuse to be pushed."""
    assert is_signature(line) is good
    repo = world.repository(tmp_path)
    tree = world.git(repo, "mktree", text="")
    data = b"tree %s\nauthor %s\ncommitter %s\n\nx\n" % (tree.encode(), line, line)
    flags = ("-t", "commit", "-w", "--literally", "--stdin")
    subprocess.run(["git", "hash-object", *flags], cwd=repo, input=data, check=True)
    found = subprocess.run(["git", "fsck", "--strict"], cwd=repo, capture_output=True, check=False)
    assert (found.returncode == 0) is good
