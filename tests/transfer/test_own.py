"""`jsonl`: this project's own export, out and in again."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.errors import HikmahError, InvalidInputError, NotFoundError
from hikmah.ledger.append import append
from hikmah.ledger.staging import NewRecord
from hikmah.memory import Memory
from hikmah.memory.results import Shown
from hikmah.model.records import blob_id, canonical, read_stored
from hikmah.model.trace import Claim, Fact, Imported, Provenance, Trace
from hikmah.transfer import lines as lines_module
from hikmah.transfer.exporting import export
from hikmah.transfer.importing import exit_code
from tests import world
from tests.transfer.conftest import AGENT, NOW_MS, Stores, counts, dump, exported, take


def switch_off(memory: Memory, trace_id: str, how: str) -> None:
    """Make a trace active no more, in one of the ways there are."""
    if how == "supersedes":
        memory.remember("port 82", supersedes=trace_id)
    elif how == "supersede":
        memory.supersede(trace_id, memory.remember("port 82").id)
    elif how == "fulfill":
        memory.fulfill(trace_id)
    else:
        memory.purge(trace_id, reason="wrong", mode="purge" if how == "purge" else "deprecate")


def disordered(lines: list[bytes]) -> Iterator[list[bytes]]:
    """Yield lines backwards, turned round, and with each one of them moved to the front."""
    yield lines[::-1]
    for n in range(1, len(lines)):
        yield lines[n:] + lines[:n]
        yield [lines[n], *lines[:n], *lines[n + 1 :]]


def actives(memory: Memory) -> set[str]:
    """Return what the active traces say about ports."""
    if memory.status().head is None:
        return set()
    return {row.trace.content for row in memory.recall("port", limit=9).results}


def furnish(memory: Memory) -> dict[str, str]:
    """Write one record of every sort and return the ids of some by name."""
    ids = {
        "old": memory.remember("the timeout is 30", claim=("timeout", "30")).id,
        "kept": memory.remember("kept \x1b[2J \u202e text", tags=["Ops"], source="runbook").id,
        "promise": memory.remember("send it", kind="commitment", deadline_ms=NOW_MS + 9).id,
        "wrong": memory.remember("never so").id,
        "retired": memory.remember("out of use").id,
    }
    ids["new"] = memory.remember(
        "the timeout is 60", claim=("timeout", "60"), supersedes=ids["old"], verified=True
    ).id
    ids["keyed"] = memory.remember("once", idempotency_key="k1").id
    ids["derived"] = memory.remember("so", derived_from=[ids["kept"], ids["new"]]).id
    memory.fulfill(ids["promise"], evidence="mail of Monday")
    memory.purge(ids["wrong"], reason="a mistake")
    memory.purge(ids["retired"], reason="unused", mode="deprecate")
    memory.supersede(ids["keyed"], ids["derived"], reason="better said")
    knowledge = memory.knowledge
    ids["ann"] = knowledge.get_or_create_entity("Ann", "person").id
    ids["shop"] = knowledge.get_or_create_entity("Shop", "project").id
    ids["fact"] = knowledge.add_fact(ids["ann"], "role", "lead").id
    knowledge.add_relationship(ids["ann"], ids["shop"], "leads")
    knowledge.append_event("deploy", {"text": "done", "n": [1, 2.5, None, {"é": "ü"}]})
    ids["forecast"] = memory.predict("will it hold?", family="f", p=0.7).id
    memory.outcome(ids["forecast"], observed="true")
    return ids


def lines_of(data: bytes) -> list[dict[str, Any]]:
    """Return the lines of an export, decoded."""
    return [json.loads(line) for line in data.splitlines()]


def line_of(trace: Trace, **changed: Any) -> bytes:
    """Return an export's line of a trace; `changed` spoils the line's own fields."""
    data = canonical(trace)
    return json.dumps({"id": blob_id(data), "record": json.loads(data), **changed}).encode() + b"\n"


def digest(memory: Memory) -> str:
    """Return the hash over every record's id."""
    return memory.knowledge.compute_hash(everything=True).hash


def a_trace(content: str = "x", **fields: Any) -> Trace:
    """Return a trace made now."""
    return Trace(content=content, created_at_ms=NOW_MS, **fields)


class TestThereAndBack:
    """What goes out comes in again, byte for byte."""

    def test_into_a_new_ledger_and_out_again(self, stores: Stores) -> None:
        """Every sort of record keeps its id, its bytes and its place; the export is the same."""
        one, two = stores("one"), stores("two")
        furnish(one)
        data = dump(one, include_purged=True)
        report = take(two, data)
        assert counts(report) == (len(data.splitlines()), 0, 0)
        assert report.relinked == 0
        assert dump(two, include_purged=True) == data
        assert digest(two) == digest(one)
        assert two.verify().ok

    def test_what_comes_in_answers_alike(self, stores: Stores) -> None:
        """Statuses, conflicts, entities and forecasts are those of the first ledger."""
        one, two = stores("one"), stores("two")
        furnish(one)
        take(two, dump(one, include_purged=True))
        first, second = one.log(limit=100), two.log(limit=100)
        assert second == first
        assert two.status().statuses == one.status().statuses
        assert two.calibration() == one.calibration()

    def test_into_a_fresh_clone_nothing_is_added(self, stores: Stores, tmp_path: Path) -> None:
        """A clone that plain git made holds every line already."""
        one = stores("one")
        furnish(one)
        data = dump(one)
        world.git(tmp_path, "clone", "-q", str(tmp_path / "one"), "clone")
        world.git(tmp_path / "clone", "fetch", "-q", "origin", f"{world.REF}:{world.REF}")
        clone = stores("clone")
        head = clone.head()
        report = take(clone, data)
        assert counts(report) == (0, len(data.splitlines()), 0)
        assert (clone.head(), report.commit) == (head, None)

    def test_into_itself_nothing_is_added(self, memory: Memory) -> None:
        """Also with purged traces left out, and twice over."""
        furnish(memory)
        data = dump(memory)
        assert counts(take(memory, data + data))[::2] == (0, 0)

    def test_the_line_is_the_stored_bytes_without_their_indents(self, memory: Memory) -> None:
        """A person with git and a JSON tool can make the blob again, and its id."""
        identity = memory.remember("é \u2028 \x7f", tags=["a"]).id
        (line,) = lines_of(dump(memory))
        assert line["id"] == identity
        text = json.dumps(line["record"], indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        assert blob_id(text.encode()) == identity

    def test_order_is_that_of_the_ledger(self, memory: Memory) -> None:
        """A record stands after all that it points at."""
        furnish(memory)
        seen: set[str] = set()
        for line in lines_of(dump(memory, include_purged=True)):
            text = json.dumps(line["record"])
            mentioned = {item.id for item in memory.log(limit=100).items if item.id in text}
            assert mentioned <= seen
            seen.add(line["id"])

    def test_a_joined_ledger_comes_over_whole(self, stores: Stores) -> None:
        """Two machines superseded, fulfilled, resolved and purged the same traces."""
        one = stores("one")
        ids = furnish(one)
        extra = []
        for name, at_ms in (("a", 1), ("b", 2)):
            other = stores(name, now_ms=NOW_MS + at_ms)
            take(other, dump(one, include_purged=True))
            other.remember(f"more of {name}", supersedes=ids["kept"])
            other.purge(ids["fact"], reason=f"as {name} says")
            extra.append(dump(other, include_purged=True))
        joined = stores("joined")
        assert take(joined, extra[0]).refused == 0
        assert take(joined, extra[1]).refused == 0
        shown = joined.show(ids["kept"])
        assert isinstance(shown, Shown)
        assert len(shown.superseded_by) == 2
        data = dump(joined, include_purged=True)
        last = stores("last")
        assert take(last, data).refused == 0
        assert dump(last, include_purged=True) == data
        assert last.verify().ok

    def test_one_key_in_two_ledgers_is_kept_twice(self, stores: Stores) -> None:
        """As when two ledgers join: an export may not lose a record to a key."""
        one, two = stores("one"), stores("two", now_ms=NOW_MS + 1)
        first = one.remember("one", idempotency_key="k").id
        second = two.remember("two", idempotency_key="k").id
        assert counts(take(two, dump(one))) == (1, 0, 0)
        assert {line["id"] for line in lines_of(dump(two))} == {first, second}

    @given(
        texts=st.lists(
            st.text(min_size=1, max_size=60).filter(lambda text: bool(text.strip())), max_size=5
        ),
        units=st.floats(0, 1),
    )
    @settings(max_examples=12)
    def test_any_text_comes_back(
        self, tmp_path_factory: pytest.TempPathFactory, texts: list[str], units: float
    ) -> None:
        """Whatever Unicode and whatever number a trace holds."""
        stores = Stores(tmp_path_factory.mktemp("any"))
        one, two = stores("one"), stores("two")
        for text in texts:
            try:
                one.remember(text, salience=units, source="s")
            except HikmahError:
                continue  # half a surrogate, or shaped like a credential
        if _has_ledger(one):
            data = dump(one)
            take(two, data)
            assert dump(two) == data
        stores.close()


def _has_ledger(memory: Memory) -> bool:
    try:
        memory.head()
    except NotFoundError:
        return False
    return True


class TestLeftOut:
    """Purged and sensitive traces stay behind, and nothing comes back to life."""

    def test_purged_traces_and_their_switches_stay_behind(self, memory: Memory) -> None:
        """Neither the text nor the record that purged it is in the file."""
        ids = furnish(memory)
        data, report = exported(memory)
        assert ids["wrong"].encode() not in data
        assert b"a mistake" not in data
        assert report.left_out.purged == 1
        assert report.written == len(data.splitlines())

    def test_sensitive_traces_stay_behind_unless_asked_for(self, stores: Stores) -> None:
        """Library code may store them; an export names them only on request."""
        memory = stores(allow_sensitive=True)
        memory.remember("the diagnosis", privacy="sensitive")
        memory.remember("the weather")
        data, report = exported(memory)
        assert b"diagnosis" not in data
        assert report.left_out.sensitive == 1
        assert b"diagnosis" in dump(memory, include_sensitive=True)

    def test_a_successor_left_behind_takes_its_predecessors_with_it(self, memory: Memory) -> None:
        """Else what was superseded by a purged trace would be active in the other ledger."""
        first = memory.remember("first").id
        second = memory.remember("second", supersedes=first).id
        third = memory.remember("third", supersedes=second).id
        other = memory.remember("other").id
        memory.purge(third, reason="not so")
        data, report = exported(memory)
        assert [line["id"] for line in lines_of(data)] == [other]
        assert (report.left_out.purged, report.left_out.would_revive) == (1, 2)

    def test_what_is_superseded_by_another_too_goes(self, memory: Memory) -> None:
        """One successor that goes is enough to keep a trace superseded."""
        old = memory.remember("old").id
        new = memory.remember("new").id
        memory.supersede(old, new)
        retired = memory.remember("retired").id
        memory.purge(retired, reason="gone", mode="deprecate")
        data = dump(memory)
        assert [line["id"] for line in lines_of(data)][:2] == [old, new]
        assert len(lines_of(data)) == 5

    @pytest.mark.parametrize(
        ("chosen", "kept"),
        [
            pytest.param({"kinds": ("belief",)}, {"b"}, id="kind"),
            pytest.param({"sources": ("s",)}, {"c"}, id="source"),
            pytest.param({"tags": ("X", " y")}, {"d"}, id="tags, any case"),
            pytest.param({"since_ms": NOW_MS + 12_000}, {"c", "d"}, id="since"),
            pytest.param({"until_ms": NOW_MS + 5_000}, {"a"}, id="until"),
        ],
    )
    def test_filters_choose_traces(
        self, stores: Stores, chosen: dict[str, Any], kept: set[str]
    ) -> None:
        """By kind, source, tags and time, with the switches that speak of them."""
        memory = stores(clock=iter(range(NOW_MS, NOW_MS + 10**6, 1_000)).__next__)
        memory.remember("a")
        memory.remember("b", kind="belief")
        memory.remember("c", source="s")
        memory.remember("d", tags=["x", "Y"])
        created = [line["record"]["created_at_ms"] for line in lines_of(dump(memory))]
        if "since_ms" in chosen:
            chosen = {"since_ms": created[2]}
        if "until_ms" in chosen:
            chosen = {"until_ms": created[0]}
        data, report = exported(memory, **chosen)
        assert {line["record"]["content"] for line in lines_of(data)} == kept
        assert report.left_out.filtered == 4 - len(kept)

    def test_links_to_what_was_left_out_are_told(self, memory: Memory) -> None:
        """The report warns that such records cannot keep their ids elsewhere."""
        basis = memory.remember("basis").id
        memory.remember("conclusion", derived_from=[basis])
        memory.purge(basis, reason="wrong")
        _, report = exported(memory)
        assert "1 trace(s) point at" in report.warnings[0]

    def test_an_unknown_format_is_an_error(self, memory: Memory) -> None:
        """The formats that there are, are named."""
        with pytest.raises(InvalidInputError, match="yaml"):
            export(memory, io.BytesIO().write, to="yaml")

    def test_without_a_ledger_there_is_nothing_to_export(self, memory: Memory) -> None:
        """A mistyped store is an error, not an empty file."""
        with pytest.raises(NotFoundError):
            dump(memory)

    def test_progress_is_told(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever watches hears how many records were read."""
        monkeypatch.setattr("hikmah.transfer.exporting.STEP", 2)
        furnish(memory)
        heard: list[int] = []
        export(memory, io.BytesIO().write, to="jsonl", progress=heard.append)
        assert heard[:2] == [2, 4]


def put_raw(folder: Path, data: bytes) -> None:
    """Append bytes as a record, past every rule, to the ledger of a store called `one`."""
    opened = world.reopened(folder / "one")
    new = [NewRecord(blob_id(data), read_stored(data), data)]
    assert append(opened, lambda _: new, time_s=2, lock_timeout_s=5) is not None


class TestThereAlready:
    """What the ledger holds is there already, whatever today's rules say of it."""

    def test_a_record_of_a_newer_version_is_known_by_its_bytes(
        self, stores: Stores, tmp_path: Path
    ) -> None:
        """It cannot be judged here, and need not be."""
        memory = stores()
        memory.remember("first")
        data = b'{\n  "at_ms": 1,\n  "type": "renewed"\n}\n'
        line = b'{"id":"%s","record":{"at_ms":1,"type":"renewed"}}\n' % blob_id(data).encode()
        assert "not a record type" in take(memory, line).refusals[0].message
        put_raw(tmp_path, data)
        out = dump(memory)
        assert out.endswith(line)
        assert counts(take(memory, out)) == (0, 2, 0)

    def test_a_record_that_is_refused_today_is_known_by_its_bytes(
        self, stores: Stores, tmp_path: Path
    ) -> None:
        """A screen for credentials grows, and must not stop a restore."""
        memory = stores()
        memory.remember("first")
        trace = a_trace("AKIA" + "ABCDEFGHIJKLMNOP")
        assert take(memory, line_of(trace)).refusals[0].code == "secret"
        put_raw(tmp_path, canonical(trace))
        child = a_trace("child", derived_from=(blob_id(canonical(trace)),))
        assert counts(take(memory, dump(memory) + line_of(child))) == (1, 2, 0)

    def test_a_blob_that_is_no_json_is_left_out(self, stores: Stores, tmp_path: Path) -> None:
        """And told; the rest goes."""
        memory = stores()
        memory.remember("first")
        put_raw(tmp_path, b"\xff\xfe")
        put_raw(tmp_path, b'{"type": "other"}')
        data, report = exported(memory)
        assert len(data.splitlines()) == 1
        assert "2 record(s) are not in canonical form" in report.warnings[0]


class TestRelinked:
    """A record that cannot keep its id says which it had, and nothing else changes."""

    def test_a_link_to_what_was_left_out_is_dropped(self, stores: Stores) -> None:
        """The conclusion comes in under an id of its own; again, it is known."""
        one, two = stores("one"), stores("two")
        basis, other = one.remember("basis").id, one.remember("other").id
        kept = one.remember("conclusion", derived_from=[basis, other]).id
        wrong = one.remember("wrong").id
        right = one.remember("right", supersedes=wrong).id
        after = one.remember("after", derived_from=[kept]).id
        one.purge(basis, reason="no")
        one.purge(wrong, reason="no")
        data = dump(one)
        report = take(two, data)
        assert (counts(report), report.relinked) == ((4, 0, 0), 3)
        traces = {t.content: t for t in _traces(two)}
        assert traces["conclusion"].derived_from == (other,)
        assert traces["conclusion"].imported == Imported(system="hikmah", id=kept)
        assert traces["right"].supersedes is None
        assert traces["right"].imported == Imported(system="hikmah", id=right)
        assert traces["after"].imported == Imported(system="hikmah", id=after)
        assert traces["after"].derived_from == (blob_id(canonical(traces["conclusion"])),)
        assert counts(take(two, data)) == (0, 4, 0)
        assert two.verify().ok

    def test_where_the_link_resolves_the_id_is_kept(self, stores: Stores) -> None:
        """What the file leaves out may be in the ledger all the same."""
        one, two = stores("one"), stores("two")
        furnish(one)
        take(two, dump(one, include_purged=True))
        one.remember("late", derived_from=[one.log(limit=100).items[-1].id])
        wrong = next(i.id for i in one.log(limit=100).items if i.status == "purged")
        late = one.remember("later", derived_from=[wrong]).id
        report = take(two, dump(one))
        assert (report.written, report.relinked) == (2, 0)
        assert isinstance(two.show(late), Shown)

    def test_a_repository_with_another_hash_gets_new_ids(self, stores: Stores) -> None:
        """Every link is carried over, and back again the ids are new once more."""
        one = stores("one")
        two = stores("two", "--object-format=sha256")
        furnish(one)
        data = dump(one, include_purged=True)
        report = take(two, data)
        assert counts(report) == (len(data.splitlines()), 0, 0)
        assert report.relinked == report.written
        assert two.status().statuses == one.status().statuses
        assert [i.text for i in two.log(limit=100).items] == [
            i.text for i in one.log(limit=100).items
        ]
        assert counts(take(two, data)) == (0, len(data.splitlines()), 0)
        assert two.verify().ok

    def test_what_cannot_do_without_its_link_is_refused(self, stores: Stores) -> None:
        """A fact of an entity that was left out has nothing to be a fact of."""
        one, two = stores("one"), stores("two")
        ids = furnish(one)
        data = dump(one)
        without = b"".join(
            line for line in data.splitlines(keepends=True) if ids["ann"].encode() not in line[:60]
        )
        report = take(two, without)
        assert [refusal.where for refusal in report.refusals] == [
            "$.fact.entity",
            "$.relationship.from",
        ]
        assert "--include-purged" in report.refusals[0].hint
        assert two.verify().ok


def _traces(memory: Memory) -> list[Trace]:
    return [r.record for r in memory.records(memory.head()) if isinstance(r.record, Trace)]


def _no_field(name: str) -> bytes:
    record = json.loads(canonical(a_trace()))
    del record[name]
    text = json.dumps(record, indent=2, sort_keys=True).encode() + b"\n"
    return json.dumps({"id": blob_id(text), "record": record}).encode() + b"\n"


def _more_fields(**more: Any) -> bytes:
    record = json.loads(canonical(a_trace())) | more
    text = json.dumps(record, indent=2, sort_keys=True).encode() + b"\n"
    return (
        json.dumps({"id": blob_id(text), "record": dict(sorted(record.items()))}).encode() + b"\n"
    )


MISSING = "ab" * 20
SECRET = "ghp_" + "a1B2" * 9
HOSTILE = [
    pytest.param(line_of(a_trace(), id=MISSING), "is not that of the record", id="forged id"),
    pytest.param(line_of(a_trace(), id="xyz"), "is not that of the record", id="no id"),
    pytest.param(line_of(a_trace(), seq=99), "unknown field", id="a sequence number"),
    pytest.param(b'{"id":5,"record":{}}\n', "Expected `str`", id="id of another type"),
    pytest.param(b'{"record":{}}\n', "missing required field `id`", id="id missing"),
    pytest.param(b"null\n", "Expected `object`", id="no object"),
    pytest.param(b"\xff\xfe\x00\n", "", id="not text"),
    pytest.param(b'{"id":"a","record":{\n', "truncated", id="cut off"),
    pytest.param(b"[" * 100_000 + b"\n", "", id="nested without end"),
    pytest.param(b'{"id":"a","record":' + b"[" * 9_000 + b"]" * 9_000 + b"}\n", "", id="deep"),
    pytest.param(_more_fields(mood="good"), "unknown field $.mood", id="unknown field"),
    pytest.param(_more_fields(type="rename"), "not a record type", id="unknown type"),
    pytest.param(_no_field("tags"), "not written as records are", id="a field left out"),
    pytest.param(
        line_of(a_trace(provenance=Provenance(source="model:x", verified=True))),
        "never verified",
        id="verified by a model",
    ),
    pytest.param(
        line_of(a_trace(provenance=Provenance(locator="agent-session:x:1", verified=True))),
        "agent session",
        id="verified by an agent",
    ),
    pytest.param(line_of(a_trace(" ")), "blank", id="blank"),
    pytest.param(line_of(a_trace(salience=7.0)), "<= 1.0", id="out of range"),
    pytest.param(line_of(a_trace(privacy="sensitive")), "sensitive", id="sensitive"),
    pytest.param(line_of(a_trace("AKIA" + "ABCDEFGHIJKLMNOP")), "AWS", id="credential"),
    pytest.param(line_of(a_trace("x" * 70_000)), "65,536", id="too long"),
    pytest.param(
        line_of(a_trace(kind="belief", fact=Fact(entity=MISSING, predicate="p", object="o"))),
        "neither in the ledger",
        id="fact of nothing",
    ),
    pytest.param(
        line_of(a_trace(claim=Claim(key="k", value=" "))), "claim.value is blank", id="half a claim"
    ),
    pytest.param(line_of(a_trace(kind="prediction")), "prediction", id="prediction without one"),
]


class TestHostile:
    """A line that lies is refused, named, and harms nothing else."""

    @pytest.mark.parametrize(("line", "told"), HOSTILE)
    def test_a_bad_line_is_refused_by_itself(self, memory: Memory, line: bytes, told: str) -> None:
        """The lines around it come in, as a dry run foretells, and the ledger verifies."""
        data = line_of(a_trace("before")) + line + line_of(a_trace("after"))
        tried = take(memory, data, dry_run=True)
        report = take(memory, data)
        assert (counts(tried), tried.refusals) == (counts(report), report.refusals)
        assert counts(report) == (2, 0, 1)
        assert report.refusals[0].line == 2
        assert told in report.refusals[0].message
        assert exit_code(report) in (3, 5)
        assert memory.verify().ok

    def test_a_line_twice_is_there_already(self, memory: Memory) -> None:
        """The second time it is the same record."""
        assert counts(take(memory, line_of(a_trace()) * 3)) == (1, 2, 0)

    @pytest.mark.parametrize(
        ("form", "line"),
        [
            pytest.param("jsonl", {"id": SECRET, "record": {}}, id="an id"),
            pytest.param("jsonl", {SECRET: 1}, id="a field"),
            pytest.param("mcp-memory", {"type": SECRET}, id="a type"),
            pytest.param(
                "mcp-memory",
                {"type": "relation", "from": SECRET, "to": "b", "relationType": "r"},
                id="a name",
            ),
        ],
    )
    def test_no_refusal_quotes_a_credential(
        self, memory: Memory, form: str, line: dict[str, Any]
    ) -> None:
        """Errors quote names; one that is shaped like a credential is told by its rule."""
        report = take(memory, json.dumps(line).encode(), form)
        assert counts(report) == (0, 0, 1)
        assert report.refusals[0].code == "secret"
        assert SECRET not in repr(report)
        with pytest.raises(HikmahError) as caught:
            take(memory, json.dumps(line).encode() + b"\n", "hikmah-jsonl")
        assert SECRET not in f"{caught.value.message}{caught.value.hint}{caught.value.where}"

    def test_a_circle_is_refused(self, stores: Stores) -> None:
        """Two traces that supersede each other would both be gone."""
        one, two = stores("one"), stores("two", now_ms=NOW_MS)
        a, b = one.remember("a").id, one.remember("b").id
        plain = dump(one)
        one.supersede(a, b)
        take(two, plain)
        two.supersede(b, a)
        back = [line for line in dump(two).splitlines(keepends=True) if b'"by"' in line]
        report = take(one, back[0])
        assert counts(report) == (0, 0, 1)
        assert "circle" in report.refusals[0].message

    def test_lines_out_of_order_are_refused_or_lose_their_link(self, stores: Stores) -> None:
        """What comes before the thing it points at cannot point at it."""
        one, two = stores("one"), stores("two")
        base = one.remember("a basis")
        one.remember("a guess", derived_from=(base.id,))
        report = take(two, b"".join(reversed(dump(one).splitlines(keepends=True))))
        assert (counts(report), report.relinked) == ((2, 0, 0), 1)
        assert two.verify().ok

    @pytest.mark.parametrize("how", ["supersedes", "supersede", "purge", "deprecate", "fulfill"])
    def test_no_order_of_the_lines_revives_anything(self, stores: Stores, how: str) -> None:
        """Such a file is refused whole: refusing a line would revive what it superseded."""
        one = stores("one")
        old = one.remember("port 80")
        new = one.remember(
            "port 81",
            supersedes=old.id,
            kind="commitment" if how == "fulfill" else None,
            deadline_ms=NOW_MS + 1 if how == "fulfill" else None,
        )
        switch_off(one, new.id, how)
        one.remember("port 83")
        active = actives(one)
        lines = dump(one, include_purged=True).splitlines(keepends=True)
        for n, order in enumerate(disordered(lines)):
            two = stores(f"two{n}")
            with contextlib.suppress(InvalidInputError):
                take(two, b"".join(order))
            found = actives(two)
            assert found in (active, set()), order
            take(two, b"".join(lines))
            assert actives(two) == active

    def test_files_in_a_row_may_repeat_what_the_first_could_not_say(self, stores: Stores) -> None:
        """A part of a ledger, then all of it: the second says again what is active no more."""
        one, two = stores("one"), stores("two")
        old = one.remember("port 80")
        one.remember("port 81", supersedes=old.id)
        whole = dump(one)
        first, part = whole.splitlines(keepends=True)
        report = take(two, part + whole)
        assert (report.refused, report.relinked) == (0, 1)
        assert actives(two) == {"port 81"}
        with pytest.raises(InvalidInputError, match="line 1 says"):
            take(stores("three"), part + first)

    def test_a_line_longer_than_any_record_is_passed_over(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is never held whole; the next line is read as usual."""
        monkeypatch.setattr(lines_module.lines, "__kwdefaults__", {"longest": 5_000})
        data = line_of(a_trace("a" * 200_000)) + line_of(a_trace("b"))
        report = take(memory, data)
        assert counts(report) == (1, 0, 1)
        assert "more than" in report.refusals[0].message

    def test_many_refusals_are_counted_and_not_all_listed(self, memory: Memory) -> None:
        """A report stays of bounded size."""
        report = take(memory, b"{}\n" * 1_500)
        assert (report.refused, len(report.refusals), report.truncated) == (1_500, 1_000, True)
        assert report.commit is None

    def test_what_points_at_a_refused_line_is_refused(self, memory: Memory) -> None:
        """It would lose a link that the file does hold."""
        bad = a_trace("AKIA" + "ABCDEFGHIJKLMNOP")
        child = a_trace("child", derived_from=(blob_id(canonical(bad)),))
        report = take(memory, line_of(bad) + line_of(child))
        assert "line 1" in report.refusals[1].message

    def test_an_agent_session_takes_in_no_verified_trace(self, stores: Stores) -> None:
        """But what the ledger holds already is there already, verified or not."""
        one = stores("one")
        furnish(one)
        data = dump(one)
        report = take(stores("two", environ=AGENT), data)
        assert {refusal.code for refusal in report.refusals} == {"agent_session", "not_found"}
        assert exit_code(report) == 5
        assert take(stores("one", environ=AGENT), data).refused == 0

    def test_the_exit_code_is_that_of_the_weightiest_refusal(self, memory: Memory) -> None:
        """0 without any, 3 for what is wrong, 5 as soon as policy refuses."""
        assert exit_code(take(memory, line_of(a_trace()))) == 0
        assert exit_code(take(memory, b"{}\n")) == 3
        secret = line_of(a_trace("AKIA" + "ABCDEFGHIJKLMNOP"))
        report = take(memory, b"{}\n" * 1_001 + secret)
        assert report.codes == {"decode": 1_001, "secret": 1}
        assert exit_code(report) == 5
