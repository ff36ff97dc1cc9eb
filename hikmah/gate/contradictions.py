"""The rule `own_contradiction`: a claim that the message itself takes back.

Standard library only, Python 3.9 and newer, linear time. Beyond markers and promises there
are ways of saying in plain words that work is not done: tests that were not run, a call that
is mocked for now, an unchecked box. Each pattern was measured on labelled messages before it
was switched on (docs/gate.md), and each is left out inside a condition or a question.

Example:
    >>> from hikmah.gate.text import Text
    >>> text = Text("Fixed. The tests were not run.")
    >>> [text.clean[start:end] for start, end in contradictions(text)]
    ['tests were not run']
"""

from __future__ import annotations

from collections.abc import Iterator

from hikmah.gate import words
from hikmah.gate.text import LOOK_BACK, Text, pattern

_CLAIMED = "|".join(words.CLAIMS)
_FILLED = r"(?:[a-z0-9_'-]+ ){0,3}"
_I_DID = r"\b(?:i|we)(?:'ve| have| did| could| was| were| am|'m)?"
_NOT = r"(?: not|n't| never| unable to| not able to)(?: yet| been able to| able to| actually)?"
_BROKEN = r"(?:failing|broken|flaky|red) (?:unit |integration )?tests?"
_PROVISIONAL = r"(?:mocked|stubbed|faked|hard-?coded|disabled|commented out|made up|dummy|fake)"
_TITLE = (
    r"(?:remaining (?:work|tasks?|items?|steps?|issues?|problems?)|known (?:gaps?|problems?)"
    r"|outstanding(?: work| issues| items)?|what(?:'s| is) left|left to do)"
)
_BUILT = r"(?:implemented|wired|migrated|connected|supported|covered|finished|hooked)"
# A pattern is tried where one of its signs is in the text: most messages reach none.
_SIGNS = (
    (
        ("test", "run", "verif", "execute", "tried", "try"),
        rf"{_I_DID}{_NOT} (?:run|test|tested|verify|verified|execute|executed|try|tried)\b",
    ),
    (
        ("test", "suite", "spec"),
        (
            r"\b(?:tests?|suites?|specs?) (?:were|was|have|has|are)(?: not|n't|n't been| not been"
            r"| never been) (?:run|executed|added|written)\b"
        ),
    ),
    (("no test",), r"\bno tests (?:were|have been|are) (?:added|written|run)\b"),
    (
        ("untested", "unverified"),
        r"\b(?:is|are|was|were|remains?|still|currently) (?:still )?(?:untested|unverified)\b",
    ),
    (
        ("skip", "disabl", "comment"),
        rf"\b(?:i|we)(?:'ve| have)? (?:skipped|disabled|commented out) {_FILLED}{_BROKEN}\b",
    ),
    (
        ("commented out",),
        rf"\b(?:i|we)(?:'ve| have)? commented out {_FILLED}(?:for now|because|until)\b",
    ),
    (
        ("stubbed",),
        r"\b(?:is|are|was|were|left|currently|still) (?:just |only |still )?stubbed\b",
    ),
    (
        ("for now", "until", "temporar"),
        rf"\b{_PROVISIONAL}\b {_FILLED}(?:out )?(?:for now|until|temporarily)\b",
    ),
    (
        ("left as", "left for", "left un"),
        r"\bleft (?:as an exercise|for later|for a later|unfinished|undone|unimplemented)\b",
    ),
    (
        ("except", "apart from", "other than", "but", "exception"),
        (
            rf"\b(?:{_CLAIMED})(?:,? {_FILLED}|, )(?:apart from|except for|except|other than|but"
            r"|with the exception of) (?:the|for|that|a|one|two|three|some)\b"
        ),
    ),
    (("[ ]",), r"(?m)^ *(?:[-*+]|[0-9]{1,3}[.)]) \[ \] \S"),
    (
        ("remaining", "known", "outstanding", "left"),
        rf"(?m)^[ #*_-]*{_TITLE}[ *_]*(?::(?![ *_]*(?:none|nothing|n/a|no\b))|$)",
    ),
    (
        ("still",),
        (
            r"\bstill (?:to do|to be done|fails?|failing|red|broken|missing|unfinished"
            r"|needs? to be)\b"
        ),
    ),
    (
        ("yet", "hooked", "wired"),
        (
            rf"\b(?:not|[a-z]{{1,8}}n't)(?: been)? (?:{_BUILT}(?: up)? yet|yet {_BUILT}|hooked up"
            r"|wired(?: up)?)\b"
        ),
    ),
    (
        ("out of time", "get to", "get around"),
        r"\b(?:ran out of time|did(?: not|n't) get (?:to|around))\b",
    ),
    (
        ("need to",),
        r"\b(?:(?:i|we) (?:just|still|only)|you(?:'ll)? still) need to\b",
    ),
)
_CONDITION = (
    r"\b(?:if|when|whenever|unless|until|once|where|because|since|used to|before|no longer)\b"
)


def contradictions(text: Text) -> Iterator[tuple[int, int]]:
    """Yield where the message says in plain words that its work is not done."""
    clean = text.clean
    for signs, source in _SIGNS:
        if not any(sign in clean for sign in signs):
            continue
        for hit in pattern(source).finditer(clean):
            if _is_meant(text, hit.start(), hit.end()):
                yield hit.start(), hit.end()


def _is_meant(text: Text, start: int, end: int) -> bool:
    """Tell whether a phrase states what is, outside conditions and questions."""
    low, _ = text.clause(start, end)
    part = max(text.clean.rfind(",", low, start) + 1, low, start - LOOK_BACK)
    condition = pattern(_CONDITION).search(text.clean, part, start)
    return condition is None and not text.is_asked(end)
