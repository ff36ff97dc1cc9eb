"""Auditors with a partial clone: the commands of docs/scale.md, run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from hikmah.ledger.verify import verify
from tests import world

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"


@pytest.fixture
def blocks() -> list[str]:
    """Return the page's shell blocks."""
    return re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_an_auditor_needs_no_records_until_all_are_verified(
    blocks: list[str], tmp_path: Path
) -> None:
    """The log and its changes are told without a blob; a completed clone verifies."""
    server = world.ledger(world.repository(tmp_path / "server.git", "--bare"))
    for number in range(5):
        world.put(server, f"record {number}")
    world.git(server.store.common_dir, "config", "uploadpack.allowFilter", "true")
    audit, complete = blocks
    url = f"file://{tmp_path / 'server.git'}"

    def run(script: str, folder: Path) -> str:
        done = subprocess.run(
            ["bash", "-e", "-c", script.replace("URL", url)],
            cwd=folder,
            env=world.environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    lines = run(audit, tmp_path).splitlines()
    assert len(lines) == 6
    assert lines[0].endswith("record 4")
    here = world.reopened(tmp_path / "audit")
    there = world.git(tmp_path / "audit", "cat-file", "--batch-all-objects", "--batch-check")
    assert " blob " not in there
    assert {problem.code for problem in verify(here).errors} == {"missing_object"}
    run(complete, tmp_path / "audit")
    here.store.close()
    assert verify(world.reopened(tmp_path / "audit")).ok
