"""Many ledgers in one repository: what one of them costs to list, fetch and push.

Each ledger is a ref with a genesis of its own; `loose` has them as files, else they are
packed. The server is reached by path, so that no network is in the figures; `offered KiB` is
what a push is told before it begins, which grows with the refs. Times are processor time of
all processes, the least of several rounds.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hikmah.ledger.chain import Genesis, genesis_data, genesis_message
from tests.bench.guard import children_ms, run_program
from tests.bench.measuring import Row

_LOOSE = 10_000
COUNTS = (1, 100, 1_000, 10_000)


def run(sizes: Sequence[int]) -> list[Row]:
    """Measure each number of ledgers; sizes are numbers of refs here."""
    wanted = COUNTS if tuple(sizes) == (1_000, 10_000, 100_000) else tuple(sizes)
    kept = [(count, packed) for count in wanted for packed in (True, False)]
    # Nobody keeps more than this many refs as files: `git gc` packs them.
    return [_measure(count, packed=packed) for count, packed in kept if packed or count <= _LOOSE]


def _measure(count: int, *, packed: bool) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        server, client = Path(folder) / "server.git", Path(folder) / "client"
        for path in (server, client):
            run_program(Path(folder), "git", "init", "-q", "--bare", str(path))
        _fill(server, count)
        if packed:
            run_program(server, "git", "pack-refs", "--all")
        mine = "refs/hikmah/team-00000"
        run_program(client, "git", "fetch", "-q", str(server), f"{mine}:{mine}")
        first = run_program(client, "git", "rev-parse", mine).strip()
        commit = _on_top(client, first)

        def fetch() -> None:
            run_program(client, "git", "fetch", "-q", str(server), f"+{mine}:refs/x/one")
            run_program(client, "git", "update-ref", "-d", "refs/x/one")

        def push() -> None:
            run_program(client, "git", "push", "-q", str(server), f"+{commit}:{mine}")
            run_program(server, "git", "update-ref", mine, first)

        offered = subprocess.run(
            ["git", "receive-pack", "--advertise-refs", str(server)],
            capture_output=True,
            check=True,
        ).stdout
        return {
            "refs": count,
            "kept": "packed" if packed else "loose",
            "list all ms": children_ms(lambda: _ls_remote(client, server, "refs/hikmah/*")),
            "list one ms": children_ms(lambda: _ls_remote(client, server, mine)),
            "fetch one ms": children_ms(fetch),
            "push one ms": children_ms(push),
            "offered KiB": round(len(offered) / 1024, 1),
        }


def _ls_remote(client: Path, server: Path, pattern: str) -> str:
    return run_program(client, "git", "ls-remote", str(server), pattern)


def _on_top(client: Path, parent: str) -> str:
    """Write a commit on a ledger's genesis; git does not ask whether it is an honest one."""
    tree = run_program(client, "git", "rev-parse", f"{parent}^{{tree}}").strip()
    words = ("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-p", parent)
    return run_program(client, "git", *words, "-m", "one more").strip()


def _fill(server: Path, count: int) -> None:
    """Begin so many ledgers, through `git fast-import`."""
    lines: list[bytes] = []
    for number in range(count):
        genesis = Genesis(
            format="hikmah/1", ledger=f"{number:032x}", name="memory", created_at_ms=0
        )
        message, data = genesis_message(genesis), genesis_data(genesis)
        lines += [
            b"commit refs/hikmah/team-%05d\ncommitter hikmah <hikmah@localhost> 0 +0000" % number,
            b"data %d\n%s" % (len(message), message),
            b"M 100644 inline ledger.json\ndata %d\n%s" % (len(data), data),
        ]
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=server, input=b"\n".join(lines) + b"\n", check=True
    )
