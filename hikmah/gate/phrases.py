"""Plain words that take a claim back, as data: the kinds of `own_contradiction`.

Standard library only, Python 3.9 and newer. `hikmah.gate.contradictions` reads them; the golden
cases have both sides of each kind. No pattern repeats another repetition, so none can backtrack
over more than the stretch it has just read.
"""

from __future__ import annotations

from hikmah.gate import words


class Kind:
    """One kind of taking back.

    Attributes:
        signs: The kind is tried only where one of these is in the text: most messages have none.
        source: The pattern of what is said.
        honest: A pattern; what it finds in the same clause makes an honest sentence of it.
    """

    __slots__ = ("honest", "signs", "source")

    def __init__(self, signs: tuple[str, ...], *sources: str, honest: str = "") -> None:
        self.signs = signs
        self.source = "|".join(sources)
        self.honest = honest


_CLAIMED = "|".join(words.CLAIMS)
_FILLED = r"(?:[a-z0-9_'`-]+ ){0,3}"
_I = r"\b(?:i|we)(?:'ve| have)?"
_I_DID = r"\b(?:i|we)(?:'ve| have| did| had| could| was| were| am|'m)?"
_NOT = r"(?: not|n't| never| unable to| not able to)(?: yet| been able to| able to| actually)?"
_COUNT = r"one|two|three|four|five|six|seven|eight|nine|ten"
_SOME = rf"(?:[0-9]+|{_COUNT}|some|several|a few|a couple)"
_NUMBER = rf"(?:[0-9]+|{_COUNT}|half)"
_BROKEN = (
    r"(?:failing|broken|flaky|red) (?:[a-z0-9_-]+ ){0,2}(?:tests?|specs?|checks?|assertions?)\b"
)
_PROVISIONAL = r"(?:mocked|stubbed|faked|hard-?coded|commented out|made up|dummy|fake)"
_FOR_NOW = r"(?:for now|for the time being|temporarily|as a stopgap|in the meantime)"
_CANNED = r"(?:hard-?coded|dummy|fake|mocked|mock|sample|canned|made-up)"
_GIVES = r"(?:returns?|uses?|serves?|gives?|shows?)(?: an?| the| some)?"
_JUST = r"(?:still |only |just |merely |currently )"
_TITLE = (
    r"(?:(?:the )?remaining (?:work|tasks?|items?|steps?|issues?|problems?)"
    r"|known (?:gaps?|problems?)|outstanding(?: work| issues| items)?"
    r"|what(?:'s| is) (?:left|missing|not (?:in )?there(?: yet)?|not done(?: yet)?)|left to do"
    r"|still to (?:do|come)|still open|open items"
    r"|not (?:yet )?(?:done|implemented|finished|started|handled)(?: yet)?)"
)
_BUILT = (
    r"(?:implemented|wired|migrated|connected|supported|covered|finished|hooked|written|handled"
    r"|tested|added|ported|translated|documented|validated)"
)
_MADE = (
    r"(?:done|written|implemented|added|finished|completed|fixed|tested|wired|ported|migrated"
    r"|documented|translated|handled|connected|replaced)"
)
_CHECKED = r"(?:checked|verified|validated|enforced|handled|encrypted|saved)"
_RUNS = r"(?:compile|build|work|run|start|pass|load|link|render|send)"
_MAKE = r"(?:write|implement|add|fix|finish|complete|wire|fill|replace|connect|hook)"
_MUST = r"\b(?:must|ha(?:s|ve) to|needs? to) be"
_PUT_RIGHT = (
    r"(?:added|implemented|written|replaced|fixed|finished|completed|restored|re-?enabled"
    r"|switched (?:on|back)|turned (?:on|back))"
)
_LIVE = r"(?:go(?:es|ing)? live|(?:the |a |any )?(?:release|launch)|ship(?:s|ping)?|production)"
_PARTLY = (
    r"(?:converted|migrated|ported|translated|finished|implemented|covered|reviewed|tested"
    r"|verified|checked|managed|updated)"
)
_LOOKED_AT = (
    r"(?:looked at|reviewed|converted|migrated|ported|tested|checked|covered|finished|done)"
)

_IN_TESTS = r"\b(?:tests?|specs?|suites?|fixtures?|storybook|stor(?:y|ies)|demos?|examples?)\b"
_BASELINE = (
    r"\b(?:none|no|before|without|unless|main|master|baseline|upstream|pre-?existing|unrelated"
    r"|expected|should|must|same|deliberate(?:ly)?|by design|used to|revert(?:ed|ing)?|old)\b"
)
_NO_NEED = r"\b(?:since|because|as|need(?:ed|s)?|necessary|required|nothing)\b"
_GONE = r"\b(?:after|any ?more|any longer|no longer|with (?:the|this) (?:fix|change|patch))\b"

KINDS = (
    Kind(  # not run, by the author's own word
        ("test", "run", "verif", "execute", "tried", "try"),
        rf"{_I_DID}{_NOT} (?:run|test|tested|verify|verified|execute|executed|try|tried)\b",
    ),
    Kind(
        ("reproduce", "confirm", "found"),
        rf"{_I_DID}{_NOT} (?:reproduced?|confirm(?:ed)?|found (?:out )?(?:why|the cause))\b",
        honest=_GONE,
    ),
    Kind(
        ("chance", "opportunity", "time to"),
        r"\b(?:i|we)(?:'ve| have)?(?: not|n't) had (?:a |the |any )?"
        r"(?:chance|opportunity|time) to\b",
    ),
    Kind(
        ("nothing", "none of"),
        r"\b(?:nothing|none)(?: of (?:this|it|that|them))? (?:has|have|was) been"
        r" (?:run|tested|tried|verified)\b",
    ),
    Kind(  # not done, by the author's own word
        ("thing i ", "n't ", "not "),
        r"\b(?:one|only) thing i (?:did|could|have)(?:n't| not)\b",
        r"\b(?:i|we) have(?:n't| not)(?: yet)?"
        r" (?:dealt with|handled|implemented|finished|completed|covered)\b",
    ),
    Kind(("on my ",), r"\b(?:is|are|still) on my (?:to-?do )?list\b"),
    Kind(
        ("pending",),
        r"\b(?:tests?|docs|documentation|guide|translations?|error handling|validation|clean-?up)"
        r" (?:is|are) (?:still )?pending\b",
    ),
    Kind(  # put off, whoever does it
        ("later", "tomorrow", "next ", "follow-up"),
        r"(?:[.,;!] |^)will (?:add|fix|do|finish|write|test|clean up|implement|handle|update)\b"
        rf"[^.!?;\n]{{0,40}}{words.LATER}",
    ),
    Kind(  # not sure that it works
        ("say", "tell", "sure"),
        r"\bi (?:can't|cannot|can not|couldn't|could not) (?:say|tell|be sure)"
        r"(?: for sure| yet)? (?:whether|if) (?:this|it|the (?:fix|change))\b",
        r"\bi(?:'m| am) not sure(?: yet)? (?:whether|if|that) (?:this|it|the (?:fix|change))"
        r" (?:works?|solves?|fixes|helps?|holds?)\b",
    ),
    Kind(
        ("test", "suite", "spec"),
        r"\b(?:tests?|suites?|specs?) (?:were|was|have|has|are)(?: not|n't|n't been| not been"
        r"| never been) (?:run|executed|added|written)\b",
    ),
    Kind(
        ("no test",), r"\bno tests (?:were|have been|are) (?:added|written|run)\b", honest=_NO_NEED
    ),
    Kind(
        ("untested", "unverified"),
        r"\b(?:is|are|was|were|remains?|still|currently) (?:still )?(?:untested|unverified)\b",
    ),
    Kind(  # tests that fail now
        ("fail", "not pass", "n't pass"),
        rf"\b{_SOME}(?: (?:of|out of) (?:the |its |our |my )?[a-z0-9]+)?(?: [a-z-]+){{0,2}}"
        r" (?:tests?|specs?) (?:currently |now |still )?"
        r"(?:fails?|is failing|are failing|do(?:es)? not pass|do(?:es)?n't pass)\b",
        honest=_BASELINE,
    ),
    Kind(  # failing tests that were put out of the way
        ("skip", "disabl", "comment", "xfail"),
        rf"{_I} (?:skipped|disabled|commented out|xfailed) {_FILLED}{_BROKEN}",
        rf"{_I} marked {_FILLED}{_BROKEN} (?:as )?(?:xfail|skip(?:ped)?)\b",
        rf"\b{_BROKEN} (?:is|are|was|were) (?:now |just )?(?:skipped|disabled|commented out)\b",
    ),
    Kind(("commented out",), rf"{_I} commented out {_FILLED}(?:for now|because|until)\b"),
    Kind(
        ("stubbed",),
        r"\b(?:is|are|was|were|left|currently|still) (?:just |only |still )?stubbed\b",
        honest=_IN_TESTS,
    ),
    Kind(
        ("for now", "until", "temporar", "stopgap", "time being", "meantime"),
        rf"\b{_PROVISIONAL}\b {_FILLED}(?:out )?(?:{_FOR_NOW}|until)\b",
        rf"{_I} (?:also )?disabled {_FILLED}(?:{_FOR_NOW}|until)\b",
        rf"\bdisabled {_FILLED}{_FOR_NOW}\b",
        rf"\b{_FOR_NOW},? (?:[a-z0-9_'`-]+ ){{1,5}}(?:is|are)(?: not|n't) {_CHECKED}\b",
        honest=_IN_TESTS,
    ),
    Kind(  # what it answers is made up
        ("hard", "dummy", "fake", "mock", "sample", "canned", "made-up"),
        rf"\b(?:currently|still|only|just|always|for now)(?: only| just)? {_GIVES} {_CANNED}\b",
        rf"\b{_FOR_NOW},? (?:[a-z]+ ){{1,3}}{_GIVES} {_CANNED}\b",
        rf"\b(?:is|are) {_JUST}{{1,3}}(?:an? )?{_CANNED}\b",
        honest=_IN_TESTS,
    ),
    Kind(
        ("skeleton", " stub", "no-op", "half"),
        rf"\b(?:is|are) {_JUST}{{1,3}}(?:an? )?(?:stubs?|skeletons?|no-op)\b",
        r"\b(?:is|are) (?:a stub|stubs)(?= that\b| which\b|[.,;!]|$)",
        rf"\b(?:is|are) {_JUST}?half[ -](?:finished|done|implemented|written|ported)\b",
        honest=rf"{_IN_TESTS}|\bloading\b",
    ),
    Kind(
        ("left as", "left for", "left un", "left to you"),
        r"\bleft (?:as an exercise|for later|for a later|unfinished|undone|unimplemented"
        rf"|(?:for|to) you to {_MAKE})\b",
    ),
    Kind(
        ("except", "apart from", "other than", "but", "exception"),
        rf"\b(?:{_CLAIMED})(?:,? {_FILLED}|, )(?:apart from|except for|except|other than|but"
        r"|with the exception of) (?:the|for|that|a|one|two|three|some|only for)\b",
    ),
    Kind(("[ ]",), r"(?m)^ *(?:[-*+]|[0-9]{1,3}[.)]) \[ \] \S"),
    Kind(  # a title, on a line or opening a sentence
        ("remaining", "known", "outstanding", "left", "missing", "still", "open items", "not "),
        rf"(?m)(?:^[ #*_-]*|(?<=[.!?] )[*_]{{0,2}})(?:{_TITLE}[ *_]*(?::|$)|remaining[*_]*:)"
        r"(?![ *_\n-]{0,8}(?:none|nothing|n/a|no|zero|[0-9])\b)",
    ),
    Kind(
        ("still",),
        r"(?<!was )(?<!were )(?<!had )\bstill (?:to do|to be done|fails?|failing|red|broken"
        r"|missing|unfinished|needs? to be|breaks?|crash(?:es)?|hangs?|deadlocks?"
        rf"|do(?:es)?(?:n't| not) {_RUNS})\b",
        honest=r"\bused to\b",
    ),
    Kind(
        ("yet", "hooked", "wired"),
        r"(?:\b(?:is|are|was|were|has|have|still) not|\b[a-z]{1,8}n't|[:(,] ?not)(?: been)?"
        rf" (?:{_BUILT}(?: up)? yet|yet {_BUILT}|hooked up|wired(?: up)?)\b",
        rf"\b(?:do|does|wo|ca)(?:n't| not) {_RUNS}(?: [a-z]+){{0,2}} yet\b",
    ),
    Kind(
        ("yet to", "to be ", "remain"),
        rf"\b(?:has|have) yet to be {_MADE}\b",
        rf"\bremains? to be {_MADE}\b",
        rf"\b(?:is|are) (?:still|yet) to be {_MADE}\b",
    ),
    Kind(  # it has to be put right first
        ("before ", "again"),
        rf"{_MUST} {_PUT_RIGHT}(?: [a-z]+){{0,2}} before (?:it |we |you )?{_LIVE}\b(?! of\b)",
        r"\b(?:ha(?:s|ve) to|needs? to) be (?:switched|turned) (?:back )?on again\b",
        honest=r"\b(?:after|each|every)\b",
    ),
    Kind(
        ("out of time", "get to", "get around", " time"),
        r"\b(?:ran out of time|did(?: not|n't) get (?:to|around)|for (?:lack|want) of time)\b",
        r"\b(?:i|we) (?:had no|did(?: not|n't) have(?: the| enough)?|lacked the) time"
        r"(?= (?:to|for|left)\b|[.,;!]|$)",
    ),
    Kind(
        ("need to",),
        r"\b(?:i|we) (?:just|still) need to\b",
        rf"\byou(?:'ll)? still need to {_MAKE}\b",
    ),
    Kind(
        ("the only ",),
        r"\bthe only (?:thing|part|piece|bit)s?(?: that(?:'s| is| are))?"
        r" (?:missing|outstanding|left to do|not done)(?: is\b| are\b|:)",
    ),
    Kind(  # a part of what was to be done
        ("only", " not ", "n't "),
        rf"{_I} only {_PARTLY} (?:about )?{_NUMBER} (?:out )?of (?:the )?[a-z0-9]+\b",
        rf"\b{_NUMBER} of (?:the |its |our )?{_NUMBER}(?: [a-z]+)? (?:were|was|are|is)"
        rf"(?: not|n't) {_LOOKED_AT}\b",
        honest=r"\bneed(?:ed|s)?\b",
    ),
)

# What makes an honest sentence of any of them.
CONDITION = (
    r"\b(?:if|when|whenever|unless|until|once|where|because|since|used to|before|no longer)\b"
)
RELATIVE = r"\b(?:that|which|who)(?: (?:is|are|was|were|has|have|had|do|does|did|still))?\s?\Z"
AUTHOR = r"(?:i|we)\b"  # "note that I ...": no relative clause
ASKED_FOR = (
    r"\b(?:as (?:you )?(?:asked|requested|agreed|wanted|wished|specified|instructed)"
    r"|you (?:had )?(?:asked|requested|told)|on (?:purpose|request)|at your request"
    r"|deliberate(?:ly)?|intentional(?:ly)?|by design"
    r"|out(?:side)? of (?:the )?scope|outside (?:the|this) (?:scope|request|task|ticket))\b"
)
# A fault that was there and is told of: the past, and what is so now.
PAST = r"\b(?:was|were|had been)\b"
STORY = r"\b(?:previous(?:ly)?|formerly|earlier|old|legacy|original(?:ly)?|used to|so far)\b"
MENDED = (
    r"[,;] (?:but |and |so )?(?:now|i (?:fixed|ran|finished|added|wrote))\b|\bnow (?:all|they|it)\b"
)

# States of work in lists and tables, and how those say that something is finished.
STATES = ("not started", "in progress", "not done", "not implemented", "incomplete", "to do", "wip")
DONE = ("done", "complete", "completed", "finished", "✅", "yes")
TITLES = ("status", "state", "progress")
_OPEN_STATE = rf"({'|'.join(STATES)})"
_ITEM = r"(?m)^ *(?:[-*+]|[0-9]{1,3}[.)]) [^\n|]{1,100}?[:\u2013\u2014-][ *_]{1,4}"
OPEN_CELL = rf"(?m)\|[ *_]*{_OPEN_STATE}[ *_]*(?=\||$)"
OPEN_ITEM = rf"{_ITEM}{_OPEN_STATE}[ *_.]*$"
DONE_ITEM = rf"{_ITEM}(?:done|completed?|✅)[ *_.]*$"
# What is to be done next is often an idea; tests to be written are not.
NEXT_STEPS = r"\bnext steps?\b"
TESTS_TO_WRITE = (
    r"\b(?:write|finish) (?:(?:the|unit|missing|remaining|some|integration) ){0,3}tests?\b"
)
OPTIONAL = r"\b(?:optional(?:ly)?|suggest|suggestions?|recommended|possible|if|could|might|you)\b"
