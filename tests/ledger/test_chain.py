"""The format `hikmah/1`: paths, messages and trees, as pure functions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.errors import FormatError, IntegrityError, InvalidInputError
from hikmah.ledger.chain import (
    FORMAT,
    Addition,
    FileAt,
    Genesis,
    PathParts,
    extend_tree,
    genesis_data,
    genesis_message,
    last_seq,
    message,
    parse_genesis,
    parse_path,
    plain,
    record_path,
    stored_between,
    tree_changes,
)
from hikmah.ledger.objects import (
    TREE_MODE,
    RawObject,
    TreeEntry,
    parse_tree,
    raw_object,
    tree_bytes,
)
from hikmah.model.records import (
    UNDECODABLE,
    Fulfill,
    Purge,
    Record,
    Supersede,
    Unknown,
    blob_id,
    canonical,
)
from hikmah.model.trace import Provenance, Trace

OID = "0123456789abcdef0123456789abcdef01234567"
OTHER = "89abcdef0123456789abcdef0123456789abcdef"


class Objects(dict[str, tuple[bytes, bytes]]):
    """A store of objects in a mapping."""

    def put(self, *objects: RawObject) -> str:
        """Keep objects; return the id of the last."""
        for raw in objects:
            self[raw.oid] = (raw.kind, raw.data)
        return objects[-1].oid

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Return an object."""
        return self[oid]

    def grow(self, root: str | None, *files: FileAt) -> str:
        """Extend a tree and keep what that made."""
        return self.put(*extend_tree(self.read, root, files, "sha1"))


class TestPaths:
    @given(st.integers(0, 99_999_999), st.sampled_from(["remember", "purge", "later_type"]))
    def test_a_path_reads_back(self, seq: int, kind: str) -> None:
        """A path says its number, type and the first digits of the id."""
        path = record_path(seq, kind, OID)
        assert parse_path(path) == PathParts(seq, kind, OID[:12])
        assert len(path) == len(f"records/AAAA/BB/CC-{kind}-{OID[:12]}.json")

    def test_the_largest_number(self) -> None:
        """A record past the last number is refused with the way on."""
        with pytest.raises(InvalidInputError, match="99,999,999"):
            record_path(100_000_000, "remember", OID)

    @pytest.mark.parametrize(
        "path",
        [
            "records/0000/00/01-remember-0123456789ab.txt",
            "records/0000/00/01-remember-0123456789AB.json",
            "records/000/00/01-remember-0123456789ab.json",
            "records/0000/00/1-remember-0123456789ab.json",
            "records/0000/00/01-Remember-0123456789ab.json",
            "other/0000/00/01-remember-0123456789ab.json",
            "records/0000/00/01-remember-0123456789ab.json\n",
            "records/\u0660\u0660\u0660\u0660/00/01-remember-0123456789ab.json",
            "ledger.json",
        ],
    )
    def test_other_paths_are_not_records(self, path: str) -> None:
        """Only the exact shape is a record's path."""
        assert parse_path(path) is None


class TestGenesis:
    genesis = Genesis(format=FORMAT, ledger="5eed" * 8, name="memory", created_at_ms=7)

    def test_it_reads_back(self) -> None:
        """The genesis is canonical JSON and reads back."""
        assert parse_genesis(genesis_data(self.genesis)) == self.genesis
        assert genesis_data(self.genesis).startswith(b'{\n  "created_at_ms": 7,\n  "format"')

    def test_its_message_is_an_audit_line(self) -> None:
        """The genesis commit says name, format and ledger id."""
        assert genesis_message(self.genesis).decode() == (
            f"genesis memory\n\nHikmah-Format: hikmah/1\nHikmah-Ledger: {'5eed' * 8}\n"
        )

    def test_a_newer_format_names_who_must_upgrade(self) -> None:
        """A format this version does not know is an error that says what to do."""
        data = genesis_data(self.genesis).replace(b"hikmah/1", b"hikmah/2")
        with pytest.raises(FormatError, match="hikmah/2") as caught:
            parse_genesis(data)
        assert "upgrade hikmah" in caught.value.hint

    @pytest.mark.parametrize("data", [b"", b"[]", b'{"format": "hikmah/1"}', b"\xff"], ids=repr)
    def test_what_is_no_genesis_is_refused(self, data: bytes) -> None:
        """Bytes that are no genesis are an integrity error."""
        with pytest.raises(IntegrityError, match="genesis"):
            parse_genesis(data)


def trace(content: str, **fields: object) -> Trace:
    return Trace(content=content, created_at_ms=0, **fields)  # type: ignore[arg-type]  # test data


def told(record: Record | Unknown) -> str:
    return message([Addition(7, OID, record)]).decode()


class TestMessage:
    def test_a_trace(self) -> None:
        """Subject: type, kind, short id, preview; trailers: number, type, id, source."""
        record = trace("disk is full", provenance=Provenance(source="ops"))
        assert told(record) == (
            "remember observation 01234567: disk is full\n\n"
            f"Hikmah-Seq: 7\nHikmah-Type: remember\nHikmah-Id: {OID}\nHikmah-Source: ops\n"
        )

    @pytest.mark.parametrize(
        ("record", "subject"),
        [
            (
                Supersede(id=OTHER, by=OID, reason="typo", at_ms=0),
                "supersede 01234567: 89abcdef by 01234567 typo",
            ),
            (Fulfill(id=OTHER, evidence="sent", at_ms=0), "fulfill 01234567: 89abcdef sent"),
            (Fulfill(id=OTHER, at_ms=0), "fulfill 01234567: 89abcdef"),
            (Purge(id=OTHER, reason="wrong", at_ms=0), "purge 01234567: purge 89abcdef wrong"),
            (Unknown(type="later"), "later 01234567"),
            (trace("hidden", privacy="sensitive"), "remember observation 01234567"),
            (trace("\x1b[31m\u202e"), "remember observation 01234567: [31m"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_every_subject(self, record: Record | Unknown, subject: str) -> None:
        """Each type has a subject that reads on its own; sensitive text is not shown."""
        assert told(record).splitlines()[0] == subject

    @given(st.text(max_size=400), st.text(min_size=1, max_size=400))
    def test_lines_are_bounded_and_plain(self, content: str, source: str) -> None:
        """A subject has at most 72 characters, a trailer 200; no control character survives."""
        lines = told(trace(content, provenance=Provenance(source=source))).splitlines()
        assert len(lines[0]) <= 72
        assert all(len(line) <= 200 for line in lines)
        assert not re.search(
            "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", "".join(lines)
        )

    def test_a_batch_lists_twenty_and_counts_the_rest(self) -> None:
        """A batch's subject says how many more, its trailers stop at twenty with a count."""
        additions = [Addition(n, f"{n:040x}", trace(f"t{n}")) for n in range(1, 31)]
        lines = message(additions).decode().splitlines()
        assert lines[0] == "remember observation 00000000: t1 (+29 more)"
        assert sum(line.startswith("Hikmah-Id: ") for line in lines) == 20
        assert lines[-1] == "Hikmah-Records: 30"

    def test_a_long_line_is_cut_visibly(self) -> None:
        """What is cut ends in an ellipsis."""
        assert plain("word " * 100, 20) == "word word word word…"


class TestTrees:
    def record(self, objects: Objects, seq: int, text: str) -> tuple[FileAt, str]:
        data = canonical(trace(text))
        oid = objects.put(raw_object(b"blob", data, "sha1"))
        return FileAt(record_path(seq, "remember", oid), oid), oid

    def test_a_tree_grows_only_at_its_right_edge(self) -> None:
        """An append rewrites four trees, whatever the size of the ledger."""
        objects = Objects()
        root = None
        for seq in (1, 150, 9_999, 10_000):
            file, _ = self.record(objects, seq, f"t{seq}")
            root = objects.grow(root, file)
        file, _ = self.record(objects, 10_001, "last")
        assert len(list(extend_tree(objects.read, root, [file], "sha1"))) == 4

    def test_the_last_sequence_number(self) -> None:
        """The largest number is read from the right edge."""
        objects = Objects()
        root = objects.grow(None, FileAt("ledger.json", OID))
        assert last_seq(objects.read, root, "sha1") == 0
        for seq in (1, 99, 100, 12_345):
            root = objects.grow(root, self.record(objects, seq, f"t{seq}")[0])
            assert last_seq(objects.read, root, "sha1") == seq

    def test_foreign_names_on_the_edge_are_an_error(self) -> None:
        """A tree that somebody put other names into has no last number."""
        objects = Objects()
        root = objects.grow(None, FileAt("records/zzzz/yy/xx", OID))
        with pytest.raises(IntegrityError, match="newest path"):
            last_seq(objects.read, root, "sha1")

    def test_records_between_two_trees(self) -> None:
        """What one tree has beyond another comes in order, each once at its smallest path."""
        objects = Objects()
        first, first_id = self.record(objects, 1, "one")
        second, second_id = self.record(objects, 2, "two")
        old = objects.grow(None, FileAt("ledger.json", first_id), first)
        again = FileAt(record_path(9, "remember", second_id), second_id)
        new = objects.grow(old, again, second)
        between = stored_between(objects.read, old, new, "sha1")
        assert between is not None
        assert [(s.id, s.seq) for s in between] == [(second_id, 2)]

    def test_a_tree_that_lost_something_says_so(self) -> None:
        """None means: start afresh, for something is gone or changed."""
        objects = Objects()
        first, first_id = self.record(objects, 1, "one")
        second, _ = self.record(objects, 2, "two")
        both = objects.grow(None, first, second)
        one = objects.grow(None, first)
        assert stored_between(objects.read, both, one, "sha1") is None
        changed = objects.grow(one, FileAt(first.path, OTHER))
        assert first_id != OTHER
        assert stored_between(objects.read, one, changed, "sha1") is None

    def test_foreign_files_are_read_as_undecodable(self) -> None:
        """A blob at a record's path that is no record does not stop a reader."""
        objects = Objects()
        oid = objects.put(raw_object(b"blob", b"not json", "sha1"))
        root = objects.grow(
            None, FileAt(record_path(1, "remember", oid), oid), FileAt("other", oid)
        )
        found = list(stored_between(objects.read, None, root, "sha1") or [])
        assert len(found) == 1
        stored = found[0]
        assert stored.record == Unknown(type=UNDECODABLE)
        assert stored.data == b"not json"
        assert blob_id(b"not json") == oid

    def test_a_file_in_place_of_a_folder_is_a_change(self) -> None:
        """Both sides of such a change are reported."""
        objects = Objects()
        folder = objects.grow(None, FileAt("a/b", OID))
        file = objects.grow(None, FileAt("a", OID))
        changes = list(tree_changes(objects.read, folder, file, "sha1"))
        assert {(c.path, c.old is None, c.new is None) for c in changes} == {
            ("a", True, False),
            ("a/b", False, True),
        }

    def test_trees_nested_far_below_do_not_stop_a_reader(self) -> None:
        """A foreign commit with thousands of folders in folders is passed over."""
        objects = Objects()
        file, oid = self.record(objects, 1, "one")
        deep = oid
        for _ in range(3_000):
            deep = objects.put(
                raw_object(b"tree", tree_bytes([TreeEntry(TREE_MODE, b"d", deep)]), "sha1")
            )
        root = objects.grow(None, file)
        entries = [*parse_tree(objects[root][1], "sha1"), TreeEntry(TREE_MODE, b"deep", deep)]
        foreign = objects.put(raw_object(b"tree", tree_bytes(entries), "sha1"))
        found = list(stored_between(objects.read, None, foreign, "sha1") or [])
        assert [s.id for s in found] == [oid]

    @pytest.mark.parametrize("mode", [b"160000", b"120000"], ids=["submodule", "symbolic link"])
    def test_what_is_no_plain_file_is_no_record(self, mode: bytes) -> None:
        """A submodule or link at a record's path holds nothing to read."""
        objects = Objects()
        file, oid = self.record(objects, 1, "one")
        root = objects.grow(None, file, FileAt(record_path(2, "remember", OTHER), OTHER))
        with_link = Objects(
            {
                key: (kind, data.replace(b"100644 02", mode + b" 02"))
                for key, (kind, data) in objects.items()
            }
        )
        found = list(stored_between(with_link.read, None, root, "sha1") or [])
        assert [s.id for s in found] == [oid]
