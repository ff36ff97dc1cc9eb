"""Checks one commit of a ledger against its parents, noting every problem.

Each check is local: a commit, its parents' trees, its own tree, the records it adds. So
history can be walked in any order, joined or not, and down to any commit that is trusted.
Cases (numbers used in the code and the tests):

1. no parent: the genesis;
2. one parent: an append, which only adds records at the next sequence numbers;
3. more parents: a merge, whose tree is the union of theirs and whose bytes they fix;
4. a parent that cannot be read: the records in the tree are checked, the step is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hikmah.errors import FormatError, IntegrityError
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.chain import (
    GENESIS_FILE,
    Addition,
    Genesis,
    genesis_message,
    is_plain_genesis,
    message,
    parse_genesis,
    parse_path,
)
from hikmah.ledger.findings import Findings
from hikmah.ledger.growth import Growth, TreeReader
from hikmah.ledger.merge import merge_commit
from hikmah.ledger.objects import FILE_MODE, Commit, commit_bytes, is_signature, parse_commit
from hikmah.ledger.recordchecks import RecordChecker
from hikmah.model.records import Unknown, is_canonical
from hikmah.model.secrets import find

_CONTROLS = re.compile(rb"[\0-\x1f\x7f]")
_GENESIS_PATH = GENESIS_FILE.decode()
_MALFORMED = "is no part of a ledger's tree: out of order, doubled, empty, too deep or misnamed"


class CommitChecker:
    """Checks commits of one ledger.

    Args:
        reader: Reads objects and hashes them.
        findings: Where problems go.
        genesis: The beginning of the ledger that the commits must belong to, when known.
        strict: As for `RecordChecker`; headers and names are held to it, too.
    """

    def __init__(
        self,
        reader: ObjectReader,
        findings: Findings,
        *,
        genesis: Genesis | None = None,
        strict: bool = False,
    ) -> None:
        self.findings = findings
        self.trees = TreeReader(reader.read, reader.algorithm)
        self.records = RecordChecker(reader, findings, strict=strict)
        self.genesis = genesis
        self._strict = strict
        self._doubt = findings.error if strict else findings.warn
        self._reader = reader

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Return an object's kind and content, hashed again."""
        return self._reader.read(oid)

    def load(self, oid: str, needed_by: str, *, trusted: bool = False) -> Commit | None:
        """Return a commit; None, with a problem noted, when it cannot be had.

        Args:
            oid: The commit.
            needed_by: The commit that names it, or the ref.
            trusted: Whether to take its headers as they are.
        """
        try:
            data = self._reader.content(oid, b"commit")
            commit = parse_commit(data)
        except IntegrityError as e:
            self.findings.damage(e, oid, needed_by, "malformed_commit")
            return None
        if not trusted:
            self._check_headers(oid, commit, data)
        return commit

    def _check_headers(self, oid: str, commit: Commit, data: bytes) -> None:
        if commit_bytes(commit) != data:
            self._doubt(
                "commit_headers", "it carries headers that no hikmah write makes", commit=oid
            )
        lines = {commit.committer: "committer", commit.author: "author"}  # most often one
        for line, keyword in lines.items():
            if not is_signature(line):
                text = f"its {keyword} is {_shown(line)}, not `name <email> seconds zone`"
                self.findings.error("commit_identity", text, commit=oid)
            elif _CONTROLS.search(line):
                text = f"its {keyword} holds control characters: {_shown(line)}"
                self._doubt("commit_identity", text, commit=oid)
            if self._strict and (rule := find(line.decode("utf-8", "replace"))):
                text = f"its {keyword} looks like it holds a {rule}"
                self.findings.error("screened", text, commit=oid)

    def check(self, oid: str, commit: Commit, parents: Mapping[str, Commit | None]) -> None:
        """Check one commit; a parent of None could not be read."""
        known = {p: parent for p, parent in parents.items() if parent is not None}
        if not commit.parents:
            self._check_genesis(oid, commit)  # case 1
        elif len(known) < len(parents):
            self._check_alone(oid, commit)  # case 4
        elif len(commit.parents) == 1:
            self._check_append(oid, commit, known[commit.parents[0]])  # case 2
        else:
            self._check_merge(oid, commit, known)  # case 3

    def _growth(self, oid: str, old: str | None, commit: Commit) -> Growth | None:
        try:
            found = self.trees.growth(old, commit.tree)
        except IntegrityError as e:
            self.findings.damage(e, commit.tree, oid, "malformed_tree")
            return None
        for path in found.malformed:
            text = f"{path or 'the root tree'} {_MALFORMED}"
            self.findings.error("malformed_tree", text, commit=oid, path=path)
        for path in found.lost:
            text = f"{path} is in the parent and gone here"
            self.findings.error("record_lost", text, commit=oid, path=path)
        for path in found.changed:
            text = f"{path} is not what it is in the parent"
            self.findings.error("record_changed", text, commit=oid, path=path)
        return found

    # ---- case 1: the genesis -----------------------------------------------------------

    def _check_genesis(self, oid: str, commit: Commit) -> None:
        found = self._growth(oid, None, commit)
        if found is None:
            return
        paths = [file.path for file in found.added]
        if paths != [_GENESIS_PATH] or found.added[0].mode != FILE_MODE:
            held = ", ".join(paths[:5]) or "nothing"
            text = f"a first commit holds the plain file ledger.json alone; this one: {held}"
            self.findings.error("genesis_tree", text, commit=oid)
        for file in found.added:
            if file.path == _GENESIS_PATH:
                self._check_genesis_record(oid, commit, file.oid)

    def _check_genesis_record(self, oid: str, commit: Commit, blob: str) -> None:
        try:
            data = self._reader.content(blob, b"blob")
            genesis = parse_genesis(data)
        except FormatError as e:
            self.findings.error("format", e.message, commit=oid, path=_GENESIS_PATH)
            return
        except IntegrityError as e:
            self.findings.damage(e, blob, oid, "genesis_record")
            return
        if not is_canonical(data):
            text = "ledger.json is not in canonical form"
            self.findings.error("genesis_record", text, commit=oid, path=_GENESIS_PATH)
        if genesis_message(genesis) != commit.message:
            text = "the first commit's message does not say what ledger.json says"
            self.findings.error("genesis_message", text, commit=oid)
        if self._strict and not is_plain_genesis(genesis, data):
            text = "ledger.json holds more than a format, an id of 32 digits, a name and a time"
            self.findings.error("genesis_record", text, commit=oid, path=_GENESIS_PATH)
        self._take_genesis(oid, genesis)

    def _take_genesis(self, oid: str, genesis: Genesis) -> None:
        first = self.genesis
        if first is not None:
            text = f"the history has a second beginning, of ledger {genesis.ledger}"
            self.findings.error("other_ledger", text, commit=oid)
            return
        self.genesis = genesis

    # ---- case 2: an append -------------------------------------------------------------

    def _check_append(self, oid: str, commit: Commit, parent: Commit) -> None:
        found = self._growth(oid, parent.tree, commit)
        if found is None:
            return
        additions = self.records.check(oid, found.added)
        if additions and len(additions) == len(found.added):
            self._check_sequence(oid, parent, found.after, additions)
            self._check_message(oid, commit, additions)
        if not (found.added or found.lost or found.changed or found.malformed):
            self.findings.error("empty_commit", "the commit adds nothing", commit=oid)

    def _check_sequence(
        self, oid: str, parent: Commit, after: str | None, additions: list[Addition]
    ) -> None:
        last = parse_path(after) if after else None
        try:
            first = 1 + (self.trees.last_seq(parent.tree) if last is None else last.seq)
        except IntegrityError as e:
            self.findings.damage(e, parent.tree, oid, "malformed_tree")
            return
        numbers = [addition.seq for addition in additions]
        if numbers != list(range(first, first + len(numbers))):
            listed = ", ".join(str(n) for n in numbers[:5]) + (" ..." if len(numbers) > 5 else "")
            text = f"the next number is {first}; the commit's records have {listed}"
            self.findings.error("sequence", text, commit=oid)

    def _check_message(self, oid: str, commit: Commit, additions: list[Addition]) -> None:
        """Compare the message with what these records make it.

        What a newer version writes about a type this one does not know cannot be told.
        """
        if any(isinstance(addition.record, Unknown) for addition in additions):
            self._check_listed(oid, commit, additions)
            return
        expected = message(additions)
        if commit.message != expected:
            text = f"the message says {_difference(commit.message, expected)}"
            self.findings.error("message", text, commit=oid)

    def _check_listed(self, oid: str, commit: Commit, additions: list[Addition]) -> None:
        said = [line for line in commit.message.splitlines() if line.startswith(b"Hikmah-Id: ")]
        expected = [b"Hikmah-Id: " + addition.id.encode() for addition in additions]
        if said != expected[: len(said)] or not said:
            text = "the message's Hikmah-Id trailers do not list the commit's records"
            self.findings.error("message", text, commit=oid)

    # ---- case 3: a merge ---------------------------------------------------------------

    def _check_merge(self, oid: str, commit: Commit, parents: Mapping[str, Commit]) -> None:
        if len(commit.parents) != 2 or list(commit.parents) != sorted(set(commit.parents)):
            text = f"a merge has two parents in the order of their ids, not {len(commit.parents)}"
            self.findings.error("merge_parents", text, commit=oid)
        elif commit != merge_commit(parents, commit.tree):
            text = "it is not the merge commit that its parents make"
            self.findings.error("merge_bytes", text, commit=oid)
        beyond = [self._growth(oid, parents[p].tree, commit) for p in dict.fromkeys(commit.parents)]
        if None in beyond:
            return
        # What is new to every parent came with the merge itself, and a merge adds nothing.
        files = [{file.path: file for file in found.added} for found in beyond if found]
        for path in sorted(set(files[0]).intersection(*files[1:])):
            text = f"{path} is in none of the parents"
            self.findings.error("merge_tree", text, commit=oid, path=path)
            self.records.check(oid, [files[0][path]])

    # ---- case 4: a parent that cannot be read ------------------------------------------

    def _check_alone(self, oid: str, commit: Commit) -> None:
        found = self._growth(oid, None, commit)
        if found is not None:
            new = [f for f in found.added if f.path != _GENESIS_PATH]
            self.records.check(oid, [f for f in new if f.oid not in self.records.roles])


def _difference(said: bytes, expected: bytes) -> str:
    """Describe the first line in which a message differs from the one expected."""
    lines, wanted = said.split(b"\n"), expected.split(b"\n")
    for line, want in zip(lines, wanted, strict=False):
        if line != want:
            return f"{_shown(line)} where its records say {_shown(want)}"
    return f"{len(lines)} lines where its records make {len(wanted)}"


def _shown(line: bytes) -> str:
    return ascii(line[:100].decode("utf-8", "replace"))
