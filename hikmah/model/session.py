"""Agent sessions: telling from the environment that an agent runs the command.

A guard, not authentication: `source` and `verified` are claims of whoever writes, and a
process that clears these variables passes for a person (docs/security.md). But an agent
must not verify its own memory by default.

Rules the module keeps:

1. Detection is a pure function of a mapping; nothing here reads the environment.
2. The tables are data, each row with its source. A variable counts when its name matches
   and its value is not empty; documented settings of a user never count.
3. A refusal names the variables seen and no way around them.

Example:
    >>> session = detect({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s-7"})
    >>> stamp(session, "pr:12")
    'agent-session:claude-code:s-7; pr:12'
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hikmah.errors import AgentSessionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCATOR_PREFIX = "agent-session:"
UNKNOWN_ID = "unknown"
MAX_MARKERS_NAMED = 5
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")


class Host(NamedTuple):
    """How one agent host shows in the environment of what it runs.

    Attributes:
        name: What the locator calls it.
        markers: Variable names; one that ends in `*` matches by prefix.
        settings: Names, or patterns, that a person sets and that never count.
        session_ids: Variables that carry the session's id, best first.
    """

    name: str
    markers: tuple[str, ...]
    settings: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()


HOSTS = (
    # code.claude.com/docs/en/env-vars: CLAUDECODE=1 in every child; the settings are the
    # documented CLAUDE_CODE_* variables a person exports.
    Host(
        "claude-code",
        ("CLAUDECODE", "CLAUDE_CODE_*"),
        (
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CODE_USE_FOUNDRY",
            "CLAUDE_CODE_SKIP_*_AUTH",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_ENABLE_TELEMETRY",
            "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_CLIENT_CERT",
            "CLAUDE_CODE_CLIENT_KEY*",
            "CLAUDE_CODE_GIT_BASH_PATH",
            "CLAUDE_CODE_SIMPLE",
            "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP",
            "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB",
            "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS",
        ),
        ("CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_REMOTE_SESSION_ID"),
    ),
    # openai/codex, codex-rs/core: CODEX_THREAD_ID, CODEX_CI, CODEX_SANDBOX in shell children.
    Host(
        "codex",
        ("CODEX_*",),
        ("CODEX_HOME", "CODEX_API_KEY"),
        ("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
    ),
    # cursor.com/docs/agent/hooks, and detection tables of std-env and @vercel/detect-agent.
    Host("cursor", ("CURSOR_*",), (), ("CURSOR_SESSION_ID", "CURSOR_TRACE_ID")),
    # google-gemini/gemini-cli, docs/tools/shell.md: GEMINI_CLI=1 in the shell tool.
    Host("gemini-cli", ("GEMINI_CLI",), (), ("GEMINI_SESSION_ID",)),
    # github/copilot-cli and microsoft/vscode#316267; COPILOT_MODEL and the rest are settings
    # that these names do not match.
    Host("copilot", ("COPILOT_CLI", "COPILOT_AGENT*"), (), ("COPILOT_AGENT_SESSION_ID",)),
    # sst/opencode: OPENCODE=1 beside AGENT=1.
    Host("opencode", ("OPENCODE",)),
)
# Two conventions without a standard behind them. AI_AGENT (Vercel, std-env, VS Code) always
# names an agent; AGENT (agentsmd/agents.md#136) is a common word, so its value must.
AI_AGENT = "AI_AGENT"
AGENT = "AGENT"
KNOWN_AGENTS = frozenset(
    {
        "aider",
        "amp",
        "antigravity",
        "auggie",
        "augment",
        "claude",
        "claude-code",
        "cline",
        "codex",
        "copilot",
        "crush",
        "cursor",
        "cursor-cli",
        "devin",
        "gemini",
        "gemini-cli",
        "goose",
        "jules",
        "junie",
        "kimi",
        "kiro",
        "openclaw",
        "opencode",
        "openhands",
        "pi",
        "qwen-code",
        "replit",
        "roo",
        "windsurf",
        "zed",
    }
)


class Session(Struct, frozen=True, kw_only=True):
    """A detected agent session: its host, its id (or `unknown`), and what gave it away."""

    host: str
    session_id: str
    markers: tuple[str, ...]


def detect(environ: Mapping[str, str]) -> Session | None:
    """Return the agent session that an environment shows, or None for a person's shell.

    The first host of the table that shows itself names the session; the markers of all are
    listed, its own first.
    """
    seen = [(host, found) for host in HOSTS if (found := _markers(host, environ))]
    generic = tuple(_generic_markers(environ))
    markers = tuple(name for _, found in seen for name in found) + generic
    if not markers:
        return None
    host = seen[0][0] if seen else Host(_generic_host(environ[generic[0]]), ())
    return Session(host=host.name, session_id=_session_id(host, environ), markers=markers)


def stamp(session: Session | None, locator: str | None) -> str | None:
    """Return the locator of a write: marked with the session, the caller's own after it."""
    if session is None:
        return locator
    mark = f"{LOCATOR_PREFIX}{session.host}:{session.session_id}"
    return f"{mark}; {locator}" if locator else mark


def refuse(session: Session, action: str) -> AgentSessionError:
    """Build the error for what a person alone may decide.

    Args:
        session: The session that was detected.
        action: What was asked for, as the subject of a sentence: `--verified`.
    """
    named = ", ".join(session.markers[:MAX_MARKERS_NAMED])
    more = len(session.markers) - MAX_MARKERS_NAMED
    if more > 0:
        named += f" and {more} more"
    return AgentSessionError(
        f"{action} is for a person to decide, and this is an agent session of {session.host}"
        f" (the environment holds {named})",
        hint="If you are an agent: stop here and ask a person. If you are a person whose own"
        ' shell was taken for an agent\'s: read "Agent sessions" in docs/memory.md.',
    )


def _markers(host: Host, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables that show a host, sorted after the exact names."""
    exact = [name for name in host.markers if environ.get(name)]
    prefixes = tuple(marker[:-1] for marker in host.markers if marker.endswith("*"))
    matched = sorted(
        name
        for name, value in environ.items()
        if value
        and prefixes
        and name.startswith(prefixes)
        and not any(fnmatchcase(name, setting) for setting in host.settings)
    )
    return (*exact, *matched)


def _generic_markers(environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get(AI_AGENT):
        yield AI_AGENT
    if environ.get(AGENT, "").strip().lower() in KNOWN_AGENTS:
        yield AGENT


def _generic_host(value: str) -> str:
    value = value.strip()
    return value if _ID.match(value) else "ai-agent"


def _session_id(host: Host, environ: Mapping[str, str]) -> str:
    """Return the first well-formed id; anything else could forge a locator."""
    values = (environ.get(name, "") for name in host.session_ids)
    return next((value for value in values if _ID.match(value)), UNKNOWN_ID)
