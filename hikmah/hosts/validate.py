"""`hikmah validate`: whether package, host files, skills and documents fit.

All problems at once, each with the file it is in. Nothing is run but the gate's rules on the
golden cases, and nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from hikmah.gate.hook import Wiring, answer
from hikmah.gate.rules import rules_verdict
from hikmah.hosts.manifests import (
    HOOKS,
    MANIFESTS,
    Problem,
    check_hooks,
    check_manifests,
    is_version,
    read_json,
)
from hikmah.hosts.skills import SKILLS, check_skills

GOLDEN = "hooks/truth_gate_cases.json"
MIN_CASES = 150
MIN_PAYLOADS = 30
LAUNCHERS = ("hooks/truth_gate.sh", "hooks/truth_gate.py")
REQUIRED = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "SECURITY.md",
    "docs/gate.md",
    "docs/compatibility.md",
    "docs/cli.md",
    "hooks/truth_gate.cmd",
    "hooks/claude/agents/hikmah-orchestrator.md",
    *LAUNCHERS,
)
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_BLOCK = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_COMMAND = re.compile(r"(?:^|[|&;$(]\s*)hikmah((?:\s+[^\s|&;]+)+)")
_WITH_VALUE = ("--store", "--ledger", "--policy", "--format", "--now", "--lock-timeout", "--tz")


def validate(root: Path, commands: Collection[str]) -> dict[str, Any]:
    """Check a checkout.

    Args:
        root: The checkout's folder.
        commands: The commands that exist; what documents and skills name is held to them.

    Returns:
        `ok`, `version`, what was checked, and `problems` with path and text, in order.
    """
    version = package_version(root)
    problems = sorted(set(_problems(root, version, commands)))
    return {
        "ok": not problems,
        "version": version,
        "checked": {
            "manifests": len(MANIFESTS),
            "hooks": len(HOOKS),
            "skills": len(SKILLS),
            "cases": _count(root, "cases"),
            "payload_cases": _count(root, "payload_cases"),
        },
        "problems": [problem._asdict() for problem in problems],
    }


def package_version(root: Path) -> str:
    """Return the version in the package's own file; empty when there is none."""
    try:
        found = _VERSION.search((root / "hikmah" / "__init__.py").read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""


def _problems(root: Path, version: str, commands: Collection[str]) -> Iterator[Problem]:
    if not is_version(version):
        yield Problem("hikmah/__init__.py", f"the version is {version!r}")
    yield from (
        Problem(path, "the file is missing") for path in REQUIRED if not (root / path).is_file()
    )
    yield from check_manifests(root, version)
    yield from check_hooks(root)
    yield from _check_launchers(root)
    yield from _check_changelog(root, version)
    yield from _check_golden(root)
    yield from check_skills(root, version)
    yield from _check_commands(root, commands)


def _check_launchers(root: Path) -> Iterator[Problem]:
    for path in LAUNCHERS:
        file = root / path
        if os.name == "posix" and file.is_file() and not file.stat().st_mode & 0o100:
            yield Problem(path, "the script is not executable")


def _check_changelog(root: Path, version: str) -> Iterator[Problem]:
    """The newest heading names the version, or what comes before it is released."""
    path = root / "CHANGELOG.md"
    if not path.is_file():
        return
    headings = re.findall(r"^## \[([^\]]+)\]", path.read_text("utf-8"), re.MULTILINE)
    if not headings or headings[0] not in (version, "Unreleased"):
        yield Problem("CHANGELOG.md", f"no heading for {version!r} or Unreleased stands first")


def _check_golden(root: Path) -> Iterator[Problem]:
    value, problems = read_json(root, GOLDEN)
    yield from problems
    if problems:
        return
    cases, payloads = _cases(value, "cases"), _cases(value, "payload_cases")
    if len(cases) < MIN_CASES or len(payloads) < MIN_PAYLOADS:
        yield Problem(GOLDEN, f"fewer than {MIN_CASES} messages or {MIN_PAYLOADS} payloads")
    for case in [*cases, *payloads]:
        what = _fault(case)
        if what:
            yield Problem(GOLDEN, what)


def _fault(case: Any) -> str:
    """Return what is wrong with one golden case; empty when it passes."""
    if not isinstance(case, dict) or case.get("expect") not in ("block", "allow"):
        return f"{case!r:.60}: a case has `expect`, block or allow"
    if not case.get("note"):
        return f"{case!r:.60}: the note is missing"
    try:
        if "message" in case:
            blocked = rules_verdict(case["message"])
        elif case.get("encoding") == "hex":
            blocked = answer(bytes.fromhex(case["stdin"]), Wiring()) != b"{}\n"
        else:
            blocked = answer(case["stdin"].encode("utf-8"), Wiring()) != b"{}\n"
    except (KeyError, ValueError, AttributeError, TypeError) as e:
        return f"{case['note']!r}: cannot be read: {e!r}"
    return "" if blocked == (case["expect"] == "block") else f"{case['note']!r} fails"


def _cases(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _count(root: Path, name: str) -> int:
    value, _ = read_json(root, GOLDEN)
    return len(_cases(value, name))


def _check_commands(root: Path, commands: Collection[str]) -> Iterator[Problem]:
    """Every command that a skill or a document names exists."""
    files = [*sorted((root / "skills").rglob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    for file in [*files, root / "README.md"]:
        if file.is_file():
            text = file.read_text("utf-8")
            for command in sorted(set(named_commands(text)) - set(commands)):
                shown = file.relative_to(root).as_posix()
                yield Problem(shown, f"there is no command `hikmah {command}`")


def named_commands(text: str) -> Iterator[str]:
    """Yield the commands that a document's code names."""
    blocks = _BLOCK.findall(text)
    pieces = [line for block in blocks for line in block.splitlines()]
    pieces += _CODE.findall(_BLOCK.sub("", text))
    for piece in pieces:
        for words in _COMMAND.findall(piece.strip().removeprefix("$ ")):
            yield from _command(words.split())


def _command(words: list[str]) -> Iterator[str]:
    """Yield the command among the words after `hikmah`: the first that is no option's."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _WITH_VALUE else 1
    if at < len(words) and re.fullmatch("[a-z][a-z-]*", words[at]):
        yield words[at]
