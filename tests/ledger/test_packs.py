"""Reading packs: every object as git reads it, and nothing of damage believed."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.ledger.deltas import LineBase, prefix_delta
from hikmah.ledger.packs import DamagedError, PackFile, apply_delta, open_pack
from hikmah.ledger.packwriter import PackWriter, distance_bytes, entry_header
from tests.ledger.forge import Forge

ALGORITHMS = pytest.mark.parametrize("algorithm", ["sha1", "sha256"])


def write_pack(folder: Path, algorithm: str, objects: list[tuple[bytes, bytes]]) -> Path:
    """Write objects by kind and content as a pack, and return its index's path."""
    import hashlib

    with (folder / "tmp").open("w+b") as file:
        writer = PackWriter(file, algorithm)
        for kind, data in objects:
            whole = b"%s %d\0%s" % (kind, len(data), data)
            writer.add(hashlib.new(algorithm, whole).digest(), kind, data)
        checksum, index = writer.finish()
    path = folder / f"pack-{checksum.hex()}.idx"
    path.write_bytes(index)
    (folder / "tmp").rename(path.with_suffix(".pack"))
    return path


def opened(path: Path, algorithm: str) -> PackFile:
    """Open a pack that must open."""
    pack = open_pack(path, 20 if algorithm == "sha1" else 32)
    assert pack is not None
    return pack


def host(path: Path, algorithm: str) -> Forge:
    """Return a repository whose history has many versions of a long file."""
    forge = Forge(path, algorithm)
    rng = random.Random(7)
    lines = [f"line {n} {rng.random()}\n" for n in range(400)]
    parents: list[str] = []
    for n in range(25):
        lines[rng.randrange(400)] = f"changed in {n}\n"
        blob = forge.blob("".join(lines).encode())
        commit = forge.commit(forge.tree({"file": ("100644", blob)}), parents, f"number {n}")
        parents = [commit]
    forge.git("update-ref", "refs/heads/main", parents[0])
    return forge


@ALGORITHMS
@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("-c", "repack.useDeltaBaseOffset=false"),
        ("-c", "core.compression=0"),
        ("-c", "pack.packSizeLimit=1m"),
    ],
    ids=["offset deltas", "deltas by id", "stored", "one pack"],
)
def test_every_object_of_gits_packs_is_read_as_git_reads_it(
    tmp_path: Path, algorithm: str, settings: tuple[str, ...]
) -> None:
    """Chains of offset deltas, deltas by id, and other levels of deflating."""
    forge = host(tmp_path / "host", algorithm)
    forge.git(*settings, "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")
    (index,) = (forge.path / "objects/pack").glob("*.idx")
    pack = opened(index, algorithm)
    assert pack.count == 75
    for oid in pack.ids():
        offset = pack.find(oid)
        assert offset is not None
        kind, data = pack.read_at(offset)
        assert kind.decode() == forge.git("cat-file", "-t", oid.hex())
        assert data == forge.raw(oid.hex())
    pack.close()


@ALGORITHMS
@pytest.mark.parametrize("tables_after", [1, 1_000])
def test_what_is_not_in_a_pack_is_not_found(
    tmp_path: Path, algorithm: str, tables_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with the smallest and the largest ids, and ids that share a beginning."""
    monkeypatch.setattr("hikmah.ledger.packs._TABLES_AFTER", tables_after)
    pack = opened(
        write_pack(tmp_path, algorithm, [(b"blob", b"x%d" % n) for n in range(300)]), algorithm
    )
    size = 20 if algorithm == "sha1" else 32
    ids = list(pack.ids())
    assert all(pack.find(oid) is not None for oid in ids)
    for oid in (bytes(size), b"\xff" * size, ids[5][:8] + bytes(size - 8)):
        assert pack.find(oid) is None
    pack.close()


@ALGORITHMS
def test_git_accepts_what_the_writer_writes(tmp_path: Path, algorithm: str) -> None:
    """Every size of header, an empty object, and objects of all kinds."""
    forge = Forge(tmp_path / "store", algorithm)
    objects = [(b"blob", b"z" * size) for size in (0, 1, 15, 16, 2_047, 2_048, 300_000)]
    index = write_pack(forge.path / "objects/pack", algorithm, objects)
    forge.git("index-pack", "--verify", str(index.with_suffix(".pack")))
    forge.git("verify-pack", str(index))
    assert len(forge.git("cat-file", "--batch-all-objects", "--batch-check").splitlines()) == 7


def test_offsets_past_two_gibibytes_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index keeps large offsets in a table of their own."""
    path = write_pack(tmp_path, "sha1", [(b"blob", b"hello")])
    data = path.read_bytes()
    at = 8 + 1024 + 20 + 4
    large = data[:at] + struct.pack(">I", 0x80000000) + struct.pack(">Q", 12) + data[at + 4 :]
    path.write_bytes(large)
    pack = opened(path, "sha1")
    (oid,) = pack.ids()
    monkeypatch.setattr("hikmah.ledger.packs._TABLES_AFTER", 2)
    assert [pack.find(oid) for _ in range(4)] == [12] * 4
    assert pack.read_at(12) == (b"blob", b"hello")
    pack.close()


# ---- damage ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "data"),
    [
        pytest.param(".idx", b"", id="empty index"),
        pytest.param(".pack", b"", id="empty pack"),
        pytest.param(".idx", b"garbage" * 500, id="no index"),
        pytest.param(".pack", b"garbage" * 500, id="no pack"),
        pytest.param(".idx", b"\377tOc\0\0\0\2" + b"\0\0\0\1" * 256, id="index cut short"),
        pytest.param(".idx", b"\377tOc\0\0\0\2" + b"\1\0\0\0" * 255 + b"\0\0\0\3", id="no order"),
        pytest.param(".pack", b"PACK\0\0\0\2\0\0\0\7" + bytes(40), id="another count"),
    ],
)
def test_a_pack_that_makes_no_sense_does_not_open(tmp_path: Path, ending: str, data: bytes) -> None:
    """Opening says None, so that the caller goes the general way."""
    path = write_pack(tmp_path, "sha1", [(b"blob", b"x%d" % n) for n in range(3)])
    path.with_suffix(ending).write_bytes(data)
    assert open_pack(path, 20) is None


def test_a_missing_pack_does_not_open(tmp_path: Path) -> None:
    """Its index alone is no pack."""
    path = write_pack(tmp_path, "sha1", [(b"blob", b"x")])
    path.with_suffix(".pack").unlink()
    assert open_pack(path, 20) is None


def entry_pack(folder: Path, entry: bytes) -> PackFile:
    """Return a pack whose only entry, at 12, is these bytes."""
    path = write_pack(folder, "sha1", [(b"blob", b"x")])
    packed = path.with_suffix(".pack")
    packed.write_bytes(packed.read_bytes()[:12] + entry + bytes(20))
    return opened(path, "sha1")


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xb0" + b"\x80" * 60, id="header without end"),
        pytest.param(entry_header(5, 3) + b"abc", id="unknown kind"),
        pytest.param(entry_header(3, 1 << 40), id="a tebibyte"),
        pytest.param(entry_header(3, 3) + b"nonsense", id="does not inflate"),
        pytest.param(entry_header(6, 3) + distance_bytes(5_000), id="base before the file"),
        pytest.param(entry_header(6, 3) + b"\xff" * 40, id="distance without end"),
        pytest.param(entry_header(6, 3) + b"\0", id="its own base"),
        pytest.param(entry_header(7, 3) + b"\1" * 20 + b"abc", id="base not there"),
        pytest.param(entry_header(7, 3) + b"\1" * 5, id="base id cut short"),
    ],
)
def test_an_entry_that_makes_no_sense_is_damage(tmp_path: Path, entry: bytes) -> None:
    """Nothing reads past the end, loops, or gives back half an object."""
    pack = entry_pack(tmp_path, entry)
    with pytest.raises(DamagedError):
        pack.read_at(12)
    pack.close()


def test_offsets_outside_the_pack_are_damage(tmp_path: Path) -> None:
    """An index may say anything."""
    pack = entry_pack(tmp_path, b"x")
    for offset in (0, 11, 1 << 40):
        with pytest.raises(DamagedError):
            pack.read_at(offset)
    pack.close()


def test_content_longer_or_shorter_than_it_says_is_damage(tmp_path: Path) -> None:
    """The inflated size must be the header's, for small and for large objects."""
    import zlib

    for size in (100, 100_000):
        for body in (b"x" * (size - 1), b"x" * (size + 1), b"x" * size * 50):
            folder = tmp_path / f"{size}-{len(body)}"
            folder.mkdir()
            pack = entry_pack(folder, entry_header(3, size) + zlib.compress(body))
            with pytest.raises(DamagedError):
                pack.read_at(12)
            pack.close()


def test_content_that_deflates_badly_is_read_all_the_same(tmp_path: Path) -> None:
    """Another writer may have stored what zlib would have deflated, in many small blocks."""
    import zlib

    data = random.Random(1).randbytes(70_000)
    for size in (1_400, 70_000):
        stream = zlib.compressobj(0)
        body = b"".join(
            stream.compress(data[at : at + 7]) + stream.flush(zlib.Z_FULL_FLUSH)
            for at in range(0, size, 7)
        )
        folder = tmp_path / str(size)
        folder.mkdir()
        pack = entry_pack(folder, entry_header(3, size) + body + stream.flush())
        assert pack.read_at(12) == (b"blob", data[:size])
        pack.close()


def test_deltas_in_a_circle_are_damage(tmp_path: Path) -> None:
    """Two deltas by id that name each other end in an error, not in a loop."""
    import zlib

    path = write_pack(tmp_path, "sha1", [(b"blob", b"a" * 50), (b"blob", b"b" * 50)])
    one, two = opened(path, "sha1").ids()
    delta = zlib.compress(b"\x01\x01\x01x")
    first = entry_header(7, 4) + two + delta
    second = entry_header(7, 4) + one + delta
    packed = path.with_suffix(".pack")
    packed.write_bytes(b"PACK\0\0\0\2\0\0\0\2" + first + second + bytes(20))
    data = path.read_bytes()
    at = 8 + 1024 + 2 * 20 + 2 * 4
    path.write_bytes(data[:at] + struct.pack(">II", 12, 12 + len(first)) + data[at + 8 :])
    pack = opened(path, "sha1")
    with pytest.raises(DamagedError, match="circle"):
        pack.read_at(12)
    pack.close()


@given(st.binary(max_size=60), st.binary(max_size=40))
def test_any_bytes_as_a_delta_give_an_answer_or_damage(base: bytes, delta: bytes) -> None:
    """Hostile deltas raise one error and nothing else."""
    try:
        apply_delta(base, bytes([len(base)]) + delta)
    except DamagedError:
        return


# ---- deltas ----------------------------------------------------------------------------


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_a_prefix_delta_makes_its_target(base: bytes, target: bytes) -> None:
    """Whatever the two share."""
    assert apply_delta(base, prefix_delta(base, target, 20)) == target


@given(st.binary(min_size=30, max_size=90_000), st.integers(0, 90_000), st.binary(max_size=40))
def test_a_prefix_delta_is_short_when_the_target_is_a_beginning(
    base: bytes, length: int, rest: bytes
) -> None:
    """A copy instruction for each 64 KiB, and what differs."""
    target = base[:length] + rest
    delta = prefix_delta(base, target, 20)
    assert apply_delta(base, delta) == target
    assert len(delta) <= 30 + len(rest) + 8


LINES = st.lists(st.sampled_from([b"a\n", b"bb\n", b"ccc: 1\n", b"", b"x" * 300 + b"\n", b"end"]))


@given(LINES, LINES)
def test_a_line_delta_makes_its_target(base: list[bytes], target: list[bytes]) -> None:
    """Lines in any order, doubled, or without an end."""
    joined = b"".join(target)
    assert apply_delta(b"".join(base), LineBase(b"".join(base)).delta(joined)) == joined


def test_git_applies_our_deltas(tmp_path: Path) -> None:
    """A pack of deltas by both makers passes git's own check."""
    import hashlib

    base = b"".join(b"line %d\n" % n for n in range(20_000))
    targets = [base[:70_000], base[:66] + b"tail", base.replace(b"line 7\n", b"seven\n")]
    with (tmp_path / "tmp.pack").open("w+b") as file:
        writer = PackWriter(file, "sha1")
        ids = [hashlib.sha1(b"blob %d\0" % len(d) + d).digest() for d in (base, *targets)]
        writer.add(ids[0], b"blob", base)
        writer.add_delta(ids[1], ids[0], prefix_delta(base, targets[0], 20))
        writer.add_delta(ids[2], ids[0], prefix_delta(base, targets[1], 20))
        writer.add_delta(ids[3], ids[0], LineBase(base).delta(targets[2]))
        writer.add_delta(ids[3], ids[0], b"a second time is left alone")
        assert len(writer) == 4
        _, index = writer.finish()
    (tmp_path / "tmp.idx").write_bytes(index)
    listed = subprocess.run(
        ["git", "verify-pack", "-v", str(tmp_path / "tmp.idx")],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert all(oid.hex() in listed for oid in ids)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 300, 16_383, 16_384, 0x10000, 70_000])
def test_deltas_of_every_size_apply(size: int) -> None:
    """Sizes of one, two and three bytes; a length of nought stands for 65,536."""
    base = bytes(n % 251 for n in range(size))
    assert apply_delta(base, prefix_delta(base, base + b"more", 20)) == base + b"more"
    assert apply_delta(base, prefix_delta(base, base[: size // 2], 20)) == base[: size // 2]


def test_two_bytes_of_length_that_are_nought_stand_for_the_longest() -> None:
    """Git reads a copy of no length as one of 65,536 bytes, however it is written."""
    base = bytes(n % 251 for n in range(0x10000))
    sizes = b"\x80\x80\x04" * 2
    for copy in (b"\x80", b"\xb0\0\0", b"\x90\0", b"\xb1\0\0\0"):
        assert apply_delta(base, sizes + copy) == base


@pytest.mark.parametrize("end", range(4, 9))
def test_a_delta_cut_short_anywhere_is_damage(end: int) -> None:
    """Also inside the instruction that copies a beginning."""
    base = bytes(300)
    delta = prefix_delta(base, base[:280] + b"12345", 20)
    assert delta[4] == 0xB0
    with pytest.raises(DamagedError):
        apply_delta(base, delta[:end])
