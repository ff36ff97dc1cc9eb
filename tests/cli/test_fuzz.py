"""Command lines of any words: an answer or a clear error, never a crash.

HIKMAH_TEST_FUZZ sets how many are tried.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikmah.cli import COMMANDS

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

TRIES = int(os.environ.get("HIKMAH_TEST_FUZZ", "150"))
OPTIONS = [
    "--tag",
    "--kind",
    "--source",
    "--since",
    "--until",
    "--limit",
    "--budget",
    "--include-superseded",
    "--as-of",
    "--query",
    "--id",
    "--within-hours",
    "--all",
    "--reason",
    "--evidence",
    "--contains",
    "--expect-head",
    "--now",
    "--tz",
    "--ledger",
    "--format",
    "--json",
    "--quiet",
    "-v",
    "--lock-timeout",
    "--content",
    "--content-file",
    "--deadline",
    "--supersedes",
    "--",
]
VALUES = "recall 0 1 -1 8 1001 1e9 2026-01-01 +1h belief json text memory ../x a'b \" * %s {0}"
CODES = {0, 2, 3, 4, 5}
# Not fuzzed here: what writes files all over or edits hooks, or only takes long, or answers
# with a report and a code that is not 0 (`validate`, `verify-ledger`), or (the hook) is a host's
# and has a fuzz test of its own.
LEFT_OUT = {
    "demo",
    "init",
    "compact",
    "reindex",
    "verify-ledger",
    "validate",
    "hook",
    "hooks",
    "guard",
}
NAMES = sorted(set(COMMANDS) - LEFT_OUT)

anything = st.text(st.characters(exclude_characters="\0"), max_size=20)
words = st.one_of(st.sampled_from(OPTIONS), st.sampled_from(VALUES.split()), anything)
lines = st.builds(
    lambda name, rest: [name, *rest], st.sampled_from(NAMES), st.lists(words, max_size=6)
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, shells: type[Shell]) -> Shell:
    """Return a shell with a small ledger."""
    made = shells(tmp_path_factory.mktemp("fuzz"), tmp_path_factory.mktemp("home"))
    for text in ("the lock timed out", "部署方案和止损", "see src/app/page.tsx, v2.1"):
        assert made("remember", "--content", text).code == 0
    return made


@given(line=lines)
@settings(max_examples=TRIES, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_command_line_gets_an_answer_or_a_clear_error(line: list[str], shell: Shell) -> None:
    """A documented exit code, one JSON document or none, and no traceback."""
    result = shell(*line)
    assert result.code in CODES, result
    assert "unexpected " not in result.err or "unexpected extra" in result.err, result
    assert "Traceback" not in result.err
    if result.code != 0:
        assert result.out == ""
        assert result.err.startswith(("error: ", "note: "))
    elif not {"-h", "--help", "text", "completion"} & set(line):
        assert json.loads(result.out)


@given(query=st.text(st.characters(exclude_categories=[]), max_size=200))
@settings(max_examples=TRIES, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_query_gets_a_list(query: str, shell: Shell) -> None:
    """Faults row 14: no character of a query is syntax; exit 0, with a reason when empty."""
    result = shell("recall", "--query", query)
    assert result.code == 0, result
    document = result.document
    assert document["results"] or document["reason"]
