"""What is wrong with a record, as a value; and two checks all fields share."""

from __future__ import annotations

from typing import NamedTuple

from hikmah.errors import HikmahError, InvalidInputError, RefusedError


class Problem(NamedTuple):
    """One broken rule: where, what, what to do, and which error it becomes."""

    where: str
    message: str
    hint: str = ""
    kind: type[HikmahError] = InvalidInputError

    def error(self) -> HikmahError:
        """Return the error to raise for this problem."""
        return self.kind(self.message, hint=self.hint, where=self.where)


def refused(where: str, message: str, hint: str = "") -> Problem:
    """Return a problem of policy (exit code 5) rather than of form (exit code 3)."""
    return Problem(where, message, hint, RefusedError)


def text_problem(where: str, text: str, limit: int) -> Problem | None:
    """Check that a text is not blank, not too long, and valid Unicode."""
    if not text or text.isspace():
        return Problem(where, f"{_name(where)} is blank")
    if len(text) > limit:
        return Problem(where, f"{_name(where)} has {len(text):,} characters, more than {limit:,}")
    return unicode_problem(where, text)


def unicode_problem(where: str, text: str) -> Problem | None:
    """Check that a text can be written as UTF-8: it holds no half of a surrogate pair."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as e:
        return Problem(
            where,
            f"{_name(where)} holds half of a surrogate pair at character {e.start}",
            "send the text as valid Unicode",
        )
    return None


def _name(where: str) -> str:
    """Return a path without its root, as people say it: `$.claim.key` is `claim.key`."""
    return where.removeprefix("$.")
