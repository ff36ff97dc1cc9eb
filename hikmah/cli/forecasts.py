"""Commands on forecasts: `predict`, `outcome`, `calibration`, `gate-threshold`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hikmah.cli.drawing import joined
from hikmah.cli.inputs import one_id
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line
from hikmah.errors import StoreError
from hikmah.model.trace import ANSWER_KINDS

if TYPE_CHECKING:
    from hikmah.memory.results import Remembered
    from hikmah.reason.calibration import CalibrationReport, CalibrationRow
    from hikmah.reason.threshold import Operating, ThresholdReport


@click.command(cls=Command)
@click.option("--question", required=True, metavar="TEXT", help="What is forecast.")
@click.option("--family", required=True, metavar="NAME", help="What it is judged together with.")
@click.option(
    "--type", "kind", type=click.Choice(ANSWER_KINDS), default="noul", help="noul is yes/no."
)
@click.option("--p", type=float, required=True, metavar="0..1", help="Of true, or of the value.")
@click.option("--value", metavar="TEXT", help="What is forecast, for a choice or a score.")
@click.option("--answer-space", metavar="A,B,C", help="What may be observed, with commas between.")
@click.option("--source", metavar="NAME", help="Who forecasts: unknown. Not a model.")
@click.option("--locator", metavar="TEXT", help="Where it can be found.")
@pass_run
def predict(run: Run, /, question: str, answer_space: str | None, **options: Any) -> None:
    """Record a forecast of your own.

    People, agents and engines are judged alike; hikmah outcome says what came of it.
    """
    given = {name: value for name, value in options.items() if value is not None}
    answers = [answer.strip() for answer in answer_space.split(",")] if answer_space else []
    with run.memory(writes=True) as memory:
        result = memory.predict(question, answer_space=answers, **given)
    run.show("predict", result, lambda screen: _draw_recorded(screen, "predicted", result))
    run.warn(result.warnings)


@click.command(cls=Command)
@click.argument("identity", metavar="[ID]", required=False)
@click.option("--prediction", metavar="ID", help="The same as the argument.")
@click.option("--observed", required=True, metavar="VALUE", help="What was observed.")
@click.option("--source", metavar="NAME", help="Who observed it: unknown. Not a model.")
@click.option("--locator", metavar="TEXT", help="Where it can be found.")
@click.option("--note", metavar="TEXT", help="Anything else.")
@pass_run
def outcome(run: Run, /, identity: str | None, prediction: str | None, **options: Any) -> None:
    """Record what came of a prediction.

    VALUE is one that the prediction allows: true or false for a yes/no. The latest counts.
    """
    chosen = one_id(identity, prediction)
    given = {name: value for name, value in options.items() if value is not None}
    with run.memory(writes=True) as memory:
        result = memory.outcome(chosen, **given)
    run.show("outcome", result, lambda screen: _draw_recorded(screen, "observed", result))
    run.warn(result.warnings)


def _draw_recorded(screen: Screen, what: str, result: Remembered) -> None:
    told = f"already {what} as" if result.deduplicated else what
    screen.line(f"{told} {screen.style(screen.id(result.id), 'bold')}  (record {result.seq})")


@click.command(cls=Command)
@click.option("--family", metavar="NAME", help="Only this family.")
@click.option("--family-prefix", metavar="TEXT", help="Families that start so, and pooled rows.")
@click.option("--plot", metavar="FILE", help="Draw the reliability diagram as SVG.")
@pass_run
def calibration(run: Run, family: str | None, family_prefix: str | None, plot: str | None) -> None:
    """Judge forecasts by what came of them.

    A row is calibrated when its probabilities hold and beat the base rate, over 50 outcomes
    or more.
    """
    if family is not None and family_prefix is not None:
        raise click.UsageError("--family and --family-prefix exclude each other")
    with run.memory() as memory:
        report = memory.calibration(family=family, family_prefix=family_prefix)
    if plot is not None:
        _write_plot(run, plot, report)
    run.show("calibration", report, lambda screen: _draw_calibration(screen, report))


def _write_plot(run: Run, name: str, report: CalibrationReport) -> None:
    from hikmah.reason.diagram import svg

    text = svg((*report.families, *report.pooled))
    try:
        Path(name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as e:
        raise StoreError(f"the diagram cannot be written to {name!r}: {e.strerror}") from e
    run.note(f"wrote {name}")


def _draw_calibration(screen: Screen, report: CalibrationReport) -> None:
    for row in (*report.families, *report.pooled):
        _draw_row(screen, row)
    if not report.families:
        screen.line("no resolved forecasts")
    screen.line()
    unresolved = f"{report.unresolved_predictions:,} without an outcome"
    screen.line(f"{unresolved}; measurable from {report.min_outcomes} outcomes on")


def _draw_row(screen: Screen, row: CalibrationRow) -> None:
    from hikmah.reason.diagram import STRIP, strip

    who = f"{row.answer_kind} by {row.forecaster_kind} {one_line(row.forecaster, 60)}"
    screen.heading(f"{one_line(row.family, 60)}  {who}")
    state = "calibrated" if row.calibrated else row.evidence
    unscored = f"{row.unscored} without a probability" if row.unscored else ""
    screen.line(f"  {joined([f'n {row.n}', state, unscored], ', ')}")
    if row.brier is None:
        return
    shown = ("brier", "top_label_brier", "baseline_brier", "ece", "rate", "z", "p_value")
    figures = [(name, getattr(row, name)) for name in (*shown, "brier_skill")]
    told = [f"{name.replace('_', ' ')} {value:.3f}" for name, value in figures if value is not None]
    screen.wrapped(", ".join(told), indent=2)
    screen.line(f"  {'forecast':9}{'n':>6}  0{' ' * (STRIP - 2)}1")
    for found in row.bins:
        low, high = found.range
        screen.line(f"  {low:.1f}..{high:.1f} {found.n:>6}  {strip(found)}")
    screen.line(screen.style(f"  {' ' * 17}o observed, | forecast, @ both, - 95 % interval", "dim"))


@click.command("gate-threshold", cls=Command)
@click.option(
    "--max-false-block",
    type=float,
    default=0.10,
    show_default=True,
    metavar="SHARE",
    help="The most true completions that may be blocked.",
)
@click.option("--forecaster", metavar="NAME", help="Which engine, where several have answered.")
@pass_run
def gate_threshold(run: Run, max_false_block: float, forecaster: str | None) -> None:
    """Choose the gate engine's threshold.

    It is chosen on recorded answers of the gate's engine and what people said came of them.
    """
    with run.memory() as memory:
        report = memory.gate_threshold(max_false_block=max_false_block, forecaster=forecaster)
    run.show("gate-threshold", report, lambda screen: _draw_threshold(screen, report))


def _draw_threshold(screen: Screen, report: ThresholdReport) -> None:
    chosen = "none" if report.threshold is None else f"{report.threshold:g}"
    screen.line(screen.style(f"threshold {chosen}", "bold"))
    screen.fields(
        [
            ("answers", f"{report.n} of {one_line(report.forecaster, 60)}"),
            ("claims", f"{report.false_completions} false, {report.true_completions} true"),
            ("budget", f"{report.max_false_block:.1%} of true completions blocked"),
        ]
    )
    points = [point for point in (report.chosen, report.default) if point is not None]
    screen.table(
        ("threshold", "recall", "false blocks", "rate", "95 % interval"),
        [_point_row(point) for point in points],
    )
    screen.wrapped(report.note, indent=0)


def _point_row(point: Operating) -> tuple[str, ...]:
    low, high = point.false_block_interval
    return (
        f"{point.threshold:g}",
        f"{point.recall:.1%}",
        str(point.false_blocks),
        f"{point.false_block_rate:.1%}",
        f"{low:.1%} to {high:.1%}",
    )
