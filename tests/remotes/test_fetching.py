"""Fetch: what came is verified, the tracking ref moves forward, the ledger stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hikmah.errors import (
    IntegrityError,
    NotFoundError,
    RefusedError,
    RemoteMovedError,
    StoreError,
)
from hikmah.ledger.ledger import Ledger
from hikmah.model.trace import Provenance, Trace
from hikmah.remotes.fetching import fetch_ledger
from hikmah.remotes.gitprogram import tips_of
from hikmah.remotes.pushing import push_ledger
from hikmah.remotes.road import Road
from tests import world
from tests.remotes.roads import copy_of, fetch, other_genesis, push, refs, remote, road, tip

REF = world.REF


@pytest.fixture
def there(here: Ledger, bare: Path, tmp_path: Path) -> Ledger:
    """Return a second machine with the ledger of the first, which was pushed."""
    push(here, bare)
    return copy_of(here, tmp_path / "there")


def forged(repo: Path, commit: str, text: str) -> str:
    """Return a commit like another one, with more text in its message."""
    data = world.git(repo, "cat-file", "commit", commit) + text
    return world.git(repo, "hash-object", "-t", "commit", "-w", "--stdin", text=data)


class TestArrival:
    """What a fetch brings."""

    def test_new_records_come_to_the_tracking_ref(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """The ledger here does not move; how the two stand is told."""
        world.put(here, "three")
        push(here, bare)
        before = tip(there)
        found = fetch(there, bare)
        assert (found.commit, found.commits, found.seq) == (tip(here), 1, 3)
        assert (found.relation, found.to_join, found.to_push) == ("behind", 1, 0)
        assert tip(there) == before
        assert refs(there.store.common_dir)[found.tracking_ref] == tip(here)
        assert [line.preview for line in found.arrived.newest] == ["three"]

    def test_relations(self, here: Ledger, there: Ledger, bare: Path) -> None:
        """Same, ahead, diverged: with the commits between the two."""
        assert fetch(there, bare).relation == "same"
        world.put(there, "there")
        found = fetch(there, bare)
        assert (found.relation, found.to_join, found.to_push) == ("ahead", 0, 1)
        world.put(here, "here")
        push(here, bare)
        found = fetch(there, bare)
        assert (found.relation, found.to_join, found.to_push) == ("diverged", 1, 1)

    def test_a_repository_without_a_ledger_can_look(
        self, here: Ledger, bare: Path, tmp_path: Path
    ) -> None:
        """Everything is verified, nothing is begun."""
        push(here, bare)
        empty = world.ledger(world.repository(tmp_path / "empty"), started=False)
        found = fetch(empty, bare)
        assert (found.relation, found.commits, found.arrived.records) == ("none", 3, 2)
        assert empty.tip_commit() is None
        assert set(refs(empty.store.common_dir)) == {found.tracking_ref}

    def test_a_second_fetch_verifies_nothing_again(self, there: Ledger, bare: Path) -> None:
        """What was verified is noted, and the cost goes with what is new."""
        fetch(there, bare)
        again = fetch(there, bare)
        assert (again.before, again.commits) == (again.commit, 0)

    def test_what_a_plain_git_fetch_brought_is_verified_still(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """A tracking ref proves nothing: plain git moves it without looking."""
        found = fetch(there, bare)
        world.put(here, "three")
        push(here, bare)
        world.git(there.store.common_dir, "fetch", "-q", str(bare), f"{REF}:{found.tracking_ref}")
        again = fetch(there, bare)
        assert (again.before, again.commit, again.commits) == (tip(here), tip(here), 1)

    def test_a_bad_commit_that_plain_git_brought_is_found(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """And it is not believed because the ref was there before."""
        found = fetch(there, bare)
        world.put(here, "three")
        bad = forged(here.store.common_dir, tip(here), "x\n")
        world.git(here.store.common_dir, "push", "-q", str(bare), f"{bad}:{REF}")
        world.git(there.store.common_dir, "fetch", "-q", str(bare), f"{REF}:{found.tracking_ref}")
        with pytest.raises(IntegrityError, match="breaks a rule") as caught:
            fetch(there, bare)
        assert caught.value.where == bad

    def test_what_others_verified_is_counted_by_source(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """A person looks at these first: nobody here checked them."""
        checked = Provenance(source="review", verified=True)
        world.put(
            here,
            Trace(created_at_ms=0, content="a", provenance=checked),
            Trace(created_at_ms=0, content="b"),
        )
        world.put(
            here, Trace(created_at_ms=0, content="c", provenance=checked, privacy="sensitive")
        )
        push(here, bare)
        arrived = fetch(there, bare).arrived
        assert (arrived.records, arrived.types) == (3, {"remember": 3})
        assert arrived.verified == {"review": 2}
        assert [line.preview for line in arrived.newest] == ["a", "b", ""]

    def test_only_the_newest_are_listed(self, here: Ledger, there: Ledger, bare: Path) -> None:
        """All are counted; nothing shaped like a credential is shown."""
        token = "ghp_" + "a1B2" * 9
        world.put(here, *(f"record {n}" for n in range(30)))
        world.put(here, f"the token is {token}")
        push(here, bare)
        arrived = fetch(there, bare).arrived
        assert (arrived.records, len(arrived.newest)) == (31, 20)
        assert arrived.newest[0].preview == "record 11"
        assert token not in repr(arrived)


class Overtaken:
    """A road on which something happens between the answer and what is made of it."""

    def __init__(self, way: Road, meanwhile: Callable[[], object]) -> None:
        self._way = way
        self._meanwhile = meanwhile
        self.shown = way.shown
        self.push = way.push

    def heads(self) -> dict[str, str]:
        """Ask, then let it happen."""
        found = self._way.heads()
        self._meanwhile()
        return found

    def fetch(self, ref: str) -> str:
        """Fetch, then let it happen."""
        head = self._way.fetch(ref)
        self._meanwhile()
        return head


class TestProcessesAtOnce:
    """Two processes of one machine that see a remote at different moments."""

    def test_a_remote_that_was_seen_later_by_another_fetch_was_not_rewritten(
        self, here: Ledger, there: Ledger, bare: Path
    ) -> None:
        """The ref stays where the other put it, and nobody is accused."""
        push(here, bare)
        first = tip(here)
        texts = iter(["newer", "newest"])

        def meanwhile() -> None:
            world.put(here, next(texts))
            push(here, bare)
            fetch(there, bare)

        to = remote(there, bare)
        slow = Overtaken(road(there, to.url), meanwhile)
        found = fetch_ledger(there, to, slow, timeout_s=5)
        assert found.commit != tip(here)
        assert refs(there.store.common_dir)[found.tracking_ref] == tip(here) != first
        assert fetch(there, bare).commits == 0

    def test_a_push_that_another_overtakes_was_not_rewritten_either(
        self, here: Ledger, bare: Path
    ) -> None:
        """It ends as a remote that moved, which a sync goes on from."""
        push(here, bare)
        world.put(here, "three")

        def meanwhile() -> None:
            world.put(here, "four")
            push(here, bare)

        to = remote(here, bare)
        slow = Overtaken(road(here, to.push_url), meanwhile)
        with pytest.raises(RemoteMovedError):
            push_ledger(here, to, slow, agree=lambda _: True, timeout_s=5)
        assert refs(bare)[REF] == tip(here)


class TestRefusals:
    """What is not taken; nothing moves then."""

    def test_a_remote_without_the_ledger(self, here: Ledger, bare: Path) -> None:
        """Not found, with what would bring it there."""
        with pytest.raises(NotFoundError, match="has no refs/hikmah/memory") as caught:
            fetch(here, bare)
        assert "hikmah push" in caught.value.hint

    @pytest.mark.parametrize("how", ["rewound", "rewritten", "gone"])
    def test_a_rewritten_remote_is_told_with_both_commits(
        self, here: Ledger, there: Ledger, bare: Path, how: str
    ) -> None:
        """Exit 6; the tracking ref stays at what was seen, and deleting it begins anew."""
        found = fetch(there, bare)
        first = world.git(bare, "rev-parse", f"{REF}~1")
        if how == "gone":
            world.git(bare, "update-ref", "-d", REF)
        elif how == "rewound":
            world.git(bare, "update-ref", REF, first)
        else:
            side = copy_of(here, bare.parent / "side")
            world.git(side.store.common_dir, "update-ref", REF, first)
            for file in side.state.folder.iterdir():
                file.unlink()
            world.put(side, "instead")
            first = tip(side)
            world.git(side.store.common_dir, "push", "-q", "-f", str(bare), f"{REF}:{REF}")
        with pytest.raises(IntegrityError, match="rewritten") as caught:
            fetch(there, bare)
        assert found.commit in caught.value.message
        assert (first in caught.value.message) == (how != "gone")
        assert refs(there.store.common_dir)[found.tracking_ref] == found.commit
        if how == "rewritten":
            world.git(there.store.common_dir, "update-ref", "-d", found.tracking_ref)
            assert fetch(there, bare).relation == "diverged"

    def test_a_commit_that_breaks_a_rule(self, here: Ledger, there: Ledger, bare: Path) -> None:
        """It is named, and no ref leads to it."""
        found = fetch(there, bare)
        world.put(here, "three")
        bad = forged(here.store.common_dir, tip(here), "x\n")
        world.git(here.store.common_dir, "push", "-q", str(bare), f"{bad}:{REF}")
        with pytest.raises(IntegrityError, match="breaks a rule") as caught:
            fetch(there, bare)
        assert (caught.value.where, caught.value.exit_code) == (bad, 6)
        assert refs(there.store.common_dir)[found.tracking_ref] == found.commit

    def test_another_ledger(self, here: Ledger, bare: Path, tmp_path: Path) -> None:
        """Two beginnings cannot be joined: refused with the way, and no ref leads to it."""
        push(here, bare)
        other = world.ledger(world.repository(tmp_path / "other"), started=False)
        other_genesis(other)
        with pytest.raises(RefusedError, match="two beginnings") as caught:
            fetch(other, bare)
        assert "export --to jsonl" in caught.value.hint
        assert set(refs(other.store.common_dir)) == {REF}

    def test_what_is_no_ledger(self, here: Ledger, bare: Path) -> None:
        """A branch pushed under a ledger's name is refused as what it is."""
        repo = here.store.common_dir
        tree = world.git(repo, "mktree", text="")
        commit = world.git(repo, "commit-tree", tree, "-m", "no ledger")
        world.git(repo, "push", "-q", str(bare), f"{commit}:{REF}")
        with pytest.raises(IntegrityError):
            fetch(here, bare)
        assert set(refs(repo)) == {REF}

    @pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
    @pytest.mark.parametrize("taken", ["refs/hikmah-remotes/team", "{ref}/x"])
    def test_a_ref_in_the_way_is_named(
        self, there: Ledger, bare: Path, taken: str, *, packed: bool
    ) -> None:
        """Folder and file cannot share a name; nothing is left half made."""
        repo = there.store.common_dir
        world.git(repo, "remote", "add", "team", str(bare))
        name = taken.format(ref=remote(there, "team").tracking_ref("memory"))
        world.git(repo, "update-ref", name, tip(there))
        if packed:
            world.git(repo, "pack-refs", "--all")
        with pytest.raises(StoreError, match=name):
            fetch(there, "team")
        assert set(refs(repo)) == {REF, name}
        assert not list((repo / "refs").rglob("*.lock"))


class TestManyRefs:
    """A remote names its refs as it likes, and a plain `git fetch` takes all of them."""

    @pytest.mark.parametrize(
        "ref",
        ["refs/hikmah/a+b/c", "refs/hikmah/\u00fcber", "refs/hikmah/a@b", "refs/hikmah/x/y"],
    )
    def test_a_name_that_no_ledger_has_stops_no_other(
        self, here: Ledger, there: Ledger, bare: Path, tmp_path: Path, ref: str
    ) -> None:
        """Fetched and pushed, with a git program and without."""
        push(here, bare)
        world.git(bare, "update-ref", ref, tip(here))
        world.git(there.store.common_dir, "remote", "add", "origin", str(bare))
        refspec = "refs/hikmah/*:refs/hikmah-remotes/origin/*"
        world.git(there.store.common_dir, "fetch", "-q", "origin", refspec)
        world.put(here, "three")
        push(here, bare)
        assert fetch(there, "origin").commit == tip(here)
        alone = road(there, bare, PATH=str(tmp_path))
        assert alone.heads() == {REF: tip(here)}
        assert alone.fetch(REF) == tip(here)

    def test_another_remotes_ref_that_says_nothing_stops_no_fetch(
        self, there: Ledger, bare: Path
    ) -> None:
        """What it holds would only have made the fetch shorter."""
        folder = there.store.common_dir / "refs" / "hikmah-remotes"
        (folder / "a").mkdir(parents=True)
        (folder / "a" / "memory").write_text("ref: refs/heads/none\n")
        assert fetch(there, bare).commit == tip(there)

    def test_what_is_offered_as_known_does_not_grow_with_the_refs(
        self, here: Ledger, bare: Path
    ) -> None:
        """A command line holds two million bytes, and a ref of a thousand is no ledger's."""
        push(here, bare)
        head = tip(here)
        lines = [f"{head} refs/hikmah-remotes/origin/x{n:05}\n" for n in range(3_000)]
        lines += [f"{head} refs/hikmah-remotes/r{n:05}/memory\n" for n in range(3_000)]
        packed = "# pack-refs with: peeled fully-peeled sorted \n" + "".join(lines)
        (here.store.common_dir / "packed-refs").write_text(packed)
        assert tips_of(here.store, REF) == [head]
        assert tips_of(here.store, "refs/hikmah/x00007") == [head]
        assert tips_of(here.store, "refs/hikmah/none") == []
        assert fetch(here, bare).relation == "same"
