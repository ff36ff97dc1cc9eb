"""Skills: the rules of the Agent Skills specification, and two of our own.

A skill is a folder with `SKILL.md`: front matter between `---` lines, then instructions.
Specification: agentskills.io. Of our own: a skill carries the package's version, and links
only to files in its own folder, so that it can be copied anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hikmah.hosts.manifests import Problem, is_name

SKILLS = (
    "agent-radar",
    "cognitive-kernel",
    "decision-forge",
    "hikmah-orchestrator",
    "operator-core",
    "ship-guard",
)
KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1024
MAX_COMPATIBILITY_CHARS = 500
MAX_LINES = 500
SECTIONS = ("## When to use", "## Steps", "## Commands", "## A good result", "## Stop and ask")
_LINK = re.compile(r"\]\(([^)\s]+)\)|`(references/[^`\s]+)`")
_RESERVED = ("anthropic", "claude")


def check_skills(root: Path, version: str) -> Iterator[Problem]:
    """Yield what is wrong with the skills."""
    folder = root / "skills"
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    for name in SKILLS:
        path = f"skills/{name}/SKILL.md"
        if not (root / path).is_file():
            yield Problem(path, "the file is missing")
    for name in sorted(there):
        if (folder / name / "SKILL.md").is_file():
            yield from _check_skill(root, name, version)
            yield from _check_with_reference(root, name)


def _check_skill(root: Path, name: str, version: str) -> Iterator[Problem]:
    path = f"skills/{name}/SKILL.md"
    text = (root / path).read_text("utf-8")
    matter, body = front_matter(text)
    if matter is None:
        yield Problem(path, "there is no front matter between `---` lines")
        return
    yield from (Problem(path, what) for what in _faults(name, matter, version))
    if len(text.splitlines()) > MAX_LINES:
        yield Problem(path, f"more than {MAX_LINES} lines: too long to load")
    for section in SECTIONS:
        if f"\n{section}" not in body:
            yield Problem(path, f"the section {section.removeprefix('## ')!r} is missing")
    for file in sorted((root / "skills" / name).rglob("*.md")):
        yield from _check_links(root, root / "skills" / name, file)


def front_matter(text: str) -> tuple[dict[str, str | dict[str, str]] | None, str]:
    """Return a skill's front matter and its body; None for what is none.

    Read are `key: value` lines and one level of indented ones below a key; that is all the
    specification needs.
    """
    head, mark, body = text.removeprefix("---\n").partition("\n---\n")
    if not text.startswith("---\n") or not mark:
        return None, text
    found: dict[str, str | dict[str, str]] = {}
    inner: dict[str, str] | None = None
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        if not colon or not key.strip():
            return None, text
        if line.startswith(" "):
            if inner is None:
                return None, text
            inner[key.strip()] = _plain(value)
            continue
        inner = None if value.strip() else {}
        found[key] = _plain(value) if inner is None else inner
    return found, body


def _plain(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _faults(name: str, matter: dict[str, str | dict[str, str]], version: str) -> Iterator[str]:
    for key in sorted(matter.keys() - KEYS):
        yield f"`{key}` is no key of a skill's front matter"
    own, description = matter.get("name"), matter.get("description")
    if own != name:
        yield f"`name` is {own!r}, not its folder's {name!r}"
    if not is_name(str(own)) or any(word in str(own) for word in _RESERVED):
        yield f"`name` {own!r} is not 1 to {MAX_NAME_CHARS} of a-z 0-9 and single hyphens"
    if not isinstance(description, str) or not 1 <= len(description) <= MAX_DESCRIPTION_CHARS:
        yield f"`description` is not 1 to {MAX_DESCRIPTION_CHARS} characters"
    elif re.search(r"<[a-zA-Z/]", description):
        yield "`description` holds a tag"
    fits = matter.get("compatibility", "-")
    if not isinstance(fits, str) or not 1 <= len(fits) <= MAX_COMPATIBILITY_CHARS:
        yield f"`compatibility` is not 1 to {MAX_COMPATIBILITY_CHARS} characters"
    metadata = matter.get("metadata")
    stated = metadata.get("version") if isinstance(metadata, dict) else None
    if stated != version:
        yield f"`metadata.version` is {stated!r}, not {version!r}"


def _check_links(root: Path, folder: Path, file: Path) -> Iterator[Problem]:
    """Check that a skill's files link to nothing but files of its own folder."""
    shown = file.relative_to(root).as_posix()
    for link, reference in _LINK.findall(file.read_text("utf-8")):
        target = (link or reference).partition("#")[0]
        if not target:
            continue
        base = file.parent if link else folder
        place = (base / target).resolve()
        if "://" in target or not place.is_relative_to(folder.resolve()):
            yield Problem(shown, f"{target!r} leads out of the skill's folder")
        elif not place.is_file():
            yield Problem(shown, f"{target!r} does not exist")


def _check_with_reference(root: Path, name: str) -> Iterator[Problem]:
    """Ask the specification's own validator too, where it is installed."""
    try:
        from skills_ref import validate
    except ImportError:
        return
    path = f"skills/{name}/SKILL.md"
    yield from (Problem(path, f"skills-ref: {what}") for what in validate(root / "skills" / name))
