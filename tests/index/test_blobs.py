"""A record's bytes come out of the index exactly as they went in, or damage is said."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.index.blobs import UNDECODABLE, pack, record_of, unpack, unpack_record
from hikmah.index.rows import DamagedIndexError
from hikmah.model.records import Unknown, blob_id
from tests.index.ledgers import story


@given(st.binary(max_size=10_000), st.sampled_from(["sha1", "sha256"]))
def test_any_bytes_come_back(data: bytes, algorithm: str) -> None:
    assert unpack(pack(data), bytes.fromhex(blob_id(data, algorithm))) == data


def test_a_typical_record_shrinks_to_a_third() -> None:
    for one in story()[:3]:
        assert len(pack(one.data)) < len(one.data) / 3


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff" * 40, id="no deflate stream"),
        pytest.param(pack(b"other"), id="another record's bytes"),
        pytest.param(pack(b"data" * 99)[:-3], id="cut short"),
        pytest.param(zlib.compress(b"data" * 99), id="packed by another tool"),
    ],
)
def test_what_is_not_the_record_of_its_id_is_damage(packed: bytes) -> None:
    with pytest.raises(DamagedIndexError):
        unpack(packed, bytes.fromhex(blob_id(b"data" * 99)))


def test_a_file_at_a_records_path_that_is_none_is_kept_as_unknown() -> None:
    """A foreign file must not stop a reader; verification is what reports it."""
    data = b"\xff not json"
    packed = pack(data)
    assert unpack_record(packed, bytes.fromhex(blob_id(data))) == Unknown(type=UNDECODABLE)
    assert record_of(b"{}") == Unknown(type=UNDECODABLE)
