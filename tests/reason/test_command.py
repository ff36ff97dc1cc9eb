"""The command engine: a real program, bounded in time and output, in no shell."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from hikmah.errors import EngineError, EngineSetupError
from hikmah.reason.budget import MAX_BUDGET_MS, MIN_BUDGET_MS, budget_ms
from hikmah.reason.command import MAX_OUTPUT_BYTES, CommandEngine
from hikmah.reason.engines import ask, open_engine
from hikmah.reason.port import DecisionRequest
from tests.reason.responses import GOOD, REQUEST

Engine = Callable[..., CommandEngine]
posix = pytest.mark.skipif(os.name != "posix", reason="groups of processes are a POSIX matter")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """Return a maker of engines that run a Python program given as text."""

    def make(program: str, *words: str, limit_ms: int = 30_000) -> CommandEngine:
        path = tmp_path / "engine.py"
        path.write_text(f"import json, os, sys, time\n{textwrap.dedent(program)}")
        return CommandEngine((sys.executable, "-I", str(path), *words), limit_ms=limit_ms)

    return make


ANSWER = f"""
request = json.load(sys.stdin)
print(json.dumps({GOOD!r} | {{"request_id": request["request_id"], "version": "1.2"}}))
"""


def test_a_program_answers(engine: Engine) -> None:
    """The request goes in with its id, the response comes out, the version becomes the source."""
    result = ask(engine(ANSWER), REQUEST)
    assert result.rejected is None
    assert result.source.endswith("@1.2")
    assert result.source.startswith("model:command-python")


def test_the_request_is_what_the_documents_say(engine: Engine, tmp_path: Path) -> None:
    """Id, state and questions, each with its kind."""
    heard = tmp_path / "heard.json"
    ask(engine("open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())", str(heard)), REQUEST)
    plain = json.loads(heard.read_text())
    assert set(plain) == {"request_id", "state", "questions"}
    assert [question["kind"] for question in plain["questions"]] == ["choice", "score", "noul"]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        pytest.param("sys.exit(3)", "the program ended with exit code 3", id="exit code"),
        pytest.param("raise ValueError('x')", "the program ended with exit code 1", id="raises"),
        pytest.param("pass", "malformed: not JSON", id="says nothing"),
        pytest.param("print('hello')", "malformed: not JSON", id="says no JSON"),
        pytest.param("print('{}')", "request id mismatch", id="says nothing of use"),
        pytest.param(
            "sys.stderr.write('x' * 10_000_000); print('{}')", "request id", id="talks beside it"
        ),
    ],
)
def test_a_program_that_fails_abstains(engine: Engine, program: str, reason: str) -> None:
    """Each failure is a reason, never an exception."""
    assert reason in (ask(engine(program), REQUEST).rejected or "")


def test_a_program_need_not_read(engine: Engine) -> None:
    """A request larger than a pipe holds does not stop a program that ignores it."""
    last = REQUEST.questions[-1]
    many = tuple(replace(last, id=f"q{i}", instructions="?" * 4_000) for i in range(32))
    large = DecisionRequest(state="x" * 32_000, questions=many)
    assert "request id mismatch" in (ask(engine("print('{}')"), large).rejected or "")


@posix
def test_a_slow_program_is_killed_with_its_children(engine: Engine, tmp_path: Path) -> None:
    """Past the budget nothing of it is left running."""
    pids = tmp_path / "pids"
    program = """
    child = os.fork()
    if child:
        open(sys.argv[1], "w").write(f"{os.getpid()} {child}")
    while True:
        time.sleep(60)
    """
    result = ask(engine(program, str(pids), limit_ms=3_000), REQUEST)
    assert result.rejected == "the engine failed: the program took longer than 3000 ms"
    assert all(_ends(int(pid)) for pid in pids.read_text().split())


def _ends(pid: int) -> bool:
    """Tell whether a process ends: a signal that was sent takes a moment to arrive."""
    deadline = time.monotonic() + 10
    while _runs(pid):
        if time.monotonic() > deadline:
            return False
    return True


def _runs(pid: int) -> bool:
    """Tell whether a process is there and no mere entry of one that ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


@posix
def test_a_child_that_holds_the_output_open_is_killed(engine: Engine, tmp_path: Path) -> None:
    """The program has ended; what it left behind cannot make the caller wait."""
    pids = tmp_path / "pids"
    program = """
    child = os.fork()
    if child:
        open(sys.argv[1], "w").write(str(child))
        os._exit(0)
    while True:
        time.sleep(60)
    """
    result = ask(engine(program, str(pids), limit_ms=2_000), REQUEST)
    assert "took longer" in (result.rejected or "")
    assert _ends(int(pids.read_text()))


def test_closing_the_output_does_not_buy_time(engine: Engine) -> None:
    """A program that answers and then does not end is past its budget too."""
    program = ANSWER + "\nsys.stdout.flush(); os.close(1); time.sleep(60)"
    reason = ask(engine(program, limit_ms=2_000), REQUEST).rejected
    assert reason == "the engine failed: the program took longer than 2000 ms"


def test_output_without_end_is_cut(engine: Engine) -> None:
    """A limit bounds what is read."""
    reason = ask(engine("while True: sys.stdout.write('x' * 100_000)"), REQUEST).rejected
    assert reason == f"the engine failed: the program wrote more than {MAX_OUTPUT_BYTES} bytes"


def test_a_program_that_is_none_abstains(tmp_path: Path) -> None:
    """What is there when it is set up may be gone, or no program, when it is asked."""
    with pytest.raises(EngineError, match="cannot run"):
        CommandEngine((str(tmp_path / "gone"),)).answer(REQUEST)


@posix
def test_words_are_split_without_a_shell(tmp_path: Path) -> None:
    """Quotes group words; a semicolon is a character of one."""
    path = tmp_path / "engine.py"
    path.write_text("import sys\nopen(sys.argv[1], 'w').write(repr(sys.argv[2:]))\n")
    heard = tmp_path / "heard"
    line = shlex.join((sys.executable, str(path), str(heard), "two words", "; touch x"))
    ask(open_engine(f"command:{line}", os.environ), REQUEST)
    assert heard.read_text() == "['two words', '; touch x']"


@pytest.mark.parametrize(
    ("text", "cap_ms", "expected"),
    [
        pytest.param("", MAX_BUDGET_MS, 5_000, id="default"),
        pytest.param("250", MAX_BUDGET_MS, 250, id="as set"),
        pytest.param("1", MAX_BUDGET_MS, MIN_BUDGET_MS, id="raised to the least"),
        pytest.param("999999", MAX_BUDGET_MS, MAX_BUDGET_MS, id="lowered to the most"),
        pytest.param("10000", 3_000, 3_000, id="lowered to the caller's cap"),
        pytest.param(" 700 ", MAX_BUDGET_MS, 700, id="blanks around"),
    ],
)
def test_a_budget_is_kept_in_bounds(text: str, cap_ms: int, expected: int) -> None:
    """Between 100 ms and a minute, and never above the caller's cap."""
    assert budget_ms({"X": text}, "X", default=5_000, cap_ms=cap_ms) == expected


@pytest.mark.parametrize("text", ["5s", "-1", "1.5", "x", "9" * 13, "\u0665"])
def test_a_budget_is_a_whole_number(text: str) -> None:
    """Anything else is refused, not guessed at."""
    with pytest.raises(EngineSetupError, match="number of milliseconds"):
        budget_ms({"X": text}, "X", default=5_000, cap_ms=MAX_BUDGET_MS)
