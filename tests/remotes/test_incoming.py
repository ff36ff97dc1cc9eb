"""What may be believed of commits that came from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hikmah.ledger import merge
from hikmah.ledger.findings import CODES
from hikmah.ledger.objects import commit_bytes
from hikmah.model.records import Record, Supersede, canonical
from hikmah.model.trace import Provenance
from hikmah.remotes.incoming import MAX_ERRORS, Incoming, examine
from tests.ledger.forge import Forge, note
from tests.ledger.tampers import TAMPERINGS, added, chain, not_json

SECRET = "token: ghp_" + "a1B2" * 9


@pytest.fixture(params=["sha1", "sha256"])
def forge(request: pytest.FixtureRequest, tmp_path: Path) -> Forge:
    """Return a ledger of five honest records, in a repository of either hash."""
    return started(tmp_path / "store", request.param)


@pytest.fixture
def plain(tmp_path: Path) -> Forge:
    """Return a ledger of five honest records in a SHA-1 repository."""
    return started(tmp_path / "store", "sha1")


def started(path: Path, algorithm: str) -> Forge:
    """Return a ledger of five honest records."""
    forge = Forge(path, algorithm)
    forge.init()
    forge.add_many(5)
    return forge


def codes(found: Incoming) -> set[str]:
    """Return the codes of what was found, each of which must be a documented one."""
    named = {problem.code for problem in found.errors}
    assert named <= CODES.keys()
    assert found.ok is not bool(found.errors)
    return named


def fork(forge: Forge, *records: Record) -> tuple[str, str]:
    """Append records to the fourth record beside the fifth; return both heads."""
    mine = forge.head()
    forge.set_ref(chain(forge)[4])
    forge.ledger.state.head_file.unlink()
    theirs = forge.add(*records).tip.commit
    forge.set_ref(mine)
    return mine, theirs


def joined(forge: Forge, *heads: str) -> str:
    """Write the merge commit of two heads."""
    files: dict[str, tuple[str, str]] = {}
    for head in heads:
        files |= forge.files(head)
    commits = {head: forge.parse(head) for head in heads}
    data = commit_bytes(merge.merge_commit(commits, forge.tree(files)))
    return forge.git("hash-object", "-t", "commit", "-w", "--stdin", data=data)


class TestHonest:
    """What honest writers make is believed, and told apart from what was known."""

    @pytest.mark.parametrize("strict", [False, True])
    def test_an_append_is_new_and_stands_on_the_old_head(
        self, forge: Forge, *, strict: bool
    ) -> None:
        """The base of an append is exactly the old head."""
        old = forge.head()
        new = forge.add_many(3, first=6)
        found = examine(forge.ledger, new[-1], [old], strict=strict)
        assert found.ok
        assert found.commits == tuple(reversed(new))
        assert (found.base, found.records) == ((old,), 3)

    def test_a_batch_counts_its_records(self, forge: Forge) -> None:
        """A batch is one commit of many records."""
        old = forge.head()
        new = forge.add(*(note(f"batch {n}") for n in range(150))).tip.commit
        found = examine(forge.ledger, new, [old], strict=True)
        assert found.ok
        assert (len(found.commits), found.records) == (1, 150)

    def test_the_same_head_brings_nothing(self, forge: Forge) -> None:
        """A head that is trusted already is not looked into."""
        found = examine(forge.ledger, forge.head(), [forge.head()])
        assert found.ok
        assert (found.commits, found.records) == ((), 0)

    def test_a_head_behind_brings_nothing(self, forge: Forge) -> None:
        """An ancestor of what is trusted is no news."""
        found = examine(forge.ledger, chain(forge)[1], [forge.head()])
        assert found.ok
        assert found.commits == ()

    def test_a_whole_ledger_is_examined_when_nothing_is_trusted(self, forge: Forge) -> None:
        """Without a trusted head the genesis is checked, too."""
        found = examine(forge.ledger, forge.head(), strict=True)
        assert found.ok
        assert (len(found.commits), found.records, found.base) == (6, 5, ())
        assert found.genesis is not None
        assert found.genesis.ledger == "0" * 32

    def test_a_join_is_examined_with_the_side_that_is_new(self, forge: Forge) -> None:
        """The merge and the other side's commits are new; the base has both shared ends."""
        mine, theirs = fork(forge, note("other side"))
        head = joined(forge, mine, theirs)
        found = examine(forge.ledger, head, [mine], strict=True)
        assert found.ok
        assert set(found.commits) == {head, theirs}
        assert mine in found.base

    def test_several_trusted_heads_leave_only_the_merge(self, forge: Forge) -> None:
        """What either head reaches is trusted."""
        mine, theirs = fork(forge, note("other side"))
        found = examine(forge.ledger, joined(forge, mine, theirs), [mine, theirs])
        assert found.ok
        assert (len(found.commits), found.records) == (1, 0)
        assert set(found.base) == {mine, theirs}

    def test_links_reach_back_into_what_is_trusted(self, forge: Forge) -> None:
        """A new record may point at an old one, and at a new one."""
        old = forge.head()
        first = forge.id(note("note 1"))
        new = note("fixed", supersedes=first)
        forge.add(new)
        head = forge.add(Supersede(id=first, by=forge.id(new), at_ms=0)).tip.commit
        assert examine(forge.ledger, head, [old]).ok

    def test_progress_counts_records_that_are_new(self, plain: Forge) -> None:
        """Progress is told in records, of those that no trusted head reaches."""
        old = plain.head()
        new = plain.add_many(120, first=6)
        told: list[tuple[int, int]] = []
        examine(plain.ledger, new[-1], [old], progress=lambda *at: told.append(at))
        assert told == [(100, 120)]


class TestDishonest:
    """What breaks the format is named with the commit that breaks it."""

    @pytest.mark.parametrize(
        ("tamper", "named"), TAMPERINGS, ids=[tamper.__name__ for tamper, _ in TAMPERINGS]
    )
    def test_tampering_is_named(
        self, plain: Forge, tamper: Callable[[Forge], str], named: set[str]
    ) -> None:
        """The same table as for a whole verification, with a trusted head to begin from."""
        old = plain.head()
        found = examine(plain.ledger, tamper(plain), [old])
        assert named <= codes(found)
        named_at = {problem.commit for problem in found.errors if problem.code != "too_many"}
        assert named_at <= set(found.commits)

    def test_another_ledgers_history_is_named(self, forge: Forge, tmp_path: Path) -> None:
        """A well-formed ledger is refused when it is not this one."""
        other = Forge(tmp_path / "other", forge.algorithm)
        other.init(ledger="f" * 32)
        other.add(note("from elsewhere"))
        forge.git("fetch", "-q", str(other.path), "refs/hikmah/memory:refs/other")
        found = examine(forge.ledger, forge.git("rev-parse", "refs/other"), [forge.head()])
        assert codes(found) == {"other_ledger"}
        assert "f" * 32 in found.errors[0].text

    def test_trusted_heads_of_two_ledgers_are_named(self, plain: Forge, tmp_path: Path) -> None:
        """Nothing can be said on the ground of two ledgers at once."""
        other = Forge(tmp_path / "other")
        other.init(ledger="f" * 32)
        plain.git("fetch", "-q", str(other.path), "refs/hikmah/memory:refs/other")
        theirs = plain.git("rev-parse", "refs/other")
        assert "other_ledger" in codes(examine(plain.ledger, theirs, [plain.head(), theirs]))

    def test_a_link_to_a_record_of_another_ledger_is_missing(self, plain: Forge) -> None:
        """That the object is in the repository does not make it part of this ledger."""
        stray = plain.blob(canonical(note("stray")))
        old = plain.head()
        head = plain.add(note("fix", supersedes=stray)).tip.commit
        found = examine(plain.ledger, head, [old])
        assert codes(found) == {"link_missing"}
        assert found.errors[0].commit == head

    def test_a_wrong_link_into_what_is_trusted_is_named(self, plain: Forge) -> None:
        """A target that is trusted is still asked for what it is."""
        plain.add(Supersede(id=plain.id(note("note 1")), by=plain.id(note("note 2")), at_ms=0))
        switch = plain.files(plain.head())
        (target,) = [oid for path, (_, oid) in switch.items() if "-supersede-" in path]
        old = plain.head()
        head = plain.add(note("fix", supersedes=target)).tip.commit
        assert codes(examine(plain.ledger, head, [old])) == {"link_kind"}

    @pytest.mark.parametrize(
        "what",
        [
            pytest.param("tag", id="a tag"),
            pytest.param("blob", id="a blob"),
            pytest.param("tree", id="a tree"),
            pytest.param("missing", id="nothing"),
        ],
    )
    def test_a_head_that_is_no_commit_is_named(self, plain: Forge, what: str) -> None:
        """A head of another kind is a finding."""
        old = plain.head()
        if what == "tag":
            plain.git("tag", "-a", "-m", "x", "v1", old)
        heads = {
            "tag": lambda: plain.git("rev-parse", "v1"),
            "blob": lambda: plain.blob(b"x"),
            "tree": lambda: plain.parse(old).tree,
            "missing": lambda: "ab" * 20,
        }
        head = heads[what]()
        found = examine(plain.ledger, head, [old])
        assert codes(found) <= {"malformed_commit", "missing_object"}
        assert not found.ok

    def test_a_trusted_head_that_is_missing_is_named(self, plain: Forge) -> None:
        """What cannot be read cannot be the ground of trust."""
        assert "missing_object" in codes(examine(plain.ledger, plain.head(), ["ab" * 20]))

    def test_a_commit_without_its_parent_is_named(self, plain: Forge) -> None:
        """A history with a hole is a finding."""
        old = plain.head()
        data = plain.raw(old).replace(b"parent ", b"parent " + b"cd" * 20 + b"\nparent ", 1)
        head = plain.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", data=data)
        assert "missing_object" in codes(examine(plain.ledger, head, [old]))

    def test_checking_stops_when_enough_is_wrong(self, plain: Forge) -> None:
        """A thousand strange files are not a thousand lines."""
        old = plain.head()
        blob = plain.blob(b"x")
        files = plain.files(old) | {f"junk/{n}": ("100644", blob) for n in range(1_000)}
        found = examine(plain.ledger, plain.commit(plain.tree(files), [old], "junk"), [old])
        assert len(found.errors) == MAX_ERRORS + 1
        assert found.errors[-1].code == "too_many"

    def test_a_huge_blob_is_not_read_whole(self, plain: Forge) -> None:
        """An object far larger than any record is a finding, whatever it inflates to."""
        old = plain.head()
        found = examine(plain.ledger, added(plain, b" " * (40 << 20)), [old])
        assert codes(found) == {"damaged_object"}

    def test_a_time_of_many_digits_is_named(self, plain: Forge) -> None:
        """A committer's time that no number holds does not stop the check of its merge."""
        mine, theirs = fork(plain, note("other side"))
        data = plain.raw(theirs).replace(b" 1700000000 ", b" " + b"9" * 5_000 + b" ")
        bad = plain.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", data=data)
        merged = plain.rewrite(joined(plain, mine, theirs), parents=sorted([mine, bad]))
        found = examine(plain.ledger, merged, [mine])
        assert {"commit_identity", "merge_bytes"} <= codes(found)


class TestStrict:
    """What may stand in a ledger and yet shall not get in through a guarded door."""

    @pytest.mark.parametrize(
        "record",
        [
            pytest.param(note(SECRET), id="content"),
            pytest.param(note("x", tags=(SECRET[7:],)), id="tag"),
            pytest.param(note("x", provenance=Provenance(source=SECRET)), id="source"),
        ],
    )
    def test_a_credential_is_refused_by_rule_and_never_shown(
        self, plain: Forge, record: Record
    ) -> None:
        """The finding names the commit, the field and the rule."""
        old = plain.head()
        head = plain.add(record).tip.commit
        assert examine(plain.ledger, head, [old]).ok
        found = examine(plain.ledger, head, [old], strict=True)
        assert codes(found) == {"screened"}
        assert found.errors[0].commit == head
        assert "ghp_" not in str(found.errors)

    @pytest.mark.parametrize("strict", [False, True])
    def test_a_models_verified_trace_is_refused(self, plain: Forge, *, strict: bool) -> None:
        """What a model says is never verified, whoever asks."""
        old = plain.head()
        provenance = Provenance(source="model:oracle", verified=True)
        head = plain.add(note("I am sure", provenance=provenance)).tip.commit
        assert codes(examine(plain.ledger, head, [old], strict=strict)) == {"record_invalid"}

    @pytest.mark.parametrize(
        ("data", "kind", "code"),
        [
            pytest.param(b'{\n  "type": "vote"\n}\n', "vote", "unknown_type", id="type"),
            pytest.param(
                canonical(note("x")).replace(b'  "tags"', b'  "taft": 1,\n  "tags"'),
                "remember",
                "unknown_field",
                id="field",
            ),
        ],
    )
    def test_what_cannot_be_judged_is_refused(
        self, plain: Forge, data: bytes, kind: str, code: str
    ) -> None:
        """A type or field of a newer version is kept by readers and not let in by a guard."""
        old = plain.head()
        head = added(plain, data, kind)
        assert code not in codes(examine(plain.ledger, head, [old]))
        found = examine(plain.ledger, head, [old], strict=True)
        assert code in codes(found)
        assert head in {problem.commit for problem in found.errors}

    def test_foreign_headers_are_refused(self, plain: Forge) -> None:
        """A signature, or anything else in the headers, is nothing a hikmah write makes."""
        old = plain.head()
        new = plain.add(note("sixth")).tip.commit
        data = plain.raw(new).replace(b"\n\n", b"\ngpgsig ghp_hidden\n\n", 1)
        head = plain.git("hash-object", "-t", "commit", "-w", "--stdin", data=data)
        loose = examine(plain.ledger, head, [old])
        assert [w.code for w in loose.warnings] == ["commit_headers"]
        assert loose.ok
        assert codes(examine(plain.ledger, head, [old], strict=True)) == {"commit_headers"}
        # Once it stands, it is no reason to refuse what comes after.
        plain.set_ref(head)
        plain.ledger.state.head_file.unlink()
        later = plain.add(note("seventh")).tip.commit
        assert examine(plain.ledger, later, [head], strict=True).ok

    def test_a_credential_in_a_name_is_refused(self, plain: Forge) -> None:
        """Author and committer are text that somebody chose, too."""
        old = plain.head()
        new = plain.add(note("sixth")).tip.commit
        data = plain.raw(new).replace(b"author ", b"author ghp_" + b"a1B2" * 9 + b" ", 1)
        head = plain.git("hash-object", "-t", "commit", "-w", "--stdin", data=data)
        assert codes(examine(plain.ledger, head, [old], strict=True)) == {"screened"}

    @pytest.mark.parametrize(
        ("was", "now"),
        [
            pytest.param(b'"0' + b"0" * 31 + b'"', b'"not an id"', id="id"),
            pytest.param(b'"memory"', b'"../memory"', id="name"),
            pytest.param(b"{\n", b'{\n  "a": 1,\n', id="further field"),
        ],
    )
    def test_a_genesis_holds_nothing_beside(self, plain: Forge, was: bytes, now: bytes) -> None:
        """A genesis is no place for other text."""
        genesis = chain(plain)[0]
        (blob,) = [oid for _, oid in plain.files(genesis).values()]
        data = plain.raw(blob)
        assert was in data
        files = {"ledger.json": ("100644", plain.blob(data.replace(was, now, 1)))}
        head = plain.rewrite(genesis, files=files)
        assert "genesis_record" not in codes(examine(plain.ledger, head))
        assert "genesis_record" in codes(examine(plain.ledger, head, strict=True))

    def test_several_bad_commits_are_all_named(self, plain: Forge) -> None:
        """All problems come in one answer."""
        old = plain.head()
        first = not_json(plain)
        plain.set_ref(first)
        plain.ledger.state.head_file.unlink()
        second = plain.add(note(SECRET)).tip.commit
        found = examine(plain.ledger, second, [old], strict=True)
        assert {problem.commit for problem in found.errors} == {first, second}
