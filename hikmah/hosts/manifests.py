"""What hosts demand of the files that package this project, as data and checks.

Each row says which keys a file must have, which it may have, and where that is known from.
Hosts ignore some of what is wrong and refuse some of what is harmless; here both are faults,
since a file that loads on one version of a host may not load on the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

NAME = "hikmah"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_SEMVER = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}(?:-[0-9A-Za-z.-]+)?")
_SCRIPT = re.compile(r"hooks/[A-Za-z0-9_/.-]+|hooks\\[A-Za-z0-9_\\.-]+")
_ABOUT = frozenset({"version", "description", "author", "homepage", "repository", "license"})


class Schema(NamedTuple):
    """One file: the keys it must have, those it may have, and the type of each that matters."""

    path: str
    required: frozenset[str]
    allowed: frozenset[str]
    types: Mapping[str, type]
    versioned: bool = True


_TEXTS: Mapping[str, type] = {"name": str, "version": str, "description": str}
MANIFESTS = (
    # code.claude.com/docs/en/plugins-reference; unknown keys are an error under --strict.
    Schema(
        ".claude-plugin/plugin.json",
        frozenset({"name", "version", "description", "hooks", "agents"}),
        _ABOUT
        | {"name", "displayName", "keywords", "metadata", "skills", "commands", "agents"}
        | {"outputStyles", "workflows", "hooks", "mcpServers", "lspServers", "userConfig"},
        {**_TEXTS, "agents": list, "hooks": str, "keywords": list, "author": dict},
    ),
    Schema(
        ".claude-plugin/marketplace.json",
        frozenset({"name", "owner", "plugins"}),
        frozenset({"name", "owner", "plugins", "metadata", "$schema", "description"}),
        {"name": str, "owner": dict, "plugins": list},
        versioned=False,
    ),
    # json.schemastore.org/codex-plugin-manifest lacks `hooks`, which the runtime reads
    # (openai/codex, codex-rs/core-plugins): an exception on purpose.
    Schema(
        ".codex-plugin/plugin.json",
        frozenset({"name", "version", "description", "author", "interface", "hooks", "skills"}),
        _ABOUT | {"name", "keywords", "skills", "mcpServers", "apps", "hooks", "interface"},
        {**_TEXTS, "author": dict, "interface": dict, "skills": str, "hooks": str},
    ),
    Schema(
        ".agents/plugins/marketplace.json",
        frozenset({"name", "plugins"}),
        frozenset({"name", "interface", "plugins"}),
        {"name": str, "plugins": list, "interface": dict},
        versioned=False,
    ),
    # MoonshotAI/kimi-code, plugin manifest reader.
    Schema(
        "kimi.plugin.json",
        frozenset({"name", "version", "description", "skills", "skillInstructions", "hooks"}),
        _ABOUT
        | {"name", "keywords", "interface", "skills", "agents", "sessionStart", "commands"}
        | {"skillInstructions", "systemPrompt", "systemPromptPath", "mcpServers", "hooks"},
        {**_TEXTS, "skills": str, "skillInstructions": str, "hooks": list},
    ),
    # google-gemini/gemini-cli, docs/extensions.
    Schema(
        "hooks/gemini/gemini-extension.json",
        frozenset({"name", "version"}),
        frozenset({"name", "version", "description", "mcpServers", "contextFileName"})
        | {"excludeTools", "settings", "plan", "themes", "migratedTo"},
        _TEXTS,
    ),
)


class Hooks(NamedTuple):
    """One file that declares hooks: its events, and the keys a handler has."""

    path: str
    events: frozenset[str]
    needed: frozenset[str]  # events that must be there
    handler: Mapping[str, type]
    grouped: bool = True  # handlers stand in groups: {"matcher", "hooks": [...]}
    top: frozenset[str] = frozenset({"hooks", "description"})


_CLAUDE = {"type": str, "command": str, "timeout": int, "statusMessage": str, "name": str}
HOOKS = (
    Hooks(
        "hooks/claude/hooks.json",
        frozenset({"Stop", "SubagentStop", "SessionStart", "PostToolUse", "PreToolUse"}),
        frozenset({"Stop", "SubagentStop"}),
        _CLAUDE,
    ),
    Hooks(
        "hooks/codex.json",
        frozenset({"Stop", "SubagentStop", "SessionStart", "PostToolUse", "PreToolUse"}),
        frozenset({"Stop"}),
        {"type": str, "command": str, "commandWindows": str, "timeout": int},
        top=frozenset({"hooks"}),
    ),
    Hooks(
        "hooks/gemini/hooks/hooks.json",
        frozenset({"AfterAgent", "BeforeAgent", "SessionStart", "AfterTool"}),
        frozenset({"AfterAgent"}),
        _CLAUDE,
    ),
    Hooks(
        "hooks/cursor/hooks.json",
        frozenset({"stop", "afterAgentResponse", "subagentStop", "sessionStart"}),
        frozenset({"stop", "afterAgentResponse"}),
        {"command": str, "timeout": int, "loop_limit": int, "matcher": str},
        grouped=False,
        top=frozenset({"version", "hooks"}),
    ),
)


class Problem(NamedTuple):
    """One fault: the file it is in, and what is wrong."""

    path: str
    what: str


def read_json(root: Path, path: str) -> tuple[Any, list[Problem]]:
    """Return a file's JSON, or None and why there is none."""
    try:
        return json.loads((root / path).read_text("utf-8")), []
    except FileNotFoundError:
        return None, [Problem(path, "the file is missing")]
    except (OSError, ValueError) as e:
        return None, [Problem(path, f"not JSON: {e}")]


def check_manifests(root: Path, version: str) -> Iterator[Problem]:
    """Yield what is wrong with the manifests."""
    for schema in MANIFESTS:
        value, problems = read_json(root, schema.path)
        yield from problems
        if not problems:
            yield from _check_manifest(schema, value, version)
            yield from _check_paths(root, schema.path, value)


def _check_manifest(schema: Schema, value: Any, version: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(schema.path, "not an object")
        return
    for key in sorted(schema.required - value.keys()):
        yield Problem(schema.path, f"`{key}` is missing")
    for key in sorted(value.keys() - schema.allowed):
        yield Problem(schema.path, f"`{key}` is no key of this file")
    for key, kind in schema.types.items():
        if key in value and not isinstance(value[key], kind):
            yield Problem(schema.path, f"`{key}` is not a {kind.__name__}")
    if value.get("name") != NAME:
        yield Problem(schema.path, f"`name` is {value.get('name')!r}, not {NAME!r}")
    if schema.versioned and value.get("version") != version:
        yield Problem(schema.path, f"`version` is {value.get('version')!r}, not {version!r}")
    yield from _check_listed(schema.path, value, version)


def _check_listed(path: str, value: dict[str, Any], version: str) -> Iterator[Problem]:
    """Check what a marketplace lists: name, version and source of each plugin."""
    listed = value.get("plugins", [])
    for plugin in listed if isinstance(listed, list) else []:
        if not isinstance(plugin, dict) or plugin.get("name") != NAME:
            yield Problem(path, f"a plugin in the list is not named {NAME!r}")
            continue
        if plugin.get("version", version) != version:
            yield Problem(path, f"the listed `version` is {plugin['version']!r}, not {version!r}")
        if "source" not in plugin:
            yield Problem(path, "a plugin in the list has no `source`")


def _check_paths(root: Path, path: str, value: Any) -> Iterator[Problem]:
    """Check that files and folders a manifest names are there and inside."""
    for text in _texts(value):
        if text.startswith(("./", "../")) and " " not in text:
            target = (root / text).resolve()
            if not target.is_relative_to(root.resolve()):
                yield Problem(path, f"{text!r} leads out of the plugin")
            elif not target.exists():
                yield Problem(path, f"{text!r} does not exist")


def check_hooks(root: Path) -> Iterator[Problem]:
    """Yield what is wrong with the files that declare hooks."""
    for hooks in HOOKS:
        value, problems = read_json(root, hooks.path)
        yield from problems
        if not problems:
            yield from _check_hooks(root, hooks, value)
    kimi, _ = read_json(root, "kimi.plugin.json")
    listed = kimi.get("hooks", []) if isinstance(kimi, dict) else []
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, dict) or one.keys() - {"event", "matcher", "command", "timeout"}:
            yield Problem("kimi.plugin.json", "a hook has other keys than Kimi reads")
        else:
            yield from _check_command(root, "kimi.plugin.json", one.get("command"))


def _check_hooks(root: Path, hooks: Hooks, value: Any) -> Iterator[Problem]:
    declared = value.get("hooks") if isinstance(value, dict) else None
    if not isinstance(declared, dict):
        yield Problem(hooks.path, "`hooks` is not an object")
        return
    for key in sorted(value.keys() - hooks.top):
        yield Problem(hooks.path, f"`{key}` is no key of this file")
    for event in sorted(hooks.needed - declared.keys()):
        yield Problem(hooks.path, f"the event `{event}` is missing")
    for event in sorted(declared.keys() - hooks.events):
        yield Problem(hooks.path, f"`{event}` is no event of this host")
    for event, listed in declared.items():
        for handler in _handlers(hooks, listed):
            if not isinstance(handler, dict):
                yield Problem(hooks.path, f"`{event}` holds something that is no handler")
                continue
            yield from _check_handler(root, hooks, event, handler)


def _handlers(hooks: Hooks, listed: Any) -> Iterator[Any]:
    for one in listed if isinstance(listed, list) else [None]:
        if not hooks.grouped:
            yield one
        elif isinstance(one, dict) and isinstance(one.get("hooks"), list):
            yield from one["hooks"]
        else:
            yield None


def _check_handler(
    root: Path, hooks: Hooks, event: str, handler: dict[str, Any]
) -> Iterator[Problem]:
    for key in sorted(handler.keys() - hooks.handler.keys()):
        yield Problem(hooks.path, f"`{event}`: `{key}` is no key of a handler")
    for key, kind in hooks.handler.items():
        if key in handler and not isinstance(handler[key], kind):
            yield Problem(hooks.path, f"`{event}`: `{key}` is not a {kind.__name__}")
    for key in ("command", "commandWindows"):
        if key in handler or key == "command":
            yield from _check_command(root, hooks.path, handler.get(key))


def _check_command(root: Path, path: str, command: Any) -> Iterator[Problem]:
    """Check that a hook's command runs the gate, and the script that it names."""
    if not isinstance(command, str) or not re.search(r"truth_gate\.|hikmah hook\b", command):
        yield Problem(path, f"the command {command!r} does not run the gate")
        return
    for found in _SCRIPT.findall(command):
        script = root / found.replace("\\", "/")
        if not script.is_file():
            yield Problem(path, f"the script {found!r} does not exist")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def is_version(text: str) -> bool:
    """Tell whether a text is a version as manifests want it."""
    return _SEMVER.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Tell whether a text is a name that every host takes."""
    return _NAME.fullmatch(text) is not None and "--" not in text
