"""One session: its events, the facts concluded from them, and the summary.

Run it anywhere: `python examples/knowledge_session.py`. It works in a temporary folder and
prints the same on every machine, since it brings its own clock.
"""

from __future__ import annotations

import itertools
import tempfile

from hikmah.memory import Memory
from hikmah.memory.knowledge import Knowledge

START_MS = 1_772_357_400_000  # 2026-03-01, half past nine
SECOND_MS = 1_000
SESSION = "s-2026-03-01"


def work(log: Knowledge) -> None:
    """Log what happened, as a host's hooks would."""
    log.append_event(
        "user_request", {"text": "Why does the checkout time out?"}, session_id=SESSION
    )
    log.append_event(
        "tool_call",
        {"tool": "grep", "text": "timeout = 30 s", "locator": "checkout/config.toml:12"},
        session_id=SESSION,
        agent_id="assistant",
    )
    log.append_event(
        "decision",
        {"text": "Raise the checkout timeout to 60 s until the payments call is faster"},
        session_id=SESSION,
        agent_id="assistant",
    )


def conclude(log: Knowledge) -> None:
    """Turn the events into facts, each derived from the event that shows it."""
    checkout = log.get_or_create_entity("checkout", "code", source="repository")
    payments = log.get_or_create_entity("payments", "code", source="repository")
    by_type = {event.event_type: event for event in log.query_events_by_session(SESSION).events}
    seen, decided = by_type["tool_call"], by_type["decision"]
    old = log.add_fact(
        checkout.id, "timeout", "30 s", "repository", 0.9, derived_from=[seen.id], salience=0.8
    )
    new = log.add_fact(
        checkout.id, "timeout", "60 s", "repository", 0.9, derived_from=[decided.id], salience=0.8
    )
    log.supersede_fact(old.id, new.id, reason="the payments call is slow")
    log.add_relationship(
        checkout.id, payments.id, "waits_for", source="repository", derived_from=[decided.id]
    )


def main() -> None:
    """Log, conclude, sum up, and ask what it rests on."""
    seconds = itertools.count(START_MS, SECOND_MS)
    with tempfile.TemporaryDirectory() as folder:
        memory, _ = Memory.init(folder, environ={}, clock=lambda: next(seconds))
        with memory:
            log = memory.knowledge
            work(log)
            for event in reversed(log.get_recent_events(3).events):
                print(f"{event.event_type}: {event.text}")
            conclude(log)
            summary = log.generate_summary("checkout")
            print(f"summary of {summary.name}: {summary.summary_text}")
            for fact in log.get_entity("checkout", history=True).facts:
                reason = f", because {fact.reason}" if fact.reason else ""
                print(f"{fact.predicate} {fact.object}: {fact.status}{reason}")
            (found, *_) = memory.recall("how long is the timeout of checkout").results
            print(f"recalled: {found.trace.content}")


if __name__ == "__main__":
    main()
