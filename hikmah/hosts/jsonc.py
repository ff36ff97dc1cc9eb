r"""JSON with comments, read with places: a file is added to, never rewritten.

Comments (`//`, `/* */`) and trailing commas are read and kept. What is found is where things
stand in the text; `insert` answers with an edit, and never touches what is there.

Example:
    >>> text = '{"a": 1} // kept'
    >>> edit = insert(text, parse(text), '"b": 2')
    >>> text[: edit.at] + edit.text + text[edit.at :]
    '{"a": 1,\n  "b": 2} // kept'
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from hikmah.errors import InvalidInputError

MAX_DEPTH = 200
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"(?:true|false|null|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.])")


class Node(NamedTuple):
    """A value in the text: where it stands, and what is in it.

    `members` has the names of an object's values, in step with `items`.
    """

    kind: str  # object, array, string or scalar
    start: int
    end: int
    items: tuple[Node, ...] = ()
    members: tuple[str, ...] = ()
    trailing_comma: bool = False

    def get(self, name: str) -> Node | None:
        """Return the value of a member, the last of that name; None without one."""
        found = [item for key, item in zip(self.members, self.items, strict=False) if key == name]
        return found[-1] if found else None


class Edit(NamedTuple):
    """A text to put in at a place."""

    at: int
    text: str


def parse(text: str) -> Node:
    """Read a document whose root is an object.

    Raises:
        InvalidInputError: It is not one; `where` is the line.
    """
    root, end = _value(text, _skip(text, 0), 0)
    end = _skip(text, end)
    if end != len(text):
        raise _error(text, end, "something after the document's end")
    if root.kind != "object":
        raise _error(text, root.start, "the document is not an object")
    return root


def insert(text: str, container: Node, element: str, *, newline: str = "\n") -> Edit:
    """Return the edit that adds an element (for an object `"name": value`) as the last one."""
    indent = _indent(text, container)
    element = element.replace("\n", newline + indent)
    if container.items:
        at = container.items[-1].end
        lead = "" if container.trailing_comma else ","
        place = _skip(text, at) + 1 if container.trailing_comma else at
        return Edit(place, f"{lead}{newline}{indent}{element}")
    inside = text[container.start + 1 : container.end - 1]
    closing = "" if "\n" in inside else newline + _margin(text, container.start)
    return Edit(container.start + 1, f"{newline}{indent}{element}{closing}")


def apply(text: str, edits: list[Edit]) -> str:
    """Return the text with edits made, the last place first."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.at] + edit.text + text[edit.at :]
    return text


def _indent(text: str, container: Node) -> str:
    """Return the margin of a container's elements: as its first has it, or two deeper."""
    if container.items:
        line = text.rfind("\n", 0, container.items[0].start) + 1
        margin = _margin(text, container.items[0].start)
        if line > container.start:
            return margin
    return _margin(text, container.start) + "  "


def _margin(text: str, at: int) -> str:
    """Return the blanks that begin the line of a place."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > MAX_DEPTH:
        raise _error(text, at, "nested too deeply")
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    for kind, shape in (("string", _STRING), ("scalar", _SCALAR)):
        found = shape.match(text, at)
        if found:
            return Node(kind, at, found.end()), found.end()
    raise _error(text, at, "a value is missing")


def _container(text: str, start: int, depth: int) -> tuple[Node, int]:
    kind, closing = ("object", "}") if text[start] == "{" else ("array", "]")
    items: list[Node] = []
    names: list[str] = []
    comma = True
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        if not comma:
            raise _error(text, at, f"a comma or {closing!r} is missing")
        if kind == "object":
            name, at = _name(text, at)
            names.append(name)
        item, at = _value(text, at, depth + 1)
        items.append(item)
        at = _skip(text, at)
        comma = text[at : at + 1] == ","
        at = _skip(text, at + 1) if comma else at
    trailing = comma and bool(items)
    node = Node(kind, start, at + 1, tuple(items), tuple(names), trailing_comma=trailing)
    return node, at + 1


def _name(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise _error(text, at, "a name is missing")
    colon = _skip(text, found.end())
    if text[colon : colon + 1] != ":":
        raise _error(text, colon, "a colon is missing")
    return str(json.loads(found[0])), _skip(text, colon + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _error(text: str, at: int, what: str) -> InvalidInputError:
    line = text.count("\n", 0, at) + 1
    return InvalidInputError(f"not JSON: {what}", where=f"line {line}")
