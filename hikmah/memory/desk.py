"""What the verbs work on: a ledger and its index, a policy, a clock.

Rules the module keeps:

1. The index is derived: it is brought up to the ref's head before anything is answered,
   rebuilt when it cannot be, and filled in memory where the disk cannot hold it.
2. When the index is current, nothing of git is read but the ref itself.
3. Time is asked for here and nowhere below.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from hikmah.errors import (
    AmbiguousIdError,
    BusyError,
    IntegrityError,
    InvalidInputError,
    NotFoundError,
    StoreError,
)
from hikmah.index.database import Index
from hikmah.index.rows import DamagedIndexError
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.refs import StrPath
from hikmah.model.policy import Policy
from hikmah.model.records import Stored, Unknown

if TYPE_CHECKING:
    from hikmah.model.session import Session

MIN_PREFIX = 4
# Ids of events were once written with this before them, and may still be.
EVENT_PREFIX = "evt_"
_HEX_DIGITS = frozenset("0123456789abcdef")
# Each time another process moved the index while we computed; it then moved forward.
_MAX_ROUNDS = 20

Progress = Callable[[int], None]
R = TypeVar("R")


class Desk:
    """Everything a verb needs, joined.

    Args:
        ledger: The ledger; it need not have a genesis yet.
        policy: Limits and weights.
        environ: The environment, which shows whether an agent runs this process.
        clock: Returns milliseconds since the epoch.
        lock_timeout_s: How long a write waits for other writers.
        fixed_clock: Whether the clock stands still at a time that somebody chose.
        tz: The zone of times without one.
        progress: Called with the number of records while an index is built.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        policy: Policy,
        environ: Mapping[str, str],
        clock: Callable[[], int],
        lock_timeout_s: float,
        fixed_clock: bool = False,
        tz: str = "UTC",
        progress: Progress | None = None,
    ) -> None:
        self.ledger = ledger
        self.policy = policy
        self.environ = environ
        self.clock = clock
        self.lock_timeout_s = lock_timeout_s
        self.fixed_clock = fixed_clock
        self.tz = tz
        self.progress = progress
        self.warnings: list[str] = []
        self._index: Index | None = None
        self._held: Index | None = None

    @cached_property
    def session(self) -> Session | None:
        """The agent session this process runs in, or None for a person."""
        from hikmah.model.session import detect  # questions ask for nobody's name

        return detect(self.environ)

    def close(self) -> None:
        """Close index and packs; the desk can be used again afterwards."""
        self.ledger.store.close()
        if self._index is not None:
            self._index.close()
            self._index = None

    def told(self) -> tuple[str, ...]:
        """Return what opening has to tell, once."""
        told, self.warnings = tuple(self.warnings), []
        return told

    # ---- the ledger --------------------------------------------------------------------

    def head(self) -> str:
        """Return the commit the ledger's ref holds.

        Raises:
            NotFoundError: The ledger does not exist.
            IntegrityError: Its ref is gone, and this machine remembers a head.
        """
        tip = self.ledger.tip_commit()
        if tip is not None:
            return tip
        if self.ledger.state.read_head() is not None:
            from hikmah.ledger.append import disagreement  # reading commands need no append

            raise disagreement(self.ledger, self.ledger.standing())
        root = self.ledger.store.repository.root
        raise NotFoundError(
            f"no ledger {self.ledger.name!r} in {root}",
            hint="make it with `hikmah init`, take a remote's with `hikmah clone URL`, or name "
            "another with --ledger NAME",
            where=self.ledger.ref,
        )

    def standing_warning(self) -> str:
        """Say that the ref is not where this machine left it: reads go on, writes do not."""
        state, tip = self.ledger.state, self.ledger.tip_commit()
        try:
            known = state.read_head()
            if known is None or tip in (None, known.commit, state.read_next()):
                return ""
        except (IntegrityError, StoreError) as e:
            return f"{e.message}; {e.hint}"
        return (
            f"{self.ledger.ref} is not where this machine left it ({tip}, acknowledged"
            f" {known.commit}): run `hikmah verify-ledger`"
        )

    # ---- the index ---------------------------------------------------------------------

    def answer(self, question: Callable[[Index], R], head: str | None = None) -> R:
        """Ask the index something; one that turns out to be damaged is filled anew."""
        if self._held is not None:
            return question(self._held)
        try:
            return self._ask(question, head)
        except DamagedIndexError:
            self.opened().recreate()
            return self._ask(question, head)

    def _ask(self, question: Callable[[Index], R], head: str | None) -> R:
        with (index := self.index(head)).snapshot():
            return question(index)

    @contextlib.contextmanager
    def asking(self, head: str) -> Iterator[Index]:
        """Hold one state of the index: whatever is asked inside is answered from it.

        Raises:
            DamagedIndexError: The index is damaged; what was asked inside is to be asked anew.
        """
        with (index := self.index(head)).snapshot():
            self._held = index
            try:
                yield index
            finally:
                self._held = None

    def index(self, head: str | None = None) -> Index:
        """Return the index, in step with the ref (or with a head that was just read)."""
        head = head or self.head()
        index = self.opened()
        for _ in range(_MAX_ROUNDS):
            if _head_of(index) == head or self._catch_up(index, head):
                return index
        raise IntegrityError(
            "the index could not be brought up to the ledger's head",
            hint="run `hikmah reindex`",
        )

    def opened(self) -> Index:
        """Return the index as it is, opened once."""
        if self._index is None:
            language = self.policy.recall.latin_language
            self._index = Index.open(self.ledger.state.index_file, language=language)
        return self._index

    def rebuild(self) -> Index:
        """Build the index anew from the ledger."""
        head = self.head()
        index = self.opened()
        index.recreate()
        while not self._extend(index, head, None):
            continue
        return index

    def _catch_up(self, index: Index, head: str) -> bool:
        """Add what the index lacks; False when another process moved it meanwhile."""
        try:
            return self._extend(index, head, index.head)
        except DamagedIndexError:
            index.recreate()
        except (StoreError, BusyError):
            # A disk that is full or not ours to write: answer from memory.
            index.detach()
        return self._extend(index, head, _head_of(index))

    def _extend(self, index: Index, head: str, base: str | None) -> bool:
        from hikmah.ledger.chain import stored_between  # only when the index is behind
        from hikmah.ledger.objects import parse_commit
        from hikmah.ledger.widening import Widening

        read = self.ledger.reader()
        root = parse_commit(read(head)[1]).tree
        genesis = self.ledger.genesis(root, read)
        known = self._root_of(base) if index.ledger == genesis.ledger else None
        algorithm = self.ledger.algorithm
        with contextlib.closing(Widening(read, self.ledger.store)) as reader:
            new = stored_between(reader.read, known, root, algorithm) if known else None
            reset = new is None
            if new is None:
                new = stored_between(reader.widened().read, None, root, algorithm)
            unknown: list[str] = []
            extended = index.extend(
                _noting_unknown(new or (), unknown),
                ledger=genesis.ledger,
                base=base,
                head=head,
                reset=reset,
                progress=self.progress,
            )
        if unknown:
            self.warnings.append(
                f"records of types that this version does not know: {len(unknown)}"
                f" ({', '.join(sorted(set(unknown))[:5])}); they are kept, and left out of"
                " every answer: upgrade hikmah to see them"
            )
        return extended

    def _root_of(self, commit: str | None) -> str | None:
        """Return a commit's tree, or None when there is no such commit any more."""
        if commit is None:
            return None
        from hikmah.ledger.objects import parse_commit

        try:
            return parse_commit(self.ledger.store.read(commit)[1]).tree
        except IntegrityError:
            return None

    # ---- ids ---------------------------------------------------------------------------

    def resolve(self, index: Index, text: str, *, where: str = "id") -> str:
        """Return the full id that a prefix of at least four digits means.

        Raises:
            InvalidInputError: Not hexadecimal, or too short.
            NotFoundError: No record's id starts so.
            AmbiguousIdError: Several do; they are listed.
        """
        prefix = text.strip().lower().removeprefix(EVENT_PREFIX)
        if not _HEX_DIGITS.issuperset(prefix) or len(prefix) < MIN_PREFIX:
            raise InvalidInputError(
                f"{text[:80]!r} is not an id",
                hint=f"an id is hexadecimal; a unique prefix of {MIN_PREFIX} digits will do",
                where=where,
            )
        found = index.resolve(prefix)
        if not found:
            raise NotFoundError(
                f"no record has an id that starts with {prefix}",
                hint="`hikmah log` lists what is there",
                where=where,
            )
        if len(found) > 1:
            raise AmbiguousIdError(
                f"{prefix} fits several records: {', '.join(found)}",
                candidates=tuple(found),
                hint="give more digits",
            )
        return found[0]


def _noting_unknown(new: Iterable[Stored], unknown: list[str]) -> Iterator[Stored]:
    """Pass records on, and collect the types of those that no view will show."""
    for stored in new:
        if isinstance(stored.record, Unknown):
            unknown.append(stored.record.type)
        yield stored


def _head_of(index: Index) -> str | None:
    """Return an index's head; an index that cannot say is emptied."""
    try:
        return index.head
    except DamagedIndexError:
        index.recreate()
        return index.head


def folder_of(cwd: StrPath | None, store: StrPath | None) -> str:
    """Return the working folder as an absolute path.

    Args:
        cwd: The folder, when one is given.
        store: The store that is named; by its full path it needs no working folder.

    Raises:
        NotFoundError: The process's working folder is gone, and it is needed.
    """
    try:
        return os.path.join(os.getcwd(), cwd) if cwd else os.getcwd()
    except FileNotFoundError as e:
        if store is not None and os.path.isabs(store):
            return os.fspath(store)
        raise NotFoundError(
            "the working folder is no longer there",
            hint="go to one that is, or name the store by its full path with --store",
        ) from e


def environment(environ: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the environment given, or this process's."""
    if environ is not None:
        return environ
    return os.environ
