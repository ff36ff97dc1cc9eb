"""Space: packs what appends leave loose, and merges a ledger's own packs.

Rules the module keeps:

1. Only what the ledger's history reaches and stands loose is packed; a host project's
   objects stay as they are. Nothing unreachable is pruned: what stood in an own pack is
   carried into the next.
2. One append does bounded work: it packs some 1,000 loose objects, or merges a few small
   packs by copying their entries. Only `compact` does everything.
3. What is replaced goes last (`hikmah.ledger.ownpacks`).

All functions need the writer lock (`hikmah.ledger.append.locked`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

import msgspec

from hikmah.errors import StoreError
from hikmah.ledger import durable
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.findings import Progress
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.objects import RawObject
from hikmah.ledger.ownpacks import Own, OwnPacks
from hikmah.ledger.packing import Packer
from hikmah.ledger.packs import DamagedError, PackFile
from hikmah.ledger.packwriter import PackWriter

# About 1,000 loose objects at six an append: 110 ms to pack, and below git's `gc.auto`.
TIDY_EVERY = 170
# So many own packs of one size class become one of the next; the last class stays.
MERGE_AT = 8
SIZE_CLASSES = (6_000, 48_000)  # objects
_STEP = 500  # commits between two calls of `progress`


class PackReport(msgspec.Struct, frozen=True, kw_only=True):
    """What packing did; `damaged` names objects that stayed where they were."""

    objects: int = 0
    loose_removed: int = 0
    packs_removed: int = 0
    freed_bytes: int = 0
    written_bytes: int = 0
    damaged: tuple[str, ...] = ()


def tidy(ledger: Ledger, seq: int) -> PackReport | None:
    """Pack what appends left loose, when there is enough of it; merge small packs.

    Args:
        ledger: The ledger.
        seq: Its largest sequence number.

    Returns:
        What was done, or None when nothing was due.

    Raises:
        StoreError: The disk refused; every object is still there.
    """
    packs = OwnPacks(ledger)
    noted = packs.read()
    if 0 <= seq - noted.seq < TIDY_EVERY and noted.sweep is None:
        return None
    with _disk(ledger):
        own = packs.change(packs.settle(), seq=seq)
        done = _rewrite(ledger, packs, own, everything=False)
        merged = _merge_small(packs, packs.read())
    return done if merged is None else _both(done, merged)


def _both(one: PackReport, other: PackReport) -> PackReport:
    """Return the sum of two reports."""
    pairs = zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True)
    return PackReport(
        **{name: a + b for name, (a, b) in zip(PackReport.__struct_fields__, pairs, strict=True)}
    )


def compact(ledger: Ledger, *, progress: Progress | None = None) -> PackReport:
    """Put every object of a ledger that is loose, or in an own pack, into one pack.

    Args:
        ledger: The ledger.
        progress: Called now and then with commits walked so far, and 0 for "not known".

    Raises:
        StoreError: The disk refused; every object is still there.
    """
    packs = OwnPacks(ledger)
    with _disk(ledger):
        own = packs.settle()
        return _rewrite(ledger, packs, own, everything=True, progress=progress)


def write_batch_pack(ledger: Ledger, objects: Iterable[RawObject]) -> str:
    """Write objects as one pack, durably, before anything refers to them.

    Returns:
        The pack's name, for `release_batch_pack` once the ref has moved.

    Raises:
        StoreError: The disk refused; nothing refers to what was written.
    """
    packs = OwnPacks(ledger)
    with _disk(ledger):
        own = packs.settle()
        with packs.writer() as writer:
            for raw in objects:
                writer.add(bytes.fromhex(raw.oid), raw.kind, raw.data)
            checksum, index = writer.finish()
        name = f"pack-{checksum.hex()}"
        own = packs.change(own, keep=name)
        # Until the ref moves nothing reaches these objects: `git repack -ad` must not take them.
        durable.unlink(packs.path(name, ".keep"))
        durable.write_new(packs.path(name, ".keep"), b"hikmah: a batch is being written\n")
        packs.publish(own, name, index)
        return name


def release_batch_pack(ledger: Ledger, name: str) -> None:
    """Let go of a batch's pack: the ref reaches its objects now."""
    packs = OwnPacks(ledger)
    with _disk(ledger):
        durable.unlink(packs.path(name, ".keep"))
        packs.change(packs.read(), keep=None)


@contextlib.contextmanager
def _disk(ledger: Ledger) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise StoreError(
            f"cannot pack {ledger.ref}: {e.strerror or e}",
            hint="check free space and permissions; every object is still there",
            where=str(ledger.store.objects_dir),
        ) from e


# ---- packing from history --------------------------------------------------------------


def _rewrite(
    ledger: Ledger,
    packs: OwnPacks,
    own: Own,
    *,
    everything: bool,
    progress: Progress | None = None,
) -> PackReport:
    """Write one pack of what is loose (and, for everything, of all own packs); then sweep."""
    loose = {oid for oid, _ in packs.loose()}
    with contextlib.ExitStack() as stack:
        old = _opened(packs, own.packs, stack) if everything else []

        def wanted(oid: str) -> bool:
            return oid in loose or any(p.find(bytes.fromhex(oid)) is not None for p in old)

        reader = stack.enter_context(ObjectReader(ledger.store))
        with packs.writer() as writer:
            packer = Packer(reader.read, writer, ledger.algorithm, wanted)
            head = ledger.tip_commit()
            if head is not None:
                packer.add_history(head, to_the_end=everything, tick=_ticker(progress))
            for pack in old:
                packer.add_rest(oid.hex() for oid in pack.ids())
            checksum, index = writer.finish()
        drop = tuple(p.path.stem for p in old if not _holds_any(p, packer.damaged))
    if not len(writer):
        packs.discard()
        return PackReport(damaged=tuple(sorted(packer.damaged)))
    report = _replace(packs, own, f"pack-{checksum.hex()}", index, drop)
    return msgspec.structs.replace(
        report, objects=len(writer), damaged=tuple(sorted(packer.damaged))
    )


def _opened(packs: OwnPacks, names: Iterable[str], stack: contextlib.ExitStack) -> list[PackFile]:
    """Open own packs; one that does not open is left alone."""
    found = [pack for name in names if (pack := packs.open(name)) is not None]
    for pack in found:
        stack.enter_context(contextlib.closing(pack))
    return found


def _holds_any(pack: PackFile, oids: Iterable[str]) -> bool:
    return any(pack.find(bytes.fromhex(oid)) is not None for oid in oids)


def _replace(
    packs: OwnPacks, own: Own, name: str, index: bytes, drop: tuple[str, ...]
) -> PackReport:
    own = packs.publish(own, name, index)
    own = packs.change(own, sweep=name, drop=drop)
    written = sum(packs.path(name, ending).stat().st_size for ending in (".pack", ".idx"))
    _, swept = packs.sweep(own)
    return PackReport(
        loose_removed=swept.loose,
        packs_removed=swept.packs,
        freed_bytes=swept.freed_bytes,
        written_bytes=written,
    )


def _ticker(progress: Progress | None) -> Callable[[], None]:
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None and done % _STEP == 0:
            progress(done, 0)

    return tick


# ---- merging small packs ---------------------------------------------------------------


def _merge_small(packs: OwnPacks, own: Own) -> PackReport | None:
    """Merge the packs of one size class when there are enough; None when there are not."""
    with contextlib.ExitStack() as stack:
        opened = _opened(packs, own.packs, stack)
        some = _crowded(opened)
        if not some:
            return None
        with packs.writer() as writer:
            try:
                _copy_entries(some, writer)
            except DamagedError as e:
                checksum, index, why = b"", b"", e.message
            else:
                (checksum, index), why = writer.finish(), ""
        drop = tuple(pack.path.stem for pack in some)
    if why:
        # Left as they are: verification names what is damaged, and `compact` goes round it.
        packs.discard()
        return PackReport(damaged=(why,))
    report = _replace(packs, own, f"pack-{checksum.hex()}", index, drop)
    return msgspec.structs.replace(report, objects=len(writer))


def _crowded(opened: list[PackFile]) -> list[PackFile]:
    """Return the packs of the smallest size class that holds too many."""
    lower = 0
    for upper in SIZE_CLASSES:
        some = [pack for pack in opened if lower <= pack.count < upper]
        if len(some) >= MERGE_AT:
            return some
        lower = upper
    return []


def _copy_entries(some: list[PackFile], writer: PackWriter) -> None:
    # Newest first, as a reader looks for the newest things.
    for pack in reversed(some):
        for entry in pack.entries():
            writer.add_entry(entry)
