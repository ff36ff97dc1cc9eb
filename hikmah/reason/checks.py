"""What a response may not do: each rule returns the reason it is broken, or None.

A response is `{"request_id", "answers"}`; an answer has the `kind` of its question and

    choice   choice, probabilities?, confidence?
    score    score, probabilities? keyed "0".."n-1", confidence?
    noul     noul

Engines round what they report. Two digits are allowed for and no more: a distribution may
miss 1 by 0.005 a key (at least 0.02), a score its distribution's mean by 0.005 for the score
and 0.005 k for each level k that the distribution names (at least 0.02).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeGuard

from hikmah.model import secrets
from hikmah.reason.port import Choice, Malformed, Question, Score, kind_of
from hikmah.reason.reading import exact

ROUNDING = Fraction(5, 1000)  # half a unit of the second digit
SLACK = Fraction(2, 100)
_SHOWN_CHARS = 40
_FIELDS = {
    "choice": frozenset({"kind", "choice", "probabilities", "confidence"}),
    "score": frozenset({"kind", "score", "probabilities", "confidence"}),
    "noul": frozenset({"kind", "noul"}),
}


def violation(questions: Mapping[str, Question], request_id: str, body: object) -> str | None:
    """Return the first rule that a response breaks; None if it may be admitted."""
    if isinstance(body, Malformed):
        return f"malformed: {body.why}"
    if not isinstance(body, dict):
        return "malformed: the response is not an object"
    reason = _broken_envelope(request_id, body)
    return reason or _broken_answers(questions, body["answers"])


def _broken_envelope(request_id: str, body: Mapping[Any, Any]) -> str | None:
    if extra := _extra(body, frozenset({"request_id", "answers"})):
        return f"malformed: unknown field {extra}"
    if body.get("request_id") != request_id:
        return f"request id mismatch: {_told(body.get('request_id'))} is not {request_id}"
    if not isinstance(body.get("answers"), dict):
        return "malformed: answers is not an object"
    return None


def _broken_answers(questions: Mapping[str, Question], answers: Mapping[Any, Any]) -> str | None:
    for key, answer in answers.items():
        if key not in questions:
            return f"an answer to a question that was not asked: {_told(key)}"
        if reason := _broken(questions[key], answer):
            return f"question {key}: {reason}"
    return None


def _broken(question: Question, answer: object) -> str | None:
    kind = kind_of(question)
    if not isinstance(answer, dict):
        return "malformed: the answer is not an object"
    if answer.get("kind") != kind:
        return f"wrong kind: {_told(answer.get('kind'))} for a {kind} question"
    if extra := _extra(answer, _FIELDS[kind]):
        return f"malformed: unknown field {extra}"
    if isinstance(question, Choice):
        return _broken_confidence(answer) or _broken_choice(question, answer)
    if isinstance(question, Score):
        return _broken_confidence(answer) or _broken_score(len(question.levels), answer)
    return _broken_noul(answer)


def _broken_noul(answer: Mapping[str, Any]) -> str | None:
    if is_probability(answer.get("noul")):
        return None
    return f"noul {_told(answer.get('noul'))} is not a probability in [0, 1]"


def _broken_confidence(answer: Mapping[str, Any]) -> str | None:
    confidence = answer.get("confidence")
    if confidence is None or is_probability(confidence):
        return None
    return f"confidence {_told(confidence)} is not in [0, 1]"


def _broken_choice(question: Choice, answer: Mapping[str, Any]) -> str | None:
    choice, distribution = answer.get("choice"), answer.get("probabilities")
    if not isinstance(choice, str) or choice not in question.options:
        return f"unknown option {_told(choice)}"
    if distribution is None:
        return None
    if reason := _broken_distribution(distribution, question.options, "option"):
        return reason
    if distribution.get(choice, 0) < max(distribution.values()):
        return "the choice is not the most probable of its own distribution"
    return None


def _broken_score(levels: int, answer: Mapping[str, Any]) -> str | None:
    score, distribution = answer.get("score"), answer.get("probabilities")
    if not _is_number(score) or not 0 <= score <= levels - 1:
        return f"score {_told(score)} is not in [0, {levels - 1}]"
    if distribution is None:
        return None
    keys = {str(level): level for level in range(levels)}
    if reason := _broken_distribution(distribution, keys, "level"):
        return reason
    mean = sum((keys[key] * exact(p) for key, p in distribution.items()), Fraction(0))
    allowed = max(SLACK, ROUNDING * (1 + sum(keys[key] for key in distribution)))
    if abs(exact(score) - mean) > allowed:
        return f"score {_told(score)} is not the mean of its own distribution, {float(mean):.4g}"
    return None


def _broken_distribution(distribution: object, keys: Mapping[str, Any], what: str) -> str | None:
    if not isinstance(distribution, dict):
        return "malformed: probabilities is not an object"
    for key, p in distribution.items():
        if key not in keys:
            return f"probabilities has an unknown {what} {_told(key)}"
        if not is_probability(p):
            return f"a probability of {_told(p)} is not in [0, 1]"
    total = sum((exact(p) for p in distribution.values()), Fraction(0))
    if abs(total - 1) > max(SLACK, ROUNDING * len(distribution)):
        return f"probabilities add up to {float(total):.4g}, not 1"
    return None


def is_probability(value: object) -> bool:
    """Tell whether a decoded value is a number in [0, 1]; true and "0.5" are not."""
    return _is_number(value) and 0 <= value <= 1


def _is_number(value: object) -> TypeGuard[float]:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _extra(found: Mapping[Any, Any], known: frozenset[str]) -> str | None:
    return next((_told(key) for key in found if key not in known), None)


def _told(value: object) -> str:
    """Return what an engine wrote so that it can stand in a reason: masked, escaped, short."""
    if isinstance(value, str):
        text = ascii(secrets.mask(value[: 8 * _SHOWN_CHARS]))
    elif value is None:
        text = "nothing"
    elif isinstance(value, bool | float):
        text = repr(value).lower()
    elif isinstance(value, int):
        text = str(value) if value.bit_length() < 64 else "a huge number"
    else:
        text = "an object" if isinstance(value, dict) else "a list"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
