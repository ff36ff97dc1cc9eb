"""The repository as a whole: what its files say, link to and leave out."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikmah.model import secrets

ROOT = Path(__file__).resolve().parent.parent
# Where there is no git checkout (a source distribution), these folders are not the project's.
DERIVED = frozenset({".git", ".venv", "build", "dist", "__pycache__", "bench-results"})
CACHES = re.compile(r"^\.(?:\w+_cache|hypothesis|hikmah|coverage.*)$")

# Spelled in pieces, so that a search of the repository for the whole finds nothing.
FOREIGN = re.compile(
    "|".join(
        (
            r"(?<![\w.])/(?:work|root|farm)" + r"/",
            r"(?<![\w.])/tmp/(?:wt|team|venv)" + r"\b",
            r"\b(?:files\.)?py" + r"pi\.org\b",
            r"\bpython" + r"hosted\.org\b",
            r"\bregistry\.npm" + r"js\b",
            r"\bdeb\.deb" + r"ian\b",
            r"\.lib" + r"rary\b",
        )
    )
)
# These two show, in their docstrings, what the screen refuses.
SHOW_CREDENTIALS = frozenset({"hikmah/model/secrets.py", "hikmah/model/description.py"})
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)\s]*)?\)")


def files() -> list[Path]:
    """Return the project's files: what git would track, or all of a source distribution."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout.decode()
        found = (ROOT / name for name in listed.split("\0") if name)
        return sorted(path for path in found if path.is_file())
    return sorted(path for path in ROOT.rglob("*") if path.is_file() and not _derived(path))


def _derived(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return any(part in DERIVED or CACHES.match(part) for part in parts)


def lines(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield every line of the text files as (`path:number`, line)."""
    for path in paths:
        data = path.read_bytes()
        if b"\0" not in data:
            for number, line in enumerate(data.decode("utf-8").splitlines(), 1):
                yield f"{path.relative_to(ROOT).as_posix()}:{number}", line


def package_files() -> list[Path]:
    """Return the package's modules."""
    return sorted((ROOT / "hikmah").rglob("*.py"))


def first_line(text: str) -> str:
    """Return the first line of a module's docstring; empty without one."""
    docstring = ast.get_docstring(ast.parse(text))
    return docstring.splitlines()[0] if docstring else ""


def bad_docstring(line: str) -> bool:
    """Tell whether a docstring's first line is missing, too long or no sentence."""
    return not line or len(line) >= 80 or not line.endswith(".")


def links(path: Path) -> list[str]:
    """Return the relative targets that a document links to."""
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    return LINK.findall(text)


def documents() -> list[Path]:
    """Return every Markdown file of the project."""
    return [path for path in files() if path.suffix == ".md"]


def test_it_speaks_of_the_project_alone() -> None:
    """No file names a path of one machine, or where packages were fetched from."""
    found = [f"{where}: {line.strip()}" for where, line in lines(files()) if FOREIGN.search(line)]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("cd /" + "work/main", id="machine path"),
        pytest.param('open("/' + 'root/x")', id="home of root"),
        pytest.param("index-url = https://py" + "pi.org/simple", id="package index"),
    ],
)
def test_a_planted_foreign_line_is_found(line: str) -> None:
    """The search above finds what is planted for it."""
    assert FOREIGN.search(line)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("src/" + "work/item.py", id="a relative folder"),
        pytest.param("a library of rules", id="a word"),
        pytest.param("the root/leaf path", id="inside a path"),
    ],
)
def test_an_innocent_line_passes(line: str) -> None:
    """Words and relative paths that only look alike pass."""
    assert not FOREIGN.search(line)


def test_no_credential_stands_in_it() -> None:
    """Outside the tests' tables nothing is shaped like a credential, real or made up."""
    inspected = [
        path
        for path in files()
        if (name := path.relative_to(ROOT).as_posix()) not in SHOW_CREDENTIALS
        and not name.startswith("tests/")
    ]
    found = [f"{where}: {rule}" for where, line in lines(inspected) if (rule := secrets.find(line))]
    assert found == []


@pytest.mark.parametrize("path", package_files(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_module_is_short_and_says_its_noun(path: Path) -> None:
    """A module has at most 450 lines, and its docstring's first line fits in 79 characters."""
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 450
    assert not bad_docstring(first_line(text)), first_line(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x = 1", id="no docstring"),
        pytest.param(f'"""{"long " * 20}."""', id="too long"),
        pytest.param('"""No full stop"""', id="no sentence"),
    ],
)
def test_a_planted_bad_docstring_is_found(text: str) -> None:
    """The docstring rule finds what is planted for it."""
    assert bad_docstring(first_line(text))


@pytest.mark.parametrize("path", documents(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path: Path) -> None:
    """A relative link in a document names a file of the project."""
    missing = [target for target in links(path) if not (path.parent / target).exists()]
    assert missing == []


def test_every_decision_is_listed() -> None:
    """The index of decisions lists each ADR once, by its title, and nothing else."""
    folder = ROOT / "docs" / "adr"
    titles = {
        path.name: path.read_text("utf-8").splitlines()[0].removeprefix("# ")
        for path in folder.glob("[0-9]*.md")
    }
    index = (folder / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| \[(.+?)\]\((\d{4}-[\w-]+\.md)\) \|", index, re.MULTILINE)
    assert listed == [(titles[name], name) for name in sorted(titles)]
    numbers = [int(name[:4]) for name in sorted(titles)]
    assert len(set(numbers)) == len(numbers)


def test_every_document_is_in_the_index() -> None:
    """`docs/README.md` links every document below `docs/` (the ADRs have an index of their own)."""
    folder = ROOT / "docs"
    expected = {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert expected <= set(links(folder / "README.md"))


def test_contributing_stays_readable() -> None:
    """CONTRIBUTING fits in 120 lines."""
    assert len((ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines()) < 120


def test_every_size_that_can_be_raised_is_told() -> None:
    """A variable that a test reads stands in CONTRIBUTING, and none that no test reads."""
    variable = re.compile(r"HIKMAH_TEST_[A-Z_]*[A-Z]")
    read = {
        name
        for path in files()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "tests")
        for name in variable.findall(path.read_text("utf-8"))
    }
    assert set(variable.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))) == read


def test_ci_is_executable_and_self_contained() -> None:
    """`.ci/run` is a bash script that reads the README's own commands."""
    script = ROOT / ".ci" / "run"
    text = script.read_text("utf-8")
    assert text.startswith("#!/usr/bin/env bash\n")
    for pattern in re.findall(r"readme_command '(.+?)'\)", text):
        readme = (ROOT / "README.md").read_text("utf-8")
        assert len(re.findall(pattern, readme, re.MULTILINE)) == 1
