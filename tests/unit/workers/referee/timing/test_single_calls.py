"""What handing the outputs over takes beyond the baseline's is part of a call, and nothing is clamped."""

import pytest

from workers.referee.timing.single_calls import Samples, _count_tails

TAIL_S = 50e-6


def counted(candidate_tails: list[float]) -> list[float]:
    samples = Samples(
        candidate=[1e-4] * len(candidate_tails),
        baseline=[1e-3] * 20,
        candidate_fetch=candidate_tails,
        baseline_fetch=[TAIL_S * (0.9 + 0.01 * index) for index in range(20)],
    )
    _count_tails(samples)
    return samples.candidate


def test_a_usual_tail_costs_nothing() -> None:
    assert counted([TAIL_S] * 5) == [1e-4] * 5


def test_work_put_off_until_the_outputs_are_handed_over_is_counted() -> None:
    assert counted([TAIL_S + 1e-3] * 5) == pytest.approx([1.1e-3] * 5, rel=0.02)


def test_one_lazy_call_among_many_is_counted_too() -> None:
    assert max(counted([TAIL_S] * 4 + [1e-2])) > 9e-3
