import math
import random

import pytest
import torch

from services.domain.gates import ErrorCheck
from workers.referee.comparison.tolerance import ErrorScale, compare, examine, step_scale, tolerances
from workers.referee.inputs.distributions import DISTRIBUTIONS, drawn
from workers.referee.inputs.float8 import EIGHT_BITS, narrowed, steps_apart, widened
from workers.referee.inputs.fresh_values import mixable
from workers.referee.inputs.resize import cut_along, resized
from workers.referee.inputs.value_kinds import is_code, is_constant, is_continuous

TABLE = tolerances(None)


def draw(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5)).to(dtype)


def shifted(tensor: torch.Tensor, places: int, by: int) -> torch.Tensor:
    """The first elements, which have to be finite and not the largest, further from zero by some numbers."""
    bits = tensor.clone().view(torch.int8)
    bits.view(-1)[:places] += by
    return bits.view(tensor.dtype)


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_every_number_is_one_step_from_the_next(dtype: torch.dtype) -> None:
    every = torch.arange(256, dtype=torch.uint8).view(dtype)
    finite = every[torch.isfinite(every.float())]
    order = finite[finite.float().argsort(stable=True)]
    apart = steps_apart(order[1:], order[:-1])
    assert int(apart.max()) == 1
    assert int((apart == 0).sum()) == 1, "only zero and its negative are one number"


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_few_results_may_be_the_next_number_and_many_not(dtype: torch.dtype) -> None:
    expected = draw(dtype, 256, 256)
    assert compare(expected.clone(), expected, ErrorScale(), TABLE) is None
    assert compare(shifted(expected, 4, 1), expected, ErrorScale(), TABLE) is None
    found = examine(shifted(expected, 400, 1), expected, ErrorScale(), TABLE)
    assert found.mismatch is not None
    assert found.account is not None
    assert found.account.check is ErrorCheck.STEPS
    assert compare(shifted(expected, 1, 3), expected, ErrorScale(), TABLE) is not None


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_zeros_and_a_missing_nan_are_wrong(dtype: torch.dtype) -> None:
    expected = draw(dtype, 64, 64)
    assert compare(torch.zeros_like(expected), expected, ErrorScale(), TABLE) is not None
    with_nan = expected.clone()
    with_nan[3, 3] = math.nan
    assert compare(expected, with_nan, ErrorScale(), TABLE) is not None
    assert compare(with_nan, expected, ErrorScale(), TABLE) is not None
    assert compare(with_nan.clone(), with_nan, ErrorScale(), TABLE) is None


def test_an_infinity_is_no_step_from_the_largest_number() -> None:
    expected = draw(torch.float8_e5m2, 64, 64)
    expected[0, 0] = torch.finfo(torch.float8_e5m2).max
    other = expected.clone()
    other[0, 0] = math.inf
    assert compare(other, expected, ErrorScale(), TABLE) is not None


def test_what_a_rough_reference_does_itself_is_allowed() -> None:
    exact = torch.randn(256, 256, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    rough, own = exact.bfloat16().to(EIGHT_BITS[0]), exact.to(EIGHT_BITS[0])
    share = step_scale(rough, own)
    assert share > 1e-3
    assert compare(own, rough, ErrorScale(), TABLE) is not None
    assert compare(own, rough, ErrorScale(steps=share), TABLE) is None


def test_a_given_tolerance_is_one_of_values() -> None:
    table = tolerances({"float8_e4m3fn": (0.01, 0.2)})
    expected = draw(torch.float8_e4m3fn, 64, 64)
    assert compare(shifted(expected, 300, 1), expected, ErrorScale(), table) is None


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_draws_change_them_and_stay_within_their_range(dtype: torch.dtype) -> None:
    given = draw(dtype, 64, 64)
    for distribution in DISTRIBUTIONS[1:]:
        (changed,) = drawn([given], distribution)
        assert changed.dtype is dtype
        assert not torch.equal(widened(changed), widened(given)), distribution.name
        numbers = widened(changed)
        assert float((numbers == 0).float().mean()) < 0.5, distribution.name
        if distribution.finite:
            assert bool(torch.isfinite(numbers).all()), distribution.name


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_they_are_general_numbers_that_are_cut_but_not_mixed(dtype: torch.dtype) -> None:
    given = draw(dtype, 512, 512)
    assert is_continuous(given)
    assert not is_code(given)
    assert is_constant(torch.ones(64).to(dtype))
    assert mixable([[given], [draw(dtype, 512, 512)]]) == [False]
    cut = cut_along([given], last=False, generator=random.Random(0))
    grown = resized([given], 700, last=False)
    assert cut is not None
    assert grown is not None
    assert (cut[0].dtype, grown[0].dtype, grown[0].shape) == (dtype, dtype, (700, 512))


def test_numbers_beyond_the_range_are_scaled_into_it() -> None:
    numbers = torch.randn(1000) * 1e4
    found = narrowed(numbers, torch.float8_e4m3fn).float()
    assert float((found.abs() == 448.0).float().mean()) < 0.5
    assert torch.equal(found.sign(), numbers.sign())
