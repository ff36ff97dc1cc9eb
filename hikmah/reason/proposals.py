"""The text boundary: what an engine writes is a proposal, nothing more.

Rules the module keeps:

1. A proposal becomes a trace with a `model:` source: never verified, never superseding, never
   counted as support. There is no other way in for an engine's text.
2. Only `NoModel` ships, which writes nothing.

Example:
    >>> propose(NoModel(), "Sum up the incident.", now_ms=0) is None
    True
"""

from __future__ import annotations

from typing import Protocol

from hikmah.model.trace import Kind, Provenance, Trace


class ProposalEngine(Protocol):
    """Something that may turn a prompt into text."""

    @property
    def name(self) -> str:
        """Return the name its text is recorded under: `model:<name>`."""
        ...

    def write(self, prompt: str) -> str | None:
        """Return text for the prompt; None for nothing to say."""
        ...


class NoModel:
    """The engine that is there when none is."""

    name = "none"

    def write(self, prompt: str) -> str | None:  # noqa: ARG002  # the port's signature
        """Write nothing."""
        return None


def propose(
    engine: ProposalEngine, prompt: str, *, now_ms: int, kind: Kind = "belief"
) -> Trace | None:
    """Return what an engine wrote as a trace to be checked and stored like any other.

    Returns:
        The trace; None if the engine wrote nothing.
    """
    text = engine.write(prompt)
    if text is None or not text.strip():
        return None
    return Trace(
        content=text,
        kind=kind,
        created_at_ms=now_ms,
        provenance=Provenance(source=f"model:{engine.name}"),
    )
