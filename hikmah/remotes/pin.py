"""A pin: what a ledger's head was, to be kept where its writers cannot reach.

Example:
    {"ledger": "5eed...", "name": "memory", "seq": 12, "commit": "9c1f...", "at_ms": 1800000000000}
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from hikmah.errors import DecodeError, IntegrityError, NotFoundError, StoreError
from hikmah.ledger import durable
from hikmah.ledger.ancestry import descends
from hikmah.ledger.append import disagreement
from hikmah.ledger.ledger import Ledger
from hikmah.model.trace import FULL_ID, TimeMs

_MAX_BYTES = 4_096


class Pin(Struct, frozen=True, kw_only=True):
    """A ledger (by its id and name), the head it had, and when that was noted."""

    ledger: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    name: str
    seq: Annotated[int, Meta(ge=0)]
    commit: Annotated[str, Meta(pattern=f"^(?:{FULL_ID})$")]
    at_ms: TimeMs


def pin_of(ledger: Ledger, *, at_ms: int) -> Pin:
    """Return a pin of the present head.

    Raises:
        NotFoundError: There is no such ledger.
        IntegrityError: Ref and acknowledged head disagree: there is no head to vouch for.
    """
    standing = ledger.standing()
    if standing.kind == "empty":
        raise NotFoundError(f"no ledger {ledger.name!r} here", hint="`hikmah init` makes one")
    if standing.tip is None or standing.kind not in {"equal", "unanchored"}:
        raise disagreement(ledger, standing)
    tip = ledger.tip(standing.tip)
    genesis = ledger.genesis(tip.root)
    return Pin(ledger=genesis.ledger, name=ledger.name, seq=tip.seq, commit=tip.commit, at_ms=at_ms)


def read_pin(path: Path) -> Pin:
    """Read a pin from a file.

    Raises:
        NotFoundError: The file cannot be read.
        DecodeError: It holds no pin.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as e:
        raise NotFoundError(
            f"cannot read the pin {path}: {e.strerror or e}",
            hint="`hikmah pin --write FILE` makes one",
            where=str(path),
        ) from e
    try:
        return msgspec.json.decode(data, type=Pin)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
        raise DecodeError(f"{path} holds no pin: {e}", where=str(path)) from e


def write_pin(path: Path, pin: Pin, ledger: Ledger) -> None:
    """Write a pin to a file; an older one there must be behind it.

    Raises:
        DecodeError: Something else than a pin is there.
        IntegrityError: The older pin is of another ledger, or not in this history.
        StoreError: It cannot be written.
    """
    if path.exists() or path.is_symlink():
        older = read_pin(path)
        held = older.ledger == pin.ledger and ledger.store.has(older.commit)
        if not held or not descends(ledger.store.read, pin.commit, older.commit, ledger.algorithm):
            raise IntegrityError(
                f"{path} pins {older.commit} of ledger {older.ledger}, which is not behind "
                f"{pin.commit}; it was left as it is",
                hint=f"`hikmah verify-ledger --pin {path}` says more; write to another file",
                where=str(path),
            )
    text = msgspec.json.format(msgspec.json.encode(pin), indent=2) + b"\n"
    try:
        durable.write_atomic(path.resolve(), text)
    except OSError as e:
        raise StoreError(f"cannot write {path}: {e.strerror or e}", where=str(path)) from e
