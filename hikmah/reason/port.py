"""The decision port: bounded questions, and the engines that may answer them.

Rules the module keeps:

1. A request is a state and 1 to 32 questions, each a choice, a score or a yes/no ("noul").
   What is outside the bounds below is refused before it reaches an engine.
2. Every outbound text is screened for credentials first; a hit refuses the whole request.
3. An engine has one method. What it returns is a proposal, and `hikmah.reason.admission`
   alone makes of it something that may be used.

This module opens no connection and starts no program.

Example:
    >>> late = Noul(id="late", instructions="Will it be late?")
    >>> request_id(DecisionRequest(state="two of five tasks are done", questions=(late,)))
    'req_5a308856091aa6d1'
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct

from hikmah.errors import InvalidInputError, SecretError
from hikmah.model import secrets
from hikmah.model.limits import (
    MAX_CHOICES,
    MAX_KEY_CHARS,
    MAX_LEVELS,
    MAX_NAME_CHARS,
    MAX_TEXT_CHARS,
    MIN_ANSWERS,
)
from hikmah.model.records import canonical_json
from hikmah.reason.reading import check_texts

MAX_STATE_CHARS = 32_000
MAX_QUESTIONS = 32
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class _Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What every question has: an id, what to do, and a family its forecasts count in."""

    id: str
    instructions: str
    family: str | None = None


class Choice(_Asked, frozen=True, kw_only=True, tag="choice"):
    """Which one of 2 to 255 options (id -> meaning)."""

    options: dict[str, str]


class Score(_Asked, frozen=True, kw_only=True, tag="score"):
    """How much, on 2 to 10 levels, lowest first."""

    levels: tuple[str, ...]


class Noul(_Asked, frozen=True, kw_only=True, tag="noul"):
    """Yes or no; what each would mean is said for both or for neither."""

    if_true: str | None = None
    if_false: str | None = None


Question = Choice | Score | Noul


class DecisionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is the case, and what is asked about it."""

    state: str
    questions: tuple[Question, ...]


class Malformed(Struct, frozen=True, kw_only=True):
    """In place of a response that could not be read as one."""

    why: str


class Reply(Struct, frozen=True, kw_only=True):
    """What an engine returned: decoded JSON (or `Malformed`), and the version it names.

    The body of a good one is `{"request_id": ..., "answers": {question id: answer}}`.
    """

    body: Any
    version: str = "unknown"


class DecisionEngine(Protocol):
    """Something that may answer: `name` for the record, `answer` for the work.

    `answer` raises `EngineError` when it fails or runs out of time.
    """

    @property
    def name(self) -> str:
        """Return the name its answers are recorded under."""
        ...

    def answer(self, request: DecisionRequest) -> Reply:
        """Answer a request that has been checked and screened."""
        ...


def family_of(question: Question) -> str:
    """Return the family a question's forecasts count in: its own, else its id."""
    return question.family or question.id


def kind_of(question: Question) -> str:
    """Return `choice`, `score` or `noul`."""
    return str(question.__struct_config__.tag)


def request_id(request: DecisionRequest) -> str:
    """Return the id of a request: equal requests have equal ids."""
    return "req_" + hashlib.sha256(canonical_json(request)).hexdigest()[:16]


def check_request(request: DecisionRequest) -> None:
    """Demand a request inside the bounds, with nothing in it that must not go out.

    Raises:
        InvalidInputError: A bound is broken; `where` is the path.
        SecretError: A text is shaped like a credential; `where` is the path.
    """
    _check_size(request.state, MAX_STATE_CHARS, "$.state")
    if not 1 <= len(request.questions) <= MAX_QUESTIONS:
        raise InvalidInputError(
            f"{len(request.questions)} questions; a request has 1 to {MAX_QUESTIONS}",
            where="$.questions",
        )
    for index, question in enumerate(request.questions):
        _check_question(question, f"$.questions[{index}]")
    check_texts((q.id for q in request.questions), where="$.questions[*].id", what="question id")
    for where, text in outbound(request):
        if rule := secrets.find(text):
            raise SecretError(
                f"the request holds something shaped like a credential ({rule})",
                hint="take it out; nothing was sent",
                where=where,
            )


def _check_question(question: Question, where: str) -> None:
    if not _ID.fullmatch(question.id):
        raise InvalidInputError("a question id has 1 to 64 of A-Z a-z 0-9 _ -", where=f"{where}.id")
    _check_size(question.instructions, MAX_TEXT_CHARS, f"{where}.instructions")
    if question.family is not None:
        _check_size(question.family, MAX_NAME_CHARS, f"{where}.family")
    if isinstance(question, Choice):
        _check_count(len(question.options), MAX_CHOICES, "options", f"{where}.options")
        for option, meaning in question.options.items():
            _check_size(option, MAX_KEY_CHARS, f"{where}.options")
            _check_size(meaning, MAX_TEXT_CHARS, f"{where}.options.{option}")
    elif isinstance(question, Score):
        _check_count(len(question.levels), MAX_LEVELS, "levels", f"{where}.levels")
        check_texts(question.levels, where=f"{where}.levels[*]", what="level")
        for index, level in enumerate(question.levels):
            _check_size(level, MAX_TEXT_CHARS, f"{where}.levels[{index}]")
    else:
        _check_meanings(question, where)


def _check_meanings(question: Noul, where: str) -> None:
    if (question.if_true is None) != (question.if_false is None):
        missing = "if_true" if question.if_true is None else "if_false"
        raise InvalidInputError(
            "if_true and if_false are given both or neither", where=f"{where}.{missing}"
        )
    for name, text in (("if_true", question.if_true), ("if_false", question.if_false)):
        if text is not None:
            _check_size(text, MAX_TEXT_CHARS, f"{where}.{name}")


def _check_size(text: str, limit: int, where: str) -> None:
    if not text.strip():
        raise InvalidInputError("the text is blank", where=where)
    if len(text) > limit:
        raise InvalidInputError(f"{len(text)} characters; at most {limit}", where=where)


def _check_count(count: int, limit: int, what: str, where: str) -> None:
    if not MIN_ANSWERS <= count <= limit:
        raise InvalidInputError(f"{count} {what}; there are {MIN_ANSWERS} to {limit}", where=where)


def outbound(request: DecisionRequest) -> Iterator[tuple[str, str]]:
    """Yield every text that an engine would see, with its path."""
    yield "$.state", request.state
    for index, question in enumerate(request.questions):
        where = f"$.questions[{index}]"
        yield f"{where}.id", question.id
        yield f"{where}.instructions", question.instructions
        yield f"{where}.family", family_of(question)
        if isinstance(question, Choice):
            for option, meaning in question.options.items():
                yield f"{where}.options", option
                # Name and meaning together too: `password` and its value are one assignment.
                yield f"{where}.options", f"{option}: {meaning}"
        elif isinstance(question, Score):
            yield from ((f"{where}.levels[{i}]", level) for i, level in enumerate(question.levels))
        else:
            yield f"{where}.if_true", question.if_true or ""
            yield f"{where}.if_false", question.if_false or ""
