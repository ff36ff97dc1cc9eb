"""The loop guard: what is remembered, for how long, and what happens when it cannot be."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from hikmah.gate.loopguard import (
    CAPPED,
    EXPIRES_MS,
    REPEATED,
    UNWRITABLE,
    LoopGuard,
    identity,
)
from hikmah.gate.rules import Finding

DAY_MS = EXPIRES_MS


def finding(text: str) -> Finding:
    return Finding("open_marker", text, "TODO")


def guard(folder: Path, *, now_ms: int = 10 * DAY_MS, limit: int = 3) -> LoopGuard:
    return LoopGuard(str(folder), now_ms=now_ms, limit=limit)


class TestRules:
    """One session at a time."""

    def test_a_finding_blocks_once(self, tmp_path: Path) -> None:
        """The second time the agent is let go, and told why by explain."""
        one = guard(tmp_path)
        first, again = one.admit("s", [finding("a")]), one.admit("s", [finding("A ")])
        assert first[0] is not None
        assert again == (None, REPEATED)

    def test_an_expired_file_counts_as_absent(self, tmp_path: Path) -> None:
        """A day later the same finding may block again."""
        guard(tmp_path).admit("s", [finding("a")])
        later = guard(tmp_path, now_ms=11 * DAY_MS)
        assert later.admit("s", [finding("a")])[0] is not None

    def test_a_file_from_the_future_counts_as_absent(self, tmp_path: Path) -> None:
        """A clock that was set back must not freeze the guard."""
        guard(tmp_path).admit("s", [finding("a")])
        assert guard(tmp_path, now_ms=DAY_MS).admit("s", [finding("a")])[0] is not None

    def test_the_cap_lets_one_stop_through(self, tmp_path: Path) -> None:
        """Three blocks in a row, then a stop, then three again."""
        one = guard(tmp_path)
        said = [one.admit("s", [finding(str(n))])[1] for n in range(8)]
        assert said == [None, None, None, CAPPED, None, None, None, CAPPED]

    def test_a_cap_of_zero_never_blocks(self, tmp_path: Path) -> None:
        """The way to switch blocking off and keep explaining."""
        assert guard(tmp_path, limit=0).admit("s", [finding("a")]) == (None, CAPPED)

    def test_judging_writes_nothing(self, tmp_path: Path) -> None:
        """Explain asks without leaving a trace."""
        assert guard(tmp_path).judge("s", [finding("a")])[0] is not None
        assert list(tmp_path.iterdir()) == []

    def test_only_the_newest_findings_are_remembered(self, tmp_path: Path) -> None:
        """A long session keeps a bounded file."""
        one = guard(tmp_path, limit=10_000)
        for number in range(210):
            one.admit("s", [finding(str(number))])
        (file,) = tmp_path.iterdir()
        assert len(json.loads(file.read_text("utf-8"))["seen"]) == 200


class TestFiles:
    """What stands on disk."""

    def test_a_file_holds_hashes_and_no_text(self, tmp_path: Path) -> None:
        """What an agent wrote is not kept."""
        guard(tmp_path).admit("s", [finding("the customer's name")])
        (file,) = tmp_path.iterdir()
        assert "customer" not in file.read_text("utf-8")
        assert identity(finding("the customer's name")) in file.read_text("utf-8")

    @pytest.mark.parametrize(
        "session",
        ["../../etc/x", "a/b", "", ".", "con\0x", "x" * 500, "\ud800", "é", "-rf"],
        ids=ascii,
    )
    def test_a_session_id_cannot_leave_the_folder(self, session: str, tmp_path: Path) -> None:
        """Ids come from outside: what is no plain name is hashed."""
        one = guard(tmp_path / "state")
        assert one.admit(session, [finding("a")])[0] is not None
        assert one.admit(session, [finding("a")]) == (None, REPEATED)
        assert [path.name for path in tmp_path.iterdir()] == ["state"]
        assert len(list((tmp_path / "state").iterdir())) == 1

    @pytest.mark.parametrize(
        "content",
        [
            *(b"", b"{", b"[]", b"{}", b'{"at_ms": "x"}', b"\xff\xfe", b"[" * 100_000),
            b'{"at_ms": 864000000, "row": "x", "seen": [], "text": ""}',
        ],
        ids=lambda content: ascii(content[:30]),
    )
    def test_a_damaged_file_counts_as_absent(self, content: bytes, tmp_path: Path) -> None:
        """It is written anew."""
        (tmp_path / "s.json").write_bytes(content)
        assert guard(tmp_path).admit("s", [finding("a")])[0] is not None
        assert guard(tmp_path).admit("s", [finding("a")]) == (None, REPEATED)

    def test_old_files_are_swept(self, tmp_path: Path) -> None:
        """Sessions that ended leave nothing behind for ever."""
        old, young = tmp_path / "old.json", tmp_path / "young.json"
        for path, age_ms in ((old, 2 * DAY_MS), (young, DAY_MS // 2)):
            path.write_text("{}", "utf-8")
            when_s = (10 * DAY_MS - age_ms) / 1000
            os.utime(path, (when_s, when_s))
        (tmp_path / "folder").mkdir()
        os.utime(tmp_path / "folder", (0, 0))
        guard(tmp_path).admit("s", [finding("a")])
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {"young.json", "folder", "s.json"}

    @pytest.mark.skipif(sys.platform == "win32", reason="modes differ there")
    def test_files_are_the_users_own(self, tmp_path: Path) -> None:
        """Nobody else reads what a session was held for."""
        one = guard(tmp_path / "state")
        one.keep_text("s", "an answer")
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
        (file,) = (tmp_path / "state").iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    def test_what_cannot_be_remembered_does_not_block(self, tmp_path: Path) -> None:
        """A file stands where the folder should: allow, never loop, never crash."""
        (tmp_path / "state").write_text("", "utf-8")
        one = guard(tmp_path / "state")
        assert one.admit("s", [finding("a")]) == (None, UNWRITABLE)
        one.passed("s")
        one.keep_text("s", "x")
        assert one.take_text("s") == ""
