"""Rules of links for records that another ledger holds already."""

from __future__ import annotations

from typing import Any

import pytest

from hikmah.errors import HikmahError, InvalidInputError, NotFoundError, RefusedError
from hikmah.model.joined import check_elsewhere, check_joined
from hikmah.model.records import Fulfill, Purge, Record, Supersede
from hikmah.model.status import TraceState
from hikmah.model.trace import Fact, Outcome, Prediction, Relationship, Trace

A, B, C, NOBODY = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)
NOUL = Prediction(family="f", answer_kind="noul", forecaster="x", question="q?")


class World:
    """Traces by id, as a lookup."""

    def __init__(self, **states: TraceState) -> None:
        self._states = {state.id: state for state in states.values()}

    def state(self, record_id: str) -> TraceState | None:
        """Return a trace's state."""
        return self._states.get(record_id)


def there(identity: str, **fields: Any) -> TraceState:
    """Return the state of a trace that is there."""
    return TraceState(
        **{"id": identity, "kind": "observation", "status": "active", "source": "s", **fields}
    )


def trace(**fields: Any) -> Trace:
    """Return a new trace."""
    return Trace(content="x", created_at_ms=0, **fields)


def supersede(old: str, new: str) -> Supersede:
    """Return a switch that puts one trace in the place of another."""
    return Supersede(id=old, by=new, at_ms=0)


BY_B = {"status": "superseded", "superseded_by": (B,)}
PASSES: list[Any] = [
    pytest.param(supersede(A, C), {"a": there(A, **BY_B), "c": there(C)}, id="superseded twice"),
    pytest.param(trace(supersedes=A), {"a": there(A, **BY_B)}, id="corrected twice"),
    pytest.param(
        supersede(A, B), {"a": there(A), "b": there(B, status="purged")}, id="by what was purged"
    ),
    pytest.param(supersede(A, B), {"a": there(A, status="purged"), "b": there(B)}, id="of purged"),
    pytest.param(Purge(id=A, reason="r", at_ms=0), {"a": there(A, status="purged")}, id="purged"),
    pytest.param(
        Fulfill(id=A, at_ms=0), {"a": there(A, kind="commitment", status="purged")}, id="fulfilled"
    ),
    pytest.param(
        trace(kind="outcome", outcome=Outcome(prediction=A, observed="true")),
        {"a": there(A, kind="prediction", prediction=NOUL, status="superseded")},
        id="resolved after it was replaced",
    ),
    pytest.param(
        trace(kind="belief", fact=Fact(entity=A, predicate="p", object="o")),
        {"a": there(A, payload="entity", status="purged")},
        id="a fact of what was purged",
    ),
]
REFUSED: list[Any] = [
    pytest.param(supersede(A, NOBODY), {"a": there(A)}, NotFoundError, id="by nobody"),
    pytest.param(supersede(NOBODY, A), {"a": there(A)}, NotFoundError, id="of nothing"),
    pytest.param(trace(derived_from=(NOBODY,)), {}, NotFoundError, id="derived from nothing"),
    pytest.param(Fulfill(id=A, at_ms=0), {"a": there(A)}, InvalidInputError, id="no promise"),
    pytest.param(
        supersede(A, B),
        {"a": there(A), "b": there(B, source="model:x", status="superseded")},
        RefusedError,
        id="by a model",
    ),
    pytest.param(
        supersede(A, B),
        {"a": there(A, payload="entity", status="deprecated"), "b": there(B)},
        InvalidInputError,
        id="an entity by something else",
    ),
    pytest.param(
        supersede(B, A), {"a": there(A, **BY_B), "b": there(B)}, InvalidInputError, id="circle"
    ),
    pytest.param(
        supersede(C, A),
        {
            "a": there(A, **BY_B),
            "b": there(B, status="superseded", superseded_by=(C,)),
            "c": there(C),
        },
        InvalidInputError,
        id="circle in steps",
    ),
    pytest.param(
        trace(kind="outcome", outcome=Outcome(prediction=A, observed="maybe")),
        {"a": there(A, kind="prediction", prediction=NOUL)},
        InvalidInputError,
        id="outside the answer space",
    ),
]


@pytest.mark.parametrize(("record", "states"), PASSES)
def test_what_a_join_may_leave_passes(record: Record, states: dict[str, TraceState]) -> None:
    """Two machines may have switched one trace, in any state it was in."""
    assert not check_joined(record, World(**states)).already


@pytest.mark.parametrize(("record", "states", "error"), REFUSED)
@pytest.mark.parametrize("check", [check_joined, check_elsewhere])
def test_what_no_ledger_could_hold_is_refused(
    record: Record, states: dict[str, TraceState], error: type[HikmahError], check: Any
) -> None:
    """Links lead to traces of the right kind, models do not supersede, nothing goes in circles."""
    with pytest.raises(error):
        check(record, World(**states))


@pytest.mark.parametrize(
    ("record", "states", "already"),
    [
        pytest.param(supersede(A, B), {"a": there(A, **BY_B), "b": there(B)}, True, id="same"),
        pytest.param(supersede(A, C), {"a": there(A, **BY_B), "c": there(C)}, False, id="other"),
        pytest.param(supersede(A, B), {"a": there(A), "b": there(B)}, False, id="new"),
        pytest.param(
            Fulfill(id=A, at_ms=0),
            {"a": there(A, kind="commitment", status="superseded")},
            True,
            id="weaker",
        ),
        pytest.param(
            Purge(id=A, reason="r", at_ms=0), {"a": there(A, status="deprecated")}, False, id="more"
        ),
        pytest.param(
            Purge(id=A, reason="r", mode="deprecate", at_ms=0),
            {"a": there(A, status="deprecated")},
            True,
            id="again",
        ),
        pytest.param(trace(), {}, False, id="a trace"),
    ],
)
def test_a_switch_that_changes_nothing_is_told(
    record: Record, states: dict[str, TraceState], already: bool
) -> None:
    """Records that get new bytes on their way in are known by what they do."""
    assert check_elsewhere(record, World(**states)).already == already


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(trace(fact=Fact(entity=A, predicate="p", object="o")), id="fact"),
        pytest.param(
            trace(relationship=Relationship(from_=A, to=A, relation_type="r")), id="relationship"
        ),
    ],
)
def test_nothing_new_is_said_of_a_purged_entity(record: Record) -> None:
    """What was taken out of every view does not come back with a fact."""
    world = World(a=there(A, payload="entity", status="purged"))
    with pytest.raises(InvalidInputError, match="purged"):
        check_elsewhere(record, world)
