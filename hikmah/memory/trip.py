"""How long a verb that travels waits, and whom it tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Trip(NamedTuple):
    """What a verb between repositories needs besides the remote.

    `idle_s` is the longest silence of a remote. `progress` is called with commits verified
    and commits there are, `watch` with lines that tell how a transfer gets on. `cwd` is where
    a relative path starts from.
    """

    idle_s: float | None = None
    progress: Callable[[int, int], None] | None = None
    watch: Callable[[str], None] | None = None
    cwd: str | Path | None = None
