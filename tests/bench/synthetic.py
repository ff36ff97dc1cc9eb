"""Made-up traces for benchmarks: the same ones on every machine, with the shape of notes.

Words follow Zipf's law over a vocabulary of pronounceable ones, so that a few terms stand
nearly everywhere, as in real text. One trace in twelve is a claim, one in twenty a
commitment with a deadline.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from itertools import accumulate

from hikmah.model.records import Stored, blob_id, canonical
from hikmah.model.trace import Claim, Kind, Provenance, Trace

VOCABULARY = 40_000
EPOCH_MS = 1_700_000_000_000
MINUTE_MS = 60_000
_ONSETS = [*"bcdfghjklmnprstvwz", "br", "ch", "cl", "dr", "gr", "pl", "sh", "sl", "st", "tr"]
_VOWELS = [*"aeiou", "ai", "ea", "ee", "io", "oa", "ou"]
_CODAS = ["", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk", "st"]
_PLAIN_KINDS: tuple[Kind, ...] = ("observation", "episode", "belief", "procedure", "preference")


def vocabulary(size: int = VOCABULARY, seed: int = 0) -> list[str]:
    """Return distinct words, the commonest first."""
    chance = random.Random(f"words {seed}")
    words: dict[str, None] = {}
    while len(words) < size:
        syllables = range(1 + chance.randrange(4))
        parts = (chance.choice(p) for _ in syllables for p in (_ONSETS, _VOWELS, _CODAS))
        words["".join(parts)] = None
    return list(words)


def traces(count: int, seed: int = 0, words: int = 28) -> Iterator[Trace]:
    """Yield traces of about so many words (28 make a record of some 800 bytes, 500 packed).

    Args:
        count: How many.
        seed: Another seed gives other traces over the same vocabulary.
        words: Words in a trace, on average.
    """
    chance = random.Random(f"traces {seed}")
    known = vocabulary()
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(known))))
    for number in range(count):
        length = max(1, round(chance.gauss(words, words / 4)))
        text = " ".join(chance.choices(known, cum_weights=weights, k=length))
        yield _trace(number, text, chance)


def _trace(number: int, text: str, chance: random.Random) -> Trace:
    claim = None
    if number % 12 == 5:
        claim = Claim(key=f"setting {number // 36}", value=f"value {number % 3}")
    due = number % 20 == 7
    return Trace(
        content=text,
        kind="commitment" if due else chance.choice(_PLAIN_KINDS),
        created_at_ms=EPOCH_MS + number * MINUTE_MS,
        deadline_ms=EPOCH_MS + (number + 3000) * MINUTE_MS if due else None,
        tags=(f"topic-{number % 50}",),
        salience=chance.randrange(11) / 10,
        confidence=chance.randrange(11) / 10,
        claim=claim,
        provenance=Provenance(source=f"agent:{number % 7}", verified=number % 9 == 0),
    )


def stored(count: int, seed: int = 0, words: int = 28) -> Iterator[Stored]:
    """Yield the same traces as records of a ledger, numbered from 1."""
    for seq, trace in enumerate(traces(count, seed, words), start=1):
        data = canonical(trace)
        yield Stored(id=blob_id(data), seq=seq, record=trace, data=data)


def queries(count: int, seed: int = 0, terms: int = 8) -> list[str]:
    """Return sentence-long queries over the same vocabulary."""
    chance = random.Random(f"queries {seed}")
    known = vocabulary()
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(known))))
    return [" ".join(chance.choices(known, cum_weights=weights, k=terms)) for _ in range(count)]


def digest(count: int = 100) -> str:
    """Return a digest of the first traces; a figure measured over others cannot be compared."""
    total = hashlib.sha256()
    for trace in traces(count):
        total.update(canonical(trace))
    return total.hexdigest()[:16]
