"""Where each host keeps the settings that name hooks, and what goes into them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hikmah.errors import InvalidInputError

COMMAND = "hikmah hook --host {host}"


class Target(NamedTuple):
    """Where a host keeps the settings that name hooks, and what is added to them.

    `events` maps an event's name to the handler, in the host's own form; `base` is what a
    new file starts from. `note` says what a person should know.
    """

    host: str
    home_variable: str
    folder: str
    file: str
    events: Mapping[str, dict[str, Any]]
    base: str = "{}\n"
    note: str = ""


def _grouped(host: str, **extra: Any) -> dict[str, Any]:
    handler = {"type": "command", "command": COMMAND.format(host=host), **extra}
    return {"hooks": [handler]}


TARGETS: dict[str, Target] = {
    target.host: target
    for target in (
        Target(
            "claude",
            "CLAUDE_CONFIG_DIR",
            ".claude",
            "settings.json",
            {
                "Stop": _grouped("claude", timeout=30),
                "SubagentStop": _grouped("claude", timeout=30),
            },
            note="takes effect in new sessions; /hooks shows it",
        ),
        Target(
            "codex",
            "CODEX_HOME",
            ".codex",
            "hooks.json",
            {"Stop": _grouped("codex", timeout=30)},
            note="Codex runs it only after you trusted it under /hooks",
        ),
        Target(
            "gemini",
            "GEMINI_CLI_HOME",
            ".gemini",
            "settings.json",
            {"AfterAgent": _grouped("gemini", name="hikmah-truth-gate", timeout=30000)},
        ),
        Target(
            "cursor",
            "",
            ".cursor",
            "hooks.json",
            {
                "afterAgentResponse": {"command": COMMAND.format(host="cursor"), "timeout": 30},
                "stop": {
                    "command": COMMAND.format(host="cursor"),
                    "timeout": 30,
                    "loop_limit": 3,
                },
            },
            base='{\n  "version": 1\n}\n',
        ),
        Target(
            "copilot",
            "COPILOT_HOME",
            ".copilot",
            "hooks/hikmah.json",
            {
                name: {"type": "command", "command": COMMAND.format(host="copilot")}
                for name in ("Stop", "SubagentStop")
            },
            base='{\n  "version": 1\n}\n',
            note="the main stop has no final text: it is read from the transcript",
        ),
        Target(
            "kimi",
            "KIMI_CODE_HOME",
            ".kimi-code",
            "config.toml",
            {"Stop": {"command": COMMAND.format(host="kimi"), "timeout": 30}},
            base="",
            note="inactive: Kimi's stop event has no final text to judge",
        ),
    )
}


def settings_path(host: str, environ: Mapping[str, str], file: str | None = None) -> Path:
    """Return the settings file of a host: the one given, or where the host looks.

    Raises:
        InvalidInputError: No host of that name has settings to install into.
    """
    target = target_of(host)
    if file:
        return Path(file)
    own = environ.get(target.home_variable, "") if target.home_variable else ""
    return (Path(own) if own else Path.home() / target.folder) / target.file


def target_of(host: str) -> Target:
    """Return what is known of a host's settings.

    Raises:
        InvalidInputError: Nothing is; the hint says what to do instead.
    """
    if host not in TARGETS:
        other = "VS Code reads Claude's settings: use --host claude" if host == "vscode" else ""
        raise InvalidInputError(
            f"no settings are known for host {host!r}",
            hint=other or f"hosts: {', '.join(TARGETS)}",
            where="--host",
        )
    return TARGETS[host]
