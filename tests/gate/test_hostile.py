"""Repetition made to wedge a pattern is judged all the same."""

from __future__ import annotations

import pytest

from hikmah.gate.rules import rules_verdict
from tests.bench.gate import SHAPES

SIZE = 200_000  # characters: with quadratic work a case here would take hours


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_hostile_repetition_does_not_hide_an_open_claim(shape: str) -> None:
    """Faults row 19: a message of repetitions ends in a verdict, and the verdict is right."""
    hostile = shape * (SIZE // len(shape))
    assert rules_verdict(f"All done! TODO: wire the retry path.\n\n{hostile}")
