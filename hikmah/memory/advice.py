"""What a person can do about what verification found, in the order to try it.

Pure: the codes of a report in, sentences out. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Collection

# Codes of problems that say how the ref stands, and nothing about the records themselves.
STANDING = frozenset(
    {
        "unacknowledged",
        "ref_behind",
        "ref_gone",
        "rewritten",
        "head_untold",
        "not_anchored",
        "acknowledged_missing",
        "acknowledged_damaged",
        "acknowledged_seq",
    }
)
_LOST = frozenset({"missing_object", "damaged_object"})
RESTORE = "`hikmah verify-ledger --restore-tail` puts the ref back to the acknowledged head"


def advice(codes: Collection[str], ref: str) -> tuple[str, ...]:
    """Return what to do about problems with these codes; empty when there is nothing to do."""
    told: list[str] = []
    broken = set(codes) - STANDING - _LOST
    if not _LOST.isdisjoint(codes):
        told.append(
            f"fetch what is missing from a copy or remote that has it (`git fetch REMOTE {ref}`); "
            "only when nobody has it, `hikmah repair` goes back to the newest readable head"
        )
    if {"ref_behind", "ref_gone"} & set(codes):
        told.append(RESTORE)
    if "rewritten" in codes:
        told.append(RESTORE + ("" if broken else "; --reset-head accepts the ref as it is"))
    if "unacknowledged" in codes and not broken:
        told.append(
            "when these records came from a program or machine you trust, "
            "`hikmah verify-ledger --accept-tail` takes them; --restore-tail takes the ref back"
        )
    elif "unacknowledged" in codes:
        told.append(RESTORE + ", without the commits that break a rule")
    if "remote" in codes:
        told.append(
            "`hikmah fetch` says how the remote's ledger stands to this one; when another machine "
            "pushed there, `hikmah sync` joins the two"
        )
    if {"pin", "contains"} & set(codes):
        told.append(
            "the history was rewritten or cut since the pin, or the pin is another ledger's: "
            "before anything is written here, hold it against a remote that has the pinned commit "
            "(`hikmah verify-ledger --remote REMOTE`)"
        )
    if "expect_head" in codes:
        told.append("when records were added since, --contains asks for the pin in the history")
    if "acknowledged_damaged" in codes:
        told.append("`hikmah repair` restores the acknowledged head from its log")
    return tuple(dict.fromkeys(told))
