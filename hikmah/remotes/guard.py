"""The guard: what a shared repository lets a push do to its ledgers.

It is asked about one ref that shall move from one value to another, and answers with a
value. Cases (numbers used in the code and the tests):

1. a ref that is none of Hikmah's: passed, not looked at;
2. a ref that could be taken for a ledger's, or leads to one: refused;
3. a machine's own refs (backups, what it fetched): refused, but for taking them away;
4. a ledger's ref that shall go: refused;
5. a new ledger: everything from its genesis on is examined;
6. a ledger that shall move: only forward, every new commit is examined.

A ledger is told by the id in its genesis, not by its name: a ref may be called otherwise
than the ledger was when it began (docs/adr/0056-guard-refuses-what-it-cannot-judge.md).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from msgspec import Struct

from hikmah.ledger.findings import Problem
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.locate import LEDGERS, is_ledger_name
from hikmah.remotes.incoming import Incoming, examine

_OWN = {
    "refs/hikmah-backup/": "keeps the heads that a machine had before it joined or reset",
    "refs/hikmah-remotes/": "keeps what a machine fetched, not yet believed",
}
_DIGITS = frozenset("0123456789abcdef")
_LINKS = 5  # as many as git follows
# Several repositories in one: gitnamespaces(7). A push by way of the namespace names the ref
# without it, one past it with it.
_NAMESPACE = re.compile("^(refs/namespaces/[^/]+/)+", re.IGNORECASE)

Action = Literal["passed", "refused", "began", "grew", "unchanged"]


class Judgement(Struct, frozen=True, kw_only=True):
    """What the guard says of one ref: whether it may move, and if not, why and what to do."""

    allowed: bool
    action: Action
    ref: str
    old: str
    new: str
    reason: str = ""
    hint: str = ""
    ledger: str | None = None
    commits: int = 0
    records: int = 0
    problems: tuple[Problem, ...] = ()


def concerns(ref: str) -> bool:
    """Tell whether a ref is the guard's business, or could be taken for one that is.

    On a file system that does not tell large letters from small, `refs/Hikmah/memory` is
    the ledger's file; some leave out what is not ASCII, take one letter for another that
    looks the same, or leave out dots at a name's end.
    """
    return _plain(ref).startswith((LEDGERS, "refs/hikmah-")) or _plain(ref) == "refs/hikmah"


def _plain(ref: str) -> str:
    folded = unicodedata.normalize("NFKD", ref).casefold()
    return re.sub(r"\.+(?=/|$)", "", "".join(letter for letter in folded if letter.isascii()))


def is_id(text: str) -> bool:
    """Tell whether text is a full object id, zeros for "no object" included."""
    return len(text) in (40, 64) and _DIGITS.issuperset(text)


def judge(store: GitStore, ref: str, old: str, new: str) -> Judgement:
    """Judge the move of one ref.

    Args:
        store: The repository; the new objects are in it.
        ref: The full name of the ref.
        old: What it holds, as a full id; zeros when it is not there.
        new: What it shall hold; zeros when it shall go.
    """
    inner = _NAMESPACE.sub("", ref)
    goes, begins = not new.strip("0"), not old.strip("0")
    objection = _objection_to_ref(store, inner, goes=goes)
    found: Incoming | None = None
    action: Action = "passed"
    if objection is None and inner.startswith(LEDGERS):
        action = "began" if begins else "grew"
        if old == new:
            action = "unchanged"
        else:
            ledger = Ledger(store, inner.removeprefix(LEDGERS))
            found = examine(ledger, new, [] if begins else [old], strict=True)
            objection = _objection(found, None if begins else old)
    reason, hint = objection or ("", "")
    return Judgement(
        allowed=objection is None,
        action="refused" if objection else action,
        ref=ref,
        old=old,
        new=new,
        reason=reason,
        hint=hint,
        ledger=found.genesis.ledger if found and found.genesis else None,
        commits=len(found.commits) if found else 0,
        records=found.records if found else 0,
        problems=found.errors if found else (),
    )


_PUSH_ONE = "push the ledger alone: `git push REMOTE refs/hikmah/NAME`, or `hikmah push`"
_NAMES = (
    "a ledger's ref is refs/hikmah/NAME, the name being 1 to 64 of a-z 0-9 . _ - that start with "
    "a letter or digit"
)
_DELETE = "whoever looks after the repository can, in it: `git update-ref -d REF`"
_SYMBOLIC = (
    "whoever looks after the repository can make it a plain one: `git update-ref --no-deref`"
)
_JOIN = "fetch and join first: `hikmah sync`; a ledger is never forced"
_OTHER = (
    "two beginnings cannot be joined: push it under another name, or take its records over with "
    "`hikmah export --to jsonl` and, in a clone of this one, `hikmah import --from jsonl`"
)
_SCREENED = (
    "treat what looks like a credential as known to others, and see docs/security.md on taking "
    "unpushed records back"
)
_UNKNOWN = "where the guard runs, hikmah must be as new as what writes the ledger"
_LOOK = "`hikmah verify-ledger` says the same where the commits were made"


def _objection_to_ref(store: GitStore, ref: str, *, goes: bool) -> tuple[str, str] | None:
    """Return why a ref may not be pushed to, and what to do, whatever it shall hold."""
    if not concerns(ref):
        if _leads_to_ledger(store, ref):  # case 2
            return "it is a symbolic ref that leads to a ledger's", "push the ledger's own ref"
        return None  # case 1
    for prefix, does in _OWN.items():
        if ref.startswith(prefix):  # case 3
            return None if goes else (f"{prefix} {does}; nobody reads it here", _PUSH_ONE)
    if not ref.startswith(LEDGERS) or not is_ledger_name(ref.removeprefix(LEDGERS)):
        return "it is not a ledger's ref", _NAMES  # case 2
    if _target(store, ref) is not None:
        return "it is a symbolic ref, and a ledger's is not", _SYMBOLIC  # case 2
    return ("a push does not take a ledger away", _DELETE) if goes else None  # case 4


def _objection(found: Incoming, old: str | None) -> tuple[str, str] | None:
    """Return why a ledger may not move to what was examined (cases 5 and 6), and what to do."""
    codes = {problem.code for problem in found.errors}
    objection: tuple[str, str] | None = None
    if "other_ledger" in codes:
        objection = "it would hold another ledger", _OTHER
    elif old is not None and old not in found.base:
        objection = f"{found.head} does not descend from {old}, which it would replace", _JOIN
    elif codes == {"screened"}:
        objection = "a new record must not get into a ledger", _SCREENED
    elif codes and codes <= {"unknown_type", "unknown_field"}:
        objection = "a new record is of a kind that the guard does not know", _UNKNOWN
    elif codes:
        objection = "what is new does not honestly go on from it", _LOOK
    return objection


def _leads_to_ledger(store: GitStore, ref: str) -> bool:
    """Tell whether a ref that is none of Hikmah's is a symbolic one that moves a ledger's.

    Only whoever looks after the repository can have made such a ref; git asks about it by
    its own name. (Where refs are kept in a reftable it is not seen.)
    """
    target = _target(store, ref)
    for _ in range(_LINKS):
        if target is None or concerns(target):
            break
        target = _target(store, target)
    return target is not None and concerns(target)


def _target(store: GitStore, ref: str) -> str | None:
    """Return what a symbolic ref leads to; None for any other."""
    if ".." in ref or not ref.startswith("refs/"):
        return None
    try:
        text = (store.common_dir / ref).read_bytes()
    except (OSError, ValueError):
        return None
    return text[4:].strip().decode("utf-8", "replace") if text.startswith(b"ref:") else None
