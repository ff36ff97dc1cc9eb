"""The golden cases as tests read them."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = json.loads((ROOT / "hooks" / "truth_gate_cases.json").read_text("utf-8"))
CASES: list[dict[str, str]] = GOLDEN["cases"]
PAYLOADS: list[dict[str, str]] = GOLDEN["payload_cases"]


def stdin_of(case: dict[str, str]) -> bytes:
    """Return the bytes of a payload case."""
    return bytes.fromhex(case["stdin"]) if "encoding" in case else case["stdin"].encode("utf-8")
