"""The gate's commands: `hook`, `gate-explain`, `hooks`, `validate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

ROOT = Path(__file__).resolve().parents[2]
OPEN = b'{"session_id": "s", "last_assistant_message": "All done! TODO: the retry path."}'


class TestHook:
    """Hosts start it; a person sees its help."""

    @pytest.mark.parametrize(
        "words", [("hook",), ("hook", "--host", "claude", "--new-option"), ("--json", "hook", "x")]
    )
    def test_it_answers_one_object_and_exits_0(
        self, hikmah: Shell, words: tuple[str, ...], tmp_path: Path
    ) -> None:
        """Whatever the words are."""
        env = {"HIKMAH_HOOK_STATE": str(tmp_path / "state")}
        done = hikmah.process(*words, stdin=OPEN, env=env)
        assert (done.code, done.err) == (0, "")
        assert done.document["decision"] == "block"

    def test_it_has_help(self, hikmah: Shell) -> None:
        """A help option leads to click instead of waiting for an event."""
        done = hikmah("hook", "--help")
        assert done.code == 0
        assert "Judge a stop event" in done.out


class TestExplain:
    """Verdicts for people and programs."""

    def test_a_verdict_is_a_document(self, hikmah: Shell) -> None:
        """With every finding."""
        done = hikmah("gate-explain", stdin=OPEN)
        assert done.code == 0
        assert done.document["schema"] == "hikmah.gate-explain/1"
        assert done.document["block"] is True
        assert [f["rule"] for f in done.document["findings"]] == ["completion_claim", "open_marker"]

    def test_a_message_in_place_of_a_file_is_told_where_it_goes(self, hikmah: Shell) -> None:
        """Exit 4: there is no such file, and the hint names standard input."""
        done = hikmah("gate-explain", "All tests pass.")
        assert (done.code, done.error["message"]) == (4, "there is no file 'All tests pass.'")
        assert "standard input" in done.error["hint"]

    def test_a_batch_is_a_line_each(self, hikmah: Shell) -> None:
        """Order and ids are kept."""
        lines = b'{"id": 1, "last_assistant_message": "Fine."}\n\n' + OPEN + b"\n"
        done = hikmah("gate-explain", "--batch", stdin=lines)
        found = [json.loads(line) for line in done.out.splitlines()]
        assert [(one["id"], one["block"]) for one in found] == [(1, False), (None, True)]

    @pytest.mark.parametrize(
        ("stdin", "env", "said"),
        [
            (OPEN, {}, "blocked by rules"),
            (b"{}", {}, "allowed without judging (no_message)"),
            (OPEN, {"HIKMAH_HOOK_ENGINE": "none-such"}, "engine none-such: there is no engine"),
        ],
    )
    def test_a_person_reads_text(
        self, hikmah: Shell, stdin: bytes, env: dict[str, str], said: str
    ) -> None:
        """The decision first, then what led to it."""
        assert said in hikmah("gate-explain", stdin=stdin, env=env, terminal=True).out

    def test_plain_text_is_judged_as_the_message(self, hikmah: Shell) -> None:
        """As docs/gate.md shows it."""
        shown = (ROOT / "docs" / "gate.md").read_text("utf-8").split("--format text\n", 1)[1]
        done = hikmah(
            "gate-explain", "--format", "text", stdin=b"All done. Remaining work: docs.\n"
        )
        assert (done.code, done.out) == (0, shown.split("```", 1)[0])

    @pytest.mark.parametrize("stdin", [b"null", b'"All done. TODO: x"', b"[1]", b" "])
    def test_json_that_is_no_event_is_not_judged(self, hikmah: Shell, stdin: bytes) -> None:
        """The hook would not judge it either."""
        done = hikmah("gate-explain", stdin=stdin)
        assert (done.document["skipped"], done.document["block"]) == ("not_an_object", False)

    def test_the_loop_guard_s_word_is_shown(self, hikmah: Shell, tmp_path: Path) -> None:
        """A finding that has blocked before would pass."""
        env = {"HIKMAH_HOOK_STATE": str(tmp_path / "state")}
        hikmah.process("hook", stdin=OPEN, env=env)
        done = hikmah("gate-explain", stdin=OPEN, env=env, terminal=True)
        assert "the loop guard lets it pass: same_finding" in done.out


class TestHooks:
    """The installer behind the command; tests/hosts has its rules."""

    def test_install_status_uninstall(self, hikmah: Shell) -> None:
        """A walk through, in a file of the test's own."""
        file = hikmah.folder / "settings.json"
        file.write_text('{"a": 1}', "utf-8")
        words = ("--host", "claude", "--file", "settings.json")
        assert hikmah("hooks", "install", *words).document["outcome"] == "installed"
        (shown,) = hikmah("hooks", "status", *words).document["hosts"]
        assert shown["installed"] is True
        assert "installed" in hikmah("hooks", "status", *words, terminal=True).out
        assert "removed: " in hikmah("hooks", "uninstall", *words, terminal=True).out
        assert file.read_text("utf-8") == '{"a": 1}'

    def test_a_host_has_to_be_named(self, hikmah: Shell) -> None:
        """Nothing is installed everywhere at once; an unknown host is an error."""
        assert hikmah("hooks", "install").code == 2
        assert hikmah("hooks", "install", "--host", "vscode").code == 3

    def test_a_malformed_file_is_refused(self, hikmah: Shell) -> None:
        """With the line it is malformed in."""
        (hikmah.folder / "s.json").write_text("{\n,}", "utf-8")
        done = hikmah("hooks", "install", "--host", "claude", "--file", "s.json")
        assert done.code == 3
        assert done.error["where"] == "line 2"


class TestValidate:
    """The check that CI runs."""

    def test_this_checkout_is_clean(self, hikmah: Shell) -> None:
        """Exit 0 and no problem."""
        done = hikmah("validate", "--root", str(ROOT))
        assert (done.document["problems"], done.code) == ([], 0)

    def test_another_folder_is_not(self, hikmah: Shell) -> None:
        """Exit 3, every problem with its file."""
        done = hikmah("validate", terminal=True)
        assert done.code == 3
        assert "LICENSE: the file is missing" in done.out
