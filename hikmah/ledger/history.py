"""The commits of a ledger as a graph, checked while they are walked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hikmah.errors import IntegrityError
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.checks import CommitChecker
from hikmah.ledger.objects import Commit, parse_commit


class History:
    """What is known of a ledger's commits: the parents of each.

    Args:
        reader: Reads objects.
        checker: Checks each commit that `check` comes by.
        trusted: Commits taken on trust: neither they nor what is before them is checked.
    """

    def __init__(
        self, reader: ObjectReader, checker: CommitChecker, trusted: Iterable[str] = ()
    ) -> None:
        self.parents: dict[str, tuple[str, ...]] = {}
        self.reached: dict[str, None] = {}
        self.broken = False
        self._reader = reader
        self._checker = checker
        self._trusted = frozenset(trusted)
        self._loaded: dict[str, Commit | None] = {}

    def check(self, head: str, needed_by: str, tick: Callable[[int], None]) -> None:
        """Check every commit from a head back, newest first, each once.

        Args:
            head: Where to begin.
            needed_by: What names the head, for a problem's text.
            tick: Called with the number of commits checked so far.
        """
        waiting = [(head, needed_by)]
        while waiting:
            oid, child = waiting.pop()
            if oid in self.parents:
                continue
            if oid in self._trusted:
                self.reached[oid] = None
                continue
            commit = self._load(oid, child)
            self._loaded.pop(oid, None)
            self.parents[oid] = () if commit is None else commit.parents
            if commit is None:
                self.broken = True
                continue
            known: Mapping[str, Commit | None] = {p: self._load(p, oid) for p in commit.parents}
            self._checker.check(oid, commit, known)
            waiting += [(parent, oid) for parent in reversed(commit.parents)]
            tick(len(self.parents))

    def _load(self, oid: str, needed_by: str) -> Commit | None:
        """Load a commit once for its children and itself."""
        if oid in self._trusted:
            return self._checker.load(oid, needed_by, trusted=True)
        if oid in self.parents:
            # On another branch it has been walked and let go; its problems are noted.
            return self._checker.load(oid, needed_by)
        if oid not in self._loaded:
            self._loaded[oid] = self._checker.load(oid, needed_by)
        return self._loaded[oid]

    def complete(self) -> None:
        """Learn the parents of what lies at and before the trusted commits, unchecked."""
        for oid in self.reached:
            self.parents |= self.beyond(oid)
        self.reached.clear()

    def beyond(self, commit: str) -> dict[str, tuple[str, ...]]:
        """Return a commit and its ancestors that are not in this history, with their parents.

        A commit that cannot be read has no entry, and nothing before it is found.
        """
        found: dict[str, tuple[str, ...]] = {}
        waiting = [commit]
        while waiting:
            oid = waiting.pop()
            if oid in found or oid in self.parents:
                continue
            try:
                found[oid] = parse_commit(self._reader.read(oid)[1]).parents
            except IntegrityError:
                continue
            waiting += reversed(found[oid])
        return found

    def ancestors(self, commit: str) -> set[str]:
        """Return a commit and those of its ancestors that this history holds."""
        found: set[str] = set()
        waiting = [commit]
        while waiting:
            oid = waiting.pop()
            if oid in self.parents and oid not in found:
                found.add(oid)
                waiting += self.parents[oid]
        return found
