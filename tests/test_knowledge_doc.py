"""docs/knowledge.md and the examples: what is shown is what runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hikmah.model.policy import DEFAULTS, EvolutionPolicy
from hikmah.model.trace import ENTITY_TYPES
from hikmah.views.evolution import MAX_PROPOSALS, PARTS
from hikmah.views.summaries import BUDGET_CHARS

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "knowledge.md").read_text("utf-8")
OUTPUTS = dict(re.findall(r"<!-- output: (\S+) -->\n```text\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize("name", ["knowledge_session", "knowledge_team"])
def test_an_example_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    """Anywhere, with nothing inherited, under any hash seed."""
    path = f"examples/{name}.py"
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, str(ROOT / path)],
            cwd=tmp_path,
            env={
                "PATH": os.environ.get("PATH", ""),
                "HOME": str(tmp_path),
                "PYTHONPATH": str(ROOT),
                "PYTHONHASHSEED": seed,
                "PYTHONIOENCODING": "utf-8",
                **{k: v for k, v in os.environ.items() if k == "SYSTEMROOT"},
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == OUTPUTS[path]


def test_every_example_of_knowledge_is_on_the_page() -> None:
    """A new one is shown with its output."""
    found = {f"examples/{path.name}" for path in (ROOT / "examples").glob("knowledge_*.py")}
    assert set(OUTPUTS) == found


def test_figures_on_the_page_are_the_code_s() -> None:
    """Minima, budgets, types and parts."""
    assert f"`consolidation_min_support` {DEFAULTS.consolidation_min_support}" in PAGE
    sources = DEFAULTS.consolidation_min_independent_sources
    assert f"`consolidation_min_independent_sources` {sources}" in PAGE
    assert f"`consolidation_min_confidence` {DEFAULTS.consolidation_min_confidence:g}" in PAGE
    assert f"fit in {BUDGET_CHARS} characters" in PAGE
    assert f"at most {MAX_PROPOSALS:,} are made" in PAGE
    for name in ENTITY_TYPES:
        assert f"`{name}`" in PAGE
    table = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(table) == sorted(PARTS) == sorted(EvolutionPolicy.__struct_fields__)
