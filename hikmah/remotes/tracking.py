"""Tracking refs: what a remote's ledger was when last seen, moving forward only.

Rules the module keeps:

1. A remote's head must descend from what was seen of it before it was asked: what its tracking
   ref held, and what was verified there. Otherwise the remote was rewritten or rewound, and
   both commits are named. What another process sees meanwhile may be newer.
2. A tracking ref alone proves nothing: a plain `git fetch` moves it, too. What was verified is
   noted in the state folder, and the note counts only beside its ref, so that deleting the
   ref is a person's way to begin anew.
3. That somebody agreed to push to an address is noted, too, beside the same ref. Bringing a
   ledger here is no agreement: who fetched, cloned or pushed by plain git is asked once.
4. The ref moves by compare-and-swap, under a lock of its own; the ledger's is not taken.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from hikmah.errors import BusyError, HikmahError, IntegrityError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.ancestry import descends
from hikmah.ledger.append import drop_lock_of, when_free, writing_to
from hikmah.ledger.chain import Read
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.lock import writer_lock
from hikmah.remotes.naming import Remote

_Notes = dict[str, str]


class Tracking:
    """What is known here of one ledger of one remote.

    Args:
        ledger: The ledger at this end.
        remote: The remote.
    """

    def __init__(self, ledger: Ledger, remote: Remote) -> None:
        self.ref = remote.tracking_ref(ledger.name)
        self._ledger = ledger
        self._given = remote.given
        self._folder = ledger.state.folder
        self._notes_file = self._folder / "remotes"
        self._agreed_file = self._folder / "remotes.agreed"
        digest = hashlib.sha256(self.ref.encode()).hexdigest()[:12]
        self._note = self._folder / f"remote-{digest}"

    def commit(self) -> str | None:
        """Return what the tracking ref holds, verified or not."""
        return self._ledger.store.ref(self.ref)

    def verified(self) -> str | None:
        """Return the newest head of the remote that was verified here, if its ref still is."""
        return self._noted(self._notes_file).get(self.ref) if self.commit() is not None else None

    def agreed(self, address: str) -> bool:
        """Tell whether somebody agreed to push to this address, and did."""
        noted = self._noted(self._agreed_file).get(self.ref)
        return noted == address and self.commit() is not None

    def note_agreed(self, address: str, *, timeout_s: float) -> None:
        """Note that somebody agreed to a first push to an address, after the push.

        Args:
            address: Where it went, without secrets.
            timeout_s: How long to wait for another process that notes something.

        Raises:
            BusyError: Another process held the notes' lock all the while.
            StoreError: The disk refused.
        """
        with writer_lock(self._folder / "remotes.lock", timeout_s=timeout_s):
            self._write_note(self._agreed_file, address)

    def seen(self) -> tuple[str, ...]:
        """Return the heads of the remote that were seen by now; to be read before it is asked."""
        return tuple(filter(None, dict.fromkeys((self.commit(), self.verified()))))

    def check_forward(self, now: str | None, read: Read, *, seen: Iterable[str]) -> None:
        """Hold a remote's head against what was seen of it before.

        Args:
            now: The remote's head, which must be here already; None: it has no such ledger.
            read: Reads an object by id.
            seen: What was seen of it before it was asked.

        Raises:
            IntegrityError: It does not descend from what was seen.
        """
        for before in seen:
            if now is None or not descends(read, now, before, self._ledger.algorithm):
                raise self._rewritten(before, now)

    def _rewritten(self, seen: str, now: str | None) -> IntegrityError:
        said = f"it now holds {now}, which does not descend from it" if now else "it is gone there"
        return IntegrityError(
            f"{self._given} was rewritten: {self._ledger.ref} held {seen} there; {said}",
            hint="nothing moved here; ask who changed it. When it was meant, "
            f"`git update-ref -d {self.ref}` forgets what was seen",
            where=self.ref,
        )

    def advance(self, new: str, read: Read, *, timeout_s: float) -> bool:
        """Move the tracking ref to a verified head of the remote, and note it.

        Args:
            new: The head; its objects are here, synced and verified.
            read: Reads an object by id.
            timeout_s: How long to wait for another program that moves it.

        Returns:
            False when the ref was there already, or further on: another process moved it.

        Raises:
            IntegrityError: The ref moved elsewhere meanwhile.
            BusyError: Another program holds its lock.
            StoreError: Another ref stands in its way, or the disk refused.
        """
        deadline = time.monotonic() + timeout_s
        with writing_to(self._folder):
            durable.make_folder(self._folder)
        with writer_lock(self._folder / "remotes.lock", timeout_s=timeout_s):
            before, noted = self.commit(), self.verified()
            moves = not self._is_past(before, new, read)
            if moves:
                self.check_forward(new, read, seen=self.seen())
                self._check_room()
                self._move(before, new, deadline)
            if not self._is_past(noted, new, read):
                self._write_note(self._notes_file, new)
        return moves

    def _is_past(self, held: str | None, new: str, read: Read) -> bool:
        """Tell whether what is held is a head, or goes on from it."""
        return held is not None and descends(read, held, new, self._ledger.algorithm)

    def _move(self, before: str | None, new: str, deadline: float) -> None:
        with writing_to(self._folder):
            self._drop_own_lock()
            durable.unlink(self._note)
            durable.write_new(self._note, f"{new}\n".encode())
            durable.sync_folder(self._folder)
        try:
            moved = when_free(
                lambda: self._ledger.store.move_ref(self.ref, before, new, note=self._note),
                deadline,
            )
        except BaseException as e:
            # Ours may stand there still; when it was busy it is another program's, whatever
            # is in it.
            if not isinstance(e, BusyError):
                with contextlib.suppress(OSError):
                    self._drop_own_lock()
            raise
        finally:
            with contextlib.suppress(OSError):
                durable.unlink(self._note)
        if not moved:
            raise BusyError(f"{self.ref} moved at this moment", hint="run it again")

    def _drop_own_lock(self) -> None:
        """Remove a lock on the ref that a fetch of ours left when it died, nobody else's."""
        drop_lock_of(self._ledger.store.common_dir / f"{self.ref}.lock", self._note)

    def _check_room(self) -> None:
        """Refuse a ref that another ref's name leads through, or the other way round."""
        parts = self.ref.split("/")
        above = ["/".join(parts[:n]) for n in range(3, len(parts))]
        store = self._ledger.store
        taken = [name for name in above if store.ref(name) is not None]
        taken += store.refs_below(f"{self.ref}/")
        if taken:
            raise StoreError(
                f"{self.ref} cannot be made: {taken[0]} is there",
                hint="give the remote another name (`git remote rename`), or delete that ref",
                where=taken[0],
            )

    def _write_note(self, file: Path, value: str) -> None:
        """Note a value beside the tracking ref; needs the lock of the notes."""
        notes = msgspec.json.encode({**self._noted(file), self.ref: value}, order="sorted")
        with writing_to(self._folder):
            durable.write_atomic(file, notes)

    def _noted(self, file: Path) -> _Notes:
        """Return what a file notes, by tracking ref; a damaged one is as good as none."""
        try:
            return msgspec.json.decode(file.read_bytes(), type=_Notes)
        except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}
        except OSError as e:
            raise StoreError(f"cannot read {file}: {e.strerror or e}", where=str(file)) from e


def trusted_heads(ledger: Ledger, *more: str | None) -> tuple[str, ...]:
    """Return commits that are trusted with all behind them: what this machine acknowledged.

    Args:
        ledger: The ledger.
        more: Others that are trusted, such as a head verified earlier; None is passed over.
    """
    known: str | None = None
    with contextlib.suppress(HikmahError):  # without an acknowledged head everything is checked
        head = ledger.settled_head(ledger.tip_commit())
        known = head.commit if head else None
    return tuple(c for c in dict.fromkeys((known, *more)) if c and ledger.store.has(c))
