"""Rules of the structured payloads: which kind holds which, and what is in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hikmah.model.limits import (
    MAX_CHOICES,
    MAX_EVENT_BYTES,
    MAX_EVENT_DEPTH,
    MAX_INTEGER,
    MAX_KEY_CHARS,
    MAX_LEVELS,
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    MIN_ANSWERS,
    MIN_INTEGER,
)
from hikmah.model.problems import Problem, text_problem, unicode_problem
from hikmah.model.records import canonical_json
from hikmah.model.status import PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hikmah.model.trace import Event, Imported, Outcome, Prediction, Trace

NOUL_ANSWERS = ("true", "false")
_KINDS = {"event": "episode", "entity": "belief", "fact": "belief", "relationship": "belief"}


def payload_problems(trace: Trace) -> Iterator[Problem | None]:
    """Yield what is wrong with the payloads of a trace, and with their being there."""
    if trace.prediction is not None or trace.kind == "prediction":
        yield from _held("prediction", trace)
    if trace.outcome is not None or trace.kind == "outcome":
        yield from _held("outcome", trace)
    if trace.prediction is not None:
        yield from _prediction(trace.prediction)
    if trace.outcome is not None:
        yield from _outcome(trace.outcome)
    yield from _structured(trace)
    if trace.imported is not None:
        yield from _imported(trace.imported)


def answer_space(prediction: Prediction) -> tuple[str, ...]:
    """Return the values that may be observed for a prediction."""
    return NOUL_ANSWERS if prediction.answer_kind == "noul" else prediction.answer_space


def _held(name: str, trace: Trace) -> Iterator[Problem]:
    """A kind and its record go together: each needs the other."""
    command = {"prediction": "hikmah predict", "outcome": "hikmah outcome"}[name]
    if getattr(trace, name) is None:
        yield Problem(
            f"$.{name}", f"kind {name} needs {name} details", f"record it with `{command}`"
        )
    elif trace.kind != name:
        yield Problem(
            f"$.{name}", f"{name} details belong to kind {name}, not to kind {trace.kind}"
        )


def _prediction(prediction: Prediction) -> Iterator[Problem | None]:
    path = "$.prediction"
    yield text_problem(f"{path}.family", prediction.family, MAX_NAME_CHARS)
    yield text_problem(f"{path}.forecaster", prediction.forecaster, MAX_NAME_CHARS)
    yield text_problem(f"{path}.question", prediction.question, MAX_TEXT_CHARS)
    if prediction.request_id is not None:
        yield text_problem(f"{path}.request_id", prediction.request_id, MAX_NAME_CHARS)
    if prediction.question_id is not None:
        yield text_problem(f"{path}.question_id", prediction.question_id, MAX_NAME_CHARS)
    yield from _answer_space(prediction)
    yield from _answer(prediction, answer_space(prediction))


def _answer_space(prediction: Prediction) -> Iterator[Problem | None]:
    where, answers = "$.prediction.answer_space", prediction.answer_space
    for place, answer in enumerate(answers[:MAX_CHOICES]):
        yield text_problem(f"{where}[{place}]", answer, MAX_KEY_CHARS)
    if prediction.answer_kind == "noul":
        if answers and sorted(answers) != sorted(NOUL_ANSWERS):
            yield Problem(where, "a noul is answered with true or false, and nothing else")
        return
    most = MAX_CHOICES if prediction.answer_kind == "choice" else MAX_LEVELS
    if not MIN_ANSWERS <= len(answers) <= most:
        yield Problem(
            where,
            f"a {prediction.answer_kind} has {MIN_ANSWERS} to {most} answers, not {len(answers)}",
        )
    if len(set(answers)) < len(answers):
        yield Problem(where, "an answer stands twice in the answer space")


def _answer(prediction: Prediction, answers: tuple[str, ...]) -> Iterator[Problem]:
    path = "$.prediction"
    if prediction.value is not None and prediction.value not in answers:
        yield Problem(f"{path}.value", "the value is not in the answer space")
    if prediction.value is None and prediction.p is not None and prediction.answer_kind != "noul":
        yield Problem(f"{path}.value", "a probability needs the value it is the probability of")
    if prediction.probabilities is not None and not set(prediction.probabilities) <= set(answers):
        yield Problem(f"{path}.probabilities", "a probability is of no value in the answer space")


def _outcome(outcome: Outcome) -> Iterator[Problem | None]:
    yield text_problem("$.outcome.observed", outcome.observed, MAX_KEY_CHARS)
    if outcome.note is not None:
        yield text_problem("$.outcome.note", outcome.note, MAX_TEXT_CHARS)


def _structured(trace: Trace) -> Iterator[Problem | None]:
    """At most one of event, entity, fact and relationship, each under its own kind."""
    held = [name for name in PAYLOADS if getattr(trace, name) is not None]
    if len(held) > 1:
        yield Problem(f"$.{held[1]}", f"a trace holds one of {' and '.join(held)}, not both")
    for name in held:
        if trace.kind != _KINDS[name]:
            yield Problem(
                "$.kind", f"a trace with {name} details is of kind {_KINDS[name]}, not {trace.kind}"
            )
    if trace.event:
        yield from _event(trace.event)
    if trace.entity:
        yield text_problem("$.entity.name", trace.entity.name, MAX_KEY_CHARS)
    if trace.fact:
        yield text_problem("$.fact.predicate", trace.fact.predicate, MAX_NAME_CHARS)
        yield text_problem("$.fact.object", trace.fact.object, MAX_TEXT_CHARS)
    if trace.relationship:
        relation = trace.relationship.relation_type
        yield text_problem("$.relationship.relation_type", relation, MAX_NAME_CHARS)


def _event(event: Event) -> Iterator[Problem | None]:
    yield text_problem("$.event.event_type", event.event_type, MAX_NAME_CHARS)
    if event.session_id is not None:
        yield text_problem("$.event.session_id", event.session_id, MAX_NAME_CHARS)
    if event.agent_id is not None:
        yield text_problem("$.event.agent_id", event.agent_id, MAX_NAME_CHARS)
    yield json_problem(event.payload) or _size_problem(event.payload)


def json_problem(payload: Any) -> Problem | None:
    """Check that a payload is JSON that comes back as it was written, and not too deep.

    The walk stops at the first problem, and at more values than a payload of the largest
    size could hold, so that neither a cycle nor shared lists can keep it busy.
    """
    left: list[tuple[str, int, Any]] = [("$.event.payload", 0, payload)]
    seen = 0
    while left:
        where, depth, value = left.pop()
        seen += 1
        if isinstance(value, dict | list | tuple):
            if depth == MAX_EVENT_DEPTH:
                return Problem(
                    "$.event.payload", f"the payload is nested deeper than {MAX_EVENT_DEPTH}"
                )
            if seen + len(value) > MAX_EVENT_BYTES:
                return _too_large()
            if isinstance(value, dict):
                problem = _key_problem(where, value)
                items = [(f"{where}.{key}", depth + 1, value[key]) for key in value]
            else:
                problem = None
                items = [(f"{where}[{n}]", depth + 1, item) for n, item in enumerate(value)]
            left += reversed(items)
        else:
            problem = _scalar_problem(where, value)
        if problem:
            return problem
    return None


def _key_problem(where: str, value: dict[Any, Any]) -> Problem | None:
    for key in value:
        if not isinstance(key, str):
            return Problem(where, f"a key of JSON is text, not {type(key).__name__}")
        problem = unicode_problem(where, key)
        if problem:
            return problem
    return None


def _scalar_problem(where: str, value: object) -> Problem | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return unicode_problem(where, value)
    if isinstance(value, int):
        if MIN_INTEGER <= value <= MAX_INTEGER:
            return None
        return Problem(
            where, "an integer of more than 64 bits is not kept by every reader", "send it as text"
        )
    if isinstance(value, float):
        return None if math.isfinite(value) else Problem(where, f"JSON has no {value}")
    return Problem(where, f"JSON has no {type(value).__name__}")


def _size_problem(payload: Any) -> Problem | None:
    return _too_large() if len(canonical_json(payload)) > MAX_EVENT_BYTES else None


def _too_large() -> Problem:
    return Problem(
        "$.event.payload",
        f"the payload has more than {MAX_EVENT_BYTES:,} bytes",
        "keep it in a file and store its locator",
    )


def _imported(imported: Imported) -> Iterator[Problem | None]:
    yield text_problem("$.imported.system", imported.system, MAX_NAME_CHARS)
    yield text_problem("$.imported.id", imported.id, MAX_KEY_CHARS)
    if imported.hash is not None:
        yield text_problem("$.imported.hash", imported.hash, MAX_NAME_CHARS)
