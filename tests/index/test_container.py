"""Whatever the index file holds, opening it gives a right index and no error."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hikmah.errors import BusyError, StoreError
from hikmah.index import container, layout
from hikmah.index.container import mapped_errors
from hikmah.index.database import Index
from hikmah.index.rows import DamagedIndexError
from hikmah.model.records import Stored
from tests.index.ledgers import LEDGER, answers, filled, stored, story, trace

STORY = story()
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a filled index, closed."""
    place = tmp_path / "state" / "index.db"
    filled(STORY, open_index(place)).close()
    return place


def open_index(path: Path | None, *, writable: bool = True, language: str = "english") -> Index:
    return Index.open(path, language=language, writable=writable)


def on_disk(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def run(path: Path, *statements: str) -> None:
    connection = on_disk(path)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def truncate(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "deleted with its folder": lambda p: shutil.rmtree(p.parent),
    "empty": lambda p: truncate(p, 0),
    "cut inside the header": lambda p: truncate(p, 60),
    "cut after a page": lambda p: truncate(p, 4096),
    "garbage": lambda p: p.write_bytes(bytes(range(256)) * 400),
    "text": lambda p: p.write_text("not an index\n" * 100),
    "garbage behind the magic": lambda p: overwrite(p, 16, b"\xff" * 84),
    "zeros over the schema page": lambda p: overwrite(p, 100, bytes(3900)),
    "a stray -wal of garbage": lambda p: p.with_name("index.db-wal").write_bytes(b"x" * 9000),
    "older format": lambda p: run(p, "UPDATE header SET value = '0' WHERE name = 'format'"),
    "newer format": lambda p: run(p, "UPDATE header SET value = '99' WHERE name = 'format'"),
    "other terms": lambda p: run(p, "UPDATE header SET value = '0' WHERE name = 'terms'"),
    "no header": lambda p: run(p, "DROP TABLE header"),
    "another program's tables": lambda p: run(
        p, "DROP TABLE header", 'CREATE TABLE "odd ""name" (x)', "CREATE VIEW v AS SELECT 1"
    ),
    "another header": lambda p: run(p, "DROP TABLE header", "CREATE TABLE header (x)"),
    "a header of no rows": lambda p: run(p, "DELETE FROM header"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_an_index_that_is_not_right_is_emptied_and_answers_as_before(
    path: Path, damage: Callable[[Path], object]
) -> None:
    expected = answers(filled(STORY))
    damage(path)
    with open_index(path) as index:
        assert not index.in_memory
        if index.head is None:
            filled(STORY, index)
        assert answers(index) == expected
    with open_index(path) as again:
        assert again.head == "h1", "what was filled anew is kept"
        assert answers(again) == expected


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_reader_that_may_not_write_works_in_memory_instead(
    path: Path, damage: Callable[[Path], object]
) -> None:
    damage(path)
    before = path.read_bytes() if path.exists() else None
    with open_index(path, writable=False) as index:
        if index.head is None:
            filled(STORY, index)
        assert answers(index) == answers(filled(STORY))
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("page", range(1, 22))
def test_a_page_of_zeros_is_never_a_wrong_answer(path: Path, page: int) -> None:
    """Either the answers are right, or the damage is said and filling anew heals it."""
    expected = answers(filled(STORY))
    assert path.stat().st_size > page * 4096
    overwrite(path, page * 4096, bytes(4096))
    with open_index(path) as index:
        try:
            said = answers(index) if index.head else None
        except DamagedIndexError:
            said = None
        if said is None:
            index.recreate()
            filled(STORY, index)
            said = answers(index)
        assert said == expected


@pytest.mark.parametrize("seed", range(40))
def test_bytes_changed_at_random_never_raise_anything_but_damage(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 3, 20])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    with open_index(path) as index:
        try:
            answers(index)
        except DamagedIndexError:
            index.recreate()
        if index.head is None:
            filled(STORY, index)
            assert answers(index) == answers(filled(STORY))


def test_words_of_another_language_are_another_index(path: Path) -> None:
    with open_index(path, language="french") as index:
        assert index.head is None


def test_another_ledger_in_the_file_is_seen_in_its_header(path: Path) -> None:
    with open_index(path) as index:
        assert index.ledger == LEDGER
        assert index.extend([], ledger="f" * 32, base=None, head="g", reset=True)
        assert index.ledger == "f" * 32


def test_a_folder_in_the_files_place_leaves_memory(tmp_path: Path) -> None:
    (tmp_path / "index.db").mkdir()
    with open_index(tmp_path / "index.db") as index:
        assert index.in_memory
        assert answers(filled(STORY, index)) == answers(filled(STORY))


def test_a_file_in_the_folders_place_leaves_memory(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("x")
    with open_index(tmp_path / "state" / "index.db") as index:
        assert index.in_memory


def test_a_read_only_index_is_read_where_it_is_and_grows_in_memory(path: Path) -> None:
    size = path.stat().st_size
    with open_index(path, writable=False) as index:
        assert not index.in_memory
        assert answers(index) == answers(filled(STORY))
        filled([stored(trace("one more"), 90)], index, "h2")
        assert index.in_memory
        assert index.head == "h2"
    assert path.stat().st_size == size
    with open_index(path) as index:
        assert index.head == "h1"


def test_a_reader_beside_an_open_writer_sees_what_is_committed(path: Path) -> None:
    """With a `-wal` beside it the file is read through that, without one as it stands."""
    with open_index(path) as writer:
        filled([stored(trace("one more"), 90)], writer, "h2")
        assert path.with_name("index.db-wal").exists()
        with open_index(path, writable=False) as reader:
            assert reader.head == "h2"


def test_damage_under_a_reader_is_left_and_memory_used(path: Path) -> None:
    with open_index(path, writable=False) as index:
        index.recreate()
        assert index.in_memory
        assert index.head is None
    with open_index(path) as index:
        assert index.head == "h1"


def test_a_damaged_file_in_other_hands_is_not_deleted(path: Path) -> None:
    """Deleting it would replay the other's log over the new file."""
    with open_index(path), open_index(path) as second:
        second.recreate()
        assert second.in_memory
    assert path.exists()


def test_recreating_gives_an_empty_file_when_nobody_else_has_it(path: Path) -> None:
    with open_index(path) as index:
        index.recreate()
        assert not index.in_memory
        assert index.head is None


def test_recreating_memory_gives_memory() -> None:
    with filled(STORY) as index:
        index.recreate()
        assert index.records == 0


def test_detaching_keeps_what_the_file_holds(path: Path) -> None:
    with open_index(path) as index:
        index.detach()
        assert index.in_memory
        assert answers(index) == answers(filled(STORY))


def full_disk(path: Path) -> Index:
    """Return an open index whose file may not grow."""
    index = open_index(path)
    index._container.connection.execute("PRAGMA max_page_count = 1")
    return index


def test_a_full_disk_is_a_store_error_that_leaves_the_old_state(path: Path) -> None:
    many = [stored(trace(f"word{n} " * 200), 100 + n) for n in range(200)]
    with full_disk(path) as index:
        with pytest.raises(StoreError) as caught:
            index.extend(many, ledger=LEDGER, base="h1", head="h2")
        assert not isinstance(caught.value, DamagedIndexError)
        assert answers(index) == answers(filled(STORY))
        index.detach()
        assert index.extend(many, ledger=LEDGER, base="h1", head="h2")


def test_a_writer_that_never_ends_is_a_busy_error_in_bounded_time(path: Path) -> None:
    other = on_disk(path)
    other.execute("BEGIN IMMEDIATE")
    with open_index(path) as index:
        index._container.connection.execute("PRAGMA busy_timeout = 1")
        with pytest.raises(BusyError):
            index.extend([], ledger=LEDGER, base="h1", head="h2")
        assert index.head == "h1", "readers are not held up"
    other.close()


def test_a_file_that_another_process_locks_is_read_in_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "BUSY_TIMEOUT_S", 0.01)
    run(path, "PRAGMA journal_mode = DELETE")
    other = on_disk(path)
    other.execute("BEGIN EXCLUSIVE")
    with open_index(path) as index:
        assert index.in_memory
    other.close()


def test_what_is_neither_busy_nor_the_stores_fault_is_damage(path: Path) -> None:
    """It heals by filling anew; the message names the cause."""
    connection = on_disk(path)
    with pytest.raises(DamagedIndexError, match="no such table"), mapped_errors():
        connection.execute("SELECT * FROM dreams")
    connection.close()


def test_where_files_cannot_be_locked_nothing_is_deleted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform == "win32":
        pytest.skip("nothing is locked there")

    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with open_index(path) as index:
        assert answers(index) == answers(filled(STORY))
        index.recreate()
        assert index.in_memory
    path.write_bytes(b"garbage" * 1000)
    with open_index(path) as index:
        assert index.in_memory


def test_a_folder_gone_under_an_open_index_leaves_memory(path: Path) -> None:
    with open_index(path) as index:
        shutil.rmtree(path.parent)
        index.recreate()
        assert index.in_memory


def test_a_disk_too_full_to_empty_an_old_index_leaves_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    run(path, "UPDATE header SET value = '0' WHERE name = 'format'")
    monkeypatch.setattr(container, "empty", full)
    with open_index(path) as index:
        assert index.in_memory


def test_a_file_that_cannot_be_opened_for_reading_leaves_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def refuse(name: str, **options: Any) -> sqlite3.Connection:
        if name.startswith("file:"):
            raise sqlite3.OperationalError("unable to open database file")
        opened: sqlite3.Connection = connect(name, **options)
        return opened

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with open_index(path, writable=False) as index:
        assert index.in_memory


def test_the_format_history_explains_every_number() -> None:
    source = Path(layout.__file__).read_text("utf-8")
    for number in range(1, layout.FORMAT + 1):
        assert f"#   {number}  " in source


@contextlib.contextmanager
def without_rights(folder: Path) -> Iterator[None]:
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)  # root writes wherever it likes; "nobody" does not
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not read-only there")
@pytest.mark.parametrize("with_log", [False, True], ids=["closed", "with a -wal left behind"])
def test_a_read_only_folder_is_read_and_grows_in_memory(with_log: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        path = Path(name) / "state" / "index.db"
        filled(STORY, open_index(path)).close()
        if with_log:
            leave_a_log(path)
        with without_rights(path.parent), open_index(path) as index:
            assert not index.in_memory
            assert index.head == ("h2" if with_log else "h1")
            assert with_log or answers(index) == answers(filled(STORY))
            filled([stored(trace("in memory"), 95)], index, "h3")
            assert index.in_memory


def leave_a_log(path: Path) -> None:
    """Copy an open index with its companions, as a killed process leaves them."""
    with open_index(path) as writer:
        filled([stored(trace("one more"), 90)], writer, "h2")
        for suffix in ("", "-wal", "-shm"):
            source = path.with_name(path.name + suffix)
            shutil.copy(source, path.with_name("left" + suffix))
    for suffix in ("", "-wal", "-shm"):
        path.with_name("left" + suffix).replace(path.with_name(path.name + suffix))


def test_what_a_killed_process_left_is_taken_up(path: Path) -> None:
    leave_a_log(path)
    with open_index(path) as index:
        assert index.head == "h2"
        assert index.records == len({s.id for s in STORY}) + 1


def grow(path: Path, steps: int) -> None:
    """Extend an index record by record, as a process does that others race."""
    records = numbered(steps)
    with open_index(path) as index:
        for step in range(1, steps + 1):
            while True:
                base = index.head
                at = int(base or 0)
                if at >= step:
                    break
                delta = records[at:step]
                if index.extend(delta, ledger=LEDGER, base=base, head=str(step)):
                    break


def numbered(count: int) -> list[Stored]:
    return [
        stored(trace(f"note {n} of many words", created_at_ms=n), n) for n in range(1, count + 1)
    ]


def test_eight_processes_extending_at_once_leave_one_right_index(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=grow, args=(path, 40)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8
    with open_index(path) as index:
        assert answers(index) == answers(filled(numbered(40), head="40"))


def open_and_fill(path: Path) -> None:
    """Open a damaged index, fill it, check it."""
    with open_index(path) as index:
        while (base := index.head) != "h1":
            index.extend(STORY, ledger=LEDGER, base=base, head="h1")
        if answers(index) != answers(filled(STORY)):
            sys.exit(1)


def test_eight_processes_meeting_a_damaged_index_all_answer_right(path: Path) -> None:
    path.write_bytes(b"garbage" * 1000)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=open_and_fill, args=(path,)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8


SAY = (
    "import hashlib; from tests.index.ledgers import *; "
    "i = filled(story()); print(hashlib.sha256(answers(i).encode()).hexdigest())"
)


def test_answers_do_not_depend_on_the_hash_seed() -> None:
    """Promise 2: the same ledger, the same answer, under any PYTHONHASHSEED."""
    said = set()
    for seed in ("0", "1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", SAY],
            cwd=ROOT,
            env=dict(os.environ) | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
            text=True,
        )
        said.add(done.stdout)
    assert len(said) == 1


def test_reading_a_current_index_loads_no_hash_library(path: Path) -> None:
    """Commands that only read start without OpenSSL."""
    code = (
        "import sys; from pathlib import Path; from hikmah.index.database import Index\n"
        "with Index.open(Path(sys.argv[1]), language='english') as index:\n"
        "    corpus = index.corpus(); docs = list(corpus.postings('port').docs)\n"
        "    print(index.head, len(corpus.rows(docs)), len(corpus.facts(docs)))\n"
        "print([m for m in ('_hashlib', 'dulwich', 'click', 'subprocess') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        | {"PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split("\n")[:2] == ["h1 3 3", "[]"]
