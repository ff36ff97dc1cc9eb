"""Reliability diagrams: as SVG for documents, as strips of text for terminals.

Each panel is one calibration row: for each of five bins a dot at (mean forecast, observed
rate), its Wilson interval as a line, its count as a number and a bar. Dots on the diagonal
are calibrated; above it events came true more often than forecast. The SVG carries colours
for light and dark surroundings and no script, font or link to anywhere.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from hikmah.reason.calibration import CalibrationRow
from hikmah.reason.scores import Bin

COLUMNS = 3
STRIP = 41  # characters from 0 to 1, so that a tenth is four
_PANEL_W, _PANEL_H = 300, 372
_LEFT, _TOP, _SIDE, _BAR_H = 52, 64, 220, 34
_TITLE_CHARS = 40
_STYLE = """
  .page { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 } .edge { stroke: #59636e; fill: none }
  .ideal { stroke: #59636e; stroke-dasharray: 4 4; fill: none }
  .span { stroke: #0969da; stroke-width: 2 } .dot { fill: #0969da } .bar { fill: #54aeff }
  text { font-family: system-ui, sans-serif; font-size: 11px } .name { font-size: 13px }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .ink { fill: #e6edf3 } .soft { fill: #9198a1 }
    .grid { stroke: #30363d } .edge, .ideal { stroke: #9198a1 }
    .span { stroke: #58a6ff } .dot { fill: #58a6ff } .bar { fill: #1f6feb }
  }
"""


def svg(rows: Sequence[CalibrationRow]) -> str:
    """Return the diagram of calibration rows, one panel each, as an SVG document."""
    across = max(1, min(COLUMNS, len(rows)))
    down = max(1, -(-len(rows) // across))
    width, height = across * _PANEL_W, down * _PANEL_H
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Reliability">',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
    ]
    for place, row in enumerate(rows):
        x, y = place % across * _PANEL_W, place // across * _PANEL_H
        parts += [f'<g transform="translate({x} {y})">', *_panel(row), "</g>"]
    if not rows:
        parts.append(_text(16, 28, "no resolved forecasts", "ink"))
    return "\n".join([*parts, "</svg>", ""])


def _panel(row: CalibrationRow) -> Iterator[str]:
    yield _text(_LEFT, 20, _shown(row.family), "ink name")
    yield _text(_LEFT, 36, _shown(f"{row.answer_kind} by {row.forecaster}"), "soft")
    yield _text(_LEFT, 52, _figures(row), "soft")
    yield from _axes()
    for found in row.bins:
        yield from _mark(found)
    yield from _bars(row.bins)


def _figures(row: CalibrationRow) -> str:
    if row.brier is None or row.ece is None:
        return f"n {row.n}, {row.evidence}"
    state = "calibrated" if row.calibrated else row.evidence
    return f"n {row.n}, Brier {row.brier:.3f}, ECE {row.ece:.3f}, {state}"


def _axes() -> Iterator[str]:
    for step in range(6):
        share = step / 5
        x, y = _x(share), _y(share)
        yield f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_TOP + _SIDE}"/>'
        yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _SIDE}" y2="{y:.1f}"/>'
        yield _text(x, _TOP + _SIDE + _BAR_H + 22, f"{share:.1f}", "soft", anchor="middle")
        yield _text(_LEFT - 6, y + 4, f"{share:.1f}", "soft", anchor="end")
    yield f'<rect class="edge" x="{_LEFT}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}"/>'
    yield f'<line class="ideal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>'
    middle = _LEFT + _SIDE / 2
    yield _text(middle, _TOP + _SIDE + _BAR_H + 40, "forecast probability", "ink", anchor="middle")
    up = _TOP + _SIDE / 2
    yield (
        f'<text class="ink" text-anchor="middle" transform="translate(14 {up}) rotate(-90)">'
        "observed rate</text>"
    )


def _mark(found: Bin) -> Iterator[str]:
    if found.mean_p is None or found.observed_rate is None or found.interval is None:
        return
    x, (low, high) = _x(found.mean_p), found.interval
    yield f'<line class="span" x1="{x:.1f}" y1="{_y(low):.1f}" x2="{x:.1f}" y2="{_y(high):.1f}"/>'
    yield f'<circle class="dot" cx="{x:.1f}" cy="{_y(found.observed_rate):.1f}" r="4"/>'


def _bars(bins: Sequence[Bin]) -> Iterator[str]:
    """Draw the counts below the plot, each bar with its number."""
    most = max((found.n for found in bins), default=0) or 1
    base = _TOP + _SIDE + _BAR_H + 6
    for found in bins:
        x, wide = _x(found.range[0]), _SIDE * (found.range[1] - found.range[0])
        tall = (_BAR_H - 14) * found.n / most
        yield (
            f'<rect class="bar" x="{x + 4:.1f}" y="{base - tall:.1f}" '
            f'width="{wide - 8:.1f}" height="{tall:.1f}"/>'
        )
        yield _text(x + wide / 2, base - tall - 3, str(found.n), "soft", anchor="middle")


def _x(share: float) -> float:
    return _LEFT + _SIDE * share


def _y(share: float) -> float:
    return _TOP + _SIDE * (1 - share)


def _text(x: float, y: float, text: str, style: str, *, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{style}" {place}>{escape(text)}</text>'


def _shown(text: str) -> str:
    """Return a name as XML can hold it: no controls, no halves of characters, not too long."""
    plain = "".join("?" if unicodedata.category(c)[0] == "C" else c for c in text)
    return plain if len(plain) <= _TITLE_CHARS else f"{plain[: _TITLE_CHARS - 3]}..."


def strip(found: Bin, width: int = STRIP) -> str:
    """Return a bin as a line from 0 to 1: `-` its interval, `o` observed, `|` forecast.

    `@` is both in one place. An empty bin is blank.
    """
    if found.mean_p is None or found.observed_rate is None or found.interval is None:
        return " " * width
    low, high, observed, forecast = (
        round(share * (width - 1)) for share in (*found.interval, found.observed_rate, found.mean_p)
    )
    cells = ["-" if low <= place <= high else " " for place in range(width)]
    cells[observed] = "o"
    cells[forecast] = "@" if forecast == observed else "|"
    return "".join(cells)
