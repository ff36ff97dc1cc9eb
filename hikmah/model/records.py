"""Records and their canonical bytes, encoded and decoded nowhere else.

Rules the module keeps:

1. Canonical form: UTF-8 JSON, keys sorted at every level, two-space indent, every field
   written, one newline at the end; no NaN, no infinity, no lone surrogate.
2. A record's id is the git object id of those bytes. Stored bytes are never re-encoded:
   join, repair and export carry the blob (docs/format.md).
3. Input is strict: an unknown field is an error that names its path. Reading is lenient:
   an unknown type becomes `Unknown`, unknown fields are kept in the bytes and ignored.

Example:
    >>> record = Trace(content="disk is full", created_at_ms=0)
    >>> decode(canonical(record)) == record
    True
"""

# Annotations are values here, as in `hikmah.model.trace`.
import functools
import math
from collections.abc import Iterable
from typing import Literal, TypeVar, get_args

import msgspec
from msgspec import Struct

from hikmah.errors import DecodeError, InvalidInputError
from hikmah.model.trace import Provenance, RecordId, TimeMs, Trace

PurgeMode = Literal["purge", "deprecate"]
# The type that a blob counts as which stands at a record's path and is none.
UNDECODABLE = "undecodable"
T = TypeVar("T", bound=Struct)


class Supersede(Struct, frozen=True, kw_only=True, tag_field="type", tag="supersede"):
    """Links two traces that already exist: `id` is replaced by `by`."""

    id: RecordId
    by: RecordId
    reason: str | None = None
    at_ms: TimeMs
    provenance: Provenance = Provenance()


class Fulfill(Struct, frozen=True, kw_only=True, tag_field="type", tag="fulfill"):
    """Marks a commitment as kept, with evidence as text or an id."""

    id: RecordId
    evidence: str | None = None
    at_ms: TimeMs
    provenance: Provenance = Provenance()


class Purge(Struct, frozen=True, kw_only=True, tag_field="type", tag="purge"):
    """Takes a trace out of every view (`purge`) or retires it (`deprecate`); hides, not erases."""

    id: RecordId
    reason: str
    mode: PurgeMode = "purge"
    at_ms: TimeMs
    provenance: Provenance = Provenance()


class Unknown(Struct, frozen=True, kw_only=True):
    """A record of a type this version does not know: kept, counted, ignored in views."""

    type: str


Switch = Supersede | Fulfill | Purge
Record = Trace | Switch
RECORD_TYPES: dict[str, type[Struct]] = {
    "remember": Trace,
    "supersede": Supersede,
    "fulfill": Fulfill,
    "purge": Purge,
}


class Stored(Struct, frozen=True, kw_only=True):
    """A record as it stands in the ledger: its id, its sequence number, its exact bytes."""

    id: str
    seq: int
    record: Record | Unknown
    data: bytes


class _Tag(Struct):
    """Just enough of a record to know its type."""

    type: str


_ENCODER = msgspec.json.Encoder(order="sorted")
# Types that hold no number but exact ones, so that looking for NaN can pass them over.
_PLAIN = frozenset((str, int, bool, type(None)))


@functools.cache
def _tag_decoder() -> msgspec.json.Decoder[_Tag]:
    return msgspec.json.Decoder(_Tag)


@functools.cache
def _record_decoder() -> msgspec.json.Decoder[Record]:
    """Return the decoder of stored records; made when first needed, for it costs a millisecond."""
    return msgspec.json.Decoder(Record)


def record_type(record: Record | Unknown) -> str:
    """Return the `type` tag of a record: `remember`, `supersede`, `fulfill`, `purge`, ..."""
    if isinstance(record, Unknown):
        return record.type
    return str(record.__struct_config__.tag)


def record_time_ms(record: Record) -> int:
    """Return when a record was made: `created_at_ms` of a trace, `at_ms` of a switch."""
    return record.created_at_ms if isinstance(record, Trace) else record.at_ms


def canonical_json(value: object) -> bytes:
    """Return the canonical bytes of any value that JSON can hold.

    Raises:
        InvalidInputError: The value holds a lone surrogate, NaN or infinity, a key that is
            no text, something JSON has no word for, or itself.
    """
    return _text(value, decoded=False)


def _text(value: object, *, decoded: bool) -> bytes:
    """Return canonical bytes; what was decoded from JSON cannot hold NaN or infinity."""
    try:
        compact = _ENCODER.encode(value)
        if not decoded:
            _refuse_infinite(value)
    except UnicodeEncodeError as e:
        raise InvalidInputError(
            "text holds half of a surrogate pair, which no UTF-8 can write",
            hint="send the text as valid Unicode",
        ) from e
    except RecursionError as e:
        raise InvalidInputError("the value is nested too deeply") from e
    except (TypeError, ValueError) as e:
        raise InvalidInputError(f"the value cannot be written as JSON: {e}") from e
    return msgspec.json.format(compact, indent=2) + b"\n"


def _refuse_infinite(value: object) -> None:
    """Raise for NaN and infinity, which the encoder would write as null without a word."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"JSON has no {value}", hint="leave it out, or send null")
        return
    for part in _parts(value):
        if type(part) not in _PLAIN:
            _refuse_infinite(part)


def _parts(value: object) -> Iterable[object]:
    """Return what a value holds, one step deep."""
    if isinstance(value, Struct):
        return msgspec.structs.astuple(value)
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple | set | frozenset) else ()


def canonical(record: Record) -> bytes:
    """Return the bytes a record is stored as."""
    return canonical_json(record)


def is_canonical(data: bytes) -> bool:
    """Tell whether bytes are JSON in canonical form (whatever record they hold)."""
    try:
        return _text(msgspec.json.decode(data), decoded=True) == data
    except (msgspec.DecodeError, InvalidInputError, RecursionError, UnicodeDecodeError):
        return False


def is_whole(record: Record, data: bytes) -> bool:
    """Tell whether the bytes a record was read from are all it has: canonical, no field more."""
    try:
        return _text(record, decoded=True) == data
    except (InvalidInputError, RecursionError):
        return False


def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """Return the git object id of a blob: `algorithm` is `sha1` or `sha256`."""
    import hashlib  # loads OpenSSL, which commands that only read do without

    digest = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def read(data: bytes) -> Record | Unknown:
    """Decode stored bytes leniently.

    Returns:
        The record; `Unknown` for a type this version does not know.

    Raises:
        DecodeError: Not JSON, not a record, or a known type with a bad value.
    """
    try:
        return _record_decoder().decode(data)
    except msgspec.ValidationError as e:
        return _unknown(data, e)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as e:
        raise decode_error(e) from e


def _unknown(data: bytes, error: msgspec.ValidationError) -> Unknown:
    """Return a record of a type this version does not know, or raise what was wrong."""
    try:
        tag = _tag_decoder().decode(data).type
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as e:
        raise decode_error(e) from e
    if tag in RECORD_TYPES:
        raise decode_error(error) from error
    return Unknown(type=tag)


def read_stored(data: bytes) -> Record | Unknown:
    """Decode a blob that stands at a record's path; what cannot be decoded is `Unknown`.

    A reader must not stop at a foreign file: verification is what reports it.
    """
    try:
        return read(data)
    except DecodeError:
        return Unknown(type=UNDECODABLE)


def decode(data: bytes) -> Record:
    """Decode bytes from outside strictly: unknown types and fields are errors.

    Raises:
        DecodeError: Not JSON, or not a record; `where` is the path to the bad value.
    """
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as e:
        raise decode_error(e) from e
    return from_builtins(raw)


def from_builtins(raw: object) -> Record:
    """Convert a decoded JSON object to a record strictly, as `decode` does."""
    tag = raw.get("type") if isinstance(raw, dict) else None
    struct_type = RECORD_TYPES.get(tag) if isinstance(tag, str) else None
    if struct_type is None:
        known = ", ".join(RECORD_TYPES)
        raise DecodeError(
            f"type {tag!r} is not a record type", hint=f"known types: {known}", where="$.type"
        )
    return convert(raw, struct_type)  # type: ignore[return-value]  # RECORD_TYPES holds Record


def convert(raw: object, struct_type: type[T]) -> T:
    """Convert decoded JSON, or a mapping of keyword arguments, to one struct strictly.

    Raises:
        DecodeError: A missing, unknown, mistyped or out-of-range value; `where` is its path.
    """
    extra = extra_fields(raw, struct_type)
    if extra:
        path = _printable(extra[0])
        raise DecodeError(f"unknown field {path}", where=path)
    return checked(raw, struct_type)


def checked(raw: object, struct_type: type[T]) -> T:
    """Do what `convert` does with a mapping whose keys are fields for sure."""
    try:
        return msgspec.convert(raw, struct_type)
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError) as e:
        raise decode_error(e) from e


def extra_fields(raw: object, struct_type: type[Struct], path: str = "$") -> list[str]:
    """Return the paths in decoded JSON that a struct has no field for, in their order."""
    if not isinstance(raw, dict):
        return []
    known = _field_structs(struct_type)
    found: list[str] = []
    for key, value in raw.items():
        if key not in known:
            found.append(f"{path}.{key}")
        elif (inner := known[key]) is not None:
            found += extra_fields(value, inner, f"{path}.{key}")
    return found


@functools.cache
def _field_structs(struct_type: type[Struct]) -> dict[str, type[Struct] | None]:
    """Map a struct's encoded field names to the struct inside each, or None."""
    config = struct_type.__struct_config__
    names: dict[str, type[Struct] | None] = {}
    if config.tag_field is not None:
        names[config.tag_field] = None
    for info in msgspec.structs.fields(struct_type):
        inner = [t for t in (info.type, *get_args(info.type)) if _is_struct(t)]
        names[info.encode_name] = inner[0] if inner else None
    return names


def _is_struct(candidate: object) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, Struct)


def decode_error(error: Exception) -> DecodeError:
    """Map a decoding failure to our error, taking the path out of msgspec's message."""
    if isinstance(error, RecursionError):
        return DecodeError("the value is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return DecodeError("not UTF-8", hint="save the input as UTF-8")
    if isinstance(error, UnicodeEncodeError):
        return DecodeError("text holds half of a surrogate pair", hint="send valid Unicode")
    text, _, path = _printable(str(error)).partition(" - at `")
    return DecodeError(text, where=path.rstrip("`"))


def _printable(text: str) -> str:
    """Return a text that any UTF-8 stream can print: a lone surrogate as its escape."""
    return text.encode(errors="backslashreplace").decode()
