"""docs/decisions.md says what the code computes: every command and every worked number."""

from __future__ import annotations

import math
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hikmah.model.trace import Prediction
from hikmah.reason.calibration import CalibrationRow, calibrate
from hikmah.reason.decision import Ranked, decide
from hikmah.reason.diagram import svg
from hikmah.reason.frame import Frame
from hikmah.reason.predictions import Resolved
from hikmah.reason.reading import read_json
from tests.reason.forecasters import forecasters

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "decisions.md").read_text("utf-8")
CONSOLE = re.findall(r"```console\n\$ (hikmah [^\n]*)\n(.*?)```", PAGE, re.DOTALL)
ARITHMETIC = re.compile(r"(?:sqrt|erfc|[-+*/(). 0-9])+")


def table(name: str) -> list[list[str]]:
    """Return the rows of the table that a marker stands before."""
    _, _, after = PAGE.partition(f"<!-- {name} -->\n")
    rows = [line.strip("| ").split(" | ") for line in after.partition("\n\n")[0].splitlines()]
    return rows[2:]


def worked(name: str) -> dict[str, tuple[float, float]]:
    """Return each figure of a worked table: as computed from its own formula, and as printed."""
    found = {}
    for figure, formula, value in table(f"worked: {name}"):
        text = formula.replace(" x ", " * ")
        assert ARITHMETIC.fullmatch(text), formula
        computed = eval(text, {"__builtins__": {}}, {"sqrt": math.sqrt, "erfc": math.erfc})
        found[figure] = (computed, float(value))
    return found


def agrees(figures: dict[str, tuple[float, float]], ours: dict[str, float | None]) -> None:
    """Hold formula, printed value and our own figure to each other."""
    assert set(figures) == set(ours)
    for name, (computed, printed) in figures.items():
        own = ours[name]
        assert own is not None
        assert printed == pytest.approx(own, abs=6e-5), name
        assert computed == pytest.approx(own, abs=6e-5), name


@pytest.mark.parametrize(("line", "shown"), CONSOLE, ids=[line for line, _ in CONSOLE])
def test_a_command_prints_what_the_page_shows(line: str, shown: str, hikmah: Shell) -> None:
    """Run from the project's folder, as text."""
    shutil.copytree(ROOT / "examples", hikmah.folder / "examples")
    result = hikmah(*shlex.split(line)[1:], "--format", "text")
    assert result.code == 0, result.err
    assert result.out == shown


def test_the_page_shows_every_command_that_needs_no_ledger() -> None:
    """Each has an example with its output."""
    assert {line.split()[1] for line, _ in CONSOLE} == {"plan", "decide", "deliberate", "ask"}


def test_the_decision_is_worked_through() -> None:
    """Interval, coverage and confidence of the recommended option."""
    frame = read_json((ROOT / "examples" / "decision-frame.json").read_bytes(), Frame)
    item: Ranked = decide(frame).options[0]
    agrees(
        worked("decision-frame"),
        {
            "lower end": item.score_interval[0],
            "upper end": item.score_interval[1],
            "coverage": item.coverage,
            "raw score": item.raw_score,
            "evidence confidence": item.evidence_confidence,
            "adjusted score": item.confidence_adjusted_score,
        },
    )


def test_calibration_is_worked_through() -> None:
    """The four forecasts of the page, judged."""
    some = [
        Resolved(
            prediction=Prediction(
                family="f", answer_kind="noul", forecaster="x", question="?", p=float(p)
            ),
            source="x",
            observed="true" if came == "yes" else "false",
        )
        for p, came in table("forecasts")
    ]
    (row,) = calibrate(some, min_outcomes=50).families
    agrees(worked("calibration"), _figures(row))
    assert row.evidence == "anecdotal"


def _figures(row: CalibrationRow) -> dict[str, Any]:
    return {
        "brier": row.brier,
        "rate": row.rate,
        "baseline": row.baseline_brier,
        "skill": row.brier_skill,
        "ece": row.ece,
        "z": row.z,
        "p value": row.p_value,
    }


def test_the_picture_is_what_the_code_draws() -> None:
    """docs/reliability.svg is drawn anew, byte for byte, and shows what the page says of it."""
    report = calibrate(forecasters(), min_outcomes=50)
    assert svg(report.families) == (ROOT / "docs" / "reliability.svg").read_text("utf-8")
    states = {(row.forecaster, row.calibrated, row.evidence) for row in report.families}
    assert states == {
        ("human:alex", True, "measurable"),
        ("jev@1.13.0", False, "measurable"),
        ("agent:planner", False, "anecdotal"),
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("{:,} characters", "MAX_STATE_CHARS", id="state"),
        pytest.param("1 to {} `questions`", "MAX_QUESTIONS", id="questions"),
        pytest.param("2 to {} `options`", "MAX_CHOICES", id="options"),
        pytest.param("2 to {} `levels`", "MAX_LEVELS", id="levels"),
    ],
)
def test_the_bounds_are_the_codes(text: str, value: str) -> None:
    """Each bound on the page is the constant."""
    from hikmah.reason import port

    assert text.format(getattr(port, value)) in PAGE
