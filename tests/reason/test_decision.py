"""Decisions: what is ranked, what is recommended, what is said about the unknown."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from msgspec.structs import replace

from hikmah.errors import InvalidInputError, NotFoundError
from hikmah.reason.decision import Criterion, Decision, Evidence, Frame, Option, Ranked, decide
from hikmah.reason.reading import read_json
from tests.reason.frames import FRAMES, corners, generated, recommended, scored, unknowns


def frame(*options: Option, **weights: float) -> Frame:
    """Return a frame over these options; criteria are given as weights."""
    criteria = tuple(Criterion(id=name, weight=weight) for name, weight in weights.items())
    return Frame(question="which?", criteria=criteria or (ONE,), options=options)


def option(name: str, score: float | None = None, **fields: object) -> Option:
    """Return an option scored by the criterion `x`."""
    plain = {"name": name, "scores": {} if score is None else {"x": score}, **fields}
    return msgspec.convert(plain, Option)


def ranked(result: Decision, name: str) -> Ranked:
    """Return one option of a result."""
    (found,) = [item for item in result.options if item.name == name]
    return found


ONE = Criterion(id="x", weight=1.0)


class TestIntervals:
    """An unknown score spans the scale; an estimate counts as unknown for evidence."""

    def test_unknown_is_neither_zero_nor_one(self) -> None:
        """Left out and null mean the same: anywhere in [0, 1]."""
        known = {"a": 0.5, "b": None}
        result = decide(frame(Option(name="o", scores=known), a=3, b=1, c=1))
        item = result.options[0]
        assert item.score_interval == (0.3, 0.7)
        assert item.evidence_interval == (0.3, 0.7)
        assert item.missing_criteria == ("b", "c")
        assert item.coverage == 0.6
        assert item.raw_score == 0.5

    def test_an_estimate_narrows_only_the_score(self) -> None:
        """What an engine estimated is a point for the score and unknown for evidence."""
        guess = Option(name="o", scores={"a": 1.0}, model_scores={"b": 0.5})
        item = decide(frame(guess, a=1, b=1)).options[0]
        assert item.score_interval == (0.75, 0.75)
        assert item.evidence_interval == (0.5, 1.0)
        assert item.model_estimated_criteria == ("b",)
        assert item.missing_criteria == ()

    def test_evidence_beats_an_estimate(self) -> None:
        """Where both are given the evidence counts, and no estimate is reported."""
        both = Option(name="o", scores={"x": 0.2}, model_scores={"x": 0.9})
        item = decide(frame(both)).options[0]
        assert item.score_interval == (0.2, 0.2)
        assert item.model_estimated_criteria == ()

    def test_confidence_is_scaled_by_coverage(self) -> None:
        """Confidence in half of the evidence is half of the confidence."""
        half = Option(name="o", scores={"a": 0.8}, evidence_confidence=0.9)
        item = decide(frame(half, a=1, b=1)).options[0]
        assert item.evidence_confidence == 0.45
        assert item.confidence_adjusted_score == 0.58  # 0.8 x (0.5 + 0.5 x 0.45)

    def test_nothing_scored_has_no_mean(self) -> None:
        """Without a scored criterion of weight, the mean is null, not zero."""
        item = decide(frame(Option(name="o", scores={"a": 1.0}), a=0, b=1)).options[0]
        assert (item.raw_score, item.confidence_adjusted_score, item.coverage) == (None, None, 0)


class TestOrder:
    """By the lower end, the upper end, reversibility, the name; blocked ones last."""

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            pytest.param(option("z", 0.6), option("a", 0.5), id="lower end"),
            pytest.param(option("z"), option("a", 0.0), id="upper end"),
            pytest.param(option("z", 0.5, reversible=True), option("a", 0.5), id="reversible"),
            pytest.param(option("a", 0.5), option("b", 0.5), id="name"),
            pytest.param(option("z", 0.1), option("a", 1, hard_blocks=["x"]), id="blocked"),
        ],
    )
    def test_the_stated_order_decides(self, one: Option, other: Option) -> None:
        """Whichever stands first in the frame, the same one ranks first."""
        for options in ((one, other), (other, one)):
            result = decide(frame(*options))
            assert [item.name for item in result.options] == [one.name, other.name]
            assert [item.rank for item in result.options] == [1, 2]

    def test_a_tie_is_a_tie_as_written(self) -> None:
        """0.1 x 0.3 + 0.2 x 0.3 is 0.3 x 0.3, whatever binary fractions make of it."""
        split = Option(name="z", scores={"a": 0.3, "b": 0.3, "c": 0.0}, reversible=True)
        whole = Option(name="a", scores={"a": 0.0, "b": 0.0, "c": 0.3})
        result = decide(frame(split, whole, a=0.1, b=0.2, c=0.3))
        assert result.options[0].name == "z"
        assert not result.decisive

    def test_when_all_are_blocked_nothing_is_recommended(self) -> None:
        """A block is never averaged away, not even for want of anything else."""
        result = decide(frame(option("a", 1.0, hard_blocks=["consent is missing"])))
        assert result.recommended is None
        assert result.no_admissible_option
        assert not result.decisive
        assert result.flip is None
        assert result.options[0].hard_blocks == ("consent is missing",)


class TestReversibility:
    """Nearly as good and reversible beats best, irreversible and weakly supported."""

    @pytest.mark.parametrize(
        ("score", "confidence", "preferred"),
        [
            pytest.param(0.58, 0.69, True, id="inside the band"),
            pytest.param(0.57, 0.69, False, id="outside the band"),
            pytest.param(0.58, 0.7, False, id="confident enough"),
            pytest.param(0.6, 0.0, False, id="a tie the reversible one wins anyway"),
        ],
    )
    def test_band_and_confidence(self, score: float, confidence: float, preferred: bool) -> None:
        """0.02 is inside the band, 0.7 is confident enough."""
        best = option("best", 0.6, evidence_confidence=confidence)
        safe = option("safe", score, reversible=True)
        result = decide(frame(best, safe))
        assert result.reversibility_preferred is preferred
        assert result.recommended == ("safe" if preferred or score == 0.6 else "best")

    def test_the_nearest_reversible_one_is_taken(self) -> None:
        """Of several inside the band the best ranked one is recommended, never a blocked one."""
        best = option("best", 0.6)
        near = [option(n, s, reversible=True) for n, s in (("a", 0.585), ("b", 0.59))]
        blocked = option("c", 0.6, reversible=True, hard_blocks=["no"])
        assert decide(frame(best, *near, blocked)).recommended == "b"

    def test_what_is_preferred_is_never_decisive(self) -> None:
        """The best option's score is above it, so it cannot be beyond doubt."""
        result = decide(frame(option("best", 0.6), option("safe", 0.59, reversible=True)))
        assert result.reversibility_preferred
        assert not result.decisive


class TestDecisive:
    """No unknown and no wrong estimate could change a decisive answer."""

    @pytest.mark.parametrize(
        ("one", "other", "decisive"),
        [
            pytest.param(option("a", 0.6), option("b", 0.5), True, id="ahead"),
            pytest.param(option("a", 0.5), option("b", 0.5), False, id="tie"),
            pytest.param(option("a", 0.6), option("b"), False, id="the other is unknown"),
            pytest.param(
                option("a", 0.6), option("b", hard_blocks=["no"]), True, id="the unknown is blocked"
            ),
            pytest.param(
                option("a", 0.6), option("b", model_scores={"x": 0.1}), False, id="an estimate"
            ),
            pytest.param(
                option("a", None, model_scores={"x": 1.0}), option("b", 0.1), False, id="its own"
            ),
        ],
    )
    def test_by_evidence_alone(self, one: Option, other: Option, decisive: bool) -> None:
        """The winner's worst must be above every other admissible option's best."""
        assert decide(frame(one, other)).decisive is decisive

    def test_one_option_alone_is_decisive(self) -> None:
        """What has no rival cannot be overtaken."""
        assert decide(frame(option("a"))).decisive

    def test_a_reversible_rival_may_come_into_the_band(self) -> None:
        """Ahead of all it can reach, but not by enough to stay recommended: not decisive."""
        best = Option(name="best", scores={"a": 0.6, "b": 0.6}, evidence_confidence=0.5)
        safe = Option(name="safe", scores={"a": 0.2}, reversible=True)
        result = decide(frame(best, safe, a=0.51, b=0.49))
        (_, high) = ranked(result, "safe").evidence_interval
        assert high < 0.6
        assert result.recommended == "best"
        assert not result.decisive
        assert decide(scored(frame(best, safe, a=0.51, b=0.49), 1, "b", 1.0)).recommended == "safe"


class TestGenerated:
    """Rules over generated frames."""

    def test_blocked_never_stands_above_admissible(self) -> None:
        """Nor is it recommended, whatever it scores."""
        for _, asked in generated(FRAMES, seed=1):
            result = decide(asked)
            flags = [item.admissible for item in result.options]
            assert flags == sorted(flags, reverse=True)
            assert (result.recommended is None) == (not any(flags))
            if result.recommended:
                assert ranked(result, result.recommended).admissible

    def test_decisive_is_never_wrong(self) -> None:
        """With the unknown at 0 or 1 in every combination a decisive winner stays, strictly."""
        seen = dict.fromkeys((True, False), 0)
        for _, asked in generated(FRAMES, seed=2):
            result = decide(asked)
            seen[result.decisive] += 1
            if result.decisive:
                for corner in corners(asked):
                    assert recommended(corner) == result.recommended
        assert min(seen.values()) > FRAMES / 5

    def test_what_is_not_decisive_could_change(self) -> None:
        """Some corner has another option level with the winner, or in the band below it."""
        for _, asked in generated(FRAMES, seed=3):
            result = decide(asked)
            if result.recommended and not result.decisive:
                assert any(_in_doubt(corner, result.recommended) for corner in corners(asked))

    def test_evidence_never_widens_an_interval(self) -> None:
        """One more score known: both intervals stay inside what they were."""
        for rng, asked in generated(FRAMES, seed=4):
            cells = unknowns(asked)
            if cells:
                index, criterion = rng.choice(cells)
                before = ranked(decide(asked), asked.options[index].name)
                known = scored(asked, index, criterion, rng.randint(0, 100) / 100)
                after = ranked(decide(known), asked.options[index].name)
                low, high = before.evidence_interval
                assert low <= after.evidence_interval[0] <= after.evidence_interval[1] <= high
                if criterion in before.missing_criteria:
                    low, high = before.score_interval
                    assert low <= after.score_interval[0] <= after.score_interval[1] <= high
                assert after.coverage >= before.coverage

    def test_order_of_options_and_criteria_changes_nothing(self) -> None:
        """Shuffled, a frame has the same answer in every field."""
        for rng, asked in generated(FRAMES, seed=5):
            options = rng.sample(asked.options, len(asked.options))
            criteria = rng.sample(asked.criteria, len(asked.criteria))
            shuffled = replace(asked, options=tuple(options), criteria=tuple(criteria))
            one, other = decide(asked), decide(shuffled)
            assert one.recommended == other.recommended
            assert one.decisive == other.decisive
            assert [o.name for o in one.options] == [o.name for o in other.options]
            assert [o.score_interval for o in one.options] == [
                o.score_interval for o in other.options
            ]

    def test_names_matter_in_ties_alone(self) -> None:
        """Renamed, the same option wins, unless only the name had decided."""
        for rng, asked in generated(FRAMES, seed=6):
            names = [f"n{i}" for i in range(len(asked.options))]
            rng.shuffle(names)
            options = [replace(o, name=n) for o, n in zip(asked.options, names, strict=True)]
            new_names = dict(zip([o.name for o in asked.options], names, strict=True))
            one, other = decide(asked), decide(replace(asked, options=tuple(options)))
            if one.recommended and new_names[one.recommended] != other.recommended:
                assert other.recommended
                old, new = ranked(one, one.recommended), ranked(other, other.recommended)
                assert old.score_interval == new.score_interval
                assert old.reversible == new.reversible


def _in_doubt(corner: Frame, winner: str) -> bool:
    """Tell whether another option is level with the winner, or near enough to be preferred."""
    items = {item.name: item for item in decide(corner).options if item.admissible}
    mine = items.pop(winner)
    return any(
        other.score_interval[0] >= mine.score_interval[0] - (0.02 if other.reversible else 0) - 1e-9
        for other in items.values()
    )


def trace(**fields: object) -> Evidence:
    """Return evidence that nothing is wrong with, but for the fields given."""
    plain = {
        "id": "e",
        "kind": "observation",
        "status": "active",
        "source": "ci",
        "verified": True,
        **fields,
    }
    return msgspec.convert(plain, Evidence)


class TestEvidence:
    """Ids named as evidence are shown with their standing."""

    @pytest.mark.parametrize(
        ("fields", "flags", "counts"),
        [
            pytest.param({}, (), True, id="nothing wrong"),
            pytest.param({"status": "superseded"}, ("superseded",), True, id="superseded"),
            pytest.param({"status": "deprecated"}, ("deprecated",), True, id="deprecated"),
            pytest.param({"status": "purged"}, ("purged",), False, id="purged"),
            pytest.param({"expired": True}, ("expired",), True, id="expired"),
            pytest.param({"in_conflict": True}, ("in_conflict",), True, id="in conflict"),
            pytest.param({"model_authored": True}, ("model_authored",), False, id="by a model"),
        ],
    )
    def test_flags(self, fields: dict[str, object], flags: tuple[str, ...], counts: bool) -> None:
        """Each thing that limits evidence is flagged; two of them make it count for nothing."""
        backed = option("a", 1.0, evidence=["e"], evidence_confidence=0.8)
        item = decide(frame(backed), {"e": trace(**fields)}).options[0]
        assert item.evidence[0].flags == flags
        assert item.evidence[0].counts is counts
        assert item.evidence_confidence == (0.8 if counts else 0.0)
        assert (item.note is None) is counts

    def test_one_that_counts_is_enough(self) -> None:
        """A model's word beside real evidence changes nothing."""
        backed = option("a", 1.0, evidence=["m", "e"], evidence_confidence=0.8)
        seen = {"m": trace(id="m", model_authored=True), "e": trace()}
        item = decide(frame(backed), seen).options[0]
        assert item.evidence_confidence == 0.8
        assert [shown.counts for shown in item.evidence] == [False, True]

    def test_what_is_not_in_the_ledger_is_an_error(self) -> None:
        """An id that was not found is not passed over."""
        with pytest.raises(NotFoundError) as caught:
            decide(frame(option("a", 1.0, evidence=["e"])))
        assert caught.value.where == "$.options[0].evidence[0]"


def test_the_result_has_the_documented_keys() -> None:
    """It encodes to plain data under stable names."""
    plain = msgspec.to_builtins(decide(frame(option("a", 1.0), option("b", 0.5))))
    assert set(plain) == {
        "question",
        "recommended",
        "no_admissible_option",
        "decisive",
        "reversibility_preferred",
        "options",
        "flip",
    }
    assert set(plain["flip"]) == {"weight", "score"}


BAD = {"question": "q", "criteria": [{"id": "x", "weight": 1}], "options": [{"name": "a"}]}


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        pytest.param(("question",), " ", "$.question", id="blank question"),
        pytest.param(("criteria",), [], "$.criteria", id="no criteria"),
        pytest.param(("criteria", 0, "weight"), -1, "$.criteria[0].weight", id="negative weight"),
        pytest.param(("criteria", 0, "weight"), 0, "$.criteria", id="no weight at all"),
        pytest.param(("criteria", 0, "weight"), "1", "$.criteria[0].weight", id="weight as text"),
        pytest.param(("criteria", 0, "id"), "", "$.criteria[0].id", id="blank criterion"),
        pytest.param(("criteria", 0, "name"), "x", "$.criteria[0].name", id="unknown in criterion"),
        pytest.param(
            ("criteria",),
            [{"id": "x", "weight": 1}, {"id": "x", "weight": 2}],
            "$.criteria[1].id",
            id="criterion twice",
        ),
        pytest.param(("options",), [], "$.options", id="no options"),
        pytest.param(
            ("options",), [{"name": "a"}, {"name": "a"}], "$.options[1].name", id="option twice"
        ),
        pytest.param(("options", 0, "name"), "", "$.options[0].name", id="blank option"),
        pytest.param(("options", 0, "score"), {}, "$.options[0].score", id="unknown in option"),
        pytest.param(
            ("options", 0, "scores"), {"y": 1}, "$.options[0].scores.y", id="unknown criterion"
        ),
        pytest.param(
            ("options", 0, "scores"), {"x": 1.1}, "$.options[0].scores.x", id="score above 1"
        ),
        pytest.param(
            ("options", 0, "scores"), {"x": -0.1}, "$.options[0].scores.x", id="score below 0"
        ),
        pytest.param(
            ("options", 0, "scores"), {"x": True}, "$.options[0].scores[...]", id="score is true"
        ),
        pytest.param(
            ("options", 0, "model_scores"),
            {"y": 1},
            "$.options[0].model_scores.y",
            id="estimate for an unknown criterion",
        ),
        pytest.param(
            ("options", 0, "evidence_confidence"),
            2,
            "$.options[0].evidence_confidence",
            id="confidence above 1",
        ),
        pytest.param(
            ("options", 0, "hard_blocks"), [""], "$.options[0].hard_blocks[0]", id="blank block"
        ),
        pytest.param(
            ("options", 0, "evidence"), ["e", "e"], "$.options[0].evidence[1]", id="evidence twice"
        ),
        pytest.param(("deadline",), 1, "$.deadline", id="unknown at the top"),
    ],
)
def test_a_bad_frame_is_refused_by_path(
    path: tuple[str | int, ...], value: object, where: str
) -> None:
    """What cannot be decided is refused, naming the path to it."""
    plain = msgspec.json.decode(msgspec.json.encode(BAD))
    inner = plain
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(InvalidInputError) as caught:
        decide(read_json(msgspec.json.encode(plain), Frame))
    assert caught.value.where == where


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_are_finite(number: float) -> None:
    """From Python too, a weight or score that is not finite is refused."""
    with pytest.raises(InvalidInputError):
        decide(frame(option("a", 1.0), x=number))
    with pytest.raises(InvalidInputError):
        decide(frame(Option(name="a", scores={"x": number})))


def test_every_corner_of_a_small_frame_is_enumerated() -> None:
    """The generator of corners fills in what evidence does not show, estimates too."""
    asked = frame(option("a"), option("b", model_scores={"x": 0.5}), option("c", 1.0))
    filled = [tuple(o.scores["x"] for o in corner.options) for corner in corners(asked)]
    assert filled == [(a, b, 1.0) for a, b in itertools.product((0.0, 1.0), repeat=2)]
