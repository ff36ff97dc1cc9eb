"""What verification finds: problems with stable codes, and their report.

Codes are part of the interface: scripts match on them, so one is never renamed or reused.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from hikmah.errors import HikmahError
from hikmah.ledger.gitstore import CorruptObjectError, MissingObjectError
from hikmah.ledger.head import Head

CODES: dict[str, str] = {
    "missing_object": "an object that history needs is nowhere in the repository",
    "damaged_object": "an object's content is not what its id says, or cannot be read",
    "malformed_commit": "a commit is not a commit, or names something that is not one",
    "malformed_tree": "a tree is unreadable, or is none that a write makes: doubled, empty, deep",
    "commit_headers": "a commit carries headers that no hikmah write makes",
    "commit_identity": "an author or committer line is not `name <email> seconds zone`",
    "replaced": "a replace ref or a graft makes git show something else than the ledger holds",
    "genesis_tree": "the first commit holds other files than ledger.json",
    "genesis_record": "ledger.json is not a genesis record in canonical form",
    "genesis_message": "the first commit's message does not say what ledger.json says",
    "format": "the ledger is of a format that this version does not know",
    "other_ledger": "the history is another ledger's",
    "ledger_name": "the ledger was created under another name than its ref has",
    "record_lost": "a commit takes away what its parent holds",
    "record_changed": "a commit changes what its parent holds",
    "not_a_record": "a commit adds a file that is not at a record's path",
    "file_mode": "a record's file is not a plain file",
    "path_id": "a path's id is not the record's",
    "path_type": "a path's type is not the record's",
    "sequence": "sequence numbers do not go on from the parent's",
    "empty_commit": "a commit adds nothing",
    "message": "a commit's message does not say what its records say",
    "record_undecodable": "a record is no JSON, or a known type with a bad value",
    "record_not_canonical": "a record's bytes are not in canonical form",
    "record_invalid": "a record breaks a rule that every write is held to",
    "link_missing": "a record points at one that is not in this ledger",
    "link_kind": "a record points at one of the wrong kind",
    "merge_parents": "a merge has not exactly two parents in the order of their ids",
    "merge_tree": "a merge's tree is not the union of its parents' trees",
    "merge_bytes": "a merge is not the one commit that its parents make",
    "damaged_copy": "a damaged copy of an object lies beside a good one",
    "no_ledger": "there is no such ref",
    "ref_unreadable": "the ref cannot be read",
    "unacknowledged": "commits stand on the ref that no hikmah write acknowledged",
    "ref_behind": "the ref lost commits that were acknowledged",
    "ref_gone": "the ref is gone, with commits that were acknowledged",
    "rewritten": "neither the ref nor the acknowledged head is an ancestor of the other",
    "head_untold": "the history is broken, so the acknowledged head could not be looked for",
    "acknowledged_missing": "the acknowledged head is nowhere in the repository",
    "acknowledged_damaged": "the file with the acknowledged head is damaged",
    "acknowledged_seq": "the acknowledged head's sequence number is not its tree's",
    "not_anchored": "nothing on this machine remembers what the newest commit should be",
    "expect_head": "the head is not the one expected",
    "contains": "a commit that should be in the history is not",
    "pin": "the pin is of another ledger, or its commit is not in the history",
    "remote": "what a remote holds, or held, is not in the history",
    "since": "the commit to verify from is not in the history",
    "screened": "new text holds something shaped like a credential",
    "too_many": "so much is wrong that checking stopped",
    "index_behind": "the derived index did not stand at the head; it was brought up to it",
    "unknown_type": "records of a type this version does not know: kept, not shown in views",
    "unknown_field": "fields this version does not know: kept, not shown in views",
}

_DAMAGE: dict[type[HikmahError], str] = {
    MissingObjectError: "missing_object",
    CorruptObjectError: "damaged_object",
}
# Called with records checked so far, and how many there are.
Progress = Callable[[int, int], None]


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong: a stable code, the place, and what it is in words."""

    code: str
    text: str
    commit: str | None = None
    path: str | None = None


class Unacknowledged(Struct, frozen=True, kw_only=True):
    """A record that stands in the ledger though no hikmah write acknowledged it."""

    seq: int
    type: str
    id: str
    kind: str | None
    source: str | None
    verified: bool
    claim: str | None
    preview: str


class VerifyReport(Struct, frozen=True, kw_only=True):
    """What verification found; `ok` when `errors` is empty."""

    ok: bool
    format: str | None
    ledger: str | None
    records: int
    commits: int
    objects: int
    head: Head | None
    acknowledged: Head | None
    anchored: bool
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    unacknowledged: tuple[Unacknowledged, ...] = ()
    unknown_types: dict[str, int] = {}
    unknown_fields: dict[str, int] = {}
    not_established: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


class TooManyError(HikmahError):
    """So much is wrong that going on would only cost time; what was found stands."""


class Findings:
    """Collects problems in the order found; the same one is not listed twice.

    Args:
        limit: How many errors are enough; None when all are wanted.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self.errors: dict[Problem, None] = {}
        self.warnings: dict[Problem, None] = {}
        self._bad: set[str] = set()

    def error(
        self, code: str, text: str, *, commit: str | None = None, path: str | None = None
    ) -> None:
        """Note something that makes the ledger not ok.

        Raises:
            TooManyError: As many are noted as are wanted.
        """
        if self._limit is not None and len(self.errors) >= self._limit:
            raise TooManyError(f"{self._limit} problems were found, and checking stopped there")
        self.errors[Problem(code=code, text=text, commit=commit, path=path)] = None

    def warn(
        self, code: str, text: str, *, commit: str | None = None, path: str | None = None
    ) -> None:
        """Note something a person should know of."""
        self.warnings[Problem(code=code, text=text, commit=commit, path=path)] = None

    def damage(self, error: HikmahError, oid: str, needed_by: str, otherwise: str) -> None:
        """Note an object that could not be had, once, however many need it.

        Args:
            error: What reading it said; its `where` may name an object below `oid`.
            oid: The object asked for.
            needed_by: The commit that needs it, or the ref.
            otherwise: The code for what is neither missing nor damaged.
        """
        about = error.where or oid
        if about in self._bad:
            return
        self._bad.add(about)
        code = _DAMAGE.get(type(error), otherwise)
        self.error(code, f"{error.message} (needed by {needed_by})", commit=needed_by)
