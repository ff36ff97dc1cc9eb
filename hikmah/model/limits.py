"""How much a record may hold, one constant a field, and how much a list may show.

Contents, tags, payloads, depths, ids and predictions' counts are part of the format's
promise (docs/memory.md); the other bounds only keep a field what its name says: a key, a
name, a reason, and not a document.
"""

from __future__ import annotations

MAX_CONTENT_BYTES = 64 * 1024  # UTF-8; longer texts belong in a file with a locator
MAX_TAGS = 32
MAX_TAG_CHARS = 64
MAX_EVENT_BYTES = 64 * 1024  # canonical JSON of the payload
MAX_EVENT_DEPTH = 32  # containers inside containers
MAX_CHOICES = 255  # options of a choice
MAX_LEVELS = 10  # levels of a score
MIN_ANSWERS = 2  # fewer is no question

MAX_NAME_CHARS = 256  # sources, families, predicates, relation and event types, session ids
MAX_KEY_CHARS = 512  # claim keys, idempotency keys, ids in other systems
MAX_LOCATOR_CHARS = 2_048
MAX_TEXT_CHARS = 4_096  # claim values, objects of facts, reasons, evidence, notes, questions
MAX_DERIVED_FROM = 1_000
# What one list shows at most.
MAX_LIMIT = 1_000
# Integers beyond these are not kept by readers of JSON that know 64 bits.
MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**64 - 1
