"""The part of `Memory` that answers questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hikmah.memory.arguments import texts
from hikmah.memory.door import Door

if TYPE_CHECKING:
    from hikmah.memory.results import LogPage, Shown, ShownRecord, StatusReport
    from hikmah.views.claims import ConflictList
    from hikmah.views.commitments import CommitmentList
    from hikmah.views.focus import Focus
    from hikmah.views.results import RecallReply


class Asking(Door):
    """Verbs that read and never write."""

    def recall(
        self,
        text: str | None = None,
        *,
        tags: Iterable[str] = (),
        kinds: Iterable[str] = (),
        sources: Iterable[str] = (),
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int | None = None,
        budget_chars: int | None = None,
        include_superseded: bool = False,
        as_of: str | int | None = None,
    ) -> RecallReply:
        """Return the memories that share terms or tags with a question, best first.

        Args:
            text: The question, in any language; no syntax.
            tags: Tags to look for; they count for the score.
            kinds: Only traces of these kinds.
            sources: Only traces from these sources.
            since_ms: Only traces made at this time or later.
            until_ms: Only traces made at this time or earlier.
            limit: At most so many; default the policy's.
            budget_chars: At most so many characters of content, in rank order.
            include_superseded: Also what was corrected since, marked as such.
            as_of: A commit, a sequence number or a time: answer as it would have been then.

        Returns:
            The results with every factor of their score, and a receipt that can be replayed.
        """
        from hikmah.memory import recalling
        from hikmah.model.records import checked
        from hikmah.views.results import Query

        fields = {
            "text": text,
            "tags": texts(tags, "$.tags"),
            "kinds": texts(kinds, "$.kinds"),
            "sources": texts(sources, "$.sources"),
            "since_ms": since_ms,
            "until_ms": until_ms,
            "limit": limit,
            "budget_chars": budget_chars,
            "include_superseded": include_superseded,
        }
        query = checked(fields, Query)
        with self._lock:
            return recalling.recall(self._desk, query, as_of=as_of)

    def show(self, record_id: str) -> Shown | ShownRecord:
        """Return one record in full: a trace with its history, links and conflicts."""
        from hikmah.memory import reading

        with self._lock:
            return reading.show(self._desk, record_id)

    def log(
        self,
        *,
        kind: str | None = None,
        source: str | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int = 20,
    ) -> LogPage:
        """Return records of every type, newest first; `since_ms` and `until_ms` are inclusive."""
        from hikmah.memory import reading

        with self._lock:
            return reading.log(
                self._desk,
                kind=kind,
                source=source,
                since_ms=since_ms,
                until_ms=until_ms,
                limit=limit,
            )

    def conflicts(self, *, limit: int = 100) -> ConflictList:
        """Return every open contradiction between active claims, by key and value."""
        from hikmah.memory import reading

        with self._lock:
            return reading.list_conflicts(self._desk, limit=limit)

    def commitments(
        self, *, within_hours: float = 168, include_all: bool = False, limit: int = 100
    ) -> CommitmentList:
        """Return open commitments due within the horizon, overdue ones first.

        Args:
            within_hours: The horizon from now.
            include_all: Also those without a deadline, those further off, and those kept.
            limit: At most so many.
        """
        from hikmah.memory import reading

        with self._lock:
            return reading.list_commitments(
                self._desk, within_hours=within_hours, include_all=include_all, limit=limit
            )

    def focus(self) -> Focus:
        """Return an empty working set of at most `policy.working_set_limit` traces.

        It is a value of the caller's, for `focus.absorb(reply.results)`; nothing is stored.
        """
        from hikmah.views.focus import Focus

        return Focus(capacity=self.policy.working_set_limit)

    def status(self) -> StatusReport:
        """Return the ledger at a glance."""
        from hikmah.memory import reading

        with self._lock:
            return reading.status(self._desk)
