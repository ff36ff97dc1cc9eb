"""Records and their canonical bytes: one form, one id, strict input, lenient reading."""

from __future__ import annotations

import hashlib
import json
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.errors import DecodeError, HikmahError, InvalidInputError
from hikmah.model import records
from hikmah.model.records import (
    RECORD_TYPES,
    Fulfill,
    Purge,
    Record,
    Supersede,
    Unknown,
    blob_id,
    canonical,
    canonical_json,
    convert,
    decode,
    decode_error,
    extra_fields,
    from_builtins,
    is_canonical,
    is_whole,
    read,
    record_time_ms,
    record_type,
)
from hikmah.model.trace import (
    Claim,
    Entity,
    Event,
    Fact,
    Imported,
    Outcome,
    Prediction,
    Provenance,
    Relationship,
    Trace,
)

A, B, C = "a" * 40, "b" * 40, "c" * 64


def round_trip(record: Record, record_type_name: str) -> None:
    """Write a record, read it back both ways, and find the same record and the same bytes."""
    data = canonical(record)
    assert read(data) == record
    assert decode(data) == record
    assert from_builtins(json.loads(data)) == record
    assert canonical(decode(data)) == data
    assert is_canonical(data)
    assert record_type(record) == record_type_name == json.loads(data)["type"]
    assert set(json.loads(data)) == {"type", *_encoded_names(type(record))}


def _encoded_names(struct_type: type[msgspec.Struct]) -> set[str]:
    return {info.encode_name for info in msgspec.structs.fields(struct_type)}


FULL = Trace(
    content='line one\nline "two" \\ \t\x00 é 今 👩‍👩‍👧',
    kind="commitment",
    created_at_ms=1_767_225_600_000,
    tags=("b", "a", "B"),
    deadline_ms=1_767_312_000_000,
    salience=0.25,
    confidence=1.0,
    privacy="public",
    provenance=Provenance(
        source="human:alex", locator="pr:12", observed_at_ms=5, authority=0.0, verified=True
    ),
    claim=Claim(key="k", value="v"),
    valid_from_ms=0,
    valid_until_ms=253_402_300_799_999,
    supersedes=A,
    derived_from=(B, C),
    idempotency_key="i",
    imported=Imported(system="old", id="7", hash="ff"),
)
RECORDS: list[tuple[str, Record]] = [
    ("remember", Trace(content="x", created_at_ms=0)),
    ("remember", FULL),
    (
        "remember",
        Trace(
            content="x",
            kind="prediction",
            created_at_ms=5,
            prediction=Prediction(
                family="f",
                answer_kind="choice",
                forecaster="x",
                question="q?",
                p=0.5,
                value="a",
                probabilities={"b": 0.5, "a": 0.5},
                answer_space=("b", "a"),
            ),
        ),
    ),
    (
        "remember",
        Trace(
            content="x",
            kind="outcome",
            created_at_ms=5,
            outcome=Outcome(prediction=A, observed="a"),
        ),
    ),
    (
        "remember",
        Trace(
            content="x",
            kind="episode",
            created_at_ms=5,
            event=Event(event_type="t", payload={"b": [1, 2.5, None, {}], "a": []}),
        ),
    ),
    (
        "remember",
        Trace(
            content="x",
            kind="belief",
            created_at_ms=5,
            entity=Entity(name="A", entity_type="person"),
        ),
    ),
    (
        "remember",
        Trace(
            content="x",
            kind="belief",
            created_at_ms=5,
            fact=Fact(entity=A, predicate="p", object="o", multi=True),
        ),
    ),
    (
        "remember",
        Trace(
            content="x",
            kind="belief",
            created_at_ms=5,
            relationship=Relationship(from_=A, to=B, relation_type="r"),
        ),
    ),
    ("supersede", Supersede(id=A, by=B, at_ms=5)),
    ("supersede", Supersede(id=C, by=C[:-1] + "d", reason="newer", at_ms=5)),
    ("fulfill", Fulfill(id=A, at_ms=5)),
    ("fulfill", Fulfill(id=A, evidence="merged", at_ms=5, provenance=Provenance(source="x"))),
    ("purge", Purge(id=A, reason="wrong", at_ms=5)),
    ("purge", Purge(id=A, reason="old", mode="deprecate", at_ms=5)),
]


@pytest.mark.parametrize(("name", "record"), RECORDS, ids=range(len(RECORDS)))
def test_every_record_comes_back_as_it_was_written(name: str, record: Record) -> None:
    """One function writes, reads and compares each type of record (faults row 26)."""
    round_trip(record, name)


def test_every_record_type_has_a_round_trip() -> None:
    """A new type cannot be added without one."""
    assert {name for name, _ in RECORDS} == set(RECORD_TYPES)


GOLDEN = b"""{
  "claim": null,
  "confidence": 0.5,
  "content": "disk is full",
  "created_at_ms": 0,
  "deadline_ms": null,
  "derived_from": [],
  "entity": null,
  "event": null,
  "fact": null,
  "idempotency_key": null,
  "imported": null,
  "kind": "observation",
  "outcome": null,
  "prediction": null,
  "privacy": "private",
  "provenance": {
    "authority": 0.5,
    "locator": null,
    "observed_at_ms": null,
    "source": "unknown",
    "verified": false
  },
  "relationship": null,
  "salience": 0.5,
  "supersedes": null,
  "tags": [],
  "type": "remember",
  "valid_from_ms": null,
  "valid_until_ms": null
}
"""


def test_the_canonical_bytes_of_a_trace_are_frozen() -> None:
    """`hikmah/1` is these bytes: sorted keys, two spaces, every field, one newline."""
    assert canonical(Trace(content="disk is full", created_at_ms=0)) == GOLDEN


def test_the_id_of_a_record_is_its_blobs_git_id() -> None:
    """Git and this module name the same bytes alike."""
    expected = hashlib.sha1(b"blob %d\0" % len(GOLDEN) + GOLDEN).hexdigest()
    assert blob_id(GOLDEN) == expected == "e000553df1318649628626065aeb8a3a081d6a1b"
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert len(blob_id(GOLDEN, "sha256")) == 64


GOLDEN_SWITCH = b"""{
  "at_ms": 5,
  "id": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "mode": "purge",
  "provenance": {
    "authority": 0.5,
    "locator": null,
    "observed_at_ms": null,
    "source": "unknown",
    "verified": false
  },
  "reason": "wrong",
  "type": "purge"
}
"""


def test_the_canonical_bytes_of_a_switch_are_frozen() -> None:
    """The same form for every type."""
    assert canonical(Purge(id=A, reason="wrong", at_ms=5)) == GOLDEN_SWITCH


GOLDEN_VALUES: list[tuple[Any, bytes]] = [
    (1e6, b"1000000.0"),
    (1_000_000, b"1000000"),
    (1e22, b"1e22"),
    (1e-7, b"1e-7"),
    (0.1, b"0.1"),
    (-0.0, b"-0.0"),
    (5e-324, b"5e-324"),
    (2**64 - 1, b"18446744073709551615"),
    ({"b": 1, "a": 2, "B": 3, "é": 4, "\U0001f600": 5},
     '{\n  "B": 3,\n  "a": 2,\n  "b": 1,\n  "é": 4,\n  "\U0001f600": 5\n}'.encode()),
    ({}, b"{}"),
    ([], b"[]"),
    ([[], {}], b"[\n  [],\n  {}\n]"),
    ('\x00\x1f\x7f"\\/\n\u2028', '"\\u0000\\u001f\x7f\\"\\\\/\\n\u2028"'.encode()),
    (None, b"null"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "data"), GOLDEN_VALUES, ids=range(len(GOLDEN_VALUES)))
def test_the_canonical_form_of_values_is_frozen(value: Any, data: bytes) -> None:
    """Numbers, orders and escapes are written in one way (faults row 26)."""
    assert canonical_json(value) == data + b"\n"
    assert is_canonical(data + b"\n")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"1e6\n", id="an exponent for a float"),
        pytest.param(b"1000000.00\n", id="a digit too many"),
        pytest.param(b"-0\n", id="minus nothing"),
        pytest.param(b'{"b": 1, "a": 2}\n', id="one line"),
        pytest.param(b'{\n  "b": 1,\n  "a": 2\n}\n', id="keys out of order"),
        pytest.param(b'{\n  "a": 1,\n  "a": 1\n}\n', id="a key twice"),
        pytest.param(b'{\n    "a": 1\n}\n', id="four spaces"),
        pytest.param(b'"\\u00e9"\n', id="an escape that is not needed"),
        pytest.param(b"1", id="no newline"),
        pytest.param(b"1\n\n", id="two newlines"),
        pytest.param(b"1\r\n", id="a carriage return"),
        pytest.param(b"\xef\xbb\xbf1\n", id="a byte order mark"),
        pytest.param(b"NaN\n", id="not a number"),
        pytest.param(b"Infinity\n", id="infinity"),
        pytest.param(b"1e400\n", id="a number out of range"),
        pytest.param(b"9" * 5_000 + b"\n", id="five thousand digits"),
        pytest.param(b'"\\ud800"\n', id="half a surrogate pair"),
        pytest.param(b'"\xed\xa0\x80"\n', id="half a surrogate pair in bytes"),
        pytest.param(b"\xff\n", id="no UTF-8"),
        pytest.param(b"[" * 100_000 + b"]" * 100_000 + b"\n", id="too deep"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_other_spellings_of_json_are_not_canonical(data: bytes) -> None:
    """Equal values in other bytes are told apart (faults row 26)."""
    assert is_canonical(data) is False


def test_a_record_is_whole_when_its_bytes_say_no_more() -> None:
    """One byte more is seen, and a text that no bytes can say is whole in none."""
    data = canonical(FULL)
    assert is_whole(FULL, data)
    assert not is_whole(FULL, data + b"\n")
    assert not is_whole(Trace(content="\ud800", created_at_ms=5), data)


def _deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _endless() -> list[Any]:
    own: list[Any] = []
    own.append(own)
    return own


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="not a number"),
        pytest.param({"a": [{"b": float("inf")}]}, id="infinity inside"),
        pytest.param((float("-inf"),), id="infinity in a tuple"),
        pytest.param({float("nan")}, id="not a number in a set"),
        pytest.param(Trace(content="x", created_at_ms=5, salience=float("nan")), id="in a record"),
        pytest.param(
            Trace(
                content="x", created_at_ms=5, event=Event(event_type="t", payload=[float("nan")])
            ),
            id="in a payload",
        ),
        pytest.param("\ud800", id="half a surrogate pair"),
        pytest.param({"\udfff": 1}, id="half a surrogate pair in a key"),
        pytest.param({1: 2}, id="a key that is a number"),
        pytest.param(object(), id="an object"),
        pytest.param(10**5_000, id="five thousand digits"),
        pytest.param(_endless(), id="a list that holds itself"),
        pytest.param(_deep(5_000), id="five thousand lists deep"),
    ],
)
def test_what_json_cannot_hold_is_never_written(value: object) -> None:
    """NaN is refused, not turned into null; so is all else that would not come back."""
    with pytest.raises(InvalidInputError):
        canonical_json(value)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_any_json_value_has_one_canonical_form(value: Any) -> None:
    """Writing what was read from canonical bytes gives the same bytes (faults row 26)."""
    data = canonical_json(value)
    assert is_canonical(data)
    assert canonical_json(json.loads(data)) == data
    assert json.loads(data) == value


@given(JSON_VALUES)
def test_the_order_of_keys_given_does_not_matter(value: Any) -> None:
    """Two mappings that are equal are written alike."""
    assert canonical_json({"a": value, "b": 1}) == canonical_json({"b": 1, "a": value})


@pytest.mark.parametrize("seed", ["0", "1", "77"])
def test_canonical_bytes_do_not_depend_on_the_hash_seed(seed: str) -> None:
    """The same record has the same id in every process."""
    code = (
        "from hikmah.model.records import *; from hikmah.model.trace import *;"
        "print(blob_id(canonical(Trace(content='disk is full', created_at_ms=0))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == blob_id(GOLDEN)


MINIMAL: dict[str, Any] = {"type": "remember", "content": "x", "created_at_ms": 5}
BAD: list[tuple[str, Any, str]] = [
    ("no type", {"content": "x"}, "$.type"),
    ("unknown type", MINIMAL | {"type": "forget"}, "$.type"),
    ("type a number", MINIMAL | {"type": 5}, "$.type"),
    ("type a list", MINIMAL | {"type": []}, "$.type"),
    ("type half a surrogate pair", MINIMAL | {"type": "\ud800"}, "$.type"),
    ("a list", [], "$.type"),
    ("null", None, "$.type"),
    ("unknown field", MINIMAL | {"colour": "red"}, "$.colour"),
    ("unknown field inside", MINIMAL | {"claim": {"key": "k", "value": "v", "x": 1}}, "$.claim.x"),
    ("unknown field of a switch", {"type": "purge", "id": A, "reason": "r", "at_ms": 5, "by": B},
     "$.by"),
    ("a field's name in code", MINIMAL | {"relationship": {"from_": A, "to": B}},
     "$.relationship.from_"),
    ("a field half a surrogate pair", MINIMAL | {"\ud800": 1}, "$.\\ud800"),
    ("a field that is a number", MINIMAL | {5: 1}, "$.5"),
    ("missing field", {"type": "remember", "created_at_ms": 5}, ""),
    ("missing field inside", MINIMAL | {"claim": {"key": "k"}}, "$.claim"),
    ("text for a time", MINIMAL | {"created_at_ms": "5"}, "$.created_at_ms"),
    ("a float for a time", MINIMAL | {"created_at_ms": 5.0}, "$.created_at_ms"),
    ("a huge time", MINIMAL | {"created_at_ms": 10**5_000}, "$.created_at_ms"),
    ("a boolean for a share", MINIMAL | {"salience": True}, "$.salience"),
    ("NaN for a share", MINIMAL | {"salience": float("nan")}, "$.salience"),
    ("a kind half a surrogate pair", MINIMAL | {"kind": "\ud800"}, ""),
    ("a short id", MINIMAL | {"supersedes": "abcd"}, "$.supersedes"),
    ("an id in capitals", MINIMAL | {"supersedes": A.upper()}, "$.supersedes"),
    ("an id with a newline", MINIMAL | {"supersedes": A + "\n"}, "$.supersedes"),
    ("an id of 41 digits", MINIMAL | {"supersedes": A + "a"}, "$.supersedes"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "where"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_input_that_is_no_record_is_refused_with_its_path(raw: Any, where: str) -> None:
    """Input is strict: the first thing wrong is named by its path, in printable text."""
    with pytest.raises(DecodeError) as caught:
        from_builtins(raw)
    assert caught.value.where == where
    assert (caught.value.message + caught.value.where).encode()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half an object"),
        pytest.param(b"not json", id="words"),
        pytest.param(b'{"type": "\xff"}', id="no UTF-8"),
        pytest.param(b"\xff\xfe{\x00}\x00", id="UTF-16"),
        pytest.param(b'{"type": "remember", "created_at_ms": ' + b"9" * 5_000 + b"}", id="digits"),
        pytest.param(b"[" * 100_000, id="too deep"),
        pytest.param(b'{"type": 5}', id="type a number"),
        pytest.param(b'{"type": "remember"}', id="known type, nothing else"),
        pytest.param(b'{"type": "remember", "content": "x", "created_at_ms": "5"}', id="bad value"),
        pytest.param(b"[]", id="a list"),
    ],
)
@pytest.mark.parametrize("reader", [decode, read])
def test_bytes_that_are_no_record_are_a_decode_error(reader: Any, data: bytes) -> None:
    """Strictly or leniently read, broken bytes end in our error and no other."""
    with pytest.raises(DecodeError):
        reader(data)


@given(st.binary(max_size=200) | st.text(max_size=80).map(lambda text: json.dumps(text).encode()))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No bytes end in a foreign exception."""
    is_canonical(data)
    for reader in (decode, read):
        try:
            reader(data)
        except DecodeError:
            continue


@given(st.dictionaries(st.sampled_from([*sorted(_encoded_names(Trace)), "type", "x"]), JSON_VALUES))
def test_any_object_is_converted_or_refused(raw: dict[str, Any]) -> None:
    """No mixture of fields and values ends in a foreign exception."""
    try:
        record = from_builtins({"type": "remember", "content": "x", "created_at_ms": 5} | raw)
    except HikmahError:
        return
    round_trip(record, record_type(record))


def test_a_type_from_a_newer_version_is_read_as_unknown() -> None:
    """It is kept by name, so that it can be counted and ignored."""
    unknown = read(b'{"type": "forecast", "x": {"y": 1}}')
    assert unknown == Unknown(type="forecast")
    assert record_type(unknown) == "forecast"


def test_a_field_from_a_newer_version_is_ignored_in_reading_and_refused_in_input() -> None:
    """Lenient where it was stored, strict where it comes in."""
    data = canonical_json(json.loads(GOLDEN) | {"mood": "good"})
    assert read(data) == Trace(content="disk is full", created_at_ms=0)
    assert is_canonical(data)
    with pytest.raises(DecodeError):
        decode(data)


def test_a_nested_field_from_a_newer_version_is_ignored_in_reading() -> None:
    """The same inside provenance, and its path is told on request."""
    raw = json.loads(GOLDEN)
    raw["provenance"]["device"] = "x"
    raw["mood"] = "good"
    assert read(canonical_json(raw)) == Trace(content="disk is full", created_at_ms=0)
    assert sorted(extra_fields(raw, Trace)) == ["$.mood", "$.provenance.device"]


def test_extra_fields_looks_into_structs_and_not_into_payloads() -> None:
    """A payload is any JSON; a struct has its fields; what is no object has none."""
    raw = MINIMAL | {"event": {"event_type": "t", "payload": {"x": 1}, "y": 2}, "claim": None}
    assert extra_fields(raw, Trace) == ["$.event.y"]
    assert extra_fields(raw["event"], Event, "$.event") == ["$.event.y"]
    assert extra_fields([1], Trace) == []
    assert extra_fields({"key": "k", "type": "x"}, Claim) == ["$.type"]


def test_convert_takes_one_struct_and_names_its_paths() -> None:
    """Parts of records are converted as strictly as records."""
    assert convert({"key": "k", "value": "v"}, Claim) == Claim(key="k", value="v")
    with pytest.raises(DecodeError) as caught:
        convert({"key": "k", "value": 5}, Claim)
    assert caught.value.where == "$.value"


def test_each_failure_of_decoding_has_words_of_ours() -> None:
    """Whatever the decoder raises becomes one error, with what to do where that helps."""
    assert decode_error(RecursionError()).message == "the value is nested too deeply"
    not_text = decode_error(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"))
    assert not_text.hint == "save the input as UTF-8"
    half = decode_error(UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"))
    assert half.hint == "send valid Unicode"
    bad = decode_error(msgspec.ValidationError("Expected `int`, got `str` - at `$.at_ms`"))
    assert (bad.message, bad.where) == ("Expected `int`, got `str`", "$.at_ms")


def test_the_time_of_a_record_is_the_time_of_its_making() -> None:
    """`created_at_ms` of a trace, `at_ms` of a switch."""
    assert record_time_ms(Trace(content="x", created_at_ms=7)) == 7
    assert record_time_ms(Fulfill(id=A, at_ms=8)) == 8


def test_stored_bytes_are_kept_beside_the_record() -> None:
    """What was read need never be encoded again."""
    data = canonical_json(json.loads(GOLDEN) | {"mood": "good"})
    stored = records.Stored(id=blob_id(data), seq=1, record=read(data), data=data)
    assert stored.data == data
    assert canonical(stored.record) != data if isinstance(stored.record, Trace) else False


@given(st.text(string.hexdigits.lower()[:16], min_size=40, max_size=40))
def test_ids_are_forty_or_sixty_four_hexadecimal_digits(record_id: str) -> None:
    """SHA-1 and SHA-256 repositories are read alike."""
    for whole in (record_id, record_id + record_id[:24]):
        assert convert({"id": whole, "at_ms": 5}, Fulfill).id == whole
