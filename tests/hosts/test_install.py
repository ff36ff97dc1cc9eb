"""Installing the gate into settings files: nothing of anybody else's is ever touched."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from hikmah.errors import InvalidInputError, RefusedError, StoreError
from hikmah.hosts import jsonc
from hikmah.hosts.install import BACKUP, FOLDERS, install, status, uninstall
from hikmah.hosts.targets import TARGETS, settings_path

FOREIGN = """// my settings, do not reorder
{
    "model": "large", // the big one
    "hooks": {
        /* lint first */
        "Stop": [
            { "hooks": [ { "type": "command", "command": "npm run lint" } ] },
        ],
        "PreToolUse": [{"matcher": "Bash", "hooks": []}],
    },
    "theme": "dark",
}
"""
JSON_HOSTS = [host for host in TARGETS if host != "kimi"]
SETTINGS = {
    "comments and other hooks": FOREIGN,
    "one line": '{"hooks":{"Stop":[],"stop":[],"AfterAgent":[]}}',
    "empty object": "{}",
    "empty file": "",
    "blank file": "\n\n",
    "tabs": '{\n\t"a": 1,\n\t"hooks": {}\n}\n',
    "line ends of Windows": '{\r\n  "a": [1,\r\n 2]\r\n}\r\n',
    "a byte order mark": '\ufeff{"a": "\u00e9\u4e2d"}',
    "no final line end": '{\n  "a": null\n}',
    "a comma in a comment": '{"a": 1 /* x, y */ ,\n "hooks": {"Stop": [ {"x": 1} /* , */ , ]} }',
    "the name twice": '{"hooks": 1, "hooks": {"Stop": [{"a": "//no comment"}]}}',
    "deep": '{"a": {"b": [[], {}, [1.5e3, -0, true, false]]}}',
}


@pytest.fixture(params=list(SETTINGS.values()), ids=list(SETTINGS))
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a settings file of one shape."""
    path = tmp_path / "settings.json"
    path.write_bytes(str(request.param).encode())
    return path


class TestRoundTrip:
    """Install, install again, uninstall: the same bytes as before (faults row 27)."""

    @pytest.mark.parametrize("host", JSON_HOSTS)
    def test_settings_come_back_to_the_byte(self, host: str, settings: Path) -> None:
        """Comments, other tools' hooks, order and line ends are never rewritten."""
        before = settings.read_bytes()
        assert install(host, settings).outcome == "installed"
        installed = settings.read_bytes()
        jsonc.parse(installed.decode())
        assert b"hikmah hook --host " + host.encode() in installed
        assert install(host, settings).outcome == "already"
        assert settings.read_bytes() == installed
        assert uninstall(host, settings).outcome == "removed"
        assert settings.read_bytes() == before
        assert [path.name for path in settings.parent.iterdir()] == [settings.name]

    @pytest.mark.parametrize("host", JSON_HOSTS)
    def test_everything_that_was_there_is_still_there(self, host: str, settings: Path) -> None:
        """Installing only adds: the old text is what is left when the new is taken out."""
        before = settings.read_text("utf-8").replace("\r\n", "\n")
        install(host, settings)
        rest = iter(settings.read_text("utf-8").replace("\r\n", "\n"))
        assert all(letter in rest for letter in before)

    @pytest.mark.parametrize("host", JSON_HOSTS)
    def test_changes_made_since_stay(self, host: str, settings: Path) -> None:
        """What another hand wrote afterwards is not rolled back, and nothing of ours stays."""
        before = settings.read_bytes()
        install(host, settings)
        with settings.open("ab") as file:
            file.write(b"\n// added by hand\n")
        uninstall(host, settings)
        assert settings.read_bytes() == before + b"\n// added by hand\n"

    @pytest.mark.parametrize("host", list(TARGETS))
    def test_a_file_that_was_made_is_removed_again(self, host: str, tmp_path: Path) -> None:
        """Without settings, installing makes them; uninstalling leaves the tree as it was."""
        path = tmp_path / "new" / "deep" / TARGETS[host].file
        assert install(host, path).outcome == "installed"
        assert install(host, path).outcome == "already"
        assert uninstall(host, path).outcome == "removed"
        assert list(tmp_path.iterdir()) == []
        assert uninstall(host, path).outcome == "absent"

    @pytest.mark.parametrize("host", list(TARGETS))
    def test_a_folder_that_was_there_stays(self, host: str, tmp_path: Path) -> None:
        """Empty or not: only folders that installing made are taken away."""
        path = tmp_path / TARGETS[host].file
        path.parent.mkdir(exist_ok=True)
        before = sorted(tmp_path.rglob("*"))
        install(host, path)
        uninstall(host, path)
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_folder_that_is_used_by_now_stays(self, tmp_path: Path) -> None:
        """What another program put beside the settings is not ours; the note goes."""
        path = tmp_path / "new" / "deep" / "settings.json"
        install("claude", path)
        (path.parent.parent / "other").touch()
        uninstall("claude", path)
        assert sorted(p.name for p in tmp_path.rglob("*")) == ["new", "other"]

    def test_folders_go_when_the_file_was_deleted_by_hand(self, tmp_path: Path) -> None:
        """Nothing is installed any more, and nothing stays behind."""
        path = tmp_path / "new" / "settings.json"
        install("claude", path)
        path.unlink()
        assert uninstall("claude", path).outcome == "absent"
        assert list(tmp_path.iterdir()) == []

    def test_a_note_that_is_damaged_removes_no_folder(self, tmp_path: Path) -> None:
        """What cannot be read counts as nothing made."""
        path = tmp_path / "new" / "settings.json"
        install("claude", path)
        path.with_name(path.name + FOLDERS).write_text("many", "utf-8")
        uninstall("claude", path)
        assert list(tmp_path.rglob("*")) == [tmp_path / "new"]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            'model = "k2"\n',
            'model = "k2"',
            '# mine\r\n[[hooks]]\r\nevent = "Stop"\r\ncommand = "lint"\r\n',
        ],
        ids=["empty", "one value", "no line end", "another hook, Windows"],
    )
    def test_a_toml_file_comes_back_to_the_byte(self, text: str, tmp_path: Path) -> None:
        """Kimi's settings are TOML: a table is added at the end."""
        path = tmp_path / "config.toml"
        path.write_bytes(text.encode())
        install("kimi", path)
        assert b"hikmah hook --host kimi" in path.read_bytes()
        assert install("kimi", path).outcome == "already"
        uninstall("kimi", path)
        assert path.read_bytes() == text.encode()

    def test_toml_changes_made_since_stay(self, tmp_path: Path) -> None:
        """The table that was added is taken out from between."""
        path = tmp_path / "config.toml"
        path.write_text('a = "1"\n', "utf-8")
        install("kimi", path)
        with path.open("a", encoding="utf-8") as file:
            file.write('[more]\nb = "2"\n')
        uninstall("kimi", path)
        assert path.read_text("utf-8") == 'a = "1"\n[more]\nb = "2"\n'


class TestOtherHands:
    """What a person or another tool did to our entry."""

    def test_an_entry_that_was_reformatted_is_taken_out_as_an_element(self, tmp_path: Path) -> None:
        """A formatter rewrote the file: our elements go, their neighbours stay."""
        path = tmp_path / "settings.json"
        path.write_text('{"hooks": {"Stop": [{"x": 1}]}}', "utf-8")
        install("claude", path)
        text = json.dumps(json.loads(path.read_text("utf-8")), indent=4)
        path.write_text(text, "utf-8")
        uninstall("claude", path)
        left = json.loads(path.read_text("utf-8"))
        assert left == {"hooks": {"Stop": [{"x": 1}], "SubagentStop": []}}

    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ('{"hooks": {"Stop": [{"command": "hikmah hook"}, {"x": 1}]}}', [{"x": 1}]),
            ('{"hooks": {"Stop": [{"command": "hikmah hook"},]}}', []),
            ('{"hooks": {"Stop": [1, {"command": "hikmah hook"}, 2]}}', [1, 2]),
        ],
        ids=["first", "alone before a comma", "between"],
    )
    def test_an_entry_without_a_backup_is_taken_out(
        self, text: str, left: list[object], tmp_path: Path
    ) -> None:
        """The backup may be gone; the entry is known by its command."""
        path = tmp_path / "settings.json"
        path.write_text(text, "utf-8")
        assert uninstall("claude", path).outcome == "removed"
        assert json.loads(path.read_text("utf-8"))["hooks"]["Stop"] == left

    def test_an_entry_that_cannot_be_told_apart_is_refused(self, tmp_path: Path) -> None:
        """In doubt a person has to look."""
        path = tmp_path / "settings.json"
        path.write_text('{"hooks": {"Stop": "hikmah hook"}}', "utf-8")
        before = path.read_bytes()
        with pytest.raises(RefusedError, match="cannot be taken out safely"):
            uninstall("claude", path)
        assert path.read_bytes() == before


class TestRefused:
    """What cannot be edited safely is left alone."""

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("{", id="cut off"),
            pytest.param('{"a": 1', id="cut off after a value"),
            pytest.param('{"a" 1}', id="no colon"),
            pytest.param('{"a": 1 "b": 2}', id="no comma"),
            pytest.param("{,}", id="a comma alone"),
            pytest.param("{1: 2}", id="a name that is no text"),
            pytest.param('{"a": tru}', id="an unknown word"),
            pytest.param('{"a": 1} x', id="something after the end"),
            pytest.param("[]", id="a list"),
            pytest.param('{"hooks": []}', id="hooks is a list"),
            pytest.param('{"hooks": {"Stop": {}}}', id="the event is an object"),
            pytest.param('{"a": ' + "[" * 300, id="nested too deeply"),
            pytest.param('{"a": "x\ny"}', id="a line end in a text"),
            pytest.param('{"a": 1} /* open', id="an open comment"),
        ],
    )
    def test_a_malformed_file_is_not_touched(self, text: str, tmp_path: Path) -> None:
        """It may be half an edit of its owner's."""
        path = tmp_path / "settings.json"
        path.write_text(text, "utf-8")
        before = path.read_bytes()
        with pytest.raises(InvalidInputError):
            install("claude", path)
        assert path.read_bytes() == before
        assert not path.with_name(path.name + BACKUP).exists()
        assert status("claude", path)["problem"]

    def test_a_malformed_toml_file_is_not_touched(self, tmp_path: Path) -> None:
        """The same for Kimi, also where hooks are written in another form."""
        path = tmp_path / "config.toml"
        for text in ("a = ", 'hooks = "none"\n'):
            path.write_text(text, "utf-8")
            with pytest.raises(InvalidInputError, match="not TOML"):
                install("kimi", path)
            assert path.read_text("utf-8") == text

    def test_a_file_that_is_no_text_is_refused(self, tmp_path: Path) -> None:
        """Bytes that are no UTF-8 would not survive."""
        path = tmp_path / "settings.json"
        path.write_bytes(b'{"a": "\xff"}')
        with pytest.raises(InvalidInputError, match="not UTF-8"):
            install("claude", path)

    def test_a_read_only_file_is_refused(self, tmp_path: Path) -> None:
        """Whoever made it read-only meant it."""
        path = tmp_path / "settings.json"
        path.write_text("{}", "utf-8")
        path.chmod(0o444)
        with pytest.raises(RefusedError, match="read-only"):
            install("claude", path)
        assert path.read_text("utf-8") == "{}"

    def test_a_folder_in_its_place_is_an_error(self, tmp_path: Path) -> None:
        """The disk says no, and so do we."""
        with pytest.raises(StoreError, match="cannot read"):
            install("claude", tmp_path)

    def test_a_place_that_cannot_be_written_is_an_error(self, tmp_path: Path) -> None:
        """A file stands where the folder should."""
        (tmp_path / "f").write_text("", "utf-8")
        with pytest.raises(StoreError):
            install("claude", tmp_path / "f" / "settings.json")

    def test_a_disk_that_refuses_is_an_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Full, or gone: the file stays as it was."""

        def refuse(**_: object) -> None:
            raise OSError(28, "No space left on device")

        path = tmp_path / "settings.json"
        path.write_text("{}", "utf-8")
        monkeypatch.setattr("hikmah.hosts.install.tempfile.mkstemp", refuse)
        with pytest.raises(StoreError, match="No space left"):
            install("claude", path)
        assert path.read_text("utf-8") == "{}"

    def test_a_backup_that_is_damaged_is_not_needed(self, tmp_path: Path) -> None:
        """The entry is known by its command."""
        path = tmp_path / "settings.json"
        path.write_text('{"hooks": {"Stop": [{"command": "hikmah hook"}]}}', "utf-8")
        path.with_name(path.name + BACKUP).write_text("{", "utf-8")
        assert uninstall("claude", path).outcome == "removed"
        assert json.loads(path.read_text("utf-8")) == {"hooks": {"Stop": []}}

    @pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
    def test_a_symbolic_link_stays_one(self, tmp_path: Path) -> None:
        """Settings kept elsewhere are edited where they are."""
        real = tmp_path / "dotfiles" / "claude.json"
        real.parent.mkdir()
        real.write_text(FOREIGN, "utf-8")
        link = tmp_path / "settings.json"
        link.symlink_to(real)
        install("claude", link)
        assert link.is_symlink()
        assert b"hikmah hook" in real.read_bytes()
        uninstall("claude", link)
        assert link.is_symlink()
        assert real.read_text("utf-8") == FOREIGN

    @pytest.mark.skipif(sys.platform == "win32", reason="modes differ there")
    def test_the_files_mode_stays(self, tmp_path: Path) -> None:
        """A file that others may read stays readable to them."""
        path = tmp_path / "settings.json"
        path.write_text("{}", "utf-8")
        path.chmod(0o640)
        install("claude", path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


class TestWhere:
    """Which file is meant."""

    def test_a_hosts_own_variable_moves_its_folder(self, tmp_path: Path) -> None:
        """The same rule as the host's."""
        path = settings_path("claude", {"CLAUDE_CONFIG_DIR": str(tmp_path)})
        assert path == tmp_path / "settings.json"
        assert settings_path("cursor", {}) == Path.home() / ".cursor" / "hooks.json"
        assert settings_path("codex", {}, "x.json") == Path("x.json")

    def test_hosts_without_settings_are_refused_with_a_way_out(self) -> None:
        """VS Code reads Claude's file; others are not known."""
        with pytest.raises(InvalidInputError) as raised:
            settings_path("vscode", {})
        assert "--host claude" in raised.value.hint
        with pytest.raises(InvalidInputError) as raised:
            settings_path("emacs", {})
        assert "codex" in raised.value.hint

    def test_status_says_what_is_installed_and_active(self, tmp_path: Path) -> None:
        """Kimi's gate is never active: its event has nothing to judge."""
        path = tmp_path / "config.toml"
        assert status("kimi", path)["installed"] is False
        install("kimi", path)
        found = status("kimi", path)
        assert (found["installed"], found["active"]) == (True, False)
        assert "inactive" in str(found["note"])
