"""Agent sessions: which environments show one, and what the refusal says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.errors import AgentSessionError
from hikmah.model.session import HOSTS, Session, detect, refuse, stamp

MARKERS = [
    ("claude-code", {"CLAUDECODE": "1"}),
    ("claude-code", {"CLAUDE_CODE_CHILD_SESSION": "1"}),
    ("claude-code", {"CLAUDE_CODE_ENTRYPOINT": "cli"}),
    ("claude-code", {"CLAUDE_CODE_REMOTE": "true"}),
    ("codex", {"CODEX_THREAD_ID": "t"}),
    ("codex", {"CODEX_CI": "1"}),
    ("codex", {"CODEX_SANDBOX": "seatbelt"}),
    ("codex", {"CODEX_SANDBOX_NETWORK_DISABLED": "1"}),
    ("cursor", {"CURSOR_AGENT": "1"}),
    ("cursor", {"CURSOR_TRACE_ID": "t"}),
    ("gemini-cli", {"GEMINI_CLI": "1"}),
    ("copilot", {"COPILOT_CLI": "1"}),
    ("copilot", {"COPILOT_AGENT": "1"}),
    ("copilot", {"COPILOT_AGENT_SESSION_ID": "s"}),
    ("opencode", {"OPENCODE": "1"}),
    ("opencode", {"OPENCODE": "1", "AGENT": "1"}),
    ("github_copilot_vscode_agent", {"AI_AGENT": "github_copilot_vscode_agent"}),
    ("openhands", {"AI_AGENT": "openhands"}),
    ("ai-agent", {"AI_AGENT": "some agent; with spaces"}),
    ("ai-agent", {"AI_AGENT": "x" * 65}),
    ("amp", {"AGENT": "amp"}),
    ("goose", {"AGENT": " goose "}),
    ("claude-code", {"AI_AGENT": "claude-code_2-1-263_agent", "CLAUDECODE": "1"}),
    ("claude-code", {"CURSOR_TRACE_ID": "t", "CLAUDECODE": "1"}),
]


@pytest.mark.parametrize(
    ("host", "environ"),
    [pytest.param(*row, id=f"{row[0]} by {'+'.join(row[1])}") for row in MARKERS],
)
def test_a_marker_of_a_host_shows_its_session(host: str, environ: dict[str, str]) -> None:
    """Any non-empty marker makes the environment an agent's, under its host's name."""
    session = detect({"PATH": "/bin", **environ})
    assert session is not None
    assert session.host == host


SETTINGS = [
    "CODEX_HOME", "CODEX_API_KEY", "CLAUDE_CONFIG_DIR", "COPILOT_MODEL", "COPILOT_GITHUB_TOKEN",
    "COPILOT_ALLOW_ALL", "COPILOT_HOME", "GEMINI_API_KEY", "GEMINI_CLI_HOME", "ANTHROPIC_API_KEY",
    "GOOSE_PROVIDER", "KIMI_CODE_HOME", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_ENABLE_TELEMETRY", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA",
    "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "CLAUDE_CODE_GIT_BASH_PATH", "CLAUDE_CODE_SIMPLE",
    "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB",
    "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS",
]  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_of_a_user_is_not_a_marker(name: str) -> None:
    """A person who configured a host is still a person."""
    assert detect({name: "1"}) is None


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"PATH": "/bin", "HOME": "/home/alex"}, id="a plain shell"),
        pytest.param({"CLAUDECODE": ""}, id="an empty marker"),
        pytest.param({"CODEX_THREAD_ID": ""}, id="an empty prefixed marker"),
        pytest.param({"AI_AGENT": ""}, id="an empty convention"),
        pytest.param({"AGENT": "1"}, id="AGENT without a name"),
        pytest.param({"AGENT": "travel"}, id="AGENT with another meaning"),
        pytest.param({"claudecode": "1", "MY_CODEX_CI": "1"}, id="other names"),
        pytest.param({"GEMINI_CLI_NO_RELAUNCH": "1"}, id="an exact name is no prefix"),
    ],
)
def test_other_environments_are_a_persons(environ: dict[str, str]) -> None:
    """Only known names with a value count."""
    assert detect(environ) is None


SESSION_IDS = [
    ("s-7.x_Y", {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s-7.x_Y"}),
    ("r1", {"CLAUDECODE": "1", "CLAUDE_CODE_REMOTE_SESSION_ID": "r1"}),
    ("s1", {"CLAUDE_CODE_SESSION_ID": "s1", "CLAUDE_CODE_REMOTE_SESSION_ID": "r1"}),
    ("t1", {"CODEX_THREAD_ID": "t1", "CODEX_SESSION_ID": "s1"}),
    ("s1", {"CODEX_CI": "1", "CODEX_SESSION_ID": "s1"}),
    ("s1", {"CURSOR_SESSION_ID": "s1", "CURSOR_TRACE_ID": "t1"}),
    ("t1", {"CURSOR_TRACE_ID": "t1"}),
    ("g1", {"GEMINI_CLI": "1", "GEMINI_SESSION_ID": "g1"}),
    ("c1", {"COPILOT_CLI": "1", "COPILOT_AGENT_SESSION_ID": "c1"}),
    ("unknown", {"OPENCODE": "1"}),
    ("unknown", {"CLAUDECODE": "1"}),
    ("unknown", {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "a b"}),
    ("unknown", {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1; verified"}),
    ("unknown", {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1\n"}),
    ("unknown", {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x" * 65}),
    ("x" * 64, {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x" * 64}),
    ("r1", {"CLAUDE_CODE_SESSION_ID": "a b", "CLAUDE_CODE_REMOTE_SESSION_ID": "r1"}),
]


@pytest.mark.parametrize(("session_id", "environ"), SESSION_IDS, ids=range(len(SESSION_IDS)))
def test_the_session_id_is_the_hosts_own_when_it_is_well_formed(
    session_id: str, environ: dict[str, str]
) -> None:
    """An id of other characters, or too long, could forge a locator: it is unknown."""
    session = detect(environ)
    assert session is not None
    assert session.session_id == session_id


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=80)))
def test_any_environment_gives_an_answer_with_one_form(environ: dict[str, str]) -> None:
    """Whatever the variables hold, the stamp has three parts and no separator inside them."""
    session = detect({**environ, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": str(environ)})
    locator = stamp(session, None)
    assert locator is not None
    assert len(locator.split(":")) == 3
    assert ";" not in locator


def test_a_stamp_keeps_the_callers_locator_after_its_own() -> None:
    """The session comes first, so that a caller's locator cannot take its place."""
    session = Session(host="codex", session_id="t1", markers=("CODEX_CI",))
    assert stamp(session, None) == "agent-session:codex:t1"
    assert stamp(session, "") == "agent-session:codex:t1"
    assert stamp(session, "pr:12") == "agent-session:codex:t1; pr:12"


def test_a_persons_locator_is_left_alone() -> None:
    """Outside an agent session a stamp changes nothing."""
    assert stamp(None, "pr:12") == "pr:12"
    assert stamp(None, None) is None


def test_the_host_shown_first_in_the_table_lists_its_markers_first() -> None:
    """Markers of all hosts are listed: the naming host's, then the others', then conventions."""
    session = detect({"AI_AGENT": "x", "CODEX_CI": "1", "CLAUDE_CODE_B": "1", "CLAUDECODE": "1"})
    assert session is not None
    assert session.markers == ("CLAUDECODE", "CLAUDE_CODE_B", "CODEX_CI", "AI_AGENT")


def test_a_refusal_names_the_action_the_host_and_the_variables() -> None:
    """The message says what was seen; the hint says what an agent and a person do next."""
    error = refuse(Session(host="codex", session_id="t1", markers=("CODEX_CI",)), "--verified")
    assert isinstance(error, AgentSessionError)
    assert error.exit_code == 5
    assert error.message == (
        "--verified is for a person to decide, and this is an agent session of codex"
        " (the environment holds CODEX_CI)"
    )
    assert "stop here and ask a person" in error.hint
    assert '"Agent sessions" in docs/memory.md' in error.hint


def test_a_refusal_names_at_most_five_variables() -> None:
    """A long list of markers is cut at five, with a count of the rest."""
    markers = tuple(f"CODEX_{n}" for n in range(8))
    message = refuse(Session(host="codex", session_id="t", markers=markers), "repair").message
    assert "CODEX_4 and 3 more" in message
    assert "CODEX_5" not in message
    five = refuse(Session(host="codex", session_id="t", markers=markers[:5]), "repair").message
    assert "more" not in five


@pytest.mark.parametrize("word", ["unset", "clear", "export", "env -i", "remove", "environ=", "="])
def test_a_refusal_names_no_way_around(word: str) -> None:
    """Nothing in a refusal tells an agent how to pass for a person."""
    error = refuse(Session(host="codex", session_id="t", markers=("CODEX_CI",)), "--verified")
    assert word not in error.message + error.hint


def test_the_table_of_hosts_has_one_row_a_host() -> None:
    """A host's name is its identity in locators."""
    names = [host.name for host in HOSTS]
    assert len(names) == len(set(names))
