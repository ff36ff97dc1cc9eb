"""Other search engines over the same documents, each as its own documentation advises.

bm25s: Lucene's BM25 with Snowball stems and English stopwords; for texts without spaces,
characters and pairs of characters. tantivy: its `en_stem` tokenizer. SQLite FTS5: its porter
tokenizer; the words of a query joined by OR. An engine that is not installed is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LIMIT = 10
Search = Callable[[str], Sequence[str]]
Build = Callable[[Mapping[str, str]], Search]
_UNSPACED = ("-zh", "-ja", "-th")
_WORD = re.compile(r"\w+")


def installed(set_name: str) -> dict[str, Build]:
    """Return the peers that can be run on a set."""
    found: dict[str, Build] = {"fts5": build_fts5}
    if importlib.util.find_spec("tantivy"):
        found["tantivy"] = build_tantivy
    if importlib.util.find_spec("bm25s") and importlib.util.find_spec("Stemmer"):
        if set_name.endswith(_UNSPACED):
            found["bm25s"] = lambda documents: build_bm25s(documents, _grams)
        else:
            language = "arabic" if set_name.endswith("-ar") else "english"
            found["bm25s"] = lambda documents: build_bm25s(documents, _stems(language))
    return found


def _grams(text: str) -> list[str]:
    """Return the characters and pairs of characters of every word."""
    words = [w.casefold() for w in _WORD.findall(text)]
    return [g for w in words for g in (*w, *(w[i : i + 2] for i in range(len(w) - 1)))]


def _stems(language: str) -> Callable[[str], list[str]]:
    stem = importlib.import_module("Stemmer").Stemmer(language)
    stops = set(importlib.import_module("bm25s.stopwords").STOPWORDS_EN)

    def split(text: str) -> list[str]:
        words = [w.lower() for w in re.findall(r"(?u)\b\w\w+\b", text)]
        return list(stem.stemWords([w for w in words if w not in stops]))

    return split


def build_bm25s(documents: Mapping[str, str], split: Callable[[str], list[str]]) -> Search:
    """Index documents with bm25s."""
    engine: Any = importlib.import_module("bm25s").BM25(method="lucene", k1=1.2, b=0.75)
    names = list(documents)
    engine.index([split(text) for text in documents.values()], show_progress=False)

    def search(text: str) -> list[str]:
        terms = split(text)
        if not terms:
            return []
        k = min(LIMIT, len(names))
        found, scores = engine.retrieve([terms], k=k, show_progress=False)
        hits = zip(found[0], scores[0], strict=True)
        return [names[number] for number, score in hits if score > 0]

    return search


def build_tantivy(documents: Mapping[str, str]) -> Search:
    """Index documents with tantivy."""
    tantivy: Any = importlib.import_module("tantivy")
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("name", stored=True, tokenizer_name="raw")
    schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
    index = tantivy.Index(schema.build())
    writer = index.writer()
    for name, text in documents.items():
        writer.add_document(tantivy.Document(name=name, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(text: str) -> list[str]:
        words = " ".join(f'"{word}"' for word in _WORD.findall(text.lower()))
        if not words:
            return []
        try:
            query = index.parse_query(words, ["text"])
        except ValueError:  # its tokenizer drops words of more than 40 bytes: nothing is left
            return []
        hits = searcher.search(query, LIMIT).hits
        return [searcher.doc(address)["name"][0] for _, address in hits]

    return search


def build_fts5(documents: Mapping[str, str]) -> Search:
    """Index documents with SQLite's FTS5."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE d USING fts5(name UNINDEXED, text, tokenize='porter')")
    connection.executemany("INSERT INTO d VALUES (?, ?)", documents.items())
    statement = "SELECT name FROM d WHERE d MATCH ? ORDER BY bm25(d), rowid LIMIT ?"

    def search(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(text))
        if not words:
            return []
        return [name for (name,) in connection.execute(statement, (words, LIMIT))]

    return search
