"""Why a recall came back empty, as one sentence a person can act on."""

from __future__ import annotations

from collections.abc import Mapping

_FILTERS = {
    "superseded": "superseded or retired (--include-superseded shows them)",
    "prediction": "predictions (--kind prediction shows them)",
    "kind": "of another kind (--kind)",
    "source": "from another source (--source)",
    "since": "older than --since",
    "until": "newer than --until",
}


def explain(*, size: int, asked: bool, has_cue: bool, refused: Mapping[str, int]) -> str:
    """Return the reason for an empty answer.

    Args:
        size: How many traces were searched.
        asked: Whether the query held a term or a tag at all.
        has_cue: Whether any trace shares one.
        refused: How many traces each rule left out.
    """
    left_out = [f"{n} {_FILTERS[rule]}" for rule, n in refused.items() if rule in _FILTERS]
    weak = refused.get("weak", 0)
    if not size:
        return "the ledger holds no trace"
    if not asked:
        return "the query holds no letter, no digit and no tag"
    if left_out and weak:
        return f"left out: {', '.join(left_out)}; {weak} below the minimum score"
    if left_out:
        return f"left out: {', '.join(left_out)}"
    if weak or has_cue:
        return "every match is below the minimum score (policy: minimum_recall_score)"
    return "no trace holds a term or a tag of the query"
