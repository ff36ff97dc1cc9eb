"""Corners that golden cases do not reach, each with the rule it stands for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from hikmah.gate import hook, transcript
from hikmah.gate.engine import Asker
from hikmah.gate.explain import explain_batch, explain_stop_event
from hikmah.gate.hook import Wiring
from hikmah.gate.loopguard import LoopGuard
from hikmah.gate.payload import read_event, read_object
from hikmah.gate.rules import find, rules_verdict
from hikmah.gate.text import Text, one_line
from hikmah.gate.verdict import GateVerdict, render
from hikmah.reason import engines
from hikmah.reason.engines import NoEngine

BLOCKED = json.dumps({"last_assistant_message": "All done! TODO: x"}).encode()


class TestMain:
    """`main` in this process, its descriptors replaced."""

    @pytest.fixture
    def run(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], bytes]:
        """Return what main writes for what it reads."""

        def start(data: bytes) -> bytes:
            parts = [data[:5], data[5:], b""]
            written: list[bytes] = []

            def write(_: int, output: bytes) -> int:
                written.append(output[:7])
                return len(output[:7])

            monkeypatch.setattr("hikmah.gate.hook.os.read", lambda *_: parts.pop(0))
            monkeypatch.setattr("hikmah.gate.hook.os.write", write)
            try:
                assert hook.main([]) == 0
            finally:
                monkeypatch.undo()
            return b"".join(written)

        return start

    def test_input_and_output_may_come_in_pieces(self, run: Callable[[bytes], bytes]) -> None:
        """A pipe gives and takes what it likes."""
        assert json.loads(run(BLOCKED))["decision"] == "block"

    def test_a_failure_is_told_only_when_asked_for(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """And telling of it may fail too."""
        monkeypatch.setattr(hook, "answer", lambda *_: 1 / 0)
        monkeypatch.setattr(hook, "_read_all", lambda: b"")
        monkeypatch.setattr(hook, "_write_all", lambda _: None)
        assert hook.main([]) == 0
        assert capsys.readouterr().err == ""
        monkeypatch.setenv("HIKMAH_HOOK_DEBUG", "1")
        assert hook.main([]) == 0
        assert "ZeroDivisionError" in capsys.readouterr().err
        closed = SimpleNamespace(write=lambda _: 1 / 0, flush=lambda: None)
        closed.write = lambda _: (_ for _ in ()).throw(ValueError("closed"))
        monkeypatch.setattr(sys, "stderr", closed)
        assert hook.main([]) == 0

    def test_a_stdout_that_is_gone_is_no_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The host went away."""

        def gone(*_: object) -> int:
            raise BrokenPipeError

        monkeypatch.setattr("hikmah.gate.hook.os.write", gone)
        hook._write_all(b"{}\n")

    def test_an_engine_that_cannot_be_imported_leaves_the_rules(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A launcher beside a checkout may have nothing installed."""
        monkeypatch.setitem(sys.modules, "hikmah.gate.engine", None)
        assert hook.wire([], {"HIKMAH_HOOK_ENGINE": "jev"}).ask is None

    def test_memory_that_fails_finds_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It adds findings, never failures."""
        monkeypatch.setitem(sys.modules, "hikmah.gate.remembered", None)
        wiring = hook.wire([], {})
        assert wiring.remembered is not None
        assert wiring.remembered(read_event(b'{"session_id": "s", "cwd": "/x"}')) == []
        assert wiring.remembered(read_event(b'{"session_id": "s"}')) == []
        assert wiring.remembered(read_event(b'{"cwd": "/x"}')) == []


class TestPayload:
    """Shapes of events."""

    def test_workspace_roots_stand_in_for_the_folder(self) -> None:
        """Cursor names no `cwd`."""
        assert read_event(b'{"workspace_roots": ["/a", "/b"]}').cwd == "/a"
        for roots in (b"[]", b"[7]", b"7"):
            assert read_event(b'{"workspace_roots": ' + roots + b"}").cwd is None

    def test_what_is_not_plain_is_passed_over_in_what_is_no_json(self) -> None:
        """A list where a text should be, in a cut-off object."""
        text = '{"cwd": ["x"], "session_id": , "last_assistant_message": "a", "x": '
        found = read_object(text)
        assert found == {"cwd": None, "session_id": None, "last_assistant_message": "a"}

    def test_a_pair_of_surrogates_in_what_is_no_json_is_joined(self) -> None:
        """And one alone is replaced."""
        found = read_object('{"cwd": "\\ud83d\\ude00 \\ud83d \\t", ')
        assert found == {"cwd": "\U0001f600 \ufffd \t"}

    def test_an_unknown_event_of_cursor_changes_nothing(self) -> None:
        """Only the answer event carries text to keep."""
        event = b'{"conversation_id": "c", "hook_event_name": "x", "text": "Done. TODO: x"}'
        guard = LoopGuard(os.devnull, now_ms=0)
        assert hook.answer(event, Wiring(host="cursor", guard=guard)) == b"{}\n"

    def test_explain_leaves_the_kept_answer_where_it_is(self) -> None:
        """It writes nothing, so it takes nothing either."""
        event = b'{"conversation_id": "c", "hook_event_name": "stop"}'
        guard = LoopGuard(os.devnull, now_ms=0)
        verdict = explain_stop_event(event, Wiring(host="cursor", guard=guard))
        assert verdict.skipped == "no_message"


class TestExplain:
    """Verdicts in full."""

    def test_a_batch_keeps_order_and_ids(self) -> None:
        """An unreadable line is a verdict with `skipped`; a blank one is none."""
        lines = [BLOCKED[:-1] + b', "id": {"n": 1}}', b"", b"not json", b"  ", b'{"id": "x"}']
        found = list(explain_batch(lines))
        assert [one["id"] for one in found] == [{"n": 1}, None, "x"]
        assert [one["block"] for one in found] == [True, False, False]
        assert [one["skipped"] for one in found] == [None, "not_an_object", "no_message"]

    def test_explain_says_what_the_loop_guard_would(self, tmp_path: object) -> None:
        """The verdict stays what it is; the guard's word stands beside it."""
        guard = LoopGuard(str(tmp_path), now_ms=1_000)
        event = BLOCKED[:-1] + b', "session_id": "s"}'
        assert explain_stop_event(event, Wiring(guard=guard)).guarded is None
        hook.answer(event, Wiring(guard=guard))
        verdict = explain_stop_event(event, Wiring(guard=guard))
        assert (verdict.block, verdict.guarded) == (True, "same_finding")

    def test_fields_are_as_documented(self) -> None:
        """The order is part of the form."""
        assert list(GateVerdict().as_dict()) == [
            *("block", "path", "rules_block", "memory_block", "findings", "p", "engine_block"),
            *("threshold", "lift", "lifted", "engine", "engine_note", "engine_latency_ms"),
            *("guarded", "skipped"),
        ]

    def test_allow_is_empty_for_every_host(self) -> None:
        """No host rejects it."""
        assert all(render(None, host) == {} for host in ("claude", "cursor", "kimi", "vscode"))


class TestText:
    """Quoting and normalizing."""

    def test_a_long_sentence_is_cut_around_its_term(self) -> None:
        """One line of at most 160 characters, and the term is in it."""
        message = "All done and " + "word " * 30 + "TODO " + "more " * 60
        (found,) = [f for f in find(message) if f.rule == "open_marker"]
        assert len(found.sentence) <= 160
        assert "TODO" in found.sentence
        assert one_line("a" * 300, 0, 0).endswith("…")

    def test_control_characters_do_not_reach_a_reason(self) -> None:
        """A sentence is shown in terminals."""
        (found,) = [f for f in find("Done. TODO\x1b[31m red\x07 ") if f.rule == "open_marker"]
        assert found.sentence.isprintable()

    def test_a_run_of_many_ticks_opens_nothing(self) -> None:
        """Nor does one that nothing closes, twice on a line."""
        assert rules_verdict("Done. " + "`" * 9 + " TODO: x " + "`" * 9)
        assert rules_verdict("Done. `` TODO: x ` and `` `` FIXME: y")
        assert not rules_verdict("Done. ```` TODO: x ```` ")

    def test_a_fence_that_never_closes_and_ends_without_a_line(self) -> None:
        """The text ends inside it."""
        assert not rules_verdict("Done.\n```")
        assert not rules_verdict("Done.\n```\n```")

    def test_text_without_blanks_is_composed_in_pieces(self) -> None:
        """A hostile run of marks does not take quadratic time, nor lose a character."""
        text = Text("e\u0301" * 600 + " done. TODO: x")
        assert "done" in text.clean
        assert len(text.source) <= 1214 + 4


class TestCorners:
    """Single branches."""

    def test_an_offer_behind_a_promise_does_not_reach_the_next(self) -> None:
        """Two offers in one part; a promise stands before the first."""
        assert rules_verdict("Done. If you want I'll look and I'll add tests.")

    def test_a_person_inside_a_word_is_none(self) -> None:
        """Letters before it belong to another word."""
        assert not rules_verdict("Done. The taxi'll run on time.")

    def test_no_engine_failure_escapes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Even one that the port did not foresee."""
        monkeypatch.setattr(engines, "ask", lambda *_: 1 / 0)
        said = Asker(NoEngine())("Done.")
        assert (said.p, said.note) == (None, "ZeroDivisionError")

    def test_a_transcript_that_vanishes_is_no_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Between looking and opening."""
        monkeypatch.setattr("hikmah.gate.transcript.os.path.isfile", lambda _: True)
        assert transcript.last_text("/nonexistent/x") is None

    def test_a_word_of_another_language_may_repeat(self) -> None:
        """Denied once, claimed once."""
        assert rules_verdict("Nicht fertig war es gestern. Fertig! TODO: Tests.")


class TestOffersElsewhere:
    """An offer is not deferred work, in any language that has rules."""

    def test_a_promise_left_to_the_user_is_no_open_work(self) -> None:
        """German, both sides."""
        assert rules_verdict("Fertig. Ich werde später noch Tests schreiben.")
        assert not rules_verdict("Fertig. Ich werde später noch Tests schreiben, wenn du möchtest.")

    def test_settings_that_cannot_be_read_still_allow(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What fails before there is any wiring leaves the answer that allows."""
        written: list[bytes] = []
        monkeypatch.setattr(hook, "wire", lambda *_: 1 / 0)
        monkeypatch.setattr(hook, "_write_all", written.append)
        assert hook.main([]) == 0
        assert written == [b"{}\n"]
