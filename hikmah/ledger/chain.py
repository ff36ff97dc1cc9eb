"""The `hikmah/1` format: genesis, record paths, messages, trees that only grow.

Pure over a `read` function (object id -> kind and content), so that it serves the loose
store, the bulk reader and tests alike. Rules the module keeps:

1. A ledger starts with a genesis commit whose tree holds `ledger.json` and nothing else.
2. Every later commit only adds files under `records/`; a batch is one commit.
3. `records/AAAA/BB/CC-<type>-<id12>.json`, AAAABBCC being the sequence number, so that an
   append changes only the right edge.
4. A commit's message is a function of the records it adds (`message`), so it can be checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from hikmah.errors import FormatError, IntegrityError, InvalidInputError
from hikmah.ledger.locate import is_ledger_name
from hikmah.ledger.objects import (
    FILE_MODE,
    TREE_MODE,
    RawObject,
    TreeEntry,
    parse_tree,
    raw_object,
    tree_bytes,
)
from hikmah.model.records import (
    Fulfill,
    Purge,
    Record,
    Stored,
    Supersede,
    Unknown,
    canonical_json,
    read_stored,
    record_type,
)
from hikmah.model.trace import Trace

FORMAT = "hikmah/1"
GENESIS_FILE = b"ledger.json"
MAX_SEQ = 99_999_999
SUBJECT_CHARS = 72
TRAILER_CHARS = 200
LISTED_IN_MESSAGE = 20
MAX_DEPTH = 8  # twice what a record's path needs
PLAIN_FILES = (FILE_MODE, b"100755", b"100664")
ID_DIGITS_IN_PATH = 12

Read = Callable[[str], tuple[bytes, bytes]]

_PATH = re.compile(
    r"records/([0-9]{4})/([0-9]{2})/([0-9]{2})-([a-z][a-z0-9_]{0,31})-([0-9a-f]{12})\.json"
)
_LEDGER_ID = re.compile("[0-9a-f]{32}")
# Control and formatting characters as fixed ranges, not as Unicode categories: categories
# grow with Python's Unicode tables, and a message must be the same under every Python.
_SPACES = re.compile("[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_CONTROLS = re.compile(
    "[\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


class Genesis(msgspec.Struct, frozen=True, kw_only=True):
    """What `ledger.json` says: the format, the ledger's id (32 hex digits) and its name."""

    format: str
    ledger: str
    name: str
    created_at_ms: int


class PathParts(msgspec.Struct, frozen=True):
    """What a record's path says: sequence number, type, first digits of the id."""

    seq: int
    type: str
    id12: str


class FileAt(NamedTuple):
    """A file in a ledger's tree: its path and blob id."""

    path: str
    oid: str


class Addition(msgspec.Struct, frozen=True):
    """A record about to be written, or just read: number, id, record."""

    seq: int
    id: str
    record: Record | Unknown


def record_path(seq: int, kind: str, record_id: str) -> str:
    """Return where a record stands in the tree.

    Raises:
        InvalidInputError: The sequence number is past the last one a ledger can hold.
    """
    if seq > MAX_SEQ:
        raise InvalidInputError(
            f"this ledger is full: {MAX_SEQ:,} records",
            hint="start a new ledger: `hikmah --ledger NAME init`",
        )
    digits = f"{seq:08d}"
    name = f"{digits[6:]}-{kind}-{record_id[:ID_DIGITS_IN_PATH]}.json"
    return f"records/{digits[:4]}/{digits[4:6]}/{name}"


def parse_path(path: str) -> PathParts | None:
    """Return what a path says, or None when it is not a record's path."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    high, middle, low, kind, id12 = match.groups()
    return PathParts(int(high + middle + low), kind, id12)


def genesis_data(genesis: Genesis) -> bytes:
    """Return the bytes of `ledger.json`."""
    return canonical_json(genesis)


def parse_genesis(data: bytes) -> Genesis:
    """Read `ledger.json`.

    Raises:
        FormatError: A format this version does not know.
        IntegrityError: Not a genesis at all.
    """
    try:
        genesis = msgspec.json.decode(data, type=Genesis)
    except (msgspec.MsgspecError, UnicodeDecodeError) as e:
        raise IntegrityError("ledger.json is not a genesis record") from e
    if genesis.format != FORMAT:
        raise FormatError(
            f"the ledger is of format {genesis.format!r}; this version reads {FORMAT}",
            hint=f"upgrade hikmah to a version that knows {genesis.format!r}",
        )
    return genesis


def is_plain_genesis(genesis: Genesis, data: bytes) -> bool:
    """Tell whether `ledger.json` holds a genesis as `init` writes it, and nothing beside."""
    ids, name = _LEDGER_ID.fullmatch(genesis.ledger), genesis.name
    return bool(ids) and is_ledger_name(name) and genesis_data(genesis) == data


def plain(text: str, limit: int) -> str:
    """Return text as one printable line of at most `limit` characters."""
    line = text[: 4 * limit + 64]
    if not (line.isascii() and line.isprintable() and "  " not in line):
        line = _CONTROLS.sub("", _SPACES.sub(" ", line))
    line = line.strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def genesis_message(genesis: Genesis) -> bytes:
    """Return the genesis commit's message."""
    return (
        f"genesis {genesis.name}\n\n"
        f"Hikmah-Format: {genesis.format}\nHikmah-Ledger: {genesis.ledger}\n"
    ).encode()


def message(additions: Sequence[Addition], *, count: int | None = None) -> bytes:
    """Return the message of the commit that adds these records, in this order.

    Args:
        additions: The records; the first `LISTED_IN_MESSAGE` are enough when `count` is given.
        count: How many there are.
    """
    count = len(additions) if count is None else count
    first = additions[0]
    more = f" (+{count - 1} more)" if count > 1 else ""
    subject = _subject(first, SUBJECT_CHARS - len(more)) + more
    trailers = [line for a in additions[:LISTED_IN_MESSAGE] for line in _trailers(a)]
    if count > LISTED_IN_MESSAGE:
        trailers.append(f"Hikmah-Records: {count}")
    return (subject + "\n\n" + "\n".join(trailers) + "\n").encode()


def _subject(addition: Addition, limit: int) -> str:
    record = addition.record
    words = [record_type(record)]
    if isinstance(record, Trace):
        words.append(record.kind)
    words.append(addition.id[:8])
    head = " ".join(words)
    preview = plain(_preview(record), limit - len(head) - 2)
    return f"{head}: {preview}" if preview else head


def _preview(record: Record | Unknown) -> str:
    """Return the text that a subject line shows of a record."""
    match record:
        case Trace():
            return "" if record.privacy == "sensitive" else record.content
        case Supersede():
            return f"{record.id[:8]} by {record.by[:8]} {record.reason or ''}"
        case Fulfill():
            return f"{record.id[:8]} {record.evidence or ''}"
        case Purge():
            return f"{record.mode} {record.id[:8]} {record.reason}"
        case _:
            return ""


def _trailers(addition: Addition) -> list[str]:
    lines = [
        f"Hikmah-Seq: {addition.seq}",
        f"Hikmah-Type: {record_type(addition.record)}",
        f"Hikmah-Id: {addition.id}",
    ]
    if not isinstance(addition.record, Unknown):
        source = addition.record.provenance.source
        lines.append(plain(f"Hikmah-Source: {source}", TRAILER_CHARS))
    return lines


# ---- trees -----------------------------------------------------------------------------


def last_seq(read_object: Read, root: str, algorithm: str) -> int:
    """Return the largest sequence number in a ledger's tree, 0 when it holds no record."""
    oid, digits = root, ""
    for name in (b"records", None, None):
        entries = [
            e
            for e in parse_tree(read_object(oid)[1], algorithm)
            if e.mode == TREE_MODE and name in (None, e.name)
        ]
        if not entries:
            return 0
        oid = entries[-1].oid
        digits += "" if name else entries[-1].name.decode("ascii", "replace")
    files = parse_tree(read_object(oid)[1], algorithm)
    digits += files[-1].name[:2].decode("ascii", "replace") if files else ""
    if not re.fullmatch("[0-9]{8}", digits):
        raise IntegrityError(f"the newest path under records/ is not a record's: {digits!r}")
    return int(digits)


def extend_tree(
    read_object: Read, root: str | None, files: Iterable[FileAt], algorithm: str
) -> Iterator[RawObject]:
    """Yield the tree objects that add files to a tree, each after those it holds, the root last.

    Reads only the trees on the way to the new files.
    """
    folders: dict[bytes, list[tuple[bytes, str]]] = {}
    for file in files:
        folder, _, name = file.path.encode().rpartition(b"/")
        folders.setdefault(folder, []).append((name, file.oid))
    inside: dict[bytes, dict[bytes, None]] = {b"": {}}
    for path in folders:
        while path:
            above, _, name = path.rpartition(b"/")
            inside.setdefault(above, {})[name] = None
            path = above  # noqa: PLW2901 - up to the root

    def grow(path: bytes, oid: str | None) -> Iterator[RawObject]:
        entries = _entries(read_object, oid, algorithm)
        for name, blob in folders.get(path, ()):
            entries[name] = TreeEntry(FILE_MODE, name, blob)
        for name in inside.get(path, ()):
            below = entries[name].oid if name in entries else None
            for tree in grow(path + b"/" + name if path else name, below):
                yield tree
            entries[name] = TreeEntry(TREE_MODE, name, tree.oid)
        yield raw_object(b"tree", tree_bytes(entries.values()), algorithm)

    yield from grow(b"", root)


class TreeChange(NamedTuple):
    """One path at which two trees differ; None stands for "not there"."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None


def tree_changes(
    read_object: Read, old: str | None, new: str | None, algorithm: str, prefix: str = ""
) -> Iterator[TreeChange]:
    """Yield every file at which two trees differ, reading only subtrees that differ.

    No record stands deeper than four levels; what a foreign commit put far below is left
    to verification.
    """
    if old == new or prefix.count("/") > MAX_DEPTH:
        return
    before = _entries(read_object, old, algorithm)
    after = _entries(read_object, new, algorithm)
    for name in sorted(before.keys() | after.keys()):
        a, b = before.get(name), after.get(name)
        if a == b:
            continue
        path = prefix + name.decode("utf-8", "surrogateescape")
        a_tree = a.oid if a is not None and a.mode == TREE_MODE else None
        b_tree = b.oid if b is not None and b.mode == TREE_MODE else None
        a_file = a if a_tree is None else None
        b_file = b if b_tree is None else None
        if a_file is not None or b_file is not None:
            yield TreeChange(path, a_file, b_file)
        if a_tree is not None or b_tree is not None:
            yield from tree_changes(read_object, a_tree, b_tree, algorithm, path + "/")


def _entries(read_object: Read, oid: str | None, algorithm: str) -> dict[bytes, TreeEntry]:
    if oid is None:
        return {}
    return {e.name: e for e in parse_tree(read_object(oid)[1], algorithm)}


def stored_between(
    read_object: Read, old: str | None, new: str, algorithm: str
) -> Iterator[Stored] | None:
    """Return the records one root tree holds beyond another, in (sequence, id) order.

    Args:
        read_object: Reads an object by id.
        old: Root tree already known, or None for nothing.
        new: Root tree to catch up with.
        algorithm: `sha1` or `sha256`.

    Returns:
        The records, each once at its smallest path; None when `new` lacks something that
        `old` has, so that the caller must start afresh.
    """
    paths: list[tuple[int, str, str]] = []
    for change in tree_changes(read_object, old, new, algorithm):
        if change.old is not None:
            return None
        parts = parse_path(change.path)
        # What is no plain file (a foreign link or submodule) holds no record to read.
        if parts is not None and change.new is not None and change.new.mode in PLAIN_FILES:
            paths.append((parts.seq, change.new.oid, change.path))
    return _read_stored(read_object, sorted(paths))


def _read_stored(read_object: Read, paths: list[tuple[int, str, str]]) -> Iterator[Stored]:
    seen: set[str] = set()
    for seq, oid, _ in paths:
        if oid in seen:
            continue
        seen.add(oid)
        data = read_object(oid)[1]
        yield Stored(id=oid, seq=seq, record=read_stored(data), data=data)
