"""The benchmarks' own machinery: listing, tables, medians, files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.bench import __main__ as bench
from tests.bench.measuring import interleaved, percentile, process


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> str:
    """Make one benchmark that gives a row for each size, and return its name."""

    def run(sizes: tuple[int, ...]) -> list[dict[str, object]]:
        return [{"size": size, "ratio": 1 / 3, "met": size < 10} for size in sizes]

    monkeypatch.setitem(sys.modules, "tests.bench.toy", SimpleNamespace(run=run))
    monkeypatch.setattr(bench, "benchmarks", lambda: {"toy": "Measures nothing."})
    return "toy"


def test_help_lists_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` names each benchmark and says what it measures, importing none."""
    with pytest.raises(SystemExit, match="0"):
        bench.main(["--help"])
    shown = capsys.readouterr().out
    for name, summary in bench.benchmarks().items():
        assert f"  {name} " in shown
        assert summary in shown
        assert summary.endswith(".")


def test_unknown_benchmark_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is no benchmark's is refused before anything runs."""
    with pytest.raises(SystemExit, match="2"):
        bench.main(["nonesuch"])
    assert "no such benchmark: nonesuch" in capsys.readouterr().err


def test_a_run_prints_a_table_and_writes_json(
    toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run prints aligned rows, and writes them with the date and the machine."""
    assert bench.main([toy, "--sizes", "5,1_000", "--json", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "toy: Measures nothing.",
        "size   ratio   met",
        "5      0.3333  yes",
        "1,000  0.3333  NO",
    ]
    written = json.loads((tmp_path / "toy.json").read_text("utf-8"))
    assert written["rows"] == [
        {"size": 5, "ratio": 1 / 3, "met": True},
        {"size": 1000, "ratio": 1 / 3, "met": False},
    ]
    assert written["machine"].keys() == {"system", "cores", "python", "git"}


def test_a_table_keeps_columns_that_some_rows_lack() -> None:
    """A column appears once, where it is first seen; a row without it has a blank."""
    assert bench.table([{"a": "x"}, {"a": "y", "b": 2}]) == "a  b\nx\ny  2\n"


def test_actions_take_turns_after_one_warm_up() -> None:
    """Every round runs each action once, and the first round is not counted."""
    calls: list[str] = []
    medians = interleaved(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3
    )
    assert calls == ["a", "b"] * 4
    assert medians.keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        pytest.param(0.5, 3, id="median"),
        pytest.param(0.95, 5, id="95 of 100"),
        pytest.param(0.0, 1, id="least"),
        pytest.param(1.0, 5, id="most"),
    ],
)
def test_percentile_is_a_value_that_was_measured(share: float, expected: float) -> None:
    """A percentile is one of the values, never between two."""
    assert percentile([5, 1, 4, 2, 3], share) == expected


def test_a_failing_process_stops_the_benchmark() -> None:
    """A command that fails is no measurement: its words are shown."""
    with pytest.raises(RuntimeError, match="exit 3"):
        process("-c", "raise SystemExit(3)")()
