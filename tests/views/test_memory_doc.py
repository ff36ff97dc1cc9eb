"""docs/memory.md says what the code does: its examples run, its tables are the defaults."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import msgspec
import pytest

from hikmah.index.documents import document_of
from hikmah.model.policy import DEFAULTS
from hikmah.views.results import Result
from tests.views.ledgers import ask, corpus, trace

DOC = Path(__file__).parents[2] / "docs" / "memory.md"
TEXT = DOC.read_text("utf-8")


def recall(query: str, contents: list[str]) -> Result:
    """Return the first result for a query over fresh traces."""
    return ask(corpus(*map(trace, contents)), query).results[0]


def test_the_worked_example_is_right() -> None:
    parsed = doctest.DocTestParser().get_doctest(TEXT, {"recall": recall}, DOC.name, str(DOC), 0)
    assert len(parsed.examples) == 10
    assert doctest.DocTestRunner().run(parsed).failed == 0


def test_the_table_of_policy_fields_is_the_policy() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", TEXT, re.MULTILINE))
    assert rows == {k: str(v) for k, v in msgspec.to_builtins(DEFAULTS.recall).items()}
    assert f"`minimum_recall_score` ({DEFAULTS.minimum_recall_score})" in TEXT


TERMS = re.findall(r"^\| (`.*?`) \| (`.*) \|$", TEXT.split("## Score")[0], re.MULTILINE)


@pytest.mark.parametrize(("text", "terms"), TERMS)
def test_the_table_of_terms_is_what_text_becomes(text: str, terms: str) -> None:
    """Every term named stands in the text, and nothing else but the text in one piece."""
    code = re.compile(r"`([^`]+)`")
    named = set(code.findall(terms))
    found = set(document_of(" ".join(code.findall(text)), "english").counts)
    assert named <= found
    assert found - named <= {"src/app/page.tsx"}
