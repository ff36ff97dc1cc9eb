"""Stems: the short way gives what the algorithm gives."""

from __future__ import annotations

import string
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.index import stems
from tests.bench import synthetic

ROOT = Path(__file__).parents[2]
# Everything that a step of the algorithm looks for at a word's end, and near misses.
ENDS = (
    *("", "s", "us", "ss", "ies", "sses", "ed", "eed", "edly", "eedly", "ing", "ingly", "y"),
    *("tional", "enci", "anci", "abli", "entli", "izer", "ization", "ational", "ation", "ator"),
    *(
        "alism",
        "aliti",
        "alli",
        "fulness",
        "ousli",
        "ousness",
        "iveness",
        "iviti",
        "biliti",
        "ogist",
    ),
    *("bli", "ogi", "fulli", "lessli", "li", "alize", "icate", "iciti", "ical", "ful", "ness"),
    *("ative", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ism"),
    *("ate", "iti", "ous", "ive", "ize", "sion", "tion", "e", "ll", "at", "bl", "iz", "tt", "bb"),
    *("or", "ar", "it", "im", "an", "on", "un", "el", "ul", "bi", "ki", "id", "ung", "ck"),
)


@settings(max_examples=500)
@given(st.text(string.ascii_lowercase + "'éß", max_size=8), st.sampled_from(ENDS))
def test_a_word_is_its_own_stem_where_the_algorithm_says_so(start: str, end: str) -> None:
    """Passing the algorithm by changes no stem."""
    word = start + end
    assert stems.stemmer("english")(word) == stems.algorithm("english")(word)


def test_a_vocabulary_has_the_stems_of_the_algorithm() -> None:
    """Nor does it for thousands of words that look like a language's."""
    short, whole = stems.stemmer("english"), stems.algorithm("english")
    words = synthetic.vocabulary(6_000)
    assert [short(word) for word in words] == [whole(word) for word in words]


def test_words_that_need_no_algorithm_load_none() -> None:
    """A question of such words costs no import."""
    code = (
        "import sys; from hikmah.index import terms; "
        "found = terms.query_terms('what did Ann book at that hotel in march, and who paid'); "
        "print(len(found), 'snowball' in str(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["5", "False"]
