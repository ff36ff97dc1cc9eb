"""`hikmah-jsonl`: old ledgers, their chains and what they say."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikmah.errors import IntegrityError, InvalidInputError, NotFoundError
from hikmah.memory import Memory
from hikmah.memory.results import Shown
from hikmah.transfer import lines as lines_module
from tests.transfer.conftest import AGENT, Stores, counts, take
from tests.transfer.oldledger import AT_MS, TOUR, ledger, link, trace

FORM = "hikmah-jsonl"
BOTH = pytest.mark.parametrize("version", [1, 2])


def by_content(memory: Memory) -> dict[str, Shown]:
    """Return every trace by its text."""
    found: dict[str, Shown] = {}
    for item in memory.log(limit=1000).items:
        shown = memory.show(item.id)
        if isinstance(shown, Shown):
            found[shown.trace.content] = shown
    return found


class TestWhatIsKept:
    """Kinds, times, statuses, links and claims are those of the old ledger."""

    @BOTH
    def test_the_whole_tour_comes_over(self, memory: Memory, version: int) -> None:
        """Every line but one that repeats its trace is a record, in one commit."""
        report = take(memory, ledger(TOUR, version), FORM)
        assert counts(report) == (13, 1, 0)
        assert report.torn_line is None
        assert memory.head() == report.commit
        assert memory.verify().ok

    @BOTH
    def test_statuses_are_those_of_the_old_ledger(self, memory: Memory, version: int) -> None:
        """Superseded, fulfilled and purged traces are so here."""
        take(memory, ledger(TOUR, version), FORM)
        statuses = {text: shown.status for text, shown in by_content(memory).items()}
        assert {text: status for text, status in statuses.items() if status != "active"} == {
            "Checkout runs on 14": "superseded",
            "Send the report": "fulfilled",
            "": "purged",  # its words are hidden
            "replaced later": "superseded",
        }
        assert len(statuses) == 10

    def test_every_field_of_a_trace_is_kept(self, memory: Memory) -> None:
        """Kind, text, tags, times, weights, privacy, provenance: and where it came from."""
        take(memory, ledger(TOUR), FORM)
        shown = by_content(memory)
        first = shown["Migration failed"].trace
        assert (first.tags, first.salience, first.created_at_ms) == (("database",), 0.9, AT_MS)
        assert first.provenance.verified
        assert (first.provenance.source, first.provenance.observed_at_ms) == ("runbook", AT_MS)
        assert first.imported is not None
        assert (first.imported.system, first.imported.id) == (FORM, "tr_1")
        assert first.imported.hash == json.loads(ledger(TOUR).splitlines()[0])["hash"]
        assert shown["Send the report"].trace.deadline_ms == AT_MS + 86_400_000
        assert shown["数据库迁移失败:锁超时"].trace.privacy == "public"
        assert shown["replaced later"].trace.confidence == 0.77

    def test_links_name_the_new_ids(self, memory: Memory) -> None:
        """A supersession points at the trace that the old one became."""
        take(memory, ledger(TOUR), FORM)
        shown = by_content(memory)
        assert shown["Checkout runs on 16"].trace.supersedes == shown["Checkout runs on 14"].id
        assert shown["replaced later"].superseded_by == (shown["the replacement"].id,)

    def test_conflicts_are_found_again(self, memory: Memory) -> None:
        """Claims that disagreed disagree here, and one that was corrected does not."""
        take(memory, ledger(TOUR), FORM)
        assert [conflict.key for conflict in memory.conflicts().conflicts] == ["region"]

    def test_what_has_no_time_gets_that_of_the_newest_trace_before_it(self, memory: Memory) -> None:
        """A purge is dated by its neighbour, so that the same file makes the same records."""
        take(memory, ledger(TOUR), FORM)
        (purge,) = [item for item in memory.log(limit=100).items if item.type == "purge"]
        assert purge.at_ms == AT_MS + 99
        assert purge.text == "asked for by a customer"

    def test_versions_may_follow_each_other(self, memory: Memory) -> None:
        """A ledger that was carried on by a newer version is one chain."""
        digest, first = link(1, "GENESIS", json.dumps(trace("tr_1", "old")), 1)
        _, second = link(2, digest, json.dumps(trace("tr_2", "new")), 2)
        assert counts(take(memory, (first + second).encode(), FORM)) == (2, 0, 0)

    def test_payload_bytes_are_hashed_as_they_stand(self, memory: Memory) -> None:
        """White space and escapes inside a payload are part of what the hash covers."""
        payload = json.dumps(trace("tr_1", "é\u2028\t"), indent=1).replace("\n", " ")
        _, line = link(1, "GENESIS", payload)
        assert counts(take(memory, line.encode(), FORM)) == (1, 0, 0)
        assert "é\u2028\t" in by_content(memory)

    def test_a_supersession_told_by_the_trace_alone_holds(self, memory: Memory) -> None:
        """A crash between the two lines leaves the trace's own word for it."""
        take(memory, ledger(TOUR[:3]), FORM)
        assert by_content(memory)["Checkout runs on 14"].status == "superseded"


class TestAgain:
    """Importing again adds nothing."""

    @BOTH
    def test_the_same_file_adds_nothing(self, memory: Memory, version: int) -> None:
        """Every line is there already, and the ledger does not move."""
        take(memory, ledger(TOUR, version), FORM)
        head = memory.head()
        report = take(memory, ledger(TOUR, version), FORM)
        assert counts(report) == (0, 14, 0)
        assert (report.commit, memory.head()) == (None, head)

    def test_the_same_ledger_in_the_other_version_adds_nothing(self, memory: Memory) -> None:
        """A trace is known by the id it had, however its file was chained."""
        take(memory, ledger(TOUR, 1), FORM)
        assert counts(take(memory, ledger(TOUR, 2), FORM)) == (0, 14, 0)

    def test_a_longer_file_adds_its_tail(self, memory: Memory) -> None:
        """An old ledger that went on is caught up with."""
        take(memory, ledger(TOUR[:5]), FORM)
        assert counts(take(memory, ledger(TOUR), FORM)) == (9, 5, 0)

    def test_what_was_done_here_since_stays(self, memory: Memory) -> None:
        """A trace purged or superseded after the import is not brought back."""
        take(memory, ledger(TOUR), FORM)
        memory.purge(by_content(memory)["Migration failed"].id, reason="wrong")
        head = memory.head()
        assert counts(take(memory, ledger(TOUR), FORM)) == (0, 14, 0)
        assert memory.head() == head

    def test_another_ledger_with_the_same_ids_is_refused(self, memory: Memory) -> None:
        """One id with other content is not the same memory."""
        take(memory, ledger([trace("tr_1", "one thing")]), FORM)
        report = take(memory, ledger([trace("tr_1", "another thing")]), FORM)
        assert counts(report) == (0, 0, 1)
        assert "tr_1" in report.refusals[0].message

    def test_a_dry_run_counts_the_same_and_writes_nothing(self, memory: Memory) -> None:
        """What it reports is what the import then does."""
        memory.remember("first")
        head = memory.head()
        tried = take(memory, ledger(TOUR), FORM, dry_run=True)
        assert (memory.head(), tried.commit, tried.dry_run) == (head, None, True)
        assert counts(tried) == counts(take(memory, ledger(TOUR), FORM)) == (13, 1, 0)

    def test_a_dry_run_makes_no_ledger(self, memory: Memory) -> None:
        """Where there is none yet, it counts against nothing."""
        assert counts(take(memory, ledger(TOUR), FORM, dry_run=True)) == (13, 1, 0)
        with pytest.raises(NotFoundError):
            memory.head()


def flipped(data: bytes, at: int) -> bytes:
    """Return data with one bit of one byte changed."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


PLACES = [
    pytest.param(b'"seq":3', 6, id="seq"),
    pytest.param(b'"seq":3', 2, id="a key's name"),
    pytest.param(b'"prev_hash":"', 14, id="prev_hash"),
    pytest.param(b'"type":"remember"', 10, id="payload's type"),
    pytest.param(b"Checkout runs on 16", 4, id="content"),
    pytest.param(b'"created_at_ms":', 20, id="number"),
    pytest.param(b'"claim_value":"16"', 15, id="claim"),
    pytest.param(b'"hash":"', 9, id="own hash"),
    pytest.param(b'"}\n', 1, id="last brace"),
    pytest.param(b'"}\n', 2, id="line end"),
]


class TestBrokenChain:
    """A chain that does not hold stops everything, and names its line."""

    @BOTH
    @pytest.mark.parametrize(("near", "offset"), PLACES)
    def test_a_flipped_byte_is_refused(
        self, memory: Memory, near: bytes, offset: int, version: int
    ) -> None:
        """One changed bit in the third line: nothing is imported, and line 3 is named."""
        memory.remember("there before")
        head = memory.head()
        data = ledger(TOUR, version)
        start = data.index(data.splitlines(keepends=True)[2])
        spoilt = flipped(data, data.index(near, start) + offset)
        with pytest.raises(IntegrityError, match="line 3") as caught:
            take(memory, spoilt, FORM)
        assert caught.value.where == "line 3"
        assert memory.head() == head

    @given(at=st.integers(min_value=0), bit=st.integers(0, 7), version=st.sampled_from([1, 2]))
    @settings(max_examples=150)
    def test_any_flipped_bit_names_its_line(self, at: int, bit: int, version: int) -> None:
        """Wherever a bit is flipped, the chain breaks there, or at the next line at the latest."""
        from io import BytesIO

        from hikmah.transfer.legacy import chain

        data = ledger(TOUR, version)
        at %= len(data)
        spoilt = data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
        number = data[:at].count(b"\n") + 1
        with pytest.raises(IntegrityError, match=rf"line ({number}|{number + 1})\b"):
            list(chain(BytesIO(spoilt)))

    @pytest.mark.parametrize(
        ("spoil", "number"),
        [
            pytest.param(lambda lines: [*lines[:4], *lines[5:]], 5, id="a line taken out"),
            pytest.param(lambda lines: [lines[1], lines[0], *lines[2:]], 1, id="two swapped"),
            pytest.param(lambda lines: [*lines[:3], lines[2], *lines[3:]], 4, id="one doubled"),
            pytest.param(lambda lines: lines[1:], 1, id="the first missing"),
            pytest.param(lambda lines: [*lines[:2], b"{}\n", *lines[2:]], 3, id="foreign line"),
            pytest.param(lambda lines: [*lines[:2], b"[1]\n"], 3, id="no object"),
            pytest.param(
                lambda lines: [*lines[:2], lines[2][:60] + b"\n", *lines[3:]], 3, id="cut"
            ),
            pytest.param(lambda lines: [*lines[:-1], lines[-1][:60] + b"\n"], 14, id="cut, ended"),
            pytest.param(lambda _: [b"\xff\xfe\n"], 1, id="no text at all"),
            pytest.param(lambda _: [b"[" * 100_000 + b"\n"], 1, id="nested without end"),
        ],
    )
    def test_a_chain_that_was_edited_is_refused(
        self, memory: Memory, spoil: object, number: int
    ) -> None:
        """Lines taken out, put in, doubled or moved break the chain where it happened."""
        assert callable(spoil)
        data = b"".join(spoil(ledger(TOUR).splitlines(keepends=True)))
        with pytest.raises(IntegrityError, match=f"line {number}:"):
            take(memory, data, FORM)

    def test_a_version_that_is_not_known_is_refused(self, memory: Memory) -> None:
        """What hashes a version 3 uses, nobody here knows."""
        _, line = link(1, "GENESIS", json.dumps(trace("tr_1")), 3)
        with pytest.raises(IntegrityError, match="version 3"):
            take(memory, line.encode(), FORM)

    def test_a_line_without_end_is_refused(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A line longer than any record is not read into memory."""
        monkeypatch.setattr(lines_module.lines, "__kwdefaults__", {"longest": 500})
        with pytest.raises(IntegrityError, match=r"line 1: .*more than"):
            take(memory, ledger([trace("tr_1", "x" * 1000)]), FORM)

    def test_without_blake3_it_says_what_to_install(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The package is an extra; its absence is told before anything is read."""
        monkeypatch.setitem(sys.modules, "blake3", None)
        with pytest.raises(NotFoundError) as caught:
            take(memory, ledger(TOUR), FORM)
        assert caught.value.hint == "pip install 'hikmah[import]'"


class TestTorn:
    """A last line that a crash cut off is reported, and the rest imported."""

    @BOTH
    @pytest.mark.parametrize("kept", [1, 20, 200, -2])
    def test_a_torn_tail_is_reported(self, memory: Memory, kept: int, version: int) -> None:
        """However much of the last line was written."""
        lines = ledger(TOUR, version).splitlines(keepends=True)
        last = lines[-1].removesuffix(b"\n")
        report = take(memory, b"".join(lines[:-1]) + last[:kept], FORM)
        assert report.torn_line == 14
        assert counts(report) == (12, 1, 0)

    def test_a_last_line_without_its_line_end_is_whole(self, memory: Memory) -> None:
        """What can be read and hashes right was written to its end."""
        report = take(memory, ledger(TOUR).removesuffix(b"\n"), FORM)
        assert (report.torn_line, counts(report)) == (None, (13, 1, 0))

    def test_an_empty_file_is_an_empty_ledger(self, memory: Memory) -> None:
        """There is nothing to do, and nothing wrong."""
        assert counts(take(memory, b"", FORM)) == (0, 0, 0)


REFUSED = [
    pytest.param(trace("tr_1", " "), "blank", id="blank content"),
    pytest.param(trace("tr_1", "x" * 70_000), "65,536", id="too long"),
    pytest.param(trace("tr_1", "key AKIA" + "ABCDEFGHIJKLMNOP"), "AWS", id="credential"),
    pytest.param(trace("tr_1", privacy="sensitive"), "sensitive", id="sensitive"),
    pytest.param(
        trace("tr_1", provenance={"source": "model:x", "verified": True}), "verified", id="model"
    ),
    pytest.param(trace("tr_1", kind="prediction"), "prediction", id="prediction without details"),
    pytest.param(trace("tr_1", kind="dream"), "dream", id="unknown kind"),
    pytest.param(trace("tr_1", mood="good"), "mood", id="unknown field"),
    pytest.param(trace("tr_1", claim_key="k"), "value", id="half a claim"),
    pytest.param(trace("tr_1", salience=2), "1.0", id="out of range"),
    pytest.param(trace("tr_1", created_at_ms="now"), "int", id="a time that is none"),
    pytest.param(trace("tr_1", supersedes="tr_0"), "tr_0", id="supersedes nothing"),
    pytest.param(trace(""), "id", id="no id"),
    pytest.param({"type": "remember"}, "trace is missing", id="no trace"),
    pytest.param({"type": "remember", "trace": 5}, "object", id="a trace that is none"),
    pytest.param({"type": "remember", "trace": {"id": "a"}, "x": 1}, "'x'", id="extra field"),
    pytest.param({"type": "rename", "id": "tr_0"}, "rename", id="unknown type"),
    pytest.param({"type": 5}, "5", id="a type that is none"),
    pytest.param([], "None", id="no object"),
    pytest.param({"type": "fulfill", "id": "tr_0"}, "tr_0", id="fulfils nothing"),
    pytest.param({"type": "fulfill", "id": ""}, "no earlier line", id="an id of nothing"),
    pytest.param({"type": "fulfill", "id": {}}, "{}", id="an id that is none"),
    pytest.param({"type": "fulfill", "id": "tr_a"}, "no commitment", id="fulfils no promise"),
    pytest.param({"type": "purge", "id": "tr_a"}, "reason is missing", id="no reason"),
    pytest.param({"type": "purge", "id": "tr_a", "reason": " "}, "blank", id="blank reason"),
    pytest.param(trace("tr_a", "again"), "line 1", id="an id twice"),
    pytest.param({"type": "supersede", "old_id": "tr_a", "new_id": "tr_a"}, "itself", id="self"),
]


class TestItems:
    """What today's rules refuse is refused by itself."""

    @pytest.mark.parametrize(("payload", "told"), REFUSED)
    def test_an_item_is_refused_and_the_rest_goes_on(
        self, memory: Memory, payload: object, told: str
    ) -> None:
        """The line and the reason are listed; what stands before and after comes in."""
        report = take(memory, ledger([trace("tr_a"), payload, trace("tr_z", "last")]), FORM)
        assert counts(report) == (2, 0, 1)
        (refusal,) = report.refusals
        assert refusal.line == 2
        assert told in f"{refusal.where} {refusal.message}"
        assert memory.verify().ok

    def test_a_credential_is_named_by_its_rule_alone(self, memory: Memory) -> None:
        """The value stands nowhere in the report."""
        secret = "ghp_" + "a1B2" * 9
        report = take(memory, ledger([trace("tr_1", f"use {secret}")]), FORM)
        assert report.refusals[0].code == "secret"
        assert secret not in repr(report)

    def test_what_needs_a_refused_item_is_refused_too(self, memory: Memory) -> None:
        """A correction of what is not there would point at nothing."""
        payloads = [trace("tr_1", " "), trace("tr_2", supersedes="tr_1")]
        report = take(memory, ledger(payloads), FORM)
        assert [refusal.line for refusal in report.refusals] == [1, 2]
        assert "line 1" in report.refusals[1].message

    def test_an_agent_session_refuses_what_is_verified(self, stores: Stores) -> None:
        """And marks everything else with its name; importing again still adds nothing."""
        memory = stores(environ=AGENT)
        report = take(memory, ledger(TOUR), FORM)
        assert counts(report) == (12, 1, 1)
        assert [(refusal.line, refusal.code) for refusal in report.refusals] == [
            (1, "agent_session")
        ]
        shown = by_content(memory)["replaced later"].trace
        assert shown.provenance.locator == "agent-session:claude-code:s1"
        other = stores(environ={**AGENT, "CLAUDE_CODE_SESSION_ID": "s2"})
        assert counts(take(other, ledger(TOUR), FORM)) == (0, 13, 1)

    def test_a_person_then_brings_in_the_rest(self, stores: Stores) -> None:
        """What the agent was refused, and nothing twice."""
        take(stores(environ=AGENT), ledger(TOUR), FORM)
        assert counts(take(stores(), ledger(TOUR), FORM)) == (1, 13, 0)
        assert counts(take(stores(environ=AGENT), ledger(TOUR), FORM)) == (0, 14, 0)

    def test_an_unknown_format_is_an_error(self, memory: Memory) -> None:
        """The formats that there are, are named."""
        with pytest.raises(InvalidInputError) as caught:
            take(memory, b"", "yaml")
        assert "jsonl" in caught.value.hint


@pytest.mark.skipif("HIKMAH_TEST_LEGACY" not in os.environ, reason="needs files of the old system")
@BOTH
def test_files_that_the_old_system_wrote(memory: Memory, version: int) -> None:
    """A folder named by HIKMAH_TEST_LEGACY holds `ledger_v1.jsonl` and `ledger_v2.jsonl`."""
    data = (Path(os.environ["HIKMAH_TEST_LEGACY"]) / f"ledger_v{version}.jsonl").read_bytes()
    report = take(memory, data, FORM)
    assert report.refused == 0
    assert report.torn_line is None
    assert report.written + report.present == data.count(b"\n")
    again = take(memory, data, FORM)
    assert (again.written, again.refused) == (0, 0)
    assert memory.verify().ok
    for at in range(0, len(data), len(data) // 10):
        with pytest.raises(IntegrityError, match="line"):
            take(memory, flipped(data, at), FORM)
