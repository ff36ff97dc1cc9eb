"""`hikmah validate`: clean here, and every broken copy names its fault."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hikmah.cli import COMMANDS
from hikmah.hosts.skills import SKILLS, front_matter
from hikmah.hosts.validate import named_commands, validate

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = (".claude-plugin", ".codex-plugin", ".agents", "hooks", "skills", "docs")
FILES = (
    "kimi.plugin.json",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "SECURITY.md",
)

Break = Callable[[Path], object]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of what validate reads."""
    for folder in KEPT:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in FILES:
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / "hikmah").mkdir()
    shutil.copy(ROOT / "hikmah" / "__init__.py", tmp_path / "hikmah" / "__init__.py")
    return tmp_path


def remove(path: str) -> Break:
    """Delete a file."""
    return lambda root: (root / path).unlink()


def swap(path: str, old: str, new: str) -> Break:
    """Replace a text that is there."""

    def act(root: Path) -> None:
        text = (root / path).read_text("utf-8")
        assert old in text, f"{old!r} is not in {path}"
        (root / path).write_text(text.replace(old, new), "utf-8")

    return act


def change(path: str, edit: Callable[[Any], object]) -> Break:
    """Change a JSON document."""

    def act(root: Path) -> None:
        value = json.loads((root / path).read_text("utf-8"))
        edit(value)
        (root / path).write_text(json.dumps(value), "utf-8")

    return act


GOLDEN = "hooks/truth_gate_cases.json"
CLAUDE = ".claude-plugin/plugin.json"
CODEX = ".codex-plugin/plugin.json"
SHIP = "skills/ship-guard/SKILL.md"
BROKEN: dict[str, tuple[Break, str, str]] = {
    "no licence": (remove("LICENSE"), "LICENSE", "missing"),
    "no launcher": (remove("hooks/truth_gate.py"), "hooks/truth_gate.py", "missing"),
    "no manifest": (remove(CODEX), CODEX, "missing"),
    "no golden cases": (remove(GOLDEN), GOLDEN, "missing"),
    "no skill": (remove(SHIP), SHIP, "missing"),
    "no orchestrator": (
        remove("hooks/claude/agents/hikmah-orchestrator.md"),
        CLAUDE,
        "does not exist",
    ),
    "a manifest that is no JSON": (swap(CLAUDE, "{", "["), CLAUDE, "not JSON"),
    "a manifest that is a list": (lambda r: (r / CLAUDE).write_text("[]"), CLAUDE, "not an object"),
    "a key is missing": (change(CODEX, lambda v: v.pop("interface")), CODEX, "`interface`"),
    "an unknown key": (change(CLAUDE, lambda v: v.update(hook="x")), CLAUDE, "`hook` is no key"),
    "a key of another type": (change(CLAUDE, lambda v: v.update(agents="x")), CLAUDE, "not a list"),
    "another name": (change("kimi.plugin.json", lambda v: v.update(name="h")), "kimi", "`name`"),
    "another version": (change(CODEX, lambda v: v.update(version="9.9.9")), CODEX, "'9.9.9'"),
    "another version of the package": (
        swap("hikmah/__init__.py", '"0.', '"7.'),
        CLAUDE,
        "`version`",
    ),
    "no version of the package": (
        swap("hikmah/__init__.py", "__version__", "version"),
        "hikmah/__init__.py",
        "version",
    ),
    "a marketplace with another version": (
        change(
            ".claude-plugin/marketplace.json", lambda v: v["plugins"][0].update(version="2.0.0")
        ),
        ".claude-plugin/marketplace.json",
        "'2.0.0'",
    ),
    "a marketplace with another plugin": (
        change(".agents/plugins/marketplace.json", lambda v: v["plugins"][0].update(name="x")),
        ".agents",
        "not named",
    ),
    "a marketplace without a source": (
        change(".agents/plugins/marketplace.json", lambda v: v["plugins"][0].pop("source")),
        ".agents",
        "no `source`",
    ),
    "a path that leads out": (
        change(CLAUDE, lambda v: v.update(hooks="./../../x.json")),
        CLAUDE,
        "leads out",
    ),
    "a changelog of another version": (
        swap("CHANGELOG.md", "## [Unreleased]", "## [3.0.0]"),
        "CHANGELOG.md",
        "no heading",
    ),
    "hooks are no object": (
        change("hooks/codex.json", lambda v: v.update(hooks=[])),
        "hooks/codex.json",
        "not an object",
    ),
    "an event is missing": (
        change("hooks/claude/hooks.json", lambda v: v["hooks"].pop("SubagentStop")),
        "hooks/claude",
        "`SubagentStop` is missing",
    ),
    "an unknown event": (
        change("hooks/codex.json", lambda v: v["hooks"].update(OnStop=[])),
        "hooks/codex.json",
        "`OnStop` is no event",
    ),
    "an unknown key beside the hooks": (
        change("hooks/codex.json", lambda v: v.update(version=1)),
        "hooks/codex.json",
        "`version` is no key",
    ),
    "a handler that is none": (
        change("hooks/cursor/hooks.json", lambda v: v["hooks"].update(stop=["x"])),
        "hooks/cursor",
        "no handler",
    ),
    "a group that is none": (
        change("hooks/codex.json", lambda v: v["hooks"].update(Stop=[{"x": 1}])),
        "hooks/codex.json",
        "no handler",
    ),
    "handlers that are no list": (
        change("hooks/codex.json", lambda v: v["hooks"].update(Stop={})),
        "hooks/codex.json",
        "no handler",
    ),
    "a handler with an unknown key": (
        change("hooks/cursor/hooks.json", lambda v: v["hooks"]["stop"][0].update(async_=True)),
        "hooks/cursor",
        "`async_`",
    ),
    "a timeout that is a text": (
        change("hooks/cursor/hooks.json", lambda v: v["hooks"]["stop"][0].update(timeout="30")),
        "hooks/cursor",
        "not a int",
    ),
    "a command that runs something else": (
        change("hooks/cursor/hooks.json", lambda v: v["hooks"]["stop"][0].update(command="true")),
        "hooks/cursor",
        "does not run the gate",
    ),
    "a script that is not there": (
        swap("hooks/claude/hooks.json", "truth_gate.sh", "truth_gate.bash"),
        "hooks/claude",
        "does not exist",
    ),
    "a hook of Kimi's with other keys": (
        change("kimi.plugin.json", lambda v: v["hooks"][0].update(matcher_="x")),
        "kimi",
        "other keys",
    ),
    "a script that is not executable": (
        lambda root: (root / "hooks/truth_gate.sh").chmod(0o644),
        "hooks/truth_gate.sh",
        "not executable",
    ),
    "a golden case that fails": (
        change(GOLDEN, lambda v: v["cases"][10].update(expect="block", message="Hello.")),
        GOLDEN,
        "fails",
    ),
    "a golden payload that fails": (
        change(GOLDEN, lambda v: v["payload_cases"][0].update(expect="allow")),
        GOLDEN,
        "fails",
    ),
    "a golden case without a note": (
        change(GOLDEN, lambda v: v["cases"][0].pop("note")),
        GOLDEN,
        "note is missing",
    ),
    "a golden case without a side": (
        change(GOLDEN, lambda v: v["cases"][0].update(expect="maybe")),
        GOLDEN,
        "block or allow",
    ),
    "a golden case without a message": (
        change(GOLDEN, lambda v: v["cases"][0].pop("message")),
        GOLDEN,
        "cannot be read",
    ),
    "too few golden cases": (change(GOLDEN, lambda v: v.update(cases=[])), GOLDEN, "fewer than"),
    "golden cases that are a list": (lambda r: (r / GOLDEN).write_text("[]"), GOLDEN, "fewer"),
    "a skill without front matter": (swap(SHIP, "---\n", ""), SHIP, "no front matter"),
    "front matter that is no list of keys": (swap(SHIP, "license: MIT", "MIT"), SHIP, "no front"),
    "front matter indented from the start": (
        swap(SHIP, "---\nname", "---\n  x: y\nname"),
        SHIP,
        "no front matter",
    ),
    "a skill with another name": (swap(SHIP, "name: ship-guard", "name: ship"), SHIP, "`name`"),
    "a skill with a name no host takes": (
        swap(SHIP, "name: ship-guard", "name: Ship--Guard"),
        SHIP,
        "single hyphens",
    ),
    "a skill with an unknown key": (
        swap(SHIP, "license: MIT", "licence: MIT"),
        SHIP,
        "`licence` is no key",
    ),
    "a skill without a description": (
        swap(SHIP, "description: ", "description: " + "x" * 1100),
        SHIP,
        "1024",
    ),
    "a description with a tag": (
        swap(SHIP, "description: ", "description: <b>x</b> "),
        SHIP,
        "holds a tag",
    ),
    "a compatibility that is too long": (
        swap(SHIP, "license: MIT", "license: MIT\ncompatibility: " + "x" * 501),
        SHIP,
        "`compatibility`",
    ),
    "a skill of another version": (swap(SHIP, '"0.1.0"', '"0.0.9"'), SHIP, "'0.0.9'"),
    "a skill without a section": (swap(SHIP, "## Steps", "## Stages"), SHIP, "'Steps'"),
    "a skill that is too long": (swap(SHIP, "## Steps", "\n" * 600 + "## Steps"), SHIP, "500"),
    "a link out of the skill": (
        swap(SHIP, "## Steps", "[x](../operator-core/SKILL.md)\n\n## Steps"),
        SHIP,
        "leads out",
    ),
    "a link to the web": (
        swap(SHIP, "## Steps", "[x](https://example.com/x)\n\n## Steps"),
        SHIP,
        "leads out",
    ),
    "a reference that is not there": (
        remove("skills/ship-guard/references/final-message.md"),
        SHIP,
        "does not exist",
    ),
    "a command that does not exist": (
        swap(SHIP, "hikmah verify-ledger", "hikmah verify-legder"),
        SHIP,
        "`hikmah verify-legder`",
    ),
    "a command of a document that does not exist": (
        swap("docs/gate.md", "`hikmah fulfill`", "`hikmah --store X fulfil`"),
        "docs/gate.md",
        "`hikmah fulfil`",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_copy_names_its_fault(fault: str, copy: Path) -> None:
    """Each fault is found in the file it is in, and said in words a person can act on."""
    act, path, what = BROKEN[fault]
    act(copy)
    report = validate(copy, COMMANDS)
    assert not report["ok"]
    assert any(
        problem["path"].startswith(path) and what in problem["what"]
        for problem in report["problems"]
    ), report["problems"]


def test_this_checkout_is_clean(copy: Path) -> None:
    """The copy that the broken ones start from has no fault."""
    assert len(BROKEN) >= 25
    report = validate(copy, COMMANDS)
    assert report["problems"] == []
    assert report["ok"]
    assert report["checked"]["skills"] == len(SKILLS)


def test_an_empty_folder_has_every_fault_at_once(tmp_path: Path) -> None:
    """Nothing stops at the first problem, and nothing crashes."""
    report = validate(tmp_path, COMMANDS)
    assert len(report["problems"]) > 25


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("```\nhikmah recall x | jq\n```", ["recall"]),
        ("```sh\n$ hikmah --store x --json log\n```", ["log"]),
        ("see `hikmah verify-ledger --since X`", ["verify-ledger"]),
        ("```\nx && hikmah status; hikmah doctor\n```", ["status", "doctor"]),
        ("the `hikmah` command; hikmah recall in prose; `refs/hikmah/memory`", []),
        ("`hikmah COMMAND --help` and `hikmah --help`", []),
    ],
)
def test_commands_are_read_from_code_alone(text: str, commands: list[str]) -> None:
    """Prose may say anything; code is what a reader types."""
    assert list(named_commands(text)) == commands


def test_front_matter_is_keys_and_one_level_below() -> None:
    """What the specification needs, and no more of YAML."""
    matter, body = front_matter('---\nname: x\nmetadata:\n  version: "1"\n---\nbody\n')
    assert matter == {"name": "x", "metadata": {"version": "1"}}
    assert body == "body\n"
    assert front_matter("---\nname: x\n  inner: y\n---\n")[0] is None


def test_an_anchor_inside_a_file_is_no_link_out(copy: Path) -> None:
    """A skill may point at its own sections."""
    swap(SHIP, "## Steps", "[steps](#steps)\n\n## Steps")(copy)
    assert validate(copy, COMMANDS)["ok"]


def test_the_specifications_own_validator_is_asked_where_it_is_installed(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it finds is reported beside our own."""
    monkeypatch.setitem(sys.modules, "skills_ref", SimpleNamespace(validate=lambda _: ["odd"]))
    report = validate(copy, COMMANDS)
    assert {problem["what"] for problem in report["problems"]} == {"skills-ref: odd"}
    assert len(report["problems"]) == len(SKILLS)
