"""Every error that Hikmah raises, as one tree.

    HikmahError                     exit  what it means to a caller
    |-- InvalidInputError             3   a value given is wrong; nothing was written
    |   `-- DecodeError               3   text that should be JSON (or a record) is not
    |-- NotFoundError                 4   the store, ledger, id or file is not there
    |   `-- AmbiguousIdError          4   a short id fits several records
    |-- RefusedError                  5   policy says no
    |   |-- SecretError               5   something shaped like a credential
    |   `-- AgentSessionError         5   a person's decision, asked for by an agent
    |-- IntegrityError                6   ledger and what is known of it disagree
    |   `-- FormatError               6   a newer format; upgrade to read it
    |-- BusyError                     7   somebody else holds a lock
    |-- RemoteError                   8   a remote said no or could not be reached
    |   `-- RemoteMovedError          8   it holds commits that are not here
    |-- EngineSetupError              9   a decision engine cannot be set up
    |-- EngineError                   1   a decision engine failed; asking makes it abstentions
    `-- StoreError                    1   the disk or the repository failed

Exit codes are the command's; 0 is fine, 1 also covers the unexpected, 2 is click's usage
error, 130 an interrupt. Every error carries a message (what happened, with values), and
where it helps a hint (what to do next) and a place (`where`: a path to the bad value).
"""

from __future__ import annotations

from typing import ClassVar


class HikmahError(Exception):
    """Base of all; catch it to catch whatever Hikmah says no with.

    Args:
        message: What happened, with the values that matter. Never holds a secret.
        hint: What to do next, as a sentence or a command; empty when there is nothing.
        where: Path to the bad value (`$.provenance.authority`), or a file, or a commit.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        """Return the message."""
        return self.message


class InvalidInputError(HikmahError):
    """A value given is wrong; nothing was written."""

    code = "invalid_input"
    exit_code = 3


class DecodeError(InvalidInputError):
    """Text that should be JSON, or a record, is not."""

    code = "decode"


class NotFoundError(HikmahError):
    """The store, ledger, id or file is not there."""

    code = "not_found"
    exit_code = 4


class AmbiguousIdError(NotFoundError):
    """A short id fits several records; `candidates` lists them in full."""

    code = "ambiguous_id"

    def __init__(self, message: str, *, candidates: tuple[str, ...], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.candidates = candidates


class RefusedError(HikmahError):
    """Policy says no; nothing was written."""

    code = "refused"
    exit_code = 5


class SecretError(RefusedError):
    """Something is shaped like a credential; `where` names the field, never the value."""

    code = "secret"


class AgentSessionError(RefusedError):
    """A person's decision was asked for inside a detected agent session."""

    code = "agent_session"


class IntegrityError(HikmahError):
    """The ledger and what is known of it disagree."""

    code = "integrity"
    exit_code = 6


class FormatError(IntegrityError):
    """The ledger is of a format this version does not know; upgrade to read it."""

    code = "format"


class BusyError(HikmahError):
    """Somebody else holds a lock, and waiting did not help."""

    code = "busy"
    exit_code = 7


class RemoteError(HikmahError):
    """A remote refused, could not be reached, or has moved on."""

    code = "remote"
    exit_code = 8


class RemoteMovedError(RemoteError):
    """A remote holds commits that are not here: fetch and join before pushing."""

    code = "remote_moved"


class EngineSetupError(HikmahError):
    """A decision engine cannot be set up: unknown, extra missing, or no key."""

    code = "engine"
    exit_code = 9


class EngineError(HikmahError):
    """A decision engine failed or ran out of time; never holds what it was sent or said.

    `status` is the HTTP status and `error_type` the engine's own word for it, where there
    are such.
    """

    code = "engine_failed"

    def __init__(
        self, message: str, *, status: int | None = None, error_type: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error_type = error_type


class StoreError(HikmahError):
    """The disk or the repository failed underneath."""

    code = "store"
