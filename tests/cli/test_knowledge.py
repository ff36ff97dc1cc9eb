"""The commands `entity`, `event`, `evolve`, `stats`, `hash`: text, JSON, refusals."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Result, Shell

NOW = ("--now", "2026-03-01T00:00:00Z")
TEXT = (*NOW, "--format", "text")


def ok(result: Result) -> Result:
    """Return a result that must be a success."""
    assert result.code == 0, result.err
    return result


@pytest.fixture
def team(hikmah: Shell) -> Shell:
    """A shell over a ledger that knows a small team."""
    return settled(hikmah)


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory, shells: type[Shell]) -> Shell:
    """A shell over the same team, for tests that must not change it."""
    folder = tmp_path_factory.mktemp("team")
    return settled(shells(folder, folder))


def settled(hikmah: Shell) -> Shell:
    """Let a shell's ledger know a small team."""
    for name, kind in (("Jane Chen", "person"), ("Bob", "person"), ("Allternit", "company")):
        ok(hikmah("entity", "add", name, "--type", kind, *NOW))
    ok(hikmah("entity", "add", "Checkout", "--type", "project", *NOW))
    ok(hikmah("entity", "relate", "Jane Chen", "works_at", "Allternit", *NOW))
    ok(hikmah("entity", "relate", "bob", "works_at", "Allternit", "--source", "hr", *NOW))
    ok(hikmah("entity", "relate", "Allternit", "owns", "checkout", *NOW))
    ok(hikmah("entity", "relate", "Jane Chen", "maintains", "checkout", *NOW))
    ok(hikmah("entity", "relate", "bob", "reports_to", "jane chen", *NOW))
    return hikmah


def fact(shell: Shell, predicate: str, value: str, *more: str) -> str:
    """Write a fact of Jane; return its id."""
    words = ("--predicate", predicate, "--object", value, *more, *NOW)
    written: str = ok(shell("entity", "fact", "Jane Chen", *words)).document["id"]
    return written


def short(identity: str) -> str:
    return identity[:8]


def test_an_entity_is_drawn_with_its_facts_and_what_is_around_it(team: Shell) -> None:
    """Names first, then what is known, then a small tree."""
    since = ("--valid-from", "2025-01-01T00:00:00Z", "--verified")
    old = fact(team, "role", "Staff Engineer", "--source", "review", "--confidence", "0.9", *since)
    new = fact(team, "role", "Principal Engineer", "--source", "model:x")
    fact(team, "speaks", "Dari", "--multi", "--valid-until", "2026-01-01T00:00:00Z")
    drawn = ok(team("entity", "show", "jane chen", *TEXT)).out
    links = [r["id"] for r in team("entity", "show", "jane chen").document["relationships"]]
    jane = team("entity", "show", "jane chen").document["entity"]["id"]
    spoken = team("entity", "show", "jane chen").document["facts"][2]["id"]
    lines = drawn.splitlines()
    assert lines[:5] == [
        f"Jane Chen  person  {short(jane)}",
        "  since 2026-03-01T00:00:00Z (now)",
        "",
        "Facts",
        "  role    Staff Engineer",
    ]
    assert lines[-5:] == [
        "Relationships",
        "  Jane Chen",
        f"  ├─ works_at → Allternit (company)  {short(links[0])}; source unknown",
        f"  ├─ maintains → Checkout (project)  {short(links[1])}; source unknown",
        f"  └─ reports_to ← Bob (person)  {short(links[2])}; source unknown",
    ]
    assert max(map(len, lines)) <= 100
    told = " ".join(drawn.split())
    first = f"{short(old)}; source review; confidence 0.9; verified; from 2025-01-01T00:00:00Z"
    second = f"{short(new)}; source model:x; confidence 0.5; by a model; disagrees with"
    third = f"{short(spoken)}; source unknown; confidence 0.5; until 2026-01-01T00:00:00Z"
    for said in (
        f"{first} (424 days ago); disagrees with {short(new)} role Principal Engineer",
        f"{second} {short(old)} speaks Dari {third} (59 days ago); does not hold now",
    ):
        assert said in told


def test_a_neighbourhood_is_drawn_as_a_tree_each_relationship_once(team: Shell) -> None:
    """What is nearer is drawn first; JSON has entities by distance and relationships."""
    drawn = ok(team("entity", "neighbours", "bob", "--depth", "3", *TEXT)).out
    assert drawn == (
        "Bob (person)\n"
        "├─ reports_to → Jane Chen (person)\n"
        "│  ├─ maintains → Checkout (project)\n"
        "│  └─ works_at → Allternit (company)\n"
        "│     └─ owns → Checkout (project)\n"
        "└─ works_at → Allternit (company)\n"
    )
    document = ok(team("entity", "neighbours", "bob", "--depth", "3")).document
    assert document["schema"] == "hikmah.entity-neighbours/1"
    assert [(e["name"], e["depth"]) for e in document["entities"]] == [
        ("Bob", 0),
        ("Allternit", 1),
        ("Jane Chen", 1),
        ("Checkout", 2),
    ]
    assert {"from", "relation_type", "to", "traces"} == set(document["relationships"][0])
    cut = ok(team("entity", "neighbours", "bob", "--depth", "2", "--limit", "2", *TEXT)).out
    assert "2 of 4 entities; --limit shows more" in cut
    alone = ok(team("entity", "add", "Nobody", "--type", "other", *NOW))
    drawn = ok(team("entity", "neighbours", alone.document["id"], *TEXT)).out
    assert drawn == "Nobody (other)\n  no relationships\n"


def test_history_shows_what_was_replaced_and_why(team: Shell) -> None:
    """`entity supersede` and `entity deprecate` are told with their reasons."""
    old = fact(team, "role", "Staff Engineer")
    new = fact(team, "role", "Principal Engineer")
    done = ok(team("entity", "supersede", old[:9], new, "--reason", "promoted", *TEXT))
    assert done.out == f"superseded {short(old)}\n"
    ok(team("entity", "deprecate", new, "--reason", "left", *NOW))
    drawn = ok(team("entity", "show", "jane chen", "--history", *TEXT)).out
    assert f"superseded by {short(new)}; promoted" in drawn
    assert "deprecated; left" in drawn
    document = ok(team("entity", "show", "jane chen", "--status", "superseded")).document
    assert [f["id"] for f in document["facts"]] == [old]
    assert document["facts"][0]["superseded_by"] == [new]


def test_an_entity_is_added_once_and_renamed(team: Shell) -> None:
    """The id stays; the name before finds it; `--as-of` shows it as it was."""
    again = ok(team("entity", "add", "JANE  CHEN", "--type", "person"))
    assert again.document["created"] is False
    assert ok(team("entity", "add", "bob", "--type", "person", *TEXT)).out.startswith(
        "there already: person "
    )
    jane = again.document["id"]
    renamed = ok(team("entity", "add", "Jane Smith", "--supersedes", "jane chen", *NOW))
    assert renamed.document["id"] == jane
    drawn = ok(team("entity", "show", "jane chen", *TEXT)).out
    assert drawn.startswith(f"Jane Smith  person  {short(jane)}\n  also known as Jane Chen\n")
    listed = ok(team("entity", "list", "--type", "person", *TEXT)).out
    assert "Jane Smith also Jane Chen" in listed
    then = ok(team("entity", "search", "jane", "--as-of", "4")).document["entities"]
    assert [e["name"] for e in then] == ["Jane Chen"]


def test_lists_say_what_is_hidden(team: Shell) -> None:
    """Deprecated entities come with --all; a limit is said."""
    ok(team("entity", "deprecate", "checkout", "--reason", "sold", *NOW))
    assert ok(team("entity", "list")).document["total"] == 3
    assert "Checkout (deprecated)" in ok(team("entity", "list", "--all", *TEXT)).out
    assert (
        "1 of 3 entities; --limit shows more"
        in ok(team("entity", "list", "--limit", "1", *TEXT)).out
    )
    assert ok(team("entity", "search", "zzz", *TEXT)).out == "no such entity\n"
    drawn = ok(team("entity", "show", "checkout", *TEXT)).out
    assert "deprecated" in drawn.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["entity", "add", "X"], 2, "--type is missing"),
        (["entity", "add", "X", "--type", "robot"], 2, "robot"),
        (["entity", "add", " ", "--type", "person"], 3, "blank"),
        (["entity", "show", "nobody"], 4, "no entity 'nobody'"),
        (["entity", "show", "jane chen", "--type", "code"], 4, "of type code"),
        (["entity", "fact", "nobody", "--predicate", "a", "--object", "b"], 4, "no entity"),
        (["entity", "fact", "bob", "--predicate", "a"], 2, "--object"),
        (["entity", "fact", "bob", "--predicate", "", "--object", "b"], 3, "$.fact.predicate"),
        (["entity", "relate", "bob", "knows", "nobody"], 4, "no entity"),
        (["entity", "neighbours", "bob", "--depth", "4"], 2, "--depth"),
        (["entity", "supersede", "ffff", "eeee"], 4, "ffff"),
        (["entity", "deprecate", "bob"], 2, "--reason"),
        (["entity", "summarize"], 2, "--all"),
        (["entity", "summarize", "bob", "--all"], 2, "--all"),
        (["entity", "summarize", "--all", "--older-than", "soon"], 3, "soon"),
        (["entity", "summary", "bob", "--kept", "--budget", "9"], 2, "--kept"),
        (["entity", "rename"], 2, "No such command"),
        (["event", "add", "tick", "--payload", "{"], 3, "not JSON"),
        (["event", "add", ""], 3, "$.event.event_type"),
        (["evolve", "--apply", "abc"], 3, "no digest"),
        (["evolve", "--apply", "a" * 64], 6, "moved on"),
        (["evolve", "--only", "rot"], 2, "rot"),
        (["evolve", "--source", "x"], 2, "--apply"),
        (["evolve", "--apply", "a" * 64, "--as-of", "1"], 2, "--as-of"),
        (["stats", "--as-of", "f" * 40], 4, "not in this ledger"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    still: Shell, words: list[str], code: int, said: str
) -> None:
    """Exit code and message of each mistake."""
    before = still("hash", "--all").document
    result = still(*words)
    assert result.code == code, result.err
    assert said.lower() in result.err.lower()
    assert still("hash", "--all").document == before


def test_a_name_that_several_entities_have_lists_them(team: Shell) -> None:
    """Exit 4, with candidates in JSON."""
    ok(team("entity", "add", "Checkout", "--type", "code"))
    result = team("entity", "show", "checkout")
    assert result.code == 4
    assert result.error["code"] == "ambiguous_id"
    candidates = team("entity", "search", "checkout").document["entities"]
    assert "(code)" in result.err
    assert "(project)" in result.err
    assert {e["id"] for e in candidates} == set(result.error["candidates"])


def test_events_are_appended_and_listed(hikmah: Shell) -> None:
    """Any JSON, from an argument or standard input; newest first."""
    words = ("--session", "s1", "--agent", "a1", "--tag", "shop", *NOW)
    first = ok(hikmah("event", "add", "user_request", "--payload", '{"text":"go"}', *words))
    assert first.document["event_id"] == f"evt_{first.document['id'][:8]}"
    ok(hikmah("event", "add", "tool_call", "--payload", "-", *NOW, stdin=b'["x", 1]\n'))
    told = ok(hikmah("event", "add", "decision", *TEXT))
    assert told.out.startswith("appended evt_")
    document = ok(hikmah("event", "list", "--recent", "2")).document
    assert [e["event_type"] for e in document["events"]] == ["decision", "tool_call"]
    assert (document["total"], document["truncated"]) == (3, True)
    assert document["events"][1]["payload"] == ["x", 1]
    drawn = ok(hikmah("event", "list", "--session", "s1", *TEXT)).out
    name = first.document["event_id"]
    assert drawn == (
        f"{name}  user_request  2026-03-01T00:00:00Z (now)  session s1  agent a1\n   go\n"
    )
    assert ok(hikmah("event", "list", "--agent", "zz", *TEXT)).out == "no events\n"
    assert ok(hikmah("event", "list", "--type", "decision", "--as-of", "2")).document["total"] == 0
    full = ok(hikmah("event", "list", "--type", "user_request", *TEXT, "--verbose")).out
    assert full.startswith(first.document["id"])
    retry = ("event", "add", "tick", "--idempotency-key", "k", *TEXT)
    assert ok(hikmah(*retry)).out.startswith("appended")
    assert ok(hikmah(*retry)).out.startswith("there already:")


def test_summaries_are_made_kept_and_refreshed(team: Shell) -> None:
    """A copy stays as it was until it is refreshed."""
    assert ok(team("entity", "summary", "bob", "--kept")).document["summary"] is None
    assert ok(team("entity", "summary", "bob", "--kept", *TEXT)).out == "no copy was kept\n"
    made = ok(team("entity", "summary", "bob", *NOW)).document
    assert made["summary_text"] == "reports_to Jane Chen; works_at Allternit"
    drawn = ok(team("entity", "summary", "bob", "--kept", *TEXT)).out
    assert drawn == (
        f"Bob  person  {made['entity'][:8]}\n"
        "  reports_to Jane Chen; works_at Allternit\n"
        "  0 facts, 2 relationships; changed 2026-03-01T00:00:00Z (now)\n"
    )
    short_text = ok(team("entity", "summary", "bob", "--budget", "9")).document["summary_text"]
    assert short_text == "report..."
    assert ok(team("entity", "summary", "bob", "--as-of", "6", *TEXT)).out.splitlines()[1] == (
        "  works_at Allternit"
    )
    refreshed = ok(team("entity", "summarize", "--all", "--older-than", "7d", *NOW)).document
    assert (len(refreshed["refreshed"]), refreshed["unchanged"]) == (3, 1)
    later = ("--now", "2026-03-09T00:00:00Z")
    assert ok(team("entity", "summarize", "bob", *later, "--format", "text")).out == (
        "0 refreshed, 1 unchanged\n"
    )
    fact(team, "role", "lead")
    fact(team, "role", "head")
    assert "disputed: role" in ok(team("entity", "summary", "jane chen", *TEXT)).out
    drawn = ok(team("entity", "summarize", "jane chen", "--format", "text")).out
    assert drawn.endswith("unchanged\n")
    empty = ok(team("entity", "add", "Empty", "--type", "other", *NOW)).document["id"]
    assert "nothing is known of it" in ok(team("entity", "summary", empty, *TEXT)).out
    assert "nothing is known of it" in ok(team("entity", "show", empty, *TEXT)).out


def test_stats_and_hash_tell_what_there_is(team: Shell) -> None:
    """Counts as a list and a table; the hash with its number of ids."""
    ok(team("event", "add", "tick", *NOW))
    assert ok(team("stats", *TEXT)).out == (
        "event         1\n"
        "entity        4\n"
        "fact          0\n"
        "relationship  5\n"
        "summary       0\n"
        "\n"
        "kind     traces  of which\n"
        "belief        9  9 active\n"
        "episode       1  1 active\n"
    )
    document = ok(team("stats", "--as-of", "4")).document
    assert (document["entity_count"], document["relationship_count"]) == (4, 0)
    found = ok(team("hash")).document
    assert found["ids"] == 5
    assert ok(team("hash", *TEXT)).out == f"{found['hash']}  5 ids\n"
    assert ok(team("hash", "--all")).document["ids"] == 10
    assert ok(team("hash", "--as-of", "9")).document["ids"] == 4


def test_evolve_proposes_and_a_person_applies(team: Shell) -> None:
    """The last line is the command that does it; a second time is refused."""
    for value in ("22", "23"):
        claim = ("--claim-key", "port", "--claim-value", value, "--source", "ops")
        ok(team("remember", "--content", f"port {value}", *claim, *NOW))
    for source in ("audit", "review"):
        host = ("--claim-key", "host", "--claim-value", "db1", "--source", source, "--verified")
        ok(team("remember", "--content", f"{source} says db1", *host, *NOW))
    ok(team("entity", "add", "check-out", "--type", "project", *NOW))
    ok(team("entity", "summary", "bob", *NOW))
    ok(team("entity", "fact", "bob", "--predicate", "role", "--object", "lead", *NOW))
    drawn = ok(team("evolve", *TEXT)).out
    for part in ("consolidate", "merge", "resolve", "summarize"):
        assert f"\n{part}\n" in f"\n{drawn}"
    assert "ops said later: 23" in drawn
    command = drawn.splitlines()[-1].split()
    assert command[:3] == ["hikmah", "evolve", "--apply"]
    refused = team(*command[1:], env={"CLAUDECODE": "1"})
    assert refused.code == 5
    document = ok(team("evolve", *NOW)).document
    assert document["digest"].startswith(command[3])
    applied = ok(team(*command[1:], *TEXT, "--source", "alex"))
    assert applied.out.endswith("3 records in one commit, 1 summaries refreshed\n")
    again = team(*command[1:])
    assert (again.code, again.error["code"]) == (6, "integrity")
    assert ok(team("evolve", *TEXT)).out == "nothing to do\n"
    then = ok(team("evolve", "--as-of", "10", "--only", "resolve", *TEXT)).out
    assert then == "nothing to do\n"


def test_one_part_is_applied_alone(team: Shell) -> None:
    """The command that is printed says so."""
    ok(team("entity", "add", "check-out", "--type", "project", *NOW))
    drawn = ok(team("evolve", "--only", "merge", *TEXT, "--verbose")).out
    words = drawn.splitlines()[-1].split()
    assert words[:4] == ["hikmah", "evolve", "--only", "merge"]
    assert len(words[-1]) == 64
    applied = ok(team(*words[1:], *NOW)).document
    assert len(applied["written"]) == 1
    assert ok(team("entity", "list", "--type", "project")).document["total"] == 1


def test_help_of_a_group_lists_its_commands(hikmah: Shell) -> None:
    """And points at the global options, which stand before or after."""
    for name in ("entity", "event"):
        told = ok(hikmah(name, "--help")).out
        assert "Commands:" in told
        assert "Global options" in told
        assert hikmah(name).code == 2
    ok(hikmah("entity", "--format", "json", "add", "X", "--type", "other", *NOW))
    assert ok(hikmah("--format", "text", "entity", "list", *NOW)).out.startswith("id ")


def test_a_disputed_fact_is_headed_by_its_entity(team: Shell) -> None:
    """A long id in a key is shortened like any id; JSON has the key whole."""
    fact(team, "role", "lead")
    fact(team, "role", "head")
    jane = team("entity", "show", "jane chen").document["entity"]["id"]
    assert ok(team("conflicts", *TEXT)).out.startswith(f"{short(jane)} role\n  = lead\n")
    assert team("conflicts").document["conflicts"][0]["key"] == f"{jane}/role"


def test_kept_promises_are_drawn_with_their_evidence(hikmah: Shell) -> None:
    """What shows that it was kept stands below it."""
    promise = ok(hikmah("remember", "--kind", "commitment", "--content", "send it", *NOW))
    ok(hikmah("fulfill", promise.document["id"], "--evidence", "mail 4711", *NOW))
    drawn = ok(hikmah("commitments", "--all", *TEXT)).out
    assert "   evidence: mail 4711\n" in drawn
