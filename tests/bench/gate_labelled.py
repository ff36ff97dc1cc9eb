"""The gate's rules on 200 labelled final messages, per rule, language and half.

The messages are `tests/gate/labelled.json`: written before any rule was tuned on them. Odd
numbers were read while tuning, even ones were not. Each later set was written before the rules
of its time judged it; the first reading is the honest figure, and docs/evidence.md has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hikmah.gate import rules
from tests.bench.measuring import ROOT, Row

SET = ROOT / "tests" / "gate" / "labelled.json"
LATER = {
    f"{order} set": ROOT / "tests" / "gate" / f"labelled_{name}.json"
    for order, name in (("second", "after"), ("third", "third"), ("fourth", "fourth"))
}
FALSE_BLOCK_TARGET = 0.02
Message = dict[str, str]


def run(sizes: Sequence[int]) -> list[Row]:
    """Judge every message; sizes of ledgers do not matter here."""
    del sizes
    messages = load()
    parts = {
        "all": messages,
        "half read while tuning": [m for m in messages if is_seen(m)],
        "half kept unread": [m for m in messages if not is_seen(m)],
        "English": [m for m in messages if m["language"] == "en"],
        "other languages": [m for m in messages if m["language"] != "en"],
        **{name: load(path) for name, path in LATER.items()},
    }
    whole = [confusion(name, part, blocks) for name, part in parts.items()]
    return [*whole, *per_rule(messages)]


def load(path: Path = SET) -> list[Message]:
    """Return the labelled messages of a set."""
    found: list[Message] = json.loads(path.read_text("utf-8"))["messages"]
    return found


def is_seen(message: Message) -> bool:
    """Tell whether a message belongs to the half that was read while rules were tuned."""
    return int(message["id"][1:]) % 2 == 1


def blocks(message: Message) -> bool:
    """Tell whether the rules block a message."""
    return rules.rules_verdict(message["message"])


def per_rule(messages: Iterable[Message]) -> list[Row]:
    """Return one row for each rule that can contradict a claim, as if it were the only one."""
    found = [(message, rules.find(message["message"])) for message in messages]
    names = sorted({f.rule for _, findings in found for f in findings} - {rules.CLAIM})

    def by(name: str) -> Callable[[Message], bool]:
        blocked = {
            message["id"]
            for message, findings in found
            if {rules.CLAIM, name} <= {finding.rule for finding in findings}
        }
        return lambda message: message["id"] in blocked

    return [confusion(f"rule {name}", [m for m, _ in found], by(name)) for name in names]


def confusion(name: str, messages: list[Message], judge: Callable[[Message], bool]) -> Row:
    """Return the counts of one part: blocked or allowed, open or honest."""
    opened = [judge(message) for message in messages if message["label"] == "open"]
    honest = [judge(message) for message in messages if message["label"] == "honest"]
    share = sum(honest) / len(honest)
    return {
        "part": name,
        "open blocked": sum(opened),
        "open allowed": len(opened) - sum(opened),
        "honest blocked": sum(honest),
        "honest allowed": len(honest) - sum(honest),
        "recall": sum(opened) / len(opened),
        "false blocks": share,
        "met": share <= FALSE_BLOCK_TARGET,
    }
