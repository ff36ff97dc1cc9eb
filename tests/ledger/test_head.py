"""The state folder: what it says is believed only in the one form it is written in."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.errors import IntegrityError, StoreError
from hikmah.ledger import head as heads
from hikmah.ledger.head import Head, State
from hikmah.ledger.lock import writer_lock

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NOT_A_HEAD = [
    pytest.param(b"", id="empty"),
    pytest.param(b"garbage", id="garbage"),
    pytest.param(b"\xff\xfe", id="not UTF-8"),
    pytest.param(b'{"commit":"zzzz","seq":3}', id="not hexadecimal"),
    pytest.param(b'{"commit":"abc","seq":3}', id="too short"),
    pytest.param(b'{"commit":"../../x","seq":3}', id="a path"),
    pytest.param(b'{"commit":"","seq":3}', id="no commit"),
    pytest.param(b'{"commit":"' + COMMIT.encode() + b'\\n","seq":3}', id="a newline"),
    pytest.param(b'{"commit":"' + COMMIT.encode() + b'","seq":-1}', id="negative"),
    pytest.param(b'{"commit":"' + COMMIT.encode() + b'"', id="cut off"),
]


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path)


def test_a_head_reads_back_and_is_logged(state: State) -> None:
    """The acknowledged head is what was acknowledged last; the log holds all, oldest first."""
    said = [Head(commit=f"{n:040x}", seq=n) for n in range(3)]
    for head in said:
        state.acknowledge(head)
    assert state.read_head() == said[-1]
    assert state.read_log() == said


def test_the_log_keeps_the_newest(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log never grows beyond twice what it keeps."""
    monkeypatch.setattr(heads, "LOG_LINES", 5)
    for n in range(40):
        state.acknowledge(Head(commit=f"{n:040x}", seq=10))
    assert [int(head.commit, 16) for head in state.read_log()] == [35, 36, 37, 38, 39]
    assert len(state.log_file.read_bytes().splitlines()) <= 11


@pytest.mark.parametrize("data", NOT_A_HEAD)
def test_what_is_no_head_is_damage(state: State, data: bytes) -> None:
    """Anything but a full commit id and a number is said to be damaged, with the way out."""
    state.head_file.write_bytes(data)
    with pytest.raises(IntegrityError, match="damaged") as caught:
        state.read_head()
    assert "repair" in caught.value.hint


@pytest.mark.parametrize("data", NOT_A_HEAD)
def test_damaged_lines_of_the_log_are_passed_over(state: State, data: bytes) -> None:
    """What can be read of the log is read."""
    state.acknowledge(Head(commit=COMMIT, seq=1))
    with state.log_file.open("ab") as file:
        file.write(data + b"\n")
    assert state.read_log() == [Head(commit=COMMIT, seq=1)]


@pytest.mark.parametrize(
    "data",
    [b"", COMMIT.encode(), COMMIT.encode()[:20] + b"\n", b"ref: refs/heads/main\n", b"\xff\n"],
    ids=repr,
)
def test_half_a_note_says_nothing(state: State, data: bytes) -> None:
    """A note of intent counts only when it was written whole."""
    state.next_file.write_bytes(data)
    assert state.read_next() is None


@pytest.mark.parametrize("name", ["head", "next", "head.log"])
def test_a_folder_in_place_of_a_file(state: State, name: str) -> None:
    """What cannot be read is a store error that names the file."""
    (state.folder / name).mkdir()
    read = {"head": state.read_head, "next": state.read_next, "head.log": state.read_log}[name]
    with pytest.raises(StoreError, match="cannot read") as caught:
        read()
    assert caught.value.where == str(state.folder / name)


def test_a_folder_in_place_of_the_lock(state: State) -> None:
    """A lock that cannot be opened is a store error, not a wait."""
    state.lock_file.mkdir()
    with pytest.raises(StoreError, match="writer lock"), writer_lock(state.lock_file, timeout_s=0):
        pass


def test_a_state_folder_that_is_a_file(tmp_path: Path) -> None:
    """A file where the folder should be is a store error."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot read"):
        State(tmp_path / "file").read_head()
