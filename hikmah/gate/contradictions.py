"""The rule `own_contradiction`: a claim that the message itself takes back.

Standard library only, Python 3.9 and newer, linear time. Beyond markers and promises there
are ways of saying in plain words that work is not done: tests that were not run, a call that
is mocked for now, an unchecked box, a table with a row not started. The kinds are data
(`hikmah.gate.phrases`), each measured on labelled messages before it was switched on
(docs/gate.md). Left out is what stands

1. in a condition, a question, a relative clause (`rows that are not written yet`) or a quote,
2. in a clause that says it was asked for, or that tells of a fault now mended,
3. beside what its own kind lists as honest (a stub *in the tests*).

Example:
    >>> from hikmah.gate.text import Text
    >>> text = Text("Fixed. The tests were not run.")
    >>> [text.clean[start:end] for start, end in contradictions(text)]
    ['tests were not run']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from hikmah.gate import phrases
from hikmah.gate.text import LOOK_BACK, Text, pattern

_JUDGED = 1_000  # places of one kind that are looked at: past that a text is no message
_LOOKED_AROUND = 50  # places whose surroundings are looked at
_STEPS_AHEAD = 400  # characters after a title in which its list is looked for
_STORY_AHEAD = 120  # characters after a phrase in which `now` can mend it
_AROUND = 2_000  # characters of a table or list looked at on each side of a row

Span = tuple[int, int]


def contradictions(text: Text) -> Iterator[Span]:
    """Yield where the message says in plain words that its work is not done."""
    clean = text.clean
    for kind in phrases.KINDS:
        if not any(sign in clean for sign in kind.signs):
            continue
        for hit in islice(pattern(kind.source).finditer(clean), _JUDGED):
            if _is_meant(text, hit.start(), hit.end(), kind.honest):
                yield hit.span()
    if any(state in clean for state in phrases.STATES):
        yield from _unfinished_rows(clean)
        yield from _unfinished_items(clean)
    if "next step" in clean:
        yield from _tests_to_write(text)


def _is_meant(text: Text, start: int, end: int, honest: str) -> bool:
    """Tell whether a phrase states what is, of the work, and not as it was asked for."""
    clean = text.clean
    low, high = text.clause(start, end)
    part = max(clean.rfind(",", low, start) + 1, low, start - LOOK_BACK)
    if text.is_asked(end) or text.is_mentioned(start):
        return False
    if pattern(phrases.CONDITION).search(clean, part, start) or _is_relative(clean, part, start):
        return False
    if honest and pattern(honest).search(clean, low, high):
        return False
    return not (pattern(phrases.ASKED_FOR).search(clean, low, high) or _is_told(text, start, end))


def _is_relative(clean: str, part: int, start: int) -> bool:
    """Tell whether a phrase describes a thing: `rows that are not written yet`."""
    if pattern(phrases.AUTHOR).match(clean, start):
        return False
    return pattern(phrases.RELATIVE).search(clean[part:start]) is not None


def _is_told(text: Text, start: int, end: int) -> bool:
    """Tell whether a phrase in the past tells of a fault that is mended now."""
    clean = text.clean
    low, high = text.clause(start, end)
    if pattern(phrases.PAST).search(clean, max(low, start - 10), end) is None:
        return False
    if pattern(phrases.STORY).search(clean, low, high):
        return True
    return pattern(phrases.MENDED).search(clean, end, end + _STORY_AHEAD) is not None


def _unfinished_items(clean: str) -> Iterator[Span]:
    """Yield `to do` and the like at the end of items, in a list where others are done."""
    for hit in islice(pattern(phrases.OPEN_ITEM).finditer(clean), _LOOKED_AROUND):
        low, high = max(0, hit.start() - _AROUND), hit.end() + _AROUND
        if pattern(phrases.DONE_ITEM).search(clean, low, high):
            yield hit.span(1)


def _unfinished_rows(clean: str) -> Iterator[Span]:
    """Yield cells like `not started`, in a table of work where other rows are done."""
    for hit in islice(pattern(phrases.OPEN_CELL).finditer(clean), _LOOKED_AROUND):
        if _is_state_of_work(clean, hit.start()):
            yield hit.span(1)


def _is_state_of_work(clean: str, at: int) -> bool:
    """Tell whether a cell stands under a title like `status`, in a column where some are done.

    The first column names things, so it is no state of work: a table of the states a product
    knows has them there.
    """
    begin = clean.rfind("\n", 0, at) + 1
    column = clean.count("|", begin, at + 1) - (clean[begin : begin + 1] == "|")
    above = list(_rows(reversed(clean[max(0, begin - _AROUND) : begin].split("\n")[:-1])))
    if column < 1 or not above or _cell(above[-1], column) not in phrases.TITLES:
        return False
    below = _rows(clean[begin : begin + _AROUND].split("\n"))
    return any(_cell(row, column) in phrases.DONE for row in (*above, *below))


def _rows(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a table, up to the first that is none."""
    for line in lines:
        if "|" not in line:
            return
        yield line


def _cell(row: str, column: int) -> str:
    cells = row.strip().strip("|").split("|")
    return cells[column].strip(" *_") if column < len(cells) else ""


def _tests_to_write(text: Text) -> Iterator[Span]:
    """Yield `write the tests` under next steps that nothing calls optional."""
    clean = text.clean
    for title in islice(pattern(phrases.NEXT_STEPS).finditer(clean), _LOOKED_AROUND):
        end = title.end() + _STEPS_AHEAD
        hit = pattern(phrases.TESTS_TO_WRITE).search(clean, title.end(), end)
        if hit and not pattern(phrases.OPTIONAL).search(clean, title.start(), hit.start()):
            yield hit.span()
