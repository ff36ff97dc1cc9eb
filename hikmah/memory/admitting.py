"""Records on their way in: checked one by one against the state they meet.

Rules the module keeps:

1. Everything that is written comes through here: the rules of a record by itself, then those
   of its links, against the index at the very tip and the records before it.
2. A record that is there already (the same bytes, or the same idempotency key) is told and
   not written again.
3. Records are asked for one at a time, and what is kept of each is what later ones may point
   at: a batch of any size takes bounded room.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from typing import Generic, NamedTuple, TypeVar

from hikmah.errors import (
    BusyError,
    HikmahError,
    IntegrityError,
    InvalidInputError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from hikmah.index.database import Index
from hikmah.index.rows import DamagedIndexError
from hikmah.ledger.append import PACK_FROM_OBJECTS, Appended, append
from hikmah.ledger.ledger import Tip
from hikmah.ledger.staging import NewRecord
from hikmah.memory.desk import Desk
from hikmah.memory.pending import Pending, Written
from hikmah.model import validate
from hikmah.model.links import LinkOutcome
from hikmah.model.records import (
    Record,
    Stored,
    Unknown,
    blob_id,
    canonical,
    is_canonical,
    is_whole,
    read_stored,
)
from hikmah.model.status import Lookup

T = TypeVar("T")
# What is wrong with one record, as opposed to disk, lock or ledger.
REFUSABLE = (InvalidInputError, NotFoundError, RefusedError)
Admit = Callable[[Record, Lookup], LinkOutcome]


class Incoming(NamedTuple):
    """A record to be written, with its exact bytes and id where they are known."""

    record: Record | Unknown
    data: bytes | None = None
    id: str | None = None


class Numbered(Generic[T]):
    """The items of a batch, each made a record as it is read, so often as it is read.

    Args:
        items: What can be read again.
        build: Makes an item a record.
    """

    def __init__(self, items: Iterable[T], build: Callable[[T], Record]) -> None:
        self._items = items
        self._build = build
        self._at: int | None = None

    def __len__(self) -> int:
        """Return how many items there are, counted where they do not say."""
        return len(self._items) if isinstance(self._items, Sized) else sum(1 for _ in self._items)

    def __iter__(self) -> Iterator[Incoming]:
        """Yield each item as a record to be written."""
        return map(Incoming, self.records())

    def records(self) -> Iterator[Record]:
        """Yield each item as a record."""
        for at, item in enumerate(self._items):
            self._at = at
            yield self._build(item)
        self._at = None

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Make an error about an item say which one of several it is."""
        try:
            yield
        except REFUSABLE as e:
            if self._at is not None and len(self) > 1 and (not e.where or e.where[0] == "$"):
                e.message = f"item {self._at + 1}: {e.message}"
                e.where = f"$[{self._at}]{e.where.removeprefix('$')}"
            raise


class Rules(NamedTuple):
    """How records are judged.

    Attributes:
        admit: Checks a record's links against the traces that are there.
        refuse: Takes the error of a record that breaks a rule, which is then left out; without
            it the error stops everything.
        checked: Whether the rules of each record by itself have been checked before.
        by_key: Whether the same idempotency key makes the same record.
    """

    admit: Admit = validate.check_links
    refuse: Callable[[HikmahError], None] | None = None
    checked: bool = False
    by_key: bool = True


class Admission:
    """Takes records in, in order.

    Args:
        desk: Where they are going.
        source: The records. What can be read only once (an iterator) cannot be tried again
            when another program gets in between.
        rules: How they are judged.
        each: Called with each record that is there now, before the next is asked for.
        begin: Called before the first record, each time the source is read.
    """

    def __init__(
        self,
        desk: Desk,
        source: Iterable[Incoming],
        *,
        each: Callable[[Written], None],
        begin: Callable[[], None],
        rules: Rules,
    ) -> None:
        self._desk = desk
        self._source = source
        self._rules = rules
        self._each = each
        self._begin = begin
        self._rounds = 0
        self._running: Generator[NewRecord] | None = None
        # The new records while they are few; many are read back from where they were written.
        self._few: list[NewRecord] = []

    def append(self, *, only_at: str | None = None) -> Appended | None:
        """Write what is new as one commit, and bring the index up to it.

        Args:
            only_at: The commit that the ledger must stand at: what was decided, was decided
                there.

        Returns:
            What was written, with what there is to tell; None when nothing was new.

        Raises:
            IntegrityError: The ledger stands elsewhere than at `only_at`.
        """

        def prepare(tip: Tip) -> Iterator[NewRecord]:
            if only_at is not None and tip.commit != only_at:
                text = f"the ledger moved on from {only_at} to {tip.commit}"
                raise IntegrityError(text, hint="look again first")
            self._stop()
            self._running = self._admitted(tip)
            return self._running

        try:
            appended = self._append(prepare)
        finally:
            self._stop()
        if appended is None:
            return None
        return appended._replace(warnings=(*appended.warnings, *self._take_in(appended)))

    def _append(self, prepare: Callable[[Tip], Iterator[NewRecord]]) -> Appended | None:
        desk = self._desk
        time_s, timeout_s = desk.clock() // 1000, desk.lock_timeout_s
        return self._again_when_damaged(
            lambda: append(desk.ledger, prepare, time_s=time_s, lock_timeout_s=timeout_s)
        )

    def rehearse(self) -> None:
        """Check everything and write nothing: `each` hears what would be there."""
        self._again_when_damaged(self._rehearse)

    def _again_when_damaged(self, step: Callable[[], T]) -> T:
        """Do a step; once more, when the index turns out to be damaged, with it filled anew."""
        try:
            return step()
        except DamagedIndexError:
            self._stop()
            self._desk.opened().recreate()
        return step()

    def _rehearse(self) -> None:
        desk = self._desk
        commit = desk.ledger.tip_commit()
        if commit is None:
            with Index.open(None, language=desk.policy.recall.latin_language) as index:
                deque(self._judged(index, 0), maxlen=0)
            return
        deque(self._admitted(desk.ledger.tip(commit)), maxlen=0)

    def _stop(self) -> None:
        """Let go of the state of the index that records are being judged by."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def _admitted(self, tip: Tip) -> Generator[NewRecord]:
        with self._desk.asking(head=tip.commit) as index:
            yield from self._judged(index, tip.seq)

    def _judged(self, index: Index, seq: int) -> Iterator[NewRecord]:
        """Yield the records that are new, each once it has been checked.

        Raises:
            BusyError: The source has been read before and cannot be read again.
        """
        self._rounds += 1
        if self._rounds > 1 and iter(self._source) is self._source:
            raise BusyError(
                "another program got in between, and what is written can be read only once",
                hint="run it again; nothing was written",
            )
        self._begin()
        self._few.clear()
        state = Pending(index, by_key=self._rules.by_key)
        for incoming in self._source:
            written = self._admit(state, incoming, seq + 1)
            if written is None:
                continue
            new, place = written
            if new is not None:
                seq += 1
                if len(self._few) <= PACK_FROM_OBJECTS:
                    self._few.append(new)
                yield new
            self._each(place)

    def _admit(
        self, state: Pending, incoming: Incoming, seq: int
    ) -> tuple[NewRecord | None, Written] | None:
        """Return a record's place, and what to write unless it is there; None to leave it out."""
        try:
            new = self._made(incoming)
            there = state.known(new.id, new.record)
            if there is not None:
                return None, there
            if not isinstance(new.record, Unknown) and self._rules.admit(new.record, state).already:
                return None
        except REFUSABLE as e:
            if self._rules.refuse is None:
                raise
            self._rules.refuse(e)
            return None
        written = Written(new.id, seq, new.record, deduplicated=False)
        state.add(written)
        return new, written

    def _made(self, incoming: Incoming) -> NewRecord:
        """Return a record with its bytes and id, by itself in order.

        Raises:
            InvalidInputError: It breaks a rule, or bytes or id are another record's.
        """
        record, data, record_id = incoming
        if not self._rules.checked and not isinstance(record, Unknown):
            validate.check(record, policy=self._desk.policy)
        if data is None and not isinstance(record, Unknown):
            data = canonical(record)
        elif data is None or not _says(data, record):
            raise InvalidInputError("the bytes given are not the record's, in canonical form")
        found = blob_id(data, self._desk.ledger.algorithm)
        if record_id not in (None, found):
            raise InvalidInputError(f"the record's id is {found}, not {record_id}")
        return NewRecord(found, record, data)

    def _take_in(self, appended: Appended) -> tuple[str, ...]:
        """Bring the index up to the append; what fails here is made good by the next reader."""
        old, tip = appended.old, appended.tip
        try:
            if len(self._few) < tip.seq - old.seq:
                self._desk.index(tip.commit)
                return ()
            stored = [
                Stored(id=new.id, seq=seq, record=new.record, data=new.data)
                for seq, new in enumerate(self._few, start=old.seq + 1)
            ]
            index = self._desk.opened()
            ledger = index.ledger
            if ledger is not None:
                index.extend(stored, ledger=ledger, base=old.commit, head=tip.commit)
        except (StoreError, BusyError) as e:
            return (f"the index will be brought up to date later: {e.message}",)
        return ()


def _says(data: bytes, record: Record | Unknown) -> bool:
    """Tell whether bytes are canonical and hold a record, with fields of a newer version too."""
    if not isinstance(record, Unknown) and is_whole(record, data):
        return True
    return is_canonical(data) and read_stored(data) == record
