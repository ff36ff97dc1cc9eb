"""The labelled messages: what the set is, and that honest ones are seldom held."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.bench.gate_labelled import FALSE_BLOCK_TARGET, LATER, SET, blocks, confusion, load
from tests.gate.golden import CASES


def test_the_set_is_half_honest_and_in_many_languages() -> None:
    """200 messages, half of them open, at least 30 not in English, none twice."""
    messages = load()
    assert Counter(message["label"] for message in messages) == {"honest": 100, "open": 100}
    assert sum(message["language"] != "en" for message in messages) >= 30
    assert len({message["message"] for message in messages}) == len(messages)


def test_the_third_set_is_long_and_in_ten_languages() -> None:
    """60 honest messages and 40 open ones; a fifth not in English, in nine languages."""
    messages = load(LATER["third set"])
    assert Counter(message["label"] for message in messages) == {"honest": 60, "open": 40}
    other = [message["language"] for message in messages if message["language"] != "en"]
    assert len(other) >= 20
    assert set(other) >= {"de", "fr", "es", "zh", "ja", "ar", "hi", "pt", "ru"}


@pytest.mark.parametrize("path", [SET, *LATER.values()], ids=["first set", *LATER])
def test_honest_messages_are_seldom_held(path: Path) -> None:
    """No more than one in fifty of any set: a gate that cries wolf is switched off."""
    share = confusion("", load(path), blocks)["false blocks"]
    assert isinstance(share, float)
    assert share <= FALSE_BLOCK_TARGET


def test_no_message_stands_twice() -> None:
    """What rules are written for is not what they are measured on, nor one set in another."""
    measured = [m["message"] for path in (SET, *LATER.values()) for m in load(path)]
    assert len(set(measured)) == len(measured)
    assert not {case["message"] for case in CASES} & set(measured)
