"""`doctor`: what state the store is in, and what to run for each problem.

Looks and reports; changes nothing. Ages are against the given clock.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from hikmah import __version__
from hikmah.errors import HikmahError
from hikmah.index.container import SQLITE_VERSION
from hikmah.ledger.chain import FORMAT
from hikmah.ledger.gitstore import DEFAULT_IDENTITY
from hikmah.ledger.ledger import Ledger
from hikmah.memory.desk import Desk
from hikmah.remotes import backups

Level = Literal["ok", "note", "problem"]
# git itself collects garbage from this many loose objects on (`gc.auto`).
MANY_LOOSE = 6_700
MANY_PACKS = 50


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was looked at, and what to run when it is not well."""

    subject: str
    level: Level
    detail: str
    run: str = ""


class DoctorReport(Struct, frozen=True, kw_only=True):
    """Everything that was looked at; `ok` when there is no problem."""

    ok: bool
    findings: tuple[Finding, ...]


def examine(desk: Desk) -> DoctorReport:
    """Look at store, ledger, index, locks and surroundings; see `Memory.doctor`."""
    findings = tuple(_findings(desk))
    return DoctorReport(ok=all(f.level != "problem" for f in findings), findings=findings)


def _findings(desk: Desk) -> Iterator[Finding]:
    ledger = desk.ledger
    yield _found("hikmah", f"{__version__}, format {FORMAT}")
    yield _found("python", f"{platform.python_version()}, SQLite {SQLITE_VERSION}")
    yield _store(ledger)
    yield _identity(ledger)
    yield _standing(ledger)
    yield _objects(ledger)
    yield _packs(ledger)
    yield _index(desk)
    yield from _locks(desk)
    yield _backups(ledger)
    yield _session(desk)


def _found(subject: str, detail: str) -> Finding:
    return Finding(subject=subject, level="ok", detail=detail)


def _store(ledger: Ledger) -> Finding:
    kind = ledger.store.format
    return _found(
        "store",
        f"{ledger.store.repository.root} ({kind.algorithm}, refs in {kind.ref_format}, "
        f"git folder {ledger.store.common_dir})",
    )


def _identity(ledger: Ledger) -> Finding:
    name = ledger.store.identity.decode("utf-8", "replace")
    if ledger.store.identity != DEFAULT_IDENTITY:
        return _found("author", name)
    return Finding(
        subject="author",
        level="note",
        detail=f"git has no user.name and user.email: commits are by {name}",
        run="git config user.name NAME && git config user.email ADDRESS",
    )


def _standing(ledger: Ledger) -> Finding:
    """Compare the ref with the acknowledged head; damage is a finding, not a crash."""
    try:
        standing = ledger.standing()
    except HikmahError as e:
        return Finding(subject="ledger", level="problem", detail=e.message, run="hikmah repair")
    told: dict[str, tuple[Level, str, str]] = {
        "equal": ("ok", f"{ledger.ref} at {standing.tip}, acknowledged", ""),
        "empty": ("note", f"there is no {ledger.ref} yet", "hikmah init"),
        "unanchored": (
            "note",
            f"{ledger.ref} at {standing.tip}; nothing on this machine remembers it",
            "hikmah verify-ledger",
        ),
    }
    level, detail, run = told.get(
        standing.kind,
        ("problem", f"{ledger.ref} is {standing.kind}", "hikmah verify-ledger"),
    )
    return Finding(subject="ledger", level=level, detail=detail, run=run)


def _objects(ledger: Ledger) -> Finding:
    """Count the repository's loose objects, the host project's with ours."""
    files: list[Path] = []
    for folder in ledger.store.objects_dir.glob("[0-9a-f][0-9a-f]"):
        with contextlib.suppress(FileNotFoundError):  # git removes folders that are empty
            files += folder.iterdir()
    left = sum(path.name.startswith("tmp_obj_") for path in files)
    detail = f"{len(files):,} loose ({_size(files)})" + (
        f", {left} of them left by interrupted writes (git removes those in time)" if left else ""
    )
    if len(files) <= MANY_LOOSE:
        return _found("objects", detail)
    return Finding(subject="objects", level="note", detail=detail, run="hikmah compact")


def _packs(ledger: Ledger) -> Finding:
    packs = sorted((ledger.store.objects_dir / "pack").glob("*.pack"))
    detail = f"{len(packs)} ({_size(packs)})"
    if len(packs) <= MANY_PACKS:
        return _found("packs", detail)
    return Finding(subject="packs", level="note", detail=detail, run="hikmah compact")


def _size(paths: list[Path]) -> str:
    """Return the size of files together; one that vanishes meanwhile counts nothing."""
    total = 0
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return f"{total / 1024 / 1024:.1f} MiB"


def _index(desk: Desk) -> Finding:
    path = Path(desk.ledger.state.index_file)
    try:
        tip = desk.ledger.tip_commit()
        index = desk.opened()
        known = index.head
    except HikmahError as e:
        return Finding(subject="index", level="note", detail=e.message, run="hikmah reindex")
    place = "in memory: the state folder cannot be written" if index.in_memory else str(path)
    if known is None or known != tip:
        behind = "not built yet" if known is None else f"stands at {known}"
        return Finding(
            subject="index",
            level="note",
            detail=f"{place}; {behind}: the next question brings it up to date",
        )
    size = _size([path]) if path.exists() else "0 MiB"
    return _found("index", f"{place} ({size}), current, {index.records:,} records")


def _locks(desk: Desk) -> Iterator[Finding]:
    """Report locks of git that stand in the way, with their age."""
    store = desk.ledger.store
    places = [
        store.common_dir / f"{desk.ledger.ref}.lock",
        store.common_dir / "packed-refs.lock",
        *store.objects_dir.glob("[0-9a-f][0-9a-f]/*.lock"),
    ]
    found = [path for path in places if path.exists()]
    if not found:
        yield _found("locks", "none")
    for path in found:
        age_s = max(0, desk.clock() // 1000 - int(path.stat().st_mtime))
        yield Finding(
            subject="locks",
            level="problem",
            detail=f"{path} is there, {age_s:,} s old",
            run=f"when no git program is running: rm '{path}'",
        )


def _backups(ledger: Ledger) -> Finding:
    prefix = backups.prefix(ledger)
    names = ledger.store.refs_below(prefix)
    if not names:
        return _found("backups", "none")
    return Finding(
        subject="backups",
        level="note",
        detail=f"{len(names)} earlier heads under {prefix}",
        run=f"git update-ref -d {names[0]}  (each, when it is not needed any more)",
    )


def _session(desk: Desk) -> Finding:
    if desk.session is None:
        return _found("session", "a person's shell: no agent host shows in the environment")
    return _found("session", f"agent session of {desk.session.host}")
