"""A calibration's file grows by pairs, and says how often intervals hold."""

import math
from pathlib import Path

import pytest

from benchmarks.calibration_pairs import Cell, Pair, Terms, line, report, wilson

TERMS = Terms(device="cpu", load=2, sampling_s=0.5)


def pair(ratio: float = 1.0, *, fresh: bool = True, problem: str = "gelu") -> Pair:
    samples = tuple(1e-4 * (1 + 0.001 * (index % 7)) for index in range(30))
    return Pair(
        problem=problem,
        fresh_processes=fresh,
        spread=0.0,
        batched=False,
        candidate=samples,
        baseline=tuple(ratio * one for one in reversed(samples)),
        shorter_s=0.0,
        longer_s=0.0,
        load=2.5,
        at_s=0.0,
    )


def test_a_cell_goes_on_with_what_its_file_has(tmp_path: Path) -> None:
    path = tmp_path / "cell.jsonl"
    for _ in range(2):
        Cell(path, TERMS).add(pair())
    assert Cell(path).pairs == [pair(), pair()]


def test_a_file_of_other_terms_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cell.jsonl"
    Cell(path, TERMS)
    with pytest.raises(ValueError, match="other terms"):
        Cell(path, Terms(device="cpu", load=0, sampling_s=0.5))


def test_intervals_that_miss_one_are_counted(tmp_path: Path) -> None:
    cell = Cell(tmp_path / "cell.jsonl", TERMS)
    for ratio, fresh in ((1.0, True), (1.0, False), (1.2, True)):
        cell.add(pair(ratio, fresh=fresh))
    text = report(cell)
    assert "2/3   contain 1:  67%" in text
    assert "1/2   contain 1:  50%" in text.split("fresh processes")[1]
    assert "median 2.5" in text


def test_pairs_without_a_figure_are_counted_apart() -> None:
    without = Pair(**{**vars(pair()), "candidate": (-1e-6,) * 30})
    assert "1/1   contain 1: 100%" in line([pair(), without], "all")
    assert "1 without a figure" in line([pair(), without], "all")


def test_the_interval_of_a_share_is_wilson_s() -> None:
    low, high = wilson(285, 300)
    assert (low, high) == pytest.approx((0.9192, 0.9694), abs=1e-3)
    assert math.isclose(wilson(300, 300)[1], 1.0)
