"""What docs/gate.md says the gate does is what it does."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from hikmah.gate import engine, hook, languages, loopguard, remembered, verdict, words
from hikmah.gate.rules import CONTRADICTION, find, rules_verdict
from hikmah.gate.text import QUOTE_CHARS
from tests.gate.golden import ROOT

PAGE = (ROOT / "docs" / "gate.md").read_text("utf-8")
FLAT = " ".join(PAGE.split())


def rows(title: str) -> list[list[str]]:
    """Return the rows of the page's table whose first heading is `title`."""
    table = PAGE.split(f"| {title} |", 1)[1].split("\n\n", 1)[0]
    lines = [line for line in table.split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def block(after: str) -> str:
    """Return the first fenced block after some words."""
    return PAGE.split(after, 1)[1].split("```\n", 2)[1]


KINDS = {kind: (held, free) for kind, held, free in rows("kind")}
FINDINGS = {name.strip("`"): (what, no) for name, what, no in rows("finding")}


@pytest.mark.parametrize("kind", KINDS)
class TestKinds:
    """The table of plain words that take a claim back."""

    def test_what_is_held_is_an_own_contradiction(self, kind: str) -> None:
        """Beside a claim, and nothing without one."""
        held = KINDS[kind][0].strip("`")
        assert CONTRADICTION in {finding.rule for finding in find(f"All done.\n{held}")}
        assert rules_verdict(f"All done.\n{held}")

    def test_what_is_not_held_passes(self, kind: str) -> None:
        """The same words in an honest sentence."""
        assert not rules_verdict(f"All done.\n{KINDS[kind][1].strip('`')}")


class TestFindings:
    """The table of findings: its words are the rules' words."""

    def test_every_finding_has_a_row(self) -> None:
        """The rules' four, memory's and the engine's."""
        assert list(FINDINGS) == [
            "completion_claim",
            "open_marker",
            "deferred_work",
            "own_contradiction",
            verdict.OPEN_COMMITMENT,
            verdict.FALSE_COMPLETION,
        ]

    def test_the_words_of_completion_are_all_there(self) -> None:
        """And each of them claims."""
        listed = FINDINGS["completion_claim"][0].replace("complete(d)", "complete, completed")
        assert set(listed.split(", ")) == set(words.CLAIMS)
        assert all(rules_verdict(f"It is {word}. TODO: more") for word in words.CLAIMS)

    @pytest.mark.parametrize(
        "message",
        [
            "It is not done.",
            "It is nearly all done.",
            "Is it done?",
            "Once it is done, we meet.",
            "I'll complete it.",
            'It says "done" there.',
            "It is to be done.",
        ],
        ids=["denied", "within three words", "asked", "after once", "promise", "quote", "to be"],
    )
    def test_what_is_no_claim_is_none(self, message: str) -> None:
        """Each thing that the row lists."""
        assert not rules_verdict(f"{message} TODO: more")

    @pytest.mark.parametrize("marker", ["TODO", "TBD", "FIXME", "placeholder", "coming soon"])
    def test_each_marker_is_one(self, marker: str) -> None:
        """Beside a claim."""
        assert marker in FINDINGS["open_marker"][0]
        assert rules_verdict(f"All done. The title is {marker}.")

    @pytest.mark.parametrize(
        "message",
        [
            "No TODO is in it.",
            "The TODO is gone.",
            "The TODO was removed.",
            "See `TODO.md` and TODO.md.",
            "The todo list sorts.",
            "An input's placeholder is grey.",
            'It prints "TODO" first.',
        ],
    )
    def test_what_is_no_marker_is_none(self, message: str) -> None:
        """Each thing that the row lists."""
        assert not rules_verdict(f"All done. {message}")

    def test_marker_syntax_counts_in_quotes(self) -> None:
        """And an angle bracket with insert."""
        assert rules_verdict('All done. It prints "TODO: more" there.')
        assert rules_verdict("All done. <insert name> is in the header.")

    @pytest.mark.parametrize(
        ("message", "held"),
        [
            ("I'll add tests.", True),
            ("We will push it.", True),
            ("I'm going to test it.", True),
            ("I plan to finish it.", True),
            ("I'll polish it tomorrow.", True),
            ("If you want, I'll add tests.", False),
            ("Once you approve, I'll push it.", False),
            ("Let me know and I'll add tests.", False),
            ("When you visit /old, I'll add a redirect.", True),
        ],
    )
    def test_a_promise_is_deferred_and_an_offer_is_not(self, message: str, *, held: bool) -> None:
        """Each thing that the row and the paragraph below name."""
        assert rules_verdict(f"All done. {message}") is held


class TestLanguages:
    """The languages the page names are the ones there are."""

    def test_they_are_as_many(self) -> None:
        """Each by its name."""
        named = re.search(r"is read for one in ([A-Z][^;]*), for promises", FLAT)
        assert named is not None
        assert len(re.split(r", | and ", named[1])) == len(languages.LANGUAGES)

    def test_a_marker_counts_as_syntax_only(self) -> None:
        """`todo` is a word in several of them."""
        assert rules_verdict("Listo. TODO: pruebas")
        assert not rules_verdict("Listo. TODO funciona.")


class TestFigures:
    """Numbers on the page are the constants of the code."""

    @pytest.mark.parametrize(
        ("said", "value"),
        [
            (f"The first {verdict.MAX_STATE_CHARS:,} characters", verdict.MAX_STATE_CHARS),
            (f"threshold of {verdict.DEFAULT_ENGINE_THRESHOLD}", 0.6),
            (f"for at most {int(remembered.BUDGET_S * 1000)} ms", remembered.BUDGET_S),
            (f"for {loopguard.EXPIRES_MS // 3_600_000} hours", loopguard.EXPIRES_MS),
            (f"more than {int(engine.CAP_S)} seconds", engine.CAP_S),
            ("after three blocks in a row", loopguard.DEFAULT_LIMIT == 3),
            (verdict.GATE_FAMILY, verdict.GATE_FAMILY),
        ],
    )
    def test_it_is_on_the_page(self, said: str, value: object) -> None:
        """As the code has it."""
        assert value
        assert said in FLAT

    def test_every_variable_has_a_row(self) -> None:
        """And every row is a variable that the code reads."""
        listed = {name.strip("`") for name, _ in rows("variable")}
        code = "".join(path.read_text("utf-8") for path in Path(hook.__file__).parent.glob("*.py"))
        assert listed == set(re.findall(r"\"(HIKMAH_HOOK_[A-Z_]+)\"", code))


class TestExamples:
    """What the page shows on a terminal is what comes out."""

    def test_the_hook_answers_as_shown(self) -> None:
        """Input and output by turns; an ellipsis stands for the rest of a reason."""
        lines = block("too much passes.").strip().split("\n")
        assert len(lines) == 4
        for asked, shown in zip(lines[::2], lines[1::2], strict=True):
            out = io.BytesIO()
            hook.run_stop_hook(io.BytesIO(asked.split("'")[1].encode()), out)
            start, _, end = shown.partition("...")
            answer = out.getvalue().decode().strip()
            assert answer.startswith(start)
            assert answer.endswith(end)

    def test_a_reason_has_at_most_three_lines(self) -> None:
        """The claim, the contradiction, the way out, each short; two keys."""
        answer = hook.answer(
            json.dumps({"last_assistant_message": f"All done{' x' * 400}. TODO: y"}).encode(),
            hook.Wiring(),
        )
        block = json.loads(answer)
        assert list(block) == ["decision", "reason"]
        lines = block["reason"].split("\n")
        assert len(lines) == 3
        assert max(map(len, lines)) < QUOTE_CHARS + 60

    @pytest.mark.parametrize(
        ("data", "held"),
        [
            (b"\xff\xfe", False),
            (b'{"last_assistant_message": "All done. TODO: mo', True),
            (b"[" * 100_000, False),
            (b'{"last_assistant_message": "All done. TODO: x"} {}', True),
            (b'{"a": ' + b"[" * 100_000 + b', "last_assistant_message": "All done. TBD"', False),
        ],
        ids=["no UTF-8", "cut off", "no object", "followed by data", "nested without end"],
    )
    def test_stdin_may_be_anything(self, data: bytes, *, held: bool) -> None:
        """Nothing raises, and what can be made out is judged."""
        answer = json.loads(hook.answer(data, hook.Wiring()))
        assert ("decision" in answer) is held
