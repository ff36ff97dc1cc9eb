"""The ref against what this machine acknowledged and what a caller pinned.

Cases (the design's table; numbers used in the code and the tests):

1. equal: fine;
2. the acknowledged head is an ancestor: commits that no hikmah write acknowledged;
3. the ref is an ancestor, or gone: acknowledged records were taken away;
4. neither: the history was rewritten, or another ledger's was put in its place;
5. no acknowledged head: a fresh clone or first use, "not anchored".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from hikmah.errors import HikmahError, IntegrityError, StoreError
from hikmah.ledger.chain import parse_path
from hikmah.ledger.checks import CommitChecker
from hikmah.ledger.findings import Findings, Unacknowledged
from hikmah.ledger.growth import TreeFile
from hikmah.ledger.head import Head
from hikmah.ledger.history import History
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.objects import parse_commit
from hikmah.ledger.previews import listed
from hikmah.model.records import read_stored

_FULL_ID = {"sha1": re.compile("[0-9a-f]{40}"), "sha256": re.compile("[0-9a-f]{64}")}


class Required(NamedTuple):
    """A commit that must be in the history: the code when it is not, and who says so."""

    code: str
    commit: str
    whose: str


def standing(ledger: Ledger, findings: Findings) -> tuple[str | None, Head | None]:
    """Return what the ref holds and what is acknowledged; what cannot be read is noted."""
    tip: str | None = None
    try:
        tip = ledger.tip_commit()
    except HikmahError as e:
        findings.error("ref_unreadable", e.message)
    try:
        return tip, ledger.settled_head(tip)
    except IntegrityError:
        # The note of an append that died may name what cannot be read: leave it aside.
        return tip, _acknowledged(ledger, findings)
    except StoreError as e:
        findings.error("acknowledged_damaged", e.message)
        return tip, _acknowledged(ledger, findings)


def _acknowledged(ledger: Ledger, findings: Findings) -> Head | None:
    try:
        return ledger.state.read_head()
    except (IntegrityError, StoreError) as e:
        findings.error("acknowledged_damaged", e.message)
        return None


class Tail:
    """The newest end of a ledger, judged after its history has been walked."""

    def __init__(
        self, ledger: Ledger, history: History, checker: CommitChecker, findings: Findings
    ) -> None:
        self.unacknowledged: tuple[Unacknowledged, ...] = ()
        self.anchored = False
        self._ledger = ledger
        self._history = history
        self._checker = checker
        self._findings = findings

    def judge(self, tip: str | None, head: Head | None, seq: int | None) -> None:
        """Hold the ref against the acknowledged head.

        Args:
            tip: What the ref holds.
            head: The acknowledged head.
            seq: The largest sequence number in the tip's tree, when that can be read.
        """
        if head is None:
            self._without_head(tip)  # case 5
        elif tip is None:
            self._gone(head)  # case 3
        elif tip == head.commit:
            self._equal(head, seq)  # case 1
        elif self._holds(head.commit):
            self._ahead(head)  # case 2
        else:
            self._not_ahead(tip, head)  # cases 3 and 4

    def _holds(self, commit: str) -> bool:
        if commit not in self._history.parents:
            self._history.complete()
        return commit in self._history.parents

    def _without_head(self, tip: str | None) -> None:
        if tip is None:
            self._findings.error("no_ledger", f"there is no ref {self._ledger.ref}")
        elif not any(p.code == "acknowledged_damaged" for p in self._findings.errors):
            text = "suffix not anchored: this machine remembers no head, so a cut is not seen"
            self._findings.warn("not_anchored", text)

    def _equal(self, head: Head, seq: int | None) -> None:
        self.anchored = True
        if seq is not None and head.seq != seq:
            text = f"the acknowledged head says {head.seq} is the newest record; its tree, {seq}"
            self._findings.error("acknowledged_seq", text, commit=head.commit)

    def _gone(self, head: Head) -> None:
        lost = self._history.beyond(head.commit)
        text = (
            f"{self._ledger.ref} is gone; acknowledged was {head.commit} "
            f"(record {head.seq}), {self._readable(len(lost))}"
        )
        self._findings.error("ref_gone", text, commit=head.commit)

    def _ahead(self, head: Head) -> None:
        known = self._history.ancestors(head.commit)
        foreign = [oid for oid in self._history.parents if oid not in known]
        foreign.reverse()
        listed = ", ".join(foreign[:5]) + (" ..." if len(foreign) > 5 else "")
        text = f"{len(foreign)} commit(s) that no hikmah write acknowledged: {listed}"
        self._findings.error("unacknowledged", text, commit=foreign[0])
        records = [record for oid in foreign for record in self._records(oid)]
        self.unacknowledged = tuple(sorted(records, key=lambda r: (r.seq, r.id)))

    def _not_ahead(self, tip: str, head: Head) -> None:
        beyond = self._history.beyond(head.commit)
        if not beyond:
            text = f"the acknowledged head {head.commit} (record {head.seq}) is nowhere to be found"
            self._findings.error("acknowledged_missing", text, commit=head.commit)
        elif any(tip in parents for parents in beyond.values()):
            text = (
                f"the ref is {len(beyond)} commit(s) behind the acknowledged head {head.commit} "
                f"(record {head.seq}), {self._readable(len(beyond))}"
            )
            self._findings.error("ref_behind", text, commit=head.commit)
        elif self._history.broken:
            text = f"whether {head.commit} is in the history cannot be told: the history is broken"
            self._findings.error("head_untold", text, commit=head.commit)
        else:
            text = f"the history was rewritten: {tip} does not descend from {head.commit}"
            self._findings.error("rewritten", text, commit=head.commit)
            self._other_ledger(beyond)

    def _readable(self, count: int) -> str:
        if count:
            return f"and {count} of its commits are still there"
        return "which is not in the repository any more"

    def _other_ledger(self, beyond: dict[str, tuple[str, ...]]) -> None:
        """Tell whether the acknowledged head was of another ledger than the ref is now."""
        mine = self._checker.genesis
        for oid, parents in beyond.items():
            if parents or mine is None:
                continue
            try:
                root = parse_commit(self._checker.read(oid)[1]).tree
                was = self._ledger.genesis(root, self._checker.read)
            except IntegrityError:
                continue
            if was.ledger != mine.ledger:
                text = f"the ref holds ledger {mine.ledger}; acknowledged was ledger {was.ledger}"
                self._findings.error("other_ledger", text, commit=oid)

    # ---- pins --------------------------------------------------------------------------

    def expect(self, tip: str | None, expect_head: str | None, contains: Iterable[str]) -> None:
        """Hold the head against what a caller knows from elsewhere."""
        if expect_head is not None and tip != expect_head:
            text = f"the head is {tip or 'not there'}, expected was {expect_head}"
            self._findings.error("expect_head", text + self._half_id(expect_head))
        for commit in contains:
            if tip is None or not self._holds(commit):
                text = f"{commit} is neither the head nor an ancestor of it"
                self._findings.error("contains", text + self._half_id(commit))

    def require(self, tip: str | None, vouched: Iterable[Required]) -> None:
        """Hold the head against what others vouch for: a pin, a remote."""
        for code, commit, whose in vouched:
            if tip is None or not self._holds(commit):
                text = f"{whose} {commit} is neither the head nor an ancestor of it"
                self._findings.error(code, text, commit=commit)

    def _half_id(self, commit: str) -> str:
        if _FULL_ID[self._ledger.algorithm].fullmatch(commit):
            return ""
        return " (a full commit id is needed)"

    # ---- records that nobody acknowledged ----------------------------------------------

    def _records(self, oid: str) -> list[Unacknowledged]:
        """Return what a commit adds to its first parent; what is unreadable is noted already."""
        try:
            commit = parse_commit(self._checker.read(oid)[1])
            if len(commit.parents) > 1:
                return []
            old = None
            if commit.parents:
                old = parse_commit(self._checker.read(commit.parents[0])[1]).tree
            files = self._checker.trees.growth(old, commit.tree).added
            return [found for file in files if (found := self._record(file))]
        except IntegrityError:
            return []

    def _record(self, file: TreeFile) -> Unacknowledged | None:
        parts = parse_path(file.path)
        if parts is None:
            return None
        record = read_stored(self._checker.read(file.oid)[1])
        return listed(parts.seq, file.oid, record)
