"""Builds records from what a caller gave: ids made whole, the session stamped.

Rules the module keeps:

1. What a caller may not say is refused, never dropped: an unknown field, a nested
   provenance, a text where a list is meant.
2. Inside an agent session every record names it, and what dates or vouches for a record is
   a person's to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hikmah.errors import InvalidInputError
from hikmah.index.database import Index
from hikmah.memory.arguments import texts
from hikmah.memory.desk import Desk
from hikmah.model import session as sessions
from hikmah.model import validate
from hikmah.model.records import convert
from hikmah.model.trace import Provenance, Trace

_PROVENANCE = Provenance.__struct_fields__
# What verifying another trace takes over; the second row belongs to a kind and goes with it.
_COPIED = ("content", "kind", "claim", "tags", "privacy", "valid_from_ms", "valid_until_ms")
_COPIED_WITH_KIND = ("deadline_ms", "event", "entity", "fact", "relationship")


def build_trace(desk: Desk, fields: Mapping[str, Any]) -> Trace:
    """Return a trace from keyword fields, with ids made whole and the session stamped.

    Fields are those of `Trace`, with provenance given flat (`source`, `locator`, ...) and a
    claim as `claim={"key", "value"}` or as `claim_key` and `claim_value`.

    Raises:
        InvalidInputError: A field is unknown, missing, mistyped or out of range.
        NotFoundError, AmbiguousIdError: An id does not name one record.
        AgentSessionError: `verified` inside an agent session.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    raw: dict[str, Any] = {"type": "remember", "created_at_ms": desk.clock()}
    raw |= {key: value for key, value in given.items() if key not in _PROVENANCE}
    _refuse_unsaid(desk, given)
    _gather_claim(raw)
    _resolve_links(desk, raw)
    _copy_from_superseded(desk, raw, verified=bool(given.get("verified")))
    validate.refuse_by_hand(str(raw.get("kind")))
    said = {key: given[key] for key in _PROVENANCE if key in given}
    raw["provenance"] = said | {"locator": _locator(desk, said.get("locator"))}
    trace = convert(raw, Trace)
    if trace.provenance.verified and desk.session is not None:
        raise sessions.refuse(desk.session, "--verified")
    return trace


def _refuse_unsaid(desk: Desk, given: Mapping[str, Any]) -> None:
    """Raise for what looks as if it counted and would not, or must not."""
    if "provenance" in given:
        raise InvalidInputError(
            "provenance is given field by field, not as one",
            hint=f"give {', '.join(_PROVENANCE)} beside the content",
            where="$.provenance",
        )
    if "created_at_ms" in given and desk.session is not None:
        raise sessions.refuse(desk.session, "created_at_ms on a write")


def _gather_claim(raw: dict[str, Any]) -> None:
    """Turn `claim_key` and `claim_value`, or a pair, into `claim`."""
    pair = raw.get("claim")
    if isinstance(pair, (tuple, list)) and len(pair) == 2:
        raw["claim"] = {"key": pair[0], "value": pair[1]}
    flat = {name: raw.pop(f"claim_{name}") for name in ("key", "value") if f"claim_{name}" in raw}
    if not flat:
        return
    if len(flat) == 1 or "claim" in raw:
        raise InvalidInputError(
            "a claim needs both a key and a value, given once",
            hint="give --claim-key and --claim-value together",
            where="$.claim",
        )
    raw["claim"] = flat


def _resolve_links(desk: Desk, raw: dict[str, Any]) -> None:
    """Make the short ids in link fields whole."""
    named = raw.get("supersedes")
    derived = texts(raw.get("derived_from", ()), "$.derived_from")
    if named is None and not derived:
        return

    def resolve(index: Index) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if isinstance(named, str):
            found["supersedes"] = desk.resolve(index, named, where="$.supersedes")
        if derived:
            found["derived_from"] = [
                desk.resolve(index, one, where=f"$.derived_from[{n}]")
                for n, one in enumerate(derived)
            ]
        return found

    raw |= desk.answer(resolve)


def _copy_from_superseded(desk: Desk, raw: dict[str, Any], *, verified: bool) -> None:
    """Let a person verify what an agent recorded: what is left out is copied from it."""
    if not verified or "supersedes" not in raw:
        return
    row = desk.answer(lambda index: index.row(raw["supersedes"]))
    if row is None:
        return
    old = msgspec.to_builtins(row.trace)
    same_kind = raw.get("kind", old["kind"]) == old["kind"]
    for name in (*_COPIED, *(_COPIED_WITH_KIND if same_kind else ())):
        if raw.get(name) in (None, "", [], ()) and old[name] is not None:
            raw[name] = old[name]


def _locator(desk: Desk, given: Any) -> Any:
    if desk.session is None or not isinstance(given, str | None):
        return given
    return sessions.stamp(desk.session, given)


def plain_provenance(desk: Desk, source: str) -> dict[str, Any]:
    """Return who wrote a record, as plain values."""
    return {"source": source, "locator": _locator(desk, None)}


def provenance(desk: Desk, source: str) -> Provenance:
    """Return who wrote a record, with the agent session it came from."""
    return convert(plain_provenance(desk, source), Provenance)
