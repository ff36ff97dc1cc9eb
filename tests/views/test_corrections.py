"""Corrections: a thousand histories in which a value changes and a stale copy remains."""

from __future__ import annotations

import random
from typing import NamedTuple

import msgspec

from hikmah.model.trace import Trace
from tests.views.ledgers import NOW_MS, ask, filled, id_of, store, trace

HISTORIES = 1_000
BATCH = 50  # histories that share one ledger, each noise to the others
SUBJECTS = ["ssh port", "admin contact", "backup window", "log level", "disk quota", "build owner"]
PLACES = ["alpha", "bravo", "cargo", "delta", "ember", "fjord", "gamma", "harbor"]
FORMS = [
    "The {s} of host {h} is {v}",
    "{h} has {v} as its {s}",
    "for {h} we use {v} as {s}",
]
PARAPHRASE = "Reminder: the {s} of the host {h} is {v}."


class History(NamedTuple):
    """One value that was corrected, perhaps twice, and a copy of the first one."""

    query: str
    stale: tuple[Trace, ...]
    paraphrase: Trace
    current: Trace


def history(number: int, chance: random.Random) -> History:
    """Return a history about a host of its own."""
    host = f"{chance.choice(PLACES)}{number}"
    subject = chance.choice(SUBJECTS)
    values = chance.sample([f"v{i}x" for i in range(100, 999)], 3)
    rounds = chance.choice([2, 3])

    def said(form: str, value: str, **fields: object) -> Trace:
        text = form.format(s=subject, h=host, v=value)
        return trace(text, created_at_ms=NOW_MS - 1000 + number, **fields)

    versions = [said(FORMS[0], values[0], source="ops")]
    for value in values[1:rounds]:
        versions.append(
            said(chance.choice(FORMS), value, source="bob", supersedes=id_of(versions[-1]))
        )
    paraphrase = said(PARAPHRASE.replace("Reminder: the", "The"), values[0], source="eve")
    return History(f"{subject} of {host}", tuple(versions[:-1]), paraphrase, versions[-1])


def test_the_current_value_is_found_and_the_stale_one_marked() -> None:
    """Faults row 11, over generated histories, also after the index is rebuilt backwards.

    The correction comes back, what it replaced never does unasked, an active paraphrase of
    the replaced value is marked, and provenance is kept.
    """
    chance = random.Random("corrections")
    for start in range(0, HISTORIES, BATCH):
        made = [history(start + i, chance) for i in range(BATCH)]
        records = [t for h in made for t in (*h.stale, h.paraphrase, h.current)]
        stored = store(records)
        grown, rebuilt = filled(stored).corpus(), filled(stored[::-1]).corpus()
        for one in made:
            answer = ask(grown, one.query)
            assert msgspec.json.encode(answer) == msgspec.json.encode(ask(rebuilt, one.query))
            found = {r.id: r for r in answer.results}
            current = found[id_of(one.current)]
            assert current.trace.provenance.source == "bob"
            assert current.also_asserted_by_superseded == ()
            assert id_of(one.stale[-1]) in current.supersedes
            assert not found.keys() & {id_of(t) for t in one.stale}
            assert id_of(one.stale[0]) in found[id_of(one.paraphrase)].also_asserted_by_superseded
