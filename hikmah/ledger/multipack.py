"""An index over several packs (`git multi-pack-index`), when one of them goes.

Git trusts such an index before the packs' own: when it names a pack that is not there, git
cannot read objects that stand elsewhere, and `git fsck` and `git gc` fail. So it goes first,
as it does in `git repack`; git then asks each pack's own index, and maintenance writes a new
one. It is derived and holds nothing else. Formats: gitformat-pack(5), "multi-pack-index".
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from hikmah.ledger import durable

_FILE = "multi-pack-index"
_CHAIN = "multi-pack-index.d"  # since git 2.47: layers, listed in one file
# What may lie beside it is named after its checksum and is of no use without it.
_BESIDE = ("multi-pack-index-*.rev", "multi-pack-index-*.bitmap")


def let_go(folder: Path, names: Iterable[str]) -> None:
    """Remove an index over several packs that names one of those about to go.

    Args:
        folder: `objects/pack`.
        names: The packs, as `pack-<checksum>`.

    Raises:
        OSError: It cannot be looked into or removed; the packs must then stay.
    """
    listed = [f"{name}.idx\0".encode() for name in names]
    for index, rest in (_single(folder), _layered(folder / _CHAIN)):
        if any(name in _content(file) for file in index for name in listed):
            for file in (*index, *rest):
                durable.unlink(file)
            durable.sync_folder(folder)


def _single(folder: Path) -> tuple[list[Path], list[Path]]:
    return [folder / _FILE], [file for form in _BESIDE for file in sorted(folder.glob(form))]


def _layered(chain: Path) -> tuple[list[Path], list[Path]]:
    """Return the file that lists the layers first: without it none of them counts."""
    layers = sorted(chain.glob("multi-pack-index-*.midx"))
    beside = [file for form in _BESIDE for file in sorted(chain.glob(form))]
    return [chain / "multi-pack-index-chain", *layers], beside


def _content(file: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return file.read_bytes()
    return b""
