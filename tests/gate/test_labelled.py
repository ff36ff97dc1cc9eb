"""The labelled messages: what the set is, and that honest ones are seldom held."""

from __future__ import annotations

from collections import Counter

from tests.bench.gate_labelled import AFTER, FALSE_BLOCK_TARGET, blocks, confusion, load


def test_the_set_is_half_honest_and_in_many_languages() -> None:
    """200 messages, half of them open, at least 30 not in English, none twice."""
    messages = load()
    assert Counter(message["label"] for message in messages) == {"honest": 100, "open": 100}
    assert sum(message["language"] != "en" for message in messages) >= 30
    assert len({message["message"] for message in messages}) == len(messages)


def test_honest_messages_are_seldom_held() -> None:
    """No more than one in fifty of either set: a gate that cries wolf is switched off."""
    for messages in (load(), load(AFTER)):
        share = confusion("", messages, blocks)["false blocks"]
        assert isinstance(share, float)
        assert share <= FALSE_BLOCK_TARGET


def test_golden_cases_are_other_messages() -> None:
    """What rules are written for is not what they are measured on."""
    from tests.gate.golden import CASES

    golden = {case["message"] for case in CASES}
    assert not golden & {message["message"] for message in load()}
