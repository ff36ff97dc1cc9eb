"""The door that git opens: `hooks/update` of a guarded repository, ref by ref.

Git starts it in the repository with the ref, what it holds and what it shall hold. What goes
to standard error reaches whoever pushes; an exit code other than 0 refuses this ref and no
other. Whatever goes wrong in here refuses, too. Nothing here is needed by other commands,
and nothing slow is imported: every push pays for the start.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hikmah.errors import HikmahError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hikmah.remotes.guard import Judgement

MAX_LINES = 20
_LINE_CHARS = 300
REFUSED = 1


def main(words: Sequence[str]) -> int:
    """Judge one ref; return 0 when it may move.

    Args:
        words: The repository's folder, the ref, the old and the new id.
    """
    try:
        return _main(*words)
    except HikmahError as e:
        return _refuse(e.message, e.hint)
    except Exception as e:  # noqa: BLE001  # fail closed: what it cannot judge it does not let in
        return _refuse(f"the guard failed: {type(e).__name__}: {e}", "")


def _main(folder: str, ref: str, old: str, new: str) -> int:
    from hikmah.ledger.gitstore import GitStore
    from hikmah.ledger.locate import explicit
    from hikmah.remotes.guard import judge

    store = GitStore(explicit(Path(folder).resolve()), environ=os.environ)
    found = judge(store, ref, old, new)
    if found.allowed:
        return 0
    _say(lines(found))
    return REFUSED


def lines(found: Judgement) -> Iterator[str]:
    """Yield what a person reads of a ref that may not move."""
    yield f"{found.ref} stays as it is: {found.reason}"
    for problem in found.problems[:MAX_LINES]:
        place = f"commit {problem.commit}" if problem.commit else "all in all"
        yield f"  {place}: {problem.text} [{problem.code}]"
    if len(found.problems) > MAX_LINES:
        yield f"  and {len(found.problems) - MAX_LINES} more problems"
    if found.hint:
        yield f"what to do: {found.hint}"


def _refuse(reason: str, hint: str) -> int:
    _say([reason, f"what to do: {hint}"] if hint else [reason])
    return REFUSED


def _say(told: Sequence[str] | Iterator[str]) -> None:
    """Write lines that hold neither control characters nor what looks like a credential."""
    from hikmah.ledger.chain import plain
    from hikmah.model.secrets import mask

    for line in told:
        indent = "  " if line.startswith("  ") else ""
        shown = plain(mask(line), _LINE_CHARS)
        sys.stderr.write(ascii(f"hikmah guard: {indent}{shown}")[1:-1] + "\n")
