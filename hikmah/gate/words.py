"""The words that the rules of the gate look for, as data.

Standard library only, Python 3.9 and newer. Each set says what it is for; the rule that
reads it is in `hikmah.gate.rules` or `hikmah.gate.offers`, and `docs/gate.md` explains both.
"""

from __future__ import annotations

CLAIMS = (
    "done",
    "completed",
    "complete",
    "finished",
    "ready",
    "shipped",
    "implemented",
    "fixed",
    "resolved",
    "delivered",
)
# Deny the claim when one of the three words before it; a comma between does not matter.
NEGATORS = frozenset(
    {"not", "never", "no", "cannot", "nearly", "almost", "partially", "partly", "yet"}
    | {"isnt", "wasnt", "arent", "werent", "dont", "doesnt", "didnt", "hasnt", "havent", "wont"}
    | {"cant", "mostly", "nothing", "none", "half"}
)
# Answers and amounts deny only what is in their own part of the sentence: "No, it is done".
COMMA_BOUND = frozenset({"no", "yet", "nothing", "none"})
NOT_ONLY = frozenset({"only", "just", "merely"})

MARKERS = ("todo", "tbd", "fixme", "placeholder", "coming soon")
# Take the marker back when one of the three words before it.
CLEARED = frozenset(
    {"no", "not", "without", "zero", "0", "never", "cannot", "none", "neither", "nor"}
    | {"removed", "replaced", "resolved", "cleared", "fixed", "deleted", "eliminated"}
    | {"addressed", "handled", "closed", "dropped", "finished", "completed"}
    | {"isnt", "wasnt", "arent", "werent", "dont", "doesnt", "didnt", "hasnt", "havent", "wont"}
)

THINGS_AFTER_TODO = frozenset(
    {"list", "app", "widget", "component", "feature", "page", "view", "board", "tracker"}
    | {"example", "filter", "endpoint", "api", "route", "model", "table", "form", "button", "tab"}
    | {"screen", "column", "module", "service", "highlighter", "extension", "plugin", "parser"}
)
NOTES_AFTER_TODO = frozenset({"comment", "item", "entry", "comments", "items", "entries"})
THINGS_AFTER_SOON = frozenset(
    {"badge", "banner", "label", "page", "state", "pill", "tag", "text", "copy", "message"}
    | {"screen", "section", "card", "notice", "ribbon", "chip"}
)
THINGS_BEFORE_PLACEHOLDER = frozenset(
    {"input", "search", "field", "textarea", "form", "attribute", "select"}
)
THINGS_AFTER_PLACEHOLDER = frozenset(
    {"attribute", "prop", "image", "color", "colour", "value", "copy"}
)

PROMISED = (
    "finish",
    "complete",
    "upload",
    "create",
    "test",
    "verify",
    "send",
    "provide",
    "add",
    "write",
    "fix",
    "update",
    "run",
    "check",
    "share",
    "push",
    "deploy",
    "follow up",
)
# What only the author speaks of doing: "we will handle missing values" is the product's word.
PROMISED_OF_ME = (
    "implement",
    "handle",
    "address",
    "tackle",
    "profile",
    "investigate",
    "look into",
    "get to",
    "come back to",
    "return to",
    "take care of",
    "work on",
    "wire",
    "hook",
    "improve",
    "migrate",
    "port",
    "convert",
    "document",
    "refactor",
    "clean up",
    "rerun",
    "re-run",
    "continue with",
    "do (?:that|this|it|these|those|the)",
)
# With a time, any deed of the author's is put off: "I'll polish the rest tomorrow".
LATER = (
    r"\b(?:later|tomorrow|in (?:a|the) (?:follow-?up|next (?:round|pass|commit|pr|turn|step))"
    r"|next (?:week|time|round))\b"
)
DEALT_WITH = (
    "handled",
    "resolved",
    "removed",
    "addressed",
    "fixed",
    "done",
    "deleted",
    "cleared",
    "closed",
    "implemented",
    "completed",
    "finished",
    "replaced",
    "gone",
    "filled in",
    "translated",
)
