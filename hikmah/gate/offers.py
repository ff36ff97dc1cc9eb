"""Rule 8: a promise that is left to the user is an offer, not deferred work.

Standard library only, Python 3.9 and newer. An offer is an idiom that asks for the user's
permission or trigger. It reaches a promise

1. in the promise's own part of the clause (parts are cut at commas), unless another promise
   or an `and`/`but` that starts this promise stands between;
2. opening the part just before, unless `and`/`but` starts the promise's part.

The idiom "let me know ..." reaches across `, and I'll`: that is how the phrase goes.

Example:
    >>> low = "if you want, i'll add a test"
    >>> is_offer(low, low.index("i'll"), 0, len(low))
    True
"""

from __future__ import annotations

import re

_WANTING = r"want|like|prefer|wish|desire"
_WILLING = r"'d like|'d prefer|'d rather|would like|would prefer|would rather"
_DECIDING = (
    r"approve|confirm|agree|give|say|decide|choose|pick|respond|reply|answer|authorize|authorise"
    r"|sign off|greenlight|are happy|are ready|'re happy|'re ready|are okay|'re okay|are ok|'re ok"
    r"|are good|'re good|are comfortable|'re comfortable"
)
_REVIEWING = r"review|have reviewed|'ve reviewed|look (?:it|this|them) over|take a look"
_OFFERS = re.compile(
    r"\b(?:"
    rf"if you (?:{_WANTING}|need me|need it|{_DECIDING}|wish|would)\b"
    rf"|if you(?:{_WILLING})\b"
    rf"|if you (?:would like|would prefer|would rather|'d like)\b"
    r"|if (?:that|this|it)(?:'s| is)? (?:sounds (?:good|right|fine|okay|ok)\b|(?:works|suits|good"
    r"|fine|okay|ok|all right|alright) (?:for|with|by) you\b)"
    r"|if (?:desired|wanted|requested|useful|helpful)\b"
    rf"|(?:once|when|whenever|as soon as|after) you(?: have|'ve|'d)? ?(?:{_DECIDING}|{_REVIEWING}"
    rf"|approved|confirmed|agreed|decided|chosen|picked|signed off|given|had a look|{_WANTING})\b"
    r"|(?:on|upon|with|after|pending) your (?:approval|confirmation|go-ahead|go ahead|say-so"
    r"|permission|ok|okay|sign-off|review|word|signal)\b"
    rf"|should you (?:{_WANTING}|need|choose|decide)\b"
    rf"|would you (?:{_WANTING}|rather)\b"
    r"|do you want\b"
    r"|(?:just )?say the word\b"
    r"|give me the (?:go-ahead|go ahead|word|nod|green light)\b"
    rf"|let me know (?:if|whether|when) you(?: (?:{_WANTING}|would)|{_WILLING})\b"
    r"|let me know and\b|let me know, and\b"
    r")",
    re.ASCII,
)
_LET_ME_KNOW = "let me know"
_FUTURE = re.compile(r"\b(?:i|we)(?:'ll| will| shall)\b", re.ASCII)
_JOINED = re.compile(r"\b(?:and|but|then|so) *$", re.ASCII)
_LEADING = re.compile(r"(?:[\W_]|(?:and|but|or|so|also|then|just|please|otherwise) )*", re.ASCII)


def is_offer(clean: str, start: int, low: int, high: int) -> bool:
    """Tell whether the promise at `start`, in the clause `low..high`, is left to the user."""
    first = clean.rfind(",", low, start) + 1 or low
    comma = clean.find(",", start, high)
    last = high if comma < 0 else comma
    joined = _JOINED.search(clean, first, start) is not None
    return _in_own_part(clean, start, first, last, joined=joined) or (
        first > low and _opens_part_before(clean, start, low, first, joined=joined)
    )


def _in_own_part(clean: str, start: int, first: int, last: int, *, joined: bool) -> bool:
    """Tell whether an offer stands in the part, with no other promise between."""
    for offer in _OFFERS.finditer(clean, first, last):
        if offer.start() > start:
            return _FUTURE.search(clean, start + 4, offer.start()) is None
        between = clean[offer.end() : start]
        if _FUTURE.search(between) is None and (not joined or _LET_ME_KNOW in offer[0]):
            return True
    return False


def _opens_part_before(clean: str, start: int, low: int, first: int, *, joined: bool) -> bool:
    """Tell whether an offer opens the part before the promise's own."""
    begin = clean.rfind(",", low, first - 1) + 1 or low
    lead = _LEADING.match(clean, begin, first - 1)
    offer = _OFFERS.match(clean, lead.end() if lead else begin, first)
    if offer is None or _FUTURE.search(clean, offer.end(), start) is not None:
        return False
    return not joined or _LET_ME_KNOW in offer[0]
