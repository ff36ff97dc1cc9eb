"""The verbs about the ledger itself: verify, accept, repair, compact, reindex.

What a person alone may decide is refused inside a detected agent session, before anything
is looked at.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from hikmah.errors import (
    BusyError,
    HikmahError,
    IntegrityError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from hikmah.ledger import space
from hikmah.ledger.append import locked, repoint
from hikmah.ledger.findings import Problem, Progress, VerifyReport
from hikmah.ledger.head import Head
from hikmah.ledger.ledger import Standing
from hikmah.ledger.space import PackReport
from hikmah.ledger.verify import verify as verify_ledger
from hikmah.memory.advice import RESTORE, STANDING, advice
from hikmah.memory.desk import Desk
from hikmah.memory.results import Accepted, Reindexed
from hikmah.model import session as sessions

if TYPE_CHECKING:
    from pathlib import Path

    from hikmah.ledger.repair import RepairReport
    from hikmah.ledger.tail import Required
    from hikmah.memory.trip import Trip


def verify(
    desk: Desk,
    *,
    expect_head: str | None,
    contains: Iterable[str],
    since: str | None,
    progress: Progress | None,
    pin: Path | None = None,
    remote: str | None = None,
    trip: Trip | None = None,
) -> VerifyReport:
    """Verify the ledger; see `Memory.verify`."""
    with contextlib.suppress(IntegrityError, RefusedError, StoreError):
        # What cannot be read is for the report to say; what was never there is an error.
        if desk.ledger.tip_commit() is None and desk.ledger.state.read_head() is None:
            desk.head()
    required: list[Required] = []
    outside: list[Problem] = []
    if pin is not None or remote is not None:
        from hikmah.memory import vouching  # only where somebody elsewhere vouches

        vouching.ask(desk, pin=pin, remote=remote, trip=trip, required=required, outside=outside)
    report = verify_ledger(
        desk.ledger,
        expect_head=expect_head,
        contains=contains,
        since=since,
        required=required,
        outside=outside,
        progress=progress,
    )
    codes = {problem.code for problem in report.errors}
    told = advice(codes, desk.ledger.ref)
    return _with_index(desk, msgspec.structs.replace(report, advice=told))


def _with_index(desk: Desk, report: VerifyReport) -> VerifyReport:
    """Bring an index that is behind up to the head, and warn of it; none is nothing to say."""
    if report.head is None:
        return report
    with contextlib.suppress(HikmahError):  # what the ledger suffers from is in the report
        known = desk.opened().head
        if known not in (None, report.head.commit):
            desk.index(report.head.commit)
            text = f"the index stood at {known} and was brought up to the head"
            warning = Problem(code="index_behind", text=text)
            return msgspec.structs.replace(report, warnings=(*report.warnings, warning))
    return report


def accept_tail(desk: Desk) -> Accepted:
    """Acknowledge commits that stand on the acknowledged head; see `Memory.accept_tail`."""
    return _decide(desk, "accept-tail", ("ahead",), _acknowledge_tip)


def restore_tail(desk: Desk) -> Accepted:
    """Bring the ref back to the acknowledged head; see `Memory.restore_tail`."""
    return _decide(desk, "restore-tail", ("behind", "gone", "ahead", "rewritten"), _move_back)


def reset_head(desk: Desk) -> Accepted:
    """Acknowledge the ref as it is; see `Memory.reset_head`."""
    return _decide(desk, "reset-head", ("ahead", "behind", "rewritten"), _acknowledge_tip)


def _decide(
    desk: Desk,
    action: str,
    kinds: tuple[str, ...],
    carry_out: Callable[[Desk, Standing], Head],
) -> Accepted:
    if desk.session is not None:
        raise sessions.refuse(desk.session, f"--{action}")
    with locked(desk.ledger, desk.lock_timeout_s):
        standing = desk.ledger.standing()
        if standing.kind not in kinds:
            raise _nothing_to_decide(desk, action, standing)
        head = carry_out(desk, standing)
    known = standing.head.commit if standing.head else None
    return Accepted(
        action=action,
        ref=desk.ledger.ref,
        before=standing.tip if action == "restore-tail" else known,
        commit=head.commit,
        seq=head.seq,
        accepted=standing.commits,
    )


def _nothing_to_decide(desk: Desk, action: str, standing: Standing) -> Exception:
    if standing.kind == "empty":
        return NotFoundError(f"no ledger {desk.ledger.name!r} here")
    told = {
        "equal": "the ref is the acknowledged head: there is nothing to decide",
        "unanchored": "nothing is acknowledged yet; `hikmah sync` takes a verified ledger, a first "
        "write the ref as it is",
        "ahead": "the ref is ahead of the head: --accept-tail or --restore-tail is the way",
        "behind": "the ref is behind the acknowledged head: --restore-tail is the way",
        "gone": "the ref is gone: --restore-tail is the way",
        "rewritten": "history was rewritten: --restore-tail or --reset-head is the way",
    }[standing.kind]
    return IntegrityError(f"--{action} does not apply: {told}", hint="run `hikmah verify-ledger`")


def _acknowledge_tip(desk: Desk, standing: Standing) -> Head:
    assert standing.tip is not None  # noqa: S101 - every kind that comes here has a tip
    _check_acceptable(desk, standing)
    tip = desk.ledger.tip(standing.tip, desk.ledger.store.read)
    head = Head(commit=tip.commit, seq=tip.seq)
    desk.ledger.state.acknowledge(head)
    return head


def _check_acceptable(desk: Desk, standing: Standing) -> None:
    """Refuse to accept what breaks a rule: a ledger with it would never verify again.

    Raises:
        IntegrityError: The first rule broken, and how to do without.
    """
    trusted = standing.head.commit if standing.head and standing.kind == "ahead" else None
    report = verify_ledger(desk.ledger, since=trusted)
    broken = [problem for problem in report.errors if problem.code not in STANDING]
    if broken:
        first = broken[0]
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        raise IntegrityError(
            f"what the ref holds breaks a rule and was not accepted: {first.text}{more}",
            hint="`hikmah verify-ledger` lists all of it; " + RESTORE,
            where=first.commit or "",
        )


def _move_back(desk: Desk, standing: Standing) -> Head:
    assert standing.head is not None  # noqa: S101 - `behind` and `gone` are told by the head
    desk.ledger.store.read(standing.head.commit)  # says so when the commit is no longer there
    deadline = time.monotonic() + desk.lock_timeout_s
    if repoint(desk.ledger, standing.tip, standing.head, deadline) == "lost":
        raise BusyError(f"{desk.ledger.ref} moved at this moment", hint="look again, then retry")
    return standing.head


def repair(desk: Desk) -> RepairReport:
    """Move the ref to the newest readable head; see `Memory.repair`."""
    from hikmah.ledger import repair as repairing

    if desk.session is not None:
        raise sessions.refuse(desk.session, "repair")
    desk.ledger.store.close()
    return repairing.repair(desk.ledger, now_ms=desk.clock(), lock_timeout_s=desk.lock_timeout_s)


def compact(desk: Desk, *, progress: Progress | None) -> PackReport:
    """Pack the ledger's objects; see `Memory.compact`."""
    desk.head()  # says when there is no ledger
    with locked(desk.ledger, desk.lock_timeout_s):
        desk.ledger.store.close()
        return space.compact(desk.ledger, progress=progress)


def reindex(desk: Desk) -> Reindexed:
    """Build the index anew; see `Memory.reindex`."""
    index = desk.rebuild()
    path = None if index.in_memory else str(desk.ledger.state.index_file)
    return Reindexed(records=index.records, head=index.head or "", path=path)
