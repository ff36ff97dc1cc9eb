"""Fault points: every durable step of the ledger room is a place to be killed at."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from hikmah.ledger import durable

STEPS = ("create", "write_new", "sync_handle", "sync_folder", "replace", "link", "unlink", "append")


def dies_at(at: int, action: Callable[[], object]) -> bool:
    """Act in a child process that kills itself at a step; tell whether it got that far."""
    child = os.fork()
    if child == 0:
        try:
            _arm(at)
            action()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _arm(at: int) -> None:
    """Count durable steps (before, half-way, after) and die at one of them."""
    points = iter(range(1, 10_000))

    def point() -> None:
        if next(points) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in STEPS:
        real = getattr(durable, name)

        def stand_in(*args: object, real: Callable[..., object] = real, name: str = name) -> object:
            point()
            if name in {"create", "write_new", "append"} and next(points) == at:
                whole = args[1]
                assert isinstance(whole, bytes)
                half = whole[: len(whole) // 2]
                Path(str(args[0])).write_bytes(half)
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*args)
            point()
            return result

        setattr(durable, name, stand_in)
