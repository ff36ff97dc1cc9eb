"""The golden cases, each of which states one rule's one side."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from hikmah.gate.hook import Wiring, answer
from hikmah.gate.rules import rules_verdict
from tests.gate.golden import CASES, PAYLOADS, stdin_of


def named(case: dict[str, Any]) -> str:
    return f"{case.get('rule', 'payload')}: {case['note']}"


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_message_is_judged_as_its_case_says(case: dict[str, str]) -> None:
    """Each message is blocked or allowed as expected; the note says which rule decides."""
    assert rules_verdict(case["message"]) == (case["expect"] == "block")


@pytest.mark.parametrize("case", PAYLOADS, ids=named)
def test_a_payload_is_answered_as_its_case_says(case: dict[str, str]) -> None:
    """Allow is an empty object and nothing else; block has exactly two keys."""
    output = answer(stdin_of(case), Wiring())
    if case["expect"] == "allow":
        assert output == b"{}\n"
    else:
        assert list(json.loads(output)) == ["decision", "reason"]


def test_there_are_enough_cases_on_both_sides_of_every_rule() -> None:
    """150 messages, 30 payloads, and for each rule one case that blocks and one that allows."""
    assert len(CASES) >= 150
    assert len(PAYLOADS) >= 30
    sides = Counter((case["rule"], case["expect"]) for case in CASES)
    for rule in {case["rule"] for case in CASES}:
        assert sides[rule, "block"], rule
        assert sides[rule, "allow"], rule
    assert all(case["note"] for case in [*CASES, *PAYLOADS])


def test_no_case_is_there_twice() -> None:
    """A message stands for one rule."""
    messages = [case["message"] for case in CASES]
    assert len(set(messages)) == len(messages)
