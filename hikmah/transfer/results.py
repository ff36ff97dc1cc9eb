"""What an import and an export return: frozen structs whose JSON is their fields."""

from __future__ import annotations

from msgspec import Struct

from hikmah.errors import HikmahError, SecretError
from hikmah.model import secrets
from hikmah.model.screen import HINT
from hikmah.transfer.selection import LeftOut

# More refusals than this are counted and not listed.
MAX_LISTED = 1_000


class Refusal(Struct, frozen=True, kw_only=True):
    """One item that was not taken in: which line of the file, and why.

    `code` is an error code as the command line's; what is refused as a credential is told by
    the rule and the field, never by the value.
    """

    line: int
    code: str
    message: str
    hint: str = ""
    where: str = ""


def refusal(line: int, error: HikmahError) -> Refusal:
    """Return what is told of an item that was refused for an error.

    Errors quote what they speak of: a name, a field. What is quoted may itself be shaped like a
    credential, and is then not told.
    """
    rule = secrets.find(f"{error.message}\n{error.hint}\n{error.where}")
    if rule is None:
        return Refusal(
            line=line,
            code=error.code,
            message=error.message,
            hint=error.hint,
            where=error.where,
        )
    return Refusal(
        line=line,
        code=SecretError.code,
        message=f"it looks like it holds a {rule}, where a name or a number is meant",
        hint=HINT,
    )


class ImportReport(Struct, frozen=True, kw_only=True):
    """What an import came to: every item was written, was there already, or was refused.

    `commit` is None when nothing was new, and in a dry run; `codes` counts refusals by the code of
    their error; `relinked` are records that could not keep their ids, among those written or
    there already.
    """

    format: str
    dry_run: bool
    commit: str | None
    items: int
    written: int
    present: int
    refused: int
    codes: dict[str, int] = {}
    relinked: int = 0
    refusals: tuple[Refusal, ...] = ()
    truncated: bool = False
    torn_line: int | None = None
    warnings: tuple[str, ...] = ()


class ExportReport(Struct, frozen=True, kw_only=True):
    """What was written out: of which commit, how much, and what stayed behind."""

    format: str
    head: str
    written: int
    left_out: LeftOut
    warnings: tuple[str, ...] = ()
