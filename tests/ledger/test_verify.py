"""Verification of ledgers that nobody tampered with, and of what it cannot know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hikmah.ledger.findings import VerifyReport
from hikmah.ledger.merge import merge_commit
from hikmah.ledger.objects import commit_bytes
from hikmah.ledger.verify import verify
from hikmah.model.records import Fulfill, Purge, Supersede, canonical, canonical_json
from hikmah.model.trace import Claim, Entity, Fact, Provenance, Relationship
from tests.ledger.forge import Forge, note


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return an empty ledger, in a repository of either hash."""
    forge = Forge(tmp_path / "store", request.param)
    forge.init()
    return forge


def passed(forge: Forge) -> VerifyReport:
    """Verify, demand that all is well, and return the report."""
    report = verify(forge.ledger)
    assert report.errors == ()
    assert report.warnings == ()
    assert report.ok
    return report


def join(forge: Forge, one: str, other: str) -> str:
    """Merge two heads as two machines would, and make the merge the acknowledged head."""
    tree = forge.tree({**forge.files(one), **forge.files(other)})
    commit = merge_commit({one: forge.parse(one), other: forge.parse(other)}, tree)
    merge = forge.git("hash-object", "-t", "commit", "-w", "--stdin", data=commit_bytes(commit))
    forge.set_ref(merge)
    acknowledge(forge)
    return merge


def acknowledge(forge: Forge) -> None:
    """Make what the ref holds the acknowledged head."""
    tip = forge.ledger.tip(forge.head())
    forge.ledger.state.head_file.write_text(json.dumps({"commit": tip.commit, "seq": tip.seq}))


def branch_at(forge: Forge, commit: str) -> None:
    """Go back to a commit, as a machine does that has not seen what came after."""
    forge.set_ref(commit)
    acknowledge(forge)


# ---- what a good ledger looks like -----------------------------------------------------


def test_a_fresh_ledger_is_fine_and_empty(forge: Forge) -> None:
    """A genesis alone verifies, with its format and id."""
    report = passed(forge)
    assert (report.format, report.ledger) == ("hikmah/1", "0" * 32)
    assert (report.records, report.commits) == (0, 1)
    assert report.head is not None
    assert report.head.seq == 0
    assert report.anchored


def test_records_of_every_type_and_link_verify(forge: Forge) -> None:
    """Links of every kind resolve, within a batch as well as across commits."""
    old, promise = note("old"), note("promise", kind="commitment", deadline_ms=1)
    ada = note("Ada", kind="belief", entity=Entity(name="Ada", entity_type="person"))
    forge.add(old, promise, ada)
    ada_id = forge.id(ada)
    new = note(
        "new",
        supersedes=forge.id(old),
        derived_from=(forge.id(promise),),
        claim=Claim(key="k", value="v"),
    )
    fact = note(
        "Ada writes", kind="belief", fact=Fact(entity=ada_id, predicate="does", object="write")
    )
    tie = Relationship(from_=ada_id, to=ada_id, relation_type="knows")
    forge.add(new, fact, note("Ada knows herself", kind="belief", relationship=tie))
    forge.add(Fulfill(id=forge.id(promise), at_ms=2))
    forge.add(Supersede(id=forge.id(promise), by=forge.id(new), at_ms=2, reason="again"))
    forge.add(Purge(id=forge.id(old), reason="wrong", at_ms=3))
    assert passed(forge).records == 9


def test_appends_and_batches_across_every_folder_boundary_verify(forge: Forge) -> None:
    """Single records and batches fill folders, and go on in the next."""
    forge.add(*[note(f"first {n}") for n in range(98)])
    forge.add_many(3)
    forge.add(*[note(f"second {n}") for n in range(9_898)])
    forge.add_many(3, first=10)
    report = passed(forge)
    assert report.records == 98 + 3 + 9_898 + 3
    assert report.head is not None
    assert report.head.seq == report.records


@pytest.mark.parametrize(
    "tidy",
    [
        ("gc", "-q", "--prune=now"),
        ("gc", "-q", "--prune=now", "--aggressive"),
        ("repack", "-q", "-d"),
        ("pack-refs", "--all"),
        ("multi-pack-index", "write"),
    ],
    ids=" ".join,
)
def test_what_git_does_to_a_repository_changes_no_answer(
    forge: Forge, tidy: tuple[str, ...]
) -> None:
    """Loose, packed, with deltas or with packed refs: the report is the same."""
    forge.add_many(30)
    forge.git("repack", "-q", "-d")
    forge.add_many(30, first=31)
    before = passed(forge)
    forge.git(*tidy)
    assert passed(forge) == before


def test_progress_is_told_with_the_number_of_records(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long verification says how far it is."""
    monkeypatch.setattr("hikmah.ledger.verify._STEP", 5)
    forge.add_many(8)
    said: list[tuple[int, int]] = []
    verify(forge.ledger, progress=lambda done, total: said.append((done, total)))
    assert said == [(5, 8)]


# ---- joined histories ------------------------------------------------------------------


def test_a_joined_ledger_verifies(forge: Forge) -> None:
    """Two branches, a record that both hold, and appends on top of the merge."""
    forge.add_many(3)
    base = forge.head()
    forge.add(note("both"))
    one = forge.add_many(150, first=10)[-1]
    branch_at(forge, base)
    forge.add(note("only here"), note("both"))
    other = forge.add_many(20, first=500)[-1]
    join(forge, one, other)
    forge.add(note("after"))
    report = passed(forge)
    assert report.records == 3 + 1 + 150 + 1 + 20 + 1
    assert report.head is not None
    assert report.head.seq == 3 + 1 + 150 + 1


def test_merges_of_merges_verify(forge: Forge) -> None:
    """A criss-cross of branches is walked once and checked everywhere."""
    forge.add_many(2)
    base = forge.head()
    one = forge.add(note("one")).tip.commit
    branch_at(forge, base)
    two = forge.add(note("two")).tip.commit
    both = join(forge, one, two)
    left = forge.add(note("left")).tip.commit
    branch_at(forge, both)
    right = forge.add(note("right")).tip.commit
    join(forge, left, right)
    assert passed(forge).records == 6


def test_a_link_across_branches_resolves(forge: Forge) -> None:
    """What one branch added may be pointed at once it has been joined."""
    forge.add_many(1)
    base = forge.head()
    one = forge.add(note("one")).tip.commit
    branch_at(forge, base)
    two = forge.add(note("two")).tip.commit
    join(forge, one, two)
    forge.add(note("three", supersedes=forge.id(note("one"))))
    forge.add(note("four", supersedes=forge.id(note("two"))))
    passed(forge)


# ---- pins ------------------------------------------------------------------------------


def test_a_pin_holds_while_honest_appends_go_on(forge: Forge) -> None:
    """`contains` survives appends; `expect_head` is for the head alone."""
    commits = forge.add_many(4)
    assert verify(forge.ledger, contains=commits, expect_head=commits[-1]).ok
    report = verify(forge.ledger, expect_head=commits[0])
    assert [p.code for p in report.errors] == ["expect_head"]


def test_a_pin_must_be_a_full_id(forge: Forge) -> None:
    """Half an id could be made to match by trying: it is refused, and why is said."""
    head = forge.add_many(1)[-1]
    report = verify(forge.ledger, expect_head=head[:12], contains=[head[:12]])
    assert [p.code for p in report.errors] == ["expect_head", "contains"]
    assert all("full commit id" in p.text for p in report.errors)


def test_what_a_pin_would_tell_is_said_when_there_is_none(forge: Forge) -> None:
    """The report says what it could not establish, and stops saying so with a pin."""
    head = forge.head()
    assert any("pin" in text for text in verify(forge.ledger).not_established)
    assert not any("pin" in t for t in verify(forge.ledger, contains=[head]).not_established)


def test_sha1_is_said_to_have_limits_and_sha256_is_not(forge: Forge) -> None:
    """Ids are as good as the repository's hash."""
    said = any("SHA-1" in text for text in verify(forge.ledger).not_established)
    assert said == (forge.algorithm == "sha1")


# ---- only what is new ------------------------------------------------------------------


def test_since_checks_only_what_came_after_a_trusted_commit(forge: Forge) -> None:
    """Damage before the trusted commit is not looked at; links into it resolve."""
    commits = forge.add_many(5)
    forge.add(note("six", supersedes=forge.id(note("note 2"))))
    report = verify(forge.ledger, since=commits[3], contains=[commits[0], commits[4]])
    assert report.errors == ()
    assert (report.commits, report.records) == (2, 2)
    assert any(commits[3] in text for text in report.not_established)


def test_since_still_names_links_that_lead_nowhere_or_to_the_wrong_kind(forge: Forge) -> None:
    """Records before the trusted commit count as there, with their kind."""
    commits = forge.add_many(5)
    forge.add(Fulfill(id=forge.id(note("note 2")), at_ms=1))
    forge.add(Purge(id=commits[0], reason="no record", at_ms=1))
    report = verify(forge.ledger, since=commits[3])
    assert sorted(p.code for p in report.errors) == ["link_kind", "link_missing"]


def test_since_a_commit_that_is_not_in_the_history_is_named_and_all_is_checked(
    forge: Forge,
) -> None:
    """Trust in a commit that is not there helps nobody."""
    forge.add_many(2)
    missing = "ab" * (20 if forge.algorithm == "sha1" else 32)
    report = verify(forge.ledger, since=missing)
    assert [p.code for p in report.errors] == ["since"]
    assert report.commits == 3


def test_since_the_head_itself_leaves_nothing_to_check(forge: Forge) -> None:
    """The head is compared all the same."""
    head = forge.add_many(2)[-1]
    report = verify(forge.ledger, since=head)
    assert report.errors == ()
    assert (report.commits, report.records) == (0, 0)


def test_since_finds_an_acknowledged_head_before_the_trusted_commit(forge: Forge) -> None:
    """Unacknowledged commits are listed from the acknowledged head on."""
    head = forge.ledger.state.read_head()
    commits = forge.add_many(3)
    assert head is not None
    forge.ledger.state.acknowledge(head)
    report = verify(forge.ledger, since=commits[1])
    assert [p.code for p in report.errors] == ["unacknowledged"]
    assert [record.seq for record in report.unacknowledged] == [1, 2, 3]


# ---- crashes and newer versions --------------------------------------------------------


def test_an_append_that_died_before_its_acknowledgement_is_fine(forge: Forge) -> None:
    """The synced note of intent says that the ref's commit was ours."""
    commits = forge.add_many(2)
    branch_at(forge, commits[0])
    forge.set_ref(commits[1])
    assert not verify(forge.ledger).ok
    forge.ledger.state.next_file.write_text(commits[1] + "\n")
    report = passed(forge)
    assert report.acknowledged is not None
    assert report.acknowledged.commit == commits[1]


def test_a_type_of_a_newer_version_is_kept_counted_and_said_once(forge: Forge) -> None:
    """A reader that meets an unknown type keeps it and goes on."""
    data = b'{\n  "at_ms": 1,\n  "type": "promote"\n}\n'
    for _ in range(2):
        append_foreign(forge, "promote", data)
        data = data.replace(b"1", b"2")
    report = verify(forge.ledger)
    assert report.errors == ()
    assert report.unknown_types == {"promote": 2}
    assert [w.code for w in report.warnings] == ["unknown_type"]
    assert report.records == 2


def test_a_field_of_a_newer_version_is_kept_counted_and_said_once(forge: Forge) -> None:
    """An unknown field is no error; its path is said."""
    raw = json.loads(canonical(note("from the future")))
    raw["mood"] = "good"
    raw["provenance"]["device"] = "phone"
    data = (json.dumps(raw, indent=2, sort_keys=True) + "\n").encode()
    append_foreign(forge, "remember", data, subject=True)
    report = verify(forge.ledger)
    assert report.errors == ()
    assert report.unknown_fields == {"remember.mood": 1, "remember.provenance.device": 1}


def test_a_record_of_an_older_version_may_lack_a_newer_field(forge: Forge) -> None:
    """What is missing is a default; it is neither damage nor unknown."""
    raw = json.loads(canonical(note("from the past")))
    del raw["imported"]
    data = (json.dumps(raw, indent=2, sort_keys=True) + "\n").encode()
    append_foreign(forge, "remember", data, subject=True)
    report = verify(forge.ledger)
    assert (report.errors, report.unknown_fields) == ((), {})


def append_foreign(forge: Forge, kind: str, data: bytes, *, subject: bool = False) -> None:
    """Append bytes as another version would write them, and acknowledge that."""
    from hikmah.ledger.chain import Addition, message
    from hikmah.model.records import read_stored

    head = forge.head()
    seq = forge.ledger.tip(head).seq + 1
    blob = forge.blob(data)
    text = message([Addition(seq, blob, read_stored(data))]).decode()
    if not subject:
        text = text.replace(kind, f"{kind} something new", 1)
    files = {
        **forge.files(head),
        f"records/0000/00/{seq:02}-{kind}-{blob[:12]}.json": ("100644", blob),
    }
    forge.set_ref(forge.commit(forge.tree(files), [head], text))
    acknowledge(forge)


def test_the_ids_of_unknown_records_must_be_in_the_message(forge: Forge) -> None:
    """What can be checked of a newer version's message is checked."""
    append_foreign(forge, "promote", b'{\n  "type": "promote"\n}\n')
    head = forge.head()
    message = forge.parse(head).message.decode().replace("Hikmah-Id: ", "Hikmah-Id: 0")
    forge.set_ref(forge.rewrite(head, message=message))
    acknowledge(forge)
    assert [p.code for p in verify(forge.ledger).errors] == ["message"]


def test_a_newer_format_is_named_with_what_to_do(tmp_path: Path) -> None:
    """A format this version does not know is an error that names the version to come."""
    forge = Forge(tmp_path / "store")
    data = canonical_json(
        {"format": "hikmah/2", "ledger": "x", "name": "memory", "created_at_ms": 0}
    )
    tree = forge.tree({"ledger.json": ("100644", forge.blob(data))})
    forge.set_ref(forge.commit(tree, [], "genesis"))
    report = verify(forge.ledger)
    assert [p.code for p in report.errors] == ["format"]
    assert "hikmah/2" in report.errors[0].text
    assert report.format is None


# ---- things a person should know -------------------------------------------------------


def test_a_ledger_under_another_name_is_a_warning(forge: Forge) -> None:
    """A ref may be copied; the genesis says what it was."""
    from hikmah.ledger.ledger import Ledger

    forge.add_many(1)
    forge.git("update-ref", "refs/hikmah/copy", forge.head())
    report = verify(Ledger(forge.ledger.store, "copy"))
    assert report.ok
    assert [w.code for w in report.warnings] == ["not_anchored", "ledger_name"]


def test_headers_that_no_hikmah_write_makes_are_a_warning(forge: Forge) -> None:
    """A signed or encoded commit was made by something else, and may still be fine."""
    head = forge.add_many(1)[-1]
    data = forge.raw(head).replace(b"\n\n", b"\nencoding latin-1\n\n", 1)
    forge.set_ref(forge.git("hash-object", "-t", "commit", "-w", "--stdin", data=data))
    acknowledge(forge)
    report = verify(forge.ledger)
    assert report.ok
    assert [w.code for w in report.warnings] == ["commit_headers"]


def test_no_ledger_at_all_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    """There is no ref and no memory of one."""
    report = verify(Forge(tmp_path / "store").ledger, expect_head="0" * 40, contains=["0" * 40])
    assert [p.code for p in report.errors] == ["no_ledger", "expect_head", "contains"]
    assert report.head is None


def test_a_ref_that_cannot_be_read_is_named(forge: Forge) -> None:
    """A symbolic ledger ref is refused by the store; verification says so."""
    forge.add_many(1)
    forge.git("symbolic-ref", "refs/hikmah/memory", "refs/heads/main")
    report = verify(forge.ledger)
    assert "ref_unreadable" in {p.code for p in report.errors}


def test_an_unacknowledged_record_shows_its_claim_source_and_verification(forge: Forge) -> None:
    """A person who is to accept a tail sees what matters in it."""
    head = forge.ledger.state.read_head()
    claimed = note(
        "the port is 22",
        claim=Claim(key="port", value="22"),
        provenance=Provenance(source="user\x1b[31m", verified=True),
    )
    forge.add(claimed)
    forge.add(Purge(id=forge.id(claimed), reason="wrong", at_ms=0))
    assert head is not None
    forge.ledger.state.acknowledge(head)
    first, second = verify(forge.ledger).unacknowledged
    assert (first.claim, first.source, first.verified) == ("port = 22", "user[31m", True)
    assert first.preview == "the port is 22"
    assert (second.type, second.kind, second.preview) == ("purge", None, "")
