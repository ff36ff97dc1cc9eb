"""Moments of the ledger: what `as_of` names, and the clock it is answered by.

A commit means its history, a sequence number the records up to it, a time those written up
to it. The clock is then that moment's (for a commit or a number, the newest record's), unless
the caller fixed one, as a replayed receipt does.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from msgspec import Struct

from hikmah.errors import IntegrityError, NotFoundError
from hikmah.index.database import Index
from hikmah.index.rows import Cut
from hikmah.memory.desk import Desk
from hikmah.model.records import Unknown, record_time_ms
from hikmah.model.trace import FULL_ID

_SEQUENCE = r"[0-9]{1,8}"


class Moment(Struct, frozen=True):
    """A moment of the ledger: the index to ask, the cut in it, the commit, the clock."""

    asked: Index
    cut: Cut | None
    head: str
    now_ms: int


@contextlib.contextmanager
def moment(desk: Desk, index: Index, as_of: str | int | None) -> Iterator[Moment]:
    """Give the moment of the ledger that `as_of` names; now when it names none."""
    head = index.head or ""
    if as_of is None:
        yield Moment(index, None, head, desk.clock())
        return
    text = str(as_of).strip().lower()
    if re.fullmatch(FULL_ID, text):
        with _commit(desk, index, text) as at:
            yield at
    elif re.fullmatch(_SEQUENCE, text):
        cut = Cut(seq=int(text))
        yield Moment(index, cut, head, _clock(desk, _newest_ms(index, int(text))))
    else:
        from hikmah.model.deadline import parse_time  # only for a time in words

        at_ms = parse_time(str(as_of), now_ms=desk.clock(), tz=desk.tz).ms
        yield Moment(index, Cut(written_ms=at_ms), head, _clock(desk, at_ms))


def _clock(desk: Desk, moment_ms: int) -> int:
    return desk.clock() if desk.fixed_clock else moment_ms


@contextlib.contextmanager
def _commit(desk: Desk, index: Index, commit: str) -> Iterator[Moment]:
    """Give a commit's history: a cut of the index, or an index of its own after a join."""
    from hikmah.ledger.bulk import ObjectReader  # only to look at a commit
    from hikmah.ledger.chain import stored_between, tree_changes

    ledger = desk.ledger
    try:
        tip = ledger.tip(commit, ledger.store.read)
    except IntegrityError as e:
        raise _not_in_history(commit) from e
    root = ledger.tip(index.head or "").root
    if any(
        c.old is not None for c in tree_changes(ledger.reader(), tip.root, root, ledger.algorithm)
    ):
        raise _not_in_history(commit)
    if index.is_prefix(tip.seq):
        now_ms = _clock(desk, _newest_ms(index, tip.seq))
        yield Moment(index, Cut(seq=tip.seq), commit, now_ms)
        return
    with (
        ObjectReader(ledger.store) as reader,
        Index.open(None, language=desk.policy.recall.latin_language) as own,
    ):
        records = stored_between(reader.read, None, tip.root, ledger.algorithm)
        own.extend(records or (), ledger=index.ledger or "", base=None, head=commit, reset=True)
        yield Moment(own, None, commit, _clock(desk, _newest_ms(own, tip.seq)))


def _not_in_history(commit: str) -> NotFoundError:
    return NotFoundError(
        f"commit {commit} is not in this ledger's history",
        hint="`git log refs/hikmah/<ledger>` lists its commits",
        where="as_of",
    )


def _newest_ms(index: Index, seq: int) -> int:
    """Return when the newest record up to a sequence number was made; 0 when there is none."""
    stored = index.newest(seq)
    if stored is None or isinstance(stored.record, Unknown):
        return 0
    return record_time_ms(stored.record)
