"""Reliability diagrams: what is drawn, and that nothing else gets in."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET

import pytest

from hikmah.model.trace import Prediction
from hikmah.reason.calibration import CalibrationRow, calibrate
from hikmah.reason.diagram import COLUMNS, STRIP, strip, svg
from hikmah.reason.predictions import Resolved
from hikmah.reason.scores import Bin

SVG = "{http://www.w3.org/2000/svg}"


def rows(*families: str, count: int = 60, p: float | None = -1) -> tuple[CalibrationRow, ...]:
    """Return one calibration row a family."""
    rng = random.Random(3)
    some = [
        Resolved(
            prediction=Prediction(
                family=family,
                answer_kind="noul",
                forecaster="human:alex",
                question="?",
                p=rng.random() if p == -1 else p,
            ),
            source="human:alex",
            observed=rng.choice(("true", "false")),
        )
        for family in families
        for _ in range(count)
    ]
    return calibrate(some, min_outcomes=50).families


def drawn(*families: str) -> ET.Element:
    """Return the parsed diagram."""
    return ET.fromstring(svg(rows(*families)))


def texts(root: ET.Element) -> list[str]:
    """Return every text of a diagram."""
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def test_a_panel_has_a_dot_an_interval_and_a_count_for_each_bin() -> None:
    """Five of each, with axes, their names and the row's figures."""
    root = drawn("release.on_time")
    assert len(list(root.iter(f"{SVG}circle"))) == 5
    spans = [e for e in root.iter(f"{SVG}line") if e.get("class") == "span"]
    bars = [e for e in root.iter(f"{SVG}rect") if e.get("class") == "bar"]
    assert (len(spans), len(bars)) == (5, 5)
    shown = texts(root)
    assert {"forecast probability", "observed rate", "release.on_time"} <= set(shown)
    assert "noul by human:alex" in shown
    assert any(text.startswith("n 60, Brier 0.") for text in shown)
    (row,) = rows("release.on_time")
    assert {str(found.n) for found in row.bins} <= set(shown)


def test_panels_fill_rows_of_three() -> None:
    """Four panels are three across and two down."""
    root = drawn("a", "b", "c", "d")
    assert len(list(root.iter(f"{SVG}g"))) == 4
    assert int(root.get("width", "0")) == COLUMNS * 300
    assert int(root.get("height", "0")) == 2 * 372


def test_empty_bins_have_no_dot() -> None:
    """Their count of 0 is shown all the same."""
    root = ET.fromstring(svg(rows("a", p=0.5)))
    assert len(list(root.iter(f"{SVG}circle"))) == 1
    assert texts(root).count("0") == 4


def test_rows_without_figures_and_no_rows_at_all() -> None:
    """Both draw, and say so."""
    assert "n 0, anecdotal" in texts(ET.fromstring(svg(rows("a", p=None))))
    assert texts(ET.fromstring(svg(()))) == ["no resolved forecasts"]


@pytest.mark.parametrize(
    ("family", "shown"),
    [
        pytest.param("<script>&\"'", "<script>&\"'", id="markup"),
        pytest.param("a\x1b[31m\x00\ud800b", "a?[31m??b", id="controls"),
        pytest.param("x" * 99, "x" * 37 + "...", id="long"),
    ],
)
def test_names_are_text_and_nothing_more(family: str, shown: str) -> None:
    """Whatever a family is called, the document stays well formed and shows it."""
    root = drawn(family)
    assert shown in texts(root)
    assert not [element for element in root.iter() if "script" in str(element.tag)]


def test_it_loads_nothing_and_suits_light_and_dark() -> None:
    """No reference leaves the document; the style knows both schemes."""
    text = svg(rows("a"))
    assert "prefers-color-scheme: dark" in text
    assert text.count("http") == 1  # the name space
    assert "href" not in text
    assert text == svg(rows("a"))


@pytest.mark.parametrize(
    ("mean_p", "rate", "interval", "line"),
    [
        pytest.param(0.1, 0.3, (0.1, 0.5), " |-o-", id="forecast below"),
        pytest.param(0.3, 0.3, (0.3, 0.3), "   @ ", id="both in one place"),
        pytest.param(1.0, 0.0, (0.0, 0.2), "o-  |", id="both ends"),
    ],
)
def test_a_strip_is_a_line_from_0_to_1(
    mean_p: float, rate: float, interval: tuple[float, float], line: str
) -> None:
    """Interval, observed rate, forecast; here with a character for each tenth up to 0.4."""
    found = Bin(range=(0, 0.2), n=1, mean_p=mean_p, observed_rate=rate, interval=interval)
    shown = strip(found, 11 if interval[1] > 0.4 or mean_p < 0.5 else 5)
    assert shown.startswith(line)
    assert len(strip(found)) == STRIP


def test_an_empty_bin_is_a_blank_strip() -> None:
    """Nothing is drawn where nothing is known."""
    empty = Bin(range=(0, 0.2), n=0, mean_p=None, observed_rate=None, interval=None)
    assert strip(empty) == " " * STRIP
