"""The part of `Memory` that takes records in as they are, and hands them out.

`hikmah.transfer` builds on it: formats are its business, and what a ledger may hold is
decided here, as for every write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from hikmah.errors import HikmahError
from hikmah.memory.door import Door
from hikmah.model.records import Record, Stored, Unknown

if TYPE_CHECKING:
    from hikmah.memory.admitting import Incoming
    from hikmah.memory.pending import Written
    from hikmah.memory.streaming import Streamed
    from hikmah.model.links import LinkOutcome
    from hikmah.model.session import Session
    from hikmah.model.status import Lookup
    from hikmah.views.entities import EntityDetail

Refuse = Callable[[HikmahError], None]


class Transferring(Door):
    """Verbs for whole records: all of them out, and many of them in."""

    @property
    def algorithm(self) -> str:
        """The hash of the store's ids: `sha1` or `sha256`."""
        return self._desk.ledger.algorithm

    @property
    def name(self) -> str:
        """The ledger's name."""
        return self._desk.ledger.name

    def now_ms(self) -> int:
        """Return the time that this memory goes by."""
        return self._desk.clock()

    def head(self) -> str:
        """Return the commit that the ledger stands at.

        Raises:
            NotFoundError: There is no ledger.
        """
        with self._lock:
            return self._desk.head()

    def holds(self, record_id: str) -> bool:
        """Tell whether the ledger holds a record, by its full id."""
        with self._lock:
            if self._desk.ledger.tip_commit() is None:
                return False
            return self._desk.answer(lambda index: index.stored(record_id) is not None)

    def entity_named(self, name: str, entity_type: str | None = None) -> EntityDetail | None:
        """Return the one active entity that has a name, and a type when one is given.

        Raises:
            AmbiguousIdError: Several have it.
        """
        from hikmah.memory import knowledge_reading as reading

        with self._lock:
            if self._desk.ledger.tip_commit() is None:
                return None
            return reading.named(self._desk, name, entity_type)

    def entities(self, *, include_sensitive: bool = False) -> list[EntityDetail]:
        """Return every active entity with its active facts and relationships, by name."""
        from hikmah.memory import knowledge_reading as reading

        with self._lock:
            return reading.everything(self._desk, allow_sensitive=include_sensitive)

    def records(self, commit: str) -> Iterator[Stored]:
        """Yield every record of a commit in order, read from git and hashed again.

        Order is (sequence, id), so that a record never comes before what it points at.

        Args:
            commit: A commit of this ledger, for example `head()`.

        Raises:
            IntegrityError: An object is missing or damaged.
        """
        from hikmah.ledger.bulk import ObjectReader
        from hikmah.ledger.chain import stored_between

        ledger = self._desk.ledger
        with ObjectReader(ledger.store) as reader:
            root = ledger.tip(commit, reader.read).root
            yield from stored_between(reader.read, None, root, ledger.algorithm) or ()

    def take_in(
        self,
        incoming: Iterable[Incoming],
        *,
        each: Callable[[Written], None],
        refuse: Refuse,
        own: bool,
        dry_run: bool = False,
    ) -> Streamed:
        """Write records that were made elsewhere as one commit; those that break a rule are told.

        Inside an agent session a verified trace is refused, and the locator of every record
        names the session, unless the record is this project's own and keeps its bytes.

        Args:
            incoming: The records, asked for one at a time; read again when another program
                moved the ledger meanwhile.
            each: Hears of each record that is there now, before the next is asked for.
            refuse: Hears why a record is left out, before the next is asked for.
            own: The records come out of a ledger: they keep their bytes, and stand together
                as they did there.
            dry_run: Check everything, write nothing.

        Raises:
            IntegrityError: Ref and acknowledged head disagree.
            BusyError, StoreError: As for every write.
        """
        from hikmah.memory.streaming import write_stream

        with self._lock:
            session = self._desk.session
            streamed = write_stream(
                self._desk,
                incoming if own or session is None else _Marked(incoming, session),
                each=each,
                refuse=refuse,
                admit=_rules(session, own=own),
                by_key=not own,
                dry_run=dry_run,
            )
        if session is None or not own or not streamed.written:
            return streamed
        told = f"records came in inside an agent session ({session.host}) and do not name it"
        return streamed._replace(warnings=(*streamed.warnings, told))


class _Marked:
    """Records that name the agent session they are taken in by.

    Verified ones are left as they are: those that are new are refused.
    """

    def __init__(self, incoming: Iterable[Incoming], session: Session) -> None:
        self._incoming = incoming
        self._session = session

    def __iter__(self) -> Iterator[Incoming]:
        from hikmah.memory.admitting import Incoming
        from hikmah.model.session import stamp

        for one in self._incoming:
            record = one.record
            if isinstance(record, Unknown) or record.provenance.verified:
                yield one
                continue
            locator = stamp(self._session, record.provenance.locator)
            marked = msgspec.structs.replace(record.provenance, locator=locator)
            yield Incoming(msgspec.structs.replace(record, provenance=marked))


def _rules(session: Session | None, *, own: bool) -> Callable[[Record, Lookup], LinkOutcome]:
    """Return the rules for records that are new here."""
    from hikmah.model.joined import check_elsewhere, check_joined
    from hikmah.model.session import refuse

    check = check_joined if own else check_elsewhere
    if session is None:
        return check

    def check_for_agent(record: Record, look: Lookup) -> LinkOutcome:
        if record.provenance.verified:
            raise refuse(session, "verified")
        return check(record, look)

    return check_for_agent
