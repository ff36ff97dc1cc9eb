"""Tampering with a ledger by plain git: each way is detected and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hikmah.ledger.findings import CODES, VerifyReport
from hikmah.ledger.verify import verify
from tests.ledger.forge import Forge, note
from tests.ledger.tampers import (
    TAMPERINGS,
    chain,
    change_message,
    empty_commit,
    not_json,
)


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return a ledger of five honest records, in a repository of either hash."""
    forge = Forge(tmp_path / "store", request.param)
    forge.init()
    forge.add_many(5)
    return forge


def codes(report: VerifyReport) -> set[str]:
    """Return the codes of a report's errors, each of which must be a documented one."""
    found = {problem.code for problem in report.errors}
    assert found <= CODES.keys()
    assert report.ok is not bool(report.errors)
    return found


def anchored_elsewhere(forge: Forge) -> None:
    """Make the ref the acknowledged head, as an attacker with the state folder would."""
    head = forge.ledger.tip(forge.head())
    forge.ledger.state.head_file.write_bytes(
        msgspec.json.encode({"commit": head.commit, "seq": head.seq})
    )


@pytest.mark.parametrize(
    ("tamper", "named"), TAMPERINGS, ids=[tamper.__name__ for tamper, _ in TAMPERINGS]
)
def test_tampering_is_named_even_when_the_acknowledged_head_was_forged_too(
    forge: Forge, tamper: Callable[[Forge], str], named: set[str]
) -> None:
    """What breaks the format is found in the history itself, whoever owns the state folder."""
    forge.set_ref(tamper(forge))
    anchored_elsewhere(forge)
    report = verify(forge.ledger)
    assert named <= codes(report)
    assert all(problem.text and problem.commit for problem in report.errors)


@pytest.mark.parametrize(
    "tamper", [tamper for tamper, _ in TAMPERINGS], ids=[t.__name__ for t, _ in TAMPERINGS]
)
def test_any_tampering_is_told_by_the_acknowledged_head(
    forge: Forge, tamper: Callable[[Forge], str]
) -> None:
    """The head that this machine remembers is not the ref's any more."""
    head = forge.ledger.state.read_head()
    forge.set_ref(tamper(forge))
    assert head is not None
    forge.ledger.state.acknowledge(head)
    assert codes(verify(forge.ledger)) & {"unacknowledged", "rewritten", "ref_behind"}


# ---- what only a remembered head, or a pin, can tell -----------------------------------


def test_a_rebuilt_suffix_needs_a_remembered_head_or_a_pin(forge: Forge) -> None:
    """Faults row 9: three commits written again with other text and good hashes."""
    honest = forge.head()
    forge.set_ref(chain(forge)[2])
    forge.ledger.state.head_file.unlink()
    forge.add_many(3, first=100)
    assert verify(forge.ledger).ok  # an attacker who has ref and state folder
    assert codes(verify(forge.ledger, expect_head=honest)) == {"expect_head"}
    assert codes(verify(forge.ledger, contains=[honest])) == {"contains"}


def test_a_rebuilt_suffix_is_rewritten_history_to_whoever_remembers(forge: Forge) -> None:
    """Faults row 9: against the remembered head the same is "rewritten"."""
    head = forge.ledger.state.read_head()
    assert head is not None
    forge.set_ref(chain(forge)[2])
    forge.ledger.state.head_file.unlink()
    forge.add_many(3, first=100)
    forge.ledger.state.acknowledge(head)
    report = verify(forge.ledger)
    assert codes(report) == {"rewritten"}
    assert not report.anchored


def test_a_cut_tail_is_behind_the_remembered_head(forge: Forge) -> None:
    """Faults row 9: the ref moved back three commits; the lost ones are counted."""
    forge.set_ref(chain(forge)[-4])
    report = verify(forge.ledger)
    assert codes(report) == {"ref_behind"}
    assert "3 commit(s) behind" in report.errors[0].text


def test_a_cut_tail_without_a_remembered_head_is_not_anchored(forge: Forge) -> None:
    """Faults row 9: without one the report says "suffix not anchored", not "intact"."""
    forge.set_ref(chain(forge)[-4])
    forge.ledger.state.head_file.unlink()
    report = verify(forge.ledger)
    assert report.ok
    assert not report.anchored
    assert [w.code for w in report.warnings] == ["not_anchored"]
    assert "suffix not anchored" in report.warnings[0].text
    assert any("cut off" in text for text in report.not_established)


def test_a_foreign_commit_on_top_is_listed_with_what_it_says(forge: Forge) -> None:
    """A well-formed record that no hikmah write acknowledged is shown, never its secrets."""
    head = forge.ledger.state.read_head()
    forge.add(note("token: ghp_" + "a1B2" * 9, claim=None))
    forge.add(note("quiet", privacy="sensitive"))
    assert head is not None
    forge.ledger.state.acknowledge(head)
    report = verify(forge.ledger)
    assert codes(report) == {"unacknowledged"}
    assert "2 commit(s)" in report.errors[0].text
    first, second = report.unacknowledged
    assert (first.seq, first.type, first.kind) == (6, "remember", "observation")
    assert "ghp_" not in first.preview
    assert "[credential]" in first.preview
    assert (second.seq, second.preview) == (7, "")


def test_a_deleted_ref_is_gone_and_not_a_new_ledger(forge: Forge) -> None:
    """The report names the head that was acknowledged and counts what is still there."""
    forge.git("update-ref", "-d", "refs/hikmah/memory")
    report = verify(forge.ledger)
    assert codes(report) == {"ref_gone"}
    assert "6 of its commits are still there" in report.errors[0].text
    assert report.head is None


def test_another_ledgers_history_is_named_as_such(forge: Forge) -> None:
    """The ref holds a well-formed ledger, but not the one that was acknowledged."""
    other = Forge(forge.path.parent / "other", forge.algorithm)
    other.init(ledger="f" * 32)
    other.add(note("from elsewhere"))
    forge.git("fetch", "-q", "-f", str(other.path), "+refs/hikmah/memory:refs/hikmah/memory")
    report = verify(forge.ledger)
    assert codes(report) == {"rewritten", "other_ledger"}
    assert "f" * 32 in " ".join(problem.text for problem in report.errors)


def test_a_forged_sequence_number_in_the_head_file_is_named(forge: Forge) -> None:
    """The head file's number must be that of its commit's tree."""
    forge.ledger.state.head_file.write_bytes(
        msgspec.json.encode({"commit": forge.head(), "seq": 99})
    )
    assert codes(verify(forge.ledger)) == {"acknowledged_seq"}


def test_a_damaged_head_file_is_named_and_the_history_still_checked(forge: Forge) -> None:
    """Nothing raises; the report says which file is damaged."""
    forge.ledger.state.head_file.write_bytes(b"{")
    report = verify(forge.ledger)
    assert codes(report) == {"acknowledged_damaged"}
    assert report.records == 5


def test_an_acknowledged_head_that_is_nowhere_is_named(forge: Forge) -> None:
    """A head that no object stands for is neither behind nor ahead."""
    missing = "ab" * (20 if forge.algorithm == "sha1" else 32)
    forge.ledger.state.head_file.write_bytes(msgspec.json.encode({"commit": missing, "seq": 9}))
    assert codes(verify(forge.ledger)) == {"acknowledged_missing"}


def test_every_problem_is_reported_not_only_the_first(forge: Forge) -> None:
    """Three unrelated damages give three problems, each with its commit."""
    commits: list[str] = []
    for tamper in (change_message, empty_commit, not_json):
        forge.set_ref(tamper(forge))
        commits.insert(0, forge.head())
    anchored_elsewhere(forge)
    report = verify(forge.ledger)
    assert [p.commit for p in report.errors] == commits
    assert codes(report) == {"message", "empty_commit", "record_undecodable"}


def test_a_name_that_acts_on_a_terminal_is_a_warning(forge: Forge) -> None:
    """Git lets it pass, and `git log` would show it: whoever reads must be told."""
    data = forge.raw(forge.head()).replace(b"author ", b"author \x1b[2J", 1)
    forge.set_ref(forge.git("hash-object", "-t", "commit", "-w", "--stdin", data=data))
    anchored_elsewhere(forge)
    report = verify(forge.ledger)
    assert report.ok
    assert [problem.code for problem in report.warnings] == ["commit_identity"]
    assert "\x1b" not in report.warnings[0].text


@pytest.mark.parametrize("keyword", [b"author", b"committer"])
def test_a_line_that_is_no_signature_is_named(forge: Forge, keyword: bytes) -> None:
    """`git fsck` refuses such a commit, and with it whoever pushes the ledger to a careful host."""
    data = forge.raw(forge.head())
    at = data.index(keyword + b" ")
    forged = data[:at] + keyword + b" nobody" + data[data.index(b"\n", at) :]
    flags = ("-t", "commit", "-w", "--literally", "--stdin")
    forge.set_ref(forge.git("hash-object", *flags, data=forged))
    anchored_elsewhere(forge)
    report = verify(forge.ledger)
    assert codes(report) == {"commit_identity"}
    (problem,) = report.errors
    assert problem.text.startswith(f"its {keyword.decode()} is 'nobody', not")
    assert problem.commit == forge.head()
