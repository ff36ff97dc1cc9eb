"""Policy: any subset overrides the defaults; what cannot work is refused with its path."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.errors import DecodeError, HikmahError, InvalidInputError
from hikmah.model.policy import (
    DEFAULTS,
    DEFAULTS_DIGEST,
    EvolutionPolicy,
    Policy,
    RecallPolicy,
    check,
    digest,
    parse,
)
from hikmah.model.records import canonical_json


def read(value: object) -> Policy:
    return parse(json.dumps(value).encode(), "policy.json")


def test_the_defaults_are_those_of_the_documentation() -> None:
    """The numbers a person reads in docs/memory.md."""
    assert DEFAULTS.working_set_limit == 12
    assert DEFAULTS.recall_limit == 8
    assert DEFAULTS.allow_sensitive_persistence is False
    assert DEFAULTS.consolidation_min_support == 2
    assert DEFAULTS.consolidation_min_independent_sources == 2
    assert DEFAULTS.consolidation_min_confidence == 0.6
    assert DEFAULTS.calibration_min_outcomes == 50
    assert DEFAULTS.lock_timeout_s == 10
    recall = msgspec.to_builtins(DEFAULTS.recall)
    for name in ("k1", "b", "b_half_terms", "presence", "latin_language"):
        del recall[name]
    assert recall == {
        "lexical_share": 0.8, "tag_share": 0.2, "floor": 0.55, "span": 0.45,
        "recency": 0.25, "salience": 0.20, "confidence": 0.20, "provenance": 0.25, "urgency": 0.10,
        "recency_days": 30.0, "unverified": 0.65, "urgency_days": 7.0, "undated_urgency": 0.35,
        "overdue_floor": 0.15, "listing": 0.5, "fold_at": 0.8, "overlap_penalty": 0.35,
    }  # fmt: skip


def test_the_defaults_keep_their_own_rules() -> None:
    """The default weights of each sum add up to exactly one."""
    assert check(DEFAULTS) == DEFAULTS


def test_every_part_of_evolution_has_a_switch() -> None:
    """Each part can be turned off alone."""
    parts = msgspec.to_builtins(EvolutionPolicy())
    assert sorted(parts) == ["consolidate", "decay", "merge", "prune", "resolve", "summarize"]
    assert all(part["enabled"] is True for part in parts.values())
    off = read({"evolution": {part: {"enabled": False} for part in parts}})
    assert not any(part["enabled"] for part in msgspec.to_builtins(off.evolution).values())


def test_an_empty_object_is_the_defaults() -> None:
    """Nothing overridden: the defaults."""
    assert read({}) == DEFAULTS


def test_a_subset_keeps_the_defaults_of_the_rest() -> None:
    """An override reaches its own field and no other, at any depth."""
    policy = read(
        {"recall_limit": 3, "recall": {"k1": 0.9}, "evolution": {"decay": {"min_age_days": 9}}}
    )
    assert policy.recall_limit == 3
    assert policy.recall == RecallPolicy(k1=0.9)
    assert policy.evolution.decay.min_age_days == 9.0
    assert policy.evolution.decay.max_salience == DEFAULTS.evolution.decay.max_salience
    assert policy.working_set_limit == DEFAULTS.working_set_limit


def test_printed_defaults_can_be_read_back() -> None:
    """What `--print-defaults` prints is a policy file."""
    assert parse(msgspec.json.encode(DEFAULTS), "x") == DEFAULTS


BAD: list[tuple[str, Any, type[HikmahError], str]] = [
    ("unknown field", {"recal_limit": 3}, DecodeError, "$.recal_limit"),
    ("unknown field of recall", {"recall": {"k2": 1}}, DecodeError, "$.recall.k2"),
    ("unknown part", {"evolution": {"forget": {}}}, DecodeError, "$.evolution.forget"),
    (
        "unknown field of a part",
        {"evolution": {"decay": {"age": 1}}},
        DecodeError,
        "$.evolution.decay.age",
    ),
    ("a list", [], DecodeError, ""),
    ("null", None, DecodeError, ""),
    ("text for a number", {"recall_limit": "8"}, DecodeError, "$.recall_limit"),
    ("a fraction for a count", {"recall_limit": 8.5}, DecodeError, "$.recall_limit"),
    ("null for a number", {"recall": {"k1": None}}, DecodeError, "$.recall.k1"),
    ("a number for a switch", {"evolution": {"merge": {"enabled": 1}}}, DecodeError,
     "$.evolution.merge.enabled"),
    ("working set of none", {"working_set_limit": 0}, DecodeError, "$.working_set_limit"),
    ("recall limit 0", {"recall_limit": 0}, DecodeError, "$.recall_limit"),
    ("recall limit over 1,000", {"recall_limit": 1001}, DecodeError, "$.recall_limit"),
    ("minimum score 0", {"minimum_recall_score": 0}, DecodeError, "$.minimum_recall_score"),
    ("minimum score above 1", {"minimum_recall_score": 1.1}, DecodeError, "$.minimum_recall_score"),
    ("support 0", {"consolidation_min_support": 0}, DecodeError, "$.consolidation_min_support"),
    (
        "sources 0",
        {"consolidation_min_independent_sources": 0},
        DecodeError,
        "$.consolidation_min_independent_sources",
    ),
    (
        "confidence 0",
        {"consolidation_min_confidence": 0.0},
        DecodeError,
        "$.consolidation_min_confidence",
    ),
    ("outcomes 0", {"calibration_min_outcomes": 0}, DecodeError, "$.calibration_min_outcomes"),
    ("negative timeout", {"lock_timeout_s": -1}, DecodeError, "$.lock_timeout_s"),
    ("endless timeout", {"lock_timeout_s": 1e9}, DecodeError, "$.lock_timeout_s"),
    ("share above 1", {"recall": {"urgency": 1.5}}, DecodeError, "$.recall.urgency"),
    ("negative share", {"recall": {"listing": -0.1}}, DecodeError, "$.recall.listing"),
    ("half-life of no days", {"recall": {"recency_days": 0}}, DecodeError, "$.recall.recency_days"),
    ("urgency of no days", {"recall": {"urgency_days": 0}}, DecodeError, "$.recall.urgency_days"),
    ("folding everything", {"recall": {"fold_at": 0}}, DecodeError, "$.recall.fold_at"),
    ("k1 of 0", {"recall": {"k1": 0}}, DecodeError, "$.recall.k1"),
    ("b above 1", {"recall": {"b": 1.01}}, DecodeError, "$.recall.b"),
    ("language with a path", {"recall": {"latin_language": "../x"}}, DecodeError,
     "$.recall.latin_language"),
    ("negative age", {"evolution": {"prune": {"min_age_days": -1}}}, DecodeError,
     "$.evolution.prune.min_age_days"),
    ("cue above 1", {"recall": {"lexical_share": 0.9}}, InvalidInputError,
     "$.recall.lexical_share"),
    ("tags above 1", {"recall": {"tag_share": 0.3}}, InvalidInputError, "$.recall.lexical_share"),
    ("floor and span above 1", {"recall": {"span": 0.5}}, InvalidInputError, "$.recall.floor"),
    ("metadata above 1", {"recall": {"urgency": 0.2}}, InvalidInputError, "$.recall.recency"),
    (
        "sensitive allowed from outside",
        {"allow_sensitive_persistence": True},
        InvalidInputError,
        "$.allow_sensitive_persistence",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "error", "path"), [pytest.param(*row[1:], id=row[0]) for row in BAD]
)
def test_what_cannot_work_is_refused_with_its_path(
    value: object, error: type[HikmahError], path: str
) -> None:
    """Each bad policy names the file and the path to the value."""
    with pytest.raises(error) as caught:
        read(value)
    assert type(caught.value) is error
    assert caught.value.exit_code == 3
    assert caught.value.where == (f"policy.json: {path}" if path else "policy.json")
    assert caught.value.hint


@pytest.mark.parametrize("path_name", ["", "policy.json"])
@pytest.mark.parametrize(
    "data", [b"", b"not json", b"{", b"\xff\xfe", b'{"recall_limit": NaN}', b"[" * 100_000]
)
def test_a_policy_that_is_not_json_is_refused(data: bytes, path_name: str) -> None:
    """Broken text is an error that names the file, never a crash."""
    with pytest.raises(DecodeError) as caught:
        parse(data, path_name)
    assert caught.value.where == path_name


def test_lower_weights_are_allowed() -> None:
    """Weights may sum to less than one: scores shrink, order holds."""
    assert read({"recall": {"recency": 0.0, "lexical_share": 0.5}}).recall.recency == 0.0


def test_weights_that_round_above_one_are_allowed() -> None:
    """Decimal weights that sum to one pass, whatever binary rounding adds."""
    weights = {
        "recency": 0.47,
        "salience": 0.03,
        "confidence": 0.34,
        "provenance": 0.06,
        "urgency": 0.1,
    }
    assert sum(weights.values()) > 1.0
    assert read({"recall": weights}).recall.recency == 0.47


def test_sensitive_may_be_disallowed_from_outside() -> None:
    """Saying the default aloud is no error."""
    assert read({"allow_sensitive_persistence": False}) == DEFAULTS


def test_a_policy_built_in_code_is_checked_too() -> None:
    """Constructors check nothing, so the door checks what code hands it."""
    with pytest.raises(InvalidInputError, match="above 1") as caught:
        check(Policy(recall=RecallPolicy(floor=0.9)))
    assert caught.value.where == "$.recall.floor"
    with pytest.raises(InvalidInputError) as caught:
        check(Policy(recall_limit=0))
    assert caught.value.where == "$.recall_limit"
    assert check(Policy(allow_sensitive_persistence=True)).allow_sensitive_persistence


def test_equal_policies_have_equal_digests() -> None:
    """A digest depends on values alone: 64 hex digits, the same however it was written."""
    assert digest(read({"recall": {"k1": 1}})) == digest(Policy(recall=RecallPolicy(k1=1.0)))
    assert digest(DEFAULTS) == digest(read({}))
    assert digest(DEFAULTS) != digest(read({"recall_limit": 9}))
    assert len(digest(DEFAULTS)) == 64


@given(st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_an_error_of_ours(data: bytes) -> None:
    """Reading a policy never ends in a foreign exception."""
    try:
        policy = parse(data, "x")
    except InvalidInputError:
        return
    assert check(policy) == policy


def test_the_digest_of_the_defaults_is_computed_and_not_believed() -> None:
    """The literal that spares a start the hash is the hash."""
    assert hashlib.sha256(canonical_json(DEFAULTS)).hexdigest() == DEFAULTS_DIGEST
