"""The acknowledged head: the newest commit that this machine knows of.

The state folder is `<common git folder>/hikmah/<ledger>/`. It holds no history:

- `head`: `{"commit", "seq"}` of the last append that was acknowledged;
- `head.log`: earlier such values, one a line, oldest first; the last 1,000 and more;
- `next`: the commit an append is about to make the head (its note of intent). The ref's
  lock file is a hard link of it, so a lock left behind is provably ours;
- `lock`: the writer lock; `edge`: newest trees (see `hikmah.ledger.edge`).

Cases after a crash, told by `next` (numbers used in `settle` and its tests):

1. no `next`: nothing was under way;
2. the ref holds it: the move happened, only the acknowledgement is missing;
3. the ref has moved beyond it: the same, and something foreign came on top;
4. neither: the move never happened; the note is dropped.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

from hikmah.errors import IntegrityError, StoreError
from hikmah.ledger.refs import StrPath
from hikmah.model.trace import FULL_ID

if TYPE_CHECKING:
    from pathlib import Path

LOG_LINES = 1_000
_NOTE = FULL_ID.encode() + b"\n"


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of the ledger and the largest sequence number in its tree."""

    commit: str
    seq: int


class State(msgspec.Struct, frozen=True):
    """The state folder of one ledger."""

    place: StrPath

    @property
    def folder(self) -> Path:
        """The folder itself."""
        from pathlib import Path  # questions do without

        return Path(self.place)

    @property
    def head_file(self) -> Path:
        """Where the acknowledged head stands."""
        return self.folder / "head"

    @property
    def log_file(self) -> Path:
        """Where earlier acknowledged heads stand."""
        return self.folder / "head.log"

    @property
    def next_file(self) -> Path:
        """Where an append notes what it is about to do."""
        return self.folder / "next"

    @property
    def lock_file(self) -> Path:
        """The writer lock."""
        return self.folder / "lock"

    @property
    def edge_file(self) -> Path:
        """The newest commit and trees, so that appends read no pack."""
        return self.folder / "edge"

    @property
    def index_file(self) -> str:
        """The derived index, as text: every question opens it."""
        return os.path.join(self.place, "index.db")

    def read_head(self) -> Head | None:
        """Return the acknowledged head, or None when there is none.

        Raises:
            IntegrityError: The file is there and is damaged.
        """
        path = os.path.join(self.place, "head")
        data = _read(path)
        if data is None:
            return None
        head = _decode(data)
        if head is None:
            raise IntegrityError(
                f"the acknowledged head is damaged: {data[:60]!r}",
                hint="`hikmah repair` restores it from the log of acknowledged heads",
                where=path,
            )
        return head

    def read_next(self) -> str | None:
        """Return the commit that an append under way, or one that died, wants as the head."""
        data = _read(os.path.join(self.place, "next")) or b""
        # The note is written whole and synced before the ref may move: half of one means
        # that nothing had moved yet.
        return data[:-1].decode() if re.fullmatch(_NOTE, data) else None

    def read_log(self) -> list[Head]:
        """Return acknowledged heads, oldest first; damaged lines are passed over."""
        lines = (_read(self.log_file) or b"").splitlines()
        return [head for line in lines if (head := _decode(line)) is not None][-LOG_LINES:]

    def acknowledge(self, head: Head) -> None:
        """Make a head the acknowledged one: log first, then the head, atomically."""
        from hikmah.ledger import durable  # only writers acknowledge

        line = msgspec.json.encode(head) + b"\n"
        self._log(line)
        durable.write_atomic(self.head_file, line)

    def _log(self, line: bytes) -> None:
        """Add a line; at twice the length that is kept, keep the newest half."""
        from hikmah.ledger import durable

        path = self.log_file
        if path.exists() and path.stat().st_size > 2 * LOG_LINES * len(line):
            kept = path.read_bytes().splitlines(keepends=True)[-LOG_LINES:]
            durable.write_atomic(path, b"".join(kept))
        durable.append(path, line)


def _decode(data: bytes) -> Head | None:
    """Return the head that a line says, or None when it says none."""
    try:
        head = msgspec.json.decode(data, type=Head)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return head if re.fullmatch(FULL_ID, head.commit) and head.seq >= 0 else None


def _read(path: StrPath) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as e:
        raise StoreError(
            f"cannot read {path}: {e.strerror or e}",
            hint="check its permissions; the state folder holds no history",
            where=str(path),
        ) from e
