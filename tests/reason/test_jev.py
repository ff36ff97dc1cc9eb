"""The Jev adapter against a real server on loopback: every reply bounded, the key nowhere."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hikmah.errors import EngineError, EngineSetupError
from hikmah.reason.admission import Abstained, Admission, Admitted
from hikmah.reason.engines import ask
from hikmah.reason.jev import JevEngine, Settings, settings_from
from hikmah.reason.port import DecisionRequest, Noul
from tests.reason.jevserver import (
    KEY,
    Server,
    closes,
    drips,
    fails,
    floods,
    hangs,
    says,
    sends,
    serving,
    truncates,
)
from tests.reason.responses import REQUEST

pytest.importorskip("httpx", reason="the jev extra is not installed")

ROOT = Path(__file__).resolve().parent.parent.parent
REPLY: dict[str, Any] = json.loads((Path(__file__).parent / "jev-1.13.0.json").read_text())
GOOD = says(REPLY)
LIMIT_MS = 20_000  # far more than loopback needs, even on a busy machine
SHORT_MS = 1_000  # for servers that would never end


def with_answer(name: str, answer: object) -> dict[str, Any]:
    """Return the fixture's reply with one answer exchanged."""
    return REPLY | {"answers": REPLY["answers"] | {name: answer}}


@pytest.fixture(autouse=True)
def key_is_nowhere(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[None]:
    """Whatever a test here does, the key is in no log, at any level, and in no output."""
    caplog.set_level(logging.DEBUG)
    yield
    for thread in threading.enumerate():
        if thread.name == "hikmah-jev":
            thread.join(5)
    out, err = capfd.readouterr()
    assert KEY not in caplog.text + out + err


def asked(server: Server, limit_ms: int = LIMIT_MS) -> tuple[Admission, list[float]]:
    """Ask the server; return what came of it, and the pauses between tries."""
    settings = settings_from(server.environ | {"HIKMAH_JEV_TIMEOUT_MS": str(limit_ms)})
    pauses: list[float] = []
    started = time.monotonic()
    admission = ask(JevEngine(settings, pause=pauses.append), REQUEST)
    # Bounded in time: the budget, and what a busy machine takes to start a thread.
    assert time.monotonic() - started < limit_ms / 1000 + 5
    assert KEY not in repr(admission.answers) + str(admission.rejected) + admission.source
    return admission, pauses


class TestGoodReplies:
    """A reply as Jev 1.13.0 gives it is admitted whole."""

    def test_the_fixture_is_admitted(self) -> None:
        """Three kinds, with the model's version as the source."""
        with serving(GOOD) as server:
            admission, pauses = asked(server)
        assert admission.rejected is None
        assert all(isinstance(decision, Admitted) for decision in admission.decisions)
        assert admission.source == "model:jev@1.13.0"
        assert pauses == []

    def test_the_request_is_jevs(self) -> None:
        """Path, key, model, state, and each question with its criteria."""
        questions = (*REQUEST.questions, Noul(id="n", instructions="?", if_true="a", if_false="b"))
        with serving(GOOD) as server:
            settings = settings_from(server.environ | {"HIKMAH_JEV_MODEL": "jev-1.13.0"})
            ask(JevEngine(settings), DecisionRequest(state="s", questions=questions))
        (exchange,) = server.exchanges
        assert exchange.path == "/v1/systemone"
        assert exchange.headers["Authorization"] == f"Bearer {KEY}"
        assert exchange.headers["Accept-Encoding"] == "identity"
        body = json.loads(exchange.body)
        assert (body["model"], body["state"], len(body["questions"])) == ("jev-1.13.0", "s", 4)
        assert body["questions"]["next"] == {
            "type": "choice",
            "instructions": "What should be done next?",
            "criteria": {"retry": "run it again", "revert": "undo it", "wait": "do nothing"},
        }
        assert body["questions"]["risk"]["criteria"] == ["none", "low", "high", "extreme"]
        assert body["questions"]["late"] == {"type": "noul", "instructions": "Will it be late?"}
        assert body["questions"]["n"]["criteria"] == {"true": "a", "false": "b"}

    def test_what_jev_adds_is_left_out(self) -> None:
        """Fields of a later Jev beside the known ones do no harm."""
        answer = REPLY["answers"]["late"] | {"latency_ms": 3}
        with serving(says(with_answer("late", answer) | {"id": "x"})) as server:
            assert asked(server)[0].rejected is None

    @pytest.mark.parametrize(
        ("model", "source"),
        [
            ("jev-2", "model:jev@2"),
            ("other", "model:jev@other"),
            ("jev-", "model:jev@unknown"),
            ("a b", "model:jev@unknown"),
            (None, "model:jev@unknown"),
            ("ghp_" + "a1B2" * 9, "model:jev@unknown"),
        ],
    )
    def test_a_version_is_a_word(self, model: object, source: str) -> None:
        """Anything else is recorded as unknown."""
        with serving(says(REPLY | {"model": model})) as server:
            admission = asked(server)[0]
        assert (admission.rejected, admission.source) == (None, source)


class TestRetries:
    """429, 529 and 5xx are tried again twice, inside the budget; nothing else is."""

    @pytest.mark.parametrize("status", [429, 529, 500, 503])
    def test_a_failure_that_passes(self, status: int) -> None:
        """One failure, then an answer."""
        with serving(fails(status), GOOD) as server:
            admission, pauses = asked(server)
        assert admission.rejected is None
        assert pauses == [0.25]

    @pytest.mark.parametrize("status", [429, 529, 500])
    def test_a_failure_that_stays(self, status: int) -> None:
        """Three tries, two pauses, and the status in the reason."""
        with serving(fails(status, "overloaded")) as server:
            admission, pauses = asked(server)
        assert len(server.exchanges) == 3
        assert pauses == [0.25, 0.5]
        assert admission.rejected == f"the engine failed: jev answered HTTP {status} (overloaded)"

    def test_no_try_that_does_not_fit(self) -> None:
        """With less time left than the pause takes, the failure stands."""
        with serving(fails(500)) as server:
            admission, pauses = asked(server, limit_ms=200)
        assert len(server.exchanges) <= 1
        assert pauses == []
        assert admission.rejected in (
            "the engine failed: jev answered HTTP 500",
            "the engine failed: jev did not answer within 200 ms",
        )

    def test_pauses_are_real_when_nobody_replaces_them(self) -> None:
        """Without a stand-in the engine waits by itself, at least as long."""
        with serving(fails(500), GOOD) as server:
            started = time.monotonic()
            environ = server.environ | {"HIKMAH_JEV_TIMEOUT_MS": str(LIMIT_MS)}
            admission = ask(JevEngine(settings_from(environ)), REQUEST)
        assert admission.rejected is None
        assert time.monotonic() - started >= 0.25

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
    def test_other_failures_are_final(self, status: int) -> None:
        """Asking again would not change them."""
        with serving(fails(status, "authentication_error")) as server:
            admission, _ = asked(server)
        assert len(server.exchanges) == 1
        assert admission.rejected == (
            f"the engine failed: jev answered HTTP {status} (authentication_error)"
        )

    @pytest.mark.parametrize(
        "word", [KEY, f"x-{KEY}", "two words", "", None, 7, "x" * 65, "ghp_" + "a1B2" * 9]
    )
    def test_an_error_type_is_a_word(self, word: object) -> None:
        """Anything else, and anything that holds the key, is not repeated."""
        with serving(fails(401, word)) as server:
            admission, _ = asked(server)
        assert admission.rejected == "the engine failed: jev answered HTTP 401"

    @pytest.mark.parametrize(
        "data", [b"", b"nope", b"[]", b'{"detail": "no"}', b'{"detail": {"error_type": ["x"]}}']
    )
    def test_a_failure_without_words(self, data: bytes) -> None:
        """Only the status is known, and the error carries it."""
        with serving(lambda exchange: exchange.send(401, data)) as server:
            engine = JevEngine(settings_from(server.environ))
            with pytest.raises(EngineError) as caught:
                engine.answer(REQUEST)
        assert (caught.value.status, caught.value.error_type) == (401, None)


class TestBadReplies:
    """Each is bounded, and abstains with a reason."""

    @pytest.mark.parametrize(
        ("behaviour", "reason"),
        [
            pytest.param(floods, "jev sent more than 1048576 bytes", id="10 MB"),
            pytest.param(truncates, "jev could not be reached: RemoteProtocolError", id="cut off"),
            pytest.param(closes, "jev could not be reached: RemoteProtocolError", id="closed"),
            pytest.param(
                says({}, 302, Location="http://127.0.0.1:1/v1/systemone"),
                "jev answered HTTP 302",
                id="redirect",
            ),
            pytest.param(says({}, 304), "jev answered HTTP 304", id="not modified"),
        ],
    )
    def test_no_response(self, behaviour: Callable[..., None], reason: str) -> None:
        """No usable HTTP response: the engine failed."""
        with serving(behaviour) as server:
            admission, _ = asked(server)
        assert admission.rejected == f"the engine failed: {reason}"
        assert len(server.exchanges) == 1
        assert all(isinstance(item, Abstained) for item in admission.answers)

    @pytest.mark.parametrize(
        ("behaviour", "reason"),
        [
            pytest.param(sends(b'{"model": "jev'), "malformed: not JSON", id="truncated JSON"),
            pytest.param(sends(b""), "malformed: not JSON", id="empty"),
            pytest.param(sends(b"\xff"), "malformed: not UTF-8", id="not UTF-8"),
            pytest.param(
                sends(json.dumps(REPLY).encode(), "text/html"),
                "malformed: the content type is not application/json",
                id="content type",
            ),
            pytest.param(says([]), "malformed: the response has no answers", id="list"),
            pytest.param(says({}), "malformed: the response has no answers", id="no answers"),
            pytest.param(says({"answers": 3}), "malformed: the response has no", id="answers 3"),
            pytest.param(
                says(REPLY | {"usage": {"note": f"for {KEY}"}}),
                "malformed: the response repeats the key",
                id="repeats the key",
            ),
            pytest.param(
                sends(json.dumps(REPLY | {"x": KEY}).replace("loop", "\\u006coop").encode()),
                "malformed: the response repeats the key",
                id="repeats the key in escapes",
            ),
            pytest.param(
                says(with_answer("late", {"noul": 0.5})), "wrong kind: nothing", id="no type"
            ),
            pytest.param(says(with_answer("late", 0.5)), "question late: malformed", id="bare"),
            pytest.param(
                says(with_answer("late", {"type": "noul", "noul": 1.5})), "noul 1.5", id="above 1"
            ),
            pytest.param(
                says(with_answer("never", {"type": "noul", "noul": 0.5})), "not asked", id="extra"
            ),
        ],
    )
    def test_a_bad_response(self, behaviour: Callable[..., None], reason: str) -> None:
        """A response that breaks a rule is rejected whole."""
        with serving(behaviour) as server:
            admission, _ = asked(server)
        assert reason in (admission.rejected or "")
        assert all(isinstance(item, Abstained) for item in admission.answers)

    @pytest.mark.parametrize("behaviour", [hangs, drips])
    def test_no_end(self, behaviour: Callable[..., None]) -> None:
        """A server that is silent, or drips a body: the budget ends it."""
        with serving(behaviour) as server:
            admission, _ = asked(server, limit_ms=SHORT_MS)
        assert admission.rejected == "the engine failed: jev did not answer within 1000 ms"

    def test_a_call_that_was_given_up_ends_at_its_next_chunk(self) -> None:
        """The thread does not read on for as long as the server drips."""
        with serving(drips) as server:
            asked(server, limit_ms=300)
            (thread,) = [t for t in threading.enumerate() if t.name == "hikmah-jev"]
            thread.join(5)
            assert not thread.is_alive()

    def test_a_content_type_may_have_parameters(self) -> None:
        """Case and charset do not matter."""
        reply = json.dumps(REPLY).encode()
        with serving(sends(reply, "Application/JSON; charset=utf-8")) as server:
            assert asked(server)[0].rejected is None

    def test_nobody_listens(self) -> None:
        """A refused connection."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        environ = {"TYPESAFE_API_KEY": KEY, "TYPESAFE_BASE_URL": url}
        admission = ask(JevEngine(settings_from(environ)), REQUEST)
        assert admission.rejected == "the engine failed: jev could not be reached: ConnectError"

    def test_a_proxy_is_not_asked_about_this_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Proxy variables hold for the world outside."""
        with serving(fails(418)) as proxy, serving(GOOD) as server:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            assert asked(server)[0].rejected is None
        assert proxy.exchanges == []


class TestSettings:
    """What the environment may say, and what it may not."""

    def test_defaults(self) -> None:
        """Only the key is required."""
        settings = settings_from({"TYPESAFE_API_KEY": KEY})
        assert settings == Settings(key=settings.key)
        assert settings.base_url == "https://api.typesafe.ai"
        assert (settings.model, settings.limit_ms) == ("jev-latest", 5_000)

    def test_the_hook_may_cap_the_budget(self) -> None:
        """Whatever is set, a caller's cap holds."""
        environ = {"TYPESAFE_API_KEY": KEY, "HIKMAH_JEV_TIMEOUT_MS": "60000"}
        assert settings_from(environ, cap_ms=3_000).limit_ms == 3_000

    @pytest.mark.parametrize(
        ("url", "kept"),
        [
            ("https://jev.example/api/", "https://jev.example/api"),
            ("https://jev.example:8443", "https://jev.example:8443"),
            ("http://localhost:9", "http://localhost:9"),
            ("http://127.8.8.8", "http://127.8.8.8"),
            ("http://[::1]:9", "http://[::1]:9"),
        ],
    )
    def test_addresses_that_a_key_may_be_sent_to(self, url: str, kept: str) -> None:
        """TLS anywhere, plain HTTP on this machine."""
        environ = {"TYPESAFE_API_KEY": KEY, "TYPESAFE_BASE_URL": url}
        assert settings_from(environ).base_url == kept

    @pytest.mark.parametrize(
        "environ",
        [
            pytest.param({}, id="no key"),
            pytest.param({"TYPESAFE_API_KEY": "  "}, id="blank key"),
            pytest.param({"TYPESAFE_API_KEY": f"{KEY}\nX: y"}, id="key with a line end"),
            pytest.param({"TYPESAFE_API_KEY": f'{KEY}"'}, id="key with a quote"),
            pytest.param({"TYPESAFE_BASE_URL": "http://jev.example"}, id="plain HTTP"),
            pytest.param({"TYPESAFE_BASE_URL": "http://10.0.0.1"}, id="plain HTTP nearby"),
            pytest.param({"TYPESAFE_BASE_URL": "ftp://localhost"}, id="other scheme"),
            pytest.param({"TYPESAFE_BASE_URL": "jev.example"}, id="no scheme"),
            pytest.param({"TYPESAFE_BASE_URL": "https://"}, id="no host"),
            pytest.param({"TYPESAFE_BASE_URL": "https://u:p@jev.example"}, id="user"),
            pytest.param({"TYPESAFE_BASE_URL": "https://jev.example?x=1"}, id="query"),
            pytest.param({"TYPESAFE_BASE_URL": "https://jev.example#x"}, id="fragment"),
            pytest.param({"TYPESAFE_BASE_URL": "https://jev.example:x"}, id="port"),
            pytest.param({"TYPESAFE_BASE_URL": "https://[::1"}, id="brackets"),
            pytest.param({"HIKMAH_JEV_MODEL": "jev latest"}, id="model"),
            pytest.param({"HIKMAH_JEV_MODEL": KEY}, id="the key as model"),
            pytest.param({"HIKMAH_JEV_TIMEOUT_MS": "5s"}, id="budget"),
        ],
    )
    def test_what_cannot_be_set_up(self, environ: dict[str, str]) -> None:
        """Exit code 9, with the variable's name and never the key."""
        keyed = environ if "TYPESAFE_API_KEY" in environ or not environ else _keyed(environ)
        with pytest.raises(EngineSetupError) as caught:
            settings_from(keyed)
        assert re.match(r"(TYPESAFE|HIKMAH)_[A-Z_]+ ", caught.value.message)
        assert KEY not in caught.value.message + caught.value.hint

    def test_the_key_does_not_print(self) -> None:
        """Not from the engine, its settings, or the key itself."""
        settings = settings_from({"TYPESAFE_API_KEY": KEY})
        engine = JevEngine(settings)
        for shown in (repr(engine), repr(settings), repr(settings.key), str(settings.key)):
            assert KEY not in shown
            assert "[redacted]" in shown
        with pytest.raises(TypeError):
            msgspec.json.encode(settings)

    def test_without_the_extra_it_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A missing httpx is a set-up error with the command."""
        monkeypatch.setitem(sys.modules, "httpx", None)
        with pytest.raises(EngineSetupError) as caught:
            JevEngine.from_environment({"TYPESAFE_API_KEY": KEY})
        assert caught.value.hint == "pip install 'hikmah[jev]'"


def _keyed(environ: dict[str, str]) -> dict[str, str]:
    return {"TYPESAFE_API_KEY": KEY} | environ


def test_importing_the_adapter_imports_no_client() -> None:
    """The module can be read, and set up, without one; only asking loads it."""
    program = "import sys, hikmah.reason.jev, hikmah.reason.engines; print('httpx' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.skipif(not os.environ.get("TYPESAFE_API_KEY"), reason="TYPESAFE_API_KEY is not set")
def test_live() -> None:
    """The real service answers a small request in a form that is admitted."""
    late = Noul(id="late", instructions="Is a task of which half is done finished?")
    admission = ask(
        JevEngine.from_environment(os.environ),
        DecisionRequest(state="Half of the task is done.", questions=(late,)),
    )
    assert admission.rejected is None
