"""The hook as hosts run it: processes, launchers, forms of the answer."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hikmah.gate import hook
from hikmah.gate.hook import Wiring, answer, run_stop_hook
from hikmah.gate.loopguard import LoopGuard

ROOT = Path(__file__).resolve().parent.parent.parent
MESSAGE = "All done! TODO: wire the retry path."
BLOCKED = json.dumps({"last_assistant_message": MESSAGE}).encode()
ALLOWED = json.dumps({"last_assistant_message": "All done."}).encode()


def run(words: list[str], data: bytes, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run one command on one event."""
    return subprocess.run(words, input=data, capture_output=True, check=False, **options)  # type: ignore[call-overload,no-any-return]  # options are subprocess's own


class TestAnswer:
    """What is printed for one event."""

    def test_allow_is_an_empty_object(self) -> None:
        """No host rejects `{}`, and nothing is added to it (faults row 18)."""
        assert answer(ALLOWED, Wiring()) == b"{}\n"

    def test_block_names_the_claim_the_open_work_and_the_way_out(self) -> None:
        """At most three lines: what was claimed, what contradicts it, what clears it."""
        reason = json.loads(answer(BLOCKED, Wiring()))["reason"]
        claim, opened, way_out = reason.split("\n")
        assert '"All done"' in claim
        assert '"TODO: wire the retry path"' in opened
        assert "not done" in way_out

    @pytest.mark.parametrize("host", ["claude", "codex", "copilot", "gemini"])
    def test_most_hosts_read_exactly_decision_and_reason(self, host: str) -> None:
        """Codex rejects unknown keys, so there are two and no more."""
        assert list(json.loads(answer(BLOCKED, Wiring(host=host)))) == ["decision", "reason"]

    def test_cursor_reads_a_follow_up_message(self) -> None:
        """Cursor's own stop event continues by a message."""
        assert list(json.loads(answer(BLOCKED, Wiring(host="cursor")))) == ["followup_message"]

    def test_kimi_reads_a_permission(self) -> None:
        """Kimi ignores a decision at the top level."""
        inner = json.loads(answer(BLOCKED, Wiring(host="kimi")))["hookSpecificOutput"]
        assert inner["permissionDecision"] == "deny"
        assert "TODO" in inner["permissionDecisionReason"]

    def test_vscode_reads_a_nested_decision_on_stop_alone(self) -> None:
        """VS Code nests the decision of Stop, and reads that of SubagentStop at the top."""
        inner = json.loads(answer(BLOCKED, Wiring(host="vscode")))["hookSpecificOutput"]
        assert (inner["hookEventName"], inner["decision"]) == ("Stop", "block")
        event = json.dumps({"last_assistant_message": MESSAGE, "hookEventName": "SubagentStop"})
        assert "decision" in json.loads(answer(event.encode(), Wiring(host="vscode")))

    def test_the_public_form_reads_and_writes_streams(self) -> None:
        """`run_stop_hook` takes any binary streams."""
        out = io.BytesIO()
        run_stop_hook(io.BytesIO(BLOCKED), out)
        assert json.loads(out.getvalue())["decision"] == "block"

    def test_a_credential_in_a_quoted_sentence_is_masked(self) -> None:
        """The reason is shown to a model and kept in a transcript."""
        secret = "ghp_" + "a1B2" * 9
        data = json.dumps({"last_assistant_message": f"Done. TODO: rotate {secret} soon"})
        reason = json.loads(answer(data.encode(), Wiring()))["reason"]
        assert secret not in reason
        assert "[credential]" in reason

    def test_a_credential_is_masked_without_the_screen(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the screen cannot be loaded, long mixed words are hidden instead."""
        monkeypatch.setitem(sys.modules, "hikmah.model.secrets", None)
        assert hook.hide("rotate ghp_a1B2a1B2a1B2 extraordinarily") == (
            "rotate [credential] extraordinarily"
        )


class TestHost:
    """The option that names the host."""

    @pytest.mark.parametrize(
        ("words", "host"),
        [
            ([], "claude"),
            (["--host", "kimi"], "kimi"),
            (["--host=Cursor"], "cursor"),
            (["--host", "kimi", "--host", "vscode"], "vscode"),
            (["--host"], "claude"),
            (["--host", "emacs"], "claude"),
            (["--verbose", "--colour=on", "x"], "claude"),
        ],
    )
    def test_unknown_options_and_hosts_are_ignored(self, words: list[str], host: str) -> None:
        """A host that is not known reads the form that most read."""
        assert hook.host_of(words) == host


class TestSession:
    """The loop guard has the last word."""

    def event(self, message: str, session: str = "s1") -> bytes:
        return json.dumps({"session_id": session, "last_assistant_message": message}).encode()

    def wiring(self, folder: Path, **options: int) -> Wiring:
        return Wiring(guard=LoopGuard(str(folder), now_ms=1_000, **options))

    def test_the_same_finding_blocks_once_in_a_session(self, tmp_path: Path) -> None:
        """A hook that blocks for ever is worse than none (faults row 18)."""
        wiring = self.wiring(tmp_path)
        event = self.event(MESSAGE)
        assert [len(answer(event, wiring)) > 3 for _ in range(4)] == [True, False, False, False]

    def test_sessions_do_not_know_each_other(self, tmp_path: Path) -> None:
        """Two sessions that interleave each get their own block."""
        wiring = self.wiring(tmp_path)
        blocked = [
            len(answer(self.event(MESSAGE, session), wiring)) > 3
            for session in ("a", "b", "a", "b")
        ]
        assert blocked == [True, True, False, False]

    def test_blocks_in_a_row_are_capped(self, tmp_path: Path) -> None:
        """After the cap one stop is allowed, whatever it says; then the count starts anew."""
        wiring = self.wiring(tmp_path, limit=2)
        blocked = [len(answer(self.event(f"Done. TODO: part {n}"), wiring)) > 3 for n in range(6)]
        assert blocked == [True, True, False, True, True, False]

    def test_an_allowed_stop_starts_the_count_anew(self, tmp_path: Path) -> None:
        """Only blocks in a row count."""
        wiring = self.wiring(tmp_path, limit=2)
        messages = ["Done. TODO: 1", "Fine.", "Done. TODO: 2", "Done. TODO: 3"]
        blocked = [len(answer(self.event(message), wiring)) > 3 for message in messages]
        assert blocked == [True, False, True, True]

    def test_a_new_finding_beside_an_old_one_is_the_one_quoted(self, tmp_path: Path) -> None:
        """The reason names what the agent has not been told yet."""
        wiring = self.wiring(tmp_path)
        answer(self.event("Done. TODO: old."), wiring)
        reason = json.loads(answer(self.event("Done. TODO: old. TODO: new."), wiring))["reason"]
        assert "TODO: new" in reason

    def test_cursor_keeps_the_answer_for_the_stop_that_follows(self, tmp_path: Path) -> None:
        """Cursor's stop has no text; the event before it has, and it is used once."""
        wiring = Wiring(host="cursor", guard=LoopGuard(str(tmp_path), now_ms=1_000))
        said = {"conversation_id": "c", "hook_event_name": "afterAgentResponse", "text": MESSAGE}
        stop = {"conversation_id": "c", "hook_event_name": "stop", "status": "completed"}
        assert answer(json.dumps(said).encode(), wiring) == b"{}\n"
        assert b"followup_message" in answer(json.dumps(stop).encode(), wiring)
        assert answer(json.dumps(stop).encode(), wiring) == b"{}\n"


class TestProcess:
    """Exit code 0 and one object, whatever happens."""

    @pytest.fixture(params=["hikmah hook", "truth_gate.py", "truth_gate.sh"])
    def command(self, request: pytest.FixtureRequest) -> list[str]:
        """Return one way to start the gate."""
        hooks = ROOT / "hooks"
        return {
            "hikmah hook": [sys.executable, "-m", "hikmah", "hook"],
            "truth_gate.py": [sys.executable, str(hooks / "truth_gate.py")],
            "truth_gate.sh": ["/bin/sh", str(hooks / "truth_gate.sh")],
        }[request.param]

    @pytest.fixture
    def environ(self, tmp_path: Path) -> dict[str, str]:
        """Return an environment that finds the package and writes nowhere else."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HIKMAH_HOOK_STATE": str(tmp_path / "state"),
        }

    def test_each_way_answers_alike_from_any_folder(
        self, command: list[str], environ: dict[str, str], tmp_path: Path
    ) -> None:
        """The launchers run the package's own rules, so the bytes are the same."""
        for event in (ALLOWED, BLOCKED, b"", b"not json"):
            done = run(command, event, cwd=tmp_path, env=environ)
            assert (done.returncode, done.stderr) == (0, b"")
            assert done.stdout == answer(event, Wiring())

    def test_the_launcher_needs_no_environment(self, tmp_path: Path) -> None:
        """Not even PATH: the interpreter and the script's own place are enough."""
        words = [sys.executable, str(ROOT / "hooks" / "truth_gate.py")]
        done = run(words, BLOCKED, cwd=tmp_path, env={})
        assert (done.returncode, done.stdout) == (0, answer(BLOCKED, Wiring()))

    def test_the_shell_launcher_allows_when_there_is_nothing_to_run(self, tmp_path: Path) -> None:
        """With an empty PATH it prints an empty object and exits 0."""
        words = ["/bin/sh", str(ROOT / "hooks" / "truth_gate.sh")]
        done = run(words, BLOCKED, cwd=tmp_path, env={"PATH": ""})
        assert (done.returncode, done.stdout) == (0, b"{}\n")

    @pytest.mark.skipif(sys.platform == "win32", reason="closed descriptors differ there")
    def test_a_closed_stdin_allows(self, environ: dict[str, str], tmp_path: Path) -> None:
        """Whatever fails, the host goes on."""
        words = f'"{sys.executable}" -m hikmah hook <&-'
        done = run(["/bin/sh", "-c", words], b"", cwd=tmp_path, env=environ)
        assert (done.returncode, done.stdout) == (0, b"{}\n")

    @pytest.mark.skipif(sys.platform == "win32", reason="closed descriptors differ there")
    def test_a_closed_stdout_is_no_failure(self, environ: dict[str, str], tmp_path: Path) -> None:
        """The host went away: exit 0, and a word on stderr only when asked for."""
        words = f'"{sys.executable}" -m hikmah hook >&-'
        done = run(["/bin/sh", "-c", words], BLOCKED, cwd=tmp_path, env=environ)
        assert (done.returncode, done.stderr) == (0, b"")
        environ["HIKMAH_HOOK_DEBUG"] = "1"
        done = run(["/bin/sh", "-c", words], BLOCKED, cwd=tmp_path, env=environ)
        assert done.returncode == 0
        assert b"hikmah hook: OSError" in done.stderr

    def test_a_broken_policy_file_does_not_matter(
        self, command: list[str], environ: dict[str, str], tmp_path: Path
    ) -> None:
        """The hook reads no policy (faults row 18)."""
        policy = tmp_path / "policy.json"
        policy.write_text("{broken", "utf-8")
        done = run(command, BLOCKED, cwd=tmp_path, env=environ | {"HIKMAH_POLICY": str(policy)})
        assert (done.returncode, done.stdout) == (0, answer(BLOCKED, Wiring()))

    def test_the_hook_imports_little(self, environ: dict[str, str], tmp_path: Path) -> None:
        """No click, msgspec, dulwich, sqlite3, typing or HTTP client without a use for one."""
        script = (
            "import sys; from hikmah.__main__ import main; code = main(['hook']);"
            "heavy = {'click', 'msgspec', 'dulwich', 'sqlite3', 'typing', 'pathlib', 'hashlib',"
            " 'urllib.request', 'http.client', 'httpx', 'socket', 'subprocess', 'threading'};"
            "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))"
        )
        done = run([sys.executable, "-c", script], BLOCKED, cwd=tmp_path, env=environ)
        assert done.stderr == b""


class TestEnvironment:
    """Values read from the environment; a bad one counts as unset."""

    @pytest.mark.parametrize(
        ("value", "limit"), [("", 3), ("5", 5), ("0", 0), ("-1", 3), ("many", 3), ("9" * 20, 3)]
    )
    def test_the_cap_is_a_small_number(self, value: str, limit: int) -> None:
        """`HIKMAH_HOOK_MAX_BLOCKS`."""
        guard = hook.wire([], {"HIKMAH_HOOK_MAX_BLOCKS": value}).guard
        assert guard is not None
        assert guard.limit == limit

    def test_files_stand_in_the_users_state_folder(self) -> None:
        """A folder of the user's own choice, then the platform's, then one below home."""
        assert hook.state_folder({"HIKMAH_HOOK_STATE": "/s"}) == "/s"
        assert Path(hook.state_folder({"XDG_STATE_HOME": "/x"})) == Path("/x/hikmah/gate")
        assert hook.state_folder({}).startswith(str(Path.home()))
