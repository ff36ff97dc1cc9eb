"""Minimum score: how often one rare word, and one very common word, bring a trace back.

The rest of the query is words that stand nowhere, which is the hardest case for a match. A
rare word stands in one trace; a very common one in at least half of all.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from hikmah.index.database import Index
from hikmah.model.policy import DEFAULTS
from hikmah.model.records import Stored, blob_id, canonical
from hikmah.model.trace import Trace
from hikmah.views.corpus import Corpus
from hikmah.views.recall import recall
from hikmah.views.results import Query
from tests.bench import synthetic
from tests.bench.measuring import Row

LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128)
TRIES = 50
COMMON = "buildlog"
AGE_MS = 365 * 86_400_000


def run(sizes: Sequence[int]) -> list[Row]:
    """Return, by ledger size and query length, the share of queries that brought a trace."""
    rows: list[Row] = []
    for size in (10, 100, *sizes):
        corpus = _corpus(size)
        for length in LENGTHS:
            rare = [
                _found(corpus, _word("rare", i % (size // 2) + 1), length, i) for i in range(TRIES)
            ]
            common = [_found(corpus, COMMON, length, i) for i in range(TRIES)]
            rows.append(
                {
                    "traces": size,
                    "query words": length,
                    "rare word found": sum(rare) / TRIES,
                    "common word found": sum(common) / TRIES,
                }
            )
    return rows


def _corpus(size: int) -> Corpus:
    """Return made-up traces, a year old at the query: every second one has the common word."""
    index = Index.open(None, language="english")
    stored = []
    for number, made in enumerate(synthetic.traces(size), 1):
        rare = f" {_word('rare', number // 2)} {COMMON}" if number % 2 == 0 else ""
        trace = Trace(content=made.content + rare, created_at_ms=synthetic.EPOCH_MS)
        data = canonical(trace)
        stored.append(Stored(id=blob_id(data), seq=number, record=trace, data=data))
    index.extend(stored, ledger="0" * 40, base=None, head="1" * 40)
    return index.corpus()


def _word(start: str, number: int) -> str:
    """Return a word of letters alone for a number."""
    return start + "".join("qxjkvzwyhb"[int(digit)] for digit in str(number))


def _found(corpus: Corpus, word: str, length: int, seed: int) -> bool:
    """Tell whether a query of one known word and `length - 1` unknown ones finds anything."""
    chance = random.Random(f"{word} {length} {seed}")
    unknown = [_word("zz", chance.randrange(10**9)) for _ in range(length - 1)]
    query = Query(text=" ".join([word, *unknown]))
    return bool(recall(corpus, query, DEFAULTS, now_ms=synthetic.EPOCH_MS + AGE_MS).results)
