"""The index answers alike whatever the order of arrival, and reads no more than it needs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.errors import NotFoundError
from hikmah.index import filling
from hikmah.index.database import Index
from hikmah.index.rows import Cut, DamagedIndexError
from hikmah.model.records import Fulfill, Purge, Stored, Supersede, Unknown, record_time_ms
from hikmah.model.trace import Claim, Provenance
from tests.index.ledgers import LEDGER, answers, filled, stored, story, trace, unknown

STORY = story()
PORT, PORT_23, DEPLOY, REPORT, CALL, PORT_NEW = (s.id for s in STORY[:6])
WRONG, RIGHT = STORY[7].id, STORY[8].id
JUNK = STORY[10].id


@pytest.fixture
def index() -> Iterator[Index]:
    with filled(STORY) as opened:
        yield opened


@settings(max_examples=60, deadline=None)
@given(st.permutations(STORY), st.lists(st.integers(0, len(STORY)), max_size=4))
def test_any_order_in_any_number_of_updates_gives_the_same_answers(
    order: list[Stored], cuts: list[int]
) -> None:
    expected = answers(filled(STORY))
    index = Index.open(None, language="english")
    bounds = [0, *sorted(cuts), len(order)]
    for step, (start, end) in enumerate(pairwise(bounds)):
        head = "h1" if step == len(bounds) - 2 else f"step {step}"
        filled(order[start:end], index, head)
    assert answers(index) == expected


@settings(max_examples=30, deadline=None)
@given(st.permutations(STORY), st.integers(0, 20), st.integers(0, 5000))
def test_a_cut_answers_as_the_ledger_did_then(
    order: list[Stored], seq: int, written_ms: int
) -> None:
    now = filled(order)
    then = filled(s for s in STORY if s.seq <= seq)
    assert view(now, Cut(seq=seq)) == view(then, None)
    dated = filled(s for s in STORY if written(s) <= written_ms)
    assert view(now, Cut(written_ms=written_ms)) == view(dated, None)


def written(one: Stored) -> int:
    return 0 if isinstance(one.record, Unknown) else record_time_ms(one.record)


def view(index: Index, cut: Cut | None) -> object:
    """Return what recall sees of a cut."""
    corpus = index.corpus(cut)
    docs = corpus.documents()
    rows = {
        r.id: (r.seq, r.status, r.status_seq, r.superseded_by, r.supersedes)
        for r in corpus.rows(docs)
    }
    names = {row.doc: row.id for row in corpus.rows(docs)}
    found = {
        term: sorted(names[doc] for doc in corpus.postings(term).docs)
        for term in ("port", "red", "22", "none")
    }
    return (
        rows,
        corpus.size,
        corpus.total_length,
        corpus.frequency(["port", "red", "22", "none"]),
        found,
        sorted(names[doc] for doc in corpus.by_tag("net")),
        sorted(names[doc] for doc in corpus.commitments()),
        sorted((names[f.doc], f.status) for f in corpus.facts(docs)),
        [row.id for row in corpus.claims(["port", "x"])],
        [row.id for row in corpus.find([PORT, WRONG, "f" * 40])],
    )


@pytest.mark.parametrize(
    ("record_id", "status", "seq"),
    [
        pytest.param(PORT, "superseded", 6, id="superseded by a trace's own field"),
        pytest.param(PORT_23, "active", 2, id="untouched: its own number"),
        pytest.param(DEPLOY, "fulfilled", 7, id="fulfilled"),
        pytest.param(WRONG, "deprecated", 13, id="the strongest of two switches"),
        pytest.param(JUNK, "purged", 12, id="purged"),
    ],
)
def test_the_strongest_switch_gives_the_status_and_its_number(
    index: Index, record_id: str, status: str, seq: int
) -> None:
    row = index.row(record_id)
    assert row is not None
    assert (row.status, row.status_seq) == (status, seq)


def test_replacements_come_in_the_order_of_the_records_that_name_them(index: Index) -> None:
    row = index.row(WRONG)
    assert row is not None
    named = [(s.seq, s.id, s.record) for s in index.switches(WRONG)]
    assert [n[:2] for n in named] == sorted(n[:2] for n in named)
    assert row.superseded_by == tuple(r.by for *_, r in named if isinstance(r, Supersede))
    replaced = index.row(RIGHT)
    assert replaced is not None
    assert replaced.supersedes == (WRONG,)


def test_a_record_at_two_paths_counts_once_at_its_smaller_number(index: Index) -> None:
    row = index.row(RIGHT)
    assert row is not None
    assert row.seq == 4
    assert index.records == len({s.id for s in STORY})
    assert index.max_seq == 17


def test_a_later_copy_at_a_larger_number_changes_nothing(index: Index) -> None:
    before = answers(index)
    filled([msgspec.structs.replace(STORY[0], seq=99)], index, "h2")
    assert answers(index).replace("h2", "h1") == before


def test_an_idempotency_key_gives_its_first_trace(index: Index) -> None:
    assert index.by_key("k") == RIGHT
    assert index.by_key("none") is None


def test_keys_with_two_active_values_are_contested_and_no_other(index: Index) -> None:
    found = dict(index.contested())
    assert list(found) == ["port"]
    assert {row.id for row in found["port"]} == {PORT_23, PORT_NEW}
    filled([stored(Purge(id=PORT_23, reason="r", at_ms=1), 30)], index, "h2")
    assert dict(index.contested()) == {}


def test_the_newest_record_up_to_a_number_is_last_by_number_and_id(index: Index) -> None:
    tied = [s.id for s in STORY if s.seq == 10]
    assert len(tied) == 2
    found = index.newest(10)
    assert found is not None
    assert found.id == max(tied)
    assert index.newest(0) is None
    last = index.newest(10**9)
    assert last is not None
    assert last.seq == index.max_seq


def test_what_was_concluded_from_a_record_is_found(index: Index) -> None:
    assert index.derived(PORT) == []
    late = stored(trace("so it is 22", derived_from=(PORT, RIGHT, PORT)), 52)
    early = stored(trace("so it is not", derived_from=(PORT,)), 51)
    filled([late, early], index, "h2")
    assert index.derived(PORT) == [early.id, late.id]
    assert index.derived(RIGHT) == [late.id]


def test_claims_are_compared_in_normal_form_with_the_values_case_kept() -> None:
    index = filled(
        stored(trace(value, claim=Claim(key=key, value=value)), seq)
        for seq, (key, value) in enumerate(
            [("A  b", "x y"), ("a B ", "x  y"), ("c", "Yes"), ("C", "yes")], start=1
        )
    )
    assert [key for key, _ in index.contested()] == ["c"]
    assert len(index.claims("a b")) == 2


def test_commitments_come_by_deadline_undated_last(index: Index) -> None:
    assert [r.id for r in index.commitments()] == [REPORT, CALL]
    assert [r.id for r in index.commitments("active", "fulfilled")] == [REPORT, DEPLOY, CALL]
    assert [r.id for r in index.commitments(due_before_ms=4001)] == [REPORT]
    assert index.commitments(due_before_ms=4000) == []


def test_the_log_is_newest_first_with_a_total(index: Index) -> None:
    rows, total = index.log(limit=3)
    assert total == index.records
    assert [row.seq for row in rows] == [17, 15, 14]
    assert rows[0].status is None
    again, _ = index.log(limit=3, offset=2)
    assert again[0] == rows[2]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param({"kind": "commitment"}, 3, id="kind"),
        pytest.param({"source": "agent:x"}, 1, id="source"),
        pytest.param({"since_ms": 3000}, 3, id="since is inclusive"),
        pytest.param({"since_ms": 1500, "until_ms": 1800}, 2, id="until is inclusive"),
        pytest.param({"kind": "belief"}, 0, id="none"),
        pytest.param({"kind": "no such kind"}, 0, id="unknown kind"),
    ],
)
def test_the_log_filters_and_counts_what_it_leaves_out(
    index: Index, filters: dict[str, object], expected: int
) -> None:
    rows, total = index.log(limit=1, **filters)  # type: ignore[arg-type]  # a table of filters
    assert total == expected
    assert len(rows) == min(1, expected)


def test_counts_are_by_kind_and_status(index: Index) -> None:
    counts = index.counts()
    assert counts["commitment"] == {"active": 2, "fulfilled": 1}
    assert sum(sum(by.values()) for by in counts.values()) == index.corpus().size


def test_a_prefix_finds_records_of_any_type(index: Index) -> None:
    for one in STORY:
        for digits in (4, 5, 12, 40):
            assert one.id in index.resolve(one.id[:digits])
        assert index.resolve(one.id.upper()) == [one.id]
    every = index.resolve("", limit=100)
    assert every == sorted({s.id for s in STORY})
    assert index.resolve("", limit=2) == every[:2]
    assert index.resolve("f" * 41) == []


@pytest.mark.parametrize("prefix", ["f", "ff", "fff", "0", "00"])
def test_a_prefix_at_the_ends_of_the_range_is_whole(prefix: str) -> None:
    index = filled(stored(trace(f"word {n}"), n) for n in range(1, 600))
    every = index.resolve("", limit=1000)
    assert index.resolve(prefix, limit=1000) == [i for i in every if i.startswith(prefix)]


def test_sha256_ids_are_kept_whole() -> None:
    one = stored(trace("long id"), 1, "sha256")
    index = filled([one, stored(Fulfill(id=one.id, at_ms=1), 2, "sha256")])
    row = index.row(one.id)
    assert row is not None
    assert (row.id, row.status) == (one.id, "fulfilled")
    assert index.resolve("f" * 63) in ([], [one.id])


def test_records_come_back_byte_for_byte(index: Index) -> None:
    for one in STORY:
        found = index.stored(one.id)
        assert found is not None
        assert found.data == one.data
        assert found.record == one.record
    assert index.stored("0" * 40) is None
    assert index.row("0" * 40) is None
    assert index.row(STORY[6].id) is None


def test_the_state_that_rules_ask_for_says_what_the_row_says(index: Index) -> None:
    state = index.state(RIGHT)
    assert state is not None
    assert (state.status, state.superseded_by) == ("active", ())
    wrong = index.state(WRONG)
    assert wrong is not None
    assert (wrong.status, wrong.source) == ("deprecated", "agent:x")
    assert RIGHT in wrong.superseded_by
    assert index.state("0" * 40) is None


def test_a_switch_before_its_target_counts_when_the_target_arrives() -> None:
    target = stored(trace("later"), 1)
    index = filled([stored(Purge(id=target.id, reason="r", at_ms=1), 2)])
    assert index.row(target.id) is None
    filled([target], index, "h2")
    row = index.row(target.id)
    assert row is not None
    assert (row.status, row.status_seq) == ("purged", 2)
    assert index.counts() == {"observation": {"purged": 1}}


def test_a_record_of_a_later_version_is_kept_and_counted() -> None:
    index = filled([unknown(1)])
    assert index.records == 1
    assert index.corpus().size == 0
    assert index.log()[0][0].record == unknown(1).record


def test_a_prefix_of_the_ledger_is_unjoined_when_every_number_is_used_once(index: Index) -> None:
    assert index.is_prefix(3)
    assert not index.is_prefix(17)  # one number is used twice, another by nobody


def test_an_update_from_a_base_that_has_moved_writes_nothing(index: Index) -> None:
    more = [stored(trace("more"), 40)]
    assert not index.extend(more, ledger=LEDGER, base="h0", head="h2")
    assert index.head == "h1"
    assert index.extend(more, ledger=LEDGER, base="h1", head="h2")
    assert index.extend(more, ledger=LEDGER, base="h1", head="h2"), "already there"


def test_a_reset_forgets_everything_first(index: Index) -> None:
    only = [stored(trace("only"), 1)]
    assert index.extend(only, ledger="1" * 32, base=None, head="h9", reset=True)
    assert (index.head, index.ledger, index.records) == ("h9", "1" * 32, 1)
    assert index.corpus().frequency(["port"]) == {}


def test_records_of_another_ledger_are_not_mixed_in(index: Index) -> None:
    with pytest.raises(DamagedIndexError):
        index.extend([], ledger="1" * 32, base="h1", head="h2")
    assert index.head == "h1"


def test_an_update_that_fails_half_way_leaves_the_old_state(index: Index) -> None:
    before = answers(index)

    def breaks() -> Iterator[Stored]:
        yield stored(trace("half"), 50)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.extend(breaks(), ledger=LEDGER, base="h1", head="h2")
    assert answers(index) == before


def test_progress_is_told_every_thousand_records() -> None:
    seen: list[int] = []
    index = Index.open(None, language="english")
    records = (stored(trace("x", created_at_ms=n), n) for n in range(1, 2501))
    index.extend(records, ledger=LEDGER, base=None, head="h", progress=seen.append)
    assert seen == [1000, 2000]


def test_a_snapshot_keeps_one_state_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with filled(STORY, Index.open(path, language="english")) as reader:
        with Index.open(path, language="english") as writer, reader.snapshot():
            before = answers(reader)
            filled([stored(trace("port news"), 60)], writer, "h2")
            assert answers(reader) == before
        assert reader.head == "h2"


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda i: list(i.contested()), id="conflicts"),
        pytest.param(lambda i: i.commitments(), id="commitments"),
        pytest.param(lambda i: i.commitments(due_before_ms=10), id="commitments due"),
        pytest.param(lambda i: (i.row(PORT), i.switches(PORT)), id="show"),
        pytest.param(lambda i: i.resolve("abcd"), id="resolve"),
        pytest.param(lambda i: i.by_key("k"), id="idempotency key"),
        pytest.param(lambda i: i.derived(PORT), id="derived"),
        pytest.param(lambda i: i.claims("port"), id="claims"),
        pytest.param(lambda i: i.log(limit=5), id="log"),
        pytest.param(lambda i: i.newest(9), id="newest"),
        pytest.param(lambda i: i.counts(), id="counts"),
        pytest.param(lambda i: i.corpus().postings("port"), id="postings"),
        pytest.param(lambda i: i.corpus().postings_in("port", [1]), id="postings in documents"),
        pytest.param(lambda i: i.corpus().facts([1, 2]), id="facts"),
        pytest.param(lambda i: i.corpus().commitments(), id="overdue"),
        pytest.param(lambda i: (i.head, i.max_seq, i.corpus().size), id="header"),
        pytest.param(
            lambda i: i.extend(
                [stored(trace("n", supersedes=PORT_23, claim=Claim(key="q", value="1")), 70)],
                ledger=LEDGER,
                base="h1",
                head="h2",
            ),
            id="one more trace",
        ),
    ],
)
def test_no_question_reads_every_trace(index: Index, ask: Callable[[Index], object]) -> None:
    """A plan may scan what is small by nature or is left early, never records or traces."""
    connection = index._container.connection
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    ask(index)
    connection.set_trace_callback(None)
    questions = [q for q in asked if q.startswith(("SELECT", "UPDATE", "INSERT"))]
    for query in questions:
        for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall():
            harmless = any(step == scan and reason in query for scan, reason in HARMLESS)
            assert not step.startswith("SCAN") or harmless, f"{step}: {query}"


# Scans along an index that a question leaves early, of small tables, or of the shortest index.
HARMLESS = [
    ("SCAN r USING INDEX record_seq", "LIMIT"),
    ("SCAN record USING COVERING INDEX record_seq", "count(*)"),
    ("SCAN t", "FROM tally"),
    ("SCAN claim_key USING INDEX claim_contested", "contested = 1"),
    ("SCAN claim_key USING COVERING INDEX claim_contested", "contested = 1"),
    ("SCAN j VIRTUAL TABLE INDEX 1:", "json_each"),  # the list of what is asked for
    ("SCAN CONSTANT ROW", ""),
]


@pytest.mark.parametrize(
    ("damage", "ask"),
    [
        pytest.param("DELETE FROM trace", lambda i: i.corpus().facts([1]), id="facts gone"),
        pytest.param("DELETE FROM record", lambda i: i.corpus().rows([1]), id="records gone"),
        pytest.param("DELETE FROM word", lambda i: i.corpus().facts([1]), id="words gone"),
        pytest.param("UPDATE trace SET status = 9", lambda i: i.row(PORT), id="no such status"),
        pytest.param("UPDATE trace SET status = 'x'", lambda i: i.log(), id="status of a kind"),
        pytest.param(
            "INSERT INTO trace SELECT r.doc, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL, "
            "NULL FROM record r LEFT JOIN trace t ON t.doc = r.doc WHERE t.doc IS NULL",
            lambda i: i.row(STORY[6].id),
            id="a switch kept as a trace",
        ),
        pytest.param("DROP TABLE claim", lambda i: i.claims("port"), id="a table gone"),
        pytest.param(
            "UPDATE word SET text = CAST(x'ff' || CAST(number AS BLOB) AS TEXT)",
            lambda i: i.counts(),
            id="text not UTF-8",
        ),
    ],
)
def test_rows_that_do_not_fit_together_are_damage(
    index: Index, damage: str, ask: Callable[[Index], object]
) -> None:
    index._container.connection.execute(damage)
    with pytest.raises(DamagedIndexError):
        ask(index)


def test_what_was_written_and_is_not_there_is_damage(index: Index) -> None:
    """A trigger stands for a broken index on the words' texts."""
    index._container.connection.execute(
        "CREATE TRIGGER gone AFTER INSERT ON word BEGIN DELETE FROM word; END"
    )
    new = stored(trace("x", provenance=Provenance(source="new")), 80)
    with pytest.raises(DamagedIndexError, match="'new' was written"):
        index.extend([new], ledger=LEDGER, base="h1", head="h2")


def test_overdue_commitments_come_latest_deadline_first_in_a_cut_too(index: Index) -> None:
    more = [
        stored(trace(f"due {n}", kind="commitment", deadline_ms=3000 + n % 7), 100 + n)
        for n in range(130)
    ]
    never = stored(trace("due at the epoch", kind="commitment", deadline_ms=0), 300)
    filled([*more, never], index, "h2")
    for cut in (None, Cut(seq=10**6)):
        corpus = index.corpus(cut)
        rows = corpus.rows(list(corpus.overdue(4001)))
        assert len(rows) == 132
        deadlines = [row.trace.deadline_ms for row in rows]
        assert deadlines == sorted(deadlines, key=lambda at_ms: -(at_ms or 0))
        assert (rows[0].id, rows[-1].id) == (REPORT, never.id)
    assert list(index.corpus().overdue(0)) == []
    full_pages = list(index.corpus().overdue(3004))
    assert len(full_pages) == len(list(index.corpus(Cut(seq=10**6)).overdue(3004)))


def test_repeated_texts_beyond_memory_keep_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MAX_WORDS", 3)
    sources = [f"source {n % 8}" for n in range(40)]
    index = filled(
        stored(trace(f"note {n}", provenance=Provenance(source=source)), n + 1)
        for n, source in enumerate(sources)
    )
    found = index.corpus().facts(index.corpus().documents())
    assert [fact.source for fact in found] == sources


def test_damage_found_while_reading_is_said_and_healed_by_filling_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    filled(STORY, Index.open(path, language="english")).close()
    broken = sqlite3.connect(path)
    broken.execute("UPDATE record SET data = zeroblob(50)")
    broken.commit()
    broken.close()
    with Index.open(path, language="english") as index:
        with pytest.raises(DamagedIndexError):
            index.row(PORT)
        index.recreate()
        assert index.head is None
        assert not index.in_memory
        filled(STORY, index)
        assert answers(index) == answers(filled(STORY))


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("check", [("ok",), ("row 1 missing from index",), None], ids=str)
def test_an_error_over_a_torn_file_is_damage(
    index: Index, check: tuple[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of a wrong type is a fault of ours only when the file is sound."""
    monkeypatch.setattr(
        index, "_all", lambda _: [check] if check else _raise(DamagedIndexError("torn"))
    )
    expected = TypeError if check == ("ok",) else DamagedIndexError
    with pytest.raises(expected), index.snapshot():
        _raise(TypeError("object of type 'NoneType' has no len()"))
    with pytest.raises(NotFoundError), index.snapshot():
        _raise(NotFoundError("no such record"))


@pytest.mark.parametrize("together", [1, 2, 5, 1_000])
def test_how_many_records_are_written_together_does_not_show(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """Copies in one lot, in different lots, and in different updates count once alike."""
    told = story()
    moved = [Stored(id=s.id, seq=s.seq + 40, record=s.record, data=s.data) for s in told]
    records = [*moved[::3], *told, *told[::2], *moved[::2]]
    monkeypatch.setattr(filling, "TOGETHER", together)
    with Index.open(None, language="english") as one, Index.open(None, language="english") as two:
        one.extend(records, ledger=LEDGER, base=None, head="h1")
        two.extend(records[:9], ledger=LEDGER, base=None, head="h0")
        two.extend(records[5:], ledger=LEDGER, base="h0", head="h1")
        assert answers(one) == answers(two) == answers(filled(told))
