"""The command `consolidate`: text, JSON, refusals."""

from __future__ import annotations

from tests.cli.conftest import Shell

NOW = ("--now", "2026-03-01T00:00:00Z")


def agree(hikmah: Shell, *sources: str) -> None:
    """Let sources claim one port, verified."""
    for source in sources:
        words = ("--source", source, "--claim-key", "port", "--claim-value", "49222", "--verified")
        done = hikmah("remember", "--content", f"{source} saw it", *words, *NOW)
        assert done.code == 0, done.err


def test_consolidate_proposes_and_promotes(hikmah: Shell) -> None:
    """The proposal's id is what --promote takes; a second time is an error that names it."""
    agree(hikmah, "ops", "audit")
    document = hikmah("consolidate").document
    assert document["schema"] == "hikmah.consolidate/1"
    (proposal,) = document["proposals"]
    assert (proposal["key"], proposal["eligible_for_promotion"]) == ("port", True)
    promoted = hikmah("consolidate", "--promote", proposal["id"], "--source", "alex")
    assert promoted.document["derived_from"] == proposal["support"]
    again = hikmah("consolidate", "--promote", proposal["id"])
    assert (again.code, promoted.document["id"] in again.err) == (3, True)
    then = hikmah("consolidate", "--as-of", "2").document["proposals"]
    assert then == [proposal]


def test_consolidate_reads_well(hikmah: Shell) -> None:
    """One proposal is four lines: what, how sure, on what, from whom."""
    nothing = hikmah("consolidate", "--format", "text")
    assert nothing.code == 4
    agree(hikmah, "ops", "audit")
    drawn = hikmah("consolidate", *NOW, "--format", "text").out
    assert "eligible  confidence 0.650" in drawn
    assert "   port = 49222\n" in drawn
    assert "2 verified" in drawn
    assert "   sources audit, ops\n" in drawn
    promoted = hikmah("consolidate", "--promote", drawn.split()[0], *NOW, "--format", "text")
    assert promoted.out.startswith("promoted as ")
    drawn = hikmah("consolidate", *NOW, "--format", "text").out
    assert "promoted as" in drawn
    assert "not eligible" in drawn


def test_conflicts_and_intervals_are_drawn(hikmah: Shell) -> None:
    """What stands against a proposal, and when it holds, is said."""
    for source, value in (("a", "1"), ("b", "1"), ("c", "2")):
        words = ("--claim-key", "k", "--claim-value", value, "--valid-from", "2026-01-01")
        until = ("--valid-until", "2026-02-01")
        hikmah("remember", "--content", source, "--source", source, *words, *until, *NOW)
    drawn = hikmah("consolidate", *NOW, "--format", "text").out
    assert "stands against 2" in drawn
    assert "from 2026-01-01T00:00:00Z (59 days ago) until 2026-02-01T00:00:00Z" in drawn


def test_options_that_do_not_go_together_are_usage_errors(hikmah: Shell) -> None:
    """A promotion happens now, and only it has a source."""
    for words in (("--source", "x"), ("--promote", "abc", "--as-of", "1")):
        assert hikmah("consolidate", *words).code == 2


def test_promotion_is_refused_in_an_agent_session(hikmah: Shell) -> None:
    """Exit 5, and nothing is written."""
    agree(hikmah, "ops", "audit")
    (proposal,) = hikmah("consolidate").document["proposals"]
    refused = hikmah("consolidate", "--promote", proposal["id"], env={"CLAUDECODE": "1"})
    assert (refused.code, refused.error["code"]) == (5, "agent_session")
    assert hikmah("log").document["total"] == 2
