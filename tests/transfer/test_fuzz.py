"""Files of any bytes: every import ends, with a report or an error of ours.

The size of docs/evidence.md is `HIKMAH_TEST_FILES=20000`.
"""

from __future__ import annotations

import os
import random

import pytest

from hikmah.errors import HikmahError
from hikmah.memory import Memory
from tests.transfer.conftest import Stores, dump, take
from tests.transfer.oldledger import TOUR, ledger
from tests.transfer.test_markdown import PAGE
from tests.transfer.test_mcp import GRAPH, file_of
from tests.transfer.test_own import furnish

FILES = int(os.environ.get("HIKMAH_TEST_FILES", "150"))
_PIECES = (b"", b"{", b"}", b"[", b'"', b"\\", b"null", b"-1e999", b"\x00", b"\xff", b"\n", b"- ")


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return a file with some of its bytes changed, cut, doubled or moved."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 1, 1, 2, 40, 400)))
        piece = chance.choice((*_PIECES, data[start:end] * 2, bytes([chance.randrange(256)])))
        data = data[:start] + piece + data[end:]
    return data


@pytest.fixture
def files(stores: Stores) -> dict[str, bytes]:
    """Return a good file of each format."""
    source = stores("source")
    furnish(source)
    return {
        "jsonl": dump(source, include_purged=True),
        "hikmah-jsonl": ledger(TOUR, 2),
        "mcp-memory": file_of(*GRAPH),
        "markdown": PAGE.encode(),
    }


@pytest.mark.parametrize("form", ["jsonl", "hikmah-jsonl", "mcp-memory", "markdown"])
def test_no_file_makes_an_import_fail_in_any_other_way(
    stores: Stores, memory: Memory, files: dict[str, bytes], form: str
) -> None:
    """And each item of it is written, there already or refused."""
    chance = random.Random(form)
    memory.remember("there before")
    for _ in range(FILES):
        data = mutated(files[form], chance)
        try:
            report = take(memory, data, form, dry_run=True)
        except HikmahError:
            continue
        assert report.written + report.present + report.refused == report.items, data
    assert take(memory, files[form], form).refused == 0
    assert memory.verify().ok


@pytest.mark.parametrize("form", ["jsonl", "mcp-memory", "markdown"])
def test_what_comes_in_from_any_file_verifies(
    stores: Stores, files: dict[str, bytes], form: str
) -> None:
    """However broken a file is, the ledger is whole."""
    chance = random.Random(form)
    for number in range(max(2, FILES // 50)):
        memory = stores(f"{form}-{number}")
        data = files[form]
        for _ in range(10):
            data = mutated(data, chance)
        try:
            report = take(memory, data, form)
        except HikmahError:
            continue
        if report.written:
            assert memory.verify().ok
            again = take(memory, data, form)
            assert (again.written, again.refused) == (0, report.refused)
