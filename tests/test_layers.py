"""The import table and the "only this module may" rules, read from the source with ast.

Rules are data: `EDGES` says which room may import which, `ONLY` which module may reach for
something. Changing either is a decision about the architecture: say why in the commit.
Each rule is also shown a planted violation, so a rule that has gone blind fails too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "hikmah"

# Room -> rooms it may import (docs/architecture.md draws this). A room may import itself.
EDGES: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "model": frozenset({"errors"}),
    "ledger": frozenset({"model", "errors"}),
    "index": frozenset({"model", "errors"}),
    "views": frozenset({"index", "model", "errors"}),
    "reason": frozenset({"index", "model", "errors"}),
    "remotes": frozenset({"ledger", "model", "errors"}),
    "memory": frozenset({"ledger", "remotes", "index", "views", "reason", "model", "errors"}),
    "gate": frozenset({"memory", "ledger", "index", "reason", "model", "errors"}),
    "hosts": frozenset({"gate", "errors"}),
    "transfer": frozenset({"memory", "views", "model", "errors"}),
    "cli": frozenset({"memory", "hosts", "gate", "transfer", "views", "reason", "model", "errors"}),
    "__main__": frozenset({"cli", "gate", "errors"}),
}
HTTP_CLIENTS = frozenset(
    {"httpx", "requests", "urllib3", "aiohttp", "urllib.request", "http.client", "socket"}
)
CLOCKS = frozenset(
    {
        "time.time",
        "time.time_ns",
        "datetime.now",
        "datetime.utcnow",
        "datetime.today",
        "date.today",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "datetime.date.today",
    }
)
ENVIRONMENT = frozenset({"os.environ", "os.environb", "os.getenv", "os.putenv"})
# The modules of the gate that may reach into the rest of the package, or into one of these.
GATE_DOORS = tuple(f"hikmah.gate.{name}" for name in ("hook", "explain", "engine", "remembered"))


class Source(NamedTuple):
    """One module: its dotted name and its syntax tree."""

    name: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """Return the part of the name below `hikmah`; empty for the package itself."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""


class Only(NamedTuple):
    """A thing that only some modules may reach for."""

    what: str
    uses: Callable[[Source], list[int]]
    where: frozenset[str]  # dotted names of modules, or of rooms with all that is in them


def source(name: str, text: str) -> Source:
    """Parse one module given as text."""
    return Source(name, ast.parse(text))


def read_package() -> list[Source]:
    """Parse every module of the package."""
    return [source(dotted_name(path), path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")]


def dotted_name(path: Path) -> str:
    """Return the dotted name a file is imported by."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(module: Source) -> Iterator[tuple[int, str]]:
    """Yield every import as (line, dotted name), those by a literal name at run time too."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module.name}:{node.lineno} imports relatively"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and dotted(node.func).endswith(
            ("import_module", "__import__")
        ):
            yield from (
                (node.lineno, argument.value)
                for argument in node.args[:1]
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            )


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of names and attributes; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def importing(names: frozenset[str]) -> Callable[[Source], list[int]]:
    """Find imports of these modules, or of anything inside them."""

    def uses(module: Source) -> list[int]:
        return [
            line
            for line, target in imports(module)
            if any(target == name or target.startswith(f"{name}.") for name in names)
        ]

    return uses


def reaching(names: frozenset[str]) -> Callable[[Source], list[int]]:
    """Find uses of dotted names, through the module or imported from it."""

    def uses(module: Source) -> list[int]:
        lines = [
            node.lineno
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Attribute) and dotted(node) in names
        ]
        return lines + [line for line, target in imports(module) if target in names]

    return uses


def naming(name: str) -> Callable[[Source], list[int]]:
    """Find uses of a bare name, such as a builtin."""

    def uses(module: Source) -> list[int]:
        return [
            node.lineno
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Name) and node.id == name
        ]

    return uses


DOORS = frozenset({"hikmah.cli", "hikmah.memory"})
ONLY = (
    Only(
        "dulwich",
        importing(frozenset({"dulwich"})),
        frozenset({"hikmah.ledger.gitstore", "hikmah.remotes.errand"}),
    ),
    Only("click", importing(frozenset({"click"})), frozenset({"hikmah.cli"})),
    Only("an HTTP client", importing(HTTP_CLIENTS), frozenset({"hikmah.reason.jev"})),
    Only(
        "the environment",
        reaching(ENVIRONMENT),
        DOORS | {"hikmah.hosts.install", "hikmah.gate.hook", "hikmah.remotes.updatehook"},
    ),
    Only("the wall clock", reaching(CLOCKS), DOORS | {"hikmah.gate.hook"}),
    Only("print", naming("print"), frozenset({"hikmah.cli", "hikmah.gate.hook"})),
    Only("sqlite3", importing(frozenset({"sqlite3"})), frozenset({"hikmah.index"})),
)


def trespasses(rule: Only, module: Source) -> list[str]:
    """Return where a module that is no owner reaches for what the rule guards."""
    inside = any(module.name == name or module.name.startswith(f"{name}.") for name in rule.where)
    lines = [] if inside else rule.uses(module)
    return [f"{module.name}:{line} reaches for {rule.what}" for line in lines]


def bad_edges(module: Source) -> list[str]:
    """Return imports of rooms that the table does not let this module's room import."""
    if module.room not in EDGES and module.room:
        return [f"{module.name} is in no room of the table"]
    allowed = EDGES.get(module.room, frozenset()) | {module.room}
    return [
        f"{module.name}:{line} imports {target}"
        for line, target in imports(module)
        if target.split(".")[0] == "hikmah" and not _names_room(target, allowed)
    ]


def _names_room(target: str, allowed: frozenset[str]) -> bool:
    return target == "hikmah.__version__" or (*target.split("."), "")[1] in allowed


def beyond_stdlib(module: Source) -> list[str]:
    """Return what a rule module of the gate imports besides the standard library and its peers."""
    if module.room != "gate" or module.name in GATE_DOORS:
        return []
    return [
        f"{module.name}:{line} imports {target}"
        for line, target in imports(module)
        if target.split(".")[0] not in sys.stdlib_module_names
        and (not target.startswith("hikmah.gate.") or target.startswith(GATE_DOORS))
    ]


@pytest.fixture(scope="module")
def package() -> list[Source]:
    """Return every module of the package, parsed once."""
    return read_package()


class TestPackage:
    """What holds for the package as it stands."""

    def test_every_import_is_in_the_table(self, package: list[Source]) -> None:
        """Imports point down: an edge outside the table is a change of architecture."""
        assert [edge for module in package for edge in bad_edges(module)] == []

    @pytest.mark.parametrize("rule", ONLY, ids=[rule.what for rule in ONLY])
    def test_only_its_owners_reach_for(self, rule: Only, package: list[Source]) -> None:
        """Foreign packages, the environment, the clock and stdout each have few owners."""
        assert [line for module in package for line in trespasses(rule, module)] == []

    def test_gate_rules_need_only_the_standard_library(self, package: list[Source]) -> None:
        """A launcher can import the gate's rules with nothing installed."""
        assert [line for module in package for line in beyond_stdlib(module)] == []

    def test_the_package_itself_imports_nothing(self, package: list[Source]) -> None:
        """`import hikmah` costs nothing: start-up pays only for what is used."""
        (root,) = [module for module in package if module.name == "hikmah"]
        assert list(imports(root)) == []

    def test_the_table_has_no_cycle(self) -> None:
        """Following the table downwards always ends."""
        order: list[str] = []
        while len(order) < len(EDGES):
            free = [room for room in EDGES if room not in order and EDGES[room] <= set(order)]
            assert free, f"a cycle among {set(EDGES) - set(order)}"
            order += free

    def test_ledger_and_views_do_not_know_each_other(self) -> None:
        """Only `memory` joins the ledger, and what travels, with what is derived from it."""
        for room in ("views", "reason", "index"):
            assert not EDGES[room] & {"ledger", "remotes"}
            assert room not in EDGES["ledger"] | EDGES["remotes"]


class TestPlantedViolations:
    """Each rule finds a violation planted for it, and nothing else."""

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            pytest.param("hikmah.model.x", "import hikmah.ledger.chain", id="import"),
            pytest.param("hikmah.model.x", "from hikmah.memory import Memory", id="from module"),
            pytest.param("hikmah.views.x", "from hikmah import memory", id="from package"),
            pytest.param("hikmah.views.x", "from hikmah.ledger import chain", id="sideways"),
            pytest.param("hikmah.model.x", "def f():\n    import hikmah.cli", id="lazily"),
            pytest.param(
                "hikmah.index.x", "import_module('hikmah.ledger.chain')", id="by literal name"
            ),
            pytest.param("hikmah.helpers", "", id="module outside every room"),
            pytest.param("hikmah.ledger.x", "import hikmah", id="the whole package"),
        ],
    )
    def test_bad_edge_is_found(self, name: str, text: str) -> None:
        """An edge outside the table is found wherever and however it is written."""
        assert bad_edges(source(name, text))

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            pytest.param("hikmah.model.x", "from hikmah.errors import HikmahError", id="down"),
            pytest.param("hikmah.model.x", "from hikmah.model.trace import Trace", id="own room"),
            pytest.param("hikmah.cli.x", "from hikmah import __version__", id="the version"),
            pytest.param("hikmah.model.x", "import json, msgspec", id="other packages"),
        ],
    )
    def test_good_edge_passes(self, name: str, text: str) -> None:
        """The table lets through what it lists."""
        assert bad_edges(source(name, text)) == []

    @pytest.mark.parametrize(
        ("what", "name", "text"),
        [
            pytest.param("dulwich", "hikmah.ledger.pack", "import dulwich.pack", id="dulwich"),
            pytest.param(
                "dulwich", "hikmah.ledger.gitstorex", "from dulwich import refs", id="like prefix"
            ),
            pytest.param("click", "hikmah.memory", "from click import echo", id="click"),
            pytest.param("an HTTP client", "hikmah.reason.x", "import httpx", id="httpx"),
            pytest.param(
                "an HTTP client", "hikmah.cli.x", "from urllib import request", id="urllib"
            ),
            pytest.param("an HTTP client", "hikmah.cli.x", "import http.client", id="http.client"),
            pytest.param("the environment", "hikmah.model.x", "os.environ['A']", id="environ"),
            pytest.param("the environment", "hikmah.model.x", "os.getenv('A')", id="getenv"),
            pytest.param(
                "the environment", "hikmah.model.x", "from os import environ", id="from os"
            ),
            pytest.param("the wall clock", "hikmah.views.x", "t = time.time()", id="time.time"),
            pytest.param("the wall clock", "hikmah.views.x", "now = time.time", id="uncalled"),
            pytest.param("the wall clock", "hikmah.views.x", "datetime.now(UTC)", id="now"),
            pytest.param(
                "the wall clock", "hikmah.views.x", "datetime.datetime.now()", id="module now"
            ),
            pytest.param("the wall clock", "hikmah.ledger.x", "from time import time_ns", id="ns"),
            pytest.param("print", "hikmah.memory", "print('x')", id="print"),
            pytest.param("print", "hikmah.memory", "show = print", id="print renamed"),
            pytest.param("sqlite3", "hikmah.views.x", "import sqlite3", id="sqlite3"),
        ],
    )
    def test_trespass_is_found(self, what: str, name: str, text: str) -> None:
        """Reaching for what others own is found wherever and however it is written."""
        (rule,) = [rule for rule in ONLY if rule.what == what]
        assert trespasses(rule, source(name, text))

    @pytest.mark.parametrize(
        ("what", "name", "text"),
        [
            pytest.param("dulwich", "hikmah.ledger.gitstore", "import dulwich", id="its owner"),
            pytest.param("click", "hikmah.cli.recall", "import click", id="inside its room"),
            pytest.param("click", "hikmah.memory", "import clickhouse", id="another package"),
            pytest.param("the wall clock", "hikmah.ledger.x", "time.monotonic()", id="monotonic"),
            pytest.param("the environment", "hikmah.model.x", "def f(environ): ...", id="argument"),
            pytest.param("print", "hikmah.views.x", "fingerprint('x')", id="longer name"),
        ],
    )
    def test_owner_and_namesake_pass(self, what: str, name: str, text: str) -> None:
        """Owners may, and names that only look alike are no trespass."""
        (rule,) = [rule for rule in ONLY if rule.what == what]
        assert trespasses(rule, source(name, text)) == []

    @pytest.mark.parametrize(
        ("text", "clean"),
        [
            pytest.param("import json, re", True, id="standard library"),
            pytest.param("from hikmah.gate.rules import findings", True, id="peer"),
            pytest.param("import msgspec", False, id="dependency"),
            pytest.param("from hikmah.errors import HikmahError", False, id="rest of the package"),
            pytest.param("from hikmah.gate.hook import main", False, id="the gate's own door"),
        ],
    )
    def test_gate_rule_modules(self, text: str, *, clean: bool) -> None:
        """The gate but for its door imports the standard library and itself."""
        assert (beyond_stdlib(source("hikmah.gate.verdict", text)) == []) is clean
        assert beyond_stdlib(source("hikmah.gate.hook", text)) == []
