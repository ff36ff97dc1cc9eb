"""`Memory`, the library's door: joins ledger, index and views.

Rules the module keeps:

1. One verb, one method; each says what it returns and which errors it raises.
2. Times go in and come out as milliseconds since the epoch, UTC.
3. Ids may be shortened to any unique prefix of at least four digits.
4. A `Memory` may be shared by threads: one verb runs at a time.

Example:
    with Memory.open("path/to/repository") as memory:
        memory.remember("the deploy lock timed out", kind="observation", source="incident-7")
        for hit in memory.recall("why did the deploy fail").results:
            print(hit.trace.content)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from hikmah.ledger import locate
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.ledger import Ledger
from hikmah.memory import opening, reading, writing
from hikmah.memory.desk import Desk, environment, folder_of
from hikmah.memory.results import (
    Accepted,
    Batch,
    Initialised,
    LogPage,
    Reindexed,
    Remembered,
    Shown,
    ShownRecord,
    StatusReport,
    Switched,
)
from hikmah.model import session as sessions
from hikmah.model.policy import Policy
from hikmah.views.claims import ConflictList
from hikmah.views.commitments import CommitmentList

if TYPE_CHECKING:
    from hikmah.memory.doctor import DoctorReport
    from hikmah.views.results import RecallReply

Clock = Callable[[], int]
DEFAULT_SOURCE = "unknown"


class Memory:
    """One ledger, open for remembering and recalling. Made by `open` or `init`."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = threading.RLock()

    # ---- opening -----------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        *,
        ledger: str | None = None,
        policy: Policy | str | Path | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        now_ms: int | None = None,
        lock_timeout_s: float | None = None,
        tz: str = "UTC",
        cwd: str | Path | None = None,
        create: bool = False,
        allow_sensitive: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Memory:
        """Open the ledger of a store.

        Args:
            store: A git repository, or a folder that holds `.hikmah/`; without it
                `HIKMAH_STORE`, else the nearest store at `cwd` or above.
            ledger: The ledger's name; without it `HIKMAH_LEDGER`, else `memory`.
            policy: A policy, or a file of one; without it `HIKMAH_POLICY`, else the defaults.
            environ: The environment; without it this process's own.
            clock: Returns milliseconds since the epoch; without it the system's clock.
            now_ms: A time that stands still instead of a clock, for reproducible runs.
                Inside an agent session writes refuse it.
            lock_timeout_s: How long a write waits for other writers; default the policy's.
            tz: The zone of times without one, an IANA name.
            cwd: Where to look from; default the working folder.
            create: When there is no store and none is named, make `.hikmah/` in `cwd`.
            allow_sensitive: Let sensitive traces in; only library code can.
            progress: Called with a number of records while an index is built.

        Raises:
            NotFoundError: No such store.
            InvalidInputError: A ledger name or policy that is not one.
        """
        env = environment(environ)
        folder = folder_of(cwd)
        found = opening.find_ledger(store, ledger, environ=env, cwd=folder)
        made = False
        if found is None:
            if not create:
                raise opening.no_store(folder)
            repository = opening.make_standalone(folder)
            name = ledger or env.get("HIKMAH_LEDGER") or locate.DEFAULT_LEDGER
            found, made = Ledger(GitStore(repository, environ=env), name), True
        chosen = opening.load_policy(policy, env, folder)
        timeout_s = chosen.lock_timeout_s if lock_timeout_s is None else lock_timeout_s
        desk = Desk(
            found,
            policy=chosen,
            session=sessions.detect(env),
            clock=(lambda: now_ms) if now_ms is not None else clock or _system_clock,
            fixed_clock=now_ms is not None,
            tz=tz,
            lock_timeout_s=timeout_s,
            allow_sensitive=allow_sensitive,
            progress=progress,
        )
        if made:
            desk.warnings.append(f"no store was found, so one was made: {found.store.common_dir}")
        return cls(desk)

    @classmethod
    def init(
        cls,
        store: str | Path | None = None,
        *,
        ledger: str | None = None,
        standalone: bool = False,
        environ: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        clock: Clock | None = None,
        now_ms: int | None = None,
        policy: Policy | str | Path | None = None,
        lock_timeout_s: float | None = None,
    ) -> tuple[Memory, Initialised]:
        """Make a ledger, and a store for it where there is none; twice is as good as once.

        Args:
            store: The folder; without it `HIKMAH_STORE`, else `cwd`.
            standalone: Make a bare `.hikmah/` even inside a git repository.
            ledger: As for `open`, and so are the rest.
            environ: See `open`.
            cwd: See `open`.
            clock: See `open`.
            now_ms: See `open`.
            policy: See `open`.
            lock_timeout_s: See `open`.

        Returns:
            The open memory, and what was made.

        Raises:
            StoreError: The disk refused.
            IntegrityError: The ref is gone but this machine remembers its head.
        """
        env = environment(environ)
        repository, made_store = opening.place_for(
            store, standalone=standalone, environ=env, cwd=folder_of(cwd)
        )
        memory = cls.open(
            repository.root,
            ledger=ledger,
            policy=policy,
            environ=env,
            clock=clock,
            now_ms=now_ms,
            lock_timeout_s=lock_timeout_s,
            cwd=cwd,
        )
        return memory, memory._initialise(made_store=made_store)  # noqa: SLF001 - our own

    def _initialise(self, *, made_store: bool) -> Initialised:
        with self._lock:
            return writing.initialise(self._desk, made_store=made_store)

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the index."""
        self.close()

    def close(self) -> None:
        """Close the index file; the memory can be used again afterwards."""
        with self._lock:
            self._desk.close()

    @property
    def policy(self) -> Policy:
        """The limits and weights in force."""
        return self._desk.policy

    # ---- remembering -------------------------------------------------------------------

    def remember(
        self,
        content: str | None = None,
        *,
        kind: str | None = None,
        source: str = DEFAULT_SOURCE,
        locator: str | None = None,
        authority: float | None = None,
        observed_at_ms: int | None = None,
        verified: bool = False,
        tags: Iterable[str] = (),
        salience: float | None = None,
        confidence: float | None = None,
        privacy: str | None = None,
        claim: tuple[str, str] | Mapping[str, str] | None = None,
        valid_from_ms: int | None = None,
        valid_until_ms: int | None = None,
        supersedes: str | None = None,
        derived_from: Iterable[str] = (),
        deadline_ms: int | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Write one trace.

        Args:
            content: What to remember: text, not blank, at most 64 KiB. May be left out when a
                person verifies another trace (`verified` with `supersedes`): it is copied.
            kind: One of `hikmah.model.trace.KINDS`; default `observation`.
            source: Who says so; `model:<engine>` for anything a model wrote.
            locator: Where it can be looked up.
            authority: How much the source is worth, 0..1, default 0.5.
            observed_at_ms: When it was observed.
            verified: Whether the source vouches for having checked it.
            tags: At most 32 words of 64 characters.
            salience: How much it matters, 0..1, default 0.5.
            confidence: How sure the source is, 0..1, default 0.5.
            privacy: `public`, `private` (default) or `sensitive`.
            claim: (key, value): a statement that can disagree with others of that key.
            valid_from_ms: From when it holds in the world.
            valid_until_ms: Until when it holds, this moment left out.
            supersedes: The trace that this one corrects.
            derived_from: Traces it was concluded from.
            deadline_ms: When a commitment is due.
            idempotency_key: A retry with this key returns the first trace's id.

        Raises:
            InvalidInputError: A value is wrong; `where` says which.
            SecretError: Something is shaped like a credential.
            RefusedError: `sensitive`, or something only a person, or no model, may do.
            NotFoundError: A link names no record.
            IntegrityError: Ref and acknowledged head disagree.
            BusyError: Another writer held the ledger all the while.
        """
        fields = {
            "content": content,
            "kind": kind,
            "source": source,
            "locator": locator,
            "authority": authority,
            "observed_at_ms": observed_at_ms,
            "verified": verified,
            "tags": list(tags),
            "salience": salience,
            "confidence": confidence,
            "privacy": privacy,
            "claim": claim,
            "valid_from_ms": valid_from_ms,
            "valid_until_ms": valid_until_ms,
            "supersedes": supersedes,
            "derived_from": list(derived_from),
            "deadline_ms": deadline_ms,
            "idempotency_key": idempotency_key,
        }
        with self._lock:
            return writing.remember(self._desk, fields)

    def remember_batch(self, items: Iterable[Mapping[str, Any]]) -> Batch:
        """Write many traces as one commit, all or nothing.

        Args:
            items: Fields as `remember` takes them; a claim also as `claim_key` and
                `claim_value`.

        Raises:
            HikmahError: As for `remember`; the message says which item it was.
        """
        with self._lock:
            return writing.remember_batch(self._desk, list(items))

    def fulfill(
        self, target: str, *, evidence: str | None = None, source: str = DEFAULT_SOURCE
    ) -> Switched:
        """Mark a commitment as kept; one that is kept already is said so, and nothing written.

        Args:
            target: The commitment's id.
            evidence: Text, or an id.
            source: Who says so; not a model.
        """
        with self._lock:
            return writing.fulfill(self._desk, target, evidence=evidence, source=source)

    def purge(
        self,
        target: str,
        *,
        reason: str,
        mode: Literal["purge", "deprecate"] = "purge",
        source: str = DEFAULT_SOURCE,
    ) -> Switched:
        """Take a trace out of every view (`purge`), or retire it without a successor.

        Purging hides and does not erase: the bytes stay in git and on every remote.
        """
        with self._lock:
            return writing.purge(self._desk, target, reason=reason, mode=mode, source=source)

    def supersede(
        self, old: str, new: str, *, reason: str | None = None, source: str = DEFAULT_SOURCE
    ) -> Switched:
        """Put one existing trace in the place of another."""
        with self._lock:
            return writing.supersede(self._desk, old, new, reason=reason, source=source)

    # ---- asking ------------------------------------------------------------------------

    def recall(
        self,
        text: str | None = None,
        *,
        tags: Iterable[str] = (),
        kinds: Iterable[str] = (),
        sources: Iterable[str] = (),
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int | None = None,
        budget_chars: int | None = None,
        include_superseded: bool = False,
        as_of: str | int | None = None,
    ) -> RecallReply:
        """Return the memories that share terms or tags with a question, best first.

        Args:
            text: The question, in any language; no syntax.
            tags: Tags to look for; they count for the score.
            kinds: Only traces of these kinds.
            sources: Only traces from these sources.
            since_ms: Only traces made at this time or later.
            until_ms: Only traces made at this time or earlier.
            limit: At most so many; default the policy's.
            budget_chars: At most so many characters of content, in rank order.
            include_superseded: Also what was corrected since, marked as such.
            as_of: A commit, a sequence number or a time: answer as it would have been then.

        Returns:
            The results with every factor of their score, and a receipt that can be replayed.
        """
        from hikmah.memory import recalling
        from hikmah.views.results import Query

        query = Query(
            text=text,
            tags=tuple(tags),
            kinds=tuple(kinds),
            sources=tuple(sources),
            since_ms=since_ms,
            until_ms=until_ms,
            limit=limit,
            budget_chars=budget_chars,
            include_superseded=include_superseded,
        )
        with self._lock:
            return recalling.recall(self._desk, query, as_of=as_of)

    def show(self, record_id: str) -> Shown | ShownRecord:
        """Return one record in full: a trace with its history, links and conflicts."""
        with self._lock:
            return reading.show(self._desk, record_id)

    def log(
        self,
        *,
        kind: str | None = None,
        source: str | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int = 20,
    ) -> LogPage:
        """Return records of every type, newest first."""
        with self._lock:
            return reading.log(
                self._desk,
                kind=kind,
                source=source,
                since_ms=since_ms,
                until_ms=until_ms,
                limit=limit,
            )

    def conflicts(self, *, limit: int = 100) -> ConflictList:
        """Return every open contradiction between active claims, by key and value."""
        with self._lock:
            return reading.list_conflicts(self._desk, limit=limit)

    def commitments(
        self, *, within_hours: float = 168, include_all: bool = False, limit: int = 100
    ) -> CommitmentList:
        """Return open commitments due within the horizon, overdue ones first.

        Args:
            within_hours: The horizon from now.
            include_all: Also those without a deadline, those further off, and those kept.
            limit: At most so many.
        """
        with self._lock:
            return reading.list_commitments(
                self._desk, within_hours=within_hours, include_all=include_all, limit=limit
            )

    def status(self) -> StatusReport:
        """Return the ledger at a glance."""
        with self._lock:
            return reading.status(self._desk)

    # ---- the ledger itself -------------------------------------------------------------

    def accept_tail(self) -> Accepted:
        """Acknowledge commits that another program put on the acknowledged head.

        A person's decision: refused inside an agent session, as are the two below.
        """
        from hikmah.memory import checking

        with self._lock:
            return checking.accept_tail(self._desk)

    def restore_tail(self) -> Accepted:
        """Bring a ref that was moved back, or deleted, to the acknowledged head."""
        from hikmah.memory import checking

        with self._lock:
            return checking.restore_tail(self._desk)

    def reset_head(self) -> Accepted:
        """Acknowledge the ref as it is, whatever was acknowledged before."""
        from hikmah.memory import checking

        with self._lock:
            return checking.reset_head(self._desk)

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


def _system_clock() -> int:
    return time.time_ns() // 1_000_000
