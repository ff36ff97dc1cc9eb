"""Files as the system that came before wrote them, made by its formula."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from blake3 import blake3

AT_MS = 1_796_045_373_295


def trace(name: str, content: str = "something", **fields: Any) -> dict[str, Any]:
    """Return a payload that remembers a trace."""
    provenance = {
        "source": "runbook",
        "locator": None,
        "observed_at_ms": AT_MS,
        "authority": 0.5,
        "verified": False,
    }
    old = {
        "id": name,
        "kind": "observation",
        "content": content,
        "tags": [],
        "created_at_ms": AT_MS,
        "deadline_ms": None,
        "salience": 0.5,
        "confidence": 0.5,
        "privacy": "private",
        "provenance": provenance | fields.pop("provenance", {}),
        "claim_key": None,
        "claim_value": None,
        "supersedes": None,
    }
    return {"type": "remember", "trace": old | fields}


def ledger(payloads: Iterable[object], version: int = 1) -> bytes:
    """Return a file of payloads with a whole chain."""
    previous, lines = "GENESIS", []
    for seq, payload in enumerate(payloads, start=1):
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        previous, line = link(seq, previous, text, version)
        lines.append(line)
    return "".join(lines).encode()


def link(seq: int, previous: str, payload: str, version: int = 1) -> tuple[str, str]:
    """Return the hash of one line, and the line."""
    marker = "" if version == 1 else f'"v":{version},'
    if version == 1:
        told = f'{{"seq":{seq},"prev_hash":"{previous}","payload":{payload}}}'
    else:
        told = f"hikmah-ledger-v2\n{seq}\n{previous}\n{payload}"
    digest = blake3(told.encode()).hexdigest()
    start = f'{{"seq":{seq},"prev_hash":"{previous}",{marker}"payload":{payload}'
    return digest, f'{start},"hash":"{digest}"}}\n'


# A tour: a claim corrected, a promise kept, a trace purged, two claims that disagree, another
# script, and a supersession that its own trace tells already.
TOUR: tuple[dict[str, Any], ...] = (
    trace(
        "tr_1", "Migration failed", tags=["database"], salience=0.9, provenance={"verified": True}
    ),
    trace("tr_2", "Checkout runs on 14", kind="belief", claim_key="db", claim_value="14"),
    trace(
        "tr_3",
        "Checkout runs on 16",
        kind="correction",
        created_at_ms=AT_MS + 40,
        claim_key="db",
        claim_value="16",
        supersedes="tr_2",
    ),
    {"type": "supersede", "old_id": "tr_2", "new_id": "tr_3"},
    trace("tr_4", "Send the report", kind="commitment", deadline_ms=AT_MS + 86_400_000),
    {"type": "fulfill", "id": "tr_4"},
    trace("tr_5", "数据库迁移失败:锁超时", tags=["数据库"], privacy="public"),
    trace("tr_6", "eu-west serves", kind="belief", claim_key="region", claim_value="eu-west"),
    trace("tr_7", "us-east serves", kind="belief", claim_key=" Region", claim_value="us-east"),
    trace("tr_8", "no longer wanted", created_at_ms=AT_MS + 99),
    {"type": "purge", "id": "tr_8", "reason": "asked for by a customer"},
    trace("tr_9", "replaced later", kind="procedure", confidence=0.77),
    trace("tr_10", "the replacement", kind="procedure"),
    {"type": "supersede", "old_id": "tr_9", "new_id": "tr_10"},
)
