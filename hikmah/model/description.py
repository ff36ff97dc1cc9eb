"""Telling the value of a secret from a description or a reference to one.

`password: hunter2hunter2` gives a secret away; `password: hashed_with_argon2id`,
`password: $DB_PASSWORD` and `password: vault:db/prod` say where it is or how it is kept.

Rules the module keeps:

1. A value is whatever is not recognised: a single word, mixed case, a passphrase and a
   word that ends in a digit are all values.
2. Every test is a bounded look at text the caller has already cut to a few hundred
   characters.
"""

from __future__ import annotations

import functools
import re

from hikmah.model import wording

MIN_VALUE_CHARS = 8  # a shorter right side is a word, a number or a flag

# Masked, elided or filled in later: `********`, `xxxxxxxx`, `abcd...wxyz`, `{user}:{pass}`.
_MASKED = r"[*•●xX.…_-]+\Z|.*(?:\*{3}|\.{3}|…|•{3}|(?<!\$)\{[A-Za-z_][\w.]{0,64}\})"
# Quoted by a template, or plainly a stand-in: `<your key>`, `{{ token }}`, `%TOKEN%`.
_TEMPLATE = (
    r"(?:<[^<>]*>|\[[^\[\]]*\]|#?\{[^{}]*\}|\$?\{\{[^{}]*\}\}|\$\([^()]*\)|%\w+%"
    r"|your[-_ ](?:\w+[-_ ]){0,4}?(?:key|token|secret|password|passphrase|credentials?)"
    r"(?:[-_ ]here)?)\Z"
)
_EXPANSION = r"\$\{[A-Za-z_]\w*(?::?[-=?+]([^{}]*))?\}\Z"
# Places that keep secrets, by the scheme of a reference to them.
_PLACES = (
    r"(?:vault|op|bw|doppler|infisical|keychain|keyring|sops|ssm|kms|arn|aws-sm|gcp-sm|akv|kv"
    r"|https?|ref\+\w{1,32}):."
)
_ENV_SCHEME = r"env:[A-Z][A-Z0-9_]*\Z"
_ENV_NAME = r"\$?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\Z"
_ENV_PART = r"(?:[A-Z]+[0-9]{0,2}|[0-9])\Z"
_SHELL_NAME = r"\$(?:[A-Z]+|[a-z_]+)\Z"
_CALL = r"(?:(?:new|await) )?(?:[A-Za-z_][A-Za-z_.:]*[(\[]|[A-Za-z_][\w.]*\([\w.,]*\))"
_DOTTED = r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+\Z"
_CAMEL = r"\$?([a-z]+)((?:[A-Z][a-z]+)+)\Z"
_PATH = r"(?:[A-Za-z]:\\|~?[/\\]|\.{1,2}[/\\])[\w.@ -]+(?:[/\\][\w.@ -]+)+\Z|[/~][\w.-]+/\Z"
_FILE = r"(?:[\w.@-]+[/\\])*[\w.@-]*[A-Za-z_][\w@-]*\.([a-z0-9]{1,10})\Z"
_DATED = r"(?:[a-z]+[-_ ])*?([a-z]+)[-_ ](?:on[-_ ])?[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?\Z"
_WORDS = r"[a-z0-9]+(?:[-_./+ ][a-z0-9]+)+\Z"
# In a sentence, these say that something is stated about the secret.
_STATING = frozenset({"is", "are", "was", "were", "must", "should", "cannot", "not", "no", "been"})


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.DOTALL)


def _matches(pattern: str, text: str) -> re.Match[str] | None:
    return _compiled(pattern).match(text)


def is_value(text: str) -> bool:
    """Tell whether a right side is a secret itself, as far as its shape says."""
    text = text.strip()
    if len(text) < MIN_VALUE_CHARS:
        return False
    return not (is_reference(text) or _is_description(text))


def is_reference(text: str) -> bool:
    """Tell whether a text stands for a secret kept elsewhere, or for one already hidden."""
    if text.lower() in wording.LITERALS:
        return True
    if any(_matches(shape, text) for shape in (_MASKED, _TEMPLATE, _PLACES, _ENV_SCHEME)):
        return True
    expansion = _matches(_EXPANSION, text)
    if expansion:  # `${VAR:-hunter2hunter2}` brings a value of its own
        return not expansion[1] or not is_value(expansion[1])
    return _is_environment(text) or _is_code(text) or _is_file(text)


def _is_environment(text: str) -> bool:
    """`STRIPE_API_KEY` and `$db_password` are names; `ADMIN_PASS123` is a value."""
    if _matches(_SHELL_NAME, text):
        return True
    name = _matches(_ENV_NAME, text)
    if not name:
        return False
    parts = name[1].split("_")
    return parts[-1] in wording.SECRET_NOUNS or all(_matches(_ENV_PART, part) for part in parts)


def _is_code(text: str) -> bool:
    """Calls, dotted paths into configuration, and camelCase names of variables."""
    if _matches(_CALL, text):
        return True
    if _matches(_DOTTED, text):
        first, *_, last = re.split(r"\??\.", text)
        noun = last.rpartition("_")[2].upper()
        return first in wording.ROOTS or noun in wording.SECRET_NOUNS or last.isupper()
    camel = _matches(_CAMEL, text)
    if not camel:
        return False
    last_word = re.findall("[A-Z][a-z]+", camel[2])[-1].lower()
    return camel[1] in wording.IDENTIFIER_WORDS or last_word in wording.IDENTIFIER_WORDS


def _is_file(text: str) -> bool:
    """`/run/secrets/db` and `deploy.pem` name files; base64 that begins with `/` does not."""
    if _matches(_PATH, text):
        parts = re.split(r"[/\\]", text)
        return not any(len(part) >= 20 and _is_random(part) for part in parts)
    name = _matches(_FILE, text)
    return name is not None and name[1] in wording.FILE_ENDINGS


def _is_random(part: str) -> bool:
    return part.lower() != part and any(char.isdigit() for char in part)


def _is_description(text: str) -> bool:
    """Two or more lower-case words, one of them describing; or an event and its date."""
    dated = _matches(_DATED, text)
    if dated:
        return dated[1] in wording.EVENTS
    if " " in text:
        return _is_sentence(text)
    return _describes(re.split("[-_./+]", text)) if _matches(_WORDS, text) else False


def _is_sentence(text: str) -> bool:
    """A quoted text of several words, in any case and punctuation."""
    words = [word.strip(".,;:!?()'\"") for word in text.lower().split()]
    words = [word for word in words if word]
    if len(words) >= 3 and (
        not _STATING.isdisjoint(words) or words[0].upper() in wording.SECRET_NOUNS
    ):
        return True
    return _describes(words)


def _describes(words: list[str]) -> bool:
    """Digits may stand inside (`expires-in-30-days`), never at the end but in `sha256`."""
    known = [word for word in words if word in wording.DESCRIBING or word in wording.ALGORITHMS]
    others = [word for word in words if word not in wording.ALGORITHMS]
    if not known or len(words) < 2 or (others and words[-1] in others and words[-1][-1].isdigit()):
        return False
    return all(word.isalpha() or (word.isdigit() and len(word) <= 3) for word in others)
