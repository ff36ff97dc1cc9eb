"""Time budgets of engines: from the environment, kept inside fixed bounds."""

from __future__ import annotations

from collections.abc import Mapping

from hikmah.errors import EngineSetupError

MIN_BUDGET_MS = 100
MAX_BUDGET_MS = 60_000


def budget_ms(environ: Mapping[str, str], variable: str, *, default: int, cap_ms: int) -> int:
    """Return a time budget from the environment, kept between 100 ms and the cap.

    Raises:
        EngineSetupError: It is not a whole number.
    """
    text = environ.get(variable, "").strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise EngineSetupError(f"{variable} is {text!r}, not a number of milliseconds")
    return max(MIN_BUDGET_MS, min(int(text or default), cap_ms, MAX_BUDGET_MS))
