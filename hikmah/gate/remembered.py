"""Open commitments of the session that claims to be done, from the index.

A claim of completion beside a promise that the same session recorded, and that is due or has
no date, is open work. Rules the module keeps:

1. Without a ledger's index at hand nothing but file names is looked at.
2. The index is read, never written, and only when it stands at the ledger's head.
3. No more than the budget is spent on it; past that, and on any problem, nothing is found.
4. The session `unknown` matches nothing; a sensitive commitment is never quoted.
5. Of the package only what knows the file's form is imported (`hikmah.index.layout`) and what
   reads a ref; records are read as plain JSON. Anything more would cost a stop what a command
   costs.
"""

from __future__ import annotations

import json
import os
import time

from hikmah.gate.rules import Finding
from hikmah.gate.verdict import OPEN_COMMITMENT

TYPE_CHECKING = False  # without a ledger `typing` would be the dearest import of all
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

BUDGET_S = 0.05
_NEWEST = 1_000  # active commitments looked at, the newest first
_LISTED = 3
_ID_DIGITS = 12
_ACTIVE = 0  # the rank of the status in the index
_OPEN = (
    "SELECT r.id, r.data FROM commitment c JOIN record r ON r.doc = c.doc WHERE c.status = ? "
    "AND (c.deadline_ms IS NULL OR c.deadline_ms <= ?) ORDER BY c.doc DESC LIMIT ?"
)


def open_commitments(
    session: str | None,
    cwd: str | None,
    environ: Mapping[str, str],
    *,
    now_ms: int,
    budget_s: float = BUDGET_S,
) -> list[Finding]:
    """Return the session's open commitments, at most three, the newest first.

    Args:
        session: The event's session id.
        cwd: The project's folder, as the event says.
        environ: Where `HIKMAH_STORE`, `HIKMAH_LEDGER` and `HIKMAH_HOOK_MEMORY` are looked up.
        now_ms: What is due by now is due.
        budget_s: How long the index may be read.
    """
    off = environ.get("HIKMAH_HOOK_MEMORY", "").strip().lower() in ("off", "0", "false", "no")
    folder = environ.get("HIKMAH_STORE") or cwd
    if off or not folder or session in (None, "", "unknown"):
        return []
    name = environ.get("HIKMAH_LEDGER") or "memory"
    common = _common_dir(folder)
    if common is None or not os.path.isfile(_index_file(common, name)):
        return []
    return _read_in_time(common, name, str(session), now_ms, budget_s)


def _read_in_time(
    common: str, name: str, session: str, now_ms: int, budget_s: float
) -> list[Finding]:
    """Read in a thread: the index may be busy or its disk slow, and the wait is bounded."""
    import threading

    found: list[Finding] = []

    def look() -> None:
        ends_at = time.monotonic() + budget_s
        try:
            for record_id, trace in _due(common, name, now_ms, ends_at):
                if _is_of(session, trace) and len(found) < _LISTED:
                    found.append(Finding(OPEN_COMMITMENT, trace["content"], record_id))
        except Exception:  # noqa: BLE001  # rule 3: whatever is wrong with it, nothing is found
            return

    _load()
    reading = threading.Thread(target=look, daemon=True)
    reading.start()
    reading.join(budget_s)
    return list(found)


def _common_dir(folder: str) -> str | None:
    """Return the git folder of the nearest store at a folder or above it, or None.

    The same order as everywhere (`.hikmah`, `.git`, a bare repository), from file names alone.
    """
    folder = os.path.abspath(folder)
    while True:
        for path in (os.path.join(folder, ".hikmah"), os.path.join(folder, ".git"), folder):
            git_dir = _linked(path) if os.path.isfile(path) else path
            if git_dir and os.path.isfile(os.path.join(git_dir, "HEAD")):
                return _shared(git_dir)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _linked(dot_git: str) -> str | None:
    """Return the git folder that a `.git` file names, as worktrees and submodules have."""
    text = _first_line(dot_git)
    named = text[len("gitdir:") :].strip() if text.startswith("gitdir:") else ""
    return os.path.join(os.path.dirname(dot_git), named) if named else None


def _shared(git_dir: str) -> str:
    """Return the folder that linked worktrees share."""
    named = _first_line(os.path.join(git_dir, "commondir"))
    return os.path.join(git_dir, named) if named else git_dir


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""


def _index_file(common: str, name: str) -> str:
    return os.path.join(common, "hikmah", name, "index.db")


def _load() -> None:
    """Import what reading takes, outside the budget: it is paid once a process."""
    from contextlib import suppress

    with suppress(ImportError):
        import hikmah.index.layout
        import hikmah.ledger.refs  # noqa: F401  # for the thread that reads


def _due(
    common: str, name: str, now_ms: int, ends_at: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield active commitments that are due or undated, the newest first, while there is time."""
    from contextlib import closing

    from hikmah.index.layout import inflate, open_to_read
    from hikmah.ledger.refs import read_ref

    head = read_ref(common, f"refs/hikmah/{name}")
    with closing(open_to_read(_index_file(common, name), timeout_s=BUDGET_S)) as index:
        index.execute("BEGIN")  # one state for the head and for what stands at it
        if head is None or not _stands_at(index, head):
            return
        for record_id, packed in index.execute(_OPEN, (_ACTIVE, now_ms, _NEWEST)):
            if time.monotonic() > ends_at:
                return
            yield record_id.hex()[:_ID_DIGITS], json.loads(inflate(packed, record_id))


def _stands_at(index: Any, head: str) -> bool:
    """Tell whether an index has the form that is known here and holds all up to a commit."""
    from hikmah.index.layout import COMMON_DIGEST, FORMAT

    says = dict(index.execute("SELECT name, value FROM header"))
    found = (says.get("format"), says.get("dictionary"), says.get("head"))
    return found == (str(FORMAT), COMMON_DIGEST, head)


def _is_of(session: str, trace: dict[str, Any]) -> bool:
    """Tell whether a commitment is this session's, and may be quoted."""
    mark = (trace["provenance"]["locator"] or "").partition(";")[0].strip()
    own = mark.startswith("agent-session:") and mark.split(":", 2)[-1] == session
    return own and trace["privacy"] != "sensitive"
