"""The rules of writing: each broken one is named with its path; nothing else is refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah import errors
from hikmah.errors import HikmahError, InvalidInputError, RefusedError, SecretError
from hikmah.model import validate
from hikmah.model.policy import DEFAULTS, Policy
from hikmah.model.records import Fulfill, Purge, Record, Supersede, canonical, convert, decode, read
from hikmah.model.trace import Event, Provenance, Trace
from hikmah.model.validate import check, is_model, problems, refuse_by_hand

A, B = "a" * 40, "b" * 40
PROVENANCE = ("source", "locator", "observed_at_ms", "authority", "verified")


def _table() -> list[tuple[str, dict[str, Any], str, str]]:
    path = Path(__file__).with_name("bad_inputs.py")
    spec = importlib.util.spec_from_file_location("bad_inputs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table: list[tuple[str, dict[str, Any], str, str]] = module.BAD_INPUTS
    return table


def trace(**fields: Any) -> Trace:
    """Build a trace as the library's door does: strictly, provenance given flat."""
    return from_fields({"content": "x"} | fields)


def from_fields(given: dict[str, Any]) -> Trace:
    raw = {key: value for key, value in given.items() if key not in PROVENANCE}
    raw["provenance"] = {key: given[key] for key in PROVENANCE if key in given}
    return convert({"type": "remember", "created_at_ms": 5} | raw, Trace)


BAD_INPUTS = _table()


@pytest.mark.parametrize(
    ("fields", "error", "where"), [pytest.param(*row[1:], id=row[0]) for row in BAD_INPUTS]
)
def test_a_bad_input_is_refused_with_its_path(
    fields: dict[str, Any], error: str, where: str
) -> None:
    """Every row of the table ends in its error, naming the path to the value."""
    with pytest.raises(HikmahError) as caught:
        check(from_fields(fields), policy=DEFAULTS)
    assert type(caught.value) is getattr(errors, error)
    assert caught.value.where == where


def test_the_table_is_large_and_its_ids_are_unique() -> None:
    """Sixty rows at least, each of its own name."""
    names = [row[0] for row in BAD_INPUTS]
    assert len(names) >= 60
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("fields", "error", "where"),
    [
        pytest.param(*row[1:], id=row[0])
        for row in BAD_INPUTS
        if row[2] in ("InvalidInputError", "RefusedError")
    ],
)
def test_verification_tells_the_same_problem_as_text(
    fields: dict[str, Any], error: str, where: str
) -> None:
    """`problems` lists what `check` raises, but for policy."""
    found = problems(trace(**fields))
    if where == "$.privacy":
        assert found == []
    else:
        assert any(text.startswith(f"{where}: ") for text in found)


SECRET_ROWS = [row for row in BAD_INPUTS if row[2] == "SecretError"]


@pytest.mark.parametrize("fields", [pytest.param(row[1], id=row[0]) for row in SECRET_ROWS])
def test_a_refused_credential_is_never_repeated(fields: dict[str, Any]) -> None:
    """The error names the rule and the field, and holds no part of the value."""
    with pytest.raises(SecretError) as caught:
        check(trace(**fields), policy=DEFAULTS)
    said = caught.value.message + caught.value.hint + caught.value.where
    assert "looks like it holds a" in said
    assert "IOSFODNN" not in said
    assert "://a:b@" not in said
    # A payload's own key may name the field; a value never does.
    if "payload" not in caught.value.where:
        assert "hunter2" not in said


@pytest.mark.parametrize("fields", [pytest.param(row[1], id=row[0]) for row in SECRET_ROWS])
def test_verification_does_not_screen_for_credentials(fields: dict[str, Any]) -> None:
    """The screen is of writing: what is stored already verifies."""
    assert problems(trace(**fields)) == []


GOOD: dict[str, dict[str, Any]] = {
    "defaults": {},
    "64 KiB of content": {"content": "x" * 65_536},
    "64 KiB of content in bytes": {"content": "é" * 32_768},
    "any script": {"content": "今天讨论了部署方案 مرحبا Привет 👩‍👩‍👧"},
    "blanks around": {"content": "  kept as given \n"},
    "control characters": {"content": "a\x00\x1b[31mb"},
    "32 tags of 64 characters": {"tags": [f"{n:064d}" for n in range(32)]},
    "the ends of ranges": {"salience": 0, "confidence": 1, "authority": 1.0},
    "a commitment with a deadline": {"kind": "commitment", "deadline_ms": 5},
    "a commitment without one": {"kind": "commitment"},
    "half-open validity": {"valid_from_ms": 5, "valid_until_ms": 6},
    "validity without an end": {"valid_from_ms": 5},
    "validity without a start": {"valid_until_ms": 5},
    "a verified trace of a person": {"source": "human:alex", "verified": True},
    "a verified trace with a locator": {"locator": "pr:12; agent-session:x", "verified": True},
    "a model's trace": {"source": "model:gpt", "derived_from": [A]},
    "a model's name inside a source": {"source": "human:model:x", "verified": True},
    "an agent's trace": {"locator": "agent-session:codex:t1"},
    "a claim": {"claim": {"key": "colour", "value": "red"}},
    "a claim about a password": {"claim": {"key": "db password", "value": "vault:db/prod"}},
    "public": {"privacy": "public"},
    "a correction": {"kind": "correction", "supersedes": A},
    "a noul": {
        "kind": "prediction",
        "source": "model:x@1",
        "prediction": {
            "family": "f",
            "answer_kind": "noul",
            "forecaster": "x@1",
            "question": "q?",
            "p": 0.5,
            "answer_space": ["true", "false"],
            "value": "true",
            "request_id": "req_1",
            "question_id": "q",
        },
    },
    "a noul without a probability": {
        "kind": "prediction",
        "prediction": {"family": "f", "answer_kind": "noul", "forecaster": "x", "question": "q?"},
    },
    "a score": {
        "kind": "prediction",
        "prediction": {
            "family": "f",
            "answer_kind": "score",
            "forecaster": "x",
            "question": "q?",
            "p": 0.5,
            "value": "low",
            "answer_space": ["low", "high"],
            "probabilities": {"low": 0.5, "high": 0.5},
        },
    },
    "an outcome": {
        "kind": "outcome",
        "outcome": {"prediction": A, "observed": "true", "note": "it held"},
    },
    "an event": {
        "kind": "episode",
        "event": {
            "event_type": "deploy",
            "session_id": "s",
            "agent_id": "a",
            "payload": {"a": [1, -2, 3.5, None, True, "text", {"b": []}], "token_count": 12345678},
        },
    },
    "an event of the greatest depth": {
        "kind": "episode",
        "event": {"event_type": "deep", "payload": [[[]]]},
    },
    "an entity": {"kind": "belief", "entity": {"name": "Alex", "entity_type": "person"}},
    "a fact": {"kind": "belief", "fact": {"entity": A, "predicate": "owns", "object": "billing"}},
    "a relationship": {
        "kind": "belief",
        "relationship": {"from": A, "to": B, "relation_type": "owns"},
    },
    "an import": {"imported": {"system": "hikmah-jsonl", "id": "7", "hash": "ab" * 32}},
    "an import without a hash": {"imported": {"system": "markdown", "id": "7"}},
}


@pytest.mark.parametrize("fields", [pytest.param(v, id=k) for k, v in GOOD.items()])
def test_a_good_input_passes_and_comes_back_as_it_was(fields: dict[str, Any]) -> None:
    """What the rules allow is stored, read and verified without a word."""
    record = trace(**fields)
    check(record, policy=DEFAULTS)
    assert problems(record) == []
    assert decode(canonical(record)) == record


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_a_payload_may_be_32_deep_and_64_kib_large() -> None:
    """The limits themselves are allowed."""
    for payload in (_nested(32), "x" * (65_536 - 3)):
        check(trace(kind="episode", event={"event_type": "t", "payload": payload}), policy=DEFAULTS)


def _event(payload: Any) -> Trace:
    return Trace(
        content="x", kind="episode", created_at_ms=5, event=Event(event_type="t", payload=payload)
    )


def _endless() -> list[Any]:
    own: list[Any] = []
    own.append(own)
    return own


def _doubling(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param({1: 2}, id="a key that is a number"),
        pytest.param({"a": b"bytes"}, id="bytes"),
        pytest.param({"a": {1, 2}}, id="a set"),
        pytest.param([float("nan")], id="not a number"),
        pytest.param([float("-inf")], id="infinity"),
        pytest.param([2**64], id="an integer of 65 bits"),
        pytest.param([-(2**63) - 1], id="a negative integer of 65 bits"),
        pytest.param([object()], id="an object"),
        pytest.param(_endless(), id="a list that holds itself"),
        pytest.param(_doubling(31), id="shared lists that unfold without end"),
        pytest.param({"a": [0] * 70_000}, id="more values than bytes"),
    ],
)
def test_a_payload_that_is_no_json_is_refused_at_once(payload: Any) -> None:
    """Library code may hand over anything: it is walked with a bound, and refused."""
    with pytest.raises(InvalidInputError) as caught:
        check(_event(payload), policy=DEFAULTS)
    assert caught.value.where.startswith("$.event.payload")


@pytest.mark.parametrize(
    ("record", "where"),
    [
        pytest.param(Trace(content="x", created_at_ms=-1), "$.created_at_ms", id="a bad time"),
        pytest.param(Trace(content="x", created_at_ms=5, salience=7.0), "$.salience", id="range"),
        pytest.param(
            Trace(content="x", created_at_ms=5, salience=float("nan")), "$.salience", id="NaN"
        ),
        pytest.param(
            Trace(content="x", created_at_ms=5, supersedes="zz"), "$.supersedes", id="an id"
        ),
        pytest.param(
            Trace(content="x", created_at_ms=5, kind="\ud800"),  # type: ignore[arg-type]  # the point
            "$",
            id="half a surrogate pair for a kind",
        ),
        pytest.param(Purge(id="zz", reason="r", at_ms=5), "$.id", id="an id of a purge"),
        pytest.param(
            Trace(content="x", created_at_ms=5, tags=(object(),)),  # type: ignore[arg-type]  # the point
            "$",
            id="an object",
        ),
    ],
)
def test_a_record_built_by_a_constructor_is_checked_as_if_decoded(
    record: Record, where: str
) -> None:
    """Constructors check nothing, so writing checks types and ranges again."""
    with pytest.raises(InvalidInputError) as caught:
        check(record, policy=DEFAULTS)
    assert caught.value.where == where


SWITCHES: list[tuple[str, Record, type[HikmahError] | None, str]] = [
    ("supersede", Supersede(id=A, by=B, at_ms=5), None, ""),
    ("supersede with a reason", Supersede(id=A, by=B, reason="newer", at_ms=5), None, ""),
    ("fulfill", Fulfill(id=A, at_ms=5), None, ""),
    ("fulfill with evidence", Fulfill(id=A, evidence="merged in 12", at_ms=5), None, ""),
    ("purge", Purge(id=A, reason="wrong", at_ms=5), None, ""),
    ("deprecate", Purge(id=A, reason="old", mode="deprecate", at_ms=5), None, ""),
    ("itself", Supersede(id=A, by=A, at_ms=5), InvalidInputError, "$.by"),
    ("reason blank", Supersede(id=A, by=B, reason=" ", at_ms=5), InvalidInputError, "$.reason"),
    ("purge for nothing", Purge(id=A, reason="", at_ms=5), InvalidInputError, "$.reason"),
    ("reason long", Purge(id=A, reason="r" * 4_097, at_ms=5), InvalidInputError, "$.reason"),
    ("evidence blank", Fulfill(id=A, evidence="", at_ms=5), InvalidInputError, "$.evidence"),
    (
        "source blank",
        Fulfill(id=A, at_ms=5, provenance=Provenance(source="")),
        InvalidInputError,
        "$.provenance.source",
    ),
    (
        "a model supersedes",
        Supersede(id=A, by=B, at_ms=5, provenance=Provenance(source="model:x")),
        RefusedError,
        "$.provenance.source",
    ),
    (
        "a model fulfils",
        Fulfill(id=A, at_ms=5, provenance=Provenance(source="MODEL:x")),
        RefusedError,
        "$.provenance.source",
    ),
    (
        "a model purges",
        Purge(id=A, reason="r", at_ms=5, provenance=Provenance(source=" model:x")),
        RefusedError,
        "$.provenance.source",
    ),
    (
        "a secret in a reason",
        Purge(id=A, reason="pwd=hunter2hunter2", at_ms=5),
        SecretError,
        "$.reason",
    ),
    (
        "a secret in another reason",
        Supersede(id=A, by=B, reason="pwd=hunter2hunter2", at_ms=5),
        SecretError,
        "$.reason",
    ),
    (
        "a secret in evidence",
        Fulfill(id=A, evidence="pwd=hunter2hunter2", at_ms=5),
        SecretError,
        "$.evidence",
    ),
    (
        "a secret in a switch's locator",
        Fulfill(id=A, at_ms=5, provenance=Provenance(locator="https://a:b@c.d")),
        SecretError,
        "$.provenance.locator",
    ),
]


@pytest.mark.parametrize(
    ("record", "error", "where"), [pytest.param(*row[1:], id=row[0]) for row in SWITCHES]
)
def test_switches_have_rules_of_their_own(
    record: Record, error: type[HikmahError] | None, where: str
) -> None:
    """Superseding, fulfilling and purging: by people, with reasons, without secrets."""
    if error is None:
        check(record, policy=DEFAULTS)
        assert problems(record) == []
        return
    with pytest.raises(error) as caught:
        check(record, policy=DEFAULTS)
    assert type(caught.value) is error
    assert caught.value.where == where


def test_a_model_never_supersedes_in_the_short_form() -> None:
    """The field `supersedes` is a supersession like any other (rule 2)."""
    with pytest.raises(RefusedError) as caught:
        check(trace(source="model:x", supersedes=A), policy=DEFAULTS)
    assert caught.value.where == "$.supersedes"


def test_a_prediction_never_supersedes() -> None:
    """A forecast corrects nothing (rule 3)."""
    fields = GOOD["a score"] | {"supersedes": A}
    with pytest.raises(RefusedError) as caught:
        check(trace(**fields), policy=DEFAULTS)
    assert caught.value.where == "$.supersedes"


def test_sensitive_text_is_stored_when_library_code_allows_it() -> None:
    """A policy built in code, or one call, may allow what a file may not."""
    record = trace(privacy="sensitive")
    check(record, policy=DEFAULTS, allow_sensitive=True)
    check(record, policy=Policy(allow_sensitive_persistence=True))
    with pytest.raises(RefusedError) as caught:
        check(record, policy=DEFAULTS)
    assert "purge hides only" in caught.value.message
    assert "encrypted store" in caught.value.hint


@pytest.mark.parametrize(("kind", "command"), [("prediction", "predict"), ("outcome", "outcome")])
def test_kinds_with_a_command_of_their_own_are_not_made_by_hand(kind: str, command: str) -> None:
    """`remember --kind prediction` is refused and names the right command (rule 3)."""
    with pytest.raises(RefusedError) as caught:
        refuse_by_hand(kind)
    assert f"hikmah {command}" in caught.value.hint
    refuse_by_hand("belief")


@pytest.mark.parametrize("source", ["model:x", "MODEL:x", " \tModel:", "model:gpt@1"])
def test_a_source_that_begins_with_model_is_a_model(source: str) -> None:
    """Case and surrounding blanks hide nothing."""
    assert is_model(source)


@pytest.mark.parametrize("source", ["", "model", "human:model:x", "modeler:x", "x model:"])
def test_other_sources_are_no_model(source: str) -> None:
    """Only the prefix counts."""
    assert not is_model(source)


def test_every_problem_is_listed_not_only_the_first() -> None:
    """Verification reports all that is wrong with a record."""
    record = trace(content=" ", source=" ", deadline_ms=5, tags=[""])
    assert len(problems(record)) == 4


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=10))
def test_any_text_is_stored_as_given_or_refused(content: str, source: str, tag: str) -> None:
    """No text crashes the rules; what passes comes back unchanged (rule 1)."""
    try:
        record = trace(content=content, source=source, tags=[tag])
        check(record, policy=DEFAULTS)
    except HikmahError:
        return
    assert read(canonical(record)) == record


def test_the_module_names_what_other_rooms_use() -> None:
    """Everything in `__all__` is there."""
    assert all(hasattr(validate, name) for name in validate.__all__)
