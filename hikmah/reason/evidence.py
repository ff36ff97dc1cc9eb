"""Evidence for an option: traces of the ledger, with what limits each.

Rules the module keeps:

1. What a model wrote never counts as evidence, nor does what was purged.
2. Superseded, deprecated, expired and conflicting evidence counts, and is flagged.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hikmah.model.status import Status

Flag = Literal["superseded", "deprecated", "purged", "expired", "in_conflict", "model_authored"]


class Evidence(Struct, frozen=True, kw_only=True):
    """What the ledger knows of one trace that a frame names."""

    id: str
    kind: str
    status: Status
    source: str
    verified: bool
    model_authored: bool = False
    expired: bool = False
    in_conflict: bool = False


class Shown(Struct, frozen=True, kw_only=True):
    """Evidence as a decision shows it: `counts` is false for what supports nothing."""

    id: str
    kind: str
    status: Status
    source: str
    verified: bool
    counts: bool
    flags: tuple[Flag, ...]


def shown(evidence: Evidence) -> Shown:
    """Return evidence with its flags."""
    return Shown(
        id=evidence.id,
        kind=evidence.kind,
        status=evidence.status,
        source=evidence.source,
        verified=evidence.verified,
        counts=not evidence.model_authored and evidence.status != "purged",
        flags=_flags(evidence),
    )


def _flags(evidence: Evidence) -> tuple[Flag, ...]:
    raised: dict[Flag, bool] = {
        "superseded": evidence.status == "superseded",
        "deprecated": evidence.status == "deprecated",
        "purged": evidence.status == "purged",
        "expired": evidence.expired,
        "in_conflict": evidence.in_conflict,
        "model_authored": evidence.model_authored,
    }
    return tuple(flag for flag, up in raised.items() if up)
