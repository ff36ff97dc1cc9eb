"""How two commits stand to each other, against the definition and without reading more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.errors import IntegrityError
from hikmah.ledger.ancestry import compare, descends
from hikmah.ledger.objects import Commit, commit_bytes, object_id

EMPTY_TREE = object_id(b"tree", b"", "sha1")
LINE = b"hikmah <hikmah@localhost> 0 +0000"


class Graph:
    """Commits in a dictionary; counts what is read."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, bytes]] = {EMPTY_TREE: (b"tree", b"")}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.reads = 0

    def read(self, oid: str) -> tuple[bytes, bytes]:
        """Read an object as a store does."""
        self.reads += 1
        if oid not in self.objects:
            raise IntegrityError(f"object {oid} is not there")
        return self.objects[oid]

    def add(self, seq: int | None, *parents: str) -> str:
        """Add a commit that claims a number (None: none)."""
        said = f"n{len(self.objects)}\n" + ("" if seq is None else f"\nHikmah-Seq: {seq}\n")
        data = commit_bytes(Commit(EMPTY_TREE, parents, LINE, LINE, said.encode()))
        oid = object_id(b"commit", data, "sha1")
        self.objects[oid] = (b"commit", data)
        self.parents[oid] = parents
        return oid

    def line(self, start: str, first: int, count: int) -> list[str]:
        """Add a row of appends on a commit."""
        made = [start]
        for seq in range(first, first + count):
            made.append(self.add(seq, made[-1]))
        return made[1:]

    def behind(self, oid: str) -> set[str]:
        """Return a commit and everything behind it, by definition."""
        found: set[str] = set()
        waiting = [oid]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.parents[one]
        return found


def expected(graph: Graph, left: str, right: str) -> str:
    """Return the kind that the definition gives."""
    if left == right:
        return "same"
    if right in graph.behind(left):
        return "ahead"
    if left in graph.behind(right):
        return "behind"
    return "diverged" if graph.behind(left) & graph.behind(right) else "unrelated"


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def base(graph: Graph) -> list[str]:
    """A history of two hundred commits, the genesis first."""
    first = graph.add(None)
    return [first, *graph.line(first, 1, 199)]


class TestKinds:
    def test_one_commit_is_the_same_as_itself(self, graph: Graph, base: list[str]) -> None:
        """Nothing is on either side of one commit."""
        assert compare(graph.read, base[9], base[9], "sha1") == ("same", (), ())

    def test_a_descendant_is_ahead_and_its_ancestor_behind(
        self, graph: Graph, base: list[str]
    ) -> None:
        """What lies between is listed newest first, on the side that has it."""
        between = tuple(reversed(base[151:160]))
        assert compare(graph.read, base[159], base[150], "sha1") == ("ahead", between, ())
        assert compare(graph.read, base[150], base[159], "sha1") == ("behind", (), between)

    def test_forked_histories_have_diverged(self, graph: Graph, base: list[str]) -> None:
        """Each side lists what the other does not have."""
        mine = graph.line(base[-1], 200, 3)
        theirs = graph.line(base[-1], 200, 2)
        found = compare(graph.read, mine[-1], theirs[-1], "sha1")
        assert found == ("diverged", tuple(reversed(mine)), tuple(reversed(theirs)))

    def test_histories_without_a_common_beginning_are_unrelated(
        self, graph: Graph, base: list[str]
    ) -> None:
        """Two geneses never meet."""
        other = graph.line(graph.add(None), 1, 5)
        assert compare(graph.read, base[-1], other[-1], "sha1").kind == "unrelated"

    @pytest.mark.parametrize(
        ("commit", "ancestor", "answer"),
        [
            pytest.param(7, 7, True, id="itself"),
            pytest.param(9, 7, True, id="an ancestor"),
            pytest.param(7, 9, False, id="a descendant"),
        ],
    )
    def test_descends(
        self, graph: Graph, base: list[str], commit: int, ancestor: int, *, answer: bool
    ) -> None:
        """A commit counts as its own descendant, as it does for `--contains`."""
        assert descends(graph.read, base[commit], base[ancestor], "sha1") is answer


class TestCost:
    """What is read follows what differs, not how long history is."""

    def test_a_fork_near_the_end_reads_the_end(self, graph: Graph, base: list[str]) -> None:
        """Two hundred commits before the fork are not read."""
        mine, theirs = graph.line(base[-1], 200, 3), graph.line(base[-1], 200, 2)
        compare(graph.read, mine[-1], theirs[-1], "sha1")
        assert graph.reads <= 10

    def test_a_merge_reads_both_sides_and_stops(self, graph: Graph, base: list[str]) -> None:
        """A merge is held against one of its parents without a walk to the genesis."""
        mine, theirs = graph.line(base[-1], 200, 3), graph.line(base[-1], 200, 2)
        merge = graph.add(202, *sorted((mine[-1], theirs[-1])))
        found = compare(graph.read, merge, mine[-1], "sha1")
        assert found == ("ahead", (merge, *reversed(theirs)), ())
        assert graph.reads <= 15

    def test_numbers_that_lie_cost_time_and_not_the_answer(
        self, graph: Graph, base: list[str]
    ) -> None:
        """A commit that claims to be old is still found on the right side."""
        liar = graph.add(1, base[-1])
        assert compare(graph.read, liar, base[-1], "sha1") == ("ahead", (liar,), ())


class TestDamage:
    def test_a_commit_that_is_not_there_is_an_error(self, graph: Graph, base: list[str]) -> None:
        """What cannot be read is named, not taken for the beginning of history."""
        orphan = graph.add(5, "e" * 40)
        with pytest.raises(IntegrityError, match="e" * 40):
            compare(graph.read, orphan, base[3], "sha1")

    def test_what_is_no_commit_is_an_error(self, graph: Graph, base: list[str]) -> None:
        """A tree or a tag in a commit's place is named for what it is."""
        with pytest.raises(IntegrityError, match="is a tree, not a commit"):
            compare(graph.read, base[3], EMPTY_TREE, "sha1")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, Sequence[str]]:
    """Draw histories with forks, merges, several beginnings, and numbers that may lie."""
    graph = Graph()
    made: list[str] = []
    honest = draw(st.booleans())
    depth: dict[str, int] = {}
    for _ in range(draw(st.integers(2, 25))):
        parents = sorted(draw(st.sets(st.sampled_from(made), max_size=2))) if made else []
        deep = 1 + max((depth[p] for p in parents), default=0)
        made.append(graph.add(deep if honest else draw(st.integers(0, 30)), *parents))
        depth[made[-1]] = deep
    return graph, made


@given(graphs(), st.data())
def test_the_answer_is_that_of_the_definition(
    drawn: tuple[Graph, Sequence[str]], data: st.DataObject
) -> None:
    """Whatever the shape and whatever the numbers say, the kind is right and nothing is missed."""
    graph, made = drawn
    left, right = data.draw(st.sampled_from(made)), data.draw(st.sampled_from(made))
    found = compare(graph.read, left, right, "sha1")
    assert found.kind == expected(graph, left, right)
    assert set(found.left) >= graph.behind(left) - graph.behind(right)
    assert set(found.right) >= graph.behind(right) - graph.behind(left)
    assert set(found.left) <= graph.behind(left)
