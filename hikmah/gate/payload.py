"""A stop event as a host writes it to stdin, read whatever shape it is in.

Standard library only, Python 3.9 and newer, linear time; nothing here raises for any bytes.
Three stages, each tried when the one before fails:

1. Strict JSON: no NaN, no number out of range, nothing after the object.
2. The same with unpaired surrogate escapes replaced; pairs are kept.
3. Extraction of the top level's plain fields from what is no JSON at all: trailing data,
   a cut-off end, nesting beyond any limit.

Hosts disagree on names and types, so each field is looked for under every known name.
"""

from __future__ import annotations

import json
import re

from hikmah.gate.text import pattern

# Why an event was allowed without being judged.
NOT_AN_OBJECT = "not_an_object"
ACTIVE = "stop_hook_active"
NO_MESSAGE = "no_message"
BLANK = "blank_message"
INTERRUPTED = "interrupted"

_MESSAGE = ("last_assistant_message", "prompt_response", "lastAssistantMessage", "promptResponse")
_NEEDED = frozenset(
    {*_MESSAGE, "text", "status", "id", "agent_id"}
    | {"stop_hook_active", "stopHookActive", "hook_event_name", "hookEventName", "cwd"}
    | {"session_id", "sessionId", "conversation_id", "conversationId"}
    | {"transcript_path", "transcriptPath", "agent_transcript_path"}
)
_LONE = "[\ud800-\udfff]"
_STRUCTURE = r'["{}\[\],]'
_AFTER_KEY = r"\s{0,64}:\s{0,64}"
_LITERAL = r"[^\s,\"{}\[\]:]{1,64}"
_ESCAPE = r"(?s)\\(?:u([0-9a-fA-F]{4})|(.?))"
_PAIR = "([\ud800-\udbff])([\udc00-\udfff])"
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NUMBER = r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,9})?\Z"


class Event:
    """One stop event: what the gate reads of it, and why it need not be judged."""

    __slots__ = ("fields", "message", "skipped")

    def __init__(self, fields: dict[str, object] | None) -> None:
        self.fields: dict[str, object] = fields or {}
        self.message = _first(self.fields, *_MESSAGE)
        self.skipped = NOT_AN_OBJECT if fields is None else self._reason_to_skip()

    def _reason_to_skip(self) -> str | None:
        if is_active(self.fields.get("stop_hook_active", self.fields.get("stopHookActive"))):
            return ACTIVE
        if _first(self.fields, "status") in ("aborted", "error"):
            return INTERRUPTED  # Cursor says how a turn ended; a broken one claims nothing
        if self.message is None:
            return NO_MESSAGE
        return None if self.message.strip() else BLANK

    @property
    def name(self) -> str:
        """Return the event's name as the host spells it, empty when it has none."""
        return _first(self.fields, "hook_event_name", "hookEventName") or ""

    @property
    def session(self) -> str | None:
        """Return the id that the loop guard and memory findings know a session by."""
        return _first(self.fields, "session_id", "sessionId", "conversation_id", "conversationId")

    @property
    def cwd(self) -> str | None:
        """Return the project's folder, the first workspace root where a host gives only those."""
        roots = self.fields.get("workspace_roots")
        root = roots[0] if isinstance(roots, list) and roots else None
        return _first(self.fields, "cwd") or (root if isinstance(root, str) else None)

    @property
    def transcript(self) -> str | None:
        """Return the transcript's path, the subagent's own where there is one."""
        return _first(self.fields, "agent_transcript_path", "transcript_path", "transcriptPath")

    def with_message(self, message: str) -> Event:
        """Return the event with a message that was found elsewhere."""
        return Event({**self.fields, _MESSAGE[0]: message})


def read_event(data: bytes) -> Event:
    """Read one stop event from the bytes of stdin."""
    return Event(read_object(data.decode("utf-8", "replace")))


def read_object(text: str) -> dict[str, object] | None:
    """Return a JSON object, as far as it can be made out; None when the text is none."""
    text = text.lstrip("\ufeff \t\r\n")
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError, MemoryError):
        return _extract(text)
    return _without_lone(value)


def is_active(value: object) -> bool:
    """Tell whether a flag is set: true, "true", "1" or any number but zero."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "1")
    return isinstance(value, (bool, int, float)) and value != 0


def _first(fields: dict[str, object], *names: str) -> str | None:
    """Return the first of the fields that is a text; None when none is."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str):
            return value
    return None


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _finite(number: str) -> float:
    value = float(number)
    if value - value != 0:
        raise ValueError(number)
    return value


def _without_lone(value: dict[str, object]) -> dict[str, object]:
    """Return an object whose plain texts hold no unpaired surrogate."""
    return {
        name: pattern(_LONE).sub("\ufffd", text)
        if isinstance(text, str) and not text.isascii()
        else text
        for name, text in value.items()
    }


def _extract(text: str) -> dict[str, object]:
    """Return the needed fields of the first object's top level, read as far as it goes."""
    fields: dict[str, object] = {}
    depth = 0
    at = 0
    while found := pattern(_STRUCTURE).search(text, at):
        at = found.end()
        if found[0] in "{[":
            depth += 1
        elif found[0] in "}]":
            depth -= 1
            if depth <= 0:
                break
        elif found[0] == '"':
            end = _string_end(text, at)
            colon = pattern(_AFTER_KEY).match(text, end + 1) if depth == 1 else None
            if colon is None or text[at:end] not in _NEEDED:
                at = end + 1
            else:
                fields[text[at:end]], at = _value(text, colon.end())
    return fields


def _value(text: str, at: int) -> tuple[object, int]:
    """Return a plain value and where to go on; None for what is not plain."""
    if text[at : at + 1] == '"':
        end = _string_end(text, at + 1)
        return _unescaped(text[at + 1 : end]), end + 1
    literal = pattern(_LITERAL).match(text, at)
    if literal is None:
        return None, at
    return _is_set(literal[0].lower()), literal.end()


def _is_set(word: str) -> bool:
    """Tell whether a bare word is true or a number other than zero, in range or not."""
    digits = pattern("[1-9]").search(word.split("e", 1)[0])
    return word == "true" or (digits is not None and pattern(_NUMBER).match(word) is not None)


def _string_end(text: str, at: int) -> int:
    """Return where the quote is that closes a string, or the text's end when none does."""
    while (end := text.find('"', at)) >= 0:
        slashes = end
        while slashes > at and text[slashes - 1] == "\\":
            slashes -= 1
        if (end - slashes) % 2 == 0:
            return end
        at = end + 1
    return len(text)


def _unescaped(body: str) -> str:
    """Return a string's text; what is no escape stays as it is, lone surrogates are replaced."""
    text = pattern(_ESCAPE).sub(_unescape, body) if "\\" in body else body
    text = pattern(_PAIR).sub(_join, text)
    return pattern(_LONE).sub("\ufffd", text)


def _unescape(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return _SHORT.get(escape[2], escape[2])


def _join(pair: re.Match[str]) -> str:
    return chr(0x10000 + ((ord(pair[1]) - 0xD800) << 10) + ord(pair[2]) - 0xDC00)
