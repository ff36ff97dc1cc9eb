"""The rules of the gate: a claim of completion beside open or deferred work.

Standard library only, Python 3.9 and newer, linear time: each word that may matter is found
once and judged in a window of bounded size. Not a fact-checker: only what a message says
about its own work is read.

The rules, by the names that findings carry:

1. `completion_claim`: a word of completion that nothing just before it denies, that is not
   asked about, awaited (after when, once, until, if), offered, promised or quoted.
2. `open_marker`: TODO, TBD, FIXME, placeholder, coming soon, `<insert ...>`, unless cleared
   just before, quoted, part of a name, or naming a thing that its clause does not call open.
3. `deferred_work`: a promise in the first person, unless it is left to the user.
4. `own_contradiction`: plain words that take the claim back (`hikmah.gate.contradictions`).

A message is blocked when it holds the first and one of the others. A message without a claim
in English is read for one in other languages (`hikmah.gate.languages`).

Example:
    >>> rules_verdict("All done! TODO: wire the retry path")
    True
    >>> rules_verdict("All done. No TODOs remain.")
    False
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from hikmah.gate import words
from hikmah.gate.text import LOOK_BACK, Text, one_line, pattern

CLAIM = "completion_claim"
MARKER = "open_marker"
PROMISE = "deferred_work"
CONTRADICTION = "own_contradiction"
LISTED = 5  # findings of one rule that are reported

Span = tuple[int, int]
Mask = Callable[[str], str]

# Patterns start with letters, not with a boundary, so that the engine skips to them quickly;
# `_is_whole` looks at the boundary before.
_CLAIM = re.compile(rf"(?:{'|'.join(words.CLAIMS)})\b", re.ASCII)
_MARKER = re.compile(
    r"(?:(?:todo|tbd|fixme|placeholder)s?\b|coming {1,3}soon\b|[<\[] ?insert (?!into\b))", re.ASCII
)
_BETWEEN = "also|then|still|now|soon|later|next|just"
_PROMISE = re.compile(
    rf"(?:i|we)(?:'ll| will| shall)(?: {{1,3}}(?:{_BETWEEN})){{0,3}}"
    rf" {{1,3}}(?:{'|'.join(words.PROMISED)})\b"
    rf"|i(?:'ll| will| shall|(?:'m| am)(?: {{1,3}}(?:{_BETWEEN}))? (?:going|planning) to"
    rf"|(?: {{1,3}}(?:{_BETWEEN}))? (?:plan|intend) to)(?: {{1,3}}(?:{_BETWEEN})){{0,3}}"
    rf" {{1,3}}(?:{'|'.join((*words.PROMISED, *words.PROMISED_OF_ME))})\b"
    rf"|i(?:'ll| will) (?!be\b|see\b|talk\b|speak\b)[a-z]{{2,12}}\b"
    rf"(?=[^.,!?;\n]{{0,40}}{words.LATER})",
    re.ASCII,
)
_PROMISE_SIGNS = ("'ll", " will", " shall", " going to", " planning to", " plan to", " intend to")
_SIGNS = ("todo", "tbd", "fixme", "placeholder", "coming ", "insert ")
_WORD = re.compile(r"[a-z0-9_']+|,", re.ASCII)
_NEXT_WORD = r" {1,3}([a-z]+)\b"
_AWAITED = r"\b(?:when|whenever|once|until|till|if)\b"
# What is to be done is not done; "should be" is left out: it often means "is, I think".
_OBLIGED = (
    r"\b(?:to|must|will|'ll|can|could|may|might|would|cannot|needs?) be(?: [a-z]{1,20}ly)? \Z"
    r"|\b(?:to|please) \Z"
)
# The words themselves are the subject: searched for, or listed one beside the other.
_SEARCHED = r"\b(?:grep|search|scan|look|check)[a-z]{0,3} (?:[a-z]+ ){0,3}for\b"
_LISTED_AFTER = r"(?:,? (?:and|or)|,) (?:todo|fixme|tbd|xxx|hack)s?\b"
_LISTED_BEFORE = r"\b(?:todo|fixme|tbd|xxx|hack)s?(?:,? (?:and|or)|,) \Z"
# A product works on markers (`it lists every TODO`), or all of a kind are spoken of.
_PROCESSED = (
    r"\b(?:reports|lists|shows|flags|finds|highlights|counts|detects|extracts|collects|parses"
    r"|colou?rs|ignores|replaces|renders|supports|hides|groups|expands|substitutes)"
    r"(?: [a-z]+){0,2} \Z|\b(?:every|each|any|all|existing|old|former|stale) \Z"
)
_NO_LONGER = r"\b(?:any ?more|no longer)\b"
_SHOWN = (
    r"\b(?:shows?|displays?|lists?|counts?|filters?|sorts?|marks?|hides?|highlights?|tracks?"
    r"|groups?|colou?rs?|renders?|tells?|says?|reports?)\b"
)
_TECHNICAL = (
    r"\b(?:sql|quer(?:y|ies)|templates?|bind|printf|format|regex|driver|engine|mailing|token"
    r"|parameters?)\b"
)
_IN_A_FIELD = (
    r" (?:in|inside|of|for) (?:the|a|an|each|every|its) (?:[a-z-]+ ){0,3}"
    r"(?:box|field|input|textarea|form|dropdown|select|bar|editor|control)s?\b"
)
# How a field looked before is no open work: `the placeholder was the only hint`.
_IS_PAST = r" (?:was|were)\b(?! (?:left|kept|added|used|put)\b)"
_IS_SHOWN = r" (?:[a-z]+ )?(?:that|which|shown|displayed)\b"  # `the placeholder logo that ...`
_IS_NO = r" (?:is|are) (?:no|not)\b| (?:is|are)n't\b"
_OPEN = (
    r"\b(?:remains?|remaining|outstanding|pending|unresolved)\b|(?<!the )\bleft\b"
    r"(?! (?:alone|side|sidebar|hand|column|panel|pane|edge|margin|behind|untouched|unchanged"
    r"|as is|as it)\b)"
    r"|\bstill (?:needs?|lacks?|requires?)\b|\bstill (?:has|have) [a-z0-9]+ open\b"
)
_NONE_OPEN = frozenset({"no", "none", "nothing", "zero", "0", "not", "never", "longer"})
_DEALT_WITH = (
    r"\b(?:is|was|are|were|been|got)(?: (?:now|all|also|already)){0,2}"
    rf" (?:{'|'.join(words.DEALT_WITH)})\b"
)
# A comma, or a conjunction that starts a clause of its own: a subject and its verb.
_NEW_CLAUSE = (
    r",| (?:and|but) (?:(?:i|we|you|it|he|she|they|there|this|that) |(?:the|a|an|another|one|some)"
    r" (?:[a-z0-9_.-]+ ){1,3}(?:is|was|has|remains|remain|still|needs|will)\b)"
)
_JOINERS = ".-_/"


class Finding:
    """What one rule found: the rule's name, the sentence it is in, and the term itself."""

    __slots__ = ("passage", "rule", "sentence", "term")

    def __init__(self, rule: str, passage: str, term: str, at: int = 0) -> None:
        self.rule = rule
        self.passage = passage
        self.sentence = one_line(passage, at, at + len(term))
        self.term = one_line(term, 0, 0)

    def masked(self, mask: Mask) -> Finding:
        """Return the finding without what a screen hides; it sees the whole passage first."""
        passage, term = mask(self.passage), mask(self.term)
        return Finding(self.rule, passage, term, max(0, passage.find(term)))

    def as_dict(self) -> dict[str, str]:
        """Return the finding as JSON holds it."""
        return {"rule": self.rule, "sentence": self.sentence, "term": self.term}


def rules_verdict(message: str) -> bool:
    """Return True when the rules block a message."""
    return blocks(find(message))


def blocks(findings: list[Finding]) -> bool:
    """Tell whether findings block: a claim, and something that contradicts it."""
    rules = {finding.rule for finding in findings}
    return CLAIM in rules and len(rules) > 1


def find(message: str) -> list[Finding]:
    """Return what the rules find in a message, at most `LISTED` of each rule."""
    text = Text(message)
    found = _listed(text, CLAIM, claims(text))
    if not found:
        found = _in_another_language(text)
        if found:
            return found
    found += _listed(text, MARKER, markers(text)) + _listed(text, PROMISE, promises(text))
    if found and found[0].rule == CLAIM:
        from hikmah.gate.contradictions import contradictions

        found += _listed(text, CONTRADICTION, contradictions(text))
    return found


def _listed(text: Text, rule: str, spans: Iterator[Span]) -> list[Finding]:
    return [Finding(rule, *text.passage(start, end)) for start, end in islice(spans, LISTED)]


def _in_another_language(text: Text) -> list[Finding]:
    """Return a claim in another language and what contradicts it; nothing without a claim."""
    from hikmah.gate import languages

    claimed = list(islice(languages.claims(text), LISTED))
    if not claimed:
        return []
    language = claimed[0][2]
    capital = (span for span in markers(text) if languages.is_marker(text, *span))
    return (
        _listed(text, CLAIM, ((start, end) for start, end, _ in claimed))
        + _listed(text, MARKER, capital)
        + _listed(text, PROMISE, languages.deferred(text, language))
        + _listed(text, CONTRADICTION, languages.untested(text, language))
    )


def claims(text: Text) -> Iterator[Span]:
    """Yield where the message claims completion."""
    if not any(word in text.clean for word in words.CLAIMS):
        return  # much faster than the pattern, and most long texts end here
    for hit in _CLAIM.finditer(text.clean):
        start, end = hit.span()
        if _is_whole(text.clean, start) and _is_claim(text, start, end):
            yield start, end


def _is_claim(text: Text, start: int, end: int) -> bool:
    clean = text.clean
    low, _ = text.clause(start, end)
    part = clean.rfind(",", low, start) + 1 or low
    if _is_denied(clean[low:start]) or text.is_mentioned(start):
        return False
    if pattern(_AWAITED).search(clean, part, start) or text.is_asked(end):
        return False
    return not _is_promised(clean, low, end)


def _is_denied(before: str) -> bool:
    """Tell whether one of the three words before a claim denies it."""
    if pattern(_OBLIGED).search(before):
        return True
    tokens = _WORD.findall(before)
    comma = False
    seen = 0
    for at in range(len(tokens) - 1, -1, -1):
        token = tokens[at]
        if token == ",":
            comma = True
            continue
        seen += 1
        if seen > 3:
            return False
        if token in words.NEGATORS or token.endswith("n't"):
            bound = comma and token in words.COMMA_BOUND
            following = tokens[at + 1] if at + 1 < len(tokens) else ""
            if not bound and following not in words.NOT_ONLY:
                return True
    return False


def _is_promised(clean: str, low: int, end: int) -> bool:
    """Tell whether the word is the verb of a promise: `I'll complete the rest`."""
    return any(hit.end() == end for hit in _PROMISE.finditer(clean, low, end))


def markers(text: Text) -> Iterator[Span]:
    """Yield where the message marks something as open."""
    if not any(sign in text.clean for sign in _SIGNS):
        return
    for hit in _MARKER.finditer(text.clean):
        start, end = hit.span()
        if hit[0][0] in "<[":
            closed = _bracket_end(text.clean, end)
            if closed and not _is_cleared(text, start, end):
                yield start, closed
        elif _is_whole(text.clean, start) and _is_marker(text, start, end):
            yield start, end


def _bracket_end(clean: str, at: int) -> int:
    """Return where `<insert ...>` closes on its line, 0 when it does not."""
    found = pattern(r"[>\]\n]").search(clean, at, at + LOOK_BACK)
    return found.end() if found and found[0] != "\n" else 0


def _is_marker(text: Text, start: int, end: int) -> bool:
    clean = text.clean
    term = clean[start:end].rstrip("s")
    syntax = term in ("todo", "tbd", "fixme") and clean[end : end + 1] in (":", "(")
    if _is_name(clean, start, end) or _is_cleared(text, start, end, syntax=syntax):
        return False
    if syntax:
        return True
    if term.startswith("coming") and text.is_inside_quotes(start, end):
        return False
    if text.is_mentioned(start) or _is_word(text, start, end) or _is_asked_about(text, end):
        return False
    return not _is_thing(text, term, start, end)


def _is_cleared(text: Text, start: int, end: int, *, syntax: bool = False) -> bool:
    """Tell whether one of the three words before a marker takes it back.

    Before marker syntax a verb that is also a claim does not: `Fixed TODO: the retry path`.
    """
    low, _ = text.clause(start, end)
    before = [word for word in _WORD.findall(text.clean, low, start) if word != ","][-3:]
    clearing = words.CLEARED.difference(words.CLAIMS) if syntax else words.CLEARED
    return any(word in clearing or word.endswith("n't") for word in before)


def _is_asked_about(text: Text, end: int) -> bool:
    """Tell whether a question holds the term, and does not say that its author left it."""
    low, _ = text.clause(end, end)
    left = pattern(r"\b(?:i|we)(?:'ve| have)? (?:left|kept|added|put|used)\b")
    return text.is_asked(end) and left.search(text.clean, low, end) is None


def _is_word(text: Text, start: int, end: int) -> bool:
    """Tell whether the clause speaks of the word: searches for it, lists it, denies it wholly."""
    clean = text.clean
    low, high = text.clause(start, end)
    if pattern(_SEARCHED).search(clean, low, start) or pattern(_NO_LONGER).search(clean, end, high):
        return True
    subject = (
        pattern(_LISTED_AFTER).match(clean, end, high)
        or pattern(_LISTED_BEFORE).search(clean, low, start)
        or pattern(_PROCESSED).search(clean, low, start)
    )
    return subject is not None and not _is_open(clean, low, high)


def _is_name(clean: str, start: int, end: int) -> bool:
    """Tell whether a term is joined to a name: `TODO.md`, `todo-list.ts`, but not `TODO/FIXME`."""
    before, after = clean[start - 2 : start], clean[end : end + 2]
    if len(before) == 2 and before[1] in _JOINERS and before[0].isalnum():
        return before[1] != "/" or not _ends_in_marker(clean[max(0, start - 14) : start - 1])
    if len(after) == 2 and after[0] in _JOINERS and after[1].isalnum():
        return after[0] != "/" or _MARKER.match(clean, end + 1) is None
    return False


def _ends_in_marker(before: str) -> bool:
    return before.rstrip("s").endswith(words.MARKERS)


def _is_thing(text: Text, term: str, start: int, end: int) -> bool:
    """Tell whether the term names a thing and its clause does not call that thing open."""
    clean = text.clean
    low, high = text.clause(start, end)
    found = pattern(_NEXT_WORD).match(clean, end, high)
    following = found[1] if found else ""
    rest = found.end() if found else end
    if following not in words.NOTES_AFTER_TODO and _is_dealt_with(clean, end, high):
        return not _is_open(clean, low, high)
    if term == "placeholder":
        technical = pattern(_TECHNICAL).search(clean, low, high) is not None
        for what in (_IS_NO, _IS_PAST, _IN_A_FIELD):
            technical = technical or pattern(what).match(clean, end, high) is not None
        if clean.endswith("the ", low, start) and pattern(_IS_SHOWN).match(clean, end, high):
            technical = True
        named = technical or _names_placeholder(clean[low:start], following)
        return following == "text" or (named and not _is_open(clean, end, high))
    if term.startswith("coming"):
        return following.rstrip("s") in words.THINGS_AFTER_SOON and not _is_open(clean, rest, high)
    if term == "todo" and not _is_open(clean, low, high) and text.is_about_todos(start, end):
        return True
    if following in words.NOTES_AFTER_TODO:
        return _is_dealt_with(clean, rest, high) and not _is_open(clean, low, high)
    return following.rstrip("s") in words.THINGS_AFTER_TODO and not _is_open(clean, rest, high)


def _names_placeholder(before: str, following: str) -> bool:
    owner = _WORD.findall(before)[-1:]
    return following.rstrip("s") in words.THINGS_AFTER_PLACEHOLDER or (
        bool(owner) and owner[0].replace("'s", "").rstrip("s") in words.THINGS_BEFORE_PLACEHOLDER
    )


def _is_open(clean: str, low: int, high: int) -> bool:
    """Tell whether a stretch says that something is open, and not that nothing is."""
    for hit in pattern(_OPEN).finditer(clean, low, high):
        before = _WORD.findall(clean, max(0, hit.start() - LOOK_BACK), hit.start())[-2:]
        shown = pattern(_SHOWN).search(clean, low, hit.start())
        if not _NONE_OPEN.intersection(before) and shown is None:
            return True
    return False


def _is_dealt_with(clean: str, low: int, high: int) -> bool:
    cut = pattern(_NEW_CLAUSE).search(clean, low, high)
    return pattern(_DEALT_WITH).search(clean, low, cut.start() if cut else high) is not None


def promises(text: Text) -> Iterator[Span]:
    """Yield where the message defers work to its author's later self."""
    clean = text.clean
    if not any(sign in clean for sign in _PROMISE_SIGNS):
        return
    for hit in _PROMISE.finditer(clean):
        start, end = hit.span()
        if not _is_whole(clean, start) or text.is_mentioned(start):
            continue
        from hikmah.gate.offers import is_offer

        low, high = text.clause(start, end)
        if not is_offer(clean, start, low, high):
            yield start, end


def _is_whole(clean: str, start: int) -> bool:
    """Tell whether no ASCII word character stands before a term."""
    before = clean[start - 1 : start] if start else ""
    return not (before.isascii() and (before.isalnum() or before == "_"))
