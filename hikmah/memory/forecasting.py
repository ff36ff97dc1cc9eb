"""The part of `Memory` that decides, forecasts and is judged by outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hikmah.memory.door import Door
from hikmah.memory.remembering import DEFAULT_SOURCE

if TYPE_CHECKING:
    from hikmah.memory.results import Batch, Remembered
    from hikmah.model.trace import AnswerKind
    from hikmah.reason.admission import Admission
    from hikmah.reason.calibration import CalibrationReport
    from hikmah.reason.decision import Decision
    from hikmah.reason.evidence import Evidence
    from hikmah.reason.frame import Frame
    from hikmah.reason.threshold import ThresholdReport


class Forecasting(Door):
    """Verbs over forecasts and their outcomes, and decisions over evidence in the ledger."""

    def predict(
        self,
        question: str,
        *,
        family: str,
        kind: AnswerKind = "noul",
        p: float | None,
        value: str | None = None,
        answer_space: Iterable[str] = (),
        source: str = DEFAULT_SOURCE,
        locator: str | None = None,
    ) -> Remembered:
        """Record what a person or an agent forecasts.

        Args:
            question: What is forecast.
            family: Forecasts of one family are judged together.
            kind: `noul` (yes or no), `choice` or `score`.
            p: The probability of true for a noul, of `value` otherwise.
            value: What is forecast, one of the answer space; not for a noul.
            answer_space: What may be observed; levels lowest first for a score.
            source: Who forecasts; not a model.
            locator: Where it can be looked up.

        Raises:
            InvalidInputError: Values that do not go together.
            RefusedError: A model's source; what engines say comes in by `record`.
        """
        from hikmah.memory import forecasts

        with self._lock:
            return forecasts.predict(
                self._desk,
                question,
                family=family,
                kind=kind,
                p=p,
                value=value,
                answer_space=tuple(answer_space),
                source=source,
                locator=locator,
            )

    def outcome(
        self,
        prediction: str,
        *,
        observed: str,
        source: str = DEFAULT_SOURCE,
        locator: str | None = None,
        note: str | None = None,
    ) -> Remembered:
        """Record what was observed for a prediction; the latest active outcome counts.

        Args:
            prediction: The prediction's id.
            observed: A value of its answer space.
            source: Who observed it; not a model.
            locator: Where it can be looked up.
            note: Anything else.
        """
        from hikmah.memory import forecasts

        with self._lock:
            return forecasts.outcome(
                self._desk,
                prediction,
                observed=observed,
                source=source,
                locator=locator,
                note=note,
            )

    def record(self, *admissions: Admission, locator: str | None = None) -> Batch:
        """Record what admission let through as an engine's forecasts, in one commit.

        Returns:
            The batch; it is empty, and nothing is written, when nothing was admitted.
        """
        from hikmah.memory import forecasts

        with self._lock:
            return forecasts.record(self._desk, admissions, locator=locator)

    def decide(self, frame: Frame) -> Decision:
        """Decide a frame with its evidence looked up in the ledger."""
        from hikmah.memory import forecasts
        from hikmah.reason.decision import decide

        with self._lock:
            return decide(frame, forecasts.evidence(self._desk, frame))

    def evidence(self, frame: Frame) -> dict[str, Evidence]:
        """Return what the ledger knows of each evidence id in a frame, by that id.

        Raises:
            NotFoundError: An id is not that of a trace.
        """
        from hikmah.memory import forecasts

        with self._lock:
            return forecasts.evidence(self._desk, frame)

    def calibration(
        self, *, family: str | None = None, family_prefix: str | None = None
    ) -> CalibrationReport:
        """Judge active forecasts by what came of them.

        Args:
            family: Only this family.
            family_prefix: Only families that start so, with a pooled row a forecaster.
        """
        from hikmah.memory import forecasts
        from hikmah.reason.calibration import calibrate

        with self._lock:
            return calibrate(
                forecasts.resolved(self._desk),
                min_outcomes=self.policy.calibration_min_outcomes,
                family=family,
                family_prefix=family_prefix,
            )

    def gate_threshold(
        self, *, max_false_block: float = 0.10, forecaster: str | None = None
    ) -> ThresholdReport:
        """Choose the gate's threshold from its engine's resolved answers.

        Args:
            max_false_block: The largest share of true completions that may be blocked.
            forecaster: Which engine, where several have answered.

        Raises:
            RefusedError: Fewer than 50 resolved answers, one class only, several engines.
        """
        from hikmah.memory import forecasts
        from hikmah.reason.threshold import choose_threshold

        with self._lock:
            return choose_threshold(
                forecasts.resolved(self._desk),
                max_false_block=max_false_block,
                forecaster=forecaster,
            )
