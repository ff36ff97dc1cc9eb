"""Commands on the ledger itself: `verify-ledger repair compact reindex policy`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hikmah.cli.drawing import fields_of, joined
from hikmah.cli.inputs import full_commit, read_bytes
from hikmah.cli.options import Command
from hikmah.cli.run import Run, json_text, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.streams import write_out
from hikmah.cli.text import one_line
from hikmah.errors import IntegrityError

if TYPE_CHECKING:
    from hikmah.memory import Memory
    from hikmah.memory.keeping import RepairReport, VerifyReport
    from hikmah.memory.results import Accepted

DECISIONS = ("accept_tail", "restore_tail", "reset_head")


@click.command(cls=Command)
@click.option("--expect-head", metavar="COMMIT", help="The head must be this commit (full id).")
@click.option("--contains", multiple=True, metavar="COMMIT", help="History must hold this commit.")
@click.option("--since", metavar="COMMIT", help="Check only what came after a trusted commit.")
@click.option("--pin", metavar="FILE", help="It must be the ledger of a pin, and hold its commit.")
@click.option("--remote", metavar="REMOTE", help="History must hold the head that a remote has.")
@click.option("--accept-tail", is_flag=True, help="Accept commits that no hikmah write made.")
@click.option("--restore-tail", is_flag=True, help="Bring back commits that the ref has lost.")
@click.option("--reset-head", is_flag=True, help="Accept a rewritten history as it is now.")
@pass_run
def verify_ledger(
    run: Run,
    /,
    *,
    expect_head: str | None,
    contains: tuple[str, ...],
    since: str | None,
    pin: str | None,
    remote: str | None,
    **decisions: bool,
) -> None:
    """Check every byte of the ledger.

    Lists all problems and exits 6 unless there are none. The three decisions are a person's:
    they print what they accept, and are refused inside an agent session.
    """
    chosen = [name for name in DECISIONS if decisions[name]]
    if len(chosen) > 1 or (chosen and (expect_head or contains or since or pin or remote)):
        raise click.UsageError(f"--{chosen[0].replace('_', '-')} stands alone")
    head = None if expect_head is None else full_commit("--expect-head", expect_head)
    trusted = None if since is None else full_commit("--since", since)
    with run.memory(reports=True) as memory:
        if chosen:
            _decide(run, memory, chosen[0])
            return
        report = memory.verify(
            expect_head=head,
            contains=[full_commit("--contains", commit) for commit in contains],
            since=trusted,
            pin=pin,
            remote=remote,
            progress=run.progress("verifying"),
        )
    named = (("pin", pin), ("remote", remote))
    against = ", ".join(f"{what} {name}" for what, name in named if name is not None)
    run.show("verify-ledger", report, lambda screen: _draw_report(screen, report, against))
    if not report.ok:
        run.exit(IntegrityError.exit_code)


def _decide(run: Run, memory: Memory, name: str) -> None:
    """Carry out a person's decision on the acknowledged head, and print what it accepts."""
    if name == "accept_tail":
        result = memory.accept_tail()
    elif name == "restore_tail":
        result = memory.restore_tail()
    else:
        result = memory.reset_head()
    run.show(name.replace("_", "-"), result, lambda screen: _draw_accepted(screen, result))


def _draw_accepted(screen: Screen, result: Accepted) -> None:
    screen.line(f"{one_line(result.action)}: the acknowledged head is {result.commit}")
    screen.fields([("was", result.before or "not set"), ("record", str(result.seq))])
    for line in result.accepted:
        screen.line(f"  {one_line(line)}")


def _draw_report(screen: Screen, report: VerifyReport, against: str) -> None:
    verdict = ("ok", "green") if report.ok else ("NOT OK", "red")
    counts = f"{report.records:,} records in {report.commits:,} commits"
    screen.line(f"{screen.style(verdict[0], 'bold', verdict[1])}  {counts}")
    head, known = report.head, report.acknowledged
    screen.fields(
        [
            ("ledger", one_line(report.ledger or "")),
            ("head", f"{head.commit} (record {head.seq})" if head else "none"),
            ("acknowledged", f"{known.commit} (record {known.seq})" if known else "nothing"),
            *([("held against", one_line(against))] if against else []),
        ]
    )
    _draw_problems(screen, report)
    if report.unacknowledged:
        screen.heading("records that no hikmah write acknowledged")
        rows = [
            (str(r.seq), screen.id(r.id), r.kind or r.type, r.source or "", r.preview)
            for r in report.unacknowledged
        ]
        screen.table(("record", "id", "what", "source", "text"), rows, right="record")
    if report.advice:
        screen.heading("what to do")
        for text in report.advice:
            screen.block(f"- {text}")
    if report.not_established:
        screen.heading("not established")
        for text in report.not_established:
            screen.block(f"- {text}")


def _draw_problems(screen: Screen, report: VerifyReport) -> None:
    for title, problems, color in (
        ("errors", report.errors, "red"),
        ("warnings", report.warnings, "yellow"),
    ):
        if problems:
            screen.heading(title)
        for problem in problems:
            place = joined([problem.commit or "", one_line(problem.path or "")], " ")
            screen.line(f"{screen.style(problem.code, color)}  {place}")
            screen.block(problem.text)


@click.command(cls=Command)
@pass_run
def repair(run: Run) -> None:
    """Go back to the newest readable head.

    For a ledger whose newest commits a power cut has damaged. It deletes nothing and keeps
    the old value of the ref; a person's decision, so refused inside an agent session.
    """
    with run.memory(reports=True) as memory:
        report = memory.repair()
    run.show("repair", report, lambda screen: _draw_repaired(screen, report))


REPAIRED = {
    "none": "nothing to repair: everything the ref reaches can be read",
    "head_restored": "the acknowledged head was written anew; the ref is as it was",
    "ref_moved": "the ref went back to the newest head that can be read whole",
}


def _draw_repaired(screen: Screen, report: RepairReport) -> None:
    screen.line(REPAIRED[report.action])
    screen.fields(
        [
            ("ref", report.ref),
            ("before", one_line(report.before or "unreadable")),
            ("after", f"{report.after.commit} (record {report.after.seq})"),
            ("old value kept in", one_line(report.kept_in or "", 400)),
        ]
    )
    if report.damaged:
        screen.heading("damaged")
        screen.table(("object", "why"), list(report.damaged.items()))
    if report.out_of_reach:
        screen.line(
            "When a copy or remote still has what is damaged: fetch it, then undo this with"
        )
        screen.line(f"  git update-ref {report.ref} {report.before}")
        screen.line("  hikmah verify-ledger --accept-tail")
        screen.heading("out of reach now")
        rows = [(lost.commit, lost.subject or "cannot be read") for lost in report.out_of_reach]
        screen.table(("commit", "subject"), rows)


@click.command(cls=Command)
@pass_run
def compact(run: Run) -> None:
    """Pack this ledger's loose objects.

    Objects of the project that hosts the ledger are left alone, and nothing is pruned.
    """
    with run.memory(reports=True) as memory:
        report = memory.compact(progress=run.progress("packing"))
    run.show("compact", report, lambda screen: screen.fields(fields_of(screen, report)))


@click.command(cls=Command)
@pass_run
def reindex(run: Run) -> None:
    """Build the index again from the ledger."""
    with run.memory(reports=True) as memory:
        report = memory.reindex()
    run.show("reindex", report, lambda screen: screen.fields(fields_of(screen, report)))


@click.command(cls=Command)
@click.option("--print-defaults", is_flag=True, help="The defaults instead.")
@pass_run
def policy(run: Run, *, print_defaults: bool) -> None:
    """Print the policy in force.

    It is a policy file in every format: save it, change it, name it with --policy FILE.
    """
    from hikmah.model import policy as policies  # only this command needs it

    chosen = policies.DEFAULTS
    if run.options.policy is not None and not print_defaults:
        chosen = policies.parse(read_bytes(run.options.policy), run.options.policy)
    write_out(json_text(chosen))
    run.note(policies.digest(chosen), label="digest")
