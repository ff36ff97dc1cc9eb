"""The commands that reason and forecast: over the examples, in text and JSON, against files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hikmah.cli import COMMANDS
from tests.reason.jevserver import KEY, fails, serving
from tests.reason.responses import GOOD

if TYPE_CHECKING:
    from tests.cli.conftest import Result, Shell

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
GOLDEN = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("HIKMAH_UPDATE_GOLDEN"))
NOW = ("--now", "1800000000000")
STATIC = f"static:{EXAMPLES / 'decision-response.json'}"
ENGINE = f"command:{sys.executable} {EXAMPLES / 'engine.py'}"


def example(name: str) -> str:
    """Return the path of an example."""
    return str(EXAMPLES / name)


def golden(name: str, result: Result) -> None:
    """Hold an answer to its golden file, or write the file when asked to."""
    assert result.code == 0, result.err
    path = GOLDEN / name
    shown = result.out.replace(str(ROOT), "<root>")
    if UPDATE:
        path.write_text(shown, encoding="utf-8", newline="\n")
    assert shown == path.read_text(encoding="utf-8")


ANSWERS: list[Any] = [
    pytest.param(("plan", "--problem", example("plan-problem.json")), id="plan"),
    pytest.param(("plan", "--problem", example("plan-costs.json")), id="plan-costs"),
    pytest.param(("plan", "--problem", example("plan-unreachable.json")), id="plan-unreachable"),
    pytest.param(("decide", "--frame", example("decision-frame.json")), id="decide"),
    pytest.param(
        ("decide", "--frame", example("decision-reversible.json")), id="decide-reversible"
    ),
    pytest.param(
        ("deliberate", "--unverified-claims", "1", "--missing-acceptance-criteria", "1"),
        id="deliberate",
    ),
    pytest.param(
        ("deliberate", "--irreversible-actions", "1", "--human-impact-questions", "2"),
        id="deliberate-veto",
    ),
    pytest.param(("ask", "--request", example("decision-request.json")), id="ask"),
    pytest.param(
        ("ask", "--request", example("decision-request.json"), "--engine", STATIC), id="ask-static"
    ),
    pytest.param(
        ("ask", "--request", example("decision-request.json"), "--engine", "static:frame.json"),
        id="ask-rejected",
    ),
]


@pytest.mark.parametrize("words", ANSWERS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_an_example_is_answered_as_it_always_was(
    words: Sequence[str], form: str, hikmah: Shell, request: pytest.FixtureRequest
) -> None:
    """Every example runs, without a ledger, and prints the same bytes."""
    (hikmah.folder / "frame.json").write_text('{"question": 1}')
    result = hikmah(*words, "--format", form)
    name = request.node.callspec.id.removeprefix(f"{form}-").removesuffix(f"-{form}")
    golden(f"{name}.{'txt' if form == 'text' else 'json'}", result)
    if form == "json":
        assert result.document["schema"] == f"hikmah.{words[0]}/1"
    assert not (hikmah.folder / ".hikmah").exists()


def test_every_example_is_used() -> None:
    """An example that nothing runs goes stale."""
    words = [word for case in ANSWERS for word in case.values[0]]
    ours = {path.name for kind in ("plan", "decision") for path in EXAMPLES.glob(f"{kind}-*")}
    assert len(ours) >= 7
    assert ours <= {Path(word).name for word in words}


def test_a_file_may_come_by_standard_input(hikmah: Shell) -> None:
    """`-` reads it."""
    data = (EXAMPLES / "plan-costs.json").read_bytes()
    assert hikmah("plan", "--problem", "-", stdin=data).document["cost"] == 50.5


def test_a_search_that_a_budget_ended_says_so(hikmah: Shell) -> None:
    """It is not the same as no plan."""
    problem = json.loads((EXAMPLES / "plan-problem.json").read_text("utf-8")) | {"max_depth": 2}
    words = ("plan", "--problem", "-", "--format", "text")
    result = hikmah(*words, stdin=json.dumps(problem).encode())
    assert "no plan found within max_depth; there may be one" in result.out


class TestDecide:
    """With an engine, with evidence, with both."""

    def test_an_engine_estimates_and_is_recorded(self, hikmah: Shell) -> None:
        """The estimate is listed, ranks, is no evidence, and becomes a prediction."""
        words = ("decide", "--frame", example("decision-frame.json"), "--engine", ENGINE)
        document = hikmah(*words, "--record").document
        (estimate,) = document["estimates"]
        assert (estimate["option"], estimate["criterion"]) == ("git repository", "latency")
        assert estimate["score"] == 0.5
        assert document["engine"].startswith("command-python")
        assert document["options"][0]["evidence_interval"] == [0.6625, 0.9125]
        (recorded,) = document["recorded"]
        trace = hikmah("show", recorded).document["trace"]
        assert trace["prediction"]["family"] == "decide.latency"
        assert trace["provenance"]["source"].startswith("model:command-python")
        shown = hikmah(*words, "--format", "text").out
        assert "git repository by latency: 0.50 (fair)" in shown
        assert "estimated by a model: latency" in shown

    def test_nothing_missing_asks_nothing(self, hikmah: Shell) -> None:
        """An engine that was named is not run for a frame that is complete."""
        words = ("decide", "--frame", example("decision-reversible.json"), "--record")
        document = hikmah(*words, "--engine", STATIC).document
        assert (document["engine"], document["requests"]) == ("static", 0)
        assert document["recorded"] == []
        shown = hikmah(*words, "--engine", STATIC, "--format", "text").out
        assert "nothing was missing" in shown
        assert not (hikmah.folder / ".hikmah").exists()

    def test_a_rejected_response_is_said(self, hikmah: Shell) -> None:
        """Abstentions are listed with their reason; nothing is recorded."""
        words = ("decide", "--frame", example("decision-frame.json"), "--engine", STATIC)
        document = hikmah(*words, "--record").document
        assert "request id mismatch" in document["rejected"][0]
        assert document["estimates"][0]["status"] == "abstain"
        assert document["recorded"] == []
        assert "request id mismatch" in hikmah(*words, "--format", "text").out

    def test_evidence_is_looked_up(self, hikmah: Shell) -> None:
        """With and without an engine, each id is shown with what limits it."""
        good = hikmah("remember", "--content", "measured", "--source", "ci").document["id"]
        model = hikmah("remember", "--content", "I think", "--source", "model:x").document["id"]
        frame = {
            "question": "Which?",
            "criteria": [{"id": "x", "weight": 1}],
            "options": [
                {"name": "a", "scores": {"x": 0.5}, "evidence_confidence": 0.9, "evidence": [good]},
                {"name": "b", "evidence_confidence": 0.9, "evidence": [model[:10]]},
            ],
        }
        (hikmah.folder / "frame.json").write_text(json.dumps(frame))
        for engine in ((), ("--engine", ENGINE)):
            document = hikmah("decide", "--frame", "frame.json", *engine).document
            found = {o["name"]: o["evidence"][0]["flags"] for o in document["options"]}
            assert found == {"a": [], "b": ["model_authored"]}
        shown = hikmah("decide", "--frame", "frame.json", "--format", "text").out
        assert f"evidence {good[:8]}: nothing against it" in shown
        assert f"evidence {model[:8]}: model authored" in shown
        assert "none of the evidence counts" in shown

    def test_when_all_is_blocked_nothing_is_recommended(self, hikmah: Shell) -> None:
        """Exit 0: that is the answer."""
        frame = {
            "question": "Which?",
            "criteria": [{"id": "x", "weight": 1}],
            "options": [{"name": "a", "hard_blocks": ["illegal"]}],
        }
        (hikmah.folder / "frame.json").write_text(json.dumps(frame))
        result = hikmah("decide", "--frame", "frame.json", "--format", "text")
        assert result.code == 0
        assert "none: all are blocked" in result.out
        assert "what would change it" not in result.out

    def test_an_unknown_score_that_would_change_it_is_named(self, hikmah: Shell) -> None:
        """The flip of a score, from what it counts as now."""
        frame = {
            "question": "Which?",
            "criteria": [{"id": "x", "weight": 1}],
            "options": [{"name": "a", "scores": {"x": 0.5}}, {"name": "b"}],
        }
        (hikmah.folder / "frame.json").write_text(json.dumps(frame))
        assert (
            "b by x from unknown past 0.5: b"
            in hikmah("decide", "--frame", "frame.json", "--format", "text").out
        )
        frame["options"] = [{"name": "a", "scores": {"x": 0.5}}] * 1
        (hikmah.folder / "frame.json").write_text(json.dumps(frame))
        assert (
            "no single weight or score"
            in hikmah("decide", "--frame", "frame.json", "--format", "text").out
        )


class TestDeliberate:
    """Counts by hand or from the ledger."""

    def test_the_ledgers_conflicts_are_counted(self, hikmah: Shell) -> None:
        """Two keys with two values each block the memory lane."""
        for key in ("lock", "port"):
            for value in ("1", "2"):
                claim = ("--claim-key", key, "--claim-value", value)
                assert hikmah("remember", "--content", f"{key} {value}", *claim).code == 0
        document = hikmah("deliberate", "--from-ledger").document
        assert document["blocking_lanes"] == ["memory"]

    def test_two_ways_to_say_one_thing(self, hikmah: Shell) -> None:
        """Are a usage error."""
        assert hikmah("deliberate", "--from-ledger", "--memory-conflicts", "1").code == 2


def forecast(hikmah: Shell, p: float, observed: str, **options: str) -> str:
    """Record a forecast and its outcome; return the forecast's id."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    made = hikmah(
        *("predict", "--family", "site.ctr", "--question", "Up?", "--p", str(p)), *words
    ).document["id"]
    result = hikmah("outcome", "--prediction", made, "--observed", observed, "--source", "shop")
    assert result.code == 0, result.err
    return str(made)


class TestForecasts:
    """From predict to calibration."""

    def test_text_says_what_was_recorded(self, hikmah: Shell) -> None:
        """Both commands, with the id to go on with."""
        words = ("predict", "--family", "f", "--question", "Up?", "--p", "0.7", "--type", "noul")
        made = hikmah(*words, "--source", "human:alex", "--format", "text")
        assert made.out.startswith("predicted ")
        again = hikmah(*words, *NOW).document["id"], hikmah(*words, *NOW, "--format", "text").out
        assert again[1].startswith(f"already predicted as {again[0][:8]}")
        seen = hikmah("outcome", again[0], "--observed", "false", "--note", "x", "--format", "text")
        assert seen.out.startswith("observed ")

    def test_a_choice_has_its_answer_space(self, hikmah: Shell) -> None:
        """Given with commas; blanks around are no part of it."""
        made = hikmah(
            *("predict", "--family", "f", "--question", "Which?", "--type", "choice"),
            *("--p", "0.5", "--value", "b", "--answer-space", "a, b ,c"),
        ).document
        prediction = hikmah("show", made["id"]).document["trace"]["prediction"]
        assert prediction["answer_space"] == ["a", "b", "c"]
        assert hikmah("outcome", made["id"], "--observed", "d").code == 3

    def test_the_seeds_walk(self, hikmah: Shell) -> None:
        """Ask --record, outcome, predict and calibration as a person would type them."""
        words = ("ask", "--request", example("decision-request.json"), "--engine", STATIC)
        recorded = hikmah(*words, "--record").document["recorded"]
        assert len(recorded) == 3
        assert "recorded as" in hikmah(*words, "--record", "--format", "text").out
        assert hikmah("outcome", recorded[2], "--observed", "true", "--source", "ci").code == 0
        forecast(hikmah, 0.7, "true", source="human:alex", type="noul")
        report = hikmah("calibration", "--family-prefix", "site.").document
        assert [row["forecaster"] for row in report["families"]] == ["human:alex"]
        assert [row["family"] for row in report["pooled"]] == ["site.*"]
        assert len(hikmah("calibration").document["families"]) == 2

    def test_a_diagram_in_text_and_as_a_file(self, hikmah: Shell) -> None:
        """Strips on the terminal, SVG in the file."""
        for p, observed in ((0.1, "false"), (0.3, "false"), (0.7, "true"), (0.9, "true")):
            forecast(hikmah, p, observed, source="human:alex")
        result = hikmah("calibration", "--plot", "d.svg", "--format", "text")
        assert "wrote d.svg" in result.err
        assert "n 4, anecdotal" in result.out
        assert "0.8..1.0      1" in result.out
        assert "4 without" not in result.out
        ET.parse(hikmah.folder / "d.svg")
        result = hikmah("calibration", "--plot", "no/such/folder/d.svg")
        assert (result.code, result.error["code"]) == (1, "store")

    def test_rows_without_figures_and_no_rows(self, hikmah: Shell) -> None:
        """A choice recorded without a distribution is unscored."""
        answer = {"next": {"kind": "choice", "choice": "retry"}}
        body = GOOD | {"answers": answer}
        (hikmah.folder / "r.json").write_text(json.dumps(body))
        request = {
            "state": "the deploy is half done",
            "questions": _questions(),
        }
        (hikmah.folder / "q.json").write_text(json.dumps(request))
        recorded = hikmah("ask", "--request", "q.json", "--engine", "static:r.json", "--record")
        (made,) = recorded.document["recorded"]
        assert "no resolved forecasts" in hikmah("calibration", "--format", "text").out
        assert hikmah("outcome", made, "--observed", "wait").code == 0
        assert "1 without a probability" in hikmah("calibration", "--format", "text").out

    def test_family_and_prefix_exclude_each_other(self, hikmah: Shell) -> None:
        """One selects, the other pools."""
        assert hikmah("calibration", "--family", "a", "--family-prefix", "b").code == 2


def _questions() -> list[dict[str, Any]]:
    import msgspec

    from tests.reason.responses import REQUEST

    plain: list[dict[str, Any]] = msgspec.to_builtins(REQUEST.questions)
    return plain


class TestGateThreshold:
    """Chosen from what the gate's engine said."""

    def test_it_is_refused_from_too_little(self, hikmah: Shell) -> None:
        """Exit 5, with what to do."""
        hikmah("init")
        result = hikmah("gate-threshold")
        assert (result.code, result.error["code"]) == (5, "refused")
        assert "HIKMAH_HOOK_RECORD" in result.error["hint"]

    def test_it_is_shown_beside_the_default(self, hikmah: Shell) -> None:
        """Fifty answers, recorded as the hook would."""
        from hikmah.memory import Memory
        from tests.memory.test_forecasting import answered

        family = "truth_gate.false_completion.v2"
        ps = [0.9] * 10 + [0.1 + i / 1000 for i in range(40)]
        with Memory.open(cwd=hikmah.folder, environ={}, create=True) as memory:
            batch = memory.record(*(answered(p, f"q{i}", family) for i, p in enumerate(ps)))
            for place, item in enumerate(batch.items):
                memory.outcome(item.id, observed="true" if place < 10 else "false")
        document = hikmah("gate-threshold", "--forecaster", "static@1").document
        assert (document["threshold"], document["default"]["threshold"]) == (0.9, 0.6)
        shown = hikmah("gate-threshold", "--format", "text").out
        assert shown.startswith("threshold 0.9\n")
        assert "100.0%" in shown


class TestRefusals:
    """What cannot be asked, and what cannot be set up."""

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            pytest.param(("plan", "--problem", "no.json"), 4, "no file", id="no file"),
            pytest.param(("plan", "--problem", "bad.json"), 3, "not JSON", id="no JSON"),
            pytest.param(("decide", "--frame", "other.json"), 3, "$.initial", id="other document"),
            pytest.param(("plan",), 2, "--problem", id="nothing given"),
            pytest.param(
                ("ask", "--request", example("decision-request.json"), "--engine", "gpt"),
                9,
                "no engine",
                id="unknown engine",
            ),
            pytest.param(
                ("ask", "--request", example("decision-request.json"), "--engine", "jev"),
                9,
                "TYPESAFE_API_KEY",
                id="no key",
            ),
            pytest.param(
                ("ask", "--request", "secret.json"), 5, "$.state", id="a credential goes nowhere"
            ),
            pytest.param(
                ("predict", "--family", "f", "--question", "?", "--p", "2"),
                3,
                "$.prediction.p",
                id="no probability",
            ),
            pytest.param(
                (
                    "predict",
                    "--family",
                    "f",
                    "--question",
                    "?",
                    "--p",
                    "0.5",
                    "--source",
                    "model:x",
                ),
                5,
                "ask --record",
                id="a model",
            ),
            pytest.param(("outcome", "--observed", "true"), 2, "an id is missing", id="no id"),
            pytest.param(
                ("deliberate", "--unverified-claims", "-1"), 2, "not in the range", id="below 0"
            ),
        ],
    )
    def test_bad_input(self, words: Sequence[str], code: int, said: str, hikmah: Shell) -> None:
        """Exit code and words; nothing is written."""
        (hikmah.folder / "bad.json").write_text("{")
        (hikmah.folder / "other.json").write_text('{"initial": []}')
        question = {"kind": "noul", "id": "q", "instructions": "?"}
        secret = {"state": "key ghp_" + "a1B2" * 9, "questions": [question]}
        (hikmah.folder / "secret.json").write_text(json.dumps(secret))
        result = hikmah(*words)
        assert (result.code, result.out) == (code, "")
        assert said in result.err
        assert not list(hikmah.folder.rglob("refs/hikmah/*"))

    def test_a_failing_engine_is_no_failure(self, hikmah: Shell) -> None:
        """Jev answers 401: all abstain, exit 0, the key in no output."""
        pytest.importorskip("httpx", reason="the jev extra is not installed")
        with serving(fails(401, "authentication_error")) as server:
            result = hikmah(
                *("ask", "--request", example("decision-request.json"), "--engine", "jev"),
                "--debug",
                env=server.environ,
            )
        assert result.code == 0
        assert "HTTP 401 (authentication_error)" in result.document["rejected"]
        assert KEY not in result.out + result.err


WATCHED = ("httpx", "http.client", "urllib.request", "socket", "dulwich", "sqlite3", "ssl")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("plan", "--problem", example("plan-problem.json")), id="plan"),
        pytest.param(("decide", "--frame", example("decision-frame.json")), id="decide"),
        pytest.param(("deliberate",), id="deliberate"),
        pytest.param(("ask", "--request", example("decision-request.json")), id="ask"),
        pytest.param(
            ("ask", "--request", example("decision-request.json"), "--engine", STATIC), id="static"
        ),
    ],
)
def test_without_an_engine_no_client_is_imported(words: Sequence[str], tmp_path: Path) -> None:
    """No HTTP client, no git library, no database: these commands need none."""
    program = (
        "import sys\nfrom hikmah.__main__ import main\ncode = main(sys.argv[1:])\n"
        f"print(sorted(set({WATCHED!r}) & set(sys.modules)), file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_every_command_of_these_modules_is_tested_here() -> None:
    """A new one needs a test."""
    text = Path(__file__).read_text("utf-8")
    names = [name for name, row in COMMANDS.items() if row.module in ("reasoning", "forecasts")]
    assert all(f'"{name}"' in text for name in names)
    assert len(names) == 8
