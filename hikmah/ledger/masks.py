"""What makes git show something else than the ledger holds: replace refs, grafts.

`git log` and every other program of git's obey `refs/replace/*` and `info/grafts` without a
word; nothing here does. Whoever audits a ledger with plain git must be told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from hikmah.errors import StoreError
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.findings import Findings
from hikmah.ledger.gitstore import GitStore

_PREFIX = "refs/replace/"
_GRAFTS = "info/grafts"


def masks(store: GitStore) -> dict[str, str]:
    """Return the ids of objects that git shows otherwise, and what makes it do so."""
    found: dict[str, str] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (store.common_dir / _GRAFTS).read_text("latin-1").splitlines():
            found[line.partition(" ")[0]] = _GRAFTS
    with contextlib.suppress(StoreError):  # refs nobody can read: the report says that anyway
        found |= {name.removeprefix(_PREFIX): name for name in store.refs_below(_PREFIX)}
    return found


class Watching(ObjectReader):
    """A reader that notes which of some objects it was asked for (`met`)."""

    def __init__(self, store: GitStore, watched: Mapping[str, str]) -> None:
        super().__init__(store)
        self.met: set[str] = set()
        self._watched = watched

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Return kind and content of an object; see `ObjectReader.read`."""
        if oid in self._watched:
            self.met.add(oid)
        return super().read(oid)

    def warn(self, findings: Findings) -> None:
        """Say which of the ledger's objects git shows otherwise."""
        for oid in sorted(self.met):
            text = (
                f"{self._watched[oid]} makes git show something else than {oid}, which stands "
                "in this ledger; `git --no-replace-objects` shows what is there"
            )
            findings.warn("replaced", text)


def reader(store: GitStore) -> ObjectReader:
    """Return a reader, a watching one where there is anything to watch for."""
    watched = masks(store)
    return Watching(store, watched) if watched else ObjectReader(store)
