"""The merge commit of two heads: one value, whichever machine makes it.

Pure. The bytes are fixed by the parents, so both machines make the same commit and no
merge of merges follows (docs/remotes.md).
"""

from __future__ import annotations

from collections.abc import Mapping

from hikmah.ledger.objects import Commit

MERGE_MESSAGE = b"merge: two heads of one ledger\n"
_SIGNATURE = b"hikmah <hikmah@localhost> %d +0000"


def merge_commit(heads: Mapping[str, Commit], tree: str) -> Commit:
    """Return the commit that joins two heads.

    Args:
        heads: The two heads by id, in any order.
        tree: The union of their trees.

    Returns:
        Parents in the order of their ids, the time of the later one.
    """
    signature = _SIGNATURE % max(commit.time_s for commit in heads.values())
    return Commit(tree, tuple(sorted(heads)), signature, signature, MERGE_MESSAGE)
