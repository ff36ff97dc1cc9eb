"""The rules of writing: what a record must be before a byte of it is stored.

Every write path (command, library, batch, import, hook) goes through `check` and
`check_links`. They are write-time rules only: reading accepts any set of records, so two
ledgers always join. The numbers are those of docs/memory.md:

1. Ranges, blanks, sizes, both-or-neither; valid Unicode; stored bytes are what was given.
2. A `model:` source never verifies, supersedes, fulfils, purges or resolves.
3. Predictions hold a prediction record and outcomes an outcome record; neither is made by
   hand, and a prediction is never verified and never supersedes.
4. An outcome resolves an active prediction with a value of its answer space (links).
5. A trace from an agent session is never verified.
6. `sensitive` text is refused unless library code allows it.
7. Nothing holds something shaped like a credential.
8. Links point at existing traces of the right kind (links).

`problems` gives the rules that need neither state nor policy as text, for verification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hikmah.errors import RefusedError
from hikmah.model.limits import (
    MAX_CONTENT_BYTES,
    MAX_DERIVED_FROM,
    MAX_KEY_CHARS,
    MAX_LOCATOR_CHARS,
    MAX_NAME_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    MAX_TEXT_CHARS,
)
from hikmah.model.links import LinkOutcome, check_links
from hikmah.model.payloads import json_problem, payload_problems
from hikmah.model.problems import Problem, refused, text_problem, unicode_problem
from hikmah.model.records import Fulfill, Purge, Record, Supersede, Switch, decode_error
from hikmah.model.screen import credential_problem
from hikmah.model.session import LOCATOR_PREFIX
from hikmah.model.status import Lookup, TraceState, state_of, status_given_by
from hikmah.model.trace import Event, Provenance, Trace, is_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hikmah.model.policy import Policy

__all__ = [
    "LinkOutcome",
    "Lookup",
    "TraceState",
    "check",
    "check_links",
    "is_model",
    "problems",
    "refuse_by_hand",
    "state_of",
    "status_given_by",
]

# Kinds that have a command of their own, which asks for what the kind needs.
_OWN_COMMANDS = {"prediction": "hikmah predict", "outcome": "hikmah outcome"}


def check(record: Record, *, policy: Policy, allow_sensitive: bool = False) -> None:
    """Raise the first broken rule that can be judged without the ledger's state.

    Args:
        record: What is to be written; its types are checked too, since constructors do not.
        policy: Decides whether sensitive text may be stored.
        allow_sensitive: Library code's own permission, for one call.

    Raises:
        InvalidInputError: A value is wrong; `where` is its path.
        RefusedError: Policy says no: model sources, agent sessions, sensitive text.
        SecretError: A field holds something shaped like a credential.
    """
    allowed = allow_sensitive or policy.allow_sensitive_persistence
    problem = (
        _type_problem(record)
        or next(_problems(record), None)
        or (None if allowed else _sensitive_problem(record))
        or credential_problem(record)
    )
    if problem:
        raise problem.error()


def problems(record: Record) -> list[str]:
    """Return every broken rule of a decoded record as `path: text`; never raises.

    The same rules as `check`, without policy and without the credentials screen.
    """
    return [f"{problem.where}: {problem.message}" for problem in _problems(record)]


def refuse_by_hand(kind: str) -> None:
    """Raise when a kind is asked of `remember` that has a command of its own (rule 3).

    Raises:
        RefusedError: The kind is `prediction` or `outcome`.
    """
    command = _OWN_COMMANDS.get(kind)
    if command:
        raise RefusedError(
            f"a trace of kind {kind} is not made with remember",
            hint=f"use `{command}`",
            where="$.kind",
        )


def _type_problem(record: Record) -> Problem | None:
    """Check types, ranges and patterns as decoding would: NaN, text for a number, a bad id.

    A payload is walked first, with a bound: copying one that holds itself would not end.
    """
    if isinstance(record, Trace) and isinstance(record.event, Event):
        problem = json_problem(record.event.payload)
        if problem:
            return problem
    try:
        msgspec.convert(msgspec.to_builtins(record), type(record))
    except (msgspec.ValidationError, UnicodeEncodeError) as e:
        error = decode_error(e)
        return Problem(error.where or "$", error.message, error.hint)
    except (TypeError, RecursionError) as e:
        return Problem("$", f"the record holds what JSON cannot: {e}")
    return None


def _sensitive_problem(record: Record) -> Problem | None:
    if not isinstance(record, Trace) or record.privacy != "sensitive":
        return None
    return refused(
        "$.privacy",
        "sensitive text is not stored: a ledger is plain text in git, and purge hides only",
        "keep the text in an encrypted store and remember where it is (content and locator)",
    )


def _problems(record: Record) -> Iterator[Problem]:
    found = _trace(record) if isinstance(record, Trace) else _switch(record)
    return (problem for problem in found if problem)


def _trace(trace: Trace) -> Iterator[Problem | None]:
    yield _content(trace.content)
    yield from _tags(trace.tags)
    yield from _provenance(trace.provenance)
    if trace.claim:
        yield text_problem("$.claim.key", trace.claim.key, MAX_KEY_CHARS)
        yield text_problem("$.claim.value", trace.claim.value, MAX_TEXT_CHARS)
    if trace.idempotency_key is not None:
        yield text_problem("$.idempotency_key", trace.idempotency_key, MAX_KEY_CHARS)
    yield from _times(trace)
    if len(trace.derived_from) > MAX_DERIVED_FROM:
        yield Problem(
            "$.derived_from", f"{len(trace.derived_from):,} ids, more than {MAX_DERIVED_FROM:,}"
        )
    yield from _authorship(trace)
    yield from payload_problems(trace)


def _content(content: str) -> Problem | None:
    if not content or content.isspace():
        return Problem("$.content", "content is blank")
    problem = unicode_problem("$.content", content)
    if problem or len(content) * 4 <= MAX_CONTENT_BYTES:
        return problem  # no character takes more than four bytes
    size = len(content.encode())
    if size <= MAX_CONTENT_BYTES:
        return None
    return Problem(
        "$.content",
        f"content has {size:,} bytes, more than {MAX_CONTENT_BYTES:,}",
        "split it into several traces, or keep it in a file and remember its locator",
    )


def _tags(tags: tuple[str, ...]) -> Iterator[Problem | None]:
    if len(tags) > MAX_TAGS:
        yield Problem("$.tags", f"{len(tags)} tags, more than {MAX_TAGS}")
    for place, tag in enumerate(tags):
        yield text_problem(f"$.tags[{place}]", tag, MAX_TAG_CHARS)


def _provenance(provenance: Provenance) -> Iterator[Problem | None]:
    yield text_problem("$.provenance.source", provenance.source, MAX_NAME_CHARS)
    if provenance.locator is not None:
        yield text_problem("$.provenance.locator", provenance.locator, MAX_LOCATOR_CHARS)


def _times(trace: Trace) -> Iterator[Problem]:
    if trace.deadline_ms is not None and trace.kind != "commitment":
        yield Problem(
            "$.deadline_ms",
            f"a deadline belongs to a commitment, not to kind {trace.kind}",
            "use kind commitment, or leave the deadline out",
        )
    start, end = trace.valid_from_ms, trace.valid_until_ms
    if start is not None and end is not None and start >= end:
        yield Problem(
            "$.valid_until_ms", f"validity ends at {end}, which is not after its start at {start}"
        )


def _authorship(trace: Trace) -> Iterator[Problem]:
    """Rules 2, 3 and 5: who may verify, and who may supersede."""
    source, locator = trace.provenance.source, trace.provenance.locator
    model, prediction = is_model(source), trace.kind == "prediction"
    if trace.provenance.verified:
        where = "$.provenance.verified"
        if model:
            yield refused(where, f"what {source!r} says is never verified", _VERIFY_HINT)
        if prediction:
            yield refused(where, "a prediction is never verified: its outcome is")
        if locator is not None and locator.strip().casefold().startswith(LOCATOR_PREFIX):
            yield refused(where, "a trace from an agent session is never verified", _VERIFY_HINT)
    if trace.supersedes is not None:
        if model:
            yield refused("$.supersedes", f"{source!r} is a model and never supersedes")
        if prediction:
            yield refused("$.supersedes", "a prediction never supersedes")
    if model and trace.kind == "outcome":
        yield refused("$.provenance.source", f"{source!r} is a model and never resolves")


_VERIFY_HINT = (
    "a person verifies it from their own terminal: `hikmah remember --verified --supersedes ID`"
)


def _switch(switch: Switch) -> Iterator[Problem | None]:
    yield from _provenance(switch.provenance)
    source = switch.provenance.source
    if is_model(source):
        verb = {Supersede: "supersedes", Fulfill: "fulfils", Purge: "purges"}[type(switch)]
        yield refused("$.provenance.source", f"{source!r} is a model and never {verb}")
    if isinstance(switch, Supersede):
        if switch.id == switch.by:
            yield Problem("$.by", "a trace cannot supersede itself")
        if switch.reason is not None:
            yield text_problem("$.reason", switch.reason, MAX_TEXT_CHARS)
    elif isinstance(switch, Purge):
        yield text_problem("$.reason", switch.reason, MAX_TEXT_CHARS)
    elif switch.evidence is not None:
        yield text_problem("$.evidence", switch.evidence, MAX_TEXT_CHARS)
