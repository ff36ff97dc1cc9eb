"""Word stems: Snowball's algorithms, one module at a time.

Rules the module keeps:

1. One implementation, whatever else is installed: the pure Python modules of
   `snowballstemmer`. That package's own entry point would import all of its languages and
   switch to PyStemmer where it finds it, so its modules are loaded under a parent package of
   our own and its `__init__` never runs (docs/adr/0006).
2. An algorithm is loaded when the first word needs it.
3. A language without an algorithm leaves words as they are.
4. English words with none of the endings that its algorithm knows are their own stems, and
   four words in five of a text's vocabulary are such: they need no algorithm (a test compares).
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable

from hikmah.errors import StoreError

Stem = Callable[[str], str]

# A private name: other users of snowballstemmer in this process keep their own package.
_PARENT = "hikmah_snowball_modules"
LANGUAGES = frozenset(
    {
        "arabic",
        "armenian",
        "basque",
        "catalan",
        "czech",
        "danish",
        "dutch",
        "english",
        "esperanto",
        "estonian",
        "finnish",
        "french",
        "german",
        "greek",
        "hindi",
        "hungarian",
        "indonesian",
        "irish",
        "italian",
        "lithuanian",
        "norwegian",
        "persian",
        "polish",
        "portuguese",
        "romanian",
        "russian",
        "serbian",
        "spanish",
        "swedish",
        "tamil",
        "turkish",
    }
)


# What a word ends with that a step of the English algorithm may change: the endings of
# https://snowballstem.org/algorithms/english/stemmer.html, the shorter for the longer.
_ENGLISH_ENDINGS = (
    *("s", "y", "e", "ed", "ing", "ion", "er", "ator", "ant", "ent", "ic", "ism", "al", "ful"),
    *("ll", "ci", "gi", "li", "ti", "ogist"),
)


def stemmer(language: str) -> Stem:
    """Return the function that stems one casefolded word of a language.

    Returns:
        The algorithm; the identity when the language has none.
    """
    if language not in LANGUAGES:
        return _unchanged
    return _english if language == "english" else algorithm(language)


def _english(word: str) -> str:
    if word.endswith(_ENGLISH_ENDINGS) or not (word.isascii() and word.isalpha()):
        return algorithm("english")(word)
    return word


@functools.cache
def algorithm(language: str) -> Stem:
    """Return Snowball's algorithm for a language that has one, loaded.

    The function is not thread-safe by itself: callers cache stems behind `functools.lru_cache`
    and each call works on a fresh algorithm object.
    """
    _install_parent()
    module = importlib.import_module(f"{_PARENT}.{language}_stemmer")
    snowball = getattr(module, f"{language.title()}Stemmer")

    def stem(word: str) -> str:
        return str(snowball().stemWord(word))

    return stem


def _unchanged(word: str) -> str:
    return word


def _install_parent() -> None:
    """Put an empty package in front of snowballstemmer's modules, once."""
    if _PARENT in sys.modules:
        return
    spec = importlib.machinery.PathFinder.find_spec("snowballstemmer")
    if spec is None or spec.submodule_search_locations is None:
        raise StoreError(
            "the package snowballstemmer is not installed",
            hint="install hikmah with its dependencies: pip install hikmah",
        )
    parent = types.ModuleType(_PARENT, "Stands before snowballstemmer's modules.")
    parent.__path__ = list(spec.submodule_search_locations)
    sys.modules[_PARENT] = parent
