"""The part of `Memory` that looks after the ledger itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hikmah.memory.door import Door

if TYPE_CHECKING:
    from pathlib import Path

    from hikmah.ledger.findings import VerifyReport
    from hikmah.ledger.repair import RepairReport
    from hikmah.ledger.space import PackReport
    from hikmah.memory.doctor import DoctorReport
    from hikmah.memory.results import Accepted, Reindexed
    from hikmah.memory.trip import Trip

# Reports that callers may name in annotations; at run time nobody imports them from here.
__all__ = ["Keeping", "RepairReport", "VerifyReport"]


class Keeping(Door):
    """Verbs about the ledger as such; what only a person may decide is refused to agents."""

    def verify(
        self,
        *,
        expect_head: str | None = None,
        contains: Iterable[str] = (),
        since: str | None = None,
        pin: str | Path | None = None,
        remote: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        trip: Trip | None = None,
    ) -> VerifyReport:
        """Verify every object, commit and record; reports all problems and raises for none.

        Args:
            expect_head: The full commit id that the head must be: the pin kept elsewhere.
            contains: Full commit ids that must be the head or its ancestors.
            since: A commit already trusted: only what came after it is checked.
            pin: A file that `pin` wrote: this must be its ledger, and hold its commit.
            remote: A remote, as for `push`: history must hold what it has, and what it had.
            progress: Called with records checked and records there are.
            trip: How long to wait for the remote, and whom to tell.

        Raises:
            NotFoundError: The pin's file, or a remote of that name, is not there.
            DecodeError: The file holds no pin.
            RemoteError: The remote is out of reach.
        """
        from pathlib import Path  # questions do without

        from hikmah.memory import checking

        with self._lock:
            return checking.verify(
                self._desk,
                expect_head=expect_head,
                contains=contains,
                since=since,
                pin=None if pin is None else Path(pin),
                remote=remote,
                trip=trip,
                progress=progress,
            )

    def accept_tail(self) -> Accepted:
        """Acknowledge commits that another program or machine put on the acknowledged head.

        What breaks a rule is not accepted: such a ledger would never verify again.

        A person's decision: refused inside an agent session, as are the two below.
        """
        from hikmah.memory import checking

        with self._lock:
            return checking.accept_tail(self._desk)

    def restore_tail(self) -> Accepted:
        """Bring a ref that was moved or deleted back to the acknowledged head.

        Commits that it leaves behind stay in the object store; `before` names the ref's old
        value, with which `git update-ref` undoes this.
        """
        from hikmah.memory import checking

        with self._lock:
            return checking.restore_tail(self._desk)

    def reset_head(self) -> Accepted:
        """Acknowledge the ref as it is, whatever was acknowledged before."""
        from hikmah.memory import checking

        with self._lock:
            return checking.reset_head(self._desk)

    def repair(self) -> RepairReport:
        """Bring a ledger that a power cut damaged back to its newest readable state.

        Deletes no object and keeps the ref's old value; a person's decision, refused inside
        an agent session.
        """
        from hikmah.memory import checking

        with self._lock:
            return checking.repair(self._desk)

    def compact(self, *, progress: Callable[[int, int], None] | None = None) -> PackReport:
        """Put every object of the ledger that is loose, or in a pack of its own, into one pack.

        Nothing of the host project is touched, and nothing unreachable is pruned.
        """
        from hikmah.memory import checking

        with self._lock:
            return checking.compact(self._desk, progress=progress)

    def doctor(self) -> DoctorReport:
        """Look at store, ledger, index, locks and surroundings; changes nothing."""
        from hikmah.memory import doctor

        with self._lock:
            return doctor.examine(self._desk)

    def reindex(self) -> Reindexed:
        """Build the derived index anew."""
        from hikmah.memory import checking

        with self._lock:
            return checking.reindex(self._desk)
