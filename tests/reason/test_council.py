"""The council's lanes: severity by count, blocks at 0.8, vetoes at one."""

from __future__ import annotations

import msgspec
import pytest

from hikmah.errors import InvalidInputError
from hikmah.reason.council import Counts, deliberate
from hikmah.reason.reading import read_json

LANES = ["evidence", "memory", "delivery", "risk", "human_impact"]


def test_with_nothing_open_everyone_agrees() -> None:
    """No count, no severity, no block; every lane still speaks, in a fixed order."""
    council = deliberate(Counts())
    assert council.can_proceed
    assert council.blocking_lanes == ()
    assert [signal.lane for signal in council.signals] == LANES
    assert [signal.severity for signal in council.signals] == [0.0] * 5


@pytest.mark.parametrize(
    ("field", "lane", "full"),
    [
        ("unverified_claims", "evidence", 3),
        ("memory_conflicts", "memory", 2),
        ("missing_acceptance_criteria", "delivery", 3),
        ("irreversible_actions", "risk", 1),
        ("human_impact_questions", "human_impact", 1),
    ],
)
def test_a_lane_blocks_at_its_count_and_alone(field: str, lane: str, full: int) -> None:
    """Below its count a lane warns, from it on it blocks at severity 1, whatever the others."""
    for count in range(full + 3):
        council = deliberate(Counts(**{field: count}))
        (signal,) = [signal for signal in council.signals if signal.lane == lane]
        assert signal.severity == min(1.0, count / full)
        assert council.blocking_lanes == ((lane,) if count >= full else ())
        assert council.can_proceed == (count < full)


def test_risk_and_human_impact_alone_have_a_veto() -> None:
    """A veto belongs to the lane, not to its count."""
    vetoes = [signal.lane for signal in deliberate(Counts()).signals if signal.veto]
    assert vetoes == ["risk", "human_impact"]


def test_lanes_that_block_are_listed_together() -> None:
    """Several lanes may block at once; they are listed in their order."""
    counts = Counts(unverified_claims=9, memory_conflicts=1, irreversible_actions=1)
    assert deliberate(counts).blocking_lanes == ("evidence", "risk")


def test_a_message_says_the_count() -> None:
    """None, one and many each read as a sentence."""
    messages = [deliberate(Counts(memory_conflicts=n)).signals[1].message for n in range(3)]
    assert messages == [
        "no contradiction in memory was counted",
        "1 claim in memory has two values",
        "2 claims in memory have more than one value",
    ]


@pytest.mark.parametrize("text", ['{"memory_conflicts": -1}', '{"risk": 1}'], ids=str)
def test_bad_counts_are_refused(text: str) -> None:
    """A count is a whole number from 0 up, under a name that is known."""
    with pytest.raises(InvalidInputError):
        read_json(text, Counts)


def test_the_result_is_plain_data() -> None:
    """It encodes to the keys that are documented."""
    plain = msgspec.to_builtins(deliberate(Counts()))
    assert set(plain) == {"can_proceed", "blocking_lanes", "signals"}
    assert set(plain["signals"][0]) == {"lane", "severity", "veto", "message"}
