"""The credentials screen over a record: every text that somebody can fill in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hikmah.errors import SecretError
from hikmah.model import secrets
from hikmah.model.problems import Problem
from hikmah.model.records import Fulfill, Record
from hikmah.model.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hikmah.model.trace import Prediction, Provenance

Text = tuple[str, str | None]  # where it stands, and what it says
Pair = tuple[str, str, str]  # where the value stands, its name, the value
HINT = (
    "store the secret in a secret manager and remember a reference to it (`vault:...`, `$NAME`);"
    " text that only looks like one can be written as <name>"
)


def credential_problem(record: Record) -> Problem | None:
    """Return the first field that holds something shaped like a credential, by its rule.

    The texts are screened as one, one a line: no rule but a key's reaches over a line, and
    a key's first line is enough. Only a hit pays for finding the field.
    """
    texts = [(where, text) for where, text in _texts(record) if text]
    rule = secrets.find("\n".join(text for _, text in texts))
    if rule:
        hits = ((where, found) for where, text in texts if (found := secrets.find(text)))
        return _problem(*next(hits, ("$", rule)))
    for where, name, value in _pairs(record):
        rule = secrets.find_pair(name, value)
        if rule:
            return _problem(where, rule)
    return None


def _problem(where: str, rule: str) -> Problem:
    """Name the rule and the field; never the value."""
    return Problem(
        where, f"{where.removeprefix('$.')} looks like it holds a {rule}", HINT, SecretError
    )


def _texts(record: Record) -> Iterator[Text]:
    yield from _provenance(record.provenance)
    if isinstance(record, Trace):
        yield from _trace(record)
    elif isinstance(record, Fulfill):
        yield "$.evidence", record.evidence
    else:
        yield "$.reason", record.reason


def _provenance(provenance: Provenance) -> Iterator[Text]:
    yield "$.provenance.source", provenance.source
    yield "$.provenance.locator", provenance.locator


def _trace(trace: Trace) -> Iterator[Text]:
    yield "$.content", trace.content
    for place, tag in enumerate(trace.tags):
        yield f"$.tags[{place}]", tag
    if trace.claim:
        yield "$.claim.key", trace.claim.key
        yield "$.claim.value", trace.claim.value
    yield "$.idempotency_key", trace.idempotency_key
    if trace.prediction:
        yield from _prediction(trace.prediction)
    if trace.outcome:
        yield "$.outcome.observed", trace.outcome.observed
        yield "$.outcome.note", trace.outcome.note
    yield from _structured(trace)
    if trace.imported:
        yield "$.imported.system", trace.imported.system
        yield "$.imported.id", trace.imported.id
        yield "$.imported.hash", trace.imported.hash


def _prediction(prediction: Prediction) -> Iterator[Text]:
    path = "$.prediction"
    yield f"{path}.family", prediction.family
    yield f"{path}.forecaster", prediction.forecaster
    yield f"{path}.question", prediction.question
    yield f"{path}.request_id", prediction.request_id
    yield f"{path}.question_id", prediction.question_id
    yield f"{path}.value", prediction.value
    for place, answer in enumerate(prediction.answer_space):
        yield f"{path}.answer_space[{place}]", answer
    for answer in prediction.probabilities or ():
        yield f"{path}.probabilities", answer


def _structured(trace: Trace) -> Iterator[Text]:
    if trace.event:
        yield "$.event.event_type", trace.event.event_type
        yield "$.event.session_id", trace.event.session_id
        yield "$.event.agent_id", trace.event.agent_id
        for where, name, text in _payload(trace.event.payload):
            yield where, name
            yield where, text
    if trace.entity:
        yield "$.entity.name", trace.entity.name
    if trace.fact:
        yield "$.fact.predicate", trace.fact.predicate
        yield "$.fact.object", trace.fact.object
    if trace.relationship:
        yield "$.relationship.relation_type", trace.relationship.relation_type


def _pairs(record: Record) -> Iterator[Pair]:
    """Yield names and values that stand in two fields, and make an assignment together."""
    if not isinstance(record, Trace):
        return
    if record.claim:
        yield "$.claim.value", record.claim.key, record.claim.value
    if record.fact:
        yield "$.fact.object", record.fact.predicate, record.fact.object
    if record.event:
        yield from _payload(record.event.payload)


def _payload(payload: Any) -> Iterator[Pair]:
    """Yield each text of a payload with the name it stands under, and each name of an object.

    A list's texts stand under the list's own name.
    """
    left: list[tuple[str, str, Any]] = [("$.event.payload", "", payload)]
    while left:
        where, name, value = left.pop()
        if isinstance(value, str):
            yield where, name, value
        elif isinstance(value, dict):
            for key in value:
                yield where, key, ""
            left += reversed([(f"{where}.{key}", key, value[key]) for key in value])
        elif isinstance(value, list | tuple):
            left += reversed([(f"{where}[{n}]", name, item) for n, item in enumerate(value)])
