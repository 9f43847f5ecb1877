import math
import random

import pytest

from workers.referee.timing.statistics import (
    is_stable,
    latency,
    median_and_gap,
    paired_ratio,
    quantile,
    rank_of_interval,
    relative_width,
)


def test_a_latency_is_in_microseconds_with_its_interval_around_the_median() -> None:
    figure = latency([1e-3, 1.1e-3, 0.9e-3, 1.05e-3, 0.95e-3])
    assert figure.median_us == pytest.approx(1000.0)
    assert figure.samples == 5
    assert figure.ci95_us[0] <= figure.median_us <= figure.ci95_us[1]
    assert figure.p10_us < figure.median_us < figure.p90_us


def test_one_sample_is_enough_for_a_figure() -> None:
    assert list(latency([2e-3]).ci95_us) == pytest.approx([2000.0, 2000.0])


def test_a_speedup_above_one_is_faster_than_the_baseline() -> None:
    ratio = paired_ratio([2.0, 2.2, 1.9, 2.1], [1.0, 1.1, 0.95, 1.05])
    assert ratio.value == pytest.approx(2.0, rel=0.02)
    assert ratio.ci95[0] <= ratio.value <= ratio.ci95[1]


def test_what_slows_both_halves_of_a_pair_leaves_the_speedup_as_it_was() -> None:
    moods = [1.0] * 8 + [1.9] * 5 + [1.3] * 6
    candidate = [mood * (1.0 + 0.01 * (index % 3)) for index, mood in enumerate(moods)]
    baseline = [1.5 * mood * (1.0 + 0.01 * (index % 2)) for index, mood in enumerate(moods)]
    ratio = paired_ratio(baseline, candidate)
    assert ratio.value == pytest.approx(1.5, rel=0.02)
    assert ratio.ci95[1] - ratio.ci95[0] < 0.05


def test_moods_that_last_make_an_interval_wider_than_the_same_samples_shuffled() -> None:
    moody = [level for level in (1.0, 1.3, 1.1, 1.4, 1.05, 1.35) for _ in range(20)]
    shuffled = [moody[(index * 49) % len(moody)] for index in range(len(moody))]
    ones = [1.0] * len(moody)

    def width(samples: list[float]) -> float:
        low, high = paired_ratio(samples, ones).ci95
        return high - low

    assert sorted(shuffled) == sorted(moody)
    assert width(moody) > 1.5 * width(shuffled)


def test_what_two_processes_differ_by_makes_an_interval_wider() -> None:
    one = paired_ratio([2.0] * 12, [1.0] * 12)
    other = paired_ratio([2.0] * 12, [1.0] * 12, spread=0.01)
    assert one.ci95 == (2.0, 2.0)
    assert other.value == 2.0
    assert list(other.ci95) == pytest.approx([2.0 * 0.9806, 2.0 * 1.0198], rel=1e-4)


def test_a_short_call_on_a_busy_machine_is_stable_where_its_moods_last() -> None:
    # What is left of a call after the protocol's cost was taken off: nothing for a while, then 0.1 ms.
    taken = [1e-7] * 20 + [9e-5] * 44
    low, high = latency(taken).ci95_us
    assert low < 1.0
    assert high > 80.0
    assert is_stable(taken)
    assert not is_stable([1e-7, 1e-4] * 20)


def test_the_same_samples_give_the_same_interval() -> None:
    samples = [1.0 + 0.01 * index for index in range(30)]
    assert latency(samples) == latency(samples)


def test_the_interval_narrows_with_more_samples() -> None:
    noisy = [1.0, 1.2, 0.8, 1.1, 0.9] * 3
    assert relative_width(noisy * 8) < relative_width(noisy)


def test_quantiles_are_interpolated() -> None:
    assert quantile([0.0, 10.0], 0.25) == pytest.approx(2.5)


def test_the_gap_between_two_medians_has_an_interval_of_its_own() -> None:
    shorter = [1.0 + 0.01 * (index % 5) for index in range(50)]
    alone, gap = median_and_gap([value + 2.0 for value in shorter], shorter)
    assert alone.value == pytest.approx(1.02)
    assert gap.value == pytest.approx(2.0)
    assert gap.ci95[0] <= 2.0 <= gap.ci95[1]
    assert gap.ci95[1] - gap.ci95[0] < 0.1


@pytest.mark.parametrize("count", [6, 11, 16, 60, 400])
def test_ranks_bound_the_median_with_the_chance_that_they_say(count: int) -> None:
    def chance_below(rank: int) -> float:
        return float(sum(math.comb(count, below) for below in range(rank)) / 2**count)

    rank = rank_of_interval(count)
    assert chance_below(rank + 1) <= 0.025 < chance_below(rank + 2)


def test_the_rank_of_many_samples_follows_that_of_few() -> None:
    assert abs(rank_of_interval(501) - rank_of_interval(500)) <= 1


def test_intervals_of_a_dozen_samples_hold() -> None:
    """Of 150 intervals that hold 98.8 % of the time 135 do: fewer with a chance below 1e-9."""
    generator = random.Random(3)
    hits = 0
    for _ in range(150):
        candidate, baseline = ([generator.lognormvariate(0.0, 0.6) for _ in range(11)] for _ in range(2))
        low, high = paired_ratio(baseline, candidate).ci95
        hits += low <= 1.0 <= high
    assert hits >= 135
