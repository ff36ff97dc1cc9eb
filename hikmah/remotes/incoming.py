"""What may be believed of commits that came from elsewhere.

Rules the module keeps:

1. Every commit reachable from the new head and not from a trusted one is checked as
   verification checks it (`hikmah.ledger.checks`): there is one set of rules.
2. The cost goes with what is new, not with the ledger (`hikmah.ledger.ancestry`).
3. Whatever the objects are, the answer is a value: problems by commit, never an exception;
   after `MAX_ERRORS` of them checking stops, and says so.
4. `strict` is for a door where writes meet: it refuses, too, what an honest writer would
   never send: credentials, foreign headers, what this version cannot judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from hikmah.errors import IntegrityError
from hikmah.ledger.ancestry import compare
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.chain import Genesis
from hikmah.ledger.checks import CommitChecker
from hikmah.ledger.findings import Findings, Problem, Progress, TooManyError
from hikmah.ledger.history import History
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.objects import parse_commit

MAX_ERRORS = 200
_STEP = 100  # commits between two calls of `progress`


class Incoming(Struct, frozen=True, kw_only=True):
    """What was found of new commits; nothing may be believed unless `ok`.

    `base` holds the trusted commits that the new ones stand on: exactly the old head when
    the new one is its descendant. `commits` are the new ones, children before parents along
    each line. `privacies` counts the new traces by their privacy. `genesis` is the ledger's
    beginning, when it could be read.
    """

    ok: bool
    head: str
    commits: tuple[str, ...]
    base: tuple[str, ...]
    records: int
    privacies: dict[str, int]
    genesis: Genesis | None
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]

    def told(self) -> str:
        """Return what is wrong in one line: the first problem, and how many more there are."""
        more = len(self.errors) - 1
        return self.errors[0].text + (f" (and {more} more)" if more else "")


def examine(
    ledger: Ledger,
    head: str,
    known: Iterable[str] = (),
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> Incoming:
    """Examine the commits behind a head that came from elsewhere.

    Args:
        ledger: The ledger they are meant for; neither its ref nor its acknowledged head is
            looked at.
        head: The new commit; its objects are in the ledger's store.
        known: Commits that are trusted with all their ancestors: the local head, the last
            head fetched. None of them: everything is checked.
        strict: Whether to refuse what an honest writer would never send.
        progress: Called now and then with records checked and records there are.
    """
    trusted = tuple(dict.fromkeys(known))
    findings = Findings(MAX_ERRORS)
    with ObjectReader(ledger.store) as reader:
        genesis = _genesis(ledger, reader, trusted, findings)
        checker = CommitChecker(reader, findings, genesis=genesis, strict=strict)
        other = _other_ledger(ledger, reader, head, genesis)
        base = frozenset() if other else _base(reader, head, trusted)
        history = History(reader, checker, base)
        try:
            if other:
                # Nothing is shared: there is no need to walk to the end of both.
                findings.error("other_ledger", other, commit=head)
            else:
                history.check(head, head, _ticker(checker, head, trusted, progress))
                _resolve_links(checker, head)
        except TooManyError as e:
            findings.errors[Problem(code="too_many", text=e.message)] = None
    return Incoming(
        ok=not findings.errors,
        head=head,
        commits=tuple(history.parents),
        base=tuple(history.reached),
        records=len(checker.records.roles),
        privacies=checker.records.privacies,
        genesis=checker.genesis,
        errors=tuple(findings.errors),
        warnings=tuple(findings.warnings),
    )


def _genesis(
    ledger: Ledger, reader: ObjectReader, trusted: tuple[str, ...], findings: Findings
) -> Genesis | None:
    """Return the beginning of the ledger that is trusted already."""
    found: Genesis | None = None
    for commit in trusted:
        try:
            root = parse_commit(reader.content(commit, b"commit")).tree
            genesis = ledger.genesis(root, reader.read)
        except IntegrityError as e:
            findings.damage(e, commit, commit, "genesis_record")
            continue
        if found is not None and genesis != found:
            text = f"{commit} is of ledger {genesis.ledger}, not of {found.ledger}"
            findings.error("other_ledger", text, commit=commit)
        found = found or genesis
    return found


def _other_ledger(
    ledger: Ledger, reader: ObjectReader, head: str, genesis: Genesis | None
) -> str | None:
    """Say so when the head's tree is another ledger's than the trusted one."""
    if genesis is None:
        return None
    try:
        root = parse_commit(reader.content(head, b"commit")).tree
        theirs = ledger.genesis(root, reader.read)
    except IntegrityError:
        return None  # the check of the commit says what is wrong with it
    if theirs.ledger == genesis.ledger:
        return None
    return f"its ledger.json is of ledger {ascii(theirs.ledger[:64])[1:-1]}, not {genesis.ledger}"


def _base(reader: ObjectReader, head: str, trusted: tuple[str, ...]) -> frozenset[str]:
    """Return the trusted commits on which those stand that no trusted one reaches.

    A head that is trusted itself stands on itself.

    Where a commit cannot be read, only the trusted heads themselves end the check; it comes
    by the hole and names it.
    """
    if not trusted:
        return frozenset()
    try:
        sides = [compare(reader.read, known, head, reader.algorithm).right for known in trusted]
        new = frozenset(sides[0]).intersection(*sides[1:])
        parents = [parse_commit(reader.content(commit, b"commit")).parents for commit in new]
    except IntegrityError:
        return frozenset(trusted)
    return frozenset((*trusted, head)).union(*parents) - new


def _resolve_links(checker: CommitChecker, head: str) -> None:
    def standing(ids: set[str]) -> set[str]:
        try:
            return checker.trees.holding(parse_commit(checker.read(head)[1]).tree, ids)
        except IntegrityError:
            return set()

    checker.records.resolve(standing)


def _ticker(
    checker: CommitChecker, head: str, trusted: tuple[str, ...], progress: Progress | None
) -> Callable[[int], None]:
    """Return what tells of progress; how much there is, the sequence numbers say."""
    if progress is None:
        return lambda _commits: None
    known = max((_seq(checker, commit) for commit in trusted), default=0)
    total = max(_seq(checker, head) - known, 0)

    def tick(commits: int) -> None:
        if commits % _STEP == 0:
            progress(min(len(checker.records.roles), total), total)

    return tick


def _seq(checker: CommitChecker, commit: str) -> int:
    try:
        return checker.trees.last_seq(parse_commit(checker.read(commit)[1]).tree)
    except IntegrityError:
        return 0
