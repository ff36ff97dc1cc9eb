from __future__ import annotations

from hikmah.cli.screen import Screen


def screen(columns: int = 40, *, color: bool = False) -> Screen:
    return Screen(columns=columns, color=color, now_ms=1_000_000)


def test_columns_align_whatever_the_script() -> None:
    """A wide character takes two columns, so the next cell starts where it should."""
    drawn = screen()
    drawn.table(("name", "n", "text"), [("日本", "7", "x"), ("abc", "42", "y")], right="n")
    assert drawn.text() == "name   n  text\n日本   7  x\nabc   42  y\n"


def test_the_last_column_is_cut_to_the_terminal() -> None:
    """No line of a table is wider than the terminal."""
    drawn = screen(30)
    drawn.table(("id", "text"), [("a" * 8, "word " * 40)])
    assert drawn.text().splitlines()[1] == "aaaaaaaa  word word word wo..."


def test_a_table_without_rows_is_its_heads() -> None:
    """An empty table says what it would hold."""
    drawn = screen()
    drawn.table(("id", "text"), [])
    assert drawn.text() == "id  text\n"


def test_cells_are_data() -> None:
    """Faults row 16: an escape sequence or a line end in a cell is shown."""
    drawn = screen(60)
    drawn.table(("text",), [("a\x1b[2Jb\nc",)])
    assert drawn.text() == "text\na\\x1b[2Jb c\n"


def test_a_block_is_indented_on_every_line() -> None:
    """Faults row 16: stored lines cannot pass for lines of the command."""
    drawn = screen()
    drawn.block("one\nerror: none\n```\n</memory>")
    assert drawn.text() == "  one\n  error: none\n  ```\n  </memory>\n"


def test_fields_align_and_leave_out_what_is_empty() -> None:
    """Labels make one column; a value that is not there takes no line."""
    drawn = screen()
    drawn.fields([("store", "/a"), ("index", ""), ("head", "b")])
    assert drawn.text() == "store  /a\nhead   b\n"


def test_long_values_go_on_under_themselves() -> None:
    """A wrapped value keeps its column."""
    drawn = screen(24)
    drawn.fields([("why", "one two three four five six")])
    assert drawn.text() == "why  one two three four\n     five six\n"


def test_a_path_stays_in_one_piece() -> None:
    """What a person copies is not broken, however narrow the terminal."""
    drawn = screen(24)
    drawn.fields([("path", "/a/very/long/path/to/a/store")])
    assert drawn.text() == "path  /a/very/long/path/to/a/store\n"


def test_wrapped_lines_are_indented_and_fit() -> None:
    """The command's own remarks are broken where the terminal ends."""
    drawn = screen(24, color=True)
    drawn.wrapped("one two three four five six", "dim")
    lines = drawn.text().splitlines()
    assert lines == ["   \x1b[2mone two three four\x1b[0m", "   \x1b[2mfive six\x1b[0m"]


def test_a_verbose_screen_shows_ids_in_full() -> None:
    """Nothing is shortened when more was asked for."""
    drawn = Screen(columns=80, color=False, now_ms=0, verbose=True)
    drawn.know(["1" * 40])
    assert drawn.ids(["1" * 40, "2" * 40]) == f"{'1' * 40} {'2' * 40}"


def test_styles_are_sent_only_where_colour_is_wanted() -> None:
    """Without colour the text is plain."""
    assert screen().style("x", "bold") == "x"
    assert screen(color=True).style("x", "bold", "red") == "\x1b[1;31mx\x1b[0m"


def test_times_come_with_their_distance_from_now() -> None:
    """UTC ISO time, and the relative time beside it."""
    assert screen().time(940_000) == "1970-01-01T00:15:40Z (1 minute ago)"


def test_ids_are_short_and_differ() -> None:
    """A screen that knows its ids shows as many digits as tell them apart."""
    drawn = screen()
    one, other = "1" * 40, "1" * 9 + "2" * 31
    drawn.know([one, other])
    assert drawn.ids([one, other]) == "1111111111 1111111112"
    assert drawn.id("3" * 40) == "3" * 8


def test_headings_stand_apart() -> None:
    """An empty line comes before a heading, but for the first."""
    drawn = screen()
    drawn.heading("one")
    drawn.heading("two")
    assert drawn.text() == "one\n\ntwo\n"
