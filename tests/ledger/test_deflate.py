from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.ledger.deflate import deflate
from tests.ledger.forge import Forge


@given(st.binary(max_size=3_000), st.integers(0, 9), st.integers(1, 40))
def test_what_was_deflated_inflates_to_the_same(data: bytes, level: int, times: int) -> None:
    """Empty, repeated and random data, at every level."""
    assert zlib.decompress(deflate(data * times, level)) == data * times


@pytest.mark.parametrize("size", [0, 1, 30, 249, 250, 500, 1_300, 6_000, 40_000])
def test_a_small_window_costs_no_room(size: int) -> None:
    """The stream is about as short as with zlib's largest window."""
    data = (b"%d lorem ipsum " * 4_000 % tuple(range(4_000)))[:size]
    assert len(deflate(data, 6)) <= len(zlib.compress(data, 6)) * 1.02 + 2


@pytest.mark.parametrize("size", [0, 30, 600, 5_000, 70_000])
def test_git_reads_a_loose_object_deflated_so(tmp_path: Path, size: int) -> None:
    """Any window is a valid stream; git's check of a loose object's header agrees."""
    forge = Forge(tmp_path)
    data = b"x1y2" * (size // 4)
    oid = forge.git("hash-object", "--stdin", data=data)
    path = tmp_path / "objects" / oid[:2] / oid[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(deflate(b"blob %d\0" % len(data) + data, 1))
    subprocess.run(["git", "fsck", "--full", "--strict"], cwd=tmp_path, check=True)
    assert forge.raw(oid) == data
