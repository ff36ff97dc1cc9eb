"""Forecasts and outcomes in the ledger, and traces as evidence for a decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hikmah.errors import InvalidInputError, NotFoundError, RefusedError
from hikmah.index.database import Index
from hikmah.index.rows import TraceRow
from hikmah.index.terms import normal_key
from hikmah.memory.desk import Desk
from hikmah.memory.results import Batch, Remembered
from hikmah.memory.writing import write
from hikmah.model import session as sessions
from hikmah.model.trace import AnswerKind, Kind, Outcome, Prediction, Provenance, Trace, is_model
from hikmah.reason import predictions
from hikmah.reason.admission import Admission
from hikmah.reason.evidence import Evidence
from hikmah.reason.frame import Frame
from hikmah.reason.predictions import Resolved
from hikmah.views.claims import conflicting, is_expired


def predict(
    desk: Desk,
    question: str,
    *,
    family: str,
    kind: AnswerKind,
    p: float | None,
    value: str | None,
    answer_space: tuple[str, ...],
    source: str,
    locator: str | None,
) -> Remembered:
    """Record a person's or an agent's forecast; see `Memory.predict`."""
    if is_model(source):
        raise RefusedError(
            f"source {source!r} is a model's, and no model forecasts by hand",
            hint="what an engine says is recorded by `hikmah ask --record`",
            where="$.provenance.source",
        )
    made = predictions.forecast(
        family=family,
        kind=kind,
        p=p,
        question=question,
        forecaster=source,
        value=value,
        answer_space=answer_space,
    )
    return _written(desk, [_forecast(desk, made, source, locator)]).items[0]


def record(desk: Desk, admissions: Iterable[Admission], *, locator: str | None) -> Batch:
    """Record admitted answers in one commit; see `Memory.record`."""
    traces = [
        _forecast(desk, made, admission.source, locator)
        for admission in admissions
        for made in predictions.forecasts(admission)
    ]
    return _written(desk, traces) if traces else Batch(commit=None, written=0, items=())


def outcome(
    desk: Desk,
    text: str,
    *,
    observed: str,
    source: str,
    locator: str | None,
    note: str | None,
) -> Remembered:
    """Record what was observed for a prediction; see `Memory.outcome`."""

    def asked(index: Index) -> tuple[str, TraceRow | None]:
        record_id = desk.resolve(index, text, where="$.outcome.prediction")
        return record_id, index.row(record_id)

    target, row = desk.answer(asked)
    prediction = row.trace.prediction if row else None
    if prediction is None:
        raise InvalidInputError(
            f"record {target} is no prediction",
            hint="`hikmah log --kind prediction` lists them",
            where="$.outcome.prediction",
        )
    trace = _trace(
        desk,
        "outcome",
        predictions.outcome_content(prediction, observed, note),
        source,
        locator,
        outcome=Outcome(prediction=target, observed=observed, note=note),
    )
    return _written(desk, [trace]).items[0]


def _forecast(desk: Desk, made: Prediction, source: str, locator: str | None) -> Trace:
    text = predictions.content(made)
    return _trace(desk, "prediction", text, source, locator, prediction=made)


def _trace(
    desk: Desk,
    kind: Kind,
    content: str,
    source: str,
    locator: str | None,
    *,
    prediction: Prediction | None = None,
    outcome: Outcome | None = None,
) -> Trace:
    """Return a trace as any other write makes it: with the clock's time and the session."""
    return Trace(
        content=content,
        kind=kind,
        created_at_ms=desk.clock(),
        provenance=Provenance(source=source, locator=sessions.stamp(desk.session, locator)),
        prediction=prediction,
        outcome=outcome,
    )


def _written(desk: Desk, traces: Sequence[Trace]) -> Batch:
    done = write(desk, traces)
    commit = done.commit or desk.head()
    items = tuple(
        Remembered(
            id=item.id,
            seq=item.seq,
            commit=commit,
            deduplicated=item.deduplicated,
            warnings=done.warnings,
        )
        for item in done.items
    )
    written = sum(not item.deduplicated for item in done.items)
    return Batch(commit=done.commit, written=written, items=items, warnings=done.warnings)


# ---- reading back ----------------------------------------------------------------------


def resolved(desk: Desk) -> list[Resolved]:
    """Return every active forecast, each with its latest active outcome."""

    def question(index: Index) -> list[Resolved]:
        outcomes = [trace.outcome for trace, _ in _active(index, "outcome") if trace.outcome]
        # Oldest first, so that the latest of several for one prediction stays.
        observed = {one.prediction: one.observed for one in reversed(outcomes)}
        return [
            Resolved(
                prediction=trace.prediction,
                source=trace.provenance.source,
                observed=observed.get(record_id),
            )
            for trace, record_id in _active(index, "prediction")
            if trace.prediction is not None
        ]

    return desk.answer(question)


def _active(index: Index, kind: Kind) -> list[tuple[Trace, str]]:
    """Return the active traces of a kind with their ids, newest first."""
    rows, _ = index.log(kind=kind, limit=max(1, index.records))
    return [
        (row.record, row.id)
        for row in rows
        if isinstance(row.record, Trace) and row.status == "active"
    ]


def evidence(desk: Desk, frame: Frame) -> dict[str, Evidence]:
    """Return what the ledger knows of a frame's evidence; see `Memory.evidence`."""
    named = {
        text: f"$.options[{place}].evidence[{number}]"
        for place, option in enumerate(frame.options)
        for number, text in enumerate(option.evidence)
    }
    if not named:
        return {}
    now_ms = desk.clock()
    return desk.answer(
        lambda index: {
            text: _known(desk, index, text, where=where, now_ms=now_ms)
            for text, where in named.items()
        }
    )


def _known(desk: Desk, index: Index, text: str, *, where: str, now_ms: int) -> Evidence:
    record_id = desk.resolve(index, text, where=where)
    row = index.row(record_id)
    if row is None:
        raise NotFoundError(f"record {record_id} is no trace", where=where)
    trace = row.trace
    rivals = index.claims(normal_key(row.claim.key)) if row.claim else []
    return Evidence(
        id=record_id,
        kind=trace.kind,
        status=row.status,
        source=trace.provenance.source,
        verified=trace.provenance.verified,
        model_authored=is_model(trace.provenance.source),
        expired=is_expired(trace, now_ms),
        in_conflict=bool(conflicting(row, rivals)),
    )
