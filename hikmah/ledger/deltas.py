"""Deltas that append-only history makes small: copy a shared beginning, add.

In one folder every older tree is a beginning of the newest one (a folder's last entry may
have changed its id), so one copy and at most one id make it. Records and commits share
whole lines with their like. Pure; the format is gitformat-pack(5), "Deltified representation".
"""

from __future__ import annotations

_COPY_MOST = 0xFFFF  # longer copies are split: old readers take two bytes of length
_INSERT_MOST = 127


def prefix_delta(base: bytes, target: bytes, id_bytes: int) -> bytes:
    """Return the delta that copies what both begin with and inserts the rest of the target."""
    shared = _shared_prefix(base, target, id_bytes)
    parts = [_size(len(base)), _size(len(target))]
    parts += _copies(0, shared)
    parts += _inserts(target[shared:])
    return b"".join(parts)


def _shared_prefix(base: bytes, target: bytes, id_bytes: int) -> int:
    if base.startswith(target):
        return len(target)
    if len(target) >= id_bytes and base.startswith(target[:-id_bytes]):
        return len(target) - id_bytes
    low, high = 0, min(len(base), len(target))
    while low < high:
        middle = (low + high + 1) // 2
        if base[:middle] == target[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class LineBase:
    """A text that others are expressed by: lines of it are copied, the rest is inserted."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._at: dict[bytes, int] = {}
        at = 0
        for line in data.splitlines(keepends=True):
            self._at.setdefault(line, at)
            at += len(line)

    def delta(self, target: bytes) -> bytes:
        """Return the delta that makes the target of this text."""
        parts = [_size(len(self.data)), _size(len(target))]
        fresh: list[bytes] = []
        start = length = 0
        for line in target.splitlines(keepends=True):
            at = self._at.get(line)
            if at is None:
                parts += _copies(start, length)
                length = 0
                fresh.append(line)
                continue
            if fresh:
                parts += _inserts(b"".join(fresh))
                fresh.clear()
            if length and start + length == at:
                length += len(line)
                continue
            parts += _copies(start, length)
            start, length = at, len(line)
        parts += _copies(start, length)
        parts += _inserts(b"".join(fresh))
        return b"".join(parts)


def _size(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _copies(start: int, length: int) -> list[bytes]:
    parts: list[bytes] = []
    while length:
        step = min(length, _COPY_MOST)
        parts.append(_copy(start, step))
        start += step
        length -= step
    return parts


def _copy(start: int, length: int) -> bytes:
    op = 0x80
    operands = bytearray()
    for bit, byte in ((0x01, start), (0x02, start >> 8), (0x04, start >> 16), (0x08, start >> 24)):
        if byte & 0xFF:
            op |= bit
            operands.append(byte & 0xFF)
    for bit, byte in ((0x10, length), (0x20, length >> 8)):
        if byte & 0xFF:
            op |= bit
            operands.append(byte & 0xFF)
    return bytes((op,)) + bytes(operands)


def _inserts(data: bytes) -> list[bytes]:
    parts: list[bytes] = []
    for at in range(0, len(data), _INSERT_MOST):
        piece = data[at : at + _INSERT_MOST]
        parts += [bytes((len(piece),)), piece]
    return parts
