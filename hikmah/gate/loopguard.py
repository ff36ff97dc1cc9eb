"""The loop guard: never the same finding twice, never too many blocks in a row.

Standard library only, Python 3.9 and newer. Hosts cap loops differently or not at all, and
their `stop_hook_active` is unreliable, so the gate keeps a small file for each session:

1. A finding that blocked once in a session never blocks again there.
2. After `limit` blocks in a row the next stop is allowed, and the count starts anew.
3. A file older than a day counts as absent and is removed when another is written.
4. What cannot be remembered must not block: an unwritable folder allows.

A file holds hashes of findings, not their text; only Cursor's last answer, which its stop
event lacks, is kept as text until that event comes.
"""

from __future__ import annotations

import json
import os
import re

from hikmah.gate.rules import Finding

DEFAULT_LIMIT = 3
EXPIRES_MS = 24 * 60 * 60 * 1000
REPEATED = "same_finding"
CAPPED = "block_cap"
UNWRITABLE = "state_unwritable"
_KEPT = 200  # hashes of findings remembered, the newest
_SWEPT = 500  # files looked at for removal in one go
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}\Z")


class Memory:
    """What is remembered of one session."""

    __slots__ = ("row", "seen", "text")

    def __init__(self, row: int = 0, seen: list[str] | None = None, text: str = "") -> None:
        self.row = row
        self.seen = seen or []
        self.text = text


class LoopGuard:
    """Remembers blocks by session in a folder of the user's state."""

    def __init__(self, folder: str, *, now_ms: int, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = folder
        self.now_ms = now_ms
        self.limit = limit

    def judge(self, session: str, findings: list[Finding]) -> tuple[Finding | None, str | None]:
        """Return the finding that may block, or None and why none may; writes nothing."""
        memory = self._read(session)
        fresh = next((f for f in findings if identity(f) not in memory.seen), None)
        if fresh is None:
            return None, REPEATED
        return (None, CAPPED) if memory.row >= self.limit else (fresh, None)

    def admit(self, session: str, findings: list[Finding]) -> tuple[Finding | None, str | None]:
        """Judge, and remember a block; an allowed stop starts the count anew."""
        fresh, why = self.judge(session, findings)
        if fresh is None:
            self.passed(session)
            return fresh, why
        memory = self._read(session)
        memory.row += 1
        known = [identity(finding) for finding in findings]
        memory.seen = [*(seen for seen in memory.seen if seen not in known), *known][-_KEPT:]
        return (fresh, None) if self._write(session, memory) else (None, UNWRITABLE)

    def passed(self, session: str) -> None:
        """Remember that a stop was allowed: blocks in a row are counted from here."""
        memory = self._read(session)
        if memory.row:
            memory.row = 0
            self._write(session, memory)

    def keep_text(self, session: str, text: str) -> None:
        """Keep an answer for the stop event that follows it."""
        memory = self._read(session)
        memory.text = text
        self._write(session, memory)

    def take_text(self, session: str) -> str:
        """Return the answer that was kept, once; empty when there is none."""
        memory = self._read(session)
        text, memory.text = memory.text, ""
        if text:
            self._write(session, memory)
        return text

    def _path(self, session: str) -> str:
        name = session if _PLAIN.match(session) else "h." + _digest(session)
        return os.path.join(self.folder, name + ".json")

    def _read(self, session: str) -> Memory:
        """Return what is remembered; nothing when absent, expired or unreadable."""
        try:
            with open(self._path(session), encoding="utf-8") as file:
                found = json.load(file)
            row, seen, text = found["row"], found["seen"], found["text"]
            fresh = 0 <= self.now_ms - found["at_ms"] < EXPIRES_MS
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return Memory()
        whole = isinstance(row, int) and isinstance(text, str) and isinstance(seen, list)
        return Memory(row, [str(one) for one in seen], text) if fresh and whole else Memory()

    def _write(self, session: str, memory: Memory) -> bool:
        """Write one session's file whole or not at all; tell whether it was written."""
        path = self._path(session)
        partial = f"{path}.{os.getpid()}.new"
        state = {
            "at_ms": self.now_ms,
            "row": memory.row,
            "seen": memory.seen,
            "text": memory.text,
        }
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            self._sweep()
            number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(state, file)
            os.replace(partial, path)
        except (OSError, ValueError):
            return False
        return True

    def _sweep(self) -> None:
        """Remove expired files, a bounded number at a time."""
        oldest_s = (self.now_ms - EXPIRES_MS) / 1000
        with os.scandir(self.folder) as entries:
            for _, entry in zip(range(_SWEPT), entries):
                try:
                    if entry.stat(follow_symlinks=False).st_mtime < oldest_s:
                        os.unlink(entry.path)
                except OSError:
                    continue  # another process was quicker


def identity(finding: Finding) -> str:
    """Return what makes two findings the same: rule and sentence, whatever its case."""
    return _digest(finding.rule + "\n" + " ".join(finding.sentence.lower().split()))[:16]


def _digest(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
