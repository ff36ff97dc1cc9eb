"""Postings come back as they went in, whatever blocks they stand in."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from hikmah.index import container, postings, schema
from hikmah.index.container import Reader
from hikmah.index.postings import (
    BLOCK_POSTINGS,
    MAX_COUNT,
    MAX_LENGTH,
    POSTING_BYTES,
    TAIL_POSTINGS,
    PostingWriter,
    frequencies,
    join,
    postings_in,
    read_postings,
)
from hikmah.index.rows import DamagedIndexError, Postings

Documents = Mapping[int, tuple[Mapping[str, int], int]]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:", isolation_level=None)
    container.create(opened, schema.header("english"))
    yield opened
    opened.close()


def write(connection: sqlite3.Connection, documents: Documents, every: int = 10**9) -> None:
    """Write documents, through a new writer after each so many."""
    writer = PostingWriter(connection)
    for number, (doc, (counts, length)) in enumerate(documents.items(), start=1):
        writer.add(doc, counts, length)
        if number % every == 0:
            writer.flush()
            writer = PostingWriter(connection)
    writer.flush()


def read(connection: sqlite3.Connection, term: str) -> list[tuple[int, int, int]]:
    return columns(read_postings(Reader(connection), term))


def columns(found: Postings) -> list[tuple[int, int, int]]:
    """Return postings one by one."""
    return list(zip(found.docs, found.counts, found.lengths, strict=True))


def documents(count: int, seed: int = 0) -> dict[int, tuple[dict[str, int], int]]:
    """Return documents in which `all` stands always, `half` in every other, `one` once."""
    chance = random.Random(seed)
    made: dict[int, tuple[dict[str, int], int]] = {}
    for doc in range(1, count + 1):
        counts = {"all": 1 + chance.randrange(3)}
        if doc % 2:
            counts["half"] = 1
        if doc == count // 2:
            counts["one"] = 7
        made[doc * 3] = counts, chance.randrange(60)
    return made


def expected(made: Documents, term: str) -> list[tuple[int, int, int]]:
    return [(doc, counts[term], n) for doc, (counts, n) in made.items() if term in counts]


@pytest.mark.parametrize(
    "every",
    [
        pytest.param(10**9, id="rebuilt at once"),
        pytest.param(1, id="grown one by one"),
        pytest.param(63, id="a tail at a time"),
        pytest.param(700, id="in batches"),
    ],
)
def test_postings_are_the_same_however_they_were_added(
    connection: sqlite3.Connection, every: int
) -> None:
    made = documents(BLOCK_POSTINGS * 2 + TAIL_POSTINGS + 5)
    write(connection, made, every)
    for term in ("all", "half", "one", "none"):
        assert read(connection, term) == expected(made, term)
    found = frequencies(Reader(connection), ["all", "half", "one", "none"])
    assert found == {"all": len(made), "half": (len(made) + 1) // 2, "one": 1}


def test_tails_stay_small_and_full_blocks_are_full(connection: sqlite3.Connection) -> None:
    write(connection, documents(3000), every=1)
    tails = connection.execute("SELECT length(tail) FROM term").fetchall()
    assert max(size for (size,) in tails) <= TAIL_POSTINGS * POSTING_BYTES
    (number,) = connection.execute("SELECT number FROM term WHERE term = 'all'").fetchone()
    sizes = [
        size // POSTING_BYTES
        for (size,) in connection.execute(
            "SELECT length(data) FROM block WHERE place >> 32 = ? ORDER BY place", (number,)
        )
    ]
    assert sizes[:-1] == [BLOCK_POSTINGS] * (len(sizes) - 1)
    assert sizes[-1] <= BLOCK_POSTINGS


def test_an_append_rewrites_no_full_block(connection: sqlite3.Connection) -> None:
    write(connection, documents(BLOCK_POSTINGS + 1))
    before = connection.execute("SELECT * FROM block ORDER BY place").fetchall()
    full = [row for row in before if len(row[1]) == BLOCK_POSTINGS * POSTING_BYTES]
    written: list[str] = []
    connection.set_trace_callback(written.append)
    write(connection, {10**6 + n: ({"all": 1}, 5) for n in range(TAIL_POSTINGS * 2)}, every=1)
    connection.set_trace_callback(None)
    touched = [q for q in written if "INTO block" in q]
    assert touched
    assert not any(f"({place}," in q for q in touched for place, _ in full)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 9000), unique=True, max_size=60), st.integers(0, 3))
def test_postings_in_documents_are_those_of_the_term(asked: list[int], seed: int) -> None:
    """Few documents are looked up block by block, many in all postings: the same columns."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    container.create(connection, schema.header("english"))
    write(connection, documents(2600, seed), every=900)
    reader = Reader(connection)
    for term in ("all", "half", "one", "none"):
        known = read(connection, term)
        docs = sorted(asked)
        assert columns(postings_in(reader, term, docs)) == [p for p in known if p[0] in docs]
        for doc in docs[:5]:
            assert columns(postings_in(reader, term, [doc])) == [p for p in known if p[0] == doc]
    connection.close()


def test_few_documents_do_not_read_every_block(connection: sqlite3.Connection) -> None:
    write(connection, documents(BLOCK_POSTINGS * 12))
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    assert list(postings_in(Reader(connection), "all", [9, 3000]).docs) == [9, 3000]
    connection.set_trace_callback(None)
    assert len([q for q in asked if "FROM block" in q and "LIMIT 1" in q]) == 2
    assert len([q for q in asked if "FROM block" in q]) == 2


@pytest.mark.parametrize(
    ("count", "length", "kept"),
    [
        pytest.param(MAX_COUNT, MAX_LENGTH, (MAX_COUNT, MAX_LENGTH), id="at the bounds"),
        pytest.param(MAX_COUNT + 1, MAX_LENGTH + 1, (MAX_COUNT, MAX_LENGTH), id="above them"),
        pytest.param(10**6, 10**6, (MAX_COUNT, MAX_LENGTH), id="far above"),
        pytest.param(1, 0, (1, 0), id="no length"),
    ],
)
def test_counts_and_lengths_stop_at_what_a_posting_can_hold(
    connection: sqlite3.Connection, count: int, length: int, kept: tuple[int, int]
) -> None:
    write(connection, {1: ({"many": count, "one": 1}, length)})
    assert read(connection, "many") == [(1, *kept)]
    assert read(connection, "one") == [(1, 1, kept[1])]


def test_memory_is_bounded_by_writing_when_enough_waits(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "PENDING_POSTINGS", 100)
    made = documents(300)
    writer = PostingWriter(connection)
    for doc, (counts, length) in made.items():
        writer.add(doc, counts, length)
        assert writer._count < 100
    writer.flush()
    assert read(connection, "all") == expected(made, "all")


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param("UPDATE term SET tail = x'0102'", id="a tail cut short"),
        pytest.param("DELETE FROM block", id="blocks gone"),
        pytest.param("UPDATE term SET df = df + 1", id="a wrong count"),
    ],
)
def test_postings_that_do_not_add_up_are_damage(
    connection: sqlite3.Connection, damage: str
) -> None:
    write(connection, documents(200))
    connection.execute(damage)
    with pytest.raises(DamagedIndexError):
        read_postings(Reader(connection), "all")


def test_no_blocks_are_no_postings() -> None:
    assert list(map(list, structs.astuple(join([])))) == [[], [], []]


def test_a_tag_is_no_word(connection: sqlite3.Connection) -> None:
    write(connection, {1: ({postings.tag_term("ops"): 1}, 0), 2: ({"ops": 1}, 1)})
    assert read(connection, "ops") == [(2, 1, 1)]
    assert read(connection, postings.tag_term("ops")) == [(1, 1, 0)]
