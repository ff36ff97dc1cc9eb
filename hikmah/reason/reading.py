"""Problems, frames and requests from JSON text, strictly.

An unknown field, a missing one or a mistyped value is an error that names the path to it:
`$.options[2].scores.cost`. Structs read here forbid unknown fields at every level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeVar

import msgspec
from msgspec import Struct

from hikmah.errors import DecodeError, InvalidInputError

T = TypeVar("T", bound=Struct)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`\Z", re.DOTALL)


def read_json(data: bytes | str, struct_type: type[T]) -> T:
    """Decode one struct from JSON text.

    Raises:
        DecodeError: Not UTF-8 JSON, or not of that form; `where` is the path to the bad value.
    """
    try:
        return msgspec.json.decode(data, type=struct_type)
    except (msgspec.MsgspecError, UnicodeError) as e:
        raise decode_error(e) from e


def decode_error(error: Exception) -> DecodeError:
    """Map a decoding failure to ours, with the path taken out of its message."""
    if isinstance(error, UnicodeError):
        return DecodeError("the text holds half of a surrogate pair, which no UTF-8 can write")
    if not isinstance(error, msgspec.ValidationError):
        return DecodeError(f"not JSON: {error}", hint="JSON has no NaN, comments or single quotes")
    text, _, path = str(error).partition(" - at `")
    where = path.rstrip("`") or "$"
    unknown = _UNKNOWN.match(text)
    if unknown:
        return DecodeError(f"unknown field {unknown[1]!r}", where=f"{where}.{unknown[1]}")
    return DecodeError(text, where=where)


def exact(number: float) -> Fraction:
    """Return the decimal a number is written as, exactly: 0.1 is 1/10.

    Sums and comparisons of these have no rounding, so that ties are ties on every machine.
    """
    return Fraction(repr(float(number)))


def check_texts(texts: Iterable[str], *, where: str, what: str) -> None:
    """Demand that texts, each at `where[index]`, are neither blank nor given twice.

    Raises:
        InvalidInputError: One is blank, or stands there a second time.
    """
    seen: set[str] = set()
    for index, text in enumerate(texts):
        place = where.replace("*", str(index))
        if not text.strip():
            raise InvalidInputError(f"{what} is blank", where=place)
        if text in seen:
            raise InvalidInputError(f"{what} {text!r} stands there twice", where=place)
        seen.add(text)
