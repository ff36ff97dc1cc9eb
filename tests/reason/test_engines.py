"""Asking: every failure of an engine becomes abstentions; what cannot be set up says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hikmah.errors import EngineError, EngineSetupError, InvalidInputError
from hikmah.reason.admission import Abstained
from hikmah.reason.command import CommandEngine
from hikmah.reason.engines import MAX_FILE_BYTES, NoEngine, StaticEngine, ask, open_engine
from hikmah.reason.jev import JevEngine
from hikmah.reason.port import DecisionEngine, DecisionRequest, Noul, Reply, request_id
from tests.reason.responses import GOOD, REQUEST, with_value


class Raising:
    """An engine that raises."""

    name = "raising"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def answer(self, request: DecisionRequest) -> Reply:  # noqa: ARG002  # the port's signature
        raise self._error


def test_no_engine_abstains_on_everything() -> None:
    """It answers nothing, which is no failure."""
    result = ask(NoEngine(), REQUEST)
    assert result.rejected is None
    assert {item.reason for item in result.answers if isinstance(item, Abstained)} == {"unanswered"}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(EngineError("too slow"), "the engine failed: too slow", id="its own error"),
        pytest.param(
            ValueError("the key is hunter2"), "the engine failed: ValueError", id="any other"
        ),
        pytest.param(RecursionError(), "the engine failed: RecursionError", id="deep"),
    ],
)
def test_a_failing_engine_abstains_with_the_reason(error: Exception, reason: str) -> None:
    """Nothing escapes, and the message of a foreign error is not repeated."""
    result = ask(Raising(error), REQUEST)
    assert result.rejected == reason
    assert all(isinstance(item, Abstained) for item in result.answers)


def test_a_bad_request_is_not_asked() -> None:
    """The bounds hold for library callers too."""
    with pytest.raises(InvalidInputError):
        ask(NoEngine(), DecisionRequest(state="", questions=()))


def test_an_engine_is_anything_of_that_shape() -> None:
    """The port is a protocol: no base class is needed."""
    engines: list[DecisionEngine] = [NoEngine(), StaticEngine(GOOD), Raising(ValueError())]
    assert [engine.name for engine in engines] == ["none", "static", "raising"]


class TestStatic:
    """Responses written down before are replayed."""

    def test_one_response_is_replayed(self) -> None:
        """With its version as the engine's."""
        result = ask(StaticEngine(GOOD | {"version": "2026-11"}), REQUEST)
        assert result.rejected is None
        assert result.source == "model:static@2026-11"

    def test_of_several_the_matching_one_is(self) -> None:
        """By request id, whatever else is in the list."""
        other = with_value("request_id", "req_0000000000000000")
        assert ask(StaticEngine([other, None, GOOD]), REQUEST).rejected is None

    def test_a_stale_response_shows_as_a_mismatch(self) -> None:
        """A single one is replayed even if it is for another request."""
        asked = DecisionRequest(state="s", questions=(Noul(id="late", instructions="?"),))
        assert "request id mismatch" in (ask(StaticEngine(GOOD), asked).rejected or "")

    def test_none_among_several_is_a_failure(self) -> None:
        """The reason names the request that has no response."""
        asked = DecisionRequest(state="s", questions=(Noul(id="late", instructions="?"),))
        reason = ask(StaticEngine([GOOD, GOOD]), asked).rejected
        assert reason == f"the engine failed: no response for {request_id(asked)} among 2"

    @pytest.mark.parametrize("version", ["", "a b", 3, None, "x" * 65, "a\n"], ids=repr)
    def test_a_bad_version_is_malformed(self, version: object) -> None:
        """It becomes part of a source, so it is a word."""
        reason = ask(StaticEngine(GOOD | {"version": version}), REQUEST).rejected
        assert reason == "malformed: version is not 1 to 64 of A-Z a-z 0-9 . _ + -"

    def test_a_file_that_is_not_json_is_malformed(self, tmp_path: Path) -> None:
        """What a file holds is judged like any response."""
        path = tmp_path / "r.json"
        path.write_text("not json")
        assert ask(StaticEngine.read(path), REQUEST).rejected == "malformed: not JSON"

    def test_a_huge_file_is_not_read(self, tmp_path: Path) -> None:
        """A limit bounds what is read."""
        path = tmp_path / "r.json"
        with path.open("wb") as file:
            file.truncate(MAX_FILE_BYTES + 1)
        with pytest.raises(EngineSetupError, match="larger than"):
            StaticEngine.read(path)


class TestOpening:
    """Engines by the name a person gives."""

    @pytest.mark.parametrize("spec", [None, "", "none"])
    def test_none_is_the_default(self, spec: str | None) -> None:
        """No name, no engine."""
        assert isinstance(open_engine(spec, {}), NoEngine)

    def test_static_reads_the_file_named(self, tmp_path: Path) -> None:
        """`static:FILE`."""
        path = tmp_path / "r.json"
        path.write_text(json.dumps(GOOD))
        assert ask(open_engine(f"static:{path}", {}), REQUEST).rejected is None

    def test_command_and_jev_take_their_settings_from_the_environment(self, tmp_path: Path) -> None:
        """Both come with a budget that the caller can cap."""
        program = tmp_path / "engine"
        program.touch(mode=0o755)
        found = open_engine(f"command:{program} --fast", {"PATH": ""}, cap_ms=3_000)
        assert isinstance(found, CommandEngine)
        assert found.name == "command-engine"
        assert isinstance(open_engine("jev", {"TYPESAFE_API_KEY": "k"}), JevEngine)

    @pytest.mark.parametrize(
        "spec",
        [
            "gpt",
            "static",
            "static:",
            "static:/no/such/file.json",
            "command",
            "command:",
            "command:  ",
            "command:no-such-program-anywhere",
            "command:'unclosed",
            "none:x",
            "jev",
            "jev:latest",
            "JEV",
        ],
    )
    def test_what_cannot_be_set_up_says_so(self, spec: str) -> None:
        """Unknown, incomplete, missing: exit code 9, before anything is asked."""
        with pytest.raises(EngineSetupError) as caught:
            open_engine(spec, {"PATH": "/usr/bin:/bin"})
        assert caught.value.exit_code == 9
        assert caught.value.hint or spec.startswith("command:'")
