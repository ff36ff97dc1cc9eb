"""A record's bytes come out of the index exactly as they went in, or damage is said."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.index import layout
from hikmah.index.blobs import pack, unpack, unpack_record
from hikmah.index.rows import DamagedIndexError
from hikmah.model.records import UNDECODABLE, Unknown, canonical, read_stored
from hikmah.model.trace import Claim, Provenance, Trace
from tests.index.ledgers import story

ID = bytes(range(20))


@given(st.binary(max_size=10_000), st.sampled_from([20, 32]))
def test_any_bytes_come_back(data: bytes, id_bytes: int) -> None:
    record_id = bytes(range(id_bytes))
    assert unpack(pack(data, record_id), record_id) == data


def test_the_common_bytes_are_two_typical_traces() -> None:
    """As the model writes them: a field that is added belongs in a new format's dictionary."""
    plain = Trace(content="", created_at_ms=1_700_000_000_000)
    full = Trace(
        content="",
        created_at_ms=1_700_000_000_000,
        tags=("",),
        claim=Claim(key="", value=""),
        provenance=Provenance(source="agent:"),
    )
    assert canonical(full) + canonical(plain) == layout.COMMON


def test_a_typical_record_shrinks_to_a_third() -> None:
    for one in story()[:3]:
        assert len(pack(one.data, bytes.fromhex(one.id))) < len(one.data) / 3


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff" * 40, id="no deflate stream"),
        pytest.param(pack(b"data" * 99, bytes(20)), id="packed for another id"),
        pytest.param(pack(b"data" * 99, ID)[:-3], id="cut short"),
        pytest.param(b"0000" + pack(b"data" * 99, ID)[4:], id="another checksum"),
        pytest.param(zlib.compress(b"data" * 99), id="packed by another tool"),
    ],
)
def test_what_is_not_the_record_of_its_id_is_damage(packed: bytes) -> None:
    with pytest.raises(DamagedIndexError):
        unpack(packed, ID)


def test_a_file_at_a_records_path_that_is_none_is_kept_as_unknown() -> None:
    """A foreign file must not stop a reader; verification is what reports it."""
    data = b"\xff not json"
    assert unpack_record(pack(data, ID), ID) == Unknown(type=UNDECODABLE)
    assert read_stored(b"{}") == Unknown(type=UNDECODABLE)
