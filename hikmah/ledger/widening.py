"""A reader for any number of objects: one by one first, then by whole packs.

A few new records stand loose, and reading them needs no pack opened. A hundred thousand are
read five times faster through `hikmah.ledger.bulk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hikmah.ledger.chain import Read

if TYPE_CHECKING:
    from hikmah.ledger.bulk import ObjectReader
    from hikmah.ledger.gitstore import GitStore

# Objects of some ten appends.
FEW_OBJECTS = 64


class Widening:
    """Reads objects, checked by their ids; close it when done.

    Args:
        read: Reads one object by the general way.
        store: The repository, for reading many.
    """

    def __init__(self, read: Read, store: GitStore) -> None:
        self._general = read
        self._store = store
        self._left = FEW_OBJECTS
        self._bulk: ObjectReader | None = None

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Return an object's kind and content.

        Raises:
            IntegrityError: It is missing or damaged.
        """
        self._left -= 1
        if self._bulk is None and self._left >= 0:
            return self._general(oid)
        return self.widened().read(oid)

    def widened(self) -> ObjectReader:
        """Return the reader of whole packs, which is asked from now on."""
        if self._bulk is None:
            from hikmah.ledger.bulk import ObjectReader  # opens every pack

            self._bulk = ObjectReader(self._store)
        return self._bulk

    def close(self) -> None:
        """Close the packs, if any were opened."""
        if self._bulk is not None:
            self._bulk.close()
