"""Moments a person types: deadlines and points in time, in epoch milliseconds.

Forms, wherever a time is given:

1. `1767225600000`: epoch milliseconds, taken as they are.
2. `+30m`, `+12h`, `+3d`, `+2w`: that long after now; with `-`, that long before.
3. `2026-12-31T17:00`, with seconds, a fraction, `Z` or an offset: ISO 8601.
4. `2026-12-31`: as a deadline the *end* of that day (its last millisecond), as a point in
   time its start.

Without an offset a local time is in the zone given (UTC unless a person says otherwise).
One that does not exist, or exists twice, is resolved by `fold=0` of PEP 495, and the note
says so; so does it name the zone whenever a zone decided. The zone database is imported
only when a zone other than UTC is named.

Example:
    >>> parse_deadline("2026-12-31", now_ms=0).ms == parse_time("2027-01-01", now_ms=0).ms - 1
    True
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache

from msgspec import Struct

from hikmah.errors import InvalidInputError
from hikmah.model.trace import MAX_TIME_MS

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # local arithmetic, the offset is taken off last
_MILLISECOND = timedelta(milliseconds=1)
_UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DIGITS = re.compile(r"[0-9]+\Z")
_FROM_NOW = re.compile(r"([+-][0-9]{1,12})([mhdw])\Z", re.IGNORECASE)
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r" ?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?\Z"
)
_BASIC_DATE = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])\Z")
# Files of a zone database that mean whatever this machine was set to.
_MACHINE_ZONES = ("localtime", "posixrules", "Factory")
_FORMS = (
    "give epoch milliseconds, +<n>m|h|d|w after now or -<n>m|h|d|w before it, or an ISO date"
    " such as 2026-12-31 or 2026-12-31T17:00+02:00"
)


class Moment(Struct, frozen=True, kw_only=True):
    """A point in time, and what a person should know of how it was read (or nothing)."""

    ms: int
    note: str = ""


def parse_deadline(text: str, *, now_ms: int, tz: str = "UTC") -> Moment:
    """Read a deadline; a date without a time means the end of that day.

    Args:
        text: One of the forms above; blanks around it do not matter.
        now_ms: What `+3d` counts from.
        tz: The IANA zone of local times.

    Raises:
        InvalidInputError: No such form, an impossible date, an unknown zone, or a moment
            outside the years 1970 to 9999.
    """
    return _parse(text, now_ms=now_ms, tz=tz, day_end=True)


def parse_time(text: str, *, now_ms: int, tz: str = "UTC") -> Moment:
    """Read a point in time; a date without a time means the start of that day.

    Arguments and errors are those of `parse_deadline`.
    """
    return _parse(text, now_ms=now_ms, tz=tz, day_end=False)


def _parse(text: str, *, now_ms: int, tz: str, day_end: bool) -> Moment:
    text = text.strip()
    if _DIGITS.match(text):
        return _from_epoch(text)
    from_now = _FROM_NOW.match(text)
    if from_now:
        return Moment(ms=_bounded(now_ms + int(from_now[1]) * _UNIT_MS[from_now[2].lower()], text))
    iso = _ISO.match(text)
    if not iso:
        raise InvalidInputError(f"{_shown(text)} is not a time", hint=_FORMS)
    return _from_iso(iso, tz=tz, day_end=day_end)


def _from_epoch(text: str) -> Moment:
    """Take digits as milliseconds, and say so when they look like a date without hyphens."""
    if len(text) > len(str(MAX_TIME_MS)):
        raise _out_of_years(text)
    ms = _bounded(int(text), text)
    if not _BASIC_DATE.match(text):
        return Moment(ms=ms)
    dashed = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    return Moment(
        ms=ms, note=f"{text} was read as milliseconds since 1970; for the date write {dashed}"
    )


def _from_iso(iso: re.Match[str], *, tz: str, day_end: bool) -> Moment:
    local = _local(iso)
    offset = iso[8]
    if offset:
        zone: tzinfo = _fixed(offset, iso.string)
        return Moment(ms=_bounded(_ms(local, zone), iso.string))
    zone = UTC if tz == "UTC" else _zone(tz)
    if iso[4] is None and day_end:
        local = local.replace(hour=23, minute=59, second=59, microsecond=999_000)
    ms = _bounded(_ms(local, zone), iso.string)
    return Moment(ms=ms, note=_note(local, zone, tz, whole_day=iso[4] is None, day_end=day_end))


def _local(iso: re.Match[str]) -> datetime:
    """Return the local time written, or raise for one that no calendar or clock has."""
    year, month, day, hour, minute, second = (int(part or 0) for part in iso.groups()[:6])
    micros = int((iso[7] or "0").ljust(6, "0")[:6])
    if year < _EPOCH.year:
        raise _out_of_years(iso.string)
    try:
        return datetime(year, month, day, hour, minute, second, micros)  # noqa: DTZ001  # as above
    except ValueError as e:
        raise InvalidInputError(
            f"{iso.string!r} is not a possible date and time: {e}", hint=_FORMS
        ) from e


def _fixed(offset: str, text: str) -> timezone:
    if offset in "Zz":
        return UTC
    digits = offset[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise InvalidInputError(f"{text!r} has an impossible offset, {offset}", hint=_FORMS)
    shift = timedelta(hours=hours, minutes=minutes)
    return timezone(-shift if offset[0] == "-" else shift)


@cache
def _zone(name: str) -> tzinfo:
    """Return an IANA zone by name; names that mean "this machine" are not zones.

    Raises:
        InvalidInputError: There is no such zone here.
    """
    from zoneinfo import ZoneInfo  # costs more than all of this module, and few need it

    if name in _MACHINE_ZONES:
        raise _no_zone(name)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as e:
        raise _no_zone(name) from e


def _no_zone(name: str) -> InvalidInputError:
    return InvalidInputError(
        f"{_shown(name)} is not a time zone",
        hint="use an IANA name such as Europe/Berlin; without a zone database on this"
        " machine, `pip install tzdata`",
        where="tz",
    )


def _ms(local: datetime, zone: tzinfo) -> int:
    """Return epoch milliseconds; by offset, so that no date at the ends overflows."""
    return (local - _EPOCH - _offset(local, zone)) // _MILLISECOND


def _offset(local: datetime, zone: tzinfo) -> timedelta:
    return zone.utcoffset(local) or timedelta()


def _note(local: datetime, zone: tzinfo, tz: str, *, whole_day: bool, day_end: bool) -> str:
    """Say what decided: the end of which day, in which zone, and on which side of a change."""
    first, second = _offset(local, zone), _offset(local.replace(fold=1), zone)
    where = f"in {tz} (UTC{_signed(first)})" if tz != "UTC" else "in UTC"
    notes = []
    if whole_day:
        notes.append(f"{'end' if day_end else 'start'} of {local:%Y-%m-%d} {where}")
    elif tz != "UTC":
        notes.append(where)
    if first < second:  # PEP 495: in a gap, fold=0 takes the offset from before it
        notes.append(
            f"{local:%H:%M} does not exist that day, clocks go forward;"
            " the offset from before is used"
        )
    elif first > second:
        notes.append(f"{local:%H:%M} exists twice that day, clocks go back; the first is meant")
    return "; ".join(notes)


def _signed(offset: timedelta) -> str:
    """Return an offset as `+02:00`."""
    minutes = offset // timedelta(minutes=1)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _bounded(ms: int, text: str) -> int:
    if 0 <= ms <= MAX_TIME_MS:
        return ms
    raise _out_of_years(text)


def _out_of_years(text: str) -> InvalidInputError:
    return InvalidInputError(f"{_shown(text)} is outside the years 1970 to 9999", hint=_FORMS)


def _shown(text: str) -> str:
    """Return a text as a message shows it: quoted, escaped, and not for pages."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
