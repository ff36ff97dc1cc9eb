"""Retrieval quality: nDCG@10, Recall@10, MRR and times a set, beside other search engines.

Reads sets of `corpus.jsonl`, `queries.jsonl` (`{"id", "text", "group"?}`) and `qrels.tsv`
from the folder that HIKMAH_BENCH_DATA names; a query with a group is searched inside its
group. Metadata is constant, the policy is the default one, the limit is 10. Peers run on the
same documents in the same run, those that are installed (extra `bench`).

HIKMAH_BENCH_SETS names sets, HIKMAH_BENCH_HALF (0 or 1) takes every second query: choices are
made on one half and reported on the other.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hikmah.index.database import Index
from hikmah.model.policy import DEFAULTS
from hikmah.model.records import Stored, blob_id, canonical
from hikmah.model.trace import Trace
from hikmah.views.recall import recall
from hikmah.views.results import Query
from tests.bench import peers
from tests.bench.measuring import Row, percentile

LIMIT = 10
NOW_MS = 1_700_000_000_000
Search = Callable[[str], Sequence[str]]
Build = Callable[[Mapping[str, str]], Search]


class Judged(NamedTuple):
    """One query with the documents that answer it."""

    text: str
    group: str
    relevant: frozenset[str]


class DataSet(NamedTuple):
    """Documents by group and id, and judged queries."""

    name: str
    groups: dict[str, dict[str, str]]
    queries: list[Judged]


def run(_sizes: Sequence[int]) -> list[Row]:
    """Measure every set with this project and every installed peer."""
    folder = os.environ.get("HIKMAH_BENCH_DATA")
    if folder is None:
        raise SystemExit("set HIKMAH_BENCH_DATA to the folder with the sets")
    asked = os.environ.get("HIKMAH_BENCH_SETS", "").split()
    paths = sorted(p.parent for p in Path(folder).glob("*/qrels.tsv"))
    rows: list[Row] = []
    for path in paths:
        if not asked or path.name in asked:
            data = read(path)
            engines: dict[str, Build] = {"hikmah": build_hikmah, **peers.installed(path.name)}
            rows += [measure(data, engine, build) for engine, build in engines.items()]
    return rows


def read(path: Path) -> DataSet:
    """Read one set."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for document in _lines(path / "corpus.jsonl"):
        groups[document.get("group", "")][document["id"]] = document["text"]
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in (path / "qrels.tsv").read_text("utf-8").splitlines():
        query, document_id, _ = line.split("\t")
        relevant[query].add(document_id)
    queries = [
        Judged(query["text"], query.get("group", ""), frozenset(relevant[query["id"]]))
        for query in _lines(path / "queries.jsonl")
    ]
    half = os.environ.get("HIKMAH_BENCH_HALF")
    return DataSet(path.name, groups, queries if half is None else queries[int(half) :: 2])


def _lines(path: Path) -> Iterator[dict[str, str]]:
    yield from map(json.loads, path.read_text("utf-8").splitlines())


def build_hikmah(documents: Mapping[str, str]) -> Search:
    """Put documents into a ledger's index, one observation each."""
    index = Index.open(None, language=DEFAULTS.recall.latin_language)
    names: dict[str, str] = {}
    index.extend(_stored(documents, names), ledger="0" * 40, base=None, head="1" * 40)
    corpus = index.corpus()

    def search(text: str) -> list[str]:
        query = Query(text=text, limit=LIMIT)
        found = recall(corpus, query, DEFAULTS, now_ms=NOW_MS)
        return [names[result.id] for result in found.results]

    return search


def _stored(documents: Mapping[str, str], names: dict[str, str]) -> Iterator[Stored]:
    """Yield documents as records, noting which is which; equal texts get different sources."""
    for seq, (name, text) in enumerate(documents.items(), 1):
        trace = Trace(content=text, created_at_ms=NOW_MS, idempotency_key=name)
        data = canonical(trace)
        names[blob_id(data)] = name
        yield Stored(id=blob_id(data), seq=seq, record=trace, data=data)


def measure(data: DataSet, engine: str, build: Build) -> Row:
    """Return the figures of one engine on one set."""
    searches = {group: build(documents) for group, documents in data.groups.items()}
    answers, times = [], []
    for query in data.queries:
        started = time.perf_counter()
        answers.append(list(searches[query.group](query.text))[:LIMIT])
        times.append(time.perf_counter() - started)
    pairs = list(zip(answers, (q.relevant for q in data.queries), strict=True))
    row: Row = {
        "set": data.name,
        "engine": engine,
        "queries": len(pairs),
        "ndcg@10": _mean([ndcg(found, relevant) for found, relevant in pairs]),
        "recall@10": _mean([len(relevant & set(f)) / len(relevant) for f, relevant in pairs]),
        "mrr": _mean([reciprocal_rank(found, relevant) for found, relevant in pairs]),
        "p50_ms": percentile(times, 0.5) * 1000,
        "p95_ms": percentile(times, 0.95) * 1000,
    }
    return row | (_evidence(pairs) if any(data.groups.keys() - {""}) else {})


def _evidence(pairs: Sequence[tuple[list[str], frozenset[str]]]) -> Row:
    """Return how often any of the first 5 and 10 is evidence, by turn and by session."""
    row: Row = {}
    for name, of in (("turn", str), ("session", _session)):
        for depth in (5, 10):
            hits = [
                bool({of(d) for d in found[:depth]} & {of(d) for d in relevant})
                for found, relevant in pairs
            ]
            row[f"{name}@{depth}"] = _mean([float(hit) for hit in hits])
    return row


def _session(document_id: str) -> str:
    """Return the session of a turn: `conversation/D3:12` is a turn of `conversation/D3`."""
    return document_id.rpartition(":")[0]


def ndcg(found: Sequence[str], relevant: frozenset[str]) -> float:
    """Return the normalized discounted cumulative gain of the first ten, gains being 0 or 1."""
    gain = sum(1 / math.log2(rank + 2) for rank, d in enumerate(found) if d in relevant)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(LIMIT, len(relevant))))
    return gain / ideal


def reciprocal_rank(found: Sequence[str], relevant: frozenset[str]) -> float:
    """Return one over the rank of the first relevant document; 0 when none was found."""
    return next((1 / rank for rank, d in enumerate(found, 1) if d in relevant), 0.0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
