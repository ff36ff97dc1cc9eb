"""The credentials screen: well-known shapes of secrets, found and masked.

A guard rail, not a DLP system: it knows the shapes that vendors publish, passwords in
URLs, and assignments (`password = ...`) whose right side is a value rather than a
description of one. What it finds it names by rule, never by value.

Rules the module keeps:

1. Linear time on any input. Literals are looked for first; every repetition in a pattern
   is bounded or possessive, and no more than `_LOOK` characters of a value are judged.
2. A shape that is only mentioned (`<API_TOKEN>`, `vault:db/prod`, `$DB_PASS`, `sk-learn`)
   is kept; the words that make a description are data in `hikmah.model.wording`.
3. `mask` leaves nothing that `find` would still find.
4. A text is judged as it stands and as it is read (`hikmah.model.disguise`).

Example:
    >>> find("password = correct-horse-battery-staple")
    'secret assignment'
    >>> find("password = hashed_with_argon2id")
    >>> mask("the db is at postgres://app:hunter2@db")
    'the db is at postgres://app:[credential]@db'
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

from hikmah.model.description import MIN_VALUE_CHARS, is_reference, is_value
from hikmah.model.disguise import undisguised
from hikmah.model.wording import DESCRIBING, SECRET_NOUNS

if TYPE_CHECKING:
    from collections.abc import Iterator

MASK = "[credential]"
ASSIGNMENT = "secret assignment"
URL_PASSWORD = "password in a URL"  # noqa: S105  # a rule's name
PRIVATE_KEY = "PEM private key"
_LOOK = 256  # characters of a value that are judged; real secrets show themselves sooner

_ROUNDS = 4  # of masking, before the rest of a text is masked whole


class _Vendor(NamedTuple):
    """A published token shape: looked for only when one of its literals is in the text."""

    rule: str
    sign: str  # one character of each literal, to pass over most texts at once
    literals: tuple[str, ...]
    pattern: str
    tail: str = "A-Za-z0-9_-"  # what may continue the token, so that masking takes all of it


# Sources: each vendor's own page on token formats, and GitHub's list of supported secret
# scanning patterns. Minimum lengths are below the real ones, so that a shortened token
# is caught too, and above what a word of prose reaches.
_VENDORS = (
    _Vendor("AWS access key", "A", ("AKIA", "ASIA"), r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _Vendor(
        "GitHub token",
        "_",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})",
    ),
    _Vendor("GitLab token", "-", ("glpat-",), r"glpat-[A-Za-z0-9_-]{16,128}"),
    _Vendor("Anthropic key", "-", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{10,128}"),
    _Vendor(
        "OpenAI key",
        "-",
        ("sk-",),
        # One unbroken part of ten or more with a digit: `sk-learn-pipeline-2024` has none.
        r"sk-(?!ant-)(?=[A-Za-z0-9_-]{16})(?:[A-Za-z0-9]{0,64}+[_-]){0,12}?"
        r"(?=[A-Za-z]{0,64}+[0-9])[A-Za-z0-9]{10,128}",
    ),
    _Vendor("Stripe live key", "_", ("k_live_",), r"[sr]k_live_[A-Za-z0-9]{10,255}"),
    _Vendor("Slack token", "x", ("xox",), r"xox[abprs]-[A-Za-z0-9-]{10,255}"),
    _Vendor("Slack token", "-", ("xapp-",), r"xapp-[0-9]-[A-Za-z0-9-]{10,255}"),
    _Vendor("Google API key", "A", ("AIza",), r"AIza[A-Za-z0-9_-]{30,128}"),
    _Vendor("Google OAuth token", ".", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,255}"),
    _Vendor("npm token", "_", ("npm_",), r"npm_[A-Za-z0-9]{20,128}"),
    _Vendor(
        "PyPI token",
        "-",
        ("pypi-",),
        r"pypi-(?=[a-z0-9_-]{0,32}+[A-Z])(?=[A-Z0-9_-]{0,32}+[a-z])[A-Za-z0-9_-]{16,255}",
    ),
    _Vendor("Hugging Face token", "_", ("hf_",), r"hf_[A-Za-z0-9]{30,128}"),
    _Vendor("SendGrid key", ".", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
    _Vendor("age secret key", "-", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9]{20,128}"),
    _Vendor(
        "JSON web token",
        "J",
        ("eyJ",),
        r"(?<![_-])eyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{3,}+",
        "A-Za-z0-9_.-",
    ),
    _Vendor("API key", "_", ("apikey_",), r"apikey_[0-9A-Fa-f]{4,128}_[0-9A-Fa-f]{4,128}"),
)
_PEM = r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM_END = r"-----END [A-Z0-9 ]{0,80}-----"
# What stands between `user:` and `@host`: RFC 3986 userinfo, and `#`, which people forget
# to escape. A `/` or `?` ends the authority, quotes and angle brackets end the URL.
_USERINFO = r"""[^\s/:@"'`<>?\[\]]{0,256}+:([^\s/@"'`<>?]{1,256}+)@"""
# What a secret-looking name ends in, in lower case; `key` needs an owner before it, and
# `pass` a separator, since alone it is a verb.
_NOUNS = (
    r"pass(?:word|wd|phrase|code|(?<=[_-]pass))|pwd|secret|credentials?|token|authorization|key"
)
_KEY_OWNERS = (
    r"(?:api|access|account|auth|secret|private|signing|encryption|master|deploy|shared)"
    r"[ _-]?(?:access[ _-]?)?key\Z"
)
# From the name to the value: closing quotes or emphasis, an operator (never `::` or `!=`),
# emphasis again, a scheme of an Authorization header, and the value's own quote.
_OPERATOR = (
    r"""[\\"'`*_\])?]{0,6}+[ \t]*+(?::(?!:)=?|=>|={1,3})(?!:)[*_]{0,3}+[ \t]*+"""
    r"""((?:basic|bearer|digest)[ \t]++)?(?:[bfru]{1,2}(?=["']))?(\\*)(["'`]?)"""
)
# A stand-in that may hold blanks, where an unquoted value would end at the first.
_PLACEHOLDER = (
    r"<[^<>\n]{1,80}+>|\[[^\[\]\n]{1,80}+\]|\$?\{\{[^{}\n]{1,80}+\}\}|\$\([^()\n]{1,80}+\)"
)


class _Hit(NamedTuple):
    rule: str
    start: int
    end: int


@functools.cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile on first use: most texts never reach most rules."""
    return re.compile(pattern, flags | re.ASCII)


def find(text: str) -> str | None:
    """Return the name of the rule that a text breaks, or None when nothing looks secret."""
    hit = next(_hits(text), None)
    return hit.rule if hit else None


def find_pair(name: str, value: str) -> str | None:
    """Return the rule that a value breaks under a name: `("db password", "hunter2hunter2")`.

    The name and the value are two fields (a claim's, a JSON object's); each alone may look
    harmless. Only the pair is judged here: screen both with `find` as well.
    """
    plain = undisguised(name)
    if len(value) < MIN_VALUE_CHARS or not _names_secret(plain.text if plain else name):
        return None  # told apart cheaply: most pairs end here
    return ASSIGNMENT if is_value(value[:_LOOK]) else None


def mask(text: str) -> str:
    """Return the text with each credential-shaped span replaced by `[credential]`.

    Masking one span can show another. A text that goes on doing so is hostile: after a few
    rounds all of it from the next span on is masked, so that the work stays linear.
    """
    for _ in range(_ROUNDS):
        spans = sorted((hit.start, hit.end) for hit in _hits(text))
        if not spans:
            return text
        text = _masked(text, spans)
    while (hit := min(_hits(text), key=lambda hit: hit.start, default=None)) is not None:
        text = text[: hit.start] + MASK
    return text


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        if start >= done:
            parts += [text[done:start], MASK]
        done = max(done, end)
    return "".join(parts) + text[done:]


def _hits(text: str) -> Iterator[_Hit]:
    """Yield what each rule finds in a text, and in the text as a reader takes it."""
    yield from _hits_in(text)
    plain = undisguised(text)
    if plain is not None:
        for rule, start, end in _hits_in(plain.text):
            yield _Hit(rule, plain.places[start], plain.places[end - 1] + 1)


def _hits_in(text: str) -> Iterator[_Hit]:
    """Yield what each rule finds, cheapest and surest rules first."""
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    for vendor in _VENDORS:
        if vendor.sign in text and any(literal in text for literal in vendor.literals):
            yield from _vendor_tokens(text, vendor)
    if "://" in text:
        yield from _url_passwords(text)
    if ":" in text or "=" in text:
        yield from _assignments(text)


def _private_keys(text: str) -> Iterator[_Hit]:
    """A key reaches from its first line to its last, or to the end of the text."""
    end_line = _compiled(_PEM_END)
    done = 0
    for begin in _compiled(_PEM).finditer(text):
        if begin.start() < done:
            continue
        end = end_line.search(text, begin.end())
        done = end.end() if end else len(text)
        yield _Hit(PRIVATE_KEY, begin.start(), done)


def _vendor_tokens(text: str, vendor: _Vendor) -> Iterator[_Hit]:
    more = _compiled(f"[{vendor.tail}]*+")
    done = 0
    for token in _compiled("(?<![A-Za-z0-9])" + vendor.pattern).finditer(text):
        if token.start() < done:
            continue
        rest = more.match(text, token.end())
        done = rest.end() if rest else token.end()
        yield _Hit(vendor.rule, token.start(), done)


def _url_passwords(text: str) -> Iterator[_Hit]:
    userinfo = _compiled(_USERINFO)
    at = text.find("://")
    while at >= 0:
        found = userinfo.match(text, at + 3)
        if found and _is_scheme_end(text, at) and not is_reference(found[1]):
            yield _Hit(URL_PASSWORD, *found.span(1))
        at = text.find("://", at + 3)


def _is_scheme_end(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return before.isascii() and before.isalnum()


def _assignments(text: str) -> Iterator[_Hit]:
    operator = _compiled(_OPERATOR, re.IGNORECASE)
    done = 0
    for name, name_end in _names(text):
        found = operator.match(text, name_end) if name_end > done else None
        if found is None or (name == "authorization" and not found[1]):
            continue  # an Authorization header has a scheme; a sentence about one has none
        start, body = found.end(), _body(found[3], escaped=bool(found[2]))
        end = _end(text, start, body, limit=_LOOK)
        value, end = (text[start:end], end) if found[3] else _unquoted(text, start, end)
        if not found[3] and _is_program(text, name, name_end, value):
            continue
        if value.startswith("${") and value.endswith("}"):
            done = end  # `${PASS:-$OTHER_PASS}` is one reference, whatever is inside
        if is_value(value):
            done = _end(text, end, body) if end - start == _LOOK else end
            yield _Hit(ASSIGNMENT, start, done)


def _is_program(text: str, name: str, name_end: int, value: str) -> bool:
    """Tell whether an unquoted right side is a variable: `password=password, token = Kind.X`.

    A word that repeats the identifier on the left passes a value on. A `token` without an
    owner (`access`, `auth` ...) is as often a parser's: letters alone are a name there.
    """
    start = name_end - len(value)
    if start >= 0 and text.startswith(value, start):
        before = text[max(0, start - 2) : start].removesuffix("_")[-1:]  # `self._password`
        return not (before.isalnum() or before in ("_", "-"))
    if name != "token" or text[name_end - 6 : name_end - 5].strip(" \t\n\"'`([{,;"):
        return False
    return _compiled(r"[A-Za-z]+(?:\.[A-Za-z]+)*\Z").match(value) is not None


def _body(quote: str, *, escaped: bool) -> str:
    """Return a pattern for one step of a value: to its closing quote, or to white space."""
    if not quote:
        return r"\S"
    if escaped:  # a quote that is itself escaped, inside a string of JSON
        return rf"[^\\\n{quote}]"
    return rf"[^\\\n{quote}]|\\."


def _end(text: str, start: int, body: str, *, limit: int | None = None) -> int:
    """Return where a run of `body` ends, looking at no more than `limit` steps."""
    bound = f"{{0,{limit}}}+" if limit else "*+"
    run = _compiled(f"(?:{body}){bound}").match(text, start, start + limit if limit else len(text))
    return run.end() if run else start


def _unquoted(text: str, start: int, end: int) -> tuple[str, int]:
    """Cut an unquoted run where it stops being the value, and judge prose as a phrase.

    A placeholder may hold blanks (`<your key here>`). A query string ends at `&name=`;
    quotes, brackets and full stops at the end belong to the sentence. Lower-case words
    after a describing one, or after a secret's noun, make one phrase (`encrypted with kms`,
    `Password used to log in`).
    """
    placeholder = _compiled(_PLACEHOLDER).match(text, start, start + _LOOK)
    if placeholder:
        return placeholder[0], placeholder.end()
    run = text[start:end]
    cut = _compiled(r"&\w{1,64}=|[\"'`](?=[\s,;:)\]}>]|\Z)|\\[nrt\"]|</").search(run)
    whole = run[: cut.start()] if cut else run
    closers = "".join(pair[1] for pair in ("()", "[]", "{}") if pair[0] not in whole)
    value = whole.rstrip(".,;:*" + closers)
    phrase = None
    if value == run and (value.lower() in DESCRIBING or value.upper() in SECRET_NOUNS):
        phrase = _compiled(r"(?: [a-z]{1,32}){1,8}").match(text, end)
    return value + (phrase[0] if phrase else ""), start + len(value)


def _names(text: str) -> Iterator[tuple[str, int]]:
    """Yield each secret-looking noun in a text, in lower case, and where it ends."""
    low = text.lower()
    if len(low) != len(text):  # a few letters grow when lowered, and would move all places
        low = "".join(char.lower() if char.isascii() else char for char in text)
    for noun in _compiled(_NOUNS).finditer(low):
        end = noun.end()
        if noun[0] != "key" or _compiled(_KEY_OWNERS).search(low, max(0, end - 32), end):
            yield noun[0], end


def _names_secret(name: str) -> bool:
    """Tell whether a name *ends* in a secret-looking word: `token_count` does not."""
    name = name[-_LOOK:].rstrip()
    return any(end == len(name) for _, end in _names(name))
