"""Knowledge: cold commands over entities and facts, however many others there are.

Of each ledger's traces a fifth are entities, three fifths facts, and the rest relationships,
events and claims. What is asked for has the same size everywhere: an entity with three facts
and two relationships, ten disputed keys, twenty proposals. Target: at most twice the time of
the smallest ledger. Commands that look at everything are timed too, without a target.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from hikmah.memory import Memory
from tests.bench import synthetic
from tests.bench.measuring import ROUNDS, Row, interleaved, process

TARGET = 2.0
DISPUTED, AGREED = 10, 20
BATCH = 10_000
EPOCH_MS = synthetic.EPOCH_MS
MEASURED = {
    "entity show": ["entity", "show", "thing 7"],
    "entity summary": ["entity", "summary", "thing 7"],
    "entity neighbours": ["entity", "neighbours", "thing 7", "--depth", "2"],
    "entity search": ["entity", "search", "thing 7", "--limit", "10"],
    "event list": ["event", "list", "--session", "session 3", "--recent", "5"],
    "conflicts": ["conflicts"],
    "consolidate": ["consolidate"],
}
WHOLE = {
    "entity list": ["entity", "list"],
    "stats": ["stats"],
    "hash": ["hash"],
    "evolve": ["evolve"],
}


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure each command in a process of its own, on ledgers of these sizes in turn."""
    with tempfile.TemporaryDirectory() as folder:
        stores = {size: Path(folder) / str(size) for size in sizes}
        for size, store in stores.items():
            write(store, size)
        actions = {
            (name, size): _command(store, words)
            for name, words in (MEASURED | WHOLE).items()
            for size, store in stores.items()
        }
        sizes_of = {place: len(action()) for place, action in actions.items()}
        times = interleaved({f"{n} {s}": a for (n, s), a in actions.items()}, ROUNDS)
    return [
        _row(name, size, times[f"{name} {size}"], times[f"{name} {sizes[0]}"], sizes_of[name, size])
        for name in MEASURED | WHOLE
        for size in sizes
    ]


def _row(name: str, size: int, took_s: float, least_s: float, told_bytes: int) -> Row:
    ratio = took_s / least_s
    row: Row = {"command": name, "traces": size, "ms": 1000 * took_s, "ratio": ratio}
    row["bytes told"] = told_bytes
    if name in MEASURED:
        row |= {"target": TARGET, "met": ratio <= TARGET}
    return row


def _command(store: Path, words: Sequence[str]) -> Callable[[], bytes]:
    return process("-m", "hikmah", "--store", str(store), "--now", "2026-01-01", *words)


def write(store: Path, size: int) -> None:
    """Make a bare store whose ledger has so many traces, and its index."""
    memory, _ = Memory.init(store, standalone=True, environ={}, now_ms=EPOCH_MS)
    with memory:
        things = size // 5
        ids = _written(memory, _entities(things))
        _written(memory, _facts(ids))
        _written(memory, _others(ids, size - 4 * things))
        memory.status()


def _written(memory: Memory, items: Iterator[dict[str, Any]]) -> list[str]:
    """Write items, many a commit; return their ids."""
    ids: list[str] = []
    while batch := list(islice(items, BATCH)):
        ids += [one.id for one in memory.remember_batch(batch).items]
    return ids


def _entities(count: int) -> Iterator[dict[str, Any]]:
    for n in range(count):
        entity = {"name": f"thing {n}", "entity_type": ("code", "project", "person")[n % 3]}
        yield {"content": f"thing {n}", "kind": "belief", "entity": entity, "source": "bench"}


def _facts(ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    words = synthetic.vocabulary()
    for n, entity in enumerate(ids):
        for predicate in ("owner", "language", "state"):
            said = words[(n * 7 + len(predicate)) % len(words)]
            yield {
                "content": f"thing {n} {predicate}: {said}",
                "kind": "belief",
                "fact": {"entity": entity, "predicate": predicate, "object": said},
                "source": f"source {n % 9}",
            }


def _others(ids: Sequence[str], count: int) -> Iterator[dict[str, Any]]:
    """Yield disputed and agreed claims, two relationships of one entity, then events."""
    fixed: list[dict[str, Any]] = [
        {"content": f"{key} {said}", "claim": (key, said), "source": source, "verified": True}
        for key, said, source in _claims()
    ]
    for start, goal in ((7, 8), (9, 7)):
        ends = {"from": ids[start], "to": ids[goal], "relation_type": "uses"}
        fixed.append({"content": f"{start} uses {goal}", "kind": "belief", "relationship": ends})
    yield from fixed
    for n in range(count - len(fixed)):
        event = {"event_type": "tick", "session_id": f"session {n // 5}", "payload": {"n": n}}
        yield {"content": f"tick {n}", "kind": "episode", "event": event}


def _claims() -> Iterator[tuple[str, str, str]]:
    for n in range(DISPUTED):
        yield from ((f"disputed {n}", said, "a") for said in ("yes", "no"))
    for n in range(AGREED):
        yield from ((f"agreed {n}", "yes", source) for source in ("a", "b"))
