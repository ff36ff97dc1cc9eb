"""Mutated objects: any bytes end in a finding, and no finding is missed."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from unittest import mock

import pytest
from msgspec.structs import replace

from hikmah.ledger import durable
from hikmah.ledger.objects import RawObject, commit_bytes, parse_commit, raw_object
from hikmah.ledger.verify import verify
from hikmah.model.records import Fulfill
from hikmah.remotes.incoming import examine
from tests.ledger.forge import Forge, note
from tests.ledger.tampers import chain

TRIES = int(os.environ.get("HIKMAH_TEST_MUTATIONS", "25"))
# What the acknowledged head says of any other commit on the ref.
OF_THE_REF = {"unacknowledged", "rewritten", "head_untold", "ref_behind"}
TRACE = b'{"type":"remember","content":"x","created_at_ms":0,'
JUNK = (b"\0", b" ", b"/", b"\n", b"40000 x\0", b"\xff", b"[" * 3_000, b"9" * 5_000, b"-1", b'"')


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    """Return a ledger of some records; tests leave its ref as it was."""
    forge = Forge(tmp_path_factory.mktemp("mutated") / "store")
    forge.init()
    forge.add_many(3)
    promise = note("promised", kind="commitment", deadline_ms=1)
    forge.add(promise)
    forge.add(Fulfill(id=forge.id(promise), at_ms=0), note("beside", supersedes=forge.id(promise)))
    with mock.patch.object(durable, "sync_handle"):
        yield forge


def nested(depth: int) -> bytes:
    """Return lists in lists."""
    return b"[" * depth + b"]" * depth


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with something in them changed, cut, doubled or put in."""
    at = chance.randrange(len(data) + 1)
    end = min(len(data), at + chance.choice([1, 2, 20, 200]))
    how = chance.randrange(5)
    if how == 0:
        return data[:at] + data[end:]
    if how == 1:
        return data[:end] + data[at:]
    if how == 2:
        return data[:at] + chance.choice(JUNK) + data[end:]
    if how == 3:
        return data[:at] + chance.choice(JUNK) + data[at:]
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


class Rebuilt:
    """The newest commit, built again around one object that was changed."""

    def __init__(self, forge: Forge, change: Callable[[bytes], bytes]) -> None:
        self.forge = forge
        self.change = change

    def at(self, depth: int) -> str:
        """Change the commit (0), a tree (1 to 4) or a blob (5) of the newest commit."""
        data = self.forge.raw(self.forge.head())
        if depth == 0:
            return self._write(b"commit", self.change(data))
        commit = parse_commit(data)
        tree = self._object(commit.tree, depth - 1)
        return self._write(b"commit", commit_bytes(replace(commit, tree=tree)))

    def _object(self, oid: str, depth: int) -> str:
        kind, data = self.forge.ledger.store.read(oid)
        if depth == 0 or kind == b"blob":
            return self._write(kind, self.change(data))
        inner = data[-20:].hex()
        return self._write(kind, data[:-20] + bytes.fromhex(self._object(inner, depth - 1)))

    def _write(self, kind: bytes, data: bytes) -> str:
        raw: RawObject = raw_object(kind, data, "sha1")
        self.forge.ledger.store.write_loose([raw])
        return raw.oid


@pytest.mark.parametrize("depth", range(6), ids=["commit", "root", "records", "AAAA", "BB", "blob"])
def test_any_change_ends_in_a_finding(forge: Forge, depth: int) -> None:
    """Nothing raises, and what is examined in part is found as when all is verified."""
    chance = random.Random(depth)
    honest, before = forge.head(), chain(forge)[-2]
    found_bad = 0
    ref = forge.path / "refs" / "hikmah" / "memory"
    for _ in range(TRIES):
        head = Rebuilt(forge, lambda data: mutated(data, chance)).at(depth)
        found = examine(forge.ledger, head, [before])
        strictly = examine(forge.ledger, head, [before], strict=True)
        ref.write_text(f"{head}\n")
        codes = {problem.code for problem in verify(forge.ledger).errors}
        ref.write_text(f"{honest}\n")
        # A record that a commit lost is met by whoever walks on to where it was.
        named = {problem.code for problem in found.errors} - {"link_missing"}
        assert named <= codes, (head, codes, found)
        assert found.ok is not bool(codes - OF_THE_REF), (head, codes, found)
        assert found.ok or not strictly.ok
        if depth:
            assert found.ok == (head == honest), (head, found)
        found_bad += not found.ok
    assert found_bad > TRIES / 2


def test_hostile_json_is_a_finding(forge: Forge) -> None:
    """Depth, numbers and text that no reader takes do not stop the check."""
    before = chain(forge)[-2]
    for data in (
        nested(200_000),
        b'{"type":"x","a":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
        b'{"type":"remember","created_at_ms":' + b"9" * 20_000 + b"}",
        b'{"type":"remember","confidence":1e999}',
        b'{"type":"vote","a":1e999}',
        b'{"type":"\\ud800"}',
        TRACE + b'"event":{"event_type":"x","payload":%s}}' % nested(900),
        TRACE + b'"a":%s}' % nested(900),
        TRACE + b'"a":%s}' % nested(9_999),
        b'\xef\xbb\xbf{"type":"remember"}',
        b'{"type":' + b"null" + b"}",
        b"",
    ):

        def change(_: bytes, data: bytes = data) -> bytes:
            return data

        for strict in (False, True):
            assert not examine(
                forge.ledger, Rebuilt(forge, change).at(5), [before], strict=strict
            ).ok
