r"""`hikmah-jsonl`: the hash-chained file of the system that came before.

Each line is `{"seq", "prev_hash", "payload", "hash"}`, in v2 also `"v": 2`. `hash` is the
BLAKE3 hex digest of

    v1    {"seq":<seq>,"prev_hash":"<prev_hash>","payload":<payload>}
    v2    hikmah-ledger-v2\n<seq>\n<prev_hash>\n<payload>

where `<payload>` is the payload's bytes as they stand in the line. The first `prev_hash` is
`GENESIS`, each later one the hash of the line before. Rules the module keeps:

1. The whole chain is verified before a record is built; a break stops everything and names
   its line. Only the last line may be cut off, as a crash leaves it: that is reported.
2. Kinds, times, claims, links and what became of each trace are kept; `imported` says the id
   and the hash that a trace had. What has no time of its own has that of the newest trace
   before it, so that the same file always makes the same records.
3. What today's rules refuse is refused item by item, and what depends on it, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec
from msgspec import Struct

from hikmah.errors import DecodeError, IntegrityError, InvalidInputError, NotFoundError
from hikmah.model.records import Fulfill, Purge, Supersede, convert, decode_error
from hikmah.model.trace import Provenance, Trace
from hikmah.transfer.items import Built, Intake, Item
from hikmah.transfer.lines import Line, lines, whole
from hikmah.transfer.results import refusal

SYSTEM = "hikmah-jsonl"
GENESIS = "GENESIS"
# What msgspec says of JSON that ends too early, and of nothing else.
_CUT_OFF = "truncated"
_SAME = (
    "kind",
    "content",
    "tags",
    "created_at_ms",
    "deadline_ms",
    "salience",
    "confidence",
    "privacy",
    "provenance",
    "valid_from_ms",
    "valid_until_ms",
)
_FIELDS = frozenset({*_SAME, "id", "claim_key", "claim_value", "supersedes"})


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    seq: int
    prev_hash: str
    payload: msgspec.Raw
    hash: str
    v: int = 1


class Entry(NamedTuple):
    """One line whose place in the chain is proven."""

    line: int
    hash: str
    payload: bytes


class Torn(NamedTuple):
    """A last line that was never written to its end."""

    line: int


_DECODER = msgspec.json.Decoder(_Line)


def chain(stream: BinaryIO) -> Iterator[Entry | Torn]:
    """Yield the lines of an old ledger, each once its hash and its place are verified.

    Raises:
        IntegrityError: A line is not what its hash says, or does not follow the one before.
        NotFoundError: The package that computes BLAKE3 is not installed.
    """
    digest = _blake3()
    previous = GENESIS
    for seq, one in enumerate(lines(stream), start=1):
        entry = _decoded(one)
        if entry is None:
            yield Torn(one.number)
            return
        _check(one.number, entry, previous, seq, digest)
        previous = entry.hash
        yield Entry(one.number, entry.hash, bytes(entry.payload))


def _blake3() -> Callable[[bytes], str]:
    try:
        from blake3 import blake3
    except ImportError as e:
        raise NotFoundError(
            "the hashes of an old ledger need the package blake3, which is not installed",
            hint="pip install 'hikmah[import]'",
        ) from e
    return lambda data: str(blake3(data).hexdigest())


def _decoded(one: Line) -> _Line | None:
    """Return a line as it was written; None for one that was cut off."""
    try:
        return _DECODER.decode(whole(one))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as e:
        if not one.ended and _CUT_OFF in str(e):
            return None
        found = refusal(one.number, decode_error(e))  # quotes names, and a name may be a secret
        raise _broken(one.number, f"it is no line of a ledger: {found.message}") from e
    except InvalidInputError as e:
        raise _broken(one.number, e.message) from e


def _check(
    number: int, entry: _Line, previous: str, seq: int, digest: Callable[[bytes], str]
) -> None:
    if entry.v not in (1, 2):
        raise _broken(number, f"version {entry.v} is not known; 1 and 2 are")
    if entry.seq != seq:
        raise _broken(number, f"its seq is {entry.seq}, and {seq} is next")
    if entry.prev_hash != previous:
        raise _broken(number, "its prev_hash is not the hash of the line before")
    found = digest(_hashed(entry))
    if found != entry.hash:
        raise _broken(number, f"its bytes hash to {found}, and its hash is another")


def _hashed(entry: _Line) -> bytes:
    """Return the bytes that a line's hash is of."""
    seq, previous, payload = str(entry.seq).encode(), entry.prev_hash.encode(), entry.payload
    if entry.v == 1:
        return b'{"seq":%s,"prev_hash":"%s","payload":%s}' % (seq, previous, payload)
    return b"hikmah-ledger-v2\n%s\n%s\n%s" % (seq, previous, payload)


def _broken(number: int, reason: str) -> IntegrityError:
    return IntegrityError(
        f"the chain is broken at line {number}: {reason}; nothing was imported",
        hint="compare the file with a copy of it; what follows a break cannot be trusted",
        where=f"line {number}",
    )


def read_items(stream: BinaryIO, intake: Intake) -> Iterator[Item]:
    """Verify a whole file, then yield its payloads, each to be built when its turn comes."""
    for one in chain(stream):
        if isinstance(one, Torn):
            intake.torn_line = one.line
    translation = _Translation(intake)
    for one in chain(stream):  # verified again on the way: nobody can swap the file meanwhile
        if isinstance(one, Entry):
            payload = _payload(one)
            yield Item(one.line, _name(payload), functools.partial(translation.build, one, payload))


def _payload(entry: Entry) -> dict[str, Any]:
    """Return a payload's fields; none for what is no object, which no type will fit."""
    try:
        found = msgspec.json.decode(entry.payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _name(payload: dict[str, Any]) -> str:
    trace = payload.get("trace")
    name = trace.get("id") if isinstance(trace, dict) else None
    return name if isinstance(name, str) else ""


class _Translation:
    """Makes records of payloads, in the order of the file."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._newest_ms = 0
        self._lines: dict[str, int] = {}

    def build(self, entry: Entry, payload: dict[str, Any]) -> Built:
        """Return the record that a payload stands for.

        Raises:
            InvalidInputError: It is of no type that is known, or not what its type says.
            NotFoundError: It speaks of a trace that is not there.
        """
        match payload.get("type"):
            case "remember":
                return self._intake.built(self._trace(entry, payload))
            case "supersede":
                given = self._fields(payload, "old_id", "new_id")
                links = {"id": self._id(given[0]), "by": self._id(given[1])}
                return self._switch(Supersede, entry, links)
            case "fulfill":
                (old,) = self._fields(payload, "id")
                return self._switch(Fulfill, entry, {"id": self._id(old)})
            case "purge":
                old, reason = self._fields(payload, "id", "reason")
                return self._switch(Purge, entry, {"id": self._id(old), "reason": reason})
            case other:
                raise DecodeError(
                    f"{other!r:.80} is no type of payload",
                    hint="known types: remember, supersede, fulfill, purge",
                    where="$.payload.type",
                )

    def _trace(self, entry: Entry, payload: dict[str, Any]) -> Trace:
        (old,) = self._fields(payload, "trace")
        if not isinstance(old, dict):
            raise DecodeError("a trace is an object", where="$.payload.trace")
        name = self._new_name(entry, old)
        for field in old.keys() - _FIELDS:
            if old[field] not in (None, [], {}):
                raise DecodeError(f"unknown field {field!r:.80}", where="$.payload.trace")
        raw = {key: old[key] for key in _SAME if key in old}
        if old.get("claim_key") is not None or old.get("claim_value") is not None:
            raw["claim"] = {"key": old.get("claim_key"), "value": old.get("claim_value")}
        if old.get("supersedes") is not None:
            raw["supersedes"] = self._id(old["supersedes"])
        raw["imported"] = {"system": SYSTEM, "id": name, "hash": entry.hash}
        raw["idempotency_key"] = f"{SYSTEM}:{name}"
        trace = convert({"type": "remember", **raw}, Trace)
        self._newest_ms = trace.created_at_ms
        return trace

    def _new_name(self, entry: Entry, old: dict[str, Any]) -> str:
        name = old.get("id")
        if not isinstance(name, str) or not name:
            raise DecodeError("the trace has no id", where="$.payload.trace.id")
        first = self._lines.setdefault(name, entry.line)
        if first != entry.line:
            raise InvalidInputError(
                f"the id {name!r:.80} stands on line {first} already", where="$.payload.trace.id"
            )
        return name

    def _fields(self, payload: dict[str, Any], *names: str) -> list[Any]:
        """Return a payload's fields, which must be these and no others."""
        extra = payload.keys() - {"type", *names}
        lacking = [name for name in names if payload.get(name) is None]
        if extra or lacking:
            told = f"unknown field {min(extra)!r:.80}" if extra else f"{lacking[0]} is missing"
            raise DecodeError(told, where="$.payload")
        return [payload[name] for name in names]

    def _id(self, name: object) -> str:
        """Return the id here of a trace that an earlier line remembers."""
        found = self._intake.ids.get(name) if isinstance(name, str) else None
        if found is not None:
            return found
        line = self._intake.refused.get(name) if isinstance(name, str) else None
        if line is not None:
            raise NotFoundError(
                f"it needs the trace of line {line}, which was refused",
                hint="see what is wrong with that line first",
            )
        raise NotFoundError(f"no earlier line remembers a trace {name!r:.80}")

    def _switch(
        self, kind: type[Supersede | Fulfill | Purge], entry: Entry, fields: dict[str, Any]
    ) -> Built:
        provenance = Provenance(locator=f"{SYSTEM}:{entry.hash}")
        raw = {"type": kind.__struct_config__.tag, "at_ms": self._newest_ms, **fields}
        record = convert({**raw, "provenance": msgspec.to_builtins(provenance)}, kind)
        return self._intake.built(record)
