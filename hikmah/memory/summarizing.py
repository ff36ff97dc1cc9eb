"""Summaries through the door: computed from the ledger, copied beside the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from hikmah.errors import InvalidInputError
from hikmah.index.classes import EntityClass
from hikmah.index.database import Index
from hikmah.memory.desk import Desk
from hikmah.memory.knowledge_reading import At, at_moment, find
from hikmah.memory.knowledge_results import Summarized
from hikmah.views.entities import EntityView
from hikmah.views.summaries import BUDGET_CHARS, EntitySummary, is_stale, summary

_DECODER = msgspec.json.Decoder(EntitySummary)


def generate(
    desk: Desk, text: str, *, budget_chars: int | None, as_of: str | int | None
) -> EntitySummary:
    """Compute a summary and keep a copy; see `Knowledge.generate_summary`."""
    if budget_chars is not None and budget_chars < 1:
        raise InvalidInputError(
            f"a budget of {budget_chars} characters holds nothing", where="budget_chars"
        )

    def question(index: Index) -> EntitySummary:
        with at_moment(desk, index, as_of) as at:
            one, view = find(desk, at, text)
            return summarized(at, one, view, budget_chars or BUDGET_CHARS)

    fresh = desk.answer(question)
    if budget_chars is None and as_of is None:
        keep(desk, [fresh])
    return fresh


def summarized(
    at: At, one: EntityClass, view: EntityView, budget_chars: int = BUDGET_CHARS
) -> EntitySummary:
    """Return the summary of an entity as of a moment."""
    detail = at.knowledge.detail(one, view)
    return summary(detail, now_ms=at.knowledge.now_ms, budget_chars=budget_chars)


def kept(desk: Desk, text: str) -> EntitySummary | None:
    """Return the copy that was kept last; see `Knowledge.get_summary`."""

    def question(index: Index) -> EntitySummary | None:
        with at_moment(desk, index, None) as at:
            one, _ = find(desk, at, text)
            return copy_of(index, one.ids)

    return desk.answer(question)


def copy_of(index: Index, ids: Iterable[str]) -> EntitySummary | None:
    """Return the newest copy under any id of an entity, or None; one of no use is none."""
    found = [copy for one in ids if (copy := decoded(index.kept_summary(one))) is not None]
    return max(found, key=lambda copy: (copy.generated_at_ms, copy.entity), default=None)


def decoded(data: bytes | None) -> EntitySummary | None:
    """Return a copy from its bytes; None for what another version wrote."""
    if data is None:
        return None
    try:
        return _DECODER.decode(data)
    except msgspec.MsgspecError:
        return None


def keep(desk: Desk, summaries: Iterable[EntitySummary]) -> bool:
    """Keep copies; return whether all could be kept."""
    copies = [(one.entity, msgspec.json.encode(one)) for one in summaries]
    return not copies or desk.index().keep_summaries(copies)


def summarize(desk: Desk, entities: Sequence[str] | None, *, older_than_ms: int) -> Summarized:
    """Refresh copies that are missing, old, or of no use; see `Knowledge.summarize`."""

    def question(index: Index) -> tuple[list[EntitySummary], int, list[str]]:
        with at_moment(desk, index, None) as at:
            chosen = _chosen(desk, at, entities)
            due = [
                (one, view)
                for one, view in chosen
                if _is_old(copy_of(index, one.ids), at.knowledge.now_ms, older_than_ms)
            ]
            fresh = [summarized(at, one, view) for one, view in due]
            changed = [
                new.entity
                for new, (one, _) in zip(fresh, due, strict=True)
                if (old := copy_of(index, one.ids)) is None or is_stale(old, new)
            ]
            return fresh, len(chosen) - len(fresh), changed

    fresh, left, changed = desk.answer(question)
    stored = keep(desk, fresh)
    unchanged = left + len(fresh) - len(changed)
    return Summarized(refreshed=tuple(changed), unchanged=unchanged, kept=stored)


def _chosen(
    desk: Desk, at: At, entities: Sequence[str] | None
) -> list[tuple[EntityClass, EntityView]]:
    if entities is not None:
        return [find(desk, at, text) for text in entities]
    listed = at.knowledge.graph.entities().classes
    return [(one, view) for one in listed if (view := at.knowledge.entity(one)) is not None]


def _is_old(copy: EntitySummary | None, now_ms: int, older_than_ms: int) -> bool:
    return copy is None or now_ms - copy.generated_at_ms >= older_than_ms
