from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
import pytest

from hikmah import __main__, __version__
from hikmah import errors as tree
from hikmah.cli import COMMANDS, SECTIONS, Row, cli, entry, streams
from hikmah.cli.failure import failure_of
from hikmah.cli.options import Command

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

ROOT = Path(__file__).resolve().parents[2]
Plant = Callable[[Callable[[], None]], None]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Return a function that adds a command `planted` which does what it is given."""

    def add(body: Callable[[], None]) -> None:
        module = ModuleType("hikmah.cli.planted")
        vars(module)["planted"] = click.command("planted", cls=Command)(body)
        monkeypatch.setitem(sys.modules, "hikmah.cli.planted", module)
        monkeypatch.setitem(COMMANDS, "planted", Row("planted", "planted", "Start", "Planted."))

    return add


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def all_errors() -> list[type[tree.HikmahError]]:
    found = [tree.HikmahError]
    for kind in found:
        found += kind.__subclasses__()
    return [kind for kind in found if kind.__module__ == tree.__name__]


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_error_ends_in_its_own_exit_code(
    kind: type[tree.HikmahError], plant: Plant, hikmah: Shell
) -> None:
    """What the library raises becomes text, one JSON object, and the documented exit code."""
    extra: dict[str, Any] = {}
    if kind is tree.AmbiguousIdError:
        extra["candidates"] = ("ab12", "ab34")
    if kind is not tree.EngineError:
        extra["hint"] = "try this"
    plant(raising(kind("it went wrong", **extra)))
    result = hikmah("planted")
    assert result.code == kind.exit_code
    assert result.out == ""
    assert result.err.startswith("error: it went wrong\n")
    assert ("hint: try this\n" in result.err) is ("hint" in extra)
    assert result.error["code"] == kind.code
    assert result.error.get("candidates", []) == list(extra.get("candidates", ()))


def test_text_output_has_no_json_object_beside_the_error(plant: Plant, hikmah: Shell) -> None:
    """A person reads text; the JSON object is for programs."""
    plant(raising(tree.InvalidInputError("bad", where="$.x")))
    assert hikmah("planted", "--format", "text").err == "error: bad\nwhere: $.x\n"
    assert hikmah("planted", "--format=text").err == "error: bad\nwhere: $.x\n"
    assert hikmah("planted", terminal=True).err == "error: bad\nwhere: $.x\n"
    assert hikmah("planted", env={"HIKMAH_FORMAT": "text"}).err == "error: bad\nwhere: $.x\n"
    assert '{"error"' in hikmah("planted", "--json", terminal=True).err


def test_the_unexpected_is_one_clear_line_and_exit_one(plant: Plant, hikmah: Shell) -> None:
    """No traceback without --debug; the line says how to get it."""
    plant(raising(ZeroDivisionError("division by zero")))
    result = hikmah("planted", "--format", "text")
    assert (result.code, "Traceback" in result.err) == (1, False)
    assert "unexpected ZeroDivisionError: division by zero" in result.err
    assert "--debug" in result.err
    assert "Traceback" in hikmah("planted", "--debug").err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort(), EOFError()], ids=repr)
def test_an_interrupt_exits_130(error: BaseException, plant: Plant, hikmah: Shell) -> None:
    """An interrupt is not an error of the command."""
    plant(raising(error))
    assert hikmah("planted").code == 130


def test_an_interrupt_before_the_command_line_is_read_exits_130(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while modules are being imported nothing but the code is left behind."""
    monkeypatch.setattr(entry, "run", lambda _words: (_ for _ in ()).throw(KeyboardInterrupt))
    assert __main__.main(["status"]) == 130


def test_a_disk_error_says_what_and_where(plant: Plant, hikmah: Shell) -> None:
    """An operating system error that nobody mapped is still one line."""
    plant(raising(PermissionError(13, "Permission denied", "some/file")))
    result = hikmah("planted")
    assert (result.code, result.error["message"]) == (1, "Permission denied")
    assert result.error["where"] == "some/file"


def test_error_text_cannot_act_on_a_terminal() -> None:
    """Faults row 16: a bad value in a message is shown, not executed."""
    failure = failure_of(tree.NotFoundError("no id '\x1b[2J'", where="\x07", hint="\x9b"))
    assert failure.text() == "error: no id '\\x1b[2J'\nwhere: \\x07\nhint: \\x9b\n"
    assert failure.json().isascii()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["rember"], "no command 'rember'", id="unknown command"),
        pytest.param(["completoin"], "Did you mean completion", id="near miss"),
        pytest.param(["--bogus"], "no such option '--bogus'", id="unknown option"),
        pytest.param(["completion"], "missing argument 'SHELL'", id="missing argument"),
        pytest.param(["completion", "tcsh"], "'tcsh' is not one of", id="not a choice"),
        pytest.param(["completion", "bash", "x"], "unexpected extra argument", id="extra"),
        pytest.param(["--format", "xml", "completion", "bash"], "'xml' is not one of", id="format"),
        pytest.param(["completion", "bash", "--lock-timeout", "x"], "'x' is not", id="number"),
        pytest.param(["completion", "bash", "--lock-timeout", "-1"], "-1", id="negative"),
        pytest.param(["--store"], "requires an argument", id="no value"),
        pytest.param(["", "x"], "no command ''", id="empty command"),
    ],
)
def test_usage_errors_exit_two(words: list[str], said: str, hikmah: Shell) -> None:
    """A wrong command line is exit 2, says what is wrong, and names the help to read."""
    result = hikmah(*words)
    assert (result.code, result.out) == (2, "")
    assert said in result.error["message"]
    assert result.error["hint"].startswith("run hikmah")


def test_a_bad_environment_variable_is_a_usage_error(hikmah: Shell) -> None:
    """A variable stands for an option, and is checked like one."""
    result = hikmah("completion", "bash", env={"HIKMAH_LOCK_TIMEOUT": "soon"})
    assert (result.code, result.error["code"]) == (2, "usage")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["--json"]], ids=" ".join)
def test_help_lists_every_command_by_section(words: list[str], hikmah: Shell) -> None:
    """Help is on standard output, exit 0, in the table's order."""
    result = hikmah(*words)
    assert (result.code, result.err) == (0, "")
    places = [result.out.index(f"{section}:\n") for section in SECTIONS]
    assert places == sorted(places)
    for name, row in COMMANDS.items():
        assert name in result.out
        assert row.summary in " ".join(result.out.split())


def test_the_version_is_the_packages(hikmah: Shell) -> None:
    """`--version` prints the name and the version."""
    assert hikmah("--version") == (0, f"hikmah {__version__}\n", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_loads_and_says_what_the_table_says(name: str, hikmah: Shell) -> None:
    """The first help line of a command is its summary in the table, and -h works."""
    result = hikmah(name, "-h")
    assert result.code == 0
    summary = COMMANDS[name].summary
    assert summary in " ".join(result.out.split())
    assert COMMANDS[name].section in SECTIONS


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_has_help(name: str) -> None:
    """No option of any command is left unexplained."""
    group = cli
    context = click.Context(group)
    command = group.get_command(context, name)
    assert command is not None
    options = [p for p in (*command.params, *group.params) if isinstance(p, click.Option)]
    assert [p.name for p in options if not p.help] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str, hikmah: Shell) -> None:
    """The script asks the command itself, by click's protocol."""
    result = hikmah("completion", shell)
    assert result.code == 0
    assert entry.COMPLETE_VARIABLE in result.out


def test_a_shell_completes_command_names(hikmah: Shell) -> None:
    """Command names come from the table, options from click."""
    asked = {"_HIKMAH_COMPLETE": "bash_complete", "COMP_WORDS": "hikmah compl", "COMP_CWORD": "1"}
    assert "plain,completion" in hikmah(env=asked).out
    asked["COMP_WORDS"] = "hikmah --led"
    assert "plain,--ledger" in hikmah(env=asked).out


def test_a_reader_that_leaves_early_is_no_error(hikmah: Shell) -> None:
    """`hikmah ... | head -1` ends quietly."""
    for words in ("--help", "completion bash"):
        line = f"{sys.executable} -m hikmah {words} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
        environ = {**hikmah.environ, "PYTHONPATH": ":".join(p for p in sys.path if p)}
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, env=environ, cwd=entry_root(), check=True
        )
        assert (done.stdout, done.stderr) == (b"0\n", b"")


def entry_root() -> str:
    return __main__.__file__.removesuffix("/hikmah/__main__.py")


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux's")
def test_an_answer_that_cannot_be_written_is_said(hikmah: Shell) -> None:
    """A full disk under standard output is exit 1 and one line, not a traceback."""
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m hikmah completion bash >/dev/full"],
        capture_output=True,
        env=hikmah.environ,
        cwd=entry_root(),
        check=False,
    )
    assert done.returncode == 1
    assert b"could not be written to standard output" in done.stderr
    assert b"Traceback" not in done.stderr


def test_closed_streams_are_no_error(hikmah: Shell) -> None:
    """A command started with its standard streams closed still runs."""
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m hikmah completion bash >&- 2>&- <&-"],
        env=hikmah.environ,
        cwd=entry_root(),
        check=False,
    )
    assert done.returncode == 0


def test_an_early_command_runs_before_click_is_imported(hikmah: Shell) -> None:
    """What a host's event starts pays for no click, msgspec or dulwich."""
    program = (
        "import sys, types\n"
        "from hikmah import __main__\n"
        "module = types.ModuleType('early')\n"
        "module.run = lambda words: print(words, sorted({'click', 'msgspec'} & set(sys.modules)))\n"
        "sys.modules['early'] = module\n"
        "__main__.EARLY['hook'] = ('early', 'run')\n"
        "sys.exit(__main__.main(['hook', '--host', 'x']))\n"
    )
    assert hikmah.python("-c", program).stdout == b"['--host', 'x'] []\n"


def test_streams_that_fail_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that left is exit 0, a full disk an error; standard error never stops a command."""
    silenced: list[object] = []

    def failing(error: OSError) -> Callable[..., None]:
        def echo(*_: object, **__: object) -> None:
            raise error

        return echo

    monkeypatch.setattr(streams, "silence", silenced.append)
    monkeypatch.setattr(click, "echo", failing(BrokenPipeError()))
    with pytest.raises(click.exceptions.Exit) as left:
        streams.write_out("answer")
    assert left.value.exit_code == 0
    streams.write_err("talk")
    monkeypatch.setattr(click, "echo", failing(OSError(28, "No space left on device")))
    with pytest.raises(tree.StoreError, match="No space left"):
        streams.write_out("answer")
    assert len(silenced) == 3


def test_help_that_nobody_reads_to_the_end_is_no_error(
    monkeypatch: pytest.MonkeyPatch, hikmah: Shell
) -> None:
    """Click's own printing meets a closed pipe too."""
    monkeypatch.setattr(entry, "_dispatch", lambda _: (_ for _ in ()).throw(BrokenPipeError))
    monkeypatch.setattr(entry, "silence", lambda _: None)
    assert hikmah("--help").code == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110 - asked while collecting
@pytest.mark.parametrize(
    ("words", "stream", "code"),
    [
        pytest.param(["show", "abc"], "stderr", 4, id="an error that cannot be told"),
        pytest.param(["--bogus"], "stderr", 2, id="a usage error that cannot be told"),
        pytest.param(["--help"], "stdout", 1, id="help that cannot be printed"),
        pytest.param(["demo"], "stderr", 0, id="talk that cannot be heard"),
    ],
)
def test_a_full_stream_leaves_the_documented_exit_code(
    words: list[str], stream: str, code: int, hikmah: Shell
) -> None:
    """Nothing of Python's own (120, "Exception ignored") gets out."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: full}
        done = subprocess.run(
            [sys.executable, "-m", "hikmah", *words],
            cwd=hikmah.folder,
            env={**hikmah.environ, "PYTHONPATH": str(ROOT)},
            check=False,
            **streams,  # type: ignore[call-overload]  # streams by name
        )
    assert done.returncode == code
    assert b"Exception ignored" not in (done.stderr or b"")
