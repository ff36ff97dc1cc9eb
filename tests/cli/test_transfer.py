"""`import` and `export` as commands: files, streams, exit codes, what is printed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hikmah.cli import transfer
from hikmah.transfer.exporting import EXPORT_FORMATS
from hikmah.transfer.importing import IMPORT_FORMATS
from tests.cli.conftest import ROOT, Shell
from tests.transfer.oldledger import TOUR, ledger

SECRET = "ghp_" + "a1B2" * 9
AGENT = {"CLAUDECODE": "1"}


@pytest.fixture
def filled(hikmah: Shell) -> Shell:
    """Return a shell in a store of three traces, one of them purged."""
    for text in ("one", "two", "three"):
        assert hikmah("remember", "--content", text, "--source", "s").code == 0
    newest = hikmah("log", "--json").document["items"][0]["id"]
    assert hikmah("purge", newest, "--reason", "wrong").code == 0
    return hikmah


def elsewhere(hikmah: Shell, name: str = "other") -> Shell:
    """Return a shell in another empty folder."""
    folder = hikmah.folder.parent / name
    folder.mkdir()
    return Shell(folder, Path(hikmah.environ["HOME"]))


def test_the_command_offers_the_formats_that_there_are() -> None:
    """Help names them without importing what reads and writes them."""
    assert transfer.IMPORT_FORMATS == IMPORT_FORMATS
    assert transfer.EXPORT_FORMATS == EXPORT_FORMATS


class TestExport:
    """What goes out, and where to."""

    def test_the_export_itself_is_printed(self, filled: Shell) -> None:
        """One record a line, whatever the format of answers; what stayed is a note."""
        for options in ([], ["--json"], ["--format", "text"]):
            result = filled("export", "--to", "jsonl", *options)
            assert result.code == 0
            texts = [json.loads(line)["record"]["content"] for line in result.out.splitlines()]
            assert texts == ["one", "two"]
            assert "left out: 1 purged" in result.err

    def test_a_file_is_written_whole_and_for_its_owner(self, filled: Shell) -> None:
        """The report is the answer; nothing else is left beside the file."""
        before = set(filled.folder.iterdir())
        result = filled("export", "--to", "jsonl", "--output", "m.jsonl", "--include-purged")
        assert result.document["schema"] == "hikmah.export/1"
        assert result.document["written"] == 4
        file = filled.folder / "m.jsonl"
        assert set(filled.folder.iterdir()) - before == {file}
        assert (
            file.read_text("utf-8")
            == filled("export", "--to", "jsonl", "--include-purged", "-q").out
        )
        if sys.platform != "win32":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600

    def test_a_person_is_told_what_was_written(self, filled: Shell) -> None:
        """In one line or two."""
        result = filled("export", "--to", "markdown", "--output", "m.md", "--format", "text")
        assert result.out.splitlines() == [
            "2 written to m.md",
            "left out: 1 purged (--include-purged)",
        ]

    def test_a_failed_export_leaves_the_old_file(self, filled: Shell) -> None:
        """It is replaced when the new one is whole, and not before."""
        file = filled.folder / "m.jsonl"
        file.write_text("old")
        result = filled("export", "--to", "mcp-memory", "--kind", "belief", "--output", "m.jsonl")
        assert result.code == 3
        assert file.read_text() == "old"
        assert [path.name for path in filled.folder.glob("*m.jsonl*")] == ["m.jsonl"]

    def test_a_path_that_cannot_be_written_is_an_error(self, filled: Shell) -> None:
        """The path is named."""
        result = filled("export", "--to", "jsonl", "--output", "no/such/m.jsonl")
        assert result.code == 1
        assert result.error["where"] == "no/such/m.jsonl"

    @pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
    def test_a_link_stays_a_link(self, filled: Shell) -> None:
        """What it leads to is written."""
        (filled.folder / "link").symlink_to("real.jsonl")
        assert filled("export", "--to", "jsonl", "--output", "link").code == 0
        assert (filled.folder / "link").is_symlink()
        assert len((filled.folder / "real.jsonl").read_bytes().splitlines()) == 2

    @pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
    def test_a_reader_that_leaves_early_is_no_error(self, hikmah: Shell) -> None:
        """`export | head` ends with 0 and without a word."""
        lines = "".join(json.dumps({"content": f"{n} " + "x" * 900}) + "\n" for n in range(300))
        hikmah("remember", "--batch", "-", stdin=lines.encode())
        command = f"{sys.executable} -m hikmah export --to jsonl; echo $? >&2"
        done = subprocess.run(
            ["sh", "-c", f"({command}) | head -c 10"],
            cwd=hikmah.folder,
            env={**hikmah.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        )
        assert done.stdout == b'{"id":"' + done.stdout[7:10]
        assert done.stderr == b"0\n"

    @pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs a device")
    def test_what_is_no_file_is_written_to_and_not_replaced(self, filled: Shell) -> None:
        """A device or a pipe stays what it is."""
        assert filled("export", "--to", "jsonl", "--output", "/dev/null").code == 0
        assert not Path("/dev/null").is_file()

    def test_a_terminal_is_sent_nothing_it_could_act_on(self, hikmah: Shell) -> None:
        """Elsewhere the bytes are as they are."""
        hikmah("remember", "--content", "a\x9b31m\x7f")
        shown = hikmah("export", "--to", "jsonl", terminal=True)
        assert "\x9b" not in shown.out
        assert "\\x9b31m" in shown.out
        assert "\x9b" in hikmah("export", "--to", "jsonl").out

    def test_filters_are_as_for_the_log(self, filled: Shell) -> None:
        """Kinds, sources, tags and times."""
        for options in (["--kind", "belief"], ["--source", "x"], ["--tag", "t"]):
            assert filled("export", "--to", "jsonl", *options).out == ""
        assert filled("export", "--to", "jsonl", "--since", "+1h").out == ""
        assert len(filled("export", "--to", "jsonl", "--until", "+1h").out.splitlines()) == 2

    def test_without_a_ledger_it_is_not_found(self, hikmah: Shell) -> None:
        """And no store is made."""
        assert hikmah("export", "--to", "jsonl").code == 4
        assert list(hikmah.folder.iterdir()) == []

    def test_a_large_export_comes_whole(self, hikmah: Shell) -> None:
        """More than one piece of standard output."""
        lines = "".join(json.dumps({"content": f"{n} " + "x" * 900}) + "\n" for n in range(150))
        assert hikmah("remember", "--batch", "-", stdin=lines.encode()).code == 0
        assert len(hikmah("export", "--to", "jsonl").out.splitlines()) == 150

    def test_a_format_is_needed(self, filled: Shell) -> None:
        """None is guessed."""
        assert filled("export").code == 2
        assert filled("export", "--to", "yaml").code == 2


class TestImport:
    """What comes in, and what is told of it."""

    def test_an_export_comes_in_from_a_stream(self, filled: Shell) -> None:
        """A store is made where there is none; then nothing is new."""
        data = filled("export", "--to", "jsonl").out.encode()
        other = elsewhere(filled)
        first = other("import", "-", "--from", "jsonl", stdin=data)
        assert (first.code, first.document["written"]) == (0, 2)
        assert first.document["schema"] == "hikmah.import/1"
        again = other("import", "-", "--from", "jsonl", stdin=data)
        assert (again.document["written"], again.document["present"]) == (0, 2)
        assert again.document["commit"] is None
        assert other("export", "--to", "jsonl").out.encode() == data

    def test_a_person_is_told_in_words(self, hikmah: Shell) -> None:
        """Counts first, then every refusal with its line and what to do."""
        (hikmah.folder / "notes.md").write_text(f"- good\n- use {SECRET}\n")
        result = hikmah("import", "notes.md", "--from", "markdown", "--format", "text")
        assert result.code == 5
        lines = result.out.splitlines()
        assert lines[0] == "1 written, 0 there already, 1 refused"
        assert lines[1].startswith("line 2: content looks like it holds a ")
        assert SECRET not in result.out + result.err

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            pytest.param("- good\n", 0, id="nothing refused"),
            pytest.param(f"- good\n- {'x ' * 40_000}\n", 3, id="invalid"),
            pytest.param(f"- good\n- use {SECRET}\n", 5, id="policy"),
        ],
    )
    def test_exit_codes_tell_what_was_refused(self, hikmah: Shell, text: str, code: int) -> None:
        """And a dry run ends with the same one."""
        arguments = ("import", "-", "--from", "markdown")
        hikmah("init")
        assert hikmah(*arguments, "--dry-run", stdin=text.encode()).code == code
        result = hikmah(*arguments, stdin=text.encode())
        assert (result.code, result.document["written"]) == (code, 1)

    def test_a_broken_chain_is_integrity(self, hikmah: Shell) -> None:
        """Exit 6, the line named, nothing written."""
        hikmah("init")
        head = hikmah("status", "--json").document["head"]
        data = ledger(TOUR).replace(b"Send the report", b"Send the resort")
        result = hikmah("import", "-", "--from", "hikmah-jsonl", stdin=data)
        assert result.code == 6
        assert result.error["where"] == "line 5"
        assert hikmah("status", "--json").document["head"] == head

    def test_a_torn_line_is_told(self, hikmah: Shell) -> None:
        """In text and in JSON."""
        data = ledger(TOUR)[:-20]
        arguments = ("import", "-", "--from", "hikmah-jsonl")
        told = hikmah(*arguments, "--format", "text", stdin=data)
        assert "line 14 is cut off" in told.out
        assert (told.code, hikmah(*arguments, stdin=data).document["torn_line"]) == (0, 14)

    def test_many_refusals_are_cut_short_for_people(self, hikmah: Shell) -> None:
        """JSON has up to a thousand."""
        result = hikmah("import", "-", "--from", "jsonl", "--format", "text", stdin=b"{}\n" * 30)
        assert result.out.splitlines()[-1] == "... and 10 more; --json lists up to 1,000"

    def test_records_with_new_ids_are_told(self, filled: Shell) -> None:
        """A person should know that ids written down elsewhere no longer fit."""
        (first,) = [
            item["id"]
            for item in filled("log", "--json").document["items"]
            if item["text"] == "two"
        ]
        filled("remember", "--content", "so", "--derived-from", first)
        filled("purge", first, "--reason", "no")
        data = filled("export", "--to", "jsonl")
        assert "1 trace(s) point at" in data.err
        other = elsewhere(filled)
        text = other(
            "import", "-", "--from", "jsonl", "--format", "text", stdin=data.out.encode()
        ).out
        assert "1 could not keep their ids" in text

    def test_a_dry_run_makes_no_store(self, hikmah: Shell) -> None:
        """It reports what an import into a new one would do."""
        result = hikmah("import", "-", "--from", "markdown", "--dry-run", stdin=b"- a\n- b\n")
        assert (result.code, result.document["written"]) == (0, 2)
        assert list(hikmah.folder.iterdir()) == []

    def test_a_dry_run_of_a_named_store_that_is_missing_is_an_error(self, hikmah: Shell) -> None:
        """A mistyped path is no empty ledger."""
        arguments = ("import", "-", "--from", "markdown", "--dry-run", "--store", "nowhere")
        assert hikmah(*arguments, stdin=b"- a\n").code == 4

    def test_an_agent_session_is_refused_what_is_verified(self, filled: Shell) -> None:
        """Item by item, with exit 5."""
        filled("remember", "--content", "sure", "--verified")
        data = filled("export", "--to", "jsonl").out.encode()
        other = elsewhere(filled)
        result = other("import", "-", "--from", "jsonl", stdin=data, env=AGENT)
        assert (result.code, result.document["written"]) == (5, 2)
        assert [r["code"] for r in result.document["refusals"]] == ["agent_session"]
        assert "agent session (claude-code)" in result.document["warnings"][-1]

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            pytest.param(["nothing.jsonl", "--from", "jsonl"], 4, id="no such file"),
            pytest.param([".", "--from", "jsonl"], 3, id="a folder"),
            pytest.param(["a\0b", "--from", "jsonl"], 3, id="no path"),
            pytest.param(["-"], 2, id="no format"),
            pytest.param(["-", "--from", "yaml"], 2, id="unknown format"),
            pytest.param(["-", "--from", "jsonl", "--source", "x"], 2, id="source"),
            pytest.param(["-", "--from", "mcp-memory", "--kind", "belief"], 2, id="kind"),
            pytest.param([], 2, id="no file"),
        ],
    )
    def test_what_cannot_be_meant_is_an_error(
        self, hikmah: Shell, arguments: list[str], code: int
    ) -> None:
        """Before anything is made or written."""
        assert hikmah("import", *arguments).code == code
        assert list(hikmah.folder.iterdir()) == []

    def test_places_are_named_from_here(self, hikmah: Shell) -> None:
        """A file below by its path, one elsewhere by its name alone."""
        (hikmah.folder / "docs").mkdir()
        (hikmah.folder / "docs" / "a.md").write_text("- here\n")
        outside = hikmah.folder.parent / "b.md"
        outside.write_text("- there\n")
        for name in (str(hikmah.folder / "docs" / "a.md"), str(outside)):
            assert hikmah("import", name, "--from", "markdown").code == 0
        found = {
            hit["trace"]["content"]: hit["trace"]["provenance"]["locator"]
            for hit in hikmah("recall", "here there", "--json").document["results"]
        }
        assert found == {"here": "docs/a.md:1", "there": "b.md:1"}

    def test_progress_is_drawn_for_whoever_watches(self, hikmah: Shell) -> None:
        """And taken away when done."""
        data = b"".join(b"- item %d\n" % n for n in range(600))
        result = hikmah("import", "-", "--from", "markdown", stdin=data, terminal=True)
        assert "importing 500" in result.err
        assert result.err.rindex("\x1b[K") > result.err.rindex("importing")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_a_pipe_is_read_like_a_file(self, hikmah: Shell) -> None:
        """`import <(command)` gives a path that cannot seek."""
        reading, writing = os.pipe()
        os.write(writing, b"- a\n")
        os.close(writing)
        result = hikmah("import", f"/dev/fd/{reading}", "--from", "markdown")
        os.close(reading)
        assert result.document["written"] == 1


class TestOlderLedger:
    """A ledger file of the system that came before is pointed at."""

    @pytest.mark.parametrize("words", [["init"], ["remember", "--content", "x"]], ids=" ".join)
    def test_it_is_told_how_to_take_it_in(self, hikmah: Shell, words: list[str]) -> None:
        """With the command, which then works."""
        (hikmah.folder / ".hikmah").mkdir()
        (hikmah.folder / ".hikmah" / "memory.jsonl").write_bytes(ledger(TOUR))
        command = "hikmah import .hikmah/memory.jsonl --from hikmah-jsonl"
        told = hikmah(*words, "--format", "text")
        assert command in told.err
        assert any(command in warning for warning in hikmah("init").document["warnings"])
        result = hikmah(*command.split()[1:])
        assert (result.code, result.document["written"]) == (0, 13)

    def test_without_one_nothing_is_said(self, hikmah: Shell) -> None:
        """Most people never had one."""
        assert hikmah("init").document["warnings"] == []
