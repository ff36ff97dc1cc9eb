"""`Knowledge`, the door to events, entities and summaries of one memory.

The three layers are views over traces: what is written is remembered like anything else, so
that provenance, screening, supersession, recall, sync and verification apply to it.

Example:
    with Memory.open("path/to/repository") as memory:
        jane = memory.knowledge.get_or_create_entity("Jane Chen", "person")
        memory.knowledge.add_fact(jane.id, "role", "Staff Engineer", "onboarding", 0.92)
        print(memory.knowledge.generate_summary(jane.id).summary_text)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hikmah.memory.remembering import DEFAULT_SOURCE

if TYPE_CHECKING:
    from hikmah.memory.door import Door
    from hikmah.memory.knowledge_results import (
        EntityFound,
        EventAppended,
        Evolved,
        KnowledgeHash,
        KnowledgeStats,
        Summarized,
    )
    from hikmah.memory.results import Batch, Remembered, Switched
    from hikmah.views.entities import EntityDetail, EntityList
    from hikmah.views.events import EventList
    from hikmah.views.evolution import Evolution, EvolutionEngine
    from hikmah.views.neighbours import Neighbourhood
    from hikmah.views.summaries import EntitySummary

AsOf = str | int | None


class Knowledge:
    """Events, entities, facts, relationships, summaries; and how they evolve.

    An entity is named by its id, by any unique prefix of the id of one of its traces, or by a
    name that only one entity has.

    Args:
        memory: The memory that holds the traces.
        evolution: What proposes how the knowledge evolves; the deterministic engine when None.
    """

    def __init__(self, memory: Door, *, evolution: EvolutionEngine | None = None) -> None:
        self._desk = memory._desk  # noqa: SLF001 - the same door, another room
        self._lock = memory._lock  # noqa: SLF001 - one verb at a time, whichever the room
        self._evolution = evolution

    # ---- events ------------------------------------------------------------------------

    def append_event(
        self,
        event_type: str,
        payload: Any = None,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        tags: Iterable[str] = (),
        source: str = DEFAULT_SOURCE,
        **fields: Any,
    ) -> EventAppended:
        """Write one event; it is never changed, and a correction is a new event.

        Args:
            event_type: What sort of thing happened: `user_request`, `tool_call`, `decision` ...
            payload: Any JSON: at most 64 KiB and 32 containers deep.
            session_id: The session it happened in.
            agent_id: The agent it happened to.
            tags: For filtering, as a trace's.
            source: Who says so.
            **fields: Whatever else `Memory.remember` takes: `observed_at_ms`, `salience` ...
        """
        from hikmah.memory import knowledge_writing as writing

        event = {
            "event_type": event_type,
            "session_id": session_id,
            "agent_id": agent_id,
            "payload": payload,
        }
        with self._lock:
            return writing.append_event(
                self._desk, event, {"tags": list(tags), "source": source, **fields}
            )

    def append_events(self, items: Iterable[Mapping[str, Any]]) -> Batch:
        """Write many events as one commit: each as `append_event` takes it, by name."""
        from hikmah.memory import knowledge_writing as writing

        with self._lock:
            return writing.append_events(self._desk, list(items))

    def query_events(
        self,
        *,
        event_type: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        limit: int = 50,
        as_of: AsOf = None,
    ) -> EventList:
        """Return events, newest first: those of a type, a session, an agent."""
        from hikmah.memory import knowledge_reading as reading

        with self._lock:
            return reading.events(
                self._desk,
                event_type=event_type,
                session=session_id,
                agent=agent_id,
                limit=limit,
                as_of=as_of,
            )

    def query_events_by_type(
        self, event_type: str, *, limit: int = 50, as_of: AsOf = None
    ) -> EventList:
        """Return the events of a type, newest first."""
        return self.query_events(event_type=event_type, limit=limit, as_of=as_of)

    def query_events_by_session(
        self, session_id: str, *, limit: int = 50, as_of: AsOf = None
    ) -> EventList:
        """Return the events of a session, newest first."""
        return self.query_events(session_id=session_id, limit=limit, as_of=as_of)

    def get_recent_events(self, limit: int = 50, *, as_of: AsOf = None) -> EventList:
        """Return the newest events."""
        return self.query_events(limit=limit, as_of=as_of)

    # ---- entities ----------------------------------------------------------------------

    def get_or_create_entity(
        self, name: str, entity_type: str, *, source: str = DEFAULT_SOURCE, **fields: Any
    ) -> EntityFound:
        """Return the active entity of a name and type, written now when there is none.

        Args:
            name: Its name; case and white space do not tell names apart.
            entity_type: One of `hikmah.model.trace.ENTITY_TYPES`.
            source: Who says so, when it is written.
            **fields: Whatever else `Memory.remember` takes.
        """
        from hikmah.memory import knowledge_writing as writing

        with self._lock:
            return writing.get_or_create_entity(
                self._desk, name, entity_type, {"source": source, **fields}
            )

    def rename_entity(
        self,
        entity: str,
        name: str,
        *,
        entity_type: str | None = None,
        source: str = DEFAULT_SOURCE,
        **fields: Any,
    ) -> EntityFound:
        """Give an entity another name, or type; its id stays, its names so far are aliases.

        A name that another entity of the type has makes one entity of the two.
        """
        from hikmah.memory import knowledge_writing as writing

        with self._lock:
            return writing.rename_entity(
                self._desk, entity, name, entity_type, {"source": source, **fields}
            )

    def get_entity(
        self,
        entity: str,
        *,
        entity_type: str | None = None,
        history: bool = False,
        statuses: Iterable[str] | None = None,
        as_of: AsOf = None,
    ) -> EntityDetail:
        """Return an entity with its facts and relationships, active ones unless told otherwise.

        Args:
            entity: Id, prefix or name.
            entity_type: Of which type, when several entities have the name.
            history: Also facts and relationships that were superseded or deprecated.
            statuses: Only facts and relationships with one of these statuses.
            as_of: A commit, a sequence number or a time: answer as it would have been then.

        Raises:
            NotFoundError: There is no such entity.
            AmbiguousIdError: A name or prefix fits several; they are listed.
        """
        from hikmah.memory import knowledge_reading as reading

        with self._lock:
            return reading.entity(
                self._desk,
                entity,
                entity_type=entity_type,
                history=history,
                statuses=statuses,
                as_of=as_of,
            )

    def query_entities_by_type(
        self, entity_type: str, *, limit: int = 100, as_of: AsOf = None
    ) -> EntityList:
        """Return the active entities of a type, by name."""
        return self.list_entities(entity_type=entity_type, limit=limit, as_of=as_of)

    def list_entities(
        self,
        *,
        entity_type: str | None = None,
        include_deprecated: bool = False,
        limit: int = 100,
        as_of: AsOf = None,
    ) -> EntityList:
        """Return active entities by name, all or those of a type."""
        return self.search_entities(
            "",
            entity_type=entity_type,
            include_deprecated=include_deprecated,
            limit=limit,
            as_of=as_of,
        )

    def search_entities(
        self,
        text: str,
        *,
        entity_type: str | None = None,
        include_deprecated: bool = False,
        limit: int = 100,
        as_of: AsOf = None,
    ) -> EntityList:
        """Return entities a name of which, now or before, holds every word of a text."""
        from hikmah.memory import knowledge_reading as reading

        with self._lock:
            return reading.entities(
                self._desk,
                text,
                entity_type=entity_type,
                retired=include_deprecated,
                limit=limit,
                as_of=as_of,
            )

    def neighbours(
        self, entity: str, *, depth: int = 1, limit: int = 100, as_of: AsOf = None
    ) -> Neighbourhood:
        """Return the entities around one, up to 3 steps away, and how they are related."""
        from hikmah.memory import knowledge_reading as reading

        with self._lock:
            return reading.around(self._desk, entity, depth=depth, limit=limit, as_of=as_of)

    # ---- facts and relationships -------------------------------------------------------

    def add_fact(
        self,
        entity: str,
        predicate: str,
        object: str,  # noqa: A002 - the fact's own word
        source: str = DEFAULT_SOURCE,
        confidence: float | None = None,
        *,
        multi: bool = False,
        supersedes: str | None = None,
        **fields: Any,
    ) -> Remembered:
        """Write that `predicate: object` holds of an entity.

        Args:
            entity: Id, prefix or name.
            predicate: What about it: `role`, `team` ...
            object: What it is.
            source: Who says so.
            confidence: How sure the source is, 0..1, default 0.5.
            multi: Whether the predicate may have several objects at once; then facts of it
                never disagree.
            supersedes: The fact of this entity that this one replaces.
            **fields: Whatever else `Memory.remember` takes: `valid_from_ms`, `verified` ...

        Returns:
            Where it stands, and the active facts it disagrees with.
        """
        from hikmah.memory import knowledge_writing as writing

        fact = {"predicate": predicate, "object": object, "multi": multi}
        given = {"source": source, "confidence": confidence, "supersedes": supersedes, **fields}
        with self._lock:
            return writing.add_fact(self._desk, entity, fact, given)

    def supersede_fact(
        self, old: str, new: str, *, reason: str | None = None, source: str = DEFAULT_SOURCE
    ) -> Switched:
        """Put one fact in the place of another of the same entity; both stay in the history."""
        from hikmah.memory import knowledge_writing as writing

        with self._lock:
            return writing.supersede_fact(self._desk, old, new, reason=reason, source=source)

    def deprecate(self, target: str, *, reason: str, source: str = DEFAULT_SOURCE) -> Batch:
        """Retire a fact, a relationship, or an entity (all its traces) without a successor."""
        from hikmah.memory import knowledge_writing as writing

        with self._lock:
            return writing.deprecate(self._desk, target, reason=reason, source=source)

    def add_relationship(
        self,
        from_: str,
        to: str,
        relation_type: str,
        *,
        source: str = DEFAULT_SOURCE,
        confidence: float | None = None,
        supersedes: str | None = None,
        **fields: Any,
    ) -> Remembered:
        """Write that one entity is related to another; it is seen from both."""
        from hikmah.memory import knowledge_writing as writing

        given = {"source": source, "confidence": confidence, "supersedes": supersedes, **fields}
        with self._lock:
            return writing.add_relationship(self._desk, from_, to, relation_type, given)

    # ---- summaries, stats, hash --------------------------------------------------------

    def generate_summary(
        self, entity: str, *, budget_chars: int | None = None, as_of: AsOf = None
    ) -> EntitySummary:
        """Compute an entity's summary, and keep a copy (none of what was, with `as_of`).

        Args:
            entity: Id, prefix or name.
            budget_chars: How long the text may be at most: 600. With it no copy is kept.
            as_of: A moment to answer as of.
        """
        from hikmah.memory import summarizing

        with self._lock:
            return summarizing.generate(self._desk, entity, budget_chars=budget_chars, as_of=as_of)

    def get_summary(self, entity: str) -> EntitySummary | None:
        """Return the copy that was kept last, as it was then, or None when there is none."""
        from hikmah.memory import summarizing

        with self._lock:
            return summarizing.kept(self._desk, entity)

    def summarize(
        self, entities: Iterable[str] | None = None, *, older_than_ms: int = 0
    ) -> Summarized:
        """Refresh the copies of several summaries, for a schedule.

        Args:
            entities: Which; all active ones when None.
            older_than_ms: Only copies at least so old, and those that are missing.
        """
        from hikmah.memory import summarizing

        with self._lock:
            return summarizing.summarize(
                self._desk,
                None if entities is None else list(entities),
                older_than_ms=older_than_ms,
            )

    def get_stats(self, *, as_of: AsOf = None) -> KnowledgeStats:
        """Return how much there is of everything."""
        from hikmah.memory import knowledge_reading as reading

        with self._lock:
            return reading.stats(self._desk, as_of=as_of)

    def compute_hash(self, *, everything: bool = False, as_of: AsOf = None) -> KnowledgeHash:
        """Return SHA-256 over the ids of events and entities, or of every record.

        Two machines that hold the same records compute the same.
        """
        from hikmah.memory import knowledge_reading as reading

        with self._lock:
            return reading.fingerprint(self._desk, everything=everything, as_of=as_of)

    # ---- evolution ---------------------------------------------------------------------

    def evolve(self, *, parts: Iterable[str] = (), as_of: AsOf = None) -> Evolution:
        """Return what the engine proposes, with a digest; nothing is written.

        Args:
            parts: Only proposals of these parts; all when empty.
            as_of: A moment to answer as of.
        """
        from hikmah.memory import evolving

        with self._lock:
            return evolving.propose(self._desk, self._evolution, parts=tuple(parts), as_of=as_of)

    def apply_evolution(
        self, digest: str, *, parts: Iterable[str] = (), source: str = "evolution"
    ) -> Evolved:
        """Write exactly the proposals that a digest was printed for, in one commit.

        A person's decision: refused inside an agent session.

        Raises:
            IntegrityError: The proposals are others now: the ledger, or the time, moved on.
            AgentSessionError: This is an agent session.
        """
        from hikmah.memory import evolving

        with self._lock:
            return evolving.apply(
                self._desk, self._evolution, digest, parts=tuple(parts), source=source
            )
