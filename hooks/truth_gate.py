#!/usr/bin/env python3
"""Run the Truth Gate from this checkout, nothing installed: `truth_gate.py [--host HOST]`.

A launcher only: the rules are those of the package beside it (`hikmah/gate/`). Written so
that any Python reads it; one too old for the package allows the stop.
"""

import os
import sys


def run(words):
    """Hand over to the package's hook, or allow when it cannot be loaded."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
    try:
        from hikmah.gate.hook import main
    except BaseException:
        os.write(1, b"{}\n")
        return 0
    return main(words)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
