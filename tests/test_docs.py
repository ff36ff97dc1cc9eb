"""What the documents show is what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from hikmah.__main__ import EARLY
from hikmah.cli import COMMANDS
from hikmah.ledger.chain import (
    Addition,
    Genesis,
    genesis_data,
    genesis_message,
    message,
    parse_genesis,
    record_path,
)
from hikmah.ledger.merge import merge_commit
from hikmah.ledger.objects import Commit, commit_bytes, parse_commit
from hikmah.memory import Memory
from hikmah.model.records import RECORD_TYPES, Record, blob_id, canonical, decode
from hikmah.model.trace import (
    Claim,
    Entity,
    Event,
    Fact,
    Imported,
    Outcome,
    Prediction,
    Provenance,
    Relationship,
    Trace,
)

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"<!-- example: ([\w ]+) -->\n```\w*\n(.*?)```", re.DOTALL)
# A command as a document names it: in a code span or at the start of a shell line.
COMMAND = re.compile(r"(?:`|^|&& |\$ |\$\()hikmah ((?!COMMAND\b)[a-z][a-z-]+)", re.MULTILINE)
OBJECTS: dict[str, type[Struct]] = {
    "provenance": Provenance,
    "claim": Claim,
    "prediction": Prediction,
    "outcome": Outcome,
    "event": Event,
    "entity": Entity,
    "fact": Fact,
    "relationship": Relationship,
    "imported": Imported,
}


def document(name: str) -> str:
    """Return a document's text."""
    return (ROOT / name).read_text("utf-8")


def examples(text: str) -> dict[str, str]:
    """Return the marked code blocks of a document by their names."""
    return dict(EXAMPLE.findall(text))


def fields(struct_type: type[Struct]) -> list[str]:
    """Return a struct's field names as they are written, the tag left out."""
    return [info.encode_name for info in msgspec.structs.fields(struct_type)]


def section(text: str, heading: str) -> str:
    """Return what stands below a heading, up to the next heading of any level."""
    return re.split(r"^#+ ", text.split(f"\n{heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.fixture(scope="module")
def format_text() -> str:
    """Return the text of the format's document."""
    return document("docs/format.md")


@pytest.fixture(scope="module")
def shown(format_text: str) -> dict[str, str]:
    """Return the examples of the format's document."""
    return examples(format_text)


class TestFormat:
    """`docs/format.md` says what is on disk, byte for byte."""

    def test_genesis_is_as_shown(self, shown: dict[str, str]) -> None:
        """The genesis file and its message are exactly the document's."""
        data = shown["genesis"].encode()
        genesis = parse_genesis(data)
        assert genesis_data(genesis) == data
        assert genesis_message(genesis).decode() == shown["genesis message"]

    @pytest.mark.parametrize("name", ["trace", "purge"])
    def test_record_is_as_shown(self, shown: dict[str, str], name: str) -> None:
        """A record shown is in canonical form: decoding and writing it changes no byte."""
        assert canonical(decode(shown[name].encode())).decode() == shown[name]

    @pytest.mark.parametrize(("name", "seq"), [("trace", 1), ("purge", 2)])
    def test_message_is_as_shown(self, shown: dict[str, str], name: str, seq: int) -> None:
        """A message shown is the one written for that record at that place."""
        addition = _addition(seq, decode(shown[name].encode()))
        assert message([addition]).decode() == shown[f"{name} message"]

    def test_merge_is_as_shown(self, shown: dict[str, str]) -> None:
        """The merge commit shown is the one that its two parents make, in whichever order."""
        merge = parse_commit(shown["merge"].encode())
        times = {merge.parents[1]: merge.time_s - 5, merge.parents[0]: merge.time_s}
        heads = {
            oid: Commit("", (), b"", b"Ann <ann@example.org> %d +0200" % at, b"")
            for oid, at in times.items()
        }
        assert commit_bytes(merge_commit(heads, merge.tree)).decode() == shown["merge"]

    def test_path_is_as_shown(self, shown: dict[str, str]) -> None:
        """The path shown is where the trace shown stands as the first record."""
        record_id = blob_id(shown["trace"].encode())
        assert record_path(1, "remember", record_id) == shown["path"].strip()

    def test_the_examples_name_each_other(self, shown: dict[str, str]) -> None:
        """The purge shown names the trace shown, by the id of its bytes."""
        assert f'"id": "{blob_id(shown["trace"].encode())}"' in shown["purge"]

    def test_every_trace_field_has_a_row(self, format_text: str) -> None:
        """The table of trace fields lists exactly the fields, in their order of definition."""
        table = section(format_text, "### `remember`: a trace")
        listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
        assert listed[0] == "type"
        assert sorted(listed[1:]) == sorted(fields(Trace))

    def test_every_switch_field_is_named(self, format_text: str) -> None:
        """The table of switches names every field of each."""
        table = section(format_text, "### `supersede`, `fulfill`, `purge`: switches")
        for kind, struct_type in RECORD_TYPES.items():
            if kind != "remember":
                (row,) = re.findall(rf"^\| `{kind}` \| (.*)", table, re.MULTILINE)
                named = set(re.findall(r"`(\w+)` \(", row))
                assert named | {"at_ms", "provenance"} == set(fields(struct_type))

    @pytest.mark.parametrize("name", OBJECTS)
    def test_every_inner_field_is_named(self, format_text: str, name: str) -> None:
        """The table of inner objects names every field of each, in order."""
        table = section(format_text, "### Objects inside records")
        (row,) = re.findall(rf"^\| `{name}` \| (.*)", table, re.MULTILINE)
        assert re.findall(r"`(\w+)` \(", row) == fields(OBJECTS[name])

    def test_the_reader_shown_lists_what_is_active(
        self, shown: dict[str, str], tmp_path: Path
    ) -> None:
        """The reader of the document, plain git and nothing of ours, agrees with the library."""
        store = tmp_path / "store"
        store.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=store, check=True)
        with Memory.init(store, environ={})[0] as memory:
            for name in ("replaced", "purged", "promised", "linked", "kept"):
                kind = "commitment" if name == "promised" else "belief"
                memory.remember(name, kind=kind)
            ids = {item.text: item.id for item in memory.log(limit=10).items}
            memory.remember("correction", supersedes=ids["replaced"])
            memory.purge(ids["purged"], reason="no longer wanted")
            memory.fulfill(ids["promised"])
            memory.supersede(ids["linked"], ids["kept"])
            active = [i for i in memory.log(limit=20).items if i.status == "active"]
        script = tmp_path / "reader.py"
        script.write_text(shown["reader"], "utf-8")
        printed = subprocess.run(
            [sys.executable, str(script), "store"],
            cwd=tmp_path,
            capture_output=True,
            check=True,
            text=True,
            encoding="utf-8",
        ).stdout
        assert printed.splitlines() == [
            f"{item.seq} {item.id[:8]} {item.kind} {item.text}" for item in reversed(active)
        ]
        assert [item.text for item in reversed(active)] == ["kept", "correction"]

    def test_genesis_fields_are_named(self, format_text: str) -> None:
        """Every field of the genesis file is explained."""
        text = section(format_text, "## Genesis")
        assert all(f"`{name}`" in text for name in fields(Genesis))


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda path: path.name,
)
def test_commands_named_exist(path: Path) -> None:
    """A document names no command that is not there."""
    assert set(COMMAND.findall(path.read_text("utf-8"))) <= COMMANDS.keys() | EARLY.keys()


def test_a_planted_command_is_found() -> None:
    """Commands are found in code spans, at the start of shell lines, and behind `&&`."""
    text = (
        "`hikmah one` and `hikmah COMMAND`\nhikmah two-x --flag\npip && hikmah three\nhikmahs four"
    )
    assert COMMAND.findall(text) == ["one", "two-x", "three"]


def _addition(seq: int, record: Record) -> Addition:
    return Addition(seq, blob_id(canonical(record)), record)
