"""The trace: frozen structs whose names and vocabularies are the format."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hikmah.model import trace
from hikmah.model.trace import ENTITY_TYPES, KINDS, MAX_TIME_MS, PRIVACIES, Claim, Trace, is_model

STRUCTS = [
    value
    for value in vars(trace).values()
    if isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not msgspec.Struct
]


@pytest.mark.parametrize("struct_type", STRUCTS, ids=lambda value: str(value.__name__))
def test_every_struct_is_frozen_and_named(struct_type: type[msgspec.Struct]) -> None:
    """A record never changes, and its fields are given by name."""
    assert struct_type.__struct_config__.frozen
    assert all(info.name for info in msgspec.structs.fields(struct_type))
    with pytest.raises(TypeError):
        struct_type("positional")


def test_a_trace_cannot_be_changed() -> None:
    """Change means another trace."""
    one = Trace(content="x", created_at_ms=5)
    with pytest.raises(AttributeError):
        one.content = "y"  # type: ignore[misc]  # the point


def test_equal_traces_are_equal_and_hash_alike() -> None:
    """Traces are values."""
    one, two = (Trace(content="x", created_at_ms=5, tags=("a",)) for _ in range(2))
    assert one == two
    assert len({one, two}) == 1
    assert one != msgspec.structs.replace(two, claim=Claim(key="k", value="v"))


def test_the_vocabularies_are_those_of_the_format() -> None:
    """Kinds, privacies and entity types are closed lists (docs/format.md)."""
    assert KINDS == (
        "observation", "episode", "belief", "procedure", "commitment",
        "preference", "constraint", "outcome", "correction", "prediction",
    )  # fmt: skip
    assert PRIVACIES == ("public", "private", "sensitive")
    assert ENTITY_TYPES == (
        "person", "company", "project", "concept", "document", "code", "other",
    )  # fmt: skip


def test_the_field_names_of_a_trace_are_frozen() -> None:
    """`hikmah/1` promises these names, and that a new one has a default."""
    fields = {info.encode_name: info.required for info in msgspec.structs.fields(Trace)}
    assert {name for name, required in fields.items() if required} == {"content", "created_at_ms"}
    assert sorted(fields) == [
        "claim", "confidence", "content", "created_at_ms", "deadline_ms", "derived_from",
        "entity", "event", "fact", "idempotency_key", "imported", "kind", "outcome",
        "prediction", "privacy", "provenance", "relationship", "salience", "supersedes", "tags",
        "valid_from_ms", "valid_until_ms",
    ]  # fmt: skip


def test_times_end_with_the_year_9999() -> None:
    """The largest time can still be printed as a date."""
    from datetime import UTC, datetime

    last = datetime.fromtimestamp(MAX_TIME_MS // 1000, UTC)
    assert (last.year, last.month, last.day, last.hour) == (9999, 12, 31, 23)
    assert MAX_TIME_MS % 1000 == 999


def test_models_are_told_by_their_source_alone() -> None:
    """`model:` in any case, after blanks."""
    assert is_model(" MODEL:x")
    assert not is_model("human:model")


@pytest.mark.parametrize("module", ["trace", "records", "secrets", "session", "status", "validate"])
def test_importing_the_model_loads_nothing_heavy(module: str) -> None:
    """Every command pays for these modules, so they import no zones, threads or network."""
    code = (
        f"import sys, hikmah.model.{module};"
        "heavy = {'zoneinfo', 'asyncio', 'socket', 'dulwich', 'click', 'sqlite3', 'subprocess',"
        " 'snowballstemmer', 'tempfile'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
