"""The guard over real pushes by plain git to a bare repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.ledger import Ledger
from hikmah.ledger.locate import explicit
from hikmah.ledger.merge import merge_commit
from hikmah.ledger.objects import commit_bytes
from hikmah.model.records import Fulfill, Purge, Record, Supersede
from hikmah.model.trace import Claim, Provenance
from hikmah.remotes import guardhook
from hikmah.remotes.guard import concerns, judge
from tests.ledger.forge import IDENTITY, Forge, note
from tests.ledger.tampers import TAMPERINGS, chain
from tests.remotes.servers import http_server

REF = "refs/hikmah/memory"
SECRET = "the token: ghp_" + "a1B2" * 9
ZEROS = "0" * 40


class Meeting:
    """A client's ledger, and a guarded bare repository that it is pushed to."""

    def __init__(self, folder: Path, algorithm: str = "sha1") -> None:
        self.client = Forge(folder / "client", algorithm)
        self.server = folder / "shared repository.git"
        self.client.git("config", "remote.origin.url", str(self.server))

    def push(self, *words: str, env: dict[str, str] | None = None) -> tuple[bool, str]:
        """Push by plain git; return whether all went through, and what was said."""
        done = subprocess.run(
            ["git", "push", *words],
            cwd=self.client.path,
            env={**os.environ, **IDENTITY, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        # Git pads what the other side says, for terminals.
        return done.returncode == 0, re.sub(r" +$", "", done.stderr, flags=re.MULTILINE)

    def refs(self) -> dict[str, str]:
        """Return the server's refs."""
        told = self.on_server("for-each-ref", "--format=%(refname) %(objectname)")
        return dict(tuple(line.split(" ")) for line in told.splitlines())  # type: ignore[misc]  # two words

    def on_server(self, *words: str) -> str:
        """Run git in the server's repository."""
        done = subprocess.run(
            ["git", *words],
            cwd=self.server,
            env={**os.environ, **IDENTITY},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def offered(self, commit: str, *flags: str) -> str:
        """Push a commit to the ledger's ref, which must be refused; return what was said."""
        before = self.refs()
        went, said = self.push(*flags, "origin", f"+{commit}:{REF}")
        assert not went
        assert "hook declined" in said
        assert self.refs() == before
        return said


def meet(folder: Path, algorithm: str = "sha1") -> Meeting:
    """Make both repositories; five records were pushed, through the guard."""
    meeting = Meeting(folder, algorithm)
    git = ["git", "init", "-q", "--bare", f"--object-format={algorithm}", str(meeting.server)]
    subprocess.run(git, check=True, env={**os.environ, **IDENTITY})
    guardhook.install(GitStore(explicit(meeting.server), environ=os.environ), environ=os.environ)
    meeting.client.init()
    meeting.client.add_many(5)
    assert meeting.push("origin", REF)[0]
    return meeting


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with both repositories, to be copied."""
    folder = tmp_path_factory.mktemp("met")
    meet(folder)
    return folder


@pytest.fixture
def meeting(met: Path, tmp_path: Path) -> Meeting:
    """Return both repositories as after the first push."""
    shutil.copytree(met, tmp_path / "here")
    return Meeting(tmp_path / "here")


def branch(forge: Forge, *records: Record) -> str:
    """Append records beside the newest one; the ref then holds the newest one as before."""
    mine = forge.head()
    forge.set_ref(chain(forge)[4])
    forge.ledger.state.head_file.unlink(missing_ok=True)
    theirs = forge.add(*records).tip.commit
    forge.set_ref(mine)
    forge.ledger.state.head_file.unlink()
    return theirs


def join(forge: Forge, *heads: str) -> str:
    """Write the merge commit of two heads."""
    files: dict[str, tuple[str, str]] = {}
    for head in heads:
        files |= forge.files(head)
    commits = {head: forge.parse(head) for head in heads}
    data = commit_bytes(merge_commit(commits, forge.tree(files)))
    return forge.git("hash-object", "-t", "commit", "-w", "--stdin", data=data)


class TestHonest:
    """What honest writers push goes through."""

    def test_an_append(self, meeting: Meeting) -> None:
        """Case 6: one record more."""
        meeting.client.add(note("sixth"))
        assert meeting.push("origin", REF)[0]
        assert meeting.refs()[REF] == meeting.client.head()

    def test_every_kind_of_record(self, meeting: Meeting) -> None:
        """Corrections, promises, their fulfilment and purges go through, each as it is written."""
        client = meeting.client
        promise = note("send it", kind="commitment", deadline_ms=1)
        client.add(promise, note("fixed", supersedes=client.id(note("note 1"))))
        client.add(Fulfill(id=client.id(promise), at_ms=0))
        client.add(Purge(id=client.id(note("note 2")), reason="no longer wanted", at_ms=0))
        third, fourth = client.id(note("note 3")), client.id(note("note 4"))
        client.add(Supersede(id=third, by=fourth, at_ms=0))
        client.add(note("says a model", provenance=Provenance(source="model:oracle")))
        client.add(note("claims", claim=Claim(key="port", value="8080")))
        went, said = meeting.push("origin", REF)
        assert went, said

    def test_a_batch(self, meeting: Meeting) -> None:
        """Many records in one commit, past the end of a folder."""
        meeting.client.add(*(note(f"batch {n}") for n in range(220)))
        assert meeting.push("origin", REF)[0]

    def test_a_join(self, meeting: Meeting) -> None:
        """A merge of what the server has and what it has not."""
        client = meeting.client
        theirs = branch(client, note("beside"))
        joined = join(client, client.head(), theirs)
        went, said = meeting.push("origin", f"{joined}:{REF}")
        assert went, said
        assert meeting.refs()[REF] == joined

    def test_a_second_ledger_under_a_name_of_its_own(self, meeting: Meeting) -> None:
        """Case 5: a new ledger begins with its genesis, whatever it was called at home."""
        went, said = meeting.push("origin", f"{REF}:refs/hikmah/team-a")
        assert went, said

    def test_a_sha256_repository(self, tmp_path: Path) -> None:
        """Ids of 64 digits are as good."""
        meeting = meet(tmp_path, "sha256")
        meeting.client.add(note("sixth"))
        assert meeting.push("origin", REF)[0]
        said = meeting.offered(chain(meeting.client)[3])
        assert "does not descend" in said

    def test_other_refs_are_not_looked_at(self, meeting: Meeting) -> None:
        """Case 1: branches and tags go as they did, forced and deleted, too."""
        head = meeting.client.head()
        meeting.client.git("tag", "-a", "-m", "x", "v1", head)
        for words in (
            (f"{head}:refs/heads/main", "v1"),
            ("--force", f"{chain(meeting.client)[2]}:refs/heads/main"),
            (":refs/heads/main", ":refs/tags/v1"),
        ):
            went, said = meeting.push("origin", *words)
            assert went, said
            assert "hikmah" not in said.replace(str(meeting.server), "")


class TestDishonest:
    """What is no honest continuation is refused, and the commit is named."""

    @pytest.mark.parametrize(
        ("tamper", "named"), TAMPERINGS, ids=[tamper.__name__ for tamper, _ in TAMPERINGS]
    )
    def test_tampering(
        self, meeting: Meeting, tamper: Callable[[Forge], str], named: set[str]
    ) -> None:
        """Everything that verification finds is refused at the door."""
        old = meeting.client.head()
        bad = tamper(meeting.client)
        said = meeting.offered(bad)
        forward = meeting.client.git("merge-base", old, bad) == old
        assert bad in said
        if forward and "other_ledger" not in named:
            assert any(f"[{code}]" in said for code in named)
        else:
            assert "does not descend" in said or "another ledger" in said

    def test_deletion(self, meeting: Meeting) -> None:
        """Case 4: a ledger does not go by a push."""
        went, said = meeting.push("origin", f":{REF}")
        assert not went
        assert "does not take a ledger away" in said
        assert REF in meeting.refs()

    def test_a_head_from_before(self, meeting: Meeting) -> None:
        """The ref never moves back, not to an honest commit either."""
        back = chain(meeting.client)[3]
        assert f"{back} does not descend from {meeting.client.head()}" in meeting.offered(back)

    def test_a_side_that_was_not_joined(self, meeting: Meeting) -> None:
        """Two machines' records are joined before they are pushed."""
        said = meeting.offered(branch(meeting.client, note("beside")))
        assert "hikmah sync" in said

    @pytest.mark.parametrize("batch", [False, True], ids=["alone", "in a batch"])
    def test_a_credential(self, meeting: Meeting, *, batch: bool) -> None:
        """It is named by its rule; the guard does not repeat it."""
        records = [note(f"other {n}") for n in range(20 if batch else 0)]
        bad = meeting.client.add(*records, note(SECRET)).tip.commit
        said = meeting.offered(bad)
        assert f"commit {bad}" in said
        assert "[screened]" in said
        assert "ghp_" not in said

    def test_a_credential_behind_an_honest_record(self, meeting: Meeting) -> None:
        """Every new commit is looked at, not the newest alone."""
        bad = meeting.client.add(note(SECRET)).tip.commit
        meeting.client.add(note("innocent"))
        assert f"commit {bad}" in meeting.offered(meeting.client.head())

    def test_a_credential_behind_a_join(self, meeting: Meeting) -> None:
        """Nor does a merge hide what it joins."""
        client = meeting.client
        bad = branch(client, note(SECRET))
        assert f"commit {bad}" in meeting.offered(join(client, client.head(), bad))

    def test_what_a_model_says_of_itself(self, meeting: Meeting) -> None:
        """A model's trace that calls itself verified does not get in."""
        provenance = Provenance(source="Model:oracle", verified=True)
        bad = meeting.client.add(note("sure", provenance=provenance)).tip.commit
        said = meeting.offered(bad)
        assert f"commit {bad}" in said
        assert "never verified" in said

    def test_another_ledgers_genesis(self, meeting: Meeting, tmp_path: Path) -> None:
        """A ledger is told by its genesis: another one is no update of this one."""
        other = Forge(tmp_path / "other")
        other.init(ledger="f" * 32)
        other.add(note("from elsewhere"))
        meeting.client.git("fetch", "-q", str(other.path), f"{REF}:refs/other")
        said = meeting.offered(meeting.client.git("rev-parse", "refs/other"))
        assert "another ledger" in said
        assert "f" * 32 in said

    def test_a_beginning_that_is_none(self, meeting: Meeting) -> None:
        """Case 5: a ledger's ref begins with a genesis, not with any commit."""
        client = meeting.client
        tree = client.tree({"README.md": ("100644", client.blob(b"hello"))})
        bad = client.commit(tree, [], "hello")
        went, said = meeting.push("origin", f"{bad}:refs/hikmah/other")
        assert not went
        assert f"commit {bad}" in said
        assert "[genesis_tree]" in said

    @pytest.mark.parametrize("what", ["tag", "blob", "tree"])
    def test_no_commit_at_all(self, meeting: Meeting, what: str) -> None:
        """Case 5: what a ref holds must be a commit; git itself allows anything here."""
        client = meeting.client
        client.git("tag", "-a", "-m", "x", "v1", client.head())
        oid = {
            "tag": client.git("rev-parse", "v1"),
            "blob": client.blob(b"x"),
            "tree": client.parse(client.head()).tree,
        }[what]
        went, said = meeting.push("origin", f"{oid}:refs/hikmah/other")
        assert not went
        assert f"is a {what}, not a commit" in said

    def test_a_flood_of_faults_is_cut(self, meeting: Meeting) -> None:
        """A thousand strange files make twenty lines."""
        client = meeting.client
        blob = client.blob(b"x")
        files = client.files(client.head()) | {f"j/{n}": ("100644", blob) for n in range(1_000)}
        said = meeting.offered(client.commit(client.tree(files), [client.head()], "junk"))
        assert said.count("[not_a_record]") == 20
        assert "more problems" in said

    def test_hostile_names_do_not_reach_the_terminal(self, meeting: Meeting) -> None:
        """What a commit calls its files is shown, not executed."""
        client = meeting.client
        files = client.files(client.head())
        files["\x1b[31mred\x07"] = ("100644", client.blob(b"x"))
        index = {"GIT_INDEX_FILE": str(client.path / "index-for-this")}
        for path, (mode, oid) in files.items():
            subprocess.run(
                ["git", "update-index", "--add", "--cacheinfo", f"{mode},{oid},{path}"],
                cwd=client.path,
                env={**os.environ, **IDENTITY, **index},
                check=True,
            )
        tree = subprocess.run(
            ["git", "write-tree"],
            cwd=client.path,
            env={**os.environ, **IDENTITY, **index},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        said = meeting.offered(client.commit(tree, [client.head()], "red"))
        assert "red" in said
        assert "\x1b" not in said
        assert "\x07" not in said


class TestOtherRefs:
    """What could be taken for a ledger, and what belongs to one machine."""

    @pytest.mark.parametrize(
        "ref",
        [
            pytest.param("refs/hikmah/Memory", id="large letter"),
            pytest.param("refs/Hikmah/memory", id="large letter in the folder"),
            pytest.param("refs/hikmah/team/a", id="two folders"),
            pytest.param("refs/hikmah/-x", id="hyphen first"),
            pytest.param("refs/hikmah-other/x", id="a folder nobody knows"),
            pytest.param("refs/namespaces/a/refs/hikmah/X", id="in a namespace"),
            pytest.param("refs/Namespaces/a/refs/Hikmah/x", id="in a namespace of large letters"),
            pytest.param("refs/hi\u212amah/memory", id="a sign that looks like a letter"),
            pytest.param("refs/hikmah./memory", id="a dot at the folder's end"),
        ],
    )
    def test_names_that_are_none(self, meeting: Meeting, ref: str) -> None:
        """Case 2: a ref that could be taken for a ledger's is refused with how one is called."""
        went, said = meeting.push("origin", f"{REF}:{ref}")
        assert not went
        assert "not a ledger's ref" in said
        assert ref not in meeting.refs()

    @pytest.mark.parametrize("folder", ["refs/hikmah-backup", "refs/hikmah-remotes"])
    def test_a_machines_own_refs(self, meeting: Meeting, folder: str) -> None:
        """Case 3: they are refused, but where they are already they may be taken away."""
        ref = f"{folder}/memory/1"
        went, said = meeting.push("origin", f"{REF}:{ref}")
        assert not went
        assert "nobody reads it here" in said
        meeting.on_server("update-ref", ref, meeting.client.head())
        assert meeting.push("origin", f":{ref}")[0]

    def test_a_namespaces_ledger_is_one(self, meeting: Meeting) -> None:
        """Case 6: past gitnamespaces(7) the same rules hold."""
        ref = f"refs/namespaces/a/{REF}"
        assert meeting.push("origin", f"{REF}:{ref}")[0]
        went, said = meeting.push("origin", f"+{chain(meeting.client)[2]}:{ref}")
        assert not went
        assert "does not descend" in said

    def test_a_symbolic_ref_that_leads_to_a_ledger(self, meeting: Meeting) -> None:
        """Case 2: a branch that is the ledger by another name is no way around the guard."""
        meeting.on_server("symbolic-ref", "refs/heads/alias", "refs/heads/again")
        meeting.on_server("symbolic-ref", "refs/heads/again", REF)
        went, said = meeting.push("origin", f"+{chain(meeting.client)[2]}:refs/heads/alias")
        assert not went
        assert "symbolic ref" in said
        assert meeting.refs()[REF] == meeting.client.head()

    def test_a_ledgers_ref_that_is_symbolic(self, meeting: Meeting) -> None:
        """Case 2: moving it would move something else."""
        meeting.on_server("symbolic-ref", "refs/hikmah/other", "refs/heads/main")
        went, said = meeting.push("origin", f"{REF}:refs/hikmah/other")
        assert not went
        assert "symbolic ref" in said
        assert set(meeting.refs()) == {REF}

    def test_a_symbolic_branch_of_branches_passes(self, meeting: Meeting) -> None:
        """Case 1: links among branches are not the guard's business."""
        meeting.on_server("symbolic-ref", "refs/heads/alias", "refs/heads/main")
        assert meeting.push("origin", f"{REF}:refs/heads/alias")[0]

    @pytest.mark.parametrize(
        ("ref", "is_its_business"),
        [
            ("refs/heads/main", False),
            ("refs/heads/hikmah/memory", False),
            ("refs/hikmah", True),
            ("refs/HIKMAH/x", True),
            ("refs/hik\u200bmah/x", True),
            ("refs/hi\u212amah/x", True),  # a Kelvin sign, which some file systems call K
            ("refs/hikmah./x", True),
            ("refs/hikmah../x", True),
            ("refs/hikmahs/x", False),
        ],
    )
    def test_what_it_looks_at(self, ref: str, *, is_its_business: bool) -> None:
        """Only what a file system or a reader could take for Hikmah's."""
        assert concerns(ref) is is_its_business

    def test_a_link_that_is_no_path_is_not_followed(self, meeting: Meeting) -> None:
        """Names are never joined to paths outside of the repository's refs."""
        store = GitStore(explicit(meeting.server), environ={})
        for ref in ("../../etc/passwd", "refs/../../x", "refs/heads/\0", "refs/heads/none"):
            assert judge(store, ref, ZEROS, "1" * 40).action == "passed"
        loop = meeting.server / "refs" / "heads" / "loop"
        loop.write_text("ref: refs/heads/loop\n")
        assert judge(store, "refs/heads/loop", ZEROS, "1" * 40).action == "passed"


class TestWaysOfPushing:
    """Several refs at once, mirrors, two pushers, other transports."""

    def test_the_good_one_of_two_refs_goes_through(self, meeting: Meeting) -> None:
        """Each ref is judged by itself."""
        meeting.client.add(note("sixth"))
        head = meeting.client.head()
        bad = meeting.client.add(note(SECRET)).tip.commit
        went, said = meeting.push("origin", f"{head}:{REF}", f"{bad}:refs/hikmah/other")
        assert not went
        assert f"commit {bad}" in said
        assert meeting.refs() == {REF: head}

    def test_an_atomic_push_goes_whole_or_not_at_all(self, meeting: Meeting) -> None:
        """One refusal stops all refs of an atomic push."""
        before = meeting.refs()
        bad = meeting.client.add(note(SECRET)).tip.commit
        went, _ = meeting.push("--atomic", "origin", f"{bad}:{REF}", f"{bad}:refs/heads/main")
        assert not went
        assert meeting.refs() == before

    def test_a_mirror_takes_the_ledger_and_not_the_machines_own_refs(
        self, meeting: Meeting
    ) -> None:
        """What a mirror would add is judged ref by ref; what it would delete stays."""
        client = meeting.client
        assert meeting.push("origin", f"{REF}:refs/hikmah/team")[0]
        client.add(note("sixth"))
        client.git("update-ref", "refs/hikmah-backup/memory/1", client.head())
        client.git("update-ref", "refs/heads/main", client.head())
        went, said = meeting.push("--mirror", "origin")
        assert not went
        assert "nobody reads it here" in said
        assert "does not take a ledger away" in said
        assert set(meeting.refs()) == {REF, "refs/hikmah/team", "refs/heads/main"}
        assert meeting.refs()[REF] == client.head()

    def test_of_two_pushes_at_once_one_wins(self, meeting: Meeting) -> None:
        """Both are honest continuations of the old head; the second is none of the first."""
        client = meeting.client
        sides = [branch(client, note(f"side {n}"), note("note 5")) for n in range(2)]
        joined = [join(client, client.head(), side) for side in sides]
        pushes = [
            subprocess.Popen(
                ["git", "push", "origin", f"{head}:{REF}"],
                cwd=client.path,
                env={**os.environ, **IDENTITY},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for head in joined
        ]
        said = [push.communicate(timeout=60)[1] for push in pushes]
        assert [push.returncode for push in pushes].count(0) == 1, said
        (winner,) = [head for head, push in zip(joined, pushes, strict=True) if not push.returncode]
        assert meeting.refs()[REF] == winner

    def test_over_http(self, meeting: Meeting) -> None:
        """A smart HTTP server runs the same hook, and hands on what it says."""
        meeting.on_server("config", "http.receivepack", "true")
        with http_server(meeting.server.parent) as address:
            url = f"{address}/{quote(meeting.server.name)}"
            head = meeting.client.add(note("sixth")).tip.commit
            went, said = meeting.push(url, REF)
            assert went, said
            bad = meeting.client.add(note(SECRET)).tip.commit
            went, said = meeting.push(url, REF)
            assert not went
            assert f"commit {bad}" in said
            went, said = meeting.push(url, f":{REF}")
            assert not went
        assert meeting.refs()[REF] == head

    def test_a_refused_commit_is_left_unreachable(self, meeting: Meeting) -> None:
        """Git has let the objects in by then: no ref leads to them, and `git gc` takes them."""
        bad = meeting.client.add(note(SECRET)).tip.commit
        meeting.offered(bad)
        assert meeting.on_server("cat-file", "-t", bad) == "commit"
        assert meeting.on_server("rev-list", "--all", f"^{chain(meeting.client)[5]}") == ""
        meeting.on_server("gc", "-q", "--prune=now")
        with pytest.raises(subprocess.CalledProcessError):
            meeting.on_server("cat-file", "-t", bad)

    def test_the_pushers_environment_counts_for_nothing(
        self, meeting: Meeting, tmp_path: Path
    ) -> None:
        """Over a path git hands the pusher's variables to the hook; Python starts isolated."""
        evil = tmp_path / "evil"
        (evil / "hikmah" / "remotes").mkdir(parents=True)
        (evil / "hikmah" / "__init__.py").write_text("raise SystemExit(0)\n")
        (evil / "sitecustomize.py").write_text("raise SystemExit(0)\n")
        bad = meeting.client.add(note(SECRET)).tip.commit
        env = {"PYTHONPATH": str(evil), "PYTHONHOME": str(evil), "HIKMAH_STORE": str(evil)}
        went, _ = meeting.push("origin", f"{bad}:{REF}", env=env)
        assert not went
        assert meeting.refs()[REF] != bad

    def test_a_ledger_that_the_server_broke_is_not_built_upon(self, meeting: Meeting) -> None:
        """What the ref holds already is trusted, but it must be there."""
        old = meeting.client.head()
        meeting.client.add(note("sixth"))
        (tree,) = meeting.on_server("rev-parse", f"{old}^{{tree}}").splitlines()
        (meeting.server / "objects" / tree[:2] / tree[2:]).unlink()
        new = meeting.client.head()
        store = GitStore(explicit(meeting.client.path), environ={})
        (meeting.client.path / "objects" / tree[:2] / tree[2:]).unlink()
        found = judge(store, REF, old, new)
        assert not found.allowed
        assert {"missing_object"} <= {problem.code for problem in found.problems}


def test_the_guard_moves_nothing_itself(meeting: Meeting) -> None:
    """Judging leaves refs and state folder as they are."""
    old = meeting.client.head()
    new = meeting.client.add(note("sixth")).tip.commit
    store = GitStore(explicit(meeting.client.path), environ={})
    meeting.client.set_ref(old)
    found = judge(store, REF, old, new)
    assert (found.allowed, found.action, found.commits, found.records) == (True, "grew", 1, 1)
    assert found.ledger == "0" * 32
    assert Ledger(store, "memory").tip_commit() == old
    assert judge(store, REF, old, old).action == "unchanged"
