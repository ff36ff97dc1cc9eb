"""Forecasts in the ledger: recorded, resolved, retracted, judged; evidence looked up."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.errors import HikmahError, InvalidInputError, NotFoundError, RefusedError
from hikmah.memory import Memory
from hikmah.memory.results import Shown
from hikmah.model.policy import Policy
from hikmah.model.session import LOCATOR_PREFIX
from hikmah.model.trace import Trace
from hikmah.reason.admission import Admission
from hikmah.reason.engines import NoEngine, StaticEngine, ask
from hikmah.reason.frame import Criterion, Frame, Option
from hikmah.reason.port import DecisionRequest, Noul, request_id
from hikmah.reason.threshold import FAMILY
from tests.memory.conftest import ticking


def predicted(memory: Memory, p: float = 0.7, *, family: str = "f", source: str = "human:a") -> str:
    """Record a yes/no forecast and return its id."""
    return memory.predict("Will it?", family=family, p=p, source=source).id


def answered(p: float, name: str = "late", family: str | None = None) -> Admission:
    """Return an engine's admitted answer to a yes/no question."""
    question = Noul(id=name, instructions="Will it be late?", family=family)
    asked = DecisionRequest(state="half done", questions=(question,))
    body = {
        "request_id": request_id(asked),
        "version": "1",
        "answers": {name: {"kind": "noul", "noul": p}},
    }
    return ask(StaticEngine(body), asked)


def trace_of(memory: Memory, record_id: str) -> Trace:
    """Return a trace by its id."""
    shown = memory.show(record_id)
    assert isinstance(shown, Shown)
    return shown.trace


class TestPredict:
    """What people and agents forecast."""

    def test_it_is_a_prediction_of_its_source(self, memory: Memory) -> None:
        """Unverified, with the forecaster named after the source."""
        trace = trace_of(memory, predicted(memory))
        assert (trace.kind, trace.provenance.source) == ("prediction", "human:a")
        assert not trace.provenance.verified
        assert trace.prediction is not None
        assert (trace.prediction.forecaster, trace.prediction.p) == ("human:a", 0.7)

    def test_choices_and_scores_have_an_answer_space(self, memory: Memory) -> None:
        """The value forecast is one of it."""
        made = memory.predict(
            "Which?", family="f", kind="choice", p=0.5, value="a", answer_space=["a", "b"]
        )
        prediction = trace_of(memory, made.id).prediction
        assert prediction is not None
        assert prediction.answer_space == ("a", "b")
        with pytest.raises(InvalidInputError, match="answer space"):
            memory.predict(
                "Which?", family="f", kind="score", p=0.5, value="c", answer_space=["a", "b"]
            )

    def test_a_model_does_not_predict_by_hand(self, memory: Memory) -> None:
        """What an engine says comes in through admission alone."""
        with pytest.raises(RefusedError, match="no model forecasts by hand"):
            predicted(memory, source=" Model:jev@1")

    def test_an_agent_is_stamped(self, repo: Path) -> None:
        """Its session stands in the locator, before its own."""
        with Memory.open(repo, environ={"CLAUDECODE": "1"}, clock=ticking()) as memory:
            made = memory.predict("Will it?", family="f", p=0.5, source="a", locator="x:1")
            locator = trace_of(memory, made.id).provenance.locator
        assert locator is not None
        assert locator.startswith(LOCATOR_PREFIX)
        assert locator.endswith("; x:1")

    @pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
    def test_a_probability_is_one(self, memory: Memory, p: float) -> None:
        """Anything else is refused before a byte is written."""
        with pytest.raises(InvalidInputError):
            predicted(memory, p)


class TestOutcome:
    """What came of a forecast."""

    def test_it_resolves_a_prediction(self, memory: Memory) -> None:
        """By any unique prefix of its id; the row then counts it."""
        made = predicted(memory)
        trace = trace_of(memory, memory.outcome(made[:12], observed="true", note="Seen.").id)
        assert trace.outcome is not None
        assert (trace.outcome.prediction, trace.outcome.observed) == (made, "true")
        (row,) = memory.calibration().families
        assert (row.n, row.rate) == (1, 1.0)

    def test_the_latest_active_one_counts(self, memory: Memory) -> None:
        """A second outcome corrects the first; purging it brings the first back."""
        made = predicted(memory)
        memory.outcome(made, observed="true")
        second = memory.outcome(made, observed="false")
        assert memory.calibration().families[0].rate == 0.0
        memory.purge(second.id, reason="wrong log")
        assert memory.calibration().families[0].rate == 1.0

    def test_what_is_retracted_never_counts(self, memory: Memory) -> None:
        """A purged or superseded prediction leaves its row, and takes no outcome."""
        purged, superseded, kept = (predicted(memory, p) for p in (0.1, 0.2, 0.3))
        for made in (purged, superseded, kept):
            memory.outcome(made, observed="true")
        memory.purge(purged, reason="asked wrongly")
        memory.supersede(superseded, memory.remember("asked anew").id)
        (row,) = memory.calibration().families
        assert row.n == 1
        assert row.brier == pytest.approx(0.49)
        for made in (purged, superseded):
            with pytest.raises(InvalidInputError, match=r"is (purged|superseded)"):
                memory.outcome(made, observed="true")

    @pytest.mark.parametrize(
        ("observed", "source", "error"),
        [
            pytest.param("maybe", "x", InvalidInputError, id="outside the answer space"),
            pytest.param("true", "model:jev@1", RefusedError, id="by a model"),
        ],
    )
    def test_bad_outcomes(
        self, memory: Memory, observed: str, source: str, error: type[HikmahError]
    ) -> None:
        """A value that may be observed, from someone who may observe."""
        with pytest.raises(error):
            memory.outcome(predicted(memory), observed=observed, source=source)

    def test_only_predictions_have_outcomes(self, memory: Memory) -> None:
        """A plain trace has none, nor has a record that is no trace."""
        plain = memory.remember("x")
        switch = memory.purge(memory.remember("y").id, reason="z")
        for record_id in (plain.id, switch.id):
            assert record_id is not None
            with pytest.raises(InvalidInputError, match="is no prediction"):
                memory.outcome(record_id, observed="true")


class TestRecord:
    """What engines say, through admission."""

    def test_admitted_answers_become_predictions(self, memory: Memory) -> None:
        """In one commit, under a model's source, with the engine's row."""
        batch = memory.record(answered(0.8), answered(0.6, "again"))
        assert batch.written == 2
        assert len({item.commit for item in batch.items}) == 1
        trace = trace_of(memory, batch.items[0].id)
        assert trace.provenance.source == "model:static@1"
        for item in batch.items:
            memory.outcome(item.id, observed="true")
        rows = memory.calibration().families
        assert [(r.family, r.forecaster_kind, r.forecaster) for r in rows] == [
            ("again", "engine", "static@1"),
            ("late", "engine", "static@1"),
        ]

    def test_nothing_admitted_writes_nothing(self, memory: Memory) -> None:
        """Not even a ledger."""
        asked = DecisionRequest(state="s", questions=(Noul(id="q", instructions="?"),))
        batch = memory.record(ask(NoEngine(), asked))
        assert (batch.commit, batch.written, batch.items) == (None, 0, ())
        with pytest.raises(NotFoundError):
            memory.log()

    def test_a_person_under_its_name_is_not_the_engine(self, memory: Memory) -> None:
        """Same family, same name, a row of their own."""
        (engine,) = memory.record(answered(0.8)).items
        person = predicted(memory, 0.8, family="late", source="static@1")
        memory.outcome(engine.id, observed="true")
        memory.outcome(person, observed="false")
        rows = memory.calibration(family="late").families
        assert [(r.forecaster, r.forecaster_kind, r.rate) for r in rows] == [
            ("static@1", "engine", 1.0),
            ("static@1", "principal", 0.0),
        ]


class TestJudging:
    """Calibration and the gate's threshold over the ledger."""

    def test_the_policy_sets_the_minimum(self, repo: Path) -> None:
        """A row is measurable from there on."""
        policy = Policy(calibration_min_outcomes=2)
        with Memory.open(repo, environ={}, clock=ticking(), policy=policy) as memory:
            for p in (0.4, 0.6):
                memory.outcome(predicted(memory, p), observed="true")
            report = memory.calibration(family_prefix="")
        assert report.min_outcomes == 2
        assert [row.measurable for row in (*report.families, *report.pooled)] == [True, True]

    def test_an_empty_ledger_has_no_rows(self, memory: Memory) -> None:
        """Nothing forecast is no error."""
        memory.remember("x")
        assert memory.calibration().families == ()

    def test_the_threshold_comes_from_recorded_answers(self, memory: Memory) -> None:
        """Fifty of them, both kinds."""
        asked = [(0.9, "true")] * 10 + [(0.1 + i / 1000, "false") for i in range(40)]
        admissions = [answered(p, f"q{i}", FAMILY) for i, (p, _) in enumerate(asked)]
        batch = memory.record(*admissions)
        for item, (_, observed) in zip(batch.items, asked, strict=True):
            memory.outcome(item.id, observed=observed)
        report = memory.gate_threshold(max_false_block=0.05)
        assert (report.threshold, report.n) == (0.9, 50)
        with pytest.raises(RefusedError):
            memory.gate_threshold(forecaster="other")


@pytest.fixture
def backed(memory: Memory) -> tuple[Memory, dict[str, str]]:
    """Return a memory with traces of every standing, by name."""
    lock = {"claim": ("lock", "30 s")}
    ids = {
        "good": memory.remember("measured twice", verified=True).id,
        "old": memory.remember("measured once").id,
        "purged": memory.remember("never true").id,
        "expired": memory.remember("until then", valid_until_ms=1).id,
        "disputed": memory.remember("thirty", **lock).id,  # type: ignore[arg-type]  # one pair
        "model": memory.remember("so it seems", source="model:jev@1").id,
    }
    memory.remember("ninety", claim=("lock", "90 s"))
    memory.remember("measured better", supersedes=ids["old"])
    memory.purge(ids["purged"], reason="never true")
    return memory, ids


def resting_on(*evidence: str) -> Frame:
    """Return a frame with one option that names evidence."""
    option = Option(name="a", scores={"x": 1}, evidence_confidence=0.9, evidence=evidence)
    return Frame(question="?", criteria=(Criterion(id="x", weight=1),), options=(option,))


class TestEvidence:
    """Ids in a frame are looked up."""

    def test_a_fact_that_another_one_disputes_is_in_conflict(self, memory: Memory) -> None:
        """What a fact claims of its entity counts like any claim."""
        memory.knowledge.get_or_create_entity("checkout", "code")
        fact = memory.knowledge.add_fact("checkout", "owner", "Jane")
        assert memory.decide(resting_on(fact.id)).options[0].evidence[0].flags == ()
        memory.knowledge.add_fact("checkout", "owner", "Omar")
        found = memory.decide(resting_on(fact.id)).options[0].evidence[0]
        assert found.flags == ("in_conflict",)

    def test_each_standing_is_flagged(self, backed: tuple[Memory, dict[str, str]]) -> None:
        """By short ids too."""
        memory, ids = backed
        result = memory.decide(resting_on(*(record_id[:10] for record_id in ids.values())))
        shown = {item.id: item for item in result.options[0].evidence}
        flags = {name: shown[record_id].flags for name, record_id in ids.items()}
        assert flags == {
            "good": (),
            "old": ("superseded",),
            "purged": ("purged",),
            "expired": ("expired",),
            "disputed": ("in_conflict",),
            "model": ("model_authored",),
        }
        assert result.options[0].evidence_confidence == 0.9

    def test_a_models_word_alone_supports_nothing(
        self, backed: tuple[Memory, dict[str, str]]
    ) -> None:
        """Confidence is then taken as 0, and that is said."""
        memory, ids = backed
        (item,) = memory.decide(resting_on(ids["model"], ids["purged"])).options
        assert item.evidence_confidence == 0
        assert item.note is not None

    def test_without_ids_nothing_is_read(self, memory: Memory) -> None:
        """Not even whether there is a ledger."""
        assert memory.evidence(resting_on()) == {}
        assert memory.decide(resting_on()).recommended == "a"

    def test_what_is_not_there_names_its_place(self, backed: tuple[Memory, dict[str, str]]) -> None:
        """No such record, and a record that is no trace."""
        memory, ids = backed
        switch = memory.purge(memory.remember("z").id, reason="z").id
        for record_id in ("0" * 40, switch):
            assert record_id is not None
            with pytest.raises(NotFoundError) as caught:
                memory.decide(resting_on(ids["good"], record_id))
            assert caught.value.where == "$.options[0].evidence[1]"
