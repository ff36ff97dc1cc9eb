"""Two repositories and an address between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikmah.ledger.ledger import Ledger
from tests import world


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return an empty bare repository: the remote."""
    return world.repository(tmp_path / "remote.git", "--bare")


@pytest.fixture
def here(tmp_path: Path) -> Ledger:
    """Return a ledger with two records."""
    ledger = world.ledger(world.repository(tmp_path / "here"))
    world.put(ledger, "one")
    world.put(ledger, "two")
    return ledger
