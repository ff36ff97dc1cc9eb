"""`markdown`: notes such as CLAUDE.md and AGENTS.md, one trace a list item.

Rules the module keeps:

1. A list item is a trace (`outline` says what one is). An item below another begins with what
   stands above it, `Deploys: never on Fridays`, for it rarely makes sense alone; an item that
   ends in a colon and only has others below it is no trace of its own.
2. The headings above an item are its tags.
3. `- [ ]` is a commitment; `- [x]` is done, and passed over.
4. The locator is `file:line`. An item is known again by its text, wherever it has moved to;
   one that was rewritten is a new trace beside the old.
5. On the way out there is a heading a kind and an item a trace, active ones only, and what
   else is to say of it stands in a comment, which an import passes over.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import BinaryIO

from hikmah.errors import DecodeError, InvalidInputError
from hikmah.model.limits import MAX_KEY_CHARS, MAX_TAG_CHARS, MAX_TAGS
from hikmah.model.trace import KINDS, Kind, Trace
from hikmah.transfer.items import Built, Intake, Item
from hikmah.transfer.lines import readable
from hikmah.transfer.outline import Note, outline

SYSTEM = "markdown"
MAX_FILE_BYTES = 16 * 1024 * 1024
_DONE = ("x", "X")
_OUTSIDE = "{} line(s) that no list item holds were passed over: only list items become traces"
_NO_WORD = re.compile(r"[\W_]+")
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")


# ---- in --------------------------------------------------------------------------------


def read_items(stream: BinaryIO, intake: Intake) -> Iterator[Item]:
    """Yield a file's list items, each to be built when its turn comes.

    Raises:
        DecodeError: The file is not UTF-8.
        InvalidInputError: It is larger than notes can be.
    """
    with readable():
        stream.seek(0)
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise InvalidInputError(
            f"the file has more than {MAX_FILE_BYTES:,} bytes: no notes are so long"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise DecodeError(
            f"the file is not UTF-8 (byte {e.start})", hint="convert it, for example with iconv"
        ) from e
    found = outline(text)
    if found.outside:
        intake.warnings = [_OUTSIDE.format(found.outside)]
    for note in found.notes:
        if note.box not in _DONE and not (note.parent and note.text.endswith(":")):
            yield Item(note.line, "", functools.partial(_build, note, intake))


def _build(note: Note, intake: Intake) -> Built:
    kind: Kind = "commitment" if note.box else intake.kind
    above = (text.split("\n", 1)[0].rstrip(":") for text in note.above)
    content = ": ".join([*(text for text in above if text), note.text])
    digest = hashlib.sha256(f"{kind}\0{content}".encode()).hexdigest()[:32]
    place = f"{intake.file or SYSTEM}:{note.line}"
    trace = intake.trace(
        note.line,
        SYSTEM,
        place[-MAX_KEY_CHARS:],
        kind=kind,
        content=content,
        tags=tuple(_tags(note.headings)),
        idempotency_key=f"{SYSTEM}:{digest}",
    )
    return intake.built(trace)


def _tags(headings: Iterable[str]) -> list[str]:
    """Return headings as tags: words in lower case, joined by hyphens."""
    tags = (_NO_WORD.sub("-", title.casefold()).strip("-") for title in headings)
    kept = dict.fromkeys(tag[:MAX_TAG_CHARS].strip("-") for tag in tags)
    return [tag for tag in kept if tag][-MAX_TAGS:]


# ---- out -------------------------------------------------------------------------------


def file_of(traces: Iterable[tuple[str, Trace]], name: str) -> Iterator[bytes]:
    """Yield a file of traces: a heading a kind, in each the order of the ledger."""
    items: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    for trace_id, trace in traces:
        items[trace.kind].append(_item(trace_id, trace).encode())
    yield f"# Memory: {name}\n".encode()
    for kind, found in items.items():
        if found:
            yield f"\n## {kind.capitalize()}s\n\n".encode()
            yield from found


def _item(trace_id: str, trace: Trace) -> str:
    first, *rest = _CONTROLS.sub(_shown, trace.content).replace("<!--", "&lt;!--").split("\n")
    box = "[ ] " if trace.kind == "commitment" else ""
    due = f", due {_date(trace.deadline_ms)}" if trace.deadline_ms is not None else ""
    end = f", until {_date(trace.valid_until_ms)}" if trace.valid_until_ms is not None else ""
    source = _CONTROLS.sub(_shown, trace.provenance.source).replace("-->", "--&gt;")
    told = f"{trace_id[:8]}, {source}, {_date(trace.created_at_ms)}{due}{end}"
    lines = [f"- {box}{first} <!-- {told} -->", *(f"  {line}".rstrip() for line in rest)]
    return "\n".join(lines) + "\n"


def _shown(found: re.Match[str]) -> str:
    return f"\\x{ord(found.group()):02x}"


def _date(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // 1000, UTC).date().isoformat()
