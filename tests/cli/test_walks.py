"""Walks through the commands whose output depends on what is, or is not, in the ledger."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

TEXT = ("--format", "text")


def test_an_empty_ledger_says_so(hikmah: Shell) -> None:
    """Nothing is an answer, exit 0."""
    assert hikmah("init").code == 0
    for words, said in (
        (("log",), "no records"),
        (("recall", "anything"), "nothing recalled: "),
        (("conflicts",), "no claims disagree"),
        (("commitments",), "nothing is due"),
    ):
        result = hikmah(*words, *TEXT)
        assert result.code == 0, result.err
        assert result.out.startswith(said)
    reply = hikmah("recall", "anything").document
    assert (reply["results"], reply["total"], reply["truncated"]) == ([], 0, False)
    assert reply["reason"]


@pytest.mark.parametrize("query", ["", "   ", "*", '""', "\u200b", "?!"])
def test_a_query_without_a_word_gets_an_empty_list_and_a_reason(query: str, hikmah: Shell) -> None:
    """Punctuation is never syntax, and never a crash."""
    hikmah("remember", "--content", "something")
    reply = hikmah("recall", "--query", query)
    assert reply.code == 0
    assert reply.document["results"] == []
    assert reply.document["reason"]


def test_words_apart_are_one_query(hikmah: Shell) -> None:
    """`recall WORDS` needs no quotes; an empty text stays a text, not a listing."""
    hikmah("remember", "--content", "the build needs a lock")
    apart = hikmah("recall", "what", "needs", "the", "lock", "--limit", "3").document
    assert [result["matched"] for result in apart["results"]]
    assert apart["receipt"]["query"]["text"] == "what needs the lock"
    assert hikmah("recall", "").document["receipt"]["query"]["text"] == ""


def test_a_batch_is_one_commit_and_says_what_is_new(hikmah: Shell) -> None:
    """Every field of the command line stands in a line, times as text or milliseconds."""
    lines = [
        {"content": "one", "kind": "belief", "tags": ["a", "b"], "source": "human:alex"},
        {"content": "two", "kind": "commitment", "deadline": "+48h"},
        {"content": "three", "claim_key": "k", "claim_value": "v", "valid_from": "2026-01-01"},
        {
            "content": "four",
            "claim": {"key": "k", "value": "w"},
            "valid_from_ms": 1_767_225_600_000,
        },
        {"content": "five", "idempotency_key": "five", "supersedes": None},
    ]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    result = hikmah("remember", "--batch", "-", "--now", "2026-06-01T00:00:00Z", stdin=data)
    assert result.code == 0, result.err
    document = result.document
    assert (document["schema"], document["written"]) == ("hikmah.remember-batch/1", 5)
    assert {item["commit"] for item in document["items"]} == {document["commit"]}
    promise = hikmah("show", document["items"][1]["id"]).document["trace"]
    assert promise["deadline_ms"] - promise["created_at_ms"] == 48 * 3_600_000
    third, fourth = (hikmah("show", i["id"]).document["trace"] for i in document["items"][2:4])
    assert third["valid_from_ms"] == fourth["valid_from_ms"]
    (hikmah.folder / "again.jsonl").write_bytes(data)
    again = hikmah("remember", "--batch", "again.jsonl", "--now", "2026-06-01T00:00:00Z", *TEXT)
    assert again.code == 0, again.err
    assert again.out.count("already remembered as") == 5
    assert "0 of 5 are new" in again.out


def test_a_retry_with_its_key_is_said_to_be_there_already(hikmah: Shell) -> None:
    """The first id comes back, whatever the clock."""
    words = ("remember", "--content", "once", "--idempotency-key", "k1")
    first = hikmah(*words).document
    second = hikmah(*words).document
    assert (second["id"], second["deduplicated"]) == (first["id"], True)
    assert hikmah(*words, *TEXT).out.startswith("already remembered as")


def test_a_person_verifies_what_an_agent_recorded(hikmah: Shell) -> None:
    """`--verified --supersedes ID` copies what is left out; the agent's words stay."""
    agent = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s-1"}
    words = ("--kind", "belief", "--tag", "ops", "--claim-key", "k", "--claim-value", "v")
    recorded = hikmah("remember", "--content", "the cache is warm", *words, env=agent).document
    trace = hikmah("show", recorded["id"]).document["trace"]
    assert trace["provenance"]["locator"] == "agent-session:claude-code:s-1"
    verified = hikmah("remember", "--verified", "--supersedes", recorded["id"][:10])
    assert verified.code == 0, verified.err
    shown = hikmah("show", verified.document["id"]).document["trace"]
    for name in ("content", "kind", "tags", "claim"):
        assert shown[name] == trace[name]
    assert shown["provenance"]["verified"] is True
    assert shown["supersedes"] == recorded["id"]


def test_a_switch_can_be_shown_too(hikmah: Shell) -> None:
    """`show` takes the id of any record."""
    promise = hikmah("remember", "--kind", "commitment", "--content", "x").document["id"]
    kept = hikmah("fulfill", promise, "--evidence", "see \x1b[31mred").document["id"]
    assert hikmah("show", kept).document["record"]["evidence"] == "see \x1b[31mred"
    text = hikmah("show", "--id", kept, *TEXT).out
    assert text.startswith(f"{kept}  fulfill")
    assert "see \\x1b[31mred" in text


def test_what_no_longer_holds_is_marked(hikmah: Shell) -> None:
    """A trace past its validity is recalled, and says so."""
    words = ("--valid-from", "2020-01-01", "--valid-until", "2021-01-01T00:00:00+02:00")
    trace = hikmah("remember", "--content", "the office is in Graz", *words).document["id"]
    assert "no longer valid: from 2020-01-01T00:00:00Z" in hikmah("recall", "office", *TEXT).out
    assert "no longer valid" in hikmah("show", trace, *TEXT).out
    assert hikmah("recall", "office").document["results"][0]["expired"] is True


def test_verbose_recall_says_what_matched_and_every_factor(hikmah: Shell) -> None:
    """The reason for each place is there for who asks."""
    stored = hikmah("remember", "--content", "the lock timed out", "--tag", "ops").document["id"]
    text = hikmah("recall", "lock", "--tag", "ops", "-v", *TEXT).out
    assert stored in text
    assert "matched lock (content), ops (tags)" in text
    assert "recency 1.000" in text
    assert stored not in hikmah("recall", "lock", *TEXT).out


def test_near_copies_and_stale_paraphrases_are_said(hikmah: Shell) -> None:
    """What was folded in, and what repeats a superseded trace, stands beside the result."""
    copies = ("deploy needs the lock", "Deploy needs the lock.", "deploy needs the lock!")
    ids = [hikmah("remember", "--content", text).document["id"] for text in copies]
    new = hikmah("remember", "--content", "deploy runs without a lock now").document["id"]
    assert "and 2 like it" in hikmah("recall", "deploy needs the lock", *TEXT).out
    assert hikmah("supersede", ids[0], new).code == 0
    assert "repeats what was superseded" in hikmah("recall", "deploy needs lock", *TEXT).out


def test_recall_answers_as_of_an_earlier_point(hikmah: Shell) -> None:
    """A commit, a sequence number or a date."""
    first = hikmah("remember", "--content", "port is 22", "--now", "2026-01-01").document
    hikmah("remember", "--content", "port is 49222", "--supersedes", first["id"])
    assert hikmah("recall", "port").document["results"][0]["trace"]["content"] == "port is 49222"
    for point in (first["commit"], "1", "2026-06-01"):
        reply = hikmah("recall", "port", "--as-of", point)
        assert reply.code == 0, reply.err
        assert [r["id"] for r in reply.document["results"]] == [first["id"]]


def test_until_a_date_includes_that_day(hikmah: Shell) -> None:
    """A date alone ends with its day, in the zone that is given."""
    hikmah("remember", "--content", "evening", "--now", "2026-03-05T22:30:00Z")
    for zone, total in (("UTC", 1), ("Asia/Tokyo", 0), ("America/Lima", 1)):
        page = hikmah("log", "--until", "2026-03-05", "--tz", zone).document
        assert page["total"] == total, zone
    assert hikmah("log", "--since", "2026-03-06").document["total"] == 0


def test_a_second_ledger_is_another_memory(hikmah: Shell) -> None:
    """`--ledger` names a ref of its own in one store."""
    hikmah("remember", "--content", "private matter", "--ledger", "diary")
    hikmah("remember", "--content", "public matter")
    assert hikmah("log", "--ledger", "diary").document["total"] == 1
    found = hikmah("recall", "matter", env={"HIKMAH_LEDGER": "diary"}).document["results"]
    assert [r["trace"]["content"] for r in found] == ["private matter"]


def test_an_ambiguous_id_lists_what_it_could_mean(hikmah: Shell) -> None:
    """Exit 4, and the candidates in full."""
    lines = "\n".join(json.dumps({"content": f"trace {n}"}) for n in range(700))
    hikmah("remember", "--batch", "-", "--now", "2026-01-01", stdin=lines.encode())
    seen: dict[str, int] = {}
    for row in hikmah("log", "--limit", "1000").document["items"]:
        seen[row["id"][:4]] = seen.get(row["id"][:4], 0) + 1
    prefix = next(start for start, count in seen.items() if count > 1)
    result = hikmah("show", prefix)
    assert (result.code, result.error["code"]) == (4, "ambiguous_id")
    assert len(result.error["candidates"]) == seen[prefix]
    assert all(candidate.startswith(prefix) for candidate in result.error["candidates"])


SEED_LINES = """
init
remember --kind observation --content "Migration failed because the lock timed out" \
--source incident-review --tag database --tag deployment --salience 0.9 --confidence 0.9 --verified
recall --query "why did the deployment fail"
remember --kind commitment --content "Send the incident report to the platform team" \
--source incident-review --deadline +48h
commitments --within-hours 168
fulfill --id {commitment}
verify-ledger
remember --verified --supersedes {commitment}
policy --print-defaults
--policy my-policy.json recall --query lock
"""


def test_every_command_line_that_the_readme_promises_works_as_it_stands(hikmah: Shell) -> None:
    """The order, options and values that people know keep working."""
    (hikmah.folder / "my-policy.json").write_text('{"recall_limit": 3}')
    commitment = ""
    for line in SEED_LINES.replace("\\\n", "").strip().splitlines():
        result = hikmah(*shlex.split(line.format(commitment=commitment)))
        assert result.code == 0, (line, result.err)
        if "--kind commitment" in line:
            commitment = result.document["id"]
    assert hikmah("verify-ledger").document["ok"] is True
