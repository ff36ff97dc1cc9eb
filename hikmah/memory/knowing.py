"""The part of `Memory` that makes knowledge of claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hikmah.memory.door import Door

if TYPE_CHECKING:
    from hikmah.memory.knowledge import Knowledge
    from hikmah.memory.results import Promoted
    from hikmah.views.consolidation import ConsolidationList


class Knowing(Door):
    """Verbs over what several traces say together, and the door to entities and events."""

    @property
    def knowledge(self) -> Knowledge:
        """Events, entities, facts, relationships and summaries of this memory."""
        from hikmah.memory.knowledge import Knowledge

        return Knowledge(self)

    def consolidate(self, *, limit: int = 100, as_of: str | int | None = None) -> ConsolidationList:
        """Return claims that several traces support, as proposals; nothing is written.

        Args:
            limit: At most so many.
            as_of: A commit, a sequence number or a time: answer as it would have been then.
        """
        from hikmah.memory import consolidating

        with self._lock:
            return consolidating.consolidate(self._desk, limit=limit, as_of=as_of)

    def promote(self, proposal: str, *, source: str = "consolidation") -> Promoted:
        """Write the belief that a proposal stands for, derived from its support.

        A person's decision: refused inside an agent session.

        Args:
            proposal: The proposal's id.
            source: Who says so; not a model.

        Raises:
            NotFoundError: There is no such proposal, or what supports it has changed.
            RefusedError: It is not eligible, or this is an agent session.
            InvalidInputError: It was promoted already.
        """
        from hikmah.memory import consolidating

        with self._lock:
            return consolidating.promote(self._desk, proposal, source=source)
