"""`markdown`: list items become traces, and traces list items."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.errors import DecodeError, InvalidInputError
from hikmah.memory import Memory
from hikmah.model.trace import Trace
from hikmah.transfer.importing import Said
from hikmah.transfer.outline import Note, notes, outline
from tests.transfer.conftest import Stores, counts, dump, exported, take

FORM = "markdown"


def texts(text: str) -> list[str]:
    """Return what the items of a text say."""
    return [note.text for note in notes(text)]


OUTSIDE = [
    pytest.param("words\nand words\n\n- a\n", 2, id="paragraphs"),
    pytest.param("- a\nlazily\n\n  second\n", 0, id="an item's own"),
    pytest.param("- a\n\nout\n", 1, id="behind a list"),
    pytest.param("# A\n\nB\n===\n\n***\n", 0, id="headings and rules"),
    pytest.param("words\nB\n---\n", 1, id="a line above a heading"),
    pytest.param("```\nmake\n\nall\n```\n- a\n", 4, id="code, empty lines aside"),
    pytest.param("- a\n  ```\n  make\n  ```\n", 0, id="code of an item"),
    pytest.param("| a |\n|---|\n> b\n", 3, id="a table and a quotation"),
    pytest.param("---\na: b\n---\n<!-- c -->\n", 0, id="front matter and comments"),
    pytest.param("", 0, id="nothing"),
]

OUTLINES = [
    pytest.param("- a\n- b\n", ["a", "b"], id="a list"),
    pytest.param("* a\n+ b\n1. c\n2) d\n", ["a", "b", "c", "d"], id="every marker"),
    pytest.param("words\n\nmore words\n", [], id="no list"),
    pytest.param("", [], id="nothing"),
    pytest.param("- a\n  goes on\n  and on\n", ["a goes on and on"], id="wrapped"),
    pytest.param("- a\nlazily\n- b", ["a lazily", "b"], id="wrapped without indent"),
    pytest.param("- a\n\n  second\n\nout\n", ["a\n\nsecond"], id="two paragraphs"),
    pytest.param("- a\n\n- b\n", ["a", "b"], id="loose list"),
    pytest.param("- a\n  - b\n    - c\n- d\n", ["a", "b", "c", "d"], id="nested"),
    pytest.param("1. a\n   - b\n2. c\n", ["a", "b", "c"], id="nested in numbers"),
    pytest.param("- a\n\t- b\n", ["a", "b"], id="nested by a tab"),
    pytest.param("-   a\n-\tb\n", ["a", "b"], id="wide markers"),
    pytest.param("-a\n-1\n", [], id="no blank after the marker"),
    pytest.param("-\n- \n-  x\n", ["x"], id="empty items"),
    pytest.param("-\n  late\n", ["late"], id="text on the next line"),
    pytest.param("- a\r\n- b\r\n", ["a", "b"], id="Windows line ends"),
    pytest.param("- a\n# b\n- c\n", ["a", "c"], id="a heading ends a list"),
    pytest.param("- a\n***\nb\n", ["a"], id="a rule ends a list"),
    pytest.param("- - -\n* * *\n---\n", [], id="rules are no items"),
    pytest.param("---\n- a\n---\n- b\n", ["b"], id="front matter"),
    pytest.param("---\n- a\n", ["a"], id="a rule at the start that nothing closes"),
    pytest.param("```\n- a\n```\n- b\n", ["b"], id="code outside"),
    pytest.param("```md\n- a\n", [], id="code that never ends"),
    pytest.param("~~~\n```\n- a\n~~~\n- b\n", ["b"], id="other fences"),
    pytest.param("````\n```\n- a\n````\n- b\n", ["b"], id="longer fences"),
    pytest.param("``` a ` b\n- c\n", ["c"], id="no fence"),
    pytest.param("    - a\n- b\n", ["b"], id="indented code"),
    pytest.param(
        "- run\n  ```sh\n  - make\n    all\n  ```\n- b\n",
        ["run\n\n```sh\n- make\n  all\n```", "b"],
        id="code inside",
    ),
    pytest.param(
        "- run\n  ```sh\n  make\n\n  all\n  ```\n  then this\n",
        ["run\n\n```sh\nmake\n\nall\n```\n\nthen this"],
        id="text after code",
    ),
    pytest.param("- a\n\n```\nout\n```\n", ["a"], id="code after"),
    pytest.param("<!-- - a -->\n- b <!-- c -->\n", ["b"], id="comments"),
    pytest.param("<!--\n- a\n-->\n- b\n", ["b"], id="long comments"),
    pytest.param("- a <!-- b\n- c\n--> d\n- e", ["a d", "e"], id="a comment through items"),
    pytest.param("- `<!--` starts one\n- b\n", ["`<!--` starts one", "b"], id="code, no comment"),
    pytest.param("```\n<!--\n```\n- b\n", ["b"], id="a comment in code"),
    pytest.param("> - a\n", [], id="a quotation"),
    pytest.param("| - a | b |\n", [], id="a table"),
    pytest.param("It was in\n1999. And then\n", [], id="a number that begins a line"),
    pytest.param("Words\n1. a\n", ["a"], id="a list right after words"),
    pytest.param("- **bold** `code` [x](y)\n", ["**bold** `code` [x](y)"], id="marks inside"),
    pytest.param("- a\n   \n- b\n", ["a", "b"], id="a blank line with blanks"),
    pytest.param("- a\n    more\n", ["a more"], id="deeply wrapped"),
    pytest.param("- a\n  ```\n  x\n  ```\n", ["a\n\n```\nx\n```"], id="code at the end"),
    pytest.param("- a\n\n\n\n  b\n", ["a\n\nb"], id="many empty lines"),
]


class TestOutline:
    """What is a list item, and what is none."""

    @pytest.mark.parametrize(("text", "items"), OUTLINES)
    def test_items_are_what_a_reader_sees(self, text: str, items: list[str]) -> None:
        """As the text looks when it is shown."""
        assert texts(text) == items

    def test_headings_above_are_those_in_force(self) -> None:
        """A heading ends those of its level and below; underlined ones count."""
        text = (
            "# A #\n- 1\n## B ##\n- 2\n# C\n- 3\n\nD\n---\n- 4\n\nE\n===\n- 5\n#\n- 6\n#no\n- 7\n"
        )
        assert [note.headings for note in notes(text)] == [
            ("A",),
            ("A", "B"),
            ("C",),
            ("C", "D"),
            ("E",),
            (),
            (),
        ]

    def test_what_stands_above_an_item_is_told(self) -> None:
        """From the outermost in."""
        found = notes("- a\n  - b\n    - c\n- d")
        assert [(note.text, note.above, note.parent) for note in found] == [
            ("a", (), True),
            ("b", ("a",), True),
            ("c", ("a", "b"), False),
            ("d", (), False),
        ]

    def test_lines_are_counted_from_one(self) -> None:
        """Front matter, comments and code count, too."""
        text = "---\nx: 1\n---\n<!--\n-->\n```\n```\n- a\n\n- b\n"
        assert [note.line for note in notes(text)] == [8, 10]

    def test_boxes_are_told(self) -> None:
        """Open, done, and none; a box needs its brackets closed."""
        found = notes("- [ ] a\n- [x] b\n- [X] c\n- [y] d\n- [] e\n- [ ]\n  f\n")
        assert [(note.box, note.text) for note in found] == [
            (" ", "a"),
            ("x", "b"),
            ("X", "c"),
            ("", "[y] d"),
            ("", "[] e"),
            (" ", "f"),
        ]

    @given(st.text(alphabet="-*1.` \t\n#ab<!>~[x]\r", max_size=80))
    def test_any_text_is_read(self, text: str) -> None:
        """Nothing makes it fail, and every item stands where it says."""
        found = notes(text)
        count = text.count("\n") + 1
        assert all(1 <= note.line <= count and note.text.strip() for note in found)
        assert [note.line for note in found] == sorted({note.line for note in found})

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("# a" + " " * 1_000_000 + "b", id="blanks in a heading"),
            pytest.param("#" * 1_000_000, id="marks of a heading"),
            pytest.param("- `<!--" * 200_000, id="comments in code"),
            pytest.param("<!-- -->" * 200_000 + "- a", id="many comments"),
            pytest.param("- a\n```\n" + "x\n" * 300_000, id="code without end"),
            pytest.param("- a\n  ```\n" + "  x\n" * 300_000, id="code in an item"),
            pytest.param("- a\n" + "  b\n" * 300_000, id="a long paragraph"),
            pytest.param("- " * 500_000 + "x", id="marker after marker"),
            pytest.param("".join(f"{' ' * 2 * n}- a\n" for n in range(1_000)), id="deep"),
            pytest.param("`" * 500_000 + "a`", id="a fence that is none"),
            pytest.param("\t" * 500_000 + "- a", id="tabs"),
        ],
    )
    def test_hostile_texts_take_no_longer_than_others(self, text: str) -> None:
        """Reading is linear: what is quadratic would not end within a test's patience."""
        assert len(notes(text)) <= 1_000

    def test_a_note_says_what_it_needs(self) -> None:
        """Defaults are those of a plain item."""
        assert notes("- a") == [Note(1, "a")]

    @pytest.mark.parametrize(("text", "outside"), OUTSIDE)
    def test_lines_in_no_item_are_counted(self, text: str, outside: int) -> None:
        """So that a reader of prose learns that it stayed behind."""
        assert outline(text).outside == outside


PAGE = """# CLAUDE.md

Read this first.

## Deploys

- never on Fridays
- Before one:
  - run the smoke tests
- [ ] write the rollback page
- [x] name an owner

## Code style!

1. two spaces
"""


class TestIn:
    """Notes become traces."""

    def test_items_become_traces(self, memory: Memory) -> None:
        """With kind, tags, place and source."""
        report = take(memory, PAGE.encode(), FORM, said=Said(file="docs/CLAUDE.md"))
        assert counts(report) == (4, 0, 0)
        found = [memory.recall(t).results[0].trace for t in ("fridays", "smoke", "rollback", "two")]
        assert [(t.kind, t.content, t.tags) for t in found] == [
            ("preference", "never on Fridays", ("claude-md", "deploys")),
            ("preference", "Before one: run the smoke tests", ("claude-md", "deploys")),
            ("commitment", "write the rollback page", ("claude-md", "deploys")),
            ("preference", "two spaces", ("claude-md", "code-style")),
        ]
        assert found[3].provenance.locator == "docs/CLAUDE.md:15"
        assert found[3].provenance.source == "docs/CLAUDE.md"
        assert found[3].imported is not None
        assert found[3].imported.id == "docs/CLAUDE.md:15"

    def test_what_is_left_out_is_told(self, memory: Memory) -> None:
        """Lines that no list item holds are counted, headings not; without any, no word of it."""
        *_, warning = take(memory, b"# A\n\nUse tabs.\n\n- an item\n", FORM).warnings
        assert warning.startswith("1 line(s) that no list item holds were passed over")
        assert take(memory, b"# A\n\n- an item\n", FORM).warnings == ()

    def test_kind_and_source_may_be_told(self, memory: Memory) -> None:
        """And without a file's name the format's is the source."""
        take(memory, b"- a", FORM, said=Said(kind="constraint", source="team"))
        take(memory, b"- b", FORM)
        a, b = (memory.recall(text).results[0].trace for text in "ab")
        assert (a.kind, a.provenance.source, a.provenance.locator) == ("constraint", "team", None)
        assert b.provenance.source == FORM

    def test_again_nothing_is_added(self, memory: Memory) -> None:
        """Also when items moved, were wrapped anew, or stand under another heading."""
        take(memory, PAGE.encode(), FORM)
        head = memory.head()
        moved = PAGE.replace("Read this first.", "Read\n\nthis\n").replace("Deploys", "Releases")
        moved = moved.replace("never on Fridays", "never\n  on Fridays")
        assert counts(take(memory, moved.encode(), FORM, said=Said(file="b"))) == (0, 4, 0)
        assert memory.head() == head

    def test_an_item_that_was_rewritten_is_new(self, memory: Memory) -> None:
        """The old one stays until somebody settles it."""
        take(memory, b"- wait 30 s", FORM)
        assert counts(take(memory, b"- wait 60 s", FORM)) == (1, 0, 0)

    def test_an_item_twice_is_one(self, memory: Memory) -> None:
        """Two files that say the same say one thing."""
        assert counts(take(memory, b"- a\n- b\n- a\n", FORM)) == (2, 1, 0)

    def test_what_was_purged_does_not_come_back(self, memory: Memory) -> None:
        """The next import of the same notes knows it."""
        take(memory, b"- a", FORM)
        memory.purge(memory.recall("a").results[0].id, reason="wrong")
        assert counts(take(memory, b"- a", FORM)) == (0, 1, 0)

    def test_bad_items_are_refused_by_line(self, memory: Memory) -> None:
        """A credential is named by its rule, and is not in the report."""
        secret = "ghp_" + "a1B2" * 9
        text = f"- good\n- token: {secret}\n- {'x ' * 40_000}\n- fine\n"
        report = take(memory, text.encode(), FORM)
        assert counts(report) == (2, 0, 2)
        assert [(r.line, r.code) for r in report.refusals] == [(2, "secret"), (3, "invalid_input")]
        assert secret not in repr(report)

    def test_many_long_headings_make_tags_that_are_allowed(self, memory: Memory) -> None:
        """Cut to a tag's length; those that say nothing are none."""
        text = f"# {'word ' * 40}\n## ---x---\n### !!\n#### Ünï_cödé\n- a\n"
        assert take(memory, text.encode(), FORM).refused == 0
        (stored,) = memory.records(memory.head())
        assert isinstance(stored.record, Trace)
        tags = stored.record.tags
        assert tags[1:] == ("x", "ünï-cödé")
        assert len(tags[0]) <= 64

    @pytest.mark.parametrize(
        ("data", "error"),
        [
            pytest.param("- é".encode("latin-1"), DecodeError, id="not UTF-8"),
            pytest.param(b"- a\n" * (5 << 20), InvalidInputError, id="too large"),
        ],
    )
    def test_what_is_no_text_is_an_error(
        self, memory: Memory, data: bytes, error: type[Exception]
    ) -> None:
        """The whole file is refused, for no line of it is sure."""
        with pytest.raises(error):
            take(memory, data, FORM)

    def test_a_byte_order_mark_is_no_text(self, memory: Memory) -> None:
        """PowerShell writes one."""
        assert counts(take(memory, b"\xef\xbb\xbf- a", FORM)) == (1, 0, 0)


class TestOut:
    """Active traces become notes."""

    def test_traces_are_listed_by_kind(self, memory: Memory) -> None:
        """In the order of kinds, then of the ledger; what is not active is not there."""
        memory.remember("first", source="oncall")
        old = memory.remember("old").id
        memory.remember("two\n\nlines", kind="procedure", supersedes=old)
        done = memory.remember("done", kind="commitment").id
        memory.fulfill(done)
        memory.remember("due", kind="commitment", deadline_ms=1_800_086_400_000)
        data, report = exported(memory, FORM)
        lines = [line.partition(" <!--")[0] for line in data.decode().splitlines()]
        assert lines == [
            "# Memory: memory",
            "",
            "## Observations",
            "",
            "- first",
            "",
            "## Procedures",
            "",
            "- two",
            "",
            "  lines",
            "",
            "## Commitments",
            "",
            "- [ ] due",
        ]
        assert report.written == 3
        assert b"oncall, 2027-01-15 -->" in data
        assert b"due 2027-01-16 -->" in data

    def test_nothing_in_it_can_act_on_a_terminal_or_hide(self, memory: Memory) -> None:
        """Control characters are written out, and a text opens no comment."""
        memory.remember("a\x1b[2J\x9b b <!-- c", source="x --> y")
        text = dump(memory, FORM).decode()
        assert "\x1b" not in text
        assert "\x9b" not in text
        assert "a\\x1b[2J\\x9b b &lt;!-- c <!-- " in text
        assert text.count("-->") == 1

    def test_purged_traces_come_only_when_asked_for(self, memory: Memory) -> None:
        """As everywhere."""
        memory.purge(memory.remember("secret plan").id, reason="no")
        memory.remember("other")
        assert b"secret plan" not in dump(memory, FORM)
        assert b"secret plan" in dump(memory, FORM, include_purged=True)

    def test_plain_notes_come_back(self, stores: Stores) -> None:
        """What goes out as notes comes in as traces with the same words."""
        one, two = stores("one"), stores("two")
        for text in ("never on Fridays", "two\n\nparagraphs", "wait 30 s"):
            one.remember(text)
        take(two, dump(one, FORM), FORM)
        assert sorted(i.text for i in two.log().items) == sorted(i.text for i in one.log().items)
