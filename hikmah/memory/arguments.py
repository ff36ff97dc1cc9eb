"""What callers give, made into what is meant, or refused by its name."""

from __future__ import annotations

from collections.abc import Iterable

from hikmah.errors import InvalidInputError


def texts(given: object, where: str) -> tuple[str, ...]:
    """Return a list of texts; one text is none, though Python would take it letter by letter.

    Raises:
        InvalidInputError: It is no list, or holds something else than texts.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"a list of texts is needed, not {given!r:.80}",
            hint="put one text into brackets, too",
            where=where,
        )
    found = tuple(given)
    for place, one in enumerate(found):
        if not isinstance(one, str):
            raise InvalidInputError(f"{one!r:.80} is not a text", where=f"{where}[{place}]")
    return found


def whole(given: object, where: str, *, low: int, high: int) -> int:
    """Return a whole number within bounds.

    Raises:
        InvalidInputError: It is no whole number, or out of bounds.
    """
    if type(given) is not int or not low <= given <= high:
        raise InvalidInputError(
            f"{where} {given!r:.80} is out of range",
            hint=f"give a whole number from {low:,} to {high:,}",
            where=where,
        )
    return given


def time_ms(given: object, where: str) -> int | None:
    """Return a time, or None for none.

    Raises:
        InvalidInputError: It is no whole number of milliseconds.
    """
    if given is None or type(given) is int:
        return given
    raise InvalidInputError(f"{given!r:.80} is not a time in milliseconds", where=where)
