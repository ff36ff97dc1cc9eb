from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.cli import text

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m", id="colour sequence"),
        pytest.param("\x1b]0;title\x07", "\\x1b]0;title\\x07", id="window title"),
        pytest.param("a\x9b2Jb", "a\\x9b2Jb", id="eight-bit control introducer"),
        pytest.param("abc\b\b\bxyz", "abc\\x08\\x08\\x08xyz", id="backspace"),
        pytest.param("50 %\rerror", "50 %\\x0derror", id="carriage return"),
        pytest.param("\u202etxt.exe", "\\u202etxt.exe", id="right-to-left override"),
        pytest.param("a\u2066b\u2069", "a\\u2066b\\u2069", id="direction isolate"),
        pytest.param("a\U000e0041b", "a\\U000e0041b", id="invisible tag letter"),
        pytest.param("\udc80", "\\udc80", id="half a surrogate pair"),
        pytest.param("می‌خواهم 👩‍💻", "می‌خواهم 👩‍💻", id="joiners that scripts need stay"),
    ],
)
def test_stored_text_is_shown_and_never_executed(stored: str, shown: str) -> None:
    """Faults row 16: what a terminal would act on is written out."""
    assert text.visible(stored) == shown


@given(st.text(st.characters()))
def test_nothing_active_gets_through_whatever_the_text(stored: str) -> None:
    """No control character, and no half of a surrogate pair, is ever sent."""
    shown = text.visible(stored)
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert shown.encode("utf-8").decode() == shown


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_escapes_change_no_value(stored: str) -> None:
    """A JSON document says the same with active characters escaped."""
    document = json.dumps(stored, ensure_ascii=False)
    assert json.loads(text.json_escapes(document)) == stored


def test_json_text_holds_nothing_that_a_terminal_acts_on() -> None:
    """C1 controls and direction marks are legal in JSON, and escaped all the same."""
    shown = text.json_escapes('"\x9b2J\u202e\U000e0041"')
    assert shown == '"\\u009b2J\\u202e\\udb40\\udc41"'


@pytest.mark.parametrize(
    ("written", "columns"),
    [
        pytest.param("plain", 5, id="ascii"),
        pytest.param("部署方案", 8, id="Han takes two columns each"),
        pytest.param("ﾊﾝｶｸ", 4, id="half-width kana one"),
        pytest.param("cafe\u0301", 4, id="a combining mark none"),
        pytest.param("한국", 4, id="Hangul two"),
        pytest.param("", 0, id="empty"),
    ],
)
def test_width_is_counted_in_terminal_columns(written: str, columns: int) -> None:
    """Tables align whatever the script."""
    assert text.width(written) == columns


def test_clipping_never_splits_a_wide_character_over_the_edge() -> None:
    """A text that does not fit ends in three dots, within its columns."""
    assert text.clip("部署方案和止损", 8) == "部署..."
    assert text.clip("short", 8) == "short"
    assert text.width(text.clip("a部署方案和止损", 8)) <= 8


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.integers(16, 120))
def test_wrapped_lines_fit_and_lose_no_letter(line: str, limit: int) -> None:
    """Wrapping breaks lines, and changes nothing but white space."""
    lines = text.wrap(line, limit)
    assert all(text.width(part) <= limit for part in lines)
    assert "".join("".join(lines).split()) == "".join(line.split())


def test_a_padded_cell_takes_its_columns() -> None:
    """Wide characters count twice when a cell is filled up."""
    assert text.pad("日本", 6) == "日本  "
    assert text.pad("7", 3, right=True) == "  7"


def test_line_ends_of_stored_text_stay_line_ends_in_blocks() -> None:
    """A block keeps lines and shows every other control character."""
    assert text.visible_lines("a\r\nb\tc\n\x07") == ["a", "b    c", "\\x07"]


def test_one_line_collapses_white_space() -> None:
    """A cell of a table is one line."""
    assert text.one_line("  two\n\nlines\there ") == "two lines here"


@pytest.mark.parametrize(
    ("offset_ms", "words"),
    [
        pytest.param(0, "now", id="the same moment"),
        pytest.param(999, "now", id="under a second"),
        pytest.param(-1_000, "1 second ago", id="one second"),
        pytest.param(-89_999, "1 minute ago", id="rounded down"),
        pytest.param(-90_000, "2 minutes ago", id="rounded up"),
        pytest.param(48 * HOUR - 1, "in 2 days", id="almost two days"),
        pytest.param(-3 * HOUR, "3 hours ago", id="hours"),
        pytest.param(48 * HOUR, "in 2 days", id="days ahead"),
    ],
)
def test_relative_times_are_whole_units(offset_ms: int, words: str) -> None:
    """The largest unit that fits is told, rounded to the nearest."""
    now_ms = 1_800_000_000_000
    assert text.relative(now_ms + offset_ms, now_ms) == words


def test_times_are_utc_iso() -> None:
    """No locale or zone of the machine shows in a time."""
    assert text.iso(0) == "1970-01-01T00:00:00Z"
    assert text.iso(253_402_300_799_999) == "9999-12-31T23:59:59Z"


def test_short_ids_differ_where_ids_do() -> None:
    """Eight digits, and as many more as tell two shown ids apart."""
    one, other, far = "a" * 40, "a" * 11 + "b" * 29, "c" * 40
    assert text.short_ids([one, other, far]) == {one: "a" * 12, other: "a" * 11 + "b", far: "c" * 8}


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 * 1024**2, "5.0 MiB")],
)
def test_sizes_are_in_binary_units(count: int, shown: str) -> None:
    """The unit is the largest that keeps the number above one."""
    assert text.size(count) == shown
