"""Where in a trace the terms of a query stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hikmah.index.terms import field_texts, normal_tag, terms_in
from hikmah.model.trace import Trace
from hikmah.views.results import Matched


def matched(
    trace: Trace, asked: Sequence[str], tags: Sequence[str], language: str
) -> tuple[Matched, ...]:
    """Return the query's terms, then its tags, that stand in a trace, in the query's order."""
    wanted = frozenset(asked)
    found: dict[str, list[str]] = {}
    for name, texts in _fields(trace):
        for term in terms_in(texts, wanted, language):
            found.setdefault(term, []).append(name)
    carried = set(map(normal_tag, trace.tags))
    hits = [Matched(term=t, where=tuple(found[t])) for t in asked if t in found]
    hits += [Matched(term=t, where=("tags",)) for t in tags if t in carried and t not in found]
    return tuple(hits)


def _fields(trace: Trace) -> Iterator[tuple[str, Iterable[str]]]:
    yield "content", (trace.content,)
    yield from field_texts(trace).items()
