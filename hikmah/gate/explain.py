"""`gate-explain`: the verdict the hook would reach, and all that led to it.

The same parsing and the same `evaluate_message` as the hook; nothing is written, not even in
the loop guard, whose word is reported beside the verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from hikmah.gate.hook import Wiring, complete, hide, judge
from hikmah.gate.payload import read_event, read_object
from hikmah.gate.verdict import GateVerdict


def explain_stop_event(data: bytes, wiring: Wiring | None = None) -> GateVerdict:
    """Return the verdict on one stop event; `skipped` says why it was not judged.

    Args:
        data: What the host writes to the hook's stdin.
        wiring: Engine, memory and loop guard; the rules alone when None.
    """
    wiring = wiring or Wiring()
    event = complete(read_event(data), wiring, take=False)
    if event.skipped:
        return GateVerdict(settings=wiring.settings, skipped=event.skipped)
    verdict = judge(event, wiring)
    verdict.hide(hide)
    if verdict.block and wiring.guard and event.session:
        _, verdict.guarded = wiring.guard.judge(event.session, verdict.contradictions())
    return verdict


def as_event(data: bytes) -> bytes:
    """Return the stop event for what a person typed: JSON as it is, other text as a message.

    The hook itself never does this: what a host sends is an event or nothing.
    """
    text = data.decode("utf-8", "replace").lstrip("\ufeff").strip()
    if not text or text.startswith("{"):
        return data
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps({"last_assistant_message": text}).encode("ascii")
    return data


def explain_batch(lines: Iterable[bytes], wiring: Wiring | None = None) -> Iterator[dict[str, Any]]:
    """Yield one verdict a line, in order, with the line's `id`; a ledger is never read.

    Args:
        lines: One `{"id", "last_assistant_message"}` each; blank lines are passed over.
        wiring: The engine and its settings; memory and loop guard are left out.
    """
    given = wiring or Wiring()
    alone = Wiring(host=given.host, settings=given.settings, ask=given.ask)
    for line in lines:
        if line.strip():
            verdict = explain_stop_event(line, alone)
            yield {"id": _id_of(line), **verdict.as_dict()}


def _id_of(line: bytes) -> object:
    """Return a line's own id, whatever JSON value it is; None without one."""
    fields = read_object(line.decode("utf-8", "replace"))
    return None if fields is None else fields.get("id")
