"""Violations: each rejects the whole response, with its reason."""

from __future__ import annotations

import json
import math

import pytest

from hikmah.reason.admission import Abstained, admit
from hikmah.reason.port import Choice, DecisionRequest, Malformed, Reply, request_id
from hikmah.reason.wire import parse_reply
from tests.reason.responses import GOOD, admitted, with_value, without

NEXT, RISK, LATE = "answers/next", "answers/risk", "answers/late"
PNEXT, PRISK = f"{NEXT}/probabilities", f"{RISK}/probabilities"
HALF = chr(0xD800)

VIOLATIONS = [
    # the envelope
    pytest.param(None, "malformed: the response is not an object", id="null"),
    pytest.param([], "malformed: the response is not an object", id="list"),
    pytest.param("yes", "malformed: the response is not an object", id="text"),
    pytest.param(0.8, "malformed: the response is not an object", id="number"),
    pytest.param(Malformed(why="not JSON"), "malformed: not JSON", id="not JSON"),
    pytest.param({}, "request id mismatch: nothing", id="empty object"),
    pytest.param(without("request_id"), "request id mismatch: nothing", id="no request id"),
    pytest.param(with_value("request_id", None), "request id mismatch: nothing", id="null id"),
    pytest.param(with_value("request_id", 7), "request id mismatch: 7", id="number as id"),
    pytest.param(with_value("request_id", "req_"), "request id mismatch: 'req_'", id="other id"),
    pytest.param(
        with_value("request_id", GOOD["request_id"].upper()),
        "request id mismatch",
        id="id in capitals",
    ),
    pytest.param(without("answers"), "malformed: answers is not an object", id="no answers"),
    pytest.param(with_value("answers", []), "malformed: answers is not", id="answers as list"),
    pytest.param(with_value("answers", None), "malformed: answers is not", id="answers null"),
    pytest.param(with_value("usage", {}), "malformed: unknown field 'usage'", id="beside"),
    # answers
    pytest.param(
        with_value("answers/other", {"kind": "noul", "noul": 0.5}),
        "an answer to a question that was not asked: 'other'",
        id="not asked",
    ),
    pytest.param(
        with_value("answers/LATE", {"kind": "noul", "noul": 0.5}),
        "not asked",
        id="capitals",
    ),
    pytest.param(with_value(NEXT, None), "question next: malformed", id="answer null"),
    pytest.param(with_value(NEXT, "revert"), "question next: malformed", id="answer as text"),
    pytest.param(with_value(LATE, [0.8]), "question late: malformed", id="answer as list"),
    pytest.param(without(f"{LATE}/kind"), "wrong kind: nothing for a noul", id="no kind"),
    pytest.param(with_value(f"{LATE}/kind", "choice"), "wrong kind: 'choice'", id="other kind"),
    pytest.param(with_value(f"{LATE}/kind", ["noul"]), "wrong kind: a list", id="kind as list"),
    pytest.param(
        with_value(NEXT, GOOD["answers"]["risk"]), "wrong kind: 'score' for a choice", id="swapped"
    ),
    pytest.param(with_value(f"{NEXT}/why", "x"), "unknown field 'why'", id="extra in choice"),
    pytest.param(with_value(f"{RISK}/choice", "2"), "unknown field 'choice'", id="extra in score"),
    pytest.param(
        with_value(f"{LATE}/confidence", 0.5), "unknown field 'confidence'", id="extra in noul"
    ),
    # choice
    pytest.param(without(f"{NEXT}/choice"), "unknown option nothing", id="no choice"),
    pytest.param(with_value(f"{NEXT}/choice", "Revert"), "unknown option 'Revert'", id="a capital"),
    pytest.param(with_value(f"{NEXT}/choice", ["revert"]), "unknown option a list", id="a list"),
    pytest.param(with_value(f"{NEXT}/choice", 1), "unknown option 1", id="an index"),
    pytest.param(with_value(f"{NEXT}/choice", ""), "unknown option ''", id="empty"),
    pytest.param(
        with_value(f"{NEXT}/choice", "retry"), "not the most probable", id="not most probable"
    ),
    pytest.param(
        with_value(PNEXT, {"retry": 0.5, "wait": 0.5}), "not the most probable", id="not in its own"
    ),
    pytest.param(with_value(PNEXT, [0.2, 0.7, 0.1]), "probabilities is not an", id="p list"),
    pytest.param(with_value(PNEXT, {}), "add up to 0, not 1", id="empty distribution"),
    pytest.param(
        with_value(PNEXT, {"revert": 0.7, "burn": 0.3}), "unknown option 'burn'", id="unknown key"
    ),
    pytest.param(with_value(f"{PNEXT}/revert", 1.2), "probability of 1.2 is not", id="above 1"),
    pytest.param(with_value(f"{PNEXT}/wait", -0.1), "probability of -0.1 is not", id="below 0"),
    pytest.param(with_value(f"{PNEXT}/wait", math.nan), "probability of nan", id="NaN"),
    pytest.param(with_value(f"{PNEXT}/wait", math.inf), "probability of inf", id="infinity"),
    pytest.param(with_value(f"{PNEXT}/wait", "0.1"), "probability of '0.1'", id="number as text"),
    pytest.param(with_value(f"{PNEXT}/wait", True), "probability of true", id="true"),
    pytest.param(with_value(f"{PNEXT}/wait", None), "probability of nothing", id="p null"),
    pytest.param(with_value(f"{PNEXT}/wait", 10**400), "probability of a huge", id="huge integer"),
    pytest.param(with_value(f"{PNEXT}/wait", 0.121), "add up to 1.021, not 1", id="sum above"),
    pytest.param(with_value(f"{PNEXT}/wait", 0.079), "add up to 0.979, not 1", id="sum below"),
    pytest.param(with_value(f"{NEXT}/confidence", 1.01), "confidence 1.01 is not", id="confident"),
    pytest.param(with_value(f"{NEXT}/confidence", "high"), "confidence 'high'", id="in words"),
    pytest.param(with_value(f"{NEXT}/confidence", True), "confidence true", id="confidence true"),
    # score
    pytest.param(without(f"{RISK}/score"), "score nothing is not in [0, 3]", id="no score"),
    pytest.param(with_value(f"{RISK}/score", 3.1), "score 3.1 is not in [0, 3]", id="above top"),
    pytest.param(with_value(f"{RISK}/score", -0.1), "score -0.1 is not in", id="below bottom"),
    pytest.param(with_value(f"{RISK}/score", math.nan), "score nan is not in", id="score NaN"),
    pytest.param(with_value(f"{RISK}/score", -math.inf), "score -inf is not in", id="score -inf"),
    pytest.param(with_value(f"{RISK}/score", "high"), "score 'high' is not in", id="a level"),
    pytest.param(with_value(f"{RISK}/score", True), "score true is not in", id="score true"),
    pytest.param(with_value(f"{RISK}/score", [1.7]), "score a list is not in", id="score list"),
    pytest.param(
        with_value(PRISK, {"00": 0.1, "1": 0.3, "2": 0.4, "3": 0.2}),
        "unknown level '00'",
        id="key with zeros",
    ),
    pytest.param(
        with_value(PRISK, {"0": 0.1, "01": 0.3, "2": 0.4, "3": 0.2}), "unknown level '01'", id="01"
    ),
    pytest.param(with_value(PRISK, {"1": 0.3, "2 ": 0.7}), "unknown level '2 '", id="blank in key"),
    pytest.param(with_value(PRISK, {"+1": 0.3, "2": 0.7}), "unknown level '+1'", id="signed key"),
    pytest.param(with_value(PRISK, {"1.0": 0.3, "2": 0.7}), "unknown level '1.0'", id="decimal"),
    pytest.param(with_value(PRISK, {"1": 0.3, "4": 0.7}), "unknown level '4'", id="above levels"),
    pytest.param(with_value(PRISK, {"-1": 0.3, "2": 0.7}), "unknown level '-1'", id="negative key"),
    pytest.param(with_value(PRISK, {"\u0661": 0.3, "2": 0.7}), "unknown level", id="Arabic digit"),
    pytest.param(with_value(PRISK, {"low": 0.3, "2": 0.7}), "unknown level 'low'", id="level text"),
    pytest.param(with_value(f"{PRISK}/0", 0.2), "add up to 1.1, not 1", id="score's sum"),
    pytest.param(with_value(f"{RISK}/score", 1.736), "not the mean", id="off its mean"),
    pytest.param(with_value(f"{RISK}/score", 2.5), "not the mean of its own", id="far off"),
    pytest.param(with_value(f"{RISK}/confidence", -1), "confidence -1", id="score confidence"),
    # noul
    pytest.param(without(f"{LATE}/noul"), "noul nothing is not a probability", id="no noul"),
    pytest.param(with_value(f"{LATE}/noul", 1.0001), "noul 1.0001 is not", id="noul above 1"),
    pytest.param(with_value(f"{LATE}/noul", -1e-9), "noul -1e-09 is not", id="noul below 0"),
    pytest.param(with_value(f"{LATE}/noul", True), "noul true is not", id="noul true"),
    pytest.param(with_value(f"{LATE}/noul", "yes"), "noul 'yes' is not", id="noul in words"),
    pytest.param(with_value(f"{LATE}/noul", None), "noul nothing is not", id="noul null"),
    pytest.param(with_value(f"{LATE}/noul", math.nan), "noul nan is not", id="noul NaN"),
    pytest.param(with_value(f"{LATE}/noul", {"p": 1}), "noul an object is not", id="noul object"),
    pytest.param(with_value(f"{LATE}/{HALF}", 1), "unknown field '\\ud800'", id="half surrogate"),
]


@pytest.mark.parametrize(("body", "reason"), VIOLATIONS)
def test_one_violation_rejects_the_whole_response(body: object, reason: str) -> None:
    """Every question then has an explicit abstention with that reason."""
    admission = admitted(body)
    assert admission.rejected is not None
    assert reason in admission.rejected
    assert [type(decision) for decision in admission.decisions] == [Abstained] * 3
    assert {item.reason for item in admission.answers if isinstance(item, Abstained)} == {
        admission.rejected
    }


def test_the_table_is_long_enough() -> None:
    """At least sixty violations, each under a name of its own."""
    assert len({case.id for case in VIOLATIONS}) == len(VIOLATIONS) >= 60


ADMISSIBLE = [
    pytest.param(GOOD, id="all of it"),
    pytest.param(without(PNEXT), id="choice without distribution"),
    pytest.param(with_value(PNEXT, None), id="distribution null"),
    pytest.param(with_value(f"{NEXT}/confidence", None), id="confidence null"),
    pytest.param(without(f"{NEXT}/confidence"), id="no confidence"),
    pytest.param(with_value(PNEXT, {"revert": 1}), id="one key, an integer"),
    pytest.param(with_value(f"{PNEXT}/wait", 0.12), id="sum 1.02"),
    pytest.param(with_value(f"{PNEXT}/wait", 0.08), id="sum 0.98"),
    pytest.param(with_value(PNEXT, {"retry": 0.5, "revert": 0.5}), id="a tie at the top"),
    pytest.param(without(PRISK), id="score without distribution"),
    pytest.param(with_value(f"{RISK}/score", 1.735), id="mean off by rounding"),
    pytest.param(with_value(RISK, {"kind": "score", "score": 0}), id="lowest score"),
    pytest.param(with_value(RISK, {"kind": "score", "score": 3}), id="highest score"),
    pytest.param(with_value(f"{LATE}/noul", 0), id="noul 0"),
    pytest.param(with_value(f"{LATE}/noul", 1), id="noul 1"),
    pytest.param(without(LATE), id="one unanswered"),
    pytest.param(with_value("answers", {}), id="all unanswered"),
]


@pytest.mark.parametrize("body", ADMISSIBLE)
def test_what_breaks_no_rule_is_admitted(body: object) -> None:
    """The bounds themselves, optional fields left out, and rounding are admitted."""
    assert admitted(body).rejected is None


def test_a_wide_distribution_may_miss_by_more() -> None:
    """Two hundred options rounded to two digits may miss 1 by half a unit each."""
    options = {f"o{i}": "one of many" for i in range(200)}
    asked = DecisionRequest(
        state="s", questions=(Choice(id="q", instructions="?", options=options),)
    )

    def rejected(each: float) -> str | None:
        answer = {"kind": "choice", "choice": "o0", "probabilities": dict.fromkeys(options, each)}
        body = {"request_id": request_id(asked), "answers": {"q": answer}}
        return admit(asked, Reply(body=body), engine="demo").rejected

    assert rejected(0.01) is None
    assert "add up to 2.2" in (rejected(0.011) or "")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", "not JSON", id="empty"),
        pytest.param(b"{", "not JSON", id="truncated"),
        pytest.param(b'{"a": NaN}', "not JSON", id="NaN"),
        pytest.param(b'{"a": -Infinity}', "not JSON", id="infinity"),
        pytest.param(b"{} {}", "not JSON", id="two documents"),
        pytest.param(b"\xff\xfe{}", "not UTF-8", id="not UTF-8"),
        pytest.param(b'{"a": 1, "a": 2}', "a key stands twice in one object", id="key twice"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="deep"),
        pytest.param(b"1" * 5_000, "not JSON", id="more digits than a number may have"),
    ],
)
def test_text_that_is_no_response_is_malformed(data: bytes, why: str) -> None:
    """Reading never raises; it says why it could not."""
    assert parse_reply(data) == Malformed(why=why)
    assert admitted(parse_reply(data)).rejected == f"malformed: {why}"


def test_the_good_response_reads_back() -> None:
    """As text and back, it is admitted the same."""
    assert parse_reply(json.dumps(GOOD).encode()) == GOOD


def test_a_reason_does_not_repeat_at_length_or_in_secret() -> None:
    """What the engine wrote stands in the reason short, escaped, and masked."""
    token = "ghp_" + "a1B2" * 9
    reason = admitted(with_value(f"{NEXT}/choice", f"\x1b[31m{token}" + "x" * 5_000)).rejected
    assert reason is not None
    assert len(reason) < 120
    assert token not in reason
    assert "\x1b" not in reason
