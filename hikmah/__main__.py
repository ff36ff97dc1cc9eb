"""The command's entry point: the `hikmah` script and `python -m hikmah`.

A command in `EARLY` runs before click is imported, because what starts it (a host's event)
pays for every millisecond; all others go to `hikmah.cli`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

# name -> (module, function taking the remaining words and returning an exit code)
EARLY: dict[str, tuple[str, str]] = {"hook": ("hikmah.gate.hook", "main")}
HELP = frozenset({"-h", "--help"})
INTERRUPTED = 130
# Python looks for unreachable objects each time 700 more were made: a twentieth of a start,
# which makes none. A long run still looks, less often.
NEW_OBJECTS = 100_000


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Args:
        words: The command line without the program's name; the process's own when None.
    """
    gc.set_threshold(NEW_OBJECTS)
    given = list(sys.argv[1:] if words is None else words)
    early = bool(given) and given[0] in EARLY and HELP.isdisjoint(given)
    module, function = EARLY[given[0]] if early else ("hikmah.cli.entry", "run")
    rest = given[1:] if early else given
    try:
        command: Callable[[list[str]], int] = getattr(import_module(module), function)
        return command(rest)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if words is None:  # the process ends here, and need not look for garbage on its way out
            gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
