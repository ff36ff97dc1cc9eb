"""The last assistant text of a transcript, where a stop event carries none.

Standard library only, Python 3.9 and newer. Known are JSON lines as Claude Code, Codex and
Copilot CLI write them. A transcript may lag behind the event, so a text counts only when it is
the newest thing said: after it neither a user nor a tool has spoken. Anything unknown is no text.
"""

from __future__ import annotations

import json
import os

TAIL_BYTES = 1 << 20
_LINES = 200  # looked at from the end; records of the host's own bookkeeping are passed over

_COPILOT = ("assistant.message", "user.message", "tool.")  # records of what was said or done


def last_text(path: str) -> str | None:
    """Return the text that ends a transcript, or None when nothing known does."""
    for line in reversed(_tail(path).splitlines()[-_LINES:]):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        said = _said(record)
        if said is not None:
            return said or None
    return None


def _tail(path: str) -> bytes:
    """Return the end of a file; empty when it cannot be read or is no plain file."""
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - TAIL_BYTES))
            return file.read(TAIL_BYTES)
    except (OSError, ValueError):
        return b""


def _said(record: object) -> str | None:
    """Return a record's assistant text; empty when somebody else spoke, None for no speech."""
    if not isinstance(record, dict) or record.get("isSidechain") or record.get("isMeta"):
        return None
    kind = record.get("type")
    if kind == "response_item":
        return _said_to_codex(record.get("payload"))
    if kind in ("assistant", "user"):
        message = record.get("message") if kind == "assistant" else None
        return _text(message.get("content"), "text") if isinstance(message, dict) else ""
    if isinstance(kind, str) and kind.startswith(_COPILOT):
        return _said_to_copilot(record.get("data")) if kind == "assistant.message" else ""
    return None


def _said_to_codex(payload: object) -> str | None:
    if not isinstance(payload, dict) or payload.get("type") == "reasoning":
        return None
    own = payload.get("type") == "message" and payload.get("role") == "assistant"
    return _text(payload.get("content"), "output_text") if own else ""


def _said_to_copilot(data: object) -> str:
    """Return what is said without a call of a tool beside it, else nothing."""
    said = data.get("content") if isinstance(data, dict) and not data.get("toolRequests") else None
    return said if isinstance(said, str) else ""


def _text(content: object, kind: str) -> str:
    """Return the text of a message's content; empty when it calls a tool or holds none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    kinds = [part.get("type") if isinstance(part, dict) else None for part in parts]
    if not set(kinds) <= {kind, "thinking"}:
        return ""
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == kind)
