"""Values of timed calls: new every time, plausible, and mixed only where any place could hold any value."""

import itertools
import random

import pytest
import torch

from workers.referee.inputs.fresh_values import DRAWN_BYTES, FreshValues, mixable

ROWS, COLUMNS = 384, 768
"""A little more than what is drawn for every call."""


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(3)


def values_of(*draws: torch.Tensor) -> FreshValues:
    return FreshValues([[draw] for draw in draws], lambda: [torch.randn_like(draws[0])], random.Random(5))


def test_small_inputs_are_drawn_for_every_call() -> None:
    small = torch.randn(DRAWN_BYTES // 4)
    values = values_of(small, small.clone())
    assert values.always_drawn
    assert all(values.next().fresh for _ in range(5))


def test_large_inputs_are_mixtures_with_some_draws_among_them() -> None:
    values = values_of(*(torch.randn(ROWS, COLUMNS) for _ in range(3)))
    assert not values.always_drawn
    kinds = [values.next().fresh for _ in range(60)]
    assert 3 <= sum(kinds) <= 25


def test_a_mixture_stays_in_the_draws_range_and_keeps_most_of_their_spread() -> None:
    draws = [torch.rand(ROWS, COLUMNS) for _ in range(3)]
    mixed = values_of(*draws).next(fresh=False).tensors[0]
    assert mixed.shape == draws[0].shape
    assert 0.0 <= float(mixed.min()) < float(mixed.max()) <= 1.0
    assert float(mixed.mean()) == pytest.approx(0.5, abs=0.01)
    assert 0.8 < float(mixed.std() / draws[0].std()) < 1.0


def test_a_mixture_is_no_multiple_of_a_draw_and_no_sum_of_two() -> None:
    draws = [torch.randn(ROWS, COLUMNS) for _ in range(3)]
    mixed = values_of(*draws).next(fresh=False).tensors[0].reshape(-1)
    columns = torch.stack([draw.reshape(-1) for draw in draws], dim=1)
    fitted = columns @ torch.linalg.lstsq(columns, mixed.unsqueeze(1)).solution
    assert float((mixed - fitted.squeeze(1)).norm() / mixed.norm()) > 0.9


def test_no_two_calls_have_a_window_in_common() -> None:
    values = values_of(*(torch.randn(ROWS, COLUMNS) for _ in range(3)))
    first = values.tensors(values.mixture())[0]
    second = values.tensors(values.mixture())[0]
    assert float((first == second).double().mean()) < 0.001


def test_a_mixture_can_be_made_again_to_judge_what_came_of_it() -> None:
    values = values_of(*(torch.randn(ROWS, COLUMNS) for _ in range(2)))
    mixture = values.mixture()
    target = torch.empty(ROWS, COLUMNS)
    values.fill(mixture, [target])
    assert torch.equal(target, values.tensors(mixture)[0])


def test_one_draw_is_enough_to_mix() -> None:
    values = values_of(torch.randn(ROWS, COLUMNS))
    first = values.next(fresh=False).tensors[0].clone()
    assert not torch.equal(first, values.next(fresh=False).tensors[0])


def test_whole_numbers_come_from_a_draw_and_change_with_each_that_is_made() -> None:
    def draw() -> list[torch.Tensor]:
        return [torch.randn(ROWS, COLUMNS), torch.randint(0, 100, (8 * ROWS, COLUMNS))]

    values = FreshValues([draw() for _ in range(3)], draw, random.Random(5))
    assert values.mixable == [True, False]
    mixed = values.next(fresh=False)
    assert torch.equal(mixed.tensors[1], values.pool[mixed.draw][1])
    before = [tensors[1] for tensors in values.pool]
    drawn = values.drawn()
    assert any(tensors[1] is drawn.tensors[1] for tensors in values.pool)
    assert sum(tensors[1] is old for tensors, old in zip(values.pool, before, strict=True)) == 2


def test_every_call_is_drawn_where_much_cannot_be_mixed_and_drawing_is_quick() -> None:
    def draw() -> list[torch.Tensor]:
        return [torch.randn(ROWS, COLUMNS), torch.randint(0, 100, (ROWS, COLUMNS))]

    values = FreshValues([draw() for _ in range(3)], draw, random.Random(5))
    assert values.always_drawn
    seen = [values.next().tensors[1] for _ in range(8)]
    assert not any(torch.equal(one, other) for one, other in itertools.combinations(seen, 2))


def test_where_nothing_can_be_mixed_every_call_is_drawn() -> None:
    def draw() -> list[torch.Tensor]:
        return [torch.randint(0, 100, (2 * ROWS, COLUMNS))]

    values = FreshValues([draw(), draw()], draw, random.Random(5))
    assert values.always_drawn
    assert values.next().fresh


HEIGHT, WIDTH = 256, 512
PLAIN = {
    "normals": lambda: torch.randn(HEIGHT, WIDTH),
    "uniform, four dimensions": lambda: torch.rand(8, 16, 64, 64),
    "one dimension": lambda: torch.randn(HEIGHT * WIDTH),
    "few rows": lambda: torch.randn(4, 100_000),
    "lognormal": lambda: torch.randn(HEIGHT, WIDTH).exp(),
    "bfloat16": lambda: torch.randn(HEIGHT, WIDTH).bfloat16(),
}
STRUCTURED = {
    "triangular": lambda: torch.rand(HEIGHT, HEIGHT).triu(),
    "symmetric": lambda: (lambda half: half + half.T)(torch.rand(HEIGHT, HEIGHT)),
    "rows of probabilities": lambda: torch.randn(HEIGHT, WIDTH).softmax(-1),
    "columns of probabilities": lambda: torch.randn(HEIGHT, WIDTH).softmax(0),
    "rows of length one": lambda: torch.nn.functional.normalize(torch.randn(HEIGHT, WIDTH), dim=-1),
    "channels of length one": lambda: torch.nn.functional.normalize(torch.randn(8, 64, 32, 32), dim=1),
    "sorted": lambda: torch.rand(HEIGHT, WIDTH).sort(-1).values,
    "running sums": lambda: torch.rand(HEIGHT, WIDTH).cumsum(-1),
    "rows of different size": lambda: torch.rand(HEIGHT, WIDTH) * torch.linspace(0.1, 1.0, HEIGHT)[:, None],
    "a fixed grid": lambda: torch.linspace(0, 1, HEIGHT * WIDTH),
    "mostly zeros": lambda: torch.randn(HEIGHT, WIDTH).relu(),
    "masks": lambda: torch.rand(HEIGHT, WIDTH) > 0.5,
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_draws_can_be_mixed(name: str) -> None:
    assert mixable([[PLAIN[name]()] for _ in range(3)]) == [True]


@pytest.mark.parametrize("name", STRUCTURED)
def test_a_structure_is_left_as_the_problem_made_it(name: str) -> None:
    assert mixable([[STRUCTURED[name]()] for _ in range(3)]) == [False]
