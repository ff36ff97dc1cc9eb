"""Reading the end of a transcript: known forms, newest record only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hikmah.gate.hook import Wiring, answer
from hikmah.gate.transcript import TAIL_BYTES, last_text

SAID = {"type": "text", "text": "All done! TODO: retries."}
ASSISTANT = {"type": "assistant", "message": {"role": "assistant", "content": [SAID]}}
USER = {"type": "user", "message": {"role": "user", "content": "go on"}}
TOOL = {
    "type": "assistant",
    "message": {"content": [SAID, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
}
CODEX = {
    "type": "response_item",
    "payload": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "All done! TODO: retries."}],
    },
}
CODEX_CALL = {"type": "response_item", "payload": {"type": "function_call", "name": "x"}}
CODEX_THOUGHT = {"type": "response_item", "payload": {"type": "reasoning", "summary": []}}
COPILOT = {"type": "assistant.message", "data": {"content": SAID["text"], "toolRequests": []}}
COPILOT_CALL = {
    "type": "assistant.message",
    "data": {"content": SAID["text"], "toolRequests": [{"toolCallId": "t", "name": "bash"}]},
}
COPILOT_END = {"type": "assistant.turn_end", "data": {"turnId": "0"}}
COPILOT_HOOK = {"type": "hook.start", "data": {"hookType": "agentStop"}}
COUNT = {"type": "event_msg", "payload": {"type": "token_count"}}
TEXT = SAID["text"]

CASES: dict[str, tuple[list[Any], str | None]] = {
    "Claude's newest text": ([USER, ASSISTANT], TEXT),
    "content as a plain text": ([{"type": "assistant", "message": {"content": TEXT}}], TEXT),
    "bookkeeping after it": ([ASSISTANT, {"type": "system", "subtype": "x"}, {"no": 1}], TEXT),
    "a user spoke after it": ([ASSISTANT, USER], None),
    "a tool is called beside it": ([TOOL], None),
    "thinking beside it": (
        [{"type": "assistant", "message": {"content": [{"type": "thinking"}, SAID]}}],
        TEXT,
    ),
    "another agent's work": ([ASSISTANT, {**USER, "isSidechain": True}], TEXT),
    "a note of the host": ([ASSISTANT, {**USER, "isMeta": True}], TEXT),
    "Codex's newest text": ([CODEX, COUNT], TEXT),
    "Codex, thoughts after it": ([CODEX, CODEX_THOUGHT], TEXT),
    "Codex, a call after it": ([CODEX, CODEX_CALL], None),
    "Copilot's newest text": ([COPILOT, COPILOT_END, COPILOT_HOOK], TEXT),
    "Copilot, a tool is called beside it": ([COPILOT, COPILOT_CALL, COPILOT_END], None),
    "Copilot, a tool ran after it": ([COPILOT, {"type": "tool.execution_complete"}], None),
    "Copilot, a user spoke after it": ([COPILOT, {"type": "user.message", "data": {}}], None),
    "Copilot, a message without data": ([{"type": "assistant.message"}], None),
    "an assistant without a message": ([{"type": "assistant", "message": 7}], None),
    "parts that are none": ([{"type": "assistant", "message": {"content": [7]}}], None),
    "no content": ([{"type": "assistant", "message": {}}], None),
    "records that are no objects": ([1, [2], "x"], None),
    "nothing": ([], None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_newest_assistant_text_is_read(case: str, tmp_path: Path) -> None:
    """A transcript may lag: only what is the last thing said counts."""
    records, expected = CASES[case]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    assert last_text(str(path)) == expected


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path) -> None:
    """A session of hours costs no more than one of minutes."""
    path = tmp_path / "t.jsonl"
    filler = json.dumps({"type": "system", "text": "x" * 1000}) + "\n"
    path.write_text(filler * (TAIL_BYTES // len(filler) + 50) + json.dumps(ASSISTANT), "utf-8")
    assert last_text(str(path)) == TEXT


@pytest.mark.parametrize("name", ["missing", "folder", "nul\0", "damaged"])
def test_what_cannot_be_read_is_no_text(name: str, tmp_path: Path) -> None:
    """Nor is what is no JSON."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "damaged").write_bytes(b"\xff{\n[" + b"[" * 5000)
    assert last_text(str(tmp_path / name)) is None


def test_a_stop_event_without_text_is_judged_by_its_transcript(tmp_path: Path) -> None:
    """Copilot's and VS Code's main stop carry a path instead of the text."""
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(ASSISTANT), "utf-8")
    event = json.dumps({"hook_event_name": "Stop", "transcript_path": str(path)})
    assert b"block" in answer(event.encode(), Wiring())
    event = json.dumps({"hook_event_name": "Stop", "transcript_path": str(tmp_path / "no")})
    assert answer(event.encode(), Wiring()) == b"{}\n"
