"""Streams: many ready records as one commit, read as they come, all or nothing."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hikmah.errors import BusyError, HikmahError, InvalidInputError, NotFoundError
from hikmah.index.rows import DamagedIndexError
from hikmah.ledger import durable
from hikmah.ledger.append import PACK_FROM_OBJECTS
from hikmah.ledger.verify import verify
from hikmah.memory import Memory
from hikmah.memory.admitting import Incoming
from hikmah.memory.pending import Pending, Written
from hikmah.memory.streaming import Streamed, write_stream
from hikmah.model.links import NEW
from hikmah.model.records import Record, Supersede, Unknown, blob_id, canonical, read
from hikmah.model.trace import Claim, Trace
from tests import world
from tests.memory.conftest import NOW_MS

MANY = 3 * PACK_FROM_OBJECTS


def note(number: int, **fields: object) -> Trace:
    """Return a trace that says something of its own."""
    return Trace(content=f"note {number}", created_at_ms=NOW_MS + number, **fields)  # type: ignore[arg-type]  # any field


def notes(count: int) -> Iterator[Incoming]:
    """Yield traces that can be read once."""
    return (Incoming(note(n)) for n in range(count))


def stream(memory: Memory, *records: Record | Incoming, **options: object) -> Streamed:
    """Write records, which can be read again, as a stream."""
    given = [r if isinstance(r, Incoming) else Incoming(r) for r in records]
    return write_stream(memory._desk, given, **options)  # type: ignore[arg-type]  # any option


def objects(repo: Path) -> list[Path]:
    """Return every file of the object store."""
    return sorted(path for path in (repo / ".git/objects").rglob("*") if path.is_file())


@pytest.fixture
def started(memory: Memory) -> Memory:
    """Return a memory that holds one trace."""
    memory.remember("the first")
    return memory


class TestOneCommit:
    def test_a_stream_is_one_commit_and_one_pack(self, repo: Path, started: Memory) -> None:
        """Numbers follow the order given; git finds nothing wrong; the index stands at the head."""
        done = write_stream(started._desk, notes(MANY))
        assert (done.written, done.deduplicated) == (MANY, 0)
        assert world.git(repo, "rev-parse", world.REF) == done.commit
        assert world.git(repo, "rev-list", "--count", world.REF) == "3"
        assert len(list((repo / ".git/objects/pack").glob("*.pack"))) == 1
        world.git(repo, "fsck", "--full", "--strict")
        assert started.recall("note 77").results[0].trace.content == "note 77"
        assert started.status().records == MANY + 1
        assert verify(started._desk.ledger).ok

    def test_a_few_records_are_loose(self, repo: Path, started: Memory) -> None:
        """A pack is for what is worth one."""
        assert write_stream(started._desk, notes(5)).written == 5
        assert not list((repo / ".git/objects/pack").glob("*.pack"))

    def test_the_same_bytes_whichever_way_they_came(self, tmp_path: Path) -> None:
        """A batch and a stream of the same records make the same commit."""
        heads = []
        for name in ("batch", "stream"):
            repo = world.repository(tmp_path / name)
            ledger = world.ledger(repo)
            with Memory.open(repo, environ={}, clock=lambda: NOW_MS) as memory:
                if name == "batch":
                    memory.remember_batch({"content": f"n {n}"} for n in range(MANY))
                else:
                    made = [Trace(content=f"n {n}", created_at_ms=NOW_MS) for n in range(MANY)]
                    stream(memory, *made)
            heads.append(ledger.tip_commit())
        assert heads[0] == heads[1]

    def test_a_record_is_asked_for_when_the_one_before_stands(self, started: Memory) -> None:
        """`each` hears of a record before the source is asked for the next."""
        heard: list[str] = []

        def source() -> Iterator[Incoming]:
            for n in range(MANY):
                assert len(heard) == n
                yield Incoming(note(n, derived_from=tuple(heard[-1:])))

        done = write_stream(started._desk, source(), each=lambda w: heard.append(w.id))
        assert done.written == len(heard) == MANY

    def test_nothing_new_writes_nothing(self, repo: Path, started: Memory) -> None:
        """What is there is told with its place, and counted."""
        stream(started, *map(note, range(MANY)))
        before = world.git(repo, "rev-parse", world.REF)
        heard: list[Written] = []
        again = stream(started, *map(note, range(MANY)), each=heard.append)
        assert again == Streamed(None, 0, MANY, ())
        assert [w.seq for w in heard[:3]] == [2, 3, 4]
        assert all(w.deduplicated for w in heard)
        assert world.git(repo, "rev-parse", world.REF) == before

    def test_what_comes_twice_in_one_stream_stands_once(self, started: Memory) -> None:
        """The second is told as there already, at the first one's place."""
        heard: list[Written] = []
        done = stream(started, note(1), note(2), note(1), each=heard.append)
        assert (done.written, done.deduplicated) == (2, 1)
        assert [w.seq for w in heard] == [2, 3, 2]


class TestAllOrNothing:
    @pytest.mark.parametrize("after", [3, MANY])
    def test_a_source_that_fails_leaves_no_trace(
        self, repo: Path, started: Memory, after: int
    ) -> None:
        """Refs and objects are as they were, and the next write needs no person."""
        before = objects(repo), world.git(repo, "for-each-ref")

        def source() -> Iterator[Incoming]:
            yield from notes(after)
            raise InvalidInputError("the file is torn")

        with pytest.raises(InvalidInputError, match="torn"):
            write_stream(started._desk, source())
        assert (objects(repo), world.git(repo, "for-each-ref")) == before
        assert started.remember("next").seq == 2

    def test_a_bad_record_late_in_a_batch_is_named(self, repo: Path, started: Memory) -> None:
        """What came before it is nowhere to be seen."""
        before = objects(repo)
        items: list[dict[str, object]] = [{"content": f"n {n}"} for n in range(MANY)]
        items[MANY - 2]["confidence"] = 7
        with pytest.raises(InvalidInputError, match=f"item {MANY - 1}") as caught:
            started.remember_batch(items)
        assert caught.value.where == f"$[{MANY - 2}].confidence"
        assert objects(repo) == before

    def test_a_bad_batch_makes_no_ledger(self, repo: Path, memory: Memory) -> None:
        """Without a ledger all is judged before the first is written."""
        items: list[dict[str, object]] = [{"content": f"n {n}"} for n in range(MANY)]
        with pytest.raises(InvalidInputError):
            memory.remember_batch([*items, {"content": " "}])
        assert world.git(repo, "for-each-ref", "refs/hikmah") == ""

    def test_links_are_judged_by_what_came_before(self, started: Memory) -> None:
        """A record may point back in its stream, not forward."""
        first, later = note(1), note(2)
        ids = [blob_id(canonical(r)) for r in (first, later)]
        replaced = Supersede(id=ids[0], by=ids[1], at_ms=NOW_MS)
        with pytest.raises(NotFoundError):
            stream(started, first, replaced, later)
        assert stream(started, first, later, replaced).written == 3
        with pytest.raises(InvalidInputError, match="superseded already"):
            stream(started, msg(replaced, 1))


def msg(record: Supersede, later_ms: int) -> Supersede:
    """Return the same switch at another time: another record."""
    return Supersede(id=record.id, by=record.by, at_ms=record.at_ms + later_ms)


class TestRules:
    def test_what_is_refused_is_told_and_left_out(self, started: Memory) -> None:
        """With `refuse` one bad record does not stop the others."""
        refused: list[HikmahError] = []
        bad = note(1, derived_from=("0" * 40,))
        done = stream(started, note(0), note(1, salience=7.0), bad, note(2), refuse=refused.append)
        assert done.written == 2
        assert [type(e) for e in refused] == [InvalidInputError, NotFoundError]
        assert refused[1].where == "$.derived_from[0]"

    def test_the_rule_for_links_is_the_callers(self, started: Memory) -> None:
        """A joined ledger holds what no write may add: superseded twice by two machines."""
        first, other, third = (note(n) for n in range(3))
        ids = [blob_id(canonical(r)) for r in (first, other, third)]
        twice = [Supersede(id=ids[0], by=by, at_ms=NOW_MS) for by in ids[1:]]

        def any_state(_record: Record, _state: object) -> object:
            return NEW

        done = stream(started, first, other, third, *twice, admit=any_state)
        assert done.written == 5
        shown = started.show(ids[0])
        assert shown.superseded_by == tuple(ids[1:])  # type: ignore[union-attr]  # a trace

    def test_keys_are_one_record_unless_told_otherwise(self, started: Memory) -> None:
        """An export of a joined ledger may hold one key twice; a retry may not."""
        same = [note(0, idempotency_key="k"), note(0, idempotency_key="k", tags=("x",))]
        assert stream(started, *same).written == 1
        done = stream(started, *same, by_key=False)
        assert (done.written, done.deduplicated) == (1, 1)

    def test_a_key_used_for_other_content_is_refused(self, started: Memory) -> None:
        """Whether the first stands in the ledger or in the same stream."""
        first = note(0, idempotency_key="k", claim=Claim(key="a", value="1"))
        for others in ([first], []):
            with pytest.raises(InvalidInputError, match="was used for other content"):
                stream(started, *others, note(1, idempotency_key="k"))
            stream(started, first)

    def test_bytes_are_kept_as_given(self, repo: Path, started: Memory) -> None:
        """A field of a newer version stays: stored bytes are never encoded again."""
        newer = canonical(note(1)).replace(b'"claim"', b'"aura": 1,\n  "claim"', 1)
        stream(started, Incoming(read(newer), newer, blob_id(newer)))
        assert world.git(repo, "cat-file", "-p", blob_id(newer)) == newer.decode().strip()

    def test_a_type_of_a_newer_version_is_kept(self, repo: Path, started: Memory) -> None:
        """It is carried with its bytes, and only so."""
        data = b'{\n  "type": "vision"\n}\n'
        assert stream(started, Incoming(Unknown(type="vision"), data)).written == 1
        assert world.git(repo, "cat-file", "-p", blob_id(data)) == data.decode().strip()
        with pytest.raises(InvalidInputError, match="bytes"):
            stream(started, Incoming(Unknown(type="vision")))

    @pytest.mark.parametrize(
        "incoming",
        [
            pytest.param(Incoming(note(1), canonical(note(2))), id="another record's bytes"),
            pytest.param(Incoming(note(1), b"{}"), id="bytes of no record"),
            pytest.param(
                Incoming(note(1), canonical(note(1)).replace(b"  ", b" ")), id="another form"
            ),
            pytest.param(Incoming(note(1), id="0" * 40), id="another id"),
        ],
    )
    def test_bytes_and_ids_must_be_the_records(self, started: Memory, incoming: Incoming) -> None:
        """Nothing is stored under a name that is not its own."""
        with pytest.raises(InvalidInputError):
            stream(started, incoming)


class TestDryRun:
    def test_a_rehearsal_counts_and_writes_nothing(self, repo: Path, started: Memory) -> None:
        """The same counts, the same refusals, the store as it was."""
        before = objects(repo), world.git(repo, "for-each-ref")
        heard: list[Written] = []
        done = stream(started, *map(note, range(MANY)), note(0), each=heard.append, dry_run=True)
        assert (done.commit, done.written, done.deduplicated) == (None, MANY, 1)
        assert heard[0].seq == 2
        assert (objects(repo), world.git(repo, "for-each-ref")) == before

    def test_without_a_ledger_it_makes_none(self, repo: Path, memory: Memory) -> None:
        """What is counted is counted against nothing."""
        assert stream(memory, note(1), note(1), dry_run=True)[1:3] == (1, 1)
        assert world.git(repo, "for-each-ref", "refs/hikmah") == ""


class TestInterference:
    def moving(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the ref look moved by another program the first time it is to be moved."""
        from hikmah.ledger import append

        calls: list[int] = []
        real = append.repoint

        def lost_once(*args: object) -> object:
            calls.append(1)
            return "lost" if len(calls) == 1 else real(*args)  # type: ignore[arg-type]  # passed on

        monkeypatch.setattr(append, "repoint", lost_once)

    @pytest.mark.parametrize("count", [5, MANY])
    def test_what_can_be_read_again_is_tried_again(
        self, started: Memory, monkeypatch: pytest.MonkeyPatch, count: int
    ) -> None:
        """A lost race costs a second reading, and tells each place once more."""
        self.moving(monkeypatch)
        done = stream(started, *map(note, range(count)))
        assert (done.written, done.deduplicated) == (count, 0)
        assert verify(started._desk.ledger).ok
        assert started.status().records == count + 1

    @pytest.mark.parametrize("count", [5, MANY])
    def test_what_can_be_read_once_is_given_up(
        self, repo: Path, started: Memory, monkeypatch: pytest.MonkeyPatch, count: int
    ) -> None:
        """It ends in `BusyError`, nothing visible, and the next write is fine."""
        before = world.git(repo, "rev-parse", world.REF)
        self.moving(monkeypatch)
        with pytest.raises(BusyError, match="only once"):
            write_stream(started._desk, notes(count))
        assert world.git(repo, "rev-parse", world.REF) == before
        assert stream(started, note(1)).written == 1
        assert verify(started._desk.ledger).ok

    @pytest.mark.parametrize("dry_run", [False, True])
    def test_an_index_found_damaged_on_the_way_is_filled_anew(
        self, started: Memory, monkeypatch: pytest.MonkeyPatch, *, dry_run: bool
    ) -> None:
        """Damage is never the writer's error when the records can be read again."""
        real: Callable[..., object] = Pending.known
        calls: list[int] = []

        def damaged_once(*args: object) -> object:
            calls.append(1)
            if len(calls) == MANY // 2:
                raise DamagedIndexError("a torn page")
            return real(*args)

        monkeypatch.setattr(Pending, "known", damaged_once)
        assert stream(started, *map(note, range(MANY)), dry_run=dry_run).written == MANY
        assert started.status().records == (1 if dry_run else MANY + 1)

    def test_questions_inside_a_source_see_the_tip(self, started: Memory) -> None:
        """A source may ask the memory; what is being written is not there yet."""

        def source() -> Iterator[Incoming]:
            assert started.status().records == 1
            yield Incoming(note(1))
            assert started.recall("first").total == 1

        assert write_stream(started._desk, source()).written == 1


def test_memory_does_not_grow_with_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each record there stay an id, a path and a state: a small part of its bytes."""
    monkeypatch.setattr(durable, "sync_handle", lambda _: None)
    text = "x" * 4_000

    def peak(count: int) -> int:
        memory, _ = Memory.init(world.repository(tmp_path / str(count)), environ={})
        with memory:
            memory.remember("the first")
            source = (Incoming(Trace(content=f"{n} {text}", created_at_ms=n)) for n in range(count))
            tracemalloc.start()
            try:
                write_stream(memory._desk, source)
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    peak(10)  # what is loaded or cached once for all is no part of what a record costs
    small, large = peak(1_000), peak(4_000)
    assert (large - small) / 3_000 < len(text) / 3
