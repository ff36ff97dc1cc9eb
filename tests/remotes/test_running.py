"""A program that may hang is bounded, watched, and ended with all it started."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hikmah.errors import RemoteError
from hikmah.remotes import running
from hikmah.remotes.running import Finished, run


def python(program: str, folder: Path, **options: float | bytes) -> Finished:
    """Run a Python program."""
    bounds = {"idle_s": 20.0, "total_s": 40.0} | options
    return run([sys.executable, "-c", program], environ=os.environ, cwd=folder, **bounds)  # type: ignore[arg-type]  # keywords as they are


def alive(pid: int) -> bool:
    """Tell whether a process still runs; one that nobody asked after has ended, too."""
    try:
        os.kill(pid, 0)
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False
        )
    except ProcessLookupError:
        return False
    return state.stdout.strip()[:1] not in {b"", b"Z"}


def test_answer_talk_and_code_come_back(tmp_path: Path) -> None:
    """Both streams apart; what a later line overwrote is left out of the talk."""
    program = "import sys; print('a'); sys.stderr.write('1%\\r2%\\rdone\\nend\\n'); sys.exit(3)"
    assert python(program, tmp_path) == Finished(3, b"a\n", "done\nend")


def test_standard_input_is_given_or_empty(tmp_path: Path) -> None:
    """A program never waits for a person's typing."""
    program = "import sys; sys.stdout.write(sys.stdin.read())"
    assert python(program, tmp_path, given=b"errand").out == b"errand"
    assert python(program, tmp_path).out == b""


def test_a_program_that_reads_nothing_is_no_error(tmp_path: Path) -> None:
    """It may end before it was told what to do."""
    assert python("pass", tmp_path, given=b"x" * 100_000).code == 0


def test_silence_ends_it_with_all_it_started(tmp_path: Path) -> None:
    """The last thing said is told; a child of the program is gone as well."""
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "sys.stderr.write('waiting for it\\n'); sys.stderr.flush(); time.sleep(60)"
    )
    with pytest.raises(RemoteError, match=r"nothing was heard for 3 s; last was .*waiting for it"):
        python(program, tmp_path, idle_s=3)
    pid, before = int((tmp_path / "pid").read_text()), time.monotonic()
    while alive(pid):
        assert time.monotonic() - before < 20


def test_signs_of_life_do_not_help_for_ever(tmp_path: Path) -> None:
    """What never falls silent is bounded in all."""
    program = "import sys\nwhile True: sys.stderr.write('.'); sys.stderr.flush()"
    with pytest.raises(RemoteError, match="not done in the time there is"):
        python(program, tmp_path, total_s=2)


def test_an_endless_answer_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, too."""
    monkeypatch.setattr(running, "MAX_OUT_BYTES", 1 << 20)
    program = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    with pytest.raises(RemoteError, match="passes 1,048,576 bytes"):
        python(program, tmp_path)


def test_one_that_will_not_tidy_up_is_killed(tmp_path: Path) -> None:
    """Asked first, and then not asked."""
    program = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print(1, flush=True); time.sleep(60)"
    )
    with pytest.raises(RemoteError, match="nothing was heard"):
        python(program, tmp_path, idle_s=1)


def test_a_child_that_outlives_it_holds_nobody_up(tmp_path: Path) -> None:
    """A shared ssh connection keeps the streams open: what was said by then counts."""
    program = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(15)'])\nprint('done')"
    )
    assert python(program, tmp_path, idle_s=10).out == b"done\n"


def test_it_has_no_terminal(tmp_path: Path) -> None:
    """Nothing that it starts can ask a person anything."""
    program = "try:\n    open('/dev/tty')\nexcept OSError:\n    print('none')"
    assert python(program, tmp_path).out == b"none\n"


def test_what_cannot_be_started_is_told(tmp_path: Path) -> None:
    """By its name."""
    with pytest.raises(RemoteError, match="nowhere could not be started"):
        run([str(tmp_path / "nowhere")], environ={}, cwd=tmp_path, idle_s=1, total_s=1)


def test_each_line_is_watched(tmp_path: Path) -> None:
    """Those that overwrite each other, too."""
    heard: list[str] = []
    words = [sys.executable, "-c", "import sys; sys.stderr.write('1%\\r2%\\n3%')"]
    run(words, environ=os.environ, cwd=tmp_path, idle_s=20, total_s=20, watch=heard.append)
    assert heard == ["1%", "2%", "3%"]
