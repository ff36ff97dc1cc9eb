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

import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import structs

from hikmah.errors import InvalidInputError
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.refs import StrPath
from hikmah.memory import opening
from hikmah.memory.asking import Asking
from hikmah.memory.desk import Desk, environment, folder_of
from hikmah.memory.forecasting import Forecasting
from hikmah.memory.keeping import Keeping
from hikmah.memory.knowing import Knowing
from hikmah.memory.remembering import Remembering
from hikmah.memory.transferring import Transferring
from hikmah.memory.travelling import Travelling
from hikmah.model.policy import Policy

if TYPE_CHECKING:
    from pathlib import Path

    from hikmah.memory.results import Initialised
    from hikmah.memory.trip import Trip
    from hikmah.remotes.cloning import Cloned

Clock = Callable[[], int]


class Memory(Remembering, Asking, Knowing, Forecasting, Keeping, Travelling, Transferring):
    """One ledger, open for remembering and recalling. Made by `open` or `init`."""

    @classmethod
    def open(
        cls,
        store: StrPath | None = None,
        *,
        ledger: str | None = None,
        policy: Policy | StrPath | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        now_ms: int | None = None,
        lock_timeout_s: float | None = None,
        tz: str = "UTC",
        cwd: StrPath | None = None,
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
            allow_sensitive: Let sensitive traces in, and show them; only library code can.
            progress: Called with a number of records while an index is built.

        Raises:
            NotFoundError: No such store.
            InvalidInputError: A ledger name or policy that is not one.
        """
        env = environment(environ)
        folder = folder_of(cwd, store or env.get("HIKMAH_STORE"))
        found = opening.find_ledger(store, ledger, environ=env, cwd=folder)
        made = False
        if found is None:
            if not create:
                raise opening.no_store(folder)
            repository = opening.make_standalone(folder)
            name = opening.ledger_name(ledger, env)
            found, made = Ledger(GitStore(repository, environ=env), name), True
        chosen = opening.load_policy(policy, env, folder)
        if allow_sensitive:
            chosen = structs.replace(chosen, allow_sensitive_persistence=True)
        timeout_s = chosen.lock_timeout_s if lock_timeout_s is None else lock_timeout_s
        if not 0 <= timeout_s < math.inf:  # NaN would wait for ever, too
            raise InvalidInputError(
                f"{timeout_s} seconds is no time to wait", where="lock_timeout_s"
            )
        desk = Desk(
            found,
            policy=chosen,
            environ=env,
            clock=(lambda: now_ms) if now_ms is not None else clock or _system_clock,
            fixed_clock=now_ms is not None,
            tz=tz,
            lock_timeout_s=timeout_s,
            progress=progress,
        )
        if made:
            desk.warnings.append(f"no store was found, so one was made: {found.store.common_dir}")
        return cls(desk)

    @classmethod
    def init(
        cls,
        store: StrPath | None = None,
        *,
        ledger: str | None = None,
        standalone: bool = False,
        environ: Mapping[str, str] | None = None,
        cwd: StrPath | None = None,
        clock: Clock | None = None,
        now_ms: int | None = None,
        policy: Policy | StrPath | None = None,
        lock_timeout_s: float | None = None,
        remote: str | None = None,
        new: bool = False,
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
            remote: A remote in git's configuration: the one that `push` and `fetch` mean from
                now on, whose ledgers a plain `git fetch` brings to their tracking refs.
            new: Begin a new ledger although a remote holds one of this name.

        Returns:
            The open memory, and what was made.

        Raises:
            RefusedError: A remote has this ledger already, and two beginnings cannot be joined.
            NotFoundError: No remote of that name.
            StoreError: The disk refused.
            IntegrityError: The ref is gone but this machine remembers its head.
        """
        env = environment(environ)
        folder = folder_of(cwd, store or env.get("HIKMAH_STORE"))
        repository, made_store = opening.place_for(
            store, standalone=standalone, environ=env, cwd=folder
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
        return memory, memory._initialise(  # noqa: SLF001 - our own
            made_store=made_store, remote=remote, new=new
        )

    def _initialise(self, *, made_store: bool, remote: str | None, new: bool) -> Initialised:
        from hikmah.memory import writing

        with self._lock:
            return writing.initialise(self._desk, made_store=made_store, remote=remote, new=new)

    @classmethod
    def clone(
        cls,
        url: str,
        folder: StrPath | None = None,
        *,
        ledger: str | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: StrPath | None = None,
        lock_timeout_s: float | None = None,
        trip: Trip | None = None,
    ) -> tuple[Memory, Cloned]:
        """Bring a ledger from a remote: verified, then acknowledged as this machine's own.

        Args:
            url: A URL, a path, or the name of a remote of the repository here.
            folder: The repository that takes it; without it the one at or above `cwd`. Where
                there is none, a bare `.hikmah/` is made.
            ledger: The ledger's name, there and here; as for `open`.
            environ: See `open`.
            cwd: See `open`.
            lock_timeout_s: See `open`.
            trip: How long to wait, and whom to tell.

        Returns:
            The open memory, and what came.

        Raises:
            RefusedError: There is a ledger of that name already.
            NotFoundError: The remote has no such ledger.
            IntegrityError: What came breaks a rule; nothing is left of it.
            RemoteError: The remote is out of reach.
        """
        from pathlib import Path  # questions do without

        from hikmah.memory import cloning

        place = cloning.Place(
            folder=folder, environ=environment(environ), cwd=Path(folder_of(cwd, folder))
        )

        def opened(root: Path) -> Memory:
            return cls.open(
                root,
                ledger=ledger,
                environ=place.environ,
                cwd=place.cwd,
                lock_timeout_s=lock_timeout_s,
            )

        return cloning.clone(place, opened, url, trip)


def _system_clock() -> int:
    return time.time_ns() // 1_000_000
