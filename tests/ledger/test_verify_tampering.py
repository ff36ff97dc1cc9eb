"""Tampering with a ledger by plain git: each way is detected and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hikmah.ledger.findings import CODES, VerifyReport
from hikmah.ledger.verify import verify
from hikmah.model.records import Fulfill, canonical
from tests.ledger.forge import Forge, note

FILE = "100644"


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


def chain(forge: Forge) -> list[str]:
    """Return the ledger's commits, the genesis first."""
    return forge.git("rev-list", "--reverse", "refs/hikmah/memory").splitlines()


def relay(forge: Forge, commits: list[str], base: str) -> str:
    """Write commits again, each as it is but on a new parent; return the last."""
    for commit in commits:
        base = forge.rewrite(commit, parents=[base])
    return base


def anchored_elsewhere(forge: Forge) -> None:
    """Make the ref the acknowledged head, as an attacker with the state folder would."""
    head = forge.ledger.tip(forge.head())
    forge.ledger.state.head_file.write_bytes(
        msgspec.json.encode({"commit": head.commit, "seq": head.seq})
    )


def path_of(forge: Forge, commit: str) -> str:
    """Return the path of the record that a commit added."""
    return forge.git("diff-tree", "-r", "--name-only", "--no-commit-id", commit)


# ---- one table: what is done, and what must be named -----------------------------------


def edit_newest(forge: Forge) -> str:
    """Replace the newest record's bytes and keep its path."""
    head = forge.head()
    files = forge.files(head)
    files[path_of(forge, head)] = (FILE, forge.blob(canonical(note("edited"))))
    return forge.rewrite(head, files=files)


def edit_in_the_middle(forge: Forge) -> str:
    """Replace a record in the middle and lay the later commits, trees untouched, on top."""
    commits = chain(forge)
    files = forge.files(commits[3])
    files[path_of(forge, commits[3])] = (FILE, forge.blob(canonical(note("edited"))))
    return relay(forge, commits[4:], forge.rewrite(commits[3], files=files))


def reorder(forge: Forge) -> str:
    """Exchange two commits."""
    commits = chain(forge)
    return relay(forge, [commits[4], commits[3], commits[5]], commits[2])


def drop_in_the_middle(forge: Forge) -> str:
    """Leave a commit out and lay the later ones on its parent."""
    commits = chain(forge)
    return relay(forge, commits[4:], commits[2])


def drop_a_record(forge: Forge) -> str:
    """Take an older record out of the newest tree."""
    head = forge.head()
    files = forge.files(head)
    del files[path_of(forge, chain(forge)[2])]
    return forge.rewrite(head, files=files)


def inject(forge: Forge) -> str:
    """Slip a second record into the newest commit, under its honest message."""
    head = forge.head()
    files = forge.files(head)
    blob = forge.blob(canonical(note("slipped in")))
    files[f"records/0000/00/06-remember-{blob[:12]}.json"] = (FILE, blob)
    return forge.rewrite(head, files=files)


def inject_in_the_past(forge: Forge) -> str:
    """Add a record in a gap below the newest number."""
    head = forge.head()
    blob = forge.blob(canonical(note("backdated")))
    files = forge.files(head)
    files[f"records/0000/00/02-remember-{blob[:12]}.json"] = (FILE, blob)
    return forge.commit(forge.tree(files), [head], "remember observation: backdated")


def swap_blobs(forge: Forge) -> str:
    """Exchange the contents of two records' paths."""
    head = forge.head()
    files = forge.files(head)
    a, b = path_of(forge, head), path_of(forge, chain(forge)[3])
    files[a], files[b] = files[b], files[a]
    return forge.rewrite(head, files=files)


def change_message(forge: Forge) -> str:
    """Let the log say something else than the record does."""
    head = forge.head()
    message = forge.parse(head).message.decode()
    return forge.rewrite(head, message=message.replace("note 5", "note five"))


def change_trailer(forge: Forge) -> str:
    """Let the log say that somebody else was the source."""
    head = forge.head()
    message = forge.parse(head).message.decode()
    return forge.rewrite(head, message=message.replace("Source: unknown", "Source: user"))


def drop_trailers(forge: Forge) -> str:
    """Leave the trailers out."""
    head = forge.head()
    subject = forge.parse(head).message.decode().splitlines()[0]
    return forge.rewrite(head, message=subject + "\n")


def add_other_file(forge: Forge) -> str:
    """Add a file that is no record."""
    head = forge.head()
    files = {**forge.files(head), "README.md": (FILE, forge.blob(b"hello"))}
    return forge.commit(forge.tree(files), [head], "Add a readme")


def change_genesis_file(forge: Forge) -> str:
    """Change ledger.json in a later commit."""
    head = forge.head()
    files = {**forge.files(head), "ledger.json": (FILE, forge.blob(b"{}\n"))}
    return forge.commit(forge.tree(files), [head], "Change the ledger")


def make_executable(forge: Forge) -> str:
    """Add a record as an executable file."""
    head = forge.head()
    blob = forge.blob(canonical(note("run me")))
    files = forge.files(head)
    files[f"records/0000/00/06-remember-{blob[:12]}.json"] = ("100755", blob)
    return forge.commit(forge.tree(files), [head], "remember observation")


def empty_commit(forge: Forge) -> str:
    """Put a commit on top that adds nothing."""
    return forge.commit(forge.parse(forge.head()).tree, [forge.head()], "nothing")


def wrong_type_in_path(forge: Forge) -> str:
    """Add a trace under the path of a purge."""
    head = forge.head()
    blob = forge.blob(canonical(note("a trace")))
    files = {**forge.files(head), f"records/0000/00/06-purge-{blob[:12]}.json": (FILE, blob)}
    return forge.commit(forge.tree(files), [head], "purge")


def wrong_id_in_path(forge: Forge) -> str:
    """Add a record under another's id."""
    head = forge.head()
    blob = forge.blob(canonical(note("a trace")))
    files = {**forge.files(head), "records/0000/00/06-remember-000000000000.json": (FILE, blob)}
    return forge.commit(forge.tree(files), [head], "remember")


def skip_a_number(forge: Forge) -> str:
    """Leave a number out."""
    head = forge.head()
    blob = forge.blob(canonical(note("a trace")))
    files = {**forge.files(head), f"records/0000/00/07-remember-{blob[:12]}.json": (FILE, blob)}
    return forge.commit(forge.tree(files), [head], "remember")


def not_json(forge: Forge) -> str:
    """Add a record that is no JSON."""
    return added(forge, b"not json\n")


def not_canonical(forge: Forge) -> str:
    """Add a record with its keys in another form."""
    return added(forge, msgspec.json.encode(note("compact")))


def bad_value(forge: Forge) -> str:
    """Add a record with a value out of range."""
    return added(forge, canonical(note("sure", confidence=7.0)))


def dangling_link(forge: Forge) -> str:
    """Add a record that points at one that is not there."""
    missing = "ab" * (20 if forge.algorithm == "sha1" else 32)
    return added(forge, canonical(note("fix", supersedes=missing)))


def link_to_wrong_kind(forge: Forge) -> str:
    """Fulfil what is no commitment."""
    target = forge.files(forge.head())[path_of(forge, chain(forge)[2])][1]
    return added(forge, canonical(Fulfill(id=target, at_ms=0)), "fulfill")


def added(forge: Forge, data: bytes, kind: str = "remember") -> str:
    """Add bytes at the next record's path."""
    head = forge.head()
    blob = forge.blob(data)
    path = f"records/0000/00/06-{kind}-{blob[:12]}.json"
    return forge.commit(forge.tree({**forge.files(head), path: (FILE, blob)}), [head], kind)


def other_genesis(forge: Forge) -> str:
    """Join another ledger's history by a merge."""
    other = Forge(forge.path.parent / "other", forge.algorithm)
    other.init(ledger="f" * 32)
    other.add(note("from elsewhere"))
    forge.git("fetch", "-q", str(other.path), "refs/hikmah/memory:refs/other")
    theirs = forge.git("rev-parse", "refs/other")
    files = {**forge.files(theirs), **forge.files(forge.head())}
    return forge.commit(forge.tree(files), sorted([forge.head(), theirs]), "merge")


def evil_merge(forge: Forge) -> str:
    """Add a record in the merge of two honest branches."""
    return merged(forge, {"add": True})


def lossy_merge(forge: Forge) -> str:
    """Leave a record out of the merge of two honest branches."""
    return merged(forge, {"drop": True})


def merged(forge: Forge, how: dict[str, bool]) -> str:
    """Merge two branches that both hold to the format, dishonestly."""
    head = forge.head()
    forge.set_ref(chain(forge)[4])
    forge.ledger.state.head_file.unlink()
    other = forge.add(note("other branch")).tip.commit
    files = {**forge.files(head), **forge.files(other)}
    if how.get("add"):
        blob = forge.blob(canonical(note("by the merge")))
        files[f"records/0000/00/06-remember-{blob[:12]}.json"] = (FILE, blob)
    else:
        del files[path_of(forge, head)]
    return forge.commit(forge.tree(files), sorted([head, other]), "merge")


TAMPERINGS: list[tuple[Callable[[Forge], str], set[str]]] = [
    (edit_newest, {"path_id", "message"}),
    (edit_in_the_middle, {"path_id", "message", "record_changed"}),
    (reorder, {"record_lost", "message"}),
    (drop_in_the_middle, {"message"}),
    (drop_a_record, {"record_lost"}),
    (inject, {"message"}),
    (inject_in_the_past, {"sequence"}),
    (swap_blobs, {"record_changed", "path_id"}),
    (change_message, {"message"}),
    (change_trailer, {"message"}),
    (drop_trailers, {"message"}),
    (add_other_file, {"not_a_record"}),
    (change_genesis_file, {"record_changed"}),
    (make_executable, {"file_mode"}),
    (empty_commit, {"empty_commit"}),
    (wrong_type_in_path, {"path_type"}),
    (wrong_id_in_path, {"path_id"}),
    (skip_a_number, {"sequence"}),
    (not_json, {"record_undecodable"}),
    (not_canonical, {"record_not_canonical"}),
    (bad_value, {"record_undecodable"}),
    (dangling_link, {"link_missing"}),
    (link_to_wrong_kind, {"link_kind"}),
    (other_genesis, {"other_ledger"}),
    (evil_merge, {"merge_tree", "merge_bytes"}),
    (lossy_merge, {"record_lost"}),
]


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
