"""`jsonl`: this project's own export, one record a line.

    {"id":"<object id>","record":{...}}

Rules the module keeps:

1. `record` is the stored record without its line breaks and indents, nothing else changed,
   so that the stored bytes, and with them the id, can be made again exactly.
2. Lines stand in the ledger's order, a record after all that it points at.
3. A line whose id is not that of its bytes is refused: what it says was changed on the way.
4. A record keeps its id unless it cannot: see `relinking`.
5. No order of the lines brings back to life what was not active: see `order`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
from msgspec import Struct

from hikmah.errors import DecodeError, InvalidInputError
from hikmah.model.records import (
    Stored,
    Unknown,
    blob_id,
    decode,
    decode_error,
    is_whole,
    read_stored,
)
from hikmah.transfer.items import Built, Intake, Item
from hikmah.transfer.lines import Line, lines, whole
from hikmah.transfer.relinking import missing, relinked
from hikmah.transfer.statuses import targets

_ALGORITHMS = {40: "sha1", 64: "sha256"}


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    record: msgspec.Raw


_DECODER = msgspec.json.Decoder(_Line)


def line(stored: Stored) -> bytes | None:
    """Return a record's line; None for a foreign blob that no line can give back."""
    try:
        compact = msgspec.json.format(stored.data, indent=-1)
        if unfolded(compact) != stored.data:
            return None
    except (msgspec.DecodeError, RecursionError, DecodeError):
        return None
    return b'{"id":"%s","record":%s}\n' % (stored.id.encode(), compact)


def unfolded(compact: bytes) -> bytes:
    """Return the bytes that a record is stored as, from those that stand in a line.

    Raises:
        DecodeError: They are no JSON.
    """
    try:
        return msgspec.json.format(compact, indent=2) + b"\n"
    except (msgspec.DecodeError, RecursionError) as e:
        raise decode_error(e) from e


def read_items(stream: BinaryIO, intake: Intake) -> Iterator[Item]:
    """Yield a file's records, each to be built when its turn comes."""
    for one in lines(stream):
        parsed = _parsed(one)
        name = parsed.id if isinstance(parsed, _Line) else ""
        intake.order.came(name)
        yield Item(one.number, name, functools.partial(_build, parsed, intake, one.number))
    intake.order.check()


def _parsed(one: Line) -> _Line | InvalidInputError:
    try:
        return _DECODER.decode(whole(one))
    except InvalidInputError as e:
        return e
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as e:
        return decode_error(e)


def _build(parsed: _Line | InvalidInputError, intake: Intake, line_number: int) -> Built | None:
    if isinstance(parsed, InvalidInputError):
        raise parsed
    data = unfolded(bytes(parsed.record))
    kept = _algorithm_of(parsed.id, data) == intake.algorithm
    record = read_stored(data)
    if isinstance(record, Unknown) or not is_whole(record, data):
        if kept and intake.holds(parsed.id):
            return None  # a newer version wrote it, here and there
        raise _not_whole(data)
    names = {one: _name_here(one, intake, kept=kept) for one in targets(record)}
    intake.order.note(record, names, line_number)
    if kept and all(old == new for old, new in names.items()):
        return Built(record, data, parsed.id)
    return intake.built(relinked(record, parsed.id, names.__getitem__), relinked=True)


def _not_whole(data: bytes) -> DecodeError:
    """Return what is wrong with bytes that are not all of a record that this version knows."""
    try:
        decode(data)
    except DecodeError as e:  # says which type or field is not known
        return e
    return DecodeError(
        "the record is not written as records are: every field, in order",
        hint="export it again, and leave the lines as they are",
        where="$.record",
    )


def _algorithm_of(record_id: str, data: bytes) -> str:
    """Return the algorithm of an id that fits its bytes.

    Raises:
        InvalidInputError: It does not fit, or is no id.
    """
    algorithm = _ALGORITHMS.get(len(record_id), "sha1")
    found = blob_id(data, algorithm)
    if found != record_id:
        raise InvalidInputError(
            f"the id {record_id!r:.80} is not that of the record, which is {found}: one of the"
            " two was changed",
            hint="export it again; what was remembered is superseded, not edited",
            where="$.id",
        )
    return algorithm


def _name_here(record_id: str, intake: Intake, *, kept: bool) -> str | None:
    """Return the id that a record of the file has in this ledger; None when it is in neither.

    Raises:
        NotFoundError: It is on a line that was refused.
    """
    found = intake.ids.get(record_id)
    if found is not None:
        return found
    if kept and intake.holds(record_id):
        return record_id
    if record_id in intake.refused:
        error = missing(record_id, "$.record")
        error.message = f"it points at line {intake.refused[record_id]}, which was refused"
        error.hint = "see what is wrong with that line first"
        raise error
    return None
