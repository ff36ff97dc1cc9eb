"""Ledgers to measure on: generated traces, written through the library's door."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from hikmah.ledger import space
from hikmah.memory import Memory
from hikmah.model.trace import Trace
from tests.bench import synthetic
from tests.bench.verify import written


def items(count: int) -> Iterator[dict[str, object]]:
    """Yield arguments of `Memory.remember` for so many traces, each with its own content."""
    for number, trace in enumerate(synthetic.traces(count)):
        yield _item(number, trace)


def _item(number: int, trace: Trace) -> dict[str, object]:
    return {
        "content": f"{trace.content} {number}",
        "kind": trace.kind,
        "source": trace.provenance.source,
        "verified": trace.provenance.verified,
        "tags": trace.tags,
        "salience": trace.salience,
        "confidence": trace.confidence,
        "claim": trace.claim,
        "deadline_ms": trace.deadline_ms,
    }


@contextlib.contextmanager
def opened(store: Path, count: int) -> Iterator[Memory]:
    """Make a bare store with a ledger of so many traces, one a commit, packed and indexed."""
    space.compact(written(store, count))
    with Memory.open(store, environ={}) as memory:
        memory.status()
        yield memory
