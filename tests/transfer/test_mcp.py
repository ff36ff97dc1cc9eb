"""`mcp-memory`: a graph by name becomes entities, facts and relationships, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.errors import InvalidInputError
from hikmah.memory import Memory
from hikmah.transfer.importing import Said
from tests.transfer.conftest import AGENT, Stores, counts, dump, exported, take

FORM = "mcp-memory"


def entity(name: str, kind: str = "person", *observations: str) -> dict[str, Any]:
    """Return an entity's line, decoded."""
    return {
        "type": "entity",
        "name": name,
        "entityType": kind,
        "observations": list(observations),
    }


def relation(start: str, kind: str, goal: str) -> dict[str, Any]:
    """Return a relation's line, decoded."""
    return {"type": "relation", "from": start, "to": goal, "relationType": kind}


def file_of(*lines: object) -> bytes:
    """Return lines as a file."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


GRAPH = (
    entity("Ann", "person", "likes tea", "speaks Hindi"),
    entity("Shop", "service"),
    entity("Wiki", "Document", "is public"),
    relation("Ann", "leads", "Shop"),
    relation("Shop", "is described in", "Wiki"),
)


class TestIn:
    """What a file says becomes knowledge."""

    def test_a_graph_becomes_entities_facts_and_relationships(self, memory: Memory) -> None:
        """With the words of the file, and a type of ours for each."""
        assert counts(take(memory, file_of(*GRAPH), FORM)) == (9, 0, 0)
        ann = memory.knowledge.get_entity("ann")
        assert [(f.predicate, f.object, f.multi) for f in ann.facts] == [
            ("observation", "likes tea", True),
            ("observation", "speaks Hindi", True),
        ]
        assert [(r.relation_type, r.to.name) for r in ann.relationships] == [("leads", "Shop")]
        types = {e.name: e.entity_type for e in memory.knowledge.list_entities().entities}
        assert types == {"Ann": "person", "Shop": "other", "Wiki": "document"}
        shop = memory.knowledge.get_entity("Shop")
        assert [(f.predicate, f.object) for f in shop.facts] == [("entityType", "service")]
        assert memory.conflicts().total == 0
        assert memory.verify().ok

    def test_where_it_came_from_is_kept(self, memory: Memory) -> None:
        """File and line as the locator, the format as the source unless another is given."""
        take(memory, file_of(GRAPH[0]), FORM, said=Said(file="memory.json", source="model:x"))
        (item,) = memory.recall("tea").results
        assert item.trace.provenance.locator == "memory.json:1"
        assert item.trace.provenance.source == "model:x"
        assert item.trace.imported is not None
        assert (item.trace.imported.system, item.trace.imported.id) == (FORM, "Ann")

    def test_again_nothing_is_added(self, memory: Memory) -> None:
        """Neither from the same file nor with its lines in another order."""
        take(memory, file_of(*GRAPH), FORM)
        head = memory.head()
        assert counts(take(memory, file_of(*GRAPH), FORM)) == (0, 9, 0)
        assert counts(take(memory, file_of(*reversed(GRAPH)), FORM)) == (0, 9, 0)
        assert memory.head() == head

    def test_again_in_another_agent_session_nothing_is_added(self, stores: Stores) -> None:
        """The session's mark makes no other memory of it."""
        take(stores(environ=AGENT), file_of(*GRAPH), FORM)
        other = stores(environ={**AGENT, "CLAUDE_CODE_SESSION_ID": "s2"})
        assert counts(take(other, file_of(*GRAPH), FORM)) == (0, 9, 0)

    def test_what_the_ledger_knows_is_not_written_again(self, memory: Memory) -> None:
        """An entity, a fact that reads the same, a relationship: whoever wrote them."""
        knowledge = memory.knowledge
        ann = knowledge.get_or_create_entity("ANN", "person").id
        shop = knowledge.get_or_create_entity("Shop", "project").id
        knowledge.add_fact(ann, "role", "lead")
        knowledge.add_relationship(ann, shop, "leads")
        lines = (
            entity("Ann", "person", "role: lead", "new to us"),
            relation("Ann", "leads", "Shop"),
            relation("Shop", "pays", "Ann"),
        )
        assert counts(take(memory, file_of(*lines), FORM)) == (2, 3, 0)
        assert knowledge.get_entity("ann").entity.id == ann

    def test_an_export_of_ours_adds_nothing_at_home(self, memory: Memory) -> None:
        """What goes out to the other program and comes back unchanged is known."""
        ann = memory.knowledge.get_or_create_entity("Ann", "person").id
        memory.knowledge.add_fact(ann, "role", "lead")
        assert counts(take(memory, dump(memory, FORM), FORM))[::2] == (0, 0)

    def test_an_entity_that_grew_gets_what_is_new(self, memory: Memory) -> None:
        """One more observation is one more fact of the same entity."""
        take(memory, file_of(entity("Ann", "person", "a")), FORM)
        report = take(memory, file_of(entity("Ann", "person", "a", "b")), FORM)
        assert counts(report) == (1, 2, 0)
        assert len(memory.knowledge.get_entity("Ann").facts) == 2

    def test_an_entity_on_two_lines_is_one(self, memory: Memory) -> None:
        """Its observations come together."""
        lines = (entity("Ann", "person", "a"), entity("Ann", "person", "b"))
        assert counts(take(memory, file_of(*lines), FORM)) == (3, 1, 0)
        assert len(memory.knowledge.get_entity("Ann").facts) == 2

    def test_a_dry_run_counts_the_same(self, memory: Memory) -> None:
        """Also for links between things that are not written yet."""
        tried = take(memory, file_of(*GRAPH), FORM, dry_run=True)
        assert counts(tried) == counts(take(memory, file_of(*GRAPH), FORM))

    def test_names_that_look_like_ids_are_names(self, memory: Memory) -> None:
        """A name of hex digits never means another record."""
        first = memory.remember("first").id
        report = take(memory, file_of(relation(first[:8], "x", first[:8])), FORM)
        assert counts(report) == (0, 0, 1)

    def test_of_a_purged_entity_nothing_is_said(self, memory: Memory) -> None:
        """What was taken out of every view does not come back with its facts."""
        take(memory, file_of(entity("Ann", "person", "a")), FORM)
        memory.purge(memory.knowledge.get_entity("Ann").entity.id, reason="asked to")
        report = take(memory, file_of(entity("Ann", "person", "a", "b")), FORM)
        assert counts(report) == (0, 2, 1)
        assert "purged" in report.refusals[0].message


BAD = [
    pytest.param({"type": "entity", "name": "A"}, "entityType", id="no type"),
    pytest.param({"type": "thing"}, "thing", id="unknown line"),
    pytest.param([], "array", id="no object"),
    pytest.param(entity(" "), "blank", id="blank name"),
    pytest.param(relation("", "r", "Z"), "no entity is called ''", id="relation of nothing"),
    pytest.param(entity("x" * 600), "600", id="long name"),
    pytest.param(entity("A") | {"observations": [1]}, "int", id="observation that is none"),
    pytest.param(relation("Z", "r", "Nobody"), "Nobody", id="relation to nobody"),
    pytest.param(relation("Z", " ", "Z"), "blank", id="blank relation"),
    pytest.param(entity("Z", "company"), "line 1", id="two types"),
    pytest.param(entity("AKIA" + "ABCDEFGHIJKLMNOP"), "AWS", id="credential"),
]


class TestRefused:
    """A bad line is refused by itself."""

    @pytest.mark.parametrize(("line", "told"), BAD)
    def test_a_bad_line_is_refused_and_named(self, memory: Memory, line: object, told: str) -> None:
        """The reason says what is wrong with it, and the others come in."""
        report = take(memory, file_of(entity("Z"), line), FORM)
        assert counts(report) == (1, 0, 1)
        assert report.refusals[0].line == 2
        assert told in f"{report.refusals[0].where} {report.refusals[0].message}"

    def test_what_hangs_on_a_refused_entity_is_refused(self, memory: Memory) -> None:
        """Its observations and relations name its line."""
        lines = (entity(" ", "person", "a"), entity("Z"), relation(" ", "r", "Z"))
        report = take(memory, file_of(*lines), FORM)
        assert counts(report) == (1, 0, 3)
        assert "line 1" in report.refusals[1].message
        assert "line 1" in report.refusals[2].message

    def test_one_bad_observation_leaves_the_others(self, memory: Memory) -> None:
        """Each is judged by itself."""
        report = take(memory, file_of(entity("Z", "person", "a", "x" * 5_000, "b")), FORM)
        assert counts(report) == (3, 0, 1)

    def test_a_name_of_two_entities_is_refused(self, memory: Memory) -> None:
        """Which of the ledger's entities is meant, the file does not say."""
        for kind in ("person", "project"):
            memory.knowledge.get_or_create_entity("Kim", kind)
        report = take(memory, file_of(entity("Z"), relation("Z", "knows", "Kim")), FORM)
        assert report.refusals[0].code == "ambiguous_id"


class TestOut:
    """What is active goes out, by name."""

    def test_a_file_goes_out_as_it_came(self, memory: Memory) -> None:
        """Types, observations and relations are the file's own."""
        take(memory, file_of(*GRAPH), FORM)
        found = [json.loads(line) for line in dump(memory, FORM).splitlines()]
        wanted = [dict(line) for line in GRAPH]
        wanted[2]["entityType"] = "document"
        assert found == wanted

    def test_only_what_is_active_goes_out(self, memory: Memory) -> None:
        """History and what was retired stay."""
        knowledge = memory.knowledge
        ann = knowledge.get_or_create_entity("Ann", "person").id
        old = knowledge.add_fact(ann, "role", "dev").id
        knowledge.add_fact(ann, "role", "lead", supersedes=old)
        gone = knowledge.get_or_create_entity("Gone", "project").id
        knowledge.add_relationship(ann, gone, "left")
        knowledge.deprecate("Gone", reason="closed")
        assert dump(memory, FORM) == file_of(entity("Ann", "person", "role: lead")).replace(
            b", ", b","
        ).replace(b'": ', b'":')

    def test_two_entities_of_one_name_are_told_apart(self, memory: Memory) -> None:
        """There a name is all there is."""
        for kind in ("person", "project"):
            memory.knowledge.get_or_create_entity("Kim", kind)
        names = [json.loads(line)["name"] for line in dump(memory, FORM).splitlines()]
        assert names[0] == "Kim"
        assert names[1] in ("Kim (person)", "Kim (project)")

    def test_it_cannot_be_filtered(self, memory: Memory) -> None:
        """A graph with holes would say other things than the ledger."""
        memory.remember("x")
        with pytest.raises(InvalidInputError, match="filtered"):
            exported(memory, FORM, kinds=("belief",))

    def test_sensitive_facts_stay_behind(self, stores: Stores) -> None:
        """Also where library code stored them, unless they are asked for."""
        memory = stores(allow_sensitive=True)
        ann = memory.knowledge.get_or_create_entity("Ann", "person").id
        memory.knowledge.add_fact(ann, "illness", "flu", privacy="sensitive")
        assert b"flu" not in dump(stores(), FORM)
        assert b"flu" in dump(stores(), FORM, include_sensitive=True)

    names = st.sampled_from(["Ann", "Bob", "Shop", "das Büro"])

    @given(
        entities=st.dictionaries(
            names,
            st.tuples(
                st.sampled_from(["person", "tool", "project"]),
                st.lists(st.sampled_from(["a", "b: c", "d\ne", " f "]), unique=True),
            ),
            min_size=1,
        ),
        links=st.lists(st.tuples(names, st.sampled_from(["r", "s"]), names), unique=True),
    )
    @settings(max_examples=20)
    def test_any_graph_comes_back(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        entities: dict[str, tuple[str, list[str]]],
        links: list[tuple[str, str, str]],
    ) -> None:
        """Whatever entities, observations and relations there are."""
        stores = Stores(tmp_path_factory.mktemp("graph"))
        memory = stores()
        lines = [entity(name, kind, *told) for name, (kind, told) in entities.items()]
        lines += [relation(a, r, b) for a, r, b in links if a in entities and b in entities]
        assert take(memory, file_of(*lines), FORM).refused == 0
        found = [json.loads(line) for line in dump(memory, FORM).splitlines()]
        assert sorted(map(repr, found)) == sorted(map(repr, lines))
        stores.close()
