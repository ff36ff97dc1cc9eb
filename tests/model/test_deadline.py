"""Moments a person types: every form, both meanings of a date, and every zone's oddities."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.errors import InvalidInputError
from hikmah.model.deadline import Moment, parse_deadline, parse_time
from hikmah.model.trace import MAX_TIME_MS

NOW = 1_780_000_000_000
DAY = 86_400_000


def utc(text: str) -> int:
    """Return the epoch milliseconds of an ISO time, by the standard library."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


FORMS = [
    ("0", 0),
    ("1767225600000", 1_767_225_600_000),
    (str(MAX_TIME_MS), MAX_TIME_MS),
    ("  5 ", 5),
    ("+0m", NOW),
    ("+30m", NOW + 30 * 60_000),
    ("+12h", NOW + 12 * 3_600_000),
    ("+3d", NOW + 3 * DAY),
    ("+2w", NOW + 14 * DAY),
    ("+2W", NOW + 14 * DAY),
    ("-90m", NOW - 90 * 60_000),
    ("-3d", NOW - 3 * DAY),
    ("-0w", NOW),
    ("2026-12-31T17:00", utc("2026-12-31T17:00:00")),
    ("2026-12-31 17:00", utc("2026-12-31T17:00:00")),
    ("2026-12-31T17:00:05", utc("2026-12-31T17:00:05")),
    ("2026-12-31T17:00:05.25", utc("2026-12-31T17:00:05") + 250),
    ("2026-12-31T17:00:05,25Z", utc("2026-12-31T17:00:05") + 250),
    ("2026-12-31T17:00:05.123456789Z", utc("2026-12-31T17:00:05") + 123),
    ("2026-12-31T17:00Z", utc("2026-12-31T17:00:00")),
    ("2026-12-31t17:00z", utc("2026-12-31T17:00:00")),
    ("2026-12-31T17:00+02:00", utc("2026-12-31T15:00:00")),
    ("2026-12-31T17:00-0530", utc("2026-12-31T22:30:00")),
    ("2026-12-31T17:00 +02", utc("2026-12-31T15:00:00")),
    ("1970-01-01T00:00Z", 0),
    ("9999-12-31T23:59:59.999Z", MAX_TIME_MS),
    ("2028-02-29T00:00Z", utc("2028-02-29T00:00:00")),
]


@pytest.mark.parametrize(("text", "ms"), FORMS)
def test_each_form_is_read_alike_as_a_deadline_and_as_a_time(text: str, ms: int) -> None:
    """Only a date without a time has two meanings."""
    assert parse_deadline(text, now_ms=NOW).ms == ms
    assert parse_time(text, now_ms=NOW).ms == ms


DAYS = [
    ("2026-12-31", "UTC", "2026-12-31T00:00:00", "2026-12-31T23:59:59"),
    ("2026-12-31", "Europe/Berlin", "2026-12-30T23:00:00", "2026-12-31T22:59:59"),
    ("2026-12-31", "America/Los_Angeles", "2026-12-31T08:00:00", "2027-01-01T07:59:59"),
    ("2026-12-31", "Pacific/Kiritimati", "2026-12-30T10:00:00", "2026-12-31T09:59:59"),
    ("2026-07-01", "Asia/Kolkata", "2026-06-30T18:30:00", "2026-07-01T18:29:59"),
    # The day of the change is 23 or 25 hours long.
    ("2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00", "2026-03-29T21:59:59"),
    ("2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00", "2026-10-25T22:59:59"),
]


@pytest.mark.parametrize(("day", "tz", "start", "end"), DAYS)
def test_a_date_ends_as_a_deadline_and_starts_as_a_time(
    day: str, tz: str, start: str, end: str
) -> None:
    """A deadline of a date is that day's last millisecond in its zone (faults row 21)."""
    deadline = parse_deadline(day, now_ms=NOW, tz=tz)
    assert deadline.ms == utc(end) + 999
    assert f"end of {day} in {tz}" in deadline.note
    begin = parse_time(day, now_ms=NOW, tz=tz)
    assert begin.ms == utc(start)
    assert f"start of {day} in {tz}" in begin.note


def test_a_date_only_deadline_is_never_due_before_its_day_is_over() -> None:
    """West and east of UTC, the deadline is not a day early (faults row 21)."""
    for tz in ("Pacific/Kiritimati", "Asia/Tokyo", "UTC", "America/New_York", "Pacific/Pago_Pago"):
        evening = parse_time("2026-12-31T23:00", now_ms=NOW, tz=tz).ms
        morning_after = parse_time("2027-01-01", now_ms=NOW, tz=tz).ms
        assert evening < parse_deadline("2026-12-31", now_ms=NOW, tz=tz).ms == morning_after - 1


def test_the_last_day_of_all_has_an_end() -> None:
    """The end of year 9999 is counted from its own start, not from a day after it."""
    assert parse_deadline("9999-12-31", now_ms=NOW).ms == MAX_TIME_MS


def test_the_zone_that_decided_is_said() -> None:
    """A note says the zone and its offset that day (faults row 21)."""
    note = parse_deadline("2026-12-31", now_ms=NOW, tz="Europe/Berlin").note
    assert note == "end of 2026-12-31 in Europe/Berlin (UTC+01:00)"
    assert parse_deadline("2026-12-31", now_ms=NOW).note == "end of 2026-12-31 in UTC"
    west = parse_time("2026-07-01T09:30", now_ms=NOW, tz="America/St_Johns")
    assert west == Moment(ms=utc("2026-07-01T12:00:00"), note="in America/St_Johns (UTC-02:30)")


@pytest.mark.parametrize("text", ["5", "+3d", "2026-12-31T17:00", "2026-12-31T17:00Z"])
def test_nothing_is_said_where_nothing_was_decided(text: str) -> None:
    """Exact times in UTC need no note."""
    assert parse_deadline(text, now_ms=NOW).note == ""


def test_an_offset_beats_the_zone() -> None:
    """A written offset decides, whatever zone is set."""
    moment = parse_deadline("2026-12-31T17:00+02:00", now_ms=NOW, tz="Asia/Tokyo")
    assert moment == Moment(ms=utc("2026-12-31T15:00:00"))


GAPS = [
    ("2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:30:00"),
    ("2026-03-29T01:30", "Europe/London", "2026-03-29T01:30:00"),
    ("2026-03-08T02:30", "America/New_York", "2026-03-08T07:30:00"),
]


@pytest.mark.parametrize(("text", "tz", "ms"), GAPS)
def test_a_local_time_that_does_not_exist_is_read_with_fold_0_and_said(
    text: str, tz: str, ms: str
) -> None:
    """In a gap the offset from before it is used (faults row 21)."""
    moment = parse_deadline(text, now_ms=NOW, tz=tz)
    assert moment.ms == utc(ms)
    assert f"{text[-5:]} does not exist that day" in moment.note


OVERLAPS = [
    ("2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00"),
    ("2026-10-25T01:30", "Europe/London", "2026-10-25T00:30:00"),
    ("2026-11-01T01:30", "America/New_York", "2026-11-01T05:30:00"),
]


@pytest.mark.parametrize(("text", "tz", "ms"), OVERLAPS)
def test_a_local_time_that_exists_twice_is_read_with_fold_0_and_said(
    text: str, tz: str, ms: str
) -> None:
    """In an overlap the first of the two is meant (faults row 21)."""
    moment = parse_deadline(text, now_ms=NOW, tz=tz)
    assert moment.ms == utc(ms)
    assert f"{text[-5:]} exists twice that day" in moment.note


def test_a_day_that_was_skipped_whole_is_said() -> None:
    """Samoa had no 30 December 2011."""
    note = parse_deadline("2011-12-30", now_ms=NOW, tz="Pacific/Apia").note
    assert "does not exist" in note


def test_digits_that_look_like_a_date_are_milliseconds_and_said() -> None:
    """`20261231` is taken as it is documented, and the note says what the date would be."""
    moment = parse_deadline("20261231", now_ms=NOW)
    assert moment.ms == 20_261_231
    assert moment.note == (
        "20261231 was read as milliseconds since 1970; for the date write 2026-12-31"
    )
    assert parse_deadline("86400000", now_ms=NOW).note == ""


BAD = {
    "nothing": "",
    "blanks": "  ",
    "a word": "tomorrow",
    "a negative number": "-5",
    "a fraction": "1.5",
    "digits of another script": "١٢٣",
    "a month": "2026-12",
    "a week": "2026-W12",
    "no unit": "+3",
    "no number": "+d",
    "another unit": "+3y",
    "minus and no number": "-d",
    "before 1970 by counting back": "-999999w",
    "a fraction of days": "+1.5d",
    "month 13": "2026-13-01",
    "day 32": "2026-01-32",
    "day 0": "2026-01-00",
    "30 February": "2026-02-30",
    "29 February of a common year": "2026-02-29",
    "29 February 2100": "2100-02-29",
    "hour 24": "2026-12-31T24:00",
    "hour 25": "2026-12-31T25:00Z",
    "minute 60": "2026-12-31T23:60",
    "second 60": "2026-12-31T23:59:60",
    "a day of one digit": "2026-1-5",
    "slashes": "31/12/2026",
    "an offset of a date": "2026-12-31+02:00",
    "an offset of 24 hours": "2026-12-31T17:00+24:00",
    "an offset of 60 minutes": "2026-12-31T17:00+02:60",
    "a zone's name": "2026-12-31T17:00 Europe/Berlin",
    "ten digits of a fraction": "2026-12-31T17:00:00.1234567890",
    "words after": "2026-12-31 please",
    "a second line": "2026-12-31\n2027-01-01",
    "year 0": "0000-01-01",
    "1969": "1969-12-31",
    "before 1970 by an offset": "1970-01-01T00:00+01:00",
    "after 9999 by an offset": "9999-12-31T23:59-01:00",
    "year 10000": "10000-01-01",
    "too many milliseconds": str(MAX_TIME_MS + 1),
    "very many digits": "9" * 5_000,
    "too long from now": "+999999999999w",
    "a long text": "x" * 5_000,
    "half a surrogate pair": "\ud800",
}


@pytest.mark.parametrize("text", [pytest.param(v, id=k) for k, v in BAD.items()])
def test_what_is_no_possible_time_is_refused(text: str) -> None:
    """Impossible dates and years outside 1970 to 9999 are errors that list the forms."""
    for parse in (parse_deadline, parse_time):
        with pytest.raises(InvalidInputError) as caught:
            parse(text, now_ms=NOW)
        assert "2026-12-31" in caught.value.hint
        assert len(caught.value.message) < 150


@pytest.mark.parametrize(
    ("text", "tz"), [("1970-01-01", "Asia/Tokyo"), ("9999-12-31", "America/New_York")]
)
def test_a_zone_does_not_lead_out_of_the_years(text: str, tz: str) -> None:
    """The bounds hold for the moment itself, not for its local date."""
    parse = parse_time if text.startswith("1970") else parse_deadline
    with pytest.raises(InvalidInputError, match="outside the years"):
        parse(text, now_ms=NOW, tz=tz)


@pytest.mark.parametrize(
    "tz",
    [
        "Europe/Nowhere", "", "../../etc/passwd", "/etc/localtime", "Europe", "a\0b", "x" * 5_000,
        "localtime", "posixrules", "Factory", "\ud800", "+02:00",
    ],
)  # fmt: skip
def test_an_unknown_zone_is_refused(tz: str) -> None:
    """Names that are no IANA zone, or that mean "this machine", are errors."""
    with pytest.raises(InvalidInputError) as caught:
        parse_deadline("2026-12-31", now_ms=NOW, tz=tz)
    assert caught.value.where == "tz"


def test_utc_needs_no_zone_database() -> None:
    """Reading dates in UTC imports no zone module, so most commands never pay for it."""
    root = Path(__file__).parents[2]
    code = (
        "import sys; from hikmah.model.deadline import parse_deadline;"
        "parse_deadline('2026-12-31', now_ms=0); print('zoneinfo' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


@given(st.text(max_size=40), st.sampled_from(["UTC", "Europe/Berlin"]))
def test_any_text_is_a_moment_or_an_error_of_ours(text: str, tz: str) -> None:
    """No text ends in a foreign exception, and every moment is within the bounds."""
    try:
        moment = parse_deadline(text, now_ms=NOW, tz=tz)
    except InvalidInputError:
        return
    assert 0 <= moment.ms <= MAX_TIME_MS


@given(
    st.datetimes(
        datetime(1970, 1, 2),  # noqa: DTZ001  # a local time is the subject
        datetime(9999, 12, 30),  # noqa: DTZ001  # the same
    ),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)
def test_a_local_time_is_read_as_the_standard_library_reads_it(local: datetime, tz: str) -> None:
    """`fold=0` of the standard library decides, in every zone and year."""
    from zoneinfo import ZoneInfo

    expected = local.replace(tzinfo=ZoneInfo(tz)).astimezone(UTC)
    moment = parse_time(local.isoformat(), now_ms=NOW, tz=tz)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert moment.ms == (expected - epoch) // timedelta(milliseconds=1)
