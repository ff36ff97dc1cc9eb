"""Rules of links: what a record may point at, and what is said when it may not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hikmah.errors import HikmahError, InvalidInputError, NotFoundError, RefusedError
from hikmah.model.links import check_links
from hikmah.model.records import Fulfill, Purge, Record, Supersede
from hikmah.model.status import TraceState, payload_of, state_of, status_given_by
from hikmah.model.trace import (
    AnswerKind,
    Claim,
    Entity,
    Fact,
    Outcome,
    Prediction,
    Relationship,
    Trace,
)

OLD, NEW, MODEL, FORECAST, DUE, KEPT, ALEX, FACT, GONE, RETIRED, MISSING = (
    f"{letter * 40}" for letter in "0123456789a"
)


def _forecast(kind: AnswerKind = "choice", answers: tuple[str, ...] = ("a", "b")) -> Prediction:
    return Prediction(
        family="f", answer_kind=kind, forecaster="x", question="q?", answer_space=answers
    )


class Shelf:
    """A lookup over a dictionary: one trace of each kind that a rule asks about."""

    def __init__(self, **changes: dict[str, Any]) -> None:
        states = (
            TraceState(id=OLD, kind="belief", status="active", source="human:alex"),
            TraceState(id=NEW, kind="belief", status="active", source="human:alex"),
            TraceState(id=MODEL, kind="belief", status="active", source="model:x"),
            TraceState(
                id=FORECAST, kind="prediction", status="active", source="x", prediction=_forecast()
            ),
            TraceState(id=DUE, kind="commitment", status="active", source="x"),
            TraceState(id=KEPT, kind="commitment", status="fulfilled", source="x"),
            TraceState(id=ALEX, kind="belief", status="active", source="x", payload="entity"),
            TraceState(id=FACT, kind="belief", status="active", source="x", payload="fact"),
            TraceState(id=GONE, kind="belief", status="purged", source="x", payload="entity"),
            TraceState(id=RETIRED, kind="belief", status="deprecated", source="x"),
        )
        self._states = {
            state.id: msgspec.structs.replace(state, **changes.get(f"x{state.id[0]}", {}))
            for state in states
        }

    def state(self, record_id: str) -> TraceState | None:
        return self._states.get(record_id)


def trace(**fields: Any) -> Trace:
    given: dict[str, Any] = {"content": "x", "created_at_ms": 5} | fields
    return Trace(**given)


def outcome(of: str, observed: str = "a") -> Trace:
    return trace(kind="outcome", outcome=Outcome(prediction=of, observed=observed))


def fact(of: str) -> Trace:
    return trace(kind="belief", fact=Fact(entity=of, predicate="p", object="o"))


def relation(start: str, end: str) -> Trace:
    return trace(
        kind="belief", relationship=Relationship(from_=start, to=end, relation_type="owns")
    )


def supersede(old: str, new: str) -> Supersede:
    return Supersede(id=old, by=new, at_ms=5)


def purge(target: str, mode: Any = "purge") -> Purge:
    return Purge(id=target, reason="r", mode=mode, at_ms=5)


ALLOWED: dict[str, Record] = {
    "no links": trace(),
    "a correction": trace(supersedes=OLD),
    "a correction of a fulfilled commitment": trace(supersedes=KEPT),
    "a correction of a prediction": trace(supersedes=FORECAST),
    "a correction of a model": trace(supersedes=MODEL),
    "a conclusion": trace(derived_from=(OLD, GONE, FORECAST)),
    "an outcome": outcome(FORECAST),
    "a fact": fact(ALEX),
    "a relationship": relation(ALEX, ALEX),
    "a rename": trace(
        kind="belief", entity=Entity(name="A", entity_type="person"), supersedes=ALEX
    ),
    "a newer fact": trace(
        kind="belief", fact=Fact(entity=ALEX, predicate="p", object="o"), supersedes=FACT
    ),
    "a supersession": supersede(OLD, NEW),
    "a supersession of a model's": supersede(MODEL, NEW),
    "a purge": purge(OLD),
    "a purge of what is retired": purge(RETIRED),
    "a retirement": purge(OLD, "deprecate"),
    "a fulfilment": Fulfill(id=DUE, at_ms=5),
    "a fulfilment with evidence": Fulfill(id=DUE, evidence=MISSING, at_ms=5),
}


@pytest.mark.parametrize("record", [pytest.param(v, id=k) for k, v in ALLOWED.items()])
def test_a_link_to_an_existing_trace_of_the_right_kind_is_allowed(record: Record) -> None:
    """Links that hold pass, and the record is new."""
    assert check_links(record, Shelf()).already is False


REFUSED: list[tuple[str, Record, type[HikmahError], str]] = [
    ("supersedes nothing", trace(supersedes=MISSING), NotFoundError, "$.supersedes"),
    (
        "derived from nothing",
        trace(derived_from=(OLD, MISSING)),
        NotFoundError,
        "$.derived_from[1]",
    ),
    ("outcome of nothing", outcome(MISSING), NotFoundError, "$.outcome.prediction"),
    ("fact of nothing", fact(MISSING), NotFoundError, "$.fact.entity"),
    ("relation from nothing", relation(MISSING, ALEX), NotFoundError, "$.relationship.from"),
    ("relation to nothing", relation(ALEX, MISSING), NotFoundError, "$.relationship.to"),
    ("supersede nothing", supersede(MISSING, NEW), NotFoundError, "$.id"),
    ("supersede by nothing", supersede(OLD, MISSING), NotFoundError, "$.by"),
    ("purge nothing", purge(MISSING), NotFoundError, "$.id"),
    ("fulfill nothing", Fulfill(id=MISSING, at_ms=5), NotFoundError, "$.id"),
    ("supersedes the purged", trace(supersedes=GONE), InvalidInputError, "$.supersedes"),
    ("supersedes the retired", trace(supersedes=RETIRED), InvalidInputError, "$.supersedes"),
    ("supersede the purged", supersede(GONE, NEW), InvalidInputError, "$.id"),
    ("supersede by the purged", supersede(OLD, GONE), InvalidInputError, "$.by"),
    ("supersede by the retired", supersede(OLD, RETIRED), InvalidInputError, "$.by"),
    ("supersede by a model", supersede(OLD, MODEL), RefusedError, "$.by"),
    ("supersede by a prediction", supersede(OLD, FORECAST), RefusedError, "$.by"),
    ("an entity by a plain trace", trace(supersedes=ALEX), InvalidInputError, "$.supersedes"),
    ("an entity by a fact", supersede(ALEX, FACT), InvalidInputError, "$.by"),
    ("outcome of no prediction", outcome(OLD), InvalidInputError, "$.outcome.prediction"),
    (
        "outcome outside the answers",
        outcome(FORECAST, "c"),
        InvalidInputError,
        "$.outcome.observed",
    ),
    ("fact of no entity", fact(OLD), InvalidInputError, "$.fact.entity"),
    ("fact of a purged entity", fact(GONE), InvalidInputError, "$.fact.entity"),
    ("relation to no entity", relation(ALEX, FACT), InvalidInputError, "$.relationship.to"),
    ("a second purge", purge(GONE), InvalidInputError, "$.id"),
    ("retirement of the purged", purge(GONE, "deprecate"), InvalidInputError, "$.id"),
    ("a second retirement", purge(RETIRED, "deprecate"), InvalidInputError, "$.id"),
    ("fulfilment of a belief", Fulfill(id=OLD, at_ms=5), InvalidInputError, "$.id"),
]


@pytest.mark.parametrize(
    ("record", "error", "where"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED]
)
def test_a_link_that_does_not_hold_is_refused_with_its_path(
    record: Record, error: type[HikmahError], where: str
) -> None:
    """Missing, wrong, retired: each says which link and which trace."""
    with pytest.raises(error) as caught:
        check_links(record, Shelf())
    assert type(caught.value) is error
    assert caught.value.where == where
    assert caught.value.message


@pytest.mark.parametrize(
    "record", [trace(supersedes=OLD), supersede(OLD, NEW)], ids=["short", "long"]
)
def test_a_second_supersession_names_the_first(record: Record) -> None:
    """What is superseded already says by what (rule 8)."""
    shelf = Shelf(x0={"status": "superseded", "superseded_by": (NEW,)})
    with pytest.raises(InvalidInputError, match=NEW) as caught:
        check_links(record, shelf)
    assert "already" in caught.value.message
    assert caught.value.hint == "supersede its successor"


def test_a_supersession_whose_successor_is_hidden_is_refused_too() -> None:
    """The status alone is enough."""
    with pytest.raises(InvalidInputError, match=r"superseded already$"):
        check_links(trace(supersedes=OLD), Shelf(x0={"status": "superseded"}))


def test_a_circle_of_two_is_refused() -> None:
    """A superseded by B, then B by A, would leave neither."""
    shelf = Shelf(x1={"status": "superseded", "superseded_by": (OLD,)})
    with pytest.raises(InvalidInputError, match="circle"):
        check_links(supersede(OLD, NEW), shelf)


def test_a_circle_in_steps_is_refused_and_forks_are_walked_once() -> None:
    """However long the way round, and whatever circles joined ledgers brought."""
    shelf = Shelf(
        x1={"status": "superseded", "superseded_by": (MODEL, DUE, MISSING)},
        x2={"status": "superseded", "superseded_by": (DUE,)},
        x4={"status": "superseded", "superseded_by": (MODEL, KEPT)},
        x5={"status": "superseded", "superseded_by": (OLD,)},
    )
    with pytest.raises(InvalidInputError, match="circle"):
        check_links(supersede(OLD, NEW), shelf)


def test_a_successor_may_itself_be_superseded() -> None:
    """A chain is no circle."""
    shelf = Shelf(x1={"status": "superseded", "superseded_by": (KEPT,)})
    assert check_links(supersede(OLD, NEW), shelf).already is False


def test_fulfilling_what_is_fulfilled_is_a_value_not_an_error() -> None:
    """A commitment kept twice is kept."""
    assert check_links(Fulfill(id=KEPT, at_ms=5), Shelf()).already is True


@pytest.mark.parametrize("status", ["superseded", "deprecated", "purged"])
def test_a_commitment_that_is_closed_otherwise_is_not_fulfilled(status: str) -> None:
    """Its status is said, and its successor when it has one."""
    shelf = Shelf(x4={"status": status, "superseded_by": (NEW,) if status == "superseded" else ()})
    with pytest.raises(InvalidInputError, match=status) as caught:
        check_links(Fulfill(id=DUE, at_ms=5), shelf)
    assert (NEW in caught.value.message) == (status == "superseded")


@pytest.mark.parametrize("status", ["superseded", "deprecated", "purged"])
def test_an_outcome_resolves_an_active_prediction_only(status: str) -> None:
    """Retracted forecasts are not scored (rule 4)."""
    with pytest.raises(InvalidInputError, match=status):
        check_links(outcome(FORECAST), Shelf(x3={"status": status}))


def test_a_noul_is_resolved_by_true_or_false() -> None:
    """The answer space of a yes-or-no question is known without being given."""
    shelf = Shelf(x3={"prediction": _forecast("noul", ())})
    assert check_links(outcome(FORECAST, "true"), shelf).already is False
    with pytest.raises(InvalidInputError) as caught:
        check_links(outcome(FORECAST, "yes"), shelf)
    assert "true, false" in caught.value.hint


def test_a_state_is_made_of_a_trace_and_what_is_derived_about_it() -> None:
    """Links see the trace's own fields, its status, and what replaced it."""
    record = trace(kind="belief", supersedes=OLD, entity=Entity(name="A", entity_type="person"))
    state = state_of(NEW, record, "superseded", [KEPT])
    assert state == TraceState(
        id=NEW,
        kind="belief",
        status="superseded",
        source="unknown",
        superseded_by=(KEPT,),
        payload="entity",
    )
    plain = state_of(OLD, trace(claim=Claim(key="k", value="v")), "active")
    assert (plain.superseded_by, plain.payload) == ((), None)


def test_a_payload_is_named_by_its_field() -> None:
    """`payload_of` says which structure a trace holds."""
    assert payload_of(fact(ALEX)) == "fact"
    assert payload_of(relation(ALEX, ALEX)) == "relationship"
    assert payload_of(trace()) is None


@pytest.mark.parametrize(
    ("switch", "status"),
    [
        (supersede(OLD, NEW), "superseded"),
        (Fulfill(id=DUE, at_ms=5), "fulfilled"),
        (purge(OLD), "purged"),
        (purge(OLD, "deprecate"), "deprecated"),
    ],
    ids=["supersede", "fulfill", "purge", "deprecate"],
)
def test_each_switch_gives_one_status(switch: Any, status: str) -> None:
    """What a switch does to the trace it names."""
    assert status_given_by(switch) == status
