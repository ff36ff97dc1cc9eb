"""What every part of `Memory` shares: one desk, one lock, closing.

`Memory` is put together from parts, one a section of verbs (`remembering`, `asking`,
`knowing`, `forecasting`, `keeping`, `travelling`); each part is a `Door` and adds nothing but
its verbs.
"""

from __future__ import annotations

import threading
from typing import Self

from hikmah.memory.desk import Desk
from hikmah.model.policy import Policy


class Door:
    """One desk, and the lock that lets one verb run at a time."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close index and packs."""
        self.close()

    def close(self) -> None:
        """Close index and packs; the memory can be used again afterwards."""
        with self._lock:
            self._desk.close()

    @property
    def policy(self) -> Policy:
        """The limits and weights in force."""
        return self._desk.policy

    def told(self) -> tuple[str, ...]:
        """Return what opening and indexing had to tell, once."""
        with self._lock:
            return self._desk.told()

    def standing_warning(self) -> str:
        """Return what a reader should know of the ref's standing, or nothing; cheap."""
        with self._lock:
            return self._desk.standing_warning()
