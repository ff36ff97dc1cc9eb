"""Small sets of records to fill an index with, and everything an index says of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hikmah.index.database import Index
from hikmah.index.rows import Cut
from hikmah.model.records import Fulfill, Purge, Record, Stored, Supersede, Unknown, blob_id
from hikmah.model.records import canonical as canonical_bytes
from hikmah.model.trace import Claim, Provenance, Trace

LEDGER = "0" * 32


def stored(record: Record, seq: int, algorithm: str = "sha1") -> Stored:
    """Return a record as it stands in a ledger."""
    data = canonical_bytes(record)
    return Stored(id=blob_id(data, algorithm), seq=seq, record=record, data=data)


def unknown(seq: int) -> Stored:
    """Return a record of a type that a later version wrote."""
    data = b'{\n  "type": "dream"\n}\n'
    return Stored(id=blob_id(data), seq=seq, record=Unknown(type="dream"), data=data)


def trace(content: str, **fields: Any) -> Trace:
    """Return a trace with a time of its own unless one is given."""
    defaults: dict[str, Any] = {"content": content, "created_at_ms": 1000}
    return Trace(**(defaults | fields))


def story() -> list[Stored]:
    """Return a ledger in which every way to switch a trace happens at least once."""
    told: list[Stored] = []

    def add(record: Record, seq: int | None = None) -> str:
        number = len(told) + 1 if seq is None else seq
        told.append(stored(record, number))
        return told[-1].id

    at = 1000
    port = add(trace("the port is 22", claim=Claim(key="Port", value="22"), tags=("Net", "ops")))
    add(trace("the port is 23", claim=Claim(key=" port ", value="23"), created_at_ms=1500))
    deploy = add(trace("deploy on friday", kind="commitment", deadline_ms=5000))
    add(trace("write the report", kind="commitment", deadline_ms=4000, created_at_ms=1800))
    add(trace("call home some day", kind="commitment"))
    add(trace("port is 49222", supersedes=port, claim=Claim(key="port", value="49222")))
    add(Fulfill(id=deploy, evidence="done", at_ms=at))
    wrong = add(trace("red is blue", provenance=Provenance(source="agent:x", verified=True)))
    right = add(trace("red is red", idempotency_key="k", salience=0.9))
    add(Supersede(id=wrong, by=right, at_ms=2000))
    junk = add(trace("junk to forget", claim=Claim(key="x", value="1"), privacy="public"))
    add(Purge(id=junk, reason="noise", at_ms=3000))
    add(Purge(id=wrong, reason="old", mode="deprecate", at_ms=3000))
    add(trace("x is 2", claim=Claim(key="X", value="2"), idempotency_key="k"))
    add(Fulfill(id="e" * 40, at_ms=3500))
    add(Supersede(id=wrong, by=port, at_ms=900), seq=10)
    told.append(unknown(len(told) + 1))
    told.append(msgspec.structs.replace(told[8], seq=4))  # the same record at a second path
    return told


def filled(records: Iterable[Stored], index: Index | None = None, head: str = "h1") -> Index:
    """Return an index, in memory unless one is given, that has taken in records."""
    index = index or Index.open(None, language="english")
    assert index.extend(records, ledger=LEDGER, base=index.head, head=head)
    return index


def answers(index: Index, cut: Cut | None = None) -> str:
    """Return everything an index says, as text, without the numbers it may choose itself."""
    corpus = index.corpus(cut)
    docs = corpus.documents()
    rows = corpus.rows(docs)
    names = {row.doc: row.id for row in rows}
    words = sorted({word for row in rows for word in row.trace.content.split()})
    stems = sorted(
        corpus.frequency(["port", "deploy", "red", "is", "x", "nowhere", *words]).items()
    )
    log, total = index.log(limit=1000)
    said = {
        "head": [index.head, index.ledger, index.records, index.max_seq],
        "rows": sorted(_plain(row) for row in rows),
        "facts": sorted(str(msgspec.structs.astuple(fact)[1:]) for fact in corpus.facts(docs)),
        "sizes": [corpus.size, corpus.total_length, _plain(corpus.ceilings)],
        "frequency": stems,
        "postings": {
            term: sorted(
                zip(
                    (names.get(d, "?") for d in found.docs),
                    found.counts,
                    found.lengths,
                    strict=True,
                )
            )
            for term, found in ((term, corpus.postings(term)) for term, _ in stems)
        },
        "tags": {
            t: sorted(names.get(d, "?") for d in corpus.by_tag(t)) for t in ("net", "ops", "none")
        },
        "prints": sorted(sorted(found) for found in corpus.fingerprints(docs)),
        "due": sorted(names.get(d, "?") for d in corpus.commitments()),
        "log": [[row.id, row.seq, row.status] for row in log] + [total],
        "contested": [[key, [r.id for r in found]] for key, found in index.contested()],
        "commitments": [row.id for row in index.commitments("active", "fulfilled")],
        "counts": index.counts(),
        "key": index.by_key("k"),
        "switches": {row.id: [s.id for s in index.switches(row.id)] for row in rows},
        "ids": index.resolve("", limit=1000),
    }
    return msgspec.json.format(msgspec.json.encode(said, order="sorted")).decode()


def _plain(row: Any) -> str:
    return str({k: v for k, v in msgspec.structs.asdict(row).items() if k != "doc"})
