"""Ledgers between repositories through the library: clone, pins, a beginning elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikmah.errors import (
    DecodeError,
    HikmahError,
    IntegrityError,
    NotFoundError,
    RefusedError,
    RemoteError,
    StoreError,
)
from hikmah.memory import Memory
from hikmah.memory.trip import Trip
from tests import world
from tests.remotes.roads import refs

REF = world.REF


OPEN: list[Memory] = []


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    """Close every memory that a test opened."""
    yield
    while OPEN:
        OPEN.pop().close()


def kept(memory: Memory) -> Memory:
    """Return a memory that is closed when the test ends."""
    OPEN.append(memory)
    return memory


def opened(folder: Path, **options: object) -> Memory:
    """Open a memory with nothing of the surroundings but PATH."""
    around = world.environment(folder)
    return kept(Memory.open(folder, environ=around, **options))  # type: ignore[arg-type]  # keywords as they are


def begin(folder: Path, **options: object) -> Memory:
    """Make a ledger."""
    around = world.environment(folder)
    memory, _ = Memory.init(folder, environ=around, **options)  # type: ignore[arg-type]  # keywords as they are
    return kept(memory)


def clone(url: str | Path, folder: Path | None, cwd: Path, **options: object) -> Memory:
    """Clone a ledger."""
    around = world.environment(cwd)
    memory, _ = Memory.clone(str(url), folder, environ=around, cwd=cwd, **options)  # type: ignore[arg-type]  # keywords as they are
    return kept(memory)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return an empty bare repository: the remote."""
    return world.repository(tmp_path / "remote.git", "--bare")


@pytest.fixture
def repo(tmp_path: Path, bare: Path) -> Path:
    """Return a repository whose `origin` is the remote."""
    made = world.repository(tmp_path / "repo")
    world.git(made, "remote", "add", "origin", str(bare))
    return made


@pytest.fixture
def pushed(repo: Path) -> Memory:
    """Return a memory with a ledger of two traces that was pushed."""
    memory = begin(repo)
    memory.remember("one", verified=True, source="review")
    memory.remember("two")
    memory.push(yes=True)
    return memory


def head(memory: Memory) -> str:
    """Return a memory's head."""
    return memory.status().head


class TestClone:
    """A ledger from a remote becomes this machine's own."""

    def test_into_a_folder_of_its_own(self, pushed: Memory, bare: Path, tmp_path: Path) -> None:
        """A bare `.hikmah` with the remote as its origin, verified and acknowledged."""
        memory, cloned = Memory.clone(
            str(bare), tmp_path / "new", environ=world.environment(tmp_path), cwd=tmp_path
        )
        kept(memory)
        assert (cloned.made_store, cloned.records, cloned.seq) == (True, 2, 2)
        assert cloned.verified == {"review": 1}
        assert memory.status().standing == "equal"
        assert memory.recall("two").results[0].trace.content == "two"
        memory.remember("three")
        assert memory.push(yes=True).changed
        git_dir = tmp_path / "new" / ".hikmah"
        assert world.git(git_dir, "config", "remote.origin.url") == str(bare)
        pushed.remember("elsewhere")
        world.git(git_dir, "fetch", "-q", "origin")
        assert refs(git_dir)["refs/hikmah-remotes/origin/memory"] == head(memory)

    def test_into_the_repository_around(self, pushed: Memory, bare: Path, tmp_path: Path) -> None:
        """A fresh `git clone` of the project takes the ledger by its remote's name."""
        project = tmp_path / "project"
        world.git(tmp_path, "clone", "-q", str(bare), str(project))
        memory = clone("origin", None, project)
        assert head(memory) == head(pushed)
        assert refs(project)[REF] == head(pushed)
        assert world.git(project, "status", "--porcelain") == ""

    @pytest.mark.usefixtures("pushed")
    def test_a_url_is_the_default_from_then_on(self, bare: Path, tmp_path: Path) -> None:
        """The project's own origin is not where this memory goes."""
        project = world.repository(tmp_path / "project")
        world.git(project, "remote", "add", "origin", "/nowhere")
        memory = clone(bare, None, project)
        memory.remember("three")
        assert memory.push(yes=True).url == str(bare)
        assert world.git(project, "config", "hikmah.remote") == str(bare)

    @pytest.mark.usefixtures("pushed")
    def test_a_password_is_not_kept(self, bare: Path, tmp_path: Path) -> None:
        """What is written to configuration has the user's name and no secret."""
        project = world.repository(tmp_path / "project")
        world.git(project, "config", f"url.{bare}.insteadOf", "https://ann:pw-9@host/x")
        clone("https://ann:pw-9@host/x", None, project)
        text = (project / ".git" / "config").read_text()
        assert 'remote = "https://ann@host/x"' in text
        assert text.count("pw-9") == 1, "only the line that the test wrote"

    def test_a_sha256_ledger_gets_a_sha256_store(self, tmp_path: Path) -> None:
        """The store is made as the remote's is; into an existing one it is refused."""
        bare = world.repository(tmp_path / "r256.git", "--bare", "--object-format=sha256")
        first = begin(world.repository(tmp_path / "r256", "--object-format=sha256"))
        first.remember("one")
        first.push(str(bare), yes=True)
        memory = clone(bare, tmp_path / "new", tmp_path)
        assert head(memory) == head(first)
        with pytest.raises(RefusedError, match="sha256"):
            clone(bare, None, world.repository(tmp_path / "sha1"))

    def test_a_ledger_that_is_there_is_left_alone(self, pushed: Memory, bare: Path) -> None:
        """Refused, with what joins the two."""
        before = head(pushed)
        with pytest.raises(RefusedError, match="already") as caught:
            clone(bare, None, bare.parent / "repo")
        assert "hikmah sync" in caught.value.hint
        assert head(pushed) == before

    @pytest.mark.usefixtures("pushed")
    def test_a_ledger_whose_ref_is_gone_is_not_replaced(self, bare: Path, repo: Path) -> None:
        """A deleted ref never becomes another beginning, not by a clone either."""
        world.git(repo, "update-ref", "-d", REF)
        with pytest.raises(IntegrityError, match="gone"):
            clone(bare, None, repo)

    @pytest.mark.parametrize("there", [False, True], ids=["new folder", "folder that was there"])
    def test_what_fails_leaves_nothing(self, bare: Path, tmp_path: Path, *, there: bool) -> None:
        """Neither a store nor a folder that was not there before."""
        folder = tmp_path / "new"
        if there:
            folder.mkdir()
        with pytest.raises(NotFoundError, match="has no refs/hikmah/memory"):
            clone(bare, folder, tmp_path)
        assert folder.exists() == there
        assert not (folder / ".hikmah").exists()

    @pytest.mark.usefixtures("pushed")
    def test_what_does_not_verify_leaves_nothing(self, bare: Path, tmp_path: Path) -> None:
        """Every commit is verified before anything is acknowledged."""
        text = world.git(bare, "cat-file", "commit", REF) + "x\n"
        bad = world.git(bare, "hash-object", "-t", "commit", "-w", "--stdin", text=text)
        world.git(bare, "update-ref", REF, bad)
        with pytest.raises(IntegrityError, match="breaks a rule") as caught:
            clone(bare, tmp_path / "new", tmp_path)
        assert caught.value.where == bad
        assert not (tmp_path / "new").exists()

    def test_a_ledger_by_another_name(self, bare: Path, tmp_path: Path) -> None:
        """Each ledger travels under its own name."""
        team = begin(world.repository(tmp_path / "team"), ledger="team")
        team.remember("for all")
        team.push(str(bare), yes=True)
        assert clone(bare, tmp_path / "new", tmp_path, ledger="team").status().records == 1
        with pytest.raises(NotFoundError):
            clone(bare, tmp_path / "other", tmp_path)


class TestPin:
    """A head noted elsewhere, and the history held against it."""

    def test_a_pin_says_what_the_head_is(self, pushed: Memory, tmp_path: Path) -> None:
        """Ledger, name, record, commit, time; in a file the same."""
        file = tmp_path / "pin.json"
        made = pushed.pin(write=file)
        assert (made.name, made.seq, made.commit) == ("memory", 2, head(pushed))
        assert json.loads(file.read_bytes()) == {
            "ledger": pushed.status().ledger,
            "name": "memory",
            "seq": 2,
            "commit": head(pushed),
            "at_ms": made.at_ms,
        }

    def test_honest_appends_pass_every_pin(self, pushed: Memory, tmp_path: Path) -> None:
        """After the pin: `--pin`, `--remote` and `--contains` hold, `--expect-head` does not."""
        file = tmp_path / "pin.json"
        pin = pushed.pin(write=file)
        pushed.remember("three")
        report = pushed.verify(pin=file, remote="origin", contains=[pin.commit])
        assert report.ok
        assert not any("pin" in text for text in report.not_established)
        assert not pushed.verify(expect_head=pin.commit).ok

    def test_a_rewritten_history_is_caught_by_every_pin(
        self, pushed: Memory, repo: Path, tmp_path: Path
    ) -> None:
        """Ref and state folder rewritten alike: only what is kept elsewhere tells."""
        file = tmp_path / "pin.json"
        pin = pushed.pin(write=file)
        world.git(repo, "update-ref", REF, f"{REF}~1")
        world.git(repo, "update-ref", "-d", "refs/hikmah-remotes/origin/memory")
        for state in (repo / ".git/hikmah/memory").iterdir():
            state.unlink()
        forged = opened(repo)
        forged.remember("instead")
        assert forged.verify().ok, "by itself it looks whole"
        codes = {
            "pin": forged.verify(pin=file),
            "remote": forged.verify(remote="origin"),
            "expect_head": forged.verify(expect_head=pin.commit),
            "contains": forged.verify(contains=[pin.commit]),
        }
        for code, report in codes.items():
            assert [problem.code for problem in report.errors] == [code]
            assert report.advice, f"{code}: a person is told what to do"
        assert "--remote REMOTE" in codes["pin"].advice[0]
        assert "--contains" in codes["expect_head"].advice[0]

    def test_a_pin_of_another_ledger_is_told(self, pushed: Memory, tmp_path: Path) -> None:
        """Its id is not this one's."""
        file = tmp_path / "pin.json"
        begin(world.repository(tmp_path / "other")).pin(write=file)
        errors = pushed.verify(pin=file).errors
        assert [e.code for e in errors] == ["pin", "pin"]
        assert "pins ledger" in errors[0].text

    def test_a_newer_pin_replaces_an_older_one(self, pushed: Memory, tmp_path: Path) -> None:
        """And never one that this history does not hold."""
        file = tmp_path / "pin.json"
        pushed.pin(write=file)
        pushed.remember("three")
        assert pushed.pin(write=file).seq == 3
        other = begin(world.repository(tmp_path / "other"))
        before = file.read_bytes()
        with pytest.raises(IntegrityError, match="left as it is"):
            other.pin(write=file)
        assert file.read_bytes() == before

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param("{}", id="fields missing"),
            pytest.param("not json", id="no JSON"),
            pytest.param("[" * 3000, id="deep"),
            pytest.param("x" * 10_000, id="long"),
            pytest.param(
                '{"ledger": "x", "name": "memory", "seq": 1, "commit": "y", "at_ms": 0}',
                id="no ids",
            ),
        ],
    )
    def test_what_is_no_pin_is_neither_read_nor_replaced(
        self, pushed: Memory, tmp_path: Path, text: str
    ) -> None:
        """A file of somebody's is left alone."""
        file = tmp_path / "notes"
        file.write_text(text)
        with pytest.raises(DecodeError, match="holds no pin"):
            pushed.verify(pin=file)
        with pytest.raises(DecodeError, match="holds no pin"):
            pushed.pin(write=file)
        assert file.read_text() == text

    def test_a_missing_pin_is_not_found(self, pushed: Memory, tmp_path: Path) -> None:
        """A mistyped path is no verification."""
        with pytest.raises(NotFoundError, match="cannot read the pin"):
            pushed.verify(pin=tmp_path / "gone")

    def test_a_pin_that_cannot_be_written_is_told(self, pushed: Memory, tmp_path: Path) -> None:
        """The folder is not there."""
        with pytest.raises(StoreError, match="cannot write"):
            pushed.pin(write=tmp_path / "gone" / "pin.json")

    def test_a_ledger_in_disagreement_is_not_pinned(self, pushed: Memory, repo: Path) -> None:
        """There is no head to vouch for; nor without a ledger."""
        world.git(repo, "update-ref", REF, f"{REF}~1")
        with pytest.raises(IntegrityError):
            pushed.pin()
        with pytest.raises(NotFoundError):
            opened(world.repository(repo.parent / "empty")).pin()


class TestRemoteVouches:
    """`verify(remote=...)`."""

    def test_an_unreachable_remote_is_no_answer(self, pushed: Memory, tmp_path: Path) -> None:
        """It raises: nothing was verified against it."""
        with pytest.raises(RemoteError):
            pushed.verify(remote=str(tmp_path / "gone"))

    def test_a_remote_without_the_ledger_vouches_for_nothing(
        self, pushed: Memory, tmp_path: Path
    ) -> None:
        """That is a problem, since something was asked for."""
        other = world.repository(tmp_path / "empty.git", "--bare")
        (problem,) = pushed.verify(remote=str(other)).errors
        assert problem.code == "remote"

    def test_a_remote_that_lost_records_is_told(self, pushed: Memory, bare: Path) -> None:
        """Its head is behind this one, as an older one would be; what was seen there is not."""
        world.git(bare, "update-ref", REF, f"{REF}~1")
        (problem,) = pushed.verify(remote="origin").errors
        assert (problem.code, "rewritten" in problem.text) == ("remote", True)

    def test_a_remote_that_another_machine_pushed_to_is_ahead(
        self, pushed: Memory, bare: Path, tmp_path: Path
    ) -> None:
        """Not contained: the advice names the command that joins."""
        other = clone(bare, tmp_path / "other", tmp_path)
        other.remember("there")
        other.push(yes=True)
        report = pushed.verify(remote="origin")
        assert [problem.code for problem in report.errors] == ["remote"]
        assert any("hikmah sync" in text for text in report.advice)


class TestBeginning:
    """A second beginning is stopped, because it could never be joined."""

    @pytest.fixture
    def fresh(self, pushed: Memory, bare: Path, tmp_path: Path) -> Path:
        """Return a fresh clone of a project whose remote has a ledger."""
        assert pushed.status().records == 2
        world.git(tmp_path, "clone", "-q", str(bare), str(tmp_path / "fresh"))
        return tmp_path / "fresh"

    @pytest.mark.parametrize("how", ["init", "write"])
    def test_the_configured_remote_has_it(self, fresh: Path, how: str) -> None:
        """Refused with both ways; nothing was written."""
        with pytest.raises(RefusedError, match="origin has refs/hikmah/memory") as caught:
            begin(fresh) if how == "init" else opened(fresh).remember("one")
        assert "hikmah clone origin" in caught.value.hint
        assert "hikmah init --new" in caught.value.hint
        assert REF not in refs(fresh)

    def test_a_tracking_ref_has_it(self, fresh: Path, bare: Path) -> None:
        """No connection is needed to know."""
        world.git(fresh, "fetch", "-q", str(bare), f"{REF}:refs/hikmah-remotes/team/memory")
        world.git(fresh, "remote", "remove", "origin")
        with pytest.raises(RefusedError, match="refs/hikmah-remotes/team/memory is here"):
            begin(fresh)

    def test_new_begins_another(self, fresh: Path) -> None:
        """A person's word; writes go on afterwards."""
        memory = begin(fresh, new=True)
        assert memory.remember("one").seq == 1

    def test_another_name_is_another_ledger(self, fresh: Path) -> None:
        """Only the same name is in the way."""
        assert begin(fresh, ledger="other").status().records == 0

    def test_a_remote_that_cannot_be_asked_stops_nobody(self, tmp_path: Path) -> None:
        """It is told of."""
        repo = world.repository(tmp_path / "away")
        world.git(repo, "remote", "add", "origin", "git://127.0.0.1:1/x")
        result = opened(repo).remember("one")
        assert any("could not be asked" in text for text in result.warnings)

    def test_who_does_not_wait_asks_nobody(self, fresh: Path) -> None:
        """A write that waits for no lock waits for no remote either."""
        assert opened(fresh, lock_timeout_s=0).remember("one").seq == 1

    def test_without_a_remote_nobody_is_asked(self, tmp_path: Path) -> None:
        """Most ledgers begin so."""
        result = opened(world.repository(tmp_path / "alone")).remember("one")
        assert len(result.warnings) == 1


class TestInitRemote:
    """`init(remote=NAME)`."""

    @pytest.mark.usefixtures("pushed")
    def test_a_plain_fetch_follows_the_ledger(self, bare: Path, tmp_path: Path) -> None:
        """The refspec leads to the ref that `fetch` uses, and the name is the default."""
        other = clone(bare, tmp_path / "other", tmp_path)
        repo = tmp_path / "repo"
        world.git(repo, "remote", "add", "team", str(bare))
        before = (repo / ".git" / "config").read_text()
        begin(repo, remote="team")
        begin(repo, remote="team")
        text = (repo / ".git" / "config").read_text()
        assert text.startswith(before)
        assert text.count("refs/hikmah-remotes/team/*") == 1
        assert world.git(repo, "config", "hikmah.remote") == "team"
        other.remember("there")
        other.push(yes=True)
        world.git(repo, "fetch", "-q", "team")
        assert refs(repo)["refs/hikmah-remotes/team/memory"] == head(other)
        fetched = opened(repo).fetch()
        assert (fetched.remote, fetched.relation) == ("team", "behind")

    @pytest.mark.usefixtures("pushed")
    def test_a_plain_fetch_never_rewinds(self, bare: Path, repo: Path) -> None:
        """The refspec has no plus: git refuses a rewritten ledger by itself."""
        begin(repo, remote="origin")
        before = refs(repo)["refs/hikmah-remotes/origin/memory"]
        world.git(bare, "update-ref", REF, f"{REF}~1")
        with pytest.raises(AssertionError, match="rejected"):
            world.git(repo, "fetch", "origin")
        assert refs(repo)["refs/hikmah-remotes/origin/memory"] == before

    @pytest.mark.parametrize(
        ("name", "error"),
        [("gone", NotFoundError), ("/srv/x", NotFoundError), ("ext::x", RefusedError)],
    )
    def test_only_a_named_remote_can_be_followed(
        self, tmp_path: Path, name: str, error: type[HikmahError]
    ) -> None:
        """A refspec belongs to a name in git's configuration."""
        with pytest.raises(error):
            begin(world.repository(tmp_path / "x"), remote=name)

    def test_a_name_with_marks_is_written_so_that_git_reads_it(self, tmp_path: Path) -> None:
        """Quotes and backslashes in a section's name are git's own escapes."""
        repo = world.repository(tmp_path / "x")
        bare = world.repository(tmp_path / "b.git", "--bare")
        world.git(repo, "remote", "add", "up/stream-1.x", str(bare))
        begin(repo, remote="up/stream-1.x")
        found = world.git(repo, "config", "--get-all", "remote.up/stream-1.x.fetch")
        assert "refs/hikmah/*:refs/hikmah-remotes/up/stream-1.x/*" in found


def test_a_trip_tells_whoever_watches(pushed: Memory) -> None:
    """Progress of verification, and the transfer's own words."""
    heard: list[str] = []
    pushed.remember_batch([{"content": f"record {n}"} for n in range(3)])
    pushed.push(trip=Trip(watch=heard.append))
    assert heard
