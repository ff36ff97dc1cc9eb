"""The five statuses of a trace, and their order.

A status is derived, never stored: the strongest of what the records say. Switches only ever
move a trace further from `active`, so any order of the same records gives the same status.
"""

from __future__ import annotations

from typing import Literal, get_args

Status = Literal["active", "fulfilled", "superseded", "deprecated", "purged"]
# From weakest to strongest.
STATUSES: tuple[Status, ...] = get_args(Status)
STRENGTH: dict[Status, int] = {status: place for place, status in enumerate(STATUSES)}


def strongest(*statuses: Status) -> Status:
    """Return the strongest of the statuses given; `active` when there is none."""
    return max(statuses, key=STRENGTH.__getitem__, default="active")
