"""The tables of the index file; their format number is in `layout`.

What is searched or shown is the record's own bytes (deflated) and blocks of postings;
columns exist for what queries filter, order or join on, and for nothing else.
"""

from __future__ import annotations

import sys

from hikmah.index import terms
from hikmah.index.layout import COMMON_DIGEST, FORMAT

TABLES = """
-- What the file is (see `header`), `ledger`, `head`, and totals over all traces.
CREATE TABLE header (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- Texts that repeat (kinds, sources, types) by number.
CREATE TABLE word (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
-- Every record, in order of arrival. `data` is deflated (see blobs.py).
CREATE TABLE record (
    doc INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    type INTEGER NOT NULL,
    at_ms INTEGER,
    data BLOB NOT NULL,
    fingerprint BLOB
);
CREATE INDEX record_seq ON record (seq);
-- What filters and ranking need of a trace; NULL stands for the field's default.
CREATE TABLE trace (
    doc INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    source INTEGER NOT NULL,
    length INTEGER NOT NULL,
    status INTEGER NOT NULL,
    status_seq INTEGER,
    privacy INTEGER,
    deadline_ms INTEGER,
    salience REAL,
    confidence REAL,
    authority REAL,
    verified INTEGER
);
-- What a record does to a trace, whether or not that trace has arrived: `by` replaces it.
CREATE TABLE link (
    doc INTEGER PRIMARY KEY, target BLOB NOT NULL, status INTEGER NOT NULL, by BLOB
);
CREATE INDEX link_target ON link (target);
CREATE INDEX link_by ON link (by) WHERE by IS NOT NULL;
CREATE TABLE claim_key (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, contested INTEGER NOT NULL DEFAULT 0,
    repeated INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX claim_contested ON claim_key (key) WHERE contested = 1;
CREATE INDEX claim_repeated ON claim_key (key) WHERE repeated = 1;
CREATE TABLE claim (
    doc INTEGER PRIMARY KEY, key INTEGER NOT NULL, status INTEGER NOT NULL, value TEXT NOT NULL
);
CREATE INDEX claim_value ON claim (key, status, value);
CREATE TABLE commitment (
    doc INTEGER PRIMARY KEY, status INTEGER NOT NULL, deadline_ms INTEGER
);
CREATE INDEX commitment_deadline ON commitment (status, deadline_ms);
-- What a trace was concluded from.
CREATE TABLE basis (
    id BLOB NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (id, doc)
) WITHOUT ROWID;
CREATE TABLE idempotency (
    key TEXT NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY (key, doc)
) WITHOUT ROWID;
CREATE TABLE tally (
    kind INTEGER NOT NULL, status INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (kind, status)
) WITHOUT ROWID;
-- Traces that name an entity, and the classes they form (see classes.py): `id` is the entity's,
-- `doc` the trace that speaks for it. Names are normalized.
CREATE TABLE entity (
    doc INTEGER PRIMARY KEY, class INTEGER NOT NULL, type INTEGER NOT NULL, name TEXT NOT NULL
);
CREATE INDEX entity_name ON entity (name, type);
CREATE INDEX entity_class ON entity (class);
CREATE TABLE class (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, doc INTEGER NOT NULL, type INTEGER NOT NULL,
    status INTEGER NOT NULL, name TEXT NOT NULL
);
CREATE INDEX class_name ON class (status, name, id);
CREATE INDEX class_type ON class (status, type, name, id);
-- Facts and relationships by the traces they name, whether or not those have arrived.
CREATE TABLE fact (doc INTEGER PRIMARY KEY, entity BLOB NOT NULL);
CREATE INDEX fact_entity ON fact (entity);
CREATE TABLE relationship (
    doc INTEGER PRIMARY KEY, start BLOB NOT NULL, goal BLOB NOT NULL
);
CREATE INDEX relationship_start ON relationship (start);
CREATE INDEX relationship_goal ON relationship (goal);
CREATE TABLE event (
    doc INTEGER PRIMARY KEY, seq INTEGER NOT NULL, type INTEGER NOT NULL, session INTEGER,
    agent INTEGER, status INTEGER NOT NULL, sensitive INTEGER NOT NULL
);
CREATE INDEX event_seq ON event (seq);
CREATE INDEX event_type ON event (type, seq);
CREATE INDEX event_session ON event (session, seq) WHERE session IS NOT NULL;
CREATE INDEX event_agent ON event (agent, seq) WHERE agent IS NOT NULL;
-- A term's newest postings are its tail; older ones stand in blocks (see postings.py).
CREATE TABLE term (
    term TEXT PRIMARY KEY, number INTEGER NOT NULL, df INTEGER NOT NULL, tail BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE block (place INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""

# Tables that outlive a rebuild; each is made where it is missing (see kept.py).
KEPT = {
    "kept_summary": """CREATE TABLE IF NOT EXISTS kept_summary (
    ledger TEXT NOT NULL, entity BLOB NOT NULL, data BLOB NOT NULL, PRIMARY KEY (ledger, entity)
) WITHOUT ROWID"""
}
# What a fact claims: the id of its entity and its predicate make the key.
FACT_CLAIM = "{}/{}"

DEFAULT_UNIT = 0.5  # what NULL stands for in salience, confidence and authority
CEILINGS = ("max_salience", "max_confidence", "max_authority", "any_verified")


def header(language: str) -> dict[str, str]:
    """Return what an index must say of itself to be used; other values are derived."""
    return {
        "format": str(FORMAT),
        "terms": str(terms.VERSION),
        "language": language,
        "byteorder": sys.byteorder,
        "dictionary": COMMON_DIGEST,
    }
