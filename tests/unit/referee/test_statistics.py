import pytest

from workers.referee.statistics import latency, paired_ratio, quantile, relative_width, unpaired_ratio


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


def test_a_speedup_from_more_samples_of_one_side_has_an_interval_as_wide_as_both() -> None:
    few, many = [2.0, 2.2, 1.9, 2.1], [1.0, 1.1, 0.95, 1.05] * 5
    ratio = unpaired_ratio(few, many)
    assert ratio.value == pytest.approx(2.0, rel=0.02)
    assert ratio.ci95[0] < ratio.value < ratio.ci95[1]
    certain = unpaired_ratio([2.05] * 4, many)
    assert certain.ci95[1] - certain.ci95[0] < ratio.ci95[1] - ratio.ci95[0]


def test_the_same_samples_give_the_same_interval() -> None:
    samples = [1.0 + 0.01 * index for index in range(30)]
    assert latency(samples) == latency(samples)


def test_the_interval_narrows_with_more_samples() -> None:
    noisy = [1.0, 1.2, 0.8, 1.1, 0.9] * 3
    assert relative_width(noisy * 8) < relative_width(noisy)


def test_quantiles_are_interpolated() -> None:
    assert quantile([0.0, 10.0], 0.25) == pytest.approx(2.5)
