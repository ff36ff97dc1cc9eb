"""Verification: every object hashed, every commit checked, all problems listed.

Rules the module keeps:

1. Nothing that is wrong in the ledger raises; it becomes a problem with a stable code
   (`hikmah.ledger.findings.CODES`), and checking goes on with what can still be read.
2. History is walked from the head to the genesis, or to commits that are trusted; each
   commit is checked against its parents (`hikmah.ledger.checks`).
3. The ref is then held against what this machine acknowledged and what the caller expects
   (`hikmah.ledger.tail`).
4. What could not be established is said, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hikmah.errors import IntegrityError
from hikmah.ledger import masks
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.checks import CommitChecker
from hikmah.ledger.findings import Findings, Problem, Progress, VerifyReport
from hikmah.ledger.head import Head
from hikmah.ledger.history import History
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.masks import Watching
from hikmah.ledger.objects import parse_commit
from hikmah.ledger.tail import Required, Tail, standing

_STEP = 500  # commits between two calls of `progress`
_NO_PIN = (
    "whether somebody changed both the ref and the state folder: only a pin kept elsewhere tells"
)
_SHA1 = "more than SHA-1 can: ids rest on the repository's hash, and SHA-1 has known collisions"


def verify(
    ledger: Ledger,
    *,
    expect_head: str | None = None,
    contains: Iterable[str] = (),
    since: str | None = None,
    required: Iterable[Required] = (),
    outside: Iterable[Problem] = (),
    progress: Progress | None = None,
) -> VerifyReport:
    """Verify a ledger and report everything that is wrong.

    Args:
        ledger: The ledger.
        expect_head: The full commit id that the head must be.
        contains: Full commit ids that must be the head or its ancestors.
        since: A commit already trusted: only what came after it is checked and counted.
        required: Commits that others vouch for; each must be the head or its ancestor.
        outside: Problems that were found elsewhere and belong in this report.
        progress: Called now and then with records checked and records there are.

    Returns:
        The report; `ok` is False when there is any error.
    """
    pins, vouched = tuple(contains), tuple(required)
    findings = Findings()
    findings.errors.update(dict.fromkeys(outside))
    tip, acknowledged = standing(ledger, findings)
    with masks.reader(ledger.store) as reader:
        checker = CommitChecker(reader, findings)
        history = History(reader, checker, [since] if since else [])
        seq = _check(history, checker, tip, ledger, progress)
        commits = len(history.parents)
        _check_since(since, tip, history, findings)
        tail = Tail(ledger, history, checker, findings)
        tail.judge(tip, acknowledged, seq)
        tail.expect(tip, expect_head, pins)
        tail.require(tip, vouched)
        _warn(checker, ledger, reader, findings)
    genesis = checker.genesis
    return VerifyReport(
        ok=not findings.errors,
        format=genesis.format if genesis else None,
        ledger=genesis.ledger if genesis else None,
        records=len(checker.records.roles),
        commits=commits,
        objects=reader.objects,
        head=Head(commit=tip, seq=seq or 0) if tip else None,
        acknowledged=acknowledged,
        anchored=tail.anchored,
        errors=tuple(findings.errors),
        warnings=tuple(findings.warnings),
        unacknowledged=tail.unacknowledged,
        unknown_types=checker.records.unknown_types,
        unknown_fields=checker.records.unknown_fields,
        not_established=_not_established(
            ledger,
            pinned=bool(expect_head or pins or vouched),
            since=since,
            warnings=findings.warnings,
        ),
    )


def _check(
    history: History,
    checker: CommitChecker,
    tip: str | None,
    ledger: Ledger,
    progress: Progress | None,
) -> int | None:
    """Check everything behind the tip; return the largest sequence number in its tree.

    None when the tip or its tree cannot be read.
    """
    if tip is None:
        return None
    root, seq = _root_and_seq(checker, tip)
    history.check(tip, ledger.ref, _ticker(checker, seq or 0, progress))

    checker.records.resolve(lambda ids: checker.trees.holding(root, ids) if root else set())
    return seq


def _root_and_seq(checker: CommitChecker, tip: str) -> tuple[str | None, int | None]:
    """Return the tip's tree and largest number; None for what cannot be read."""
    try:
        root = parse_commit(checker.read(tip)[1]).tree
        return root, checker.trees.last_seq(root)
    except IntegrityError:
        return None, None


def _ticker(checker: CommitChecker, total: int, progress: Progress | None) -> Callable[[int], None]:
    def tick(commits: int) -> None:
        if progress is not None and commits % _STEP == 0:
            progress(min(len(checker.records.roles), total), total)

    return tick


def _check_since(since: str | None, tip: str | None, history: History, findings: Findings) -> None:
    if since is not None and tip is not None and since not in history.reached:
        text = f"{since} is not in the history, so everything was checked"
        findings.error("since", text, commit=since)


def _warn(checker: CommitChecker, ledger: Ledger, reader: ObjectReader, findings: Findings) -> None:
    for kind, count in sorted(checker.records.unknown_types.items()):
        text = f"{count} record(s) of type {kind}, which this version does not know"
        findings.warn("unknown_type", text)
    for field, count in sorted(checker.records.unknown_fields.items()):
        text = f"{count} record(s) with the field {field}, which this version does not know"
        findings.warn("unknown_field", text)
    for oid, why in sorted(reader.damaged_copies.items()):
        findings.warn("damaged_copy", f"a damaged copy of {oid} lies beside a good one: {why}")
    if isinstance(reader, Watching):
        reader.warn(findings)
    genesis = checker.genesis
    if genesis is not None and genesis.name != ledger.name:
        text = f"the ledger was created as {genesis.name!r} and stands at {ledger.ref}"
        findings.warn("ledger_name", text)


def _not_established(
    ledger: Ledger, *, pinned: bool, since: str | None, warnings: Iterable[Problem]
) -> tuple[str, ...]:
    said: list[str] = []
    if any(problem.code == "not_anchored" for problem in warnings):
        said.append("whether the newest records were cut off: nothing here remembers the head")
    if not pinned:
        said.append(_NO_PIN)
    if since is not None:
        said.append(f"anything about what came up to {since}: it was taken on trust")
    if ledger.algorithm == "sha1":
        said.append(_SHA1)
    return tuple(said)
