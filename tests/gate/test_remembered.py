"""Memory findings: this session's open commitments, and nobody else's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hikmah.gate import remembered
from hikmah.gate.explain import explain_stop_event
from hikmah.gate.hook import Wiring, answer, wire
from hikmah.gate.remembered import open_commitments
from hikmah.gate.rules import Finding
from hikmah.memory import Memory
from tests import world

NOW_MS = 1_800_000_000_000
SESSION = "s-7"
AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION}
LONG_S = 60.0  # a budget that a busy machine keeps


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Return a project with a ledger and one open commitment of the session."""
    path = world.repository(tmp_path / "repo")
    promise(path, "Send the report to the platform team")
    return path


def promise(
    repo: Path, content: str, environ: dict[str, str] | None = None, **fields: object
) -> str:
    """Record a commitment, and return its id."""
    given = AGENT if environ is None else environ
    with Memory.open(repo, environ=given, clock=lambda: NOW_MS, create=True) as memory:
        written = memory.remember(content, kind="commitment", **fields)  # type: ignore[arg-type]  # fields are remember's
        memory.commitments()  # brings the index to the head
    return written.id


def look(folder: Path, session: str | None = SESSION, **environ: str) -> list[Finding]:
    """Look for open commitments with time enough."""
    return open_commitments(session, str(folder), environ, now_ms=NOW_MS, budget_s=LONG_S)


class TestWhichCommitments:
    """Open means: of this session, active, and due or without a date."""

    def test_this_sessions_open_commitment_is_found(self, repo: Path) -> None:
        """It is named, with the id that clears it."""
        (found,) = look(repo)
        assert found.rule == "open_commitment"
        assert found.sentence == "Send the report to the platform team"
        with Memory.open(repo, environ={}, clock=lambda: NOW_MS) as memory:
            memory.fulfill(found.term)
            memory.commitments()
        assert look(repo) == []

    @pytest.mark.parametrize("session", ["s-8", "unknown", "", None, "agent-session"])
    def test_another_sessions_is_not(self, repo: Path, session: str | None) -> None:
        """Nor does a session without an id match anything."""
        assert look(repo, session) == []

    def test_a_session_whose_id_was_unknown_matches_nothing(self, tmp_path: Path) -> None:
        """`unknown` in a locator is no session."""
        repo = world.repository(tmp_path / "r")
        promise(repo, "x", {"CLAUDECODE": "1"})
        assert look(repo, "unknown") == []

    def test_one_that_is_due_later_is_not(self, tmp_path: Path) -> None:
        """A promise for tomorrow does not contradict being done today."""
        repo = world.repository(tmp_path / "r")
        promise(repo, "tomorrow", deadline_ms=NOW_MS + 86_400_000)
        assert look(repo) == []
        promise(repo, "by now", deadline_ms=NOW_MS)
        assert [found.sentence for found in look(repo)] == ["by now"]

    def test_at_most_three_are_listed_newest_first(self, tmp_path: Path) -> None:
        """The reason has room for one; explain shows a few."""
        repo = world.repository(tmp_path / "r")
        for number in range(5):
            promise(repo, f"promise {number}")
        assert [found.sentence for found in look(repo)] == ["promise 4", "promise 3", "promise 2"]

    def test_a_caller_s_own_locator_after_the_session_does_not_matter(self, tmp_path: Path) -> None:
        """`agent-session:host:id; pr:12` is of that session."""
        repo = world.repository(tmp_path / "r")
        promise(repo, "x", locator="pr:12")
        assert len(look(repo)) == 1


class TestWhere:
    """The event's folder, or the store that is named."""

    def test_a_folder_inside_the_project_leads_to_it(self, repo: Path) -> None:
        """Agents work in sub-folders and in linked worktrees."""
        (repo / "src").mkdir()
        assert len(look(repo / "src")) == 1
        world.git(repo, "commit", "-q", "--allow-empty", "-m", "x")
        world.git(repo, "worktree", "add", "-q", str(repo.parent / "tree"))
        assert len(look(repo.parent / "tree")) == 1

    def test_a_named_store_counts_more_than_the_folder(self, repo: Path, tmp_path: Path) -> None:
        """`HIKMAH_STORE`, as everywhere."""
        assert len(look(tmp_path, HIKMAH_STORE=str(repo))) == 1
        assert look(repo, HIKMAH_STORE=str(tmp_path)) == []

    def test_a_standalone_and_a_bare_store_are_found(self, tmp_path: Path) -> None:
        """The same places as every command looks at."""
        Memory.init(tmp_path / "own", environ={}, clock=lambda: NOW_MS)[0].close()
        promise(tmp_path / "own", "x")
        assert len(look(tmp_path / "own")) == 1
        bare = world.repository(tmp_path / "bare", "--bare")
        promise(bare, "y")
        assert len(look(bare)) == 1

    @pytest.mark.parametrize("switch", ["off", "OFF", "0", "no"])
    def test_it_can_be_switched_off(self, repo: Path, switch: str) -> None:
        """`HIKMAH_HOOK_MEMORY=off`."""
        assert look(repo, HIKMAH_HOOK_MEMORY=switch) == []

    def test_without_a_ledger_nothing_is_found(self, tmp_path: Path) -> None:
        """No folder, no store, a repository without a ledger, a broken link to one."""
        assert open_commitments(SESSION, None, {}, now_ms=NOW_MS) == []
        assert look(tmp_path) == []
        assert look(tmp_path / "missing") == []
        assert look(world.repository(tmp_path / "r")) == []
        (tmp_path / "linked").mkdir()
        for text in ("gitdir: ../nowhere\n", "no link\n"):
            (tmp_path / "linked" / ".git").write_text(text, "utf-8")
            assert look(tmp_path / "linked") == []


class TestProblems:
    """Whatever is wrong, nothing is found and nothing fails."""

    def test_an_index_that_is_behind_is_not_read(self, repo: Path) -> None:
        """What it says may have been fulfilled since."""
        world.put(world.reopened(repo), "something newer")
        assert look(repo) == []

    @pytest.mark.parametrize("damage", [b"", b"garbage" * 5000], ids=["empty", "garbage"])
    def test_a_damaged_index_is_not_read(self, repo: Path, damage: bytes) -> None:
        """And it is not repaired either: the hook writes nothing."""
        path = repo / ".git" / "hikmah" / "memory" / "index.db"
        for name in ("index.db-wal", "index.db-shm"):
            (path.parent / name).unlink(missing_ok=True)
        path.write_bytes(damage)
        assert look(repo) == []
        assert path.read_bytes() == damage

    def test_a_ref_that_is_gone_is_no_ledger(self, repo: Path) -> None:
        """Deleting the ref leaves the index behind."""
        world.git(repo, "update-ref", "-d", world.REF)
        assert look(repo) == []

    def test_nothing_is_read_when_time_is_up(self, repo: Path) -> None:
        """The budget bounds the reading; without time nothing is found."""
        started = time.monotonic()
        assert open_commitments(SESSION, str(repo), {}, now_ms=NOW_MS, budget_s=0) == []
        assert time.monotonic() - started < LONG_S

    def test_without_the_packages_nothing_is_found(
        self, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A launcher beside a part of a checkout may have no index room, or Python no SQLite."""
        monkeypatch.setitem(sys.modules, "hikmah.index.layout", None)
        assert look(repo) == []


class TestHook:
    """What the hook makes of it."""

    def event(self, repo: Path, message: str = "All done.") -> bytes:
        return json.dumps(
            {"session_id": SESSION, "cwd": str(repo), "last_assistant_message": message}
        ).encode()

    @pytest.fixture
    def wiring(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Wiring:
        """Return the hook's wiring with time enough and a state folder of its own."""
        monkeypatch.setattr(remembered, "BUDGET_S", LONG_S)
        monkeypatch.setattr(open_commitments, "__kwdefaults__", {"budget_s": LONG_S})
        return wire([], {"HIKMAH_HOOK_STATE": str(tmp_path / "state")})

    def test_a_claim_beside_an_open_commitment_is_held(self, repo: Path, wiring: Wiring) -> None:
        """The reason names the promise and the command that clears it."""
        reason = json.loads(answer(self.event(repo), wiring))["reason"]
        assert "Send the report" in reason
        assert "hikmah fulfill" in reason

    def test_a_message_without_a_claim_is_not(self, repo: Path, wiring: Wiring) -> None:
        """Working on is no contradiction."""
        assert answer(self.event(repo, "Looking into it."), wiring) == b"{}\n"

    def test_explain_shows_it_and_who_blocked(self, repo: Path, wiring: Wiring) -> None:
        """The path is memory when nothing else blocks."""
        verdict = explain_stop_event(self.event(repo), wiring).as_dict()
        assert verdict["path"] == "memory"
        assert (verdict["block"], verdict["rules_block"], verdict["memory_block"]) == (
            True,
            False,
            True,
        )
        verdict = explain_stop_event(self.event(repo, "Done. TODO: x"), wiring).as_dict()
        assert verdict["path"] == "rules"
        assert verdict["memory_block"]

    def test_a_ledger_at_hand_costs_no_dulwich(self, repo: Path, tmp_path: Path) -> None:
        """SQLite is imported and nothing that decodes; without a ledger not even that."""
        script = (
            "import sys; from hikmah.__main__ import main; main(['hook']);"
            "heavy = {'dulwich', 'click', 'sqlite3', 'msgspec', 'hikmah.model'};"
            "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))"
        )
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
            "HIKMAH_HOOK_STATE": str(tmp_path / "state"),
        }
        for folder, modules in ((repo, b"sqlite3"), (tmp_path, b"")):
            done = subprocess.run(
                [sys.executable, "-c", script],
                input=self.event(folder),
                capture_output=True,
                env=environ,
                cwd=tmp_path,
                check=True,
            )
            assert done.stderr == modules
        shutil.rmtree(tmp_path / "state", ignore_errors=True)
