"""Commands that reason over input: `plan`, `decide`, `deliberate`, `ask`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from hikmah.cli.inputs import json_bytes
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import clip, one_line

if TYPE_CHECKING:
    from hikmah.memory.results import Batch
    from hikmah.reason.admission import Abstained, Admission, Answer, Asked
    from hikmah.reason.council import Council
    from hikmah.reason.decision import Decision, Flip, Ranked
    from hikmah.reason.estimates import Estimated
    from hikmah.reason.frame import Frame
    from hikmah.reason.planner import Plan

COUNT = click.IntRange(min=0)
ENGINE = click.option(
    "--engine", metavar="NAME", help="none, static:FILE, command:PROGRAM or jev; default none."
)
RECORD = click.option("--record", is_flag=True, help="Store admitted answers as predictions.")


@click.command(cls=Command)
@click.option("--problem", required=True, metavar="FILE", help="The problem as JSON; or -.")
@pass_run
def plan(run: Run, problem: str) -> None:
    """Find a shortest or cheapest sequence of actions.

    FILE holds initial and goal facts and actions; docs/decisions.md explains the fields.
    """
    from hikmah.reason.planner import Problem
    from hikmah.reason.planner import plan as search
    from hikmah.reason.reading import read_json

    found = search(read_json(json_bytes(problem), Problem))
    run.show("plan", found, lambda screen: _draw_plan(screen, found))


def _draw_plan(screen: Screen, found: Plan) -> None:
    if found.found:
        cost = "" if found.cost is None else f", cost {found.cost:g}"
        screen.line(screen.style(f"a plan of {_count(len(found.actions), 'action')}{cost}", "bold"))
        for place, action in enumerate(found.actions, start=1):
            screen.line(f"  {place}. {one_line(action)}")
    else:
        screen.line(screen.style(_no_plan(found), "bold"))
    screen.fields(
        [
            ("holds then" if found.found else "holds now", _listed(found.final_state)),
            ("states", f"{found.explored_states:,} explored, ended by {found.ended_by}"),
            ("out of reach", _listed(found.explain.unreachable) if found.explain else ""),
            ("no action adds", _listed(found.explain.never_added) if found.explain else ""),
        ]
    )


def _no_plan(found: Plan) -> str:
    if found.budget_exhausted:
        return f"no plan found within {found.ended_by}; there may be one"
    return "there is no plan"


@click.command(cls=Command)
@click.option("--frame", required=True, metavar="FILE", help="The decision as JSON; or -.")
@ENGINE
@RECORD
@pass_run
def decide(run: Run, frame: str, engine: str | None, *, record: bool) -> None:
    """Rank options by what is known of them.

    What nobody knows stays an interval; an engine may estimate it, which never counts as
    evidence. Ids of evidence are looked up in the ledger; without ids nothing is read.
    """
    from hikmah.reason.frame import Frame
    from hikmah.reason.reading import read_json

    asked = read_json(json_bytes(frame), Frame)
    estimated = _estimated(run, asked, engine)
    decision = estimated.result.decision if estimated else _decided(run, asked)
    recorded = _recorded(run, estimated.admissions if estimated else (), record=record)
    document = _decision_document(decision, estimated, recorded)
    run.show("decide", document, lambda screen: _draw_decision(screen, decision, estimated))
    run.warn(recorded.warnings if recorded else ())


def _decided(run: Run, frame: Frame) -> Decision:
    if any(option.evidence for option in frame.options):
        with run.memory() as memory:
            return memory.decide(frame)
    from hikmah.reason.decision import decide as rank

    return rank(frame)


def _estimated(run: Run, frame: Frame, spec: str | None) -> Estimated | None:
    """Decide with an engine's help; None when no engine was named."""
    if spec is None or spec == "none":
        return None
    from hikmah.reason.engines import open_engine
    from hikmah.reason.estimates import decide_with

    engine = open_engine(spec, os.environ)
    if not any(option.evidence for option in frame.options):
        return decide_with(frame, engine)
    with run.memory() as memory:
        return decide_with(frame, engine, memory.evidence(frame))


def _recorded(run: Run, admissions: tuple[Admission, ...], *, record: bool) -> Batch | None:
    """Store what was admitted; None when that was not asked for, or there is nothing."""
    from hikmah.reason.predictions import forecasts

    if not record or not any(forecasts(admission) for admission in admissions):
        return None
    with run.memory(writes=True) as memory:
        return memory.record(*admissions)


def _ids(recorded: Batch | None) -> list[str]:
    return [item.id for item in recorded.items] if recorded else []


def _decision_document(
    decision: Decision, estimated: Estimated | None, recorded: Batch | None
) -> dict[str, Any]:
    result = estimated.result if estimated else None
    return {name: getattr(decision, name) for name in decision.__struct_fields__} | {
        "engine": result.engine if result else "none",
        "requests": result.requests if result else 0,
        "rejected": result.rejected if result else (),
        "estimates": result.estimates if result else (),
        "recorded": _ids(recorded),
    }


def _draw_decision(screen: Screen, decision: Decision, estimated: Estimated | None) -> None:
    screen.block(decision.question, indent=0)
    screen.line(screen.style(one_line(decision.recommended or "none: all are blocked"), "bold"))
    for text in _reasons(decision):
        screen.wrapped(text, indent=2)
    screen.line()
    screen.table(
        ("option", "score", "evidence", "coverage", "confidence"),
        [_option_row(item) for item in decision.options],
    )
    for item in decision.options:
        for text in _remarks(screen, item):
            screen.wrapped(f"{item.rank}. {text}", indent=2)
    if decision.flip is not None:
        screen.heading("what would change it")
        for text in _flips(decision.flip) or ("no single weight or score",):
            screen.wrapped(text, indent=2)
    if estimated is not None:
        _draw_estimates(screen, estimated)


def _reasons(decision: Decision) -> list[str]:
    reasons = {
        "decisive: nothing that is unknown or estimated could change it": decision.decisive,
        "not decisive: another option could still win, or is level with it": (
            not decision.decisive and not decision.no_admissible_option
        ),
        "nearly as good as the best, and it can be undone": decision.reversibility_preferred,
    }
    return [reason for reason, given in reasons.items() if given]


def _option_row(item: Ranked) -> tuple[str, ...]:
    return (
        f"{item.rank}. {clip(item.name, 40)}",
        _interval(item.score_interval),
        _interval(item.evidence_interval),
        f"{item.coverage:.2f}",
        f"{item.evidence_confidence:.2f}",
    )


def _remarks(screen: Screen, item: Ranked) -> list[str]:
    """Return what a reader must know beside an option's figures."""
    lists = {
        "blocked": item.hard_blocks,
        "unknown": item.missing_criteria,
        "estimated by a model": item.model_estimated_criteria,
    }
    found = [f"{name}: {_listed(items)}" for name, items in lists.items() if items]
    found += ["can be undone"] if item.reversible else []
    found += [item.note] if item.note else []
    for shown in item.evidence:
        flags = ", ".join(shown.flags).replace("_", " ") or "nothing against it"
        found.append(f"evidence {screen.id(shown.id)}: {flags}")
    return found


def _flips(flip: Flip) -> list[str]:
    found = []
    if flip.weight is not None:
        past = "past" if flip.weight.beyond else "to"
        found.append(
            f"weight of {one_line(flip.weight.criterion, 40)} from {flip.weight.weight:g} {past} "
            f"{flip.weight.to:.4g}: {one_line(flip.weight.recommended, 40)}"
        )
    if flip.score is not None:
        known = "unknown" if flip.score.score is None else f"{flip.score.score:g}"
        past = "past" if flip.score.beyond else "to"
        found.append(
            f"{one_line(flip.score.option, 40)} by {one_line(flip.score.criterion, 40)} "
            f"from {known} {past} {flip.score.to:.4g}: {one_line(flip.score.recommended, 40)}"
        )
    return found


def _draw_estimates(screen: Screen, estimated: Estimated) -> None:
    result = estimated.result
    screen.heading(f"estimates by {one_line(result.engine, 60)}, no evidence")
    for one in result.estimates:
        said = one.reason or "" if one.score is None else f"{one.score:.2f} ({one.level})"
        place = f"{one_line(one.option, 40)} by {one_line(one.criterion, 40)}"
        screen.wrapped(f"{place}: {one_line(said)}", indent=2)
    if not result.estimates:
        screen.line("  nothing was missing")


@click.command(cls=Command)
@click.option("--unverified-claims", type=COUNT, default=0, help="Claims that matter, unchecked.")
@click.option("--memory-conflicts", type=COUNT, help="Claims in memory that disagree.")
@click.option("--missing-acceptance-criteria", type=COUNT, default=0, help="Criteria not there.")
@click.option("--irreversible-actions", type=COUNT, default=0, help="What cannot be undone.")
@click.option("--human-impact-questions", type=COUNT, default=0, help="Open, about people.")
@click.option("--from-ledger", is_flag=True, help="Count the ledger's open conflicts.")
@pass_run
def deliberate(
    run: Run, /, memory_conflicts: int | None, *, from_ledger: bool, **counts: int
) -> None:
    """Ask five lanes whether to go on.

    Exit 0 also when a lane blocks: can_proceed is the answer. Lanes read counts, not texts.
    """
    if from_ledger and memory_conflicts is not None:
        raise click.UsageError("--from-ledger and --memory-conflicts are two ways to say one thing")
    from hikmah.reason.council import Counts
    from hikmah.reason.council import deliberate as ask_lanes

    if from_ledger:
        with run.memory() as memory:
            memory_conflicts = memory.conflicts(limit=1).total
    council = ask_lanes(Counts(memory_conflicts=memory_conflicts or 0, **counts))
    run.show("deliberate", council, lambda screen: _draw_council(screen, council))


def _draw_council(screen: Screen, council: Council) -> None:
    verdict = "go on" if council.can_proceed else f"blocked by {', '.join(council.blocking_lanes)}"
    screen.line(screen.style(verdict.replace("_", " "), "bold"))
    rows = [
        (signal.lane.replace("_", " "), f"{signal.severity:.2f}", signal.message)
        for signal in council.signals
    ]
    screen.table(("lane", "severity", "what it says"), rows, right="severity")


@click.command(cls=Command)
@click.option("--request", required=True, metavar="FILE", help="State and questions; or -.")
@ENGINE
@RECORD
@pass_run
def ask(run: Run, request: str, engine: str | None, *, record: bool) -> None:
    """Ask an engine bounded questions.

    Its response is admitted whole or not at all; without an engine every question abstains.
    """
    from hikmah.reason.admission import asked
    from hikmah.reason.engines import ask as ask_engine
    from hikmah.reason.engines import open_engine
    from hikmah.reason.port import DecisionRequest
    from hikmah.reason.reading import read_json

    question = read_json(json_bytes(request), DecisionRequest)
    admission = ask_engine(open_engine(engine, os.environ), question)
    recorded = _recorded(run, (admission,), record=record)
    printed = asked(admission)
    document = {name: getattr(printed, name) for name in printed.__struct_fields__}
    document["recorded"] = _ids(recorded)
    run.show("ask", document, lambda screen: _draw_asked(screen, printed, _ids(recorded)))
    run.warn(recorded.warnings if recorded else ())


def _draw_asked(screen: Screen, printed: Asked, recorded: list[str]) -> None:
    screen.line(f"{printed.request_id}  {one_line(printed.source, 80)}")
    if printed.rejected is not None:
        screen.wrapped(f"rejected: {one_line(printed.rejected)}", "yellow", indent=2)
    screen.table(
        ("question", "kind", "answer"),
        [(answer.id, answer.kind, _answer_text(answer)) for answer in printed.answers],
    )
    if recorded:
        screen.line(f"recorded as {screen.ids(recorded)}")


def _answer_text(answer: Answer | Abstained) -> str:
    from hikmah.reason.admission import Abstained, ChoiceAnswer, ScoreAnswer

    if isinstance(answer, Abstained):
        return f"abstains: {answer.reason}"
    if isinstance(answer, ChoiceAnswer):
        p = (answer.probabilities or {}).get(answer.choice)
        return answer.choice if p is None else f"{answer.choice} (p {p:g})"
    if isinstance(answer, ScoreAnswer):
        return f"{answer.score:g}, {answer.level_text} ({answer.normalized:.2f} of 1)"
    return f"true with p {answer.p_true:g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(items: tuple[str, ...]) -> str:
    return ", ".join(one_line(item, 60) for item in items)


def _interval(ends: tuple[float, float]) -> str:
    low, high = ends
    return f"{low:.2f}" if low == high else f"{low:.2f}..{high:.2f}"
