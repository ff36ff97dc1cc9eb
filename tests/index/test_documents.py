"""Documents: what is remembered between texts never changes what a text gives."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.index import documents, terms
from hikmah.index.documents import document_of

TEXTS = st.lists(
    st.sampled_from(
        [
            *("the", "lock", "Locks,", "(lock)", "timed-out", "getUserName", "café", "cafés!"),
            *(
                "v2.1",
                "10ms",
                "don't",
                "not",
                "a.b",
                "重跑gen-itgc后",
                "C++",
                "--",
                "…",
                "e\u200d\u0301",
            ),
            *("x" * 40, "Ünïcode", "\x1c", "\n", "\u3000", "ﬁne", "\uff11\uff12", "src/app.py"),
        ]
    ),
    max_size=12,
).map(" ".join)


def plainly(text: str) -> tuple[list[str], list[str]]:
    """Return the words and copies of a text, chunk by chunk and without remembering."""
    expand = terms.expander("english").__wrapped__
    found = [expand(chunk) for chunk in terms.chunks(text)]
    words = [word for one in found for word in one.words]
    copies = [whole for one in found for whole in one.wholes]
    copies += [bare for one in found for _, bare in one.folded]
    return words or [stop for one in found for stop in one.stops], copies


@settings(max_examples=400)
@given(TEXTS | st.text(max_size=60))
def test_a_text_has_the_terms_of_its_chunks(text: str) -> None:
    """Blanks never matter to a chunk; the order is the text's; stopwords count alone only."""
    words, copies = plainly(text)
    for _ in range(2):  # pieces met for the first time, and known ones
        found = document_of(text, "english")
        assert found.counts == Counter(words) + Counter(copies)
        assert found.length == len(words)
        assert found.content == tuple(dict.fromkeys(words))


@settings(max_examples=200)
@given(TEXTS, TEXTS)
def test_what_stood_beside_another_text_changes_nothing(content: str, beside: str) -> None:
    """Tags are remembered whole; a content takes nothing away from them for the next one."""
    found = [document_of(text, "english", [beside]) for text in (content, "", content)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "_SHORT_CHARS", 0)  # nothing is remembered
        assert found == [document_of(text, "english", [beside]) for text in (content, "", content)]
    assert found[0] == found[2]


@given(TEXTS)
def test_a_text_beside_adds_only_what_the_content_lacks(text: str) -> None:
    """A tag that repeats the text does not make it longer."""
    alone, twice = document_of(text, "english"), document_of(text, "english", [text])
    assert (twice.counts.keys(), twice.content) == (alone.counts.keys(), alone.content)
    if any(terms.expander("english")(chunk).words for chunk in terms.chunks(text)):
        assert twice == alone


def test_what_was_seen_before_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when there is room for next to nothing between texts."""
    texts = ["one lock", "two locks", "the one", "Lock one, (one)", "the", "three one two"]
    expected = [document_of(text, "english") for text in texts]
    prints = [documents.fingerprint(one.content) for one in expected]
    monkeypatch.setattr(documents, "CACHED_CHUNKS", 2)
    again = [document_of(text, "english") for text in reversed(texts)]
    assert again == expected[::-1]
    assert [documents.fingerprint(one.content) for one in expected] == prints


def test_what_will_not_come_again_is_not_remembered() -> None:
    """Numbers, hashes and encoded data would push out the words."""
    known = documents._pieces("english")
    document_of("word41 " + "q" * 50 + " 0ff1ce sesame,", "english")
    assert "sesame," in known
    assert not {"word41", "q" * 50, "0ff1ce"} & set(known)


def test_languages_do_not_share_what_they_know() -> None:
    """One piece has a stem of its own in each."""
    assert document_of("katzen", "german").content != document_of("katzen", "english").content
