"""Writing ready records as they come: what an import goes through.

One commit and one pack for all of them, all or nothing, in bounded memory: the source is
read one record at a time, under the writer lock.

Example:
    found = write_stream(desk, (Incoming(record) for record in parsed), each=note_place)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from hikmah.errors import HikmahError
from hikmah.memory import writing
from hikmah.memory.admitting import Admission, Admit, Incoming, Rules
from hikmah.memory.desk import Desk
from hikmah.memory.pending import Written
from hikmah.model.validate import check_links


class Streamed(NamedTuple):
    """What a stream wrote: the commit (None: nothing new), how many records, what to tell."""

    commit: str | None
    written: int
    deduplicated: int
    warnings: tuple[str, ...]


def write_stream(
    desk: Desk,
    incoming: Iterable[Incoming],
    *,
    each: Callable[[Written], None] | None = None,
    refuse: Callable[[HikmahError], None] | None = None,
    admit: Admit = check_links,
    by_key: bool = True,
    dry_run: bool = False,
) -> Streamed:
    """Write records as one commit, as they come.

    Args:
        desk: Where to write.
        incoming: The records. An iterator is read once: when another program moves the ref
            meanwhile, nothing is written. What can be read again is then tried again.
        each: Called with each record that is there now, before the next is asked for.
        refuse: Called with what is wrong with a record, which is then left out; without it
            the error stops everything.
        admit: Checks a record's links against the traces that are there.
        by_key: Whether the same idempotency key makes the same record.
        dry_run: Check and count, and write nothing.

    Raises:
        HikmahError: As for every write; nothing was written.
    """
    counts = Counter[bool]()

    def note(written: Written) -> None:
        counts[written.deduplicated] += 1
        if each is not None:
            each(written)

    rules = Rules(admit=admit, refuse=refuse, by_key=by_key)
    admission = Admission(desk, incoming, each=note, begin=counts.clear, rules=rules)
    if dry_run:
        admission.rehearse()
        return Streamed(None, counts[False], counts[True], desk.told())
    commit, warnings = writing.admit(desk, admission)
    return Streamed(commit, counts[False], counts[True], warnings)
