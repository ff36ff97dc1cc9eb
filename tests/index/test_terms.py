"""Terms: how text in any script becomes what is searched."""

from __future__ import annotations

import importlib.machinery
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.errors import StoreError
from hikmah.index import scripts, stems, terms
from hikmah.index.documents import document, document_of, fingerprint
from hikmah.model.trace import Claim, Entity, Event, Fact, Relationship, Trace

ROOT = Path(__file__).parents[2]


def words(text: str, language: str = "english") -> set[str]:
    return set(document_of(text, language).counts)


DOCUMENTS = [
    pytest.param("Deployments failed twice", {"deploy", "fail", "twice"}, id="stems"),
    pytest.param("multi-agent", {"multi", "agent", "multi-agent"}, id="hyphen"),
    pytest.param("getUserName", {"get", "user", "name", "getusernam"}, id="camel case"),
    pytest.param("HTTPServer", {"http", "server", "httpserver"}, id="acronym and word"),
    pytest.param("mRNAs on iPhones in IDEs", {"mrnas", "iphon", "ide"}, id="not camel case"),
    pytest.param("snake_case __init__", {"snake", "case", "snake_case", "init"}, id="underscores"),
    pytest.param("src/app/page.tsx", {"src", "app", "page", "tsx", "src/app/page.tsx"}, id="path"),
    pytest.param("v2.1", {"v", "2", "1", "v2.1"}, id="version"),
    pytest.param("utf8 10ms", {"utf", "8", "utf8", "10", "ms", "10ms"}, id="letters and digits"),
    pytest.param("4c27d56e", {"4c27d56e"}, id="a hash"),
    pytest.param("GB/s", {"gb", "s", "gb/s"}, id="unit"),
    pytest.param("C:\\tmp\\x.txt", {"c", "tmp", "x", "txt", "c:\\tmp\\x.txt"}, id="windows path"),
    pytest.param("C++ F# stop# x++y", {"c", "c++", "f", "f#", "stop", "x", "x++", "y"}, id="signs"),
    pytest.param("Bob's dog won't bark", {"bob", "dog", "not", "bark"}, id="apostrophes"),
    pytest.param("it\u2019s Bob\u2019s", {"bob"}, id="typographic apostrophes"),
    pytest.param("O'Brien", {"o", "brien", "o'brien"}, id="a name with an apostrophe"),
    pytest.param("do not use no cache", {"not", "use", "no", "cach"}, id="negations stay"),
    pytest.param("to be or to", {"to", "be", "or"}, id="nothing but stopwords"),
    pytest.param("to-do", {"to-do"}, id="an identifier of stopwords"),
    pytest.param("café", {"café", "cafe"}, id="accents"),
    pytest.param("Łódź", {"łódź", "lodz"}, id="strokes"),
    pytest.param(
        "重跑gen-itgc后", {"重", "跑", "重跑", "gen", "itgc", "gen-itgc", "后"}, id="glued"
    ),
    pytest.param("重-后", {"重", "后"}, id="a joiner between characters"),
    pytest.param("同期の", {"同", "期", "の", "同期", "期の"}, id="kana and kanji"),
    pytest.param("배포", {"배", "포", "배포"}, id="hangul"),
    pytest.param("ที่นี่", {"ที่", "นี่", "ที่นี่"}, id="thai characters keep their marks"),
    pytest.param("\uff44\uff49\uff53\uff4b \uff12\uff12", {"disk", "22"}, id="full width"),
    pytest.param("٣٠٨", {"308"}, id="digits of another script"),
    pytest.param("المدرسة", {"مدرس"}, id="arabic"),
    pytest.param("кошками", {"кошк"}, id="russian"),
    pytest.param("सुरंगों", {"सुरंग"}, id="hindi"),
    pytest.param("λόγους", {"λογ"}, id="greek"),
    pytest.param("co\u00adop\u200derate", {"cooper"}, id="invisible characters"),
    pytest.param("twenty\u2010two", {"twenti", "two", "twenty-two"}, id="other hyphens"),
    pytest.param("* -- \u00a8 \0 \ud800 😀", set(), id="no letter and no digit"),
    pytest.param("x" * 100, {"x" * 64}, id="a long word is cut"),
]


@pytest.mark.parametrize(("text", "expected"), DOCUMENTS)
def test_text_becomes_terms(text: str, expected: set[str]) -> None:
    assert words(text) == expected


def test_a_query_finds_the_terms_of_the_same_text() -> None:
    """Whatever the text, its own terms as a query are terms of it as a trace."""
    for parameter in DOCUMENTS:
        text = str(parameter.values[0])
        asked = {q.term for q in terms.query_terms(text)}
        assert asked <= words(text)
        assert bool(asked) == bool(words(text))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_any_text_has_terms_without_blanks(text: str) -> None:
    """No term is empty, too long or holds a blank; a query asks only for terms of its text."""
    found = document_of(text, "english")
    for term in found.counts:
        assert 0 < len(term) <= terms.MAX_TERM_CHARS
        assert not term.isspace()
    assert {q.term for q in terms.query_terms(text)} <= set(found.counts)
    assert set(found.content) <= set(found.counts)


def test_a_repeated_word_of_a_query_counts_as_often() -> None:
    weights = {q.term: q.weight for q in terms.query_terms("lock the lock, Locks and a disk")}
    assert weights == {"lock": 3.0, "disk": 1.0}


def test_a_word_with_accents_shares_its_vote_with_its_plain_form() -> None:
    assert terms.query_terms("café") == [
        terms.QueryTerm("café", 0.5, False),
        terms.QueryTerm("cafe", 0.5, True),
    ]


def test_stopwords_stay_in_a_query_of_nothing_else() -> None:
    asked = [(q.term, q.weight) for q in terms.query_terms("to be or to")]
    assert asked == [("to", 2.0), ("be", 1.0), ("or", 1.0)]


def test_english_stopwords_are_english() -> None:
    """German `die` and `was` are words; other languages drop nothing."""
    assert words("die was", "german") == {"die", "was"}
    assert words("die was", "none") == {"die", "was"}
    assert words("running l'avion", "none") == {"running", "l", "avion", "l'avion"}


def test_copies_do_not_lengthen_a_text() -> None:
    """An identifier counts as its parts; a word with accents counts once."""
    assert document_of("multi-agent café", "english").length == 3
    assert document_of("multi-agent café", "english").content == ("multi", "agent", "café")


def test_every_searchable_field_of_a_trace_gives_terms() -> None:
    """Claim, tags, entity, fact, relationship, and every string of an event's payload."""
    trace = Trace(
        content="note",
        created_at_ms=0,
        tags=("tagged",),
        claim=Claim(key="claimkey", value="claimvalue"),
        entity=Entity(name="entityname", entity_type="other"),
        fact=Fact(entity="0" * 40, predicate="predicate", object="objekt"),
        relationship=Relationship(from_="0" * 40, to="1" * 40, relation_type="owns"),
        event=Event(event_type="typed", payload={"deep": [{"k": "inner"}, 3, None, "list"]}),
    )
    found = document(trace)
    for word in ("note", "tag", "claimkey", "claimvalu", "entitynam", "predic", "objekt", "own"):
        assert found.counts[word] == 1, word
    for word in ("type", "deep", "k", "inner", "list"):
        assert found.counts[word] == 1, word
    assert found.content == ("note",)


def test_a_field_that_repeats_the_content_adds_nothing() -> None:
    plain = document(Trace(content="the db port is 22 multi-agent", created_at_ms=0))
    tagged = document(
        Trace(
            content="the db port is 22 multi-agent",
            created_at_ms=0,
            tags=("db", "multi-agent"),
            claim=Claim(key="port", value="22"),
        )
    )
    assert tagged == plain


def test_a_fingerprint_is_odd_for_numbers_and_negations() -> None:
    """What tells apart texts that look alike can be told from the number alone."""
    packed = fingerprint(["port", "22", "v2", "not", "port"])
    numbers = terms.read_fingerprint(packed)
    assert len(packed) == 16
    assert sum(n & 1 for n in numbers) == 3
    assert terms.read_fingerprint(b"") == frozenset()


def test_terms_in_finds_what_stands_there() -> None:
    """Also in the languages whose stemmers take prefixes off."""
    wanted = frozenset({"lock", "not", "getusernam", "user", "cafe", "zebra"})
    texts = ["Locks won't hold", "getUserName at the café"]
    assert terms.terms_in(texts, wanted, "english") == wanted - {"zebra"}
    assert terms.terms_in(["gelopen"], frozenset(words("gelopen", "dutch")), "dutch")


BASES = "ab activ arsen commun cr d e fl gener hop hopp log nat nob poss rel sk tr y"
ENDS = """
s es ies ied sses us eed eedly ed edly ing ingly ying y tional enci anci abli entli izer ization
ational ation ator alism aliti alli fulness ousli iviti biliti bli ogi fulli lessli alize icate
iciti ical ful ness ative al ance ence er ic able ible ant ement ment ent ism ate ous ive ll
"""
ODD = "skis skies dying lying tying idly gently ugly early only singly sky news atlas possibly"


def test_an_english_stem_is_its_word_but_for_two_letters_at_the_end() -> None:
    """Or at its only one: what `terms_in` leaves unstemmed cannot have been a match."""
    stem = stems.stemmer("english")
    ends = ["", *ENDS.split()]
    made = [base + one + two for base in BASES.split() for one in ends for two in ends]
    for word in [*ODD.split(), *made]:
        assert (stem(word)[:-2] or stem(word)[:1]) in word, word


@pytest.mark.parametrize("language", sorted(stems.LANGUAGES))
def test_every_language_has_its_stemmer(language: str) -> None:
    assert stems.stemmer(language)("abcdef")


def test_another_users_snowballstemmer_stays_its_own() -> None:
    """Only the module that is needed is loaded, under a name of our own; never PyStemmer."""
    code = (
        "import sys; from hikmah.index import terms; terms.query_terms('running'); "
        "print([m for m in sys.modules if 'snowball' in m.lower() or m == 'Stemmer'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    loaded = {name.rpartition(".")[2] for name in eval(done.stdout)}
    assert loaded == {"hikmah_snowball_modules", "english_stemmer", "basestemmer", "among"}


def test_a_missing_stemmer_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, stems._PARENT, raising=False)
    monkeypatch.setattr(importlib.machinery.PathFinder, "find_spec", lambda _: None)
    with pytest.raises(StoreError, match="snowballstemmer") as caught:
        stems.algorithm.__wrapped__("english")
    assert "pip install" in caught.value.hint


def test_unspaced_scripts_are_letters_and_marks() -> None:
    """The ranges hold the scripts they name and none that has spaces."""
    for char in "漢かカ한ไກကក〇々ー":
        assert scripts.runs(char) == [(True, char)], char
    for char in "aéжאبदதა1":
        assert scripts.runs(char) == [(False, char)], char


def test_accents_are_not_taken_off_where_marks_are_vowels() -> None:
    assert scripts.without_accents("हिंदी") == "हिंदी"
    assert scripts.without_accents("Crème") == "Creme"
    assert scripts.without_accents("ўи") == "уи"


def test_normal_forms() -> None:
    assert terms.normal_tag("  ÉCLAIR ") == "éclair"
    assert terms.normal_key("  DB \n Port ") == "db port"
    assert terms.normal_value("  Postgres \t 16 ") == "Postgres 16"
