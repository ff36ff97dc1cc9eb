"""Engine mode: what an engine can add, what it cannot take away, and what is recorded."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hikmah.errors import EngineError
from hikmah.gate import engine as gate_engine
from hikmah.gate import hook
from hikmah.gate.engine import Asker, asker, settings
from hikmah.gate.explain import explain_batch, explain_stop_event
from hikmah.gate.hook import Wiring, run_stop_hook_recording, run_stop_hook_with
from hikmah.gate.rules import Finding
from hikmah.gate.verdict import (
    DEFAULT_ENGINE_THRESHOLD,
    GATE_FAMILY,
    OPEN_COMMITMENT,
    EngineAnswer,
    GateSettings,
    GateVerdict,
    evaluate_message,
    false_completion_request,
)
from hikmah.memory import Memory
from hikmah.reason.engines import NoEngine
from hikmah.reason.port import DecisionRequest, Reply, request_id
from tests import world
from tests.reason import jevserver

NOW_MS = 1_800_000_000_000
CLEAN = "All done, every test passes."
OPEN = "All done! TODO: wire the retry path."


class Saying:
    """An engine that gives one probability, after doing something."""

    name = "saying"

    def __init__(self, p: float, before: Callable[[], object] = lambda: None) -> None:
        self.p = p
        self.before = before
        self.asked: list[DecisionRequest] = []

    def answer(self, request: DecisionRequest) -> Reply:
        self.asked.append(request)
        self.before()
        answers = {"false_completion": {"kind": "noul", "noul": self.p}}
        body = {"request_id": request_id(request), "answers": answers}
        return Reply(body=body, version="1")


def fail() -> None:
    raise EngineError("the engine fell over")


def judged(message: str, engine: Any, **given: float) -> GateVerdict:
    """Return the verdict on a message with an engine."""
    return evaluate_message(message, ask=Asker(engine), settings=GateSettings(**given))


class TestCombining:
    """block = rules or p >= threshold, and the one way to lift."""

    @pytest.mark.parametrize(
        ("message", "p", "given", "block", "path", "lifted"),
        [
            pytest.param(CLEAN, 0.9, {}, True, "engine", False, id="an engine adds a block"),
            pytest.param(CLEAN, 0.6, {}, True, "engine", False, id="the threshold itself blocks"),
            pytest.param(CLEAN, 0.59, {}, False, "engine", False, id="below it does not"),
            pytest.param(OPEN, 0.0, {}, True, "engine", False, id="no lift unless asked for"),
            pytest.param(OPEN, 0.1, {"lift": 0.2}, False, "engine", True, id="a lift"),
            pytest.param(OPEN, 0.2, {"lift": 0.2}, True, "engine", False, id="not below the lift"),
            pytest.param(
                OPEN,
                0.3,
                {"threshold": 0.2, "lift": 0.9},
                True,
                "engine",
                False,
                id="nothing lifts an engine's block",
            ),
            pytest.param(CLEAN, 0.1, {"lift": 0.2}, False, "engine", False, id="nothing to lift"),
        ],
    )
    def test_a_probability_is_combined_with_the_rules(  # noqa: PLR0917  # a row of the table
        self, message: str, p: float, given: dict[str, float], block: bool, path: str, lifted: bool
    ) -> None:
        """The rules are a floor; an engine only adds, or lifts where it may."""
        verdict = judged(message, Saying(p), **given)
        assert (verdict.block, verdict.path.value, verdict.lifted) == (block, path, lifted)

    @pytest.mark.parametrize(
        ("engine", "note"),
        [
            pytest.param(Saying(0.9, fail), "the engine fell over", id="failing"),
            pytest.param(Saying(1.5), "", id="rejected"),
            pytest.param(NoEngine(), "unanswered", id="abstaining"),
            pytest.param(Saying(0.9, lambda: 1 / 0), "ZeroDivisionError", id="broken"),
        ],
    )
    @pytest.mark.parametrize("message", [CLEAN, OPEN])
    def test_without_an_answer_the_rules_stand(self, engine: Any, note: str, message: str) -> None:
        """Failure, abstention and rejection change nothing, and are told."""
        verdict = judged(message, engine, lift=1.0)
        assert verdict.block == (message == OPEN)
        assert verdict.path.value == "rules_fallback"
        assert verdict.engine_note is not None
        assert note in verdict.engine_note

    def test_memory_s_block_is_never_lifted(self) -> None:
        """A promise in the ledger is a fact."""
        verdict = evaluate_message(
            CLEAN,
            ask=Asker(Saying(0.0)),
            settings=GateSettings(lift=1.0),
            remembered=lambda: [Finding(OPEN_COMMITMENT, "the report", "abc")],
        )
        assert verdict.block
        assert (verdict.memory_block, verdict.path.value) == (True, "memory")


class TestAsking:
    """What is sent, and what is not."""

    def test_the_question_is_one_noul_in_the_gates_family(self) -> None:
        """The state is the first 8,000 characters of the message."""
        engine = Saying(0.5)
        judged("done " * 4_000, engine)
        (request,) = engine.asked
        (question,) = request.questions
        assert len(request.state) == 8_000
        assert question.family == GATE_FAMILY
        assert false_completion_request("x")["state"] == "x"

    def test_a_message_with_a_credential_is_not_sent(self) -> None:
        """Not even to a local program."""
        engine = Saying(0.9)
        verdict = judged("Done. The key is ghp_" + "a1B2" * 9, engine)
        assert engine.asked == []
        assert verdict.p is None
        assert "credential" in str(verdict.engine_note)
        assert "ghp_" not in json.dumps(verdict.as_dict()["engine_note"])

    def test_a_skipped_event_is_not_sent(self) -> None:
        """What is not judged is not asked about."""
        engine = Saying(0.9)
        for data in (b"{}", b'{"stop_hook_active": true, "last_assistant_message": "Done"}'):
            explain_stop_event(data, Wiring(ask=Asker(engine)))
        assert engine.asked == []

    def test_a_slow_engine_is_not_waited_for(self) -> None:
        """Past the cap the rules' verdict stands."""
        stop = threading.Event()
        slow = Saying(0.9, lambda: stop.wait(60))
        verdict = evaluate_message(CLEAN, ask=Asker(slow, cap_s=0.05))
        stop.set()
        assert not verdict.block
        assert "no answer within 0.05 s" in str(verdict.engine_note)
        assert gate_engine.CAP_S == 3.0

    def test_a_block_says_who_said_what(self) -> None:
        """The reason gives the probability, the limit and the way out."""
        out = io.BytesIO()
        event = json.dumps({"last_assistant_message": CLEAN}).encode()
        run_stop_hook_with(io.BytesIO(event), out, Saying(0.71))
        claim, said, way_out = json.loads(out.getvalue())["reason"].split("\n")
        assert "All done" in claim
        assert "saying gives 0.71" in said
        assert "0.60" in said
        assert "tests" in way_out


class TestEnvironment:
    """Variables; a bad one counts as unset."""

    @pytest.mark.parametrize("spec", ["", "none", "off", " OFF "])
    def test_no_engine_is_the_default(self, spec: str) -> None:
        """Nothing is asked, nothing is loaded."""
        assert asker({"HIKMAH_HOOK_ENGINE": spec}) is None
        assert hook.wire([], {"HIKMAH_HOOK_ENGINE": spec}).ask is None

    @pytest.mark.parametrize("spec", ["nonesuch", "command:", "command:no-such-program", "jev"])
    def test_an_engine_that_cannot_be_set_up_leaves_the_rules(self, spec: str) -> None:
        """The note says why."""
        ask = asker({"HIKMAH_HOOK_ENGINE": spec})
        assert ask is not None
        verdict = evaluate_message(OPEN, ask=ask)
        assert verdict.block
        assert verdict.path.value == "rules_fallback"
        assert verdict.engine_note

    def test_a_local_program_can_be_the_engine(self, tmp_path: Path) -> None:
        """`command:PROGRAM` gets the request and prints the response."""
        program = tmp_path / "judge.py"
        program.write_text(
            "import json, sys\n"
            "asked = json.load(sys.stdin)\n"
            "answers = {'false_completion': {'kind': 'noul', 'noul': 0.9}}\n"
            "print(json.dumps({'request_id': asked['request_id'], 'answers': answers}))\n",
            "utf-8",
        )
        spec = f"command:'{sys.executable}' '{program}'"
        wiring = hook.wire([], {"HIKMAH_HOOK_ENGINE": spec, "PATH": ""})
        event = json.dumps({"last_assistant_message": CLEAN}).encode()
        verdict = explain_stop_event(event, wiring)
        assert (verdict.block, verdict.p) == (True, 0.9)
        (line,) = explain_batch([b'{"id": 7, "last_assistant_message": "All done."}'], wiring)
        assert (line["id"], line["block"]) == (7, True)

    def test_jev_is_asked_over_http(self) -> None:
        """The adapter of the port, against a server on loopback that speaks its wire."""
        answers = {"false_completion": {"type": "noul", "noul": 0.9}}
        reply = {"model": "jev-1.13.0", "answers": answers}
        with jevserver.serving(jevserver.says(reply)) as server:
            environ = {**server.environ, "HIKMAH_HOOK_ENGINE": "jev"}
            verdict = evaluate_message(CLEAN, ask=asker(environ))
        assert len(server.exchanges) == 1
        assert (verdict.engine, verdict.p, verdict.block) == ("jev", 0.9, True)
        assert jevserver.KEY not in json.dumps(verdict.as_dict())

    @pytest.mark.parametrize("status", [401, 500])
    def test_jev_failing_leaves_the_rules(self, status: int) -> None:
        """A refused key, a broken server."""
        with jevserver.serving(jevserver.fails(status)) as server:
            environ = server.environ | {"HIKMAH_HOOK_ENGINE": "jev", "HIKMAH_JEV_TIMEOUT_MS": "900"}
            verdict = evaluate_message(OPEN, ask=asker(environ))
        assert verdict.block
        assert verdict.path.value == "rules_fallback"
        assert jevserver.KEY not in str(verdict.engine_note)

    def test_a_program_slower_than_the_cap_is_ended(self) -> None:
        """Three seconds are the most a stop waits, whatever the engine's own limit is."""
        spec = f"command:'{sys.executable}' -c 'import time; time.sleep(60)'"
        started = time.monotonic()
        verdict = evaluate_message(
            OPEN, ask=asker({"HIKMAH_HOOK_ENGINE": spec, "HIKMAH_COMMAND_TIMEOUT_MS": "60000"})
        )
        assert time.monotonic() - started < 20
        assert verdict.block
        assert verdict.path.value == "rules_fallback"
        assert verdict.engine_latency_ms is not None
        assert 2_900 <= verdict.engine_latency_ms < 10_000

    @pytest.mark.parametrize("text", ["", "many", "-0.1", "1.1", "nan", "inf"])
    def test_a_bad_threshold_counts_as_unset(self, text: str) -> None:
        """The default stands."""
        given = settings({"HIKMAH_HOOK_THRESHOLD": text, "HIKMAH_HOOK_ENGINE_LIFT": text})
        assert (given.threshold, given.lift) == (DEFAULT_ENGINE_THRESHOLD, None)

    def test_threshold_and_lift_are_read(self) -> None:
        """As probabilities."""
        given = settings({"HIKMAH_HOOK_THRESHOLD": "0.8", "HIKMAH_HOOK_ENGINE_LIFT": " 0 "})
        assert (given.threshold, given.lift) == (0.8, 0.0)


class TestRecording:
    """The answer goes to a store after the verdict went out."""

    event = json.dumps({"last_assistant_message": CLEAN}).encode()

    @pytest.fixture
    def store(self, tmp_path: Path) -> Path:
        """Return a store with a ledger."""
        repo = world.repository(tmp_path / "store")
        Memory.init(repo, environ={}, clock=lambda: NOW_MS)[0].close()
        return repo

    def predictions(self, store: Path) -> list[Any]:
        with Memory.open(store, environ={}, clock=lambda: NOW_MS) as memory:
            return [row for row in memory.log(limit=50).items if row.kind == "prediction"]

    def test_the_probability_is_recorded_and_never_the_message(self, store: Path) -> None:
        """In the gate's family, under the engine's name."""
        out = io.BytesIO()
        run_stop_hook_recording(io.BytesIO(self.event), out, Saying(0.9), None, str(store))
        assert b"block" in out.getvalue()
        assert len(self.predictions(store)) == 1
        kept = "\n".join(world.contents(world.reopened(store)))
        assert GATE_FAMILY in kept
        assert "model:saying" in kept
        assert "every test passes" not in kept

    @pytest.mark.parametrize(
        "engine", [Saying(0.9, fail), NoEngine(), None], ids=["failing", "abstaining", "none"]
    )
    def test_without_an_answer_nothing_is_recorded(self, store: Path, engine: Any) -> None:
        """An abstention is no forecast."""
        run_stop_hook_recording(io.BytesIO(self.event), io.BytesIO(), engine, None, str(store))
        assert self.predictions(store) == []

    def test_a_store_that_is_not_there_changes_nothing(self, tmp_path: Path) -> None:
        """Same verdict, same bytes."""
        with_record, without = io.BytesIO(), io.BytesIO()
        run_stop_hook_recording(
            io.BytesIO(self.event), with_record, Saying(0.9), None, str(tmp_path / "no")
        )
        run_stop_hook_recording(io.BytesIO(self.event), without, Saying(0.9))
        assert with_record.getvalue() == without.getvalue() != b"{}\n"

    @pytest.mark.skipif(sys.platform == "win32", reason="locks differ there")
    def test_a_busy_ledger_is_not_waited_for(self, store: Path) -> None:
        """Somebody holds the writer lock: the verdict is out, and nothing is recorded."""
        import fcntl

        lock = store / ".git" / "hikmah" / "memory" / "lock"
        with lock.open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            out = io.BytesIO()
            run_stop_hook_recording(io.BytesIO(self.event), out, Saying(0.9), None, str(store))
        assert b"block" in out.getvalue()
        assert self.predictions(store) == []

    def test_the_verdict_is_written_before_anything_is_recorded(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A recording that hangs or dies cannot hold the host up."""
        out = io.BytesIO()
        seen: list[bytes] = []

        def record(*_: object) -> None:
            seen.append(out.getvalue())
            raise KeyboardInterrupt

        monkeypatch.setattr(gate_engine, "record", record)
        run_stop_hook_recording(io.BytesIO(self.event), out, Saying(0.9), None, "store")
        assert seen == [out.getvalue()]
        assert b"block" in seen[0]

    def test_a_failure_inside_allows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever breaks, one object comes out."""
        monkeypatch.setattr(hook, "read_event", lambda _: 1 / 0)
        out = io.BytesIO()
        run_stop_hook_with(io.BytesIO(self.event), out)
        assert out.getvalue() == b"{}\n"


def test_an_answer_is_plain_data() -> None:
    """What stands in a verdict is what explain prints."""
    verdict = GateVerdict(answer=EngineAnswer(name="e", p=0.25, latency_ms=4))
    shown = verdict.as_dict()
    assert (shown["engine"], shown["p"], shown["engine_latency_ms"]) == ("e", 0.25, 4)
