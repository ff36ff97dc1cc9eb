"""docs/cli.md against the command table: neither says what the other does not."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from hikmah.cli import COMMANDS, cli
from hikmah.cli.options import GLOBAL_NAMES
from hikmah.errors import HikmahError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
OPTION = re.compile(r"`(?:-\w`, `)?(--[a-z-]+)")


def section(name: str) -> str:
    """Return what the page says of one command."""
    _, heading, rest = PAGE.partition(f"\n### `{name}`\n")
    assert heading, f"docs/cli.md has no section for {name}"
    return re.split(r"\n##+ ", rest)[0]


def command(name: str) -> click.Command:
    """Load one command."""
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def own_options(name: str) -> set[str]:
    """Return the long options of a command, and of those inside it, without the global ones."""
    found = command(name)
    inside = found.commands.values() if isinstance(found, click.Group) else ()
    return {
        parameter.opts[-1]
        for one in (found, *inside)
        for parameter in one.params
        if isinstance(parameter, click.Option) and parameter.name not in GLOBAL_NAMES
    }


def test_every_command_inside_a_command_is_documented() -> None:
    """`entity show` and its like stand in the section of theirs."""
    for name in COMMANDS:
        found = command(name)
        for inner in found.commands if isinstance(found, click.Group) else ():
            assert f"`{name} {inner} " in section(name) or f"`{name} {inner}`" in section(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_documented(name: str) -> None:
    """A new option is a line on the page."""
    mentioned = set(re.findall(r"--[a-z-]+", section(name)))
    assert own_options(name) - mentioned == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_mentions_no_option_that_does_not_exist(name: str) -> None:
    """An option that is gone, is gone from the page."""
    everywhere = {option for other in COMMANDS for option in own_options(other)}
    everywhere |= {parameter.opts[-1] for parameter in cli.params}
    assert set(re.findall(r"--[a-z-]+", section(name))) - everywhere == set()


def test_the_page_has_no_command_that_does_not_exist() -> None:
    """The sections are the table's commands, in the table's order."""
    assert re.findall(r"\n### `([a-z-]+)`\n", PAGE) == list(COMMANDS)


def test_every_global_option_and_variable_is_documented() -> None:
    """One table holds the options that stand anywhere, with their variables."""
    table = PAGE.partition("## Global options")[2].partition("\n## ")[0]
    for parameter in cli.params:
        for name in parameter.opts:
            assert f"`{name}" in table, name
        if parameter.envvar is not None:
            assert f"`{parameter.envvar}`" in table, parameter.envvar


def test_every_exit_code_and_error_code_is_documented() -> None:
    """What a script can match on stands on the page."""
    kinds = [HikmahError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    for kind in kinds:
        assert f"`{kind.code}`" in PAGE, kind
        assert f"| {kind.exit_code} |" in PAGE, kind
    for code in ("usage", "interrupted", "unexpected"):
        assert f"`{code}`" in PAGE
