"""The text boundary: what an engine writes is a proposal under its own name."""

from __future__ import annotations

import pytest

from hikmah.model.trace import Provenance, Trace
from hikmah.reason.proposals import NoModel, ProposalEngine, propose


class Echo:
    """An engine that writes what it was told to."""

    name = "echo@1"

    def __init__(self, text: str | None) -> None:
        self._text = text

    def write(self, prompt: str) -> str | None:  # noqa: ARG002  # the port's signature
        return self._text


def test_no_model_proposes_nothing() -> None:
    """It ships so that callers handle the absence of a model."""
    engine: ProposalEngine = NoModel()
    assert engine.name == "none"
    assert propose(engine, "Sum up.", now_ms=0) is None


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_nothing_said_is_no_proposal(text: str | None) -> None:
    """Blank text makes no trace."""
    assert propose(Echo(text), "Sum up.", now_ms=0) is None


def test_a_proposal_is_a_trace_of_a_model() -> None:
    """Its source says so; it is not verified and supersedes nothing."""
    trace = propose(Echo("The lock timed out."), "Sum up.", now_ms=7, kind="episode")
    assert trace == Trace(
        content="The lock timed out.",
        kind="episode",
        created_at_ms=7,
        provenance=Provenance(source="model:echo@1", verified=False),
    )
    assert trace.supersedes is None
