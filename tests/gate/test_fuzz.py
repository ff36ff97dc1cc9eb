"""Payloads mutated from the golden ones, and any bytes at all: never a crash, one object.

`HIKMAH_TEST_PAYLOADS` sets how many are mutated; docs/evidence.md has a run with a million.
"""

from __future__ import annotations

import json
import os
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.gate.explain import explain_stop_event
from hikmah.gate.hook import Wiring, answer
from hikmah.gate.rules import find
from hikmah.gate.text import Text
from hikmah.gate.verdict import HOSTS
from tests.gate.golden import CASES, PAYLOADS, stdin_of

COUNT = int(os.environ.get("HIKMAH_TEST_PAYLOADS", "3000"))
SEED = 20
PIECES = [
    *(b'"', b"\\", b"\\u", b"\\ud800", b"{", b"}", b"[", b",", b":", b"NaN", b"1e999", b"\x00"),
    *(b"\xff", b"\xe2\x80\x8b", b"```\n", b"`", b"TODO", b"done", b"I'll add", b"true", b"\n"),
]


def seeds() -> list[bytes]:
    """Return the golden payloads, and each golden message as one."""
    messages = [json.dumps({"last_assistant_message": case["message"]}) for case in CASES]
    return [stdin_of(case) for case in PAYLOADS] + [message.encode() for message in messages]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with a few pieces cut, doubled, put in or changed."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randint(0, len(changed))
        end = min(len(changed), at + chance.randint(0, 12))
        kind = chance.randrange(4)
        if kind == 0:
            del changed[at:end]
        elif kind == 1:
            changed[at:at] = changed[at:end]
        elif kind == 2:
            changed[at:at] = chance.choice(PIECES)
        elif at < len(changed):
            changed[at] = chance.randrange(256)
    return bytes(changed)


def check(data: bytes, host: str) -> None:
    """Demand one JSON object on one line, in one of the host's forms."""
    output = answer(data, Wiring(host=host))
    assert output.endswith(b"\n")
    assert output.count(b"\n") == 1
    value = json.loads(output)
    assert isinstance(value, dict)
    if host in ("claude", "codex", "copilot", "gemini"):
        assert list(value) in ([], ["decision", "reason"])


def test_mutated_payloads_never_crash_the_hook() -> None:
    """Whatever a host or a broken pipe sends, the answer is one valid object."""
    chance = random.Random(SEED)
    start = seeds()
    for _ in range(COUNT):
        check(mutated(chance.choice(start), chance), chance.choice(HOSTS))


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_answered(data: bytes) -> None:
    """Bytes without a form at all."""
    check(data, "claude")
    check(b'{"last_assistant_message": "' + data, "kimi")


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_message_is_judged_and_quoted(message: str) -> None:
    """Both forms of a text have one length; quotes are one line and short."""
    text = Text(message)
    assert len(text.clean) == len(text.source)
    for finding in find(message + " All done. TODO: x"):
        assert len(finding.sentence) <= 160
        assert "\n" not in finding.sentence
    verdict = explain_stop_event(json.dumps({"last_assistant_message": message}).encode())
    assert json.dumps(verdict.as_dict())


def test_every_letter_keeps_its_place_when_lowered() -> None:
    """Quoting relies on it: no letter but one grows, and that one is replaced first."""
    every = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    text = Text(every)
    assert len(text.clean) == len(text.source)
