"""Draws and sizes stay within what a problem promises."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from services.domain.constraints import parse
from workers.referee.inputs.constraints import Limits, is_same
from workers.referee.inputs.distributions import BIG, DISTRIBUTIONS, OWN, drawn
from workers.referee.inputs.resize import cut_along, legal_size, resized, resized_at

NAMES = ("x", "mask", "steps")


def limits(**value: Any) -> Limits:
    return Limits(constraints=parse(value), names=NAMES)


def call() -> list[Any]:
    return [torch.rand(128, 96), torch.rand(96) < 0.5, 3]


@pytest.mark.parametrize(
    ("new", "step", "legal"),
    [
        (67, 64, 64),
        (3, 64, 64),
        (0, 64, 0),
        (129, 64, 192),
        (192, 64, 192),
        (67, 128, None),
        (67, 0, None),
        (67, 2, 66),
    ],
)
def test_a_size_is_the_next_legal_one(new: int, step: int, legal: int | None) -> None:
    assert legal_size(new, 128, [(0, 0)], {(0, 0): step}) == legal


def test_all_tensors_of_a_size_have_a_legal_one() -> None:
    steps = {(0, 0): 4, (1, 0): 6}
    found = resized([torch.rand(48, 3), torch.rand(48), torch.rand(5)], 31, last=False, steps=steps)
    assert found is not None
    assert [one.shape[0] for one in found] == [24, 24, 5]
    assert resized([torch.rand(48, 3)], 31, last=False, steps={(0, 0): 0}) is None
    assert resized([torch.rand(48, 3), torch.rand(48)], 31, last=False, steps={(1, 0): 0}) is None


def test_cuts_and_growth_keep_to_steps() -> None:
    tensors = [torch.rand(128, 96, 64)]
    steps = limits(x={"shape": {0: "multiple of 64", 1: "even", -1: "fixed"}}).steps([*tensors, None, 3])
    assert steps == {(0, 0): 64, (0, 1): 2, (0, 2): 0}
    cut = cut_along(tensors, last=False, generator=random.Random(1), steps=steps)
    assert cut is not None
    assert cut[0].shape == (64, 96, 64)
    assert cut_along(tensors, last=True, generator=random.Random(1), steps=steps) is None
    middle = resized_at(tensors, [(0, 1)], 67, steps=steps)
    assert middle is not None
    assert middle[0].shape[1] % 2 == 0
    assert middle[0].shape[1] < 96
    grown = resized(tensors, 150, last=False, steps=steps)
    assert grown is not None
    assert grown[0].shape[0] == 192


def test_the_tensors_of_a_fixed_argument_have_fixed_sizes() -> None:
    assert limits(mask="fixed").steps(call()) == {(1, 0): 0}
    assert limits(steps="fixed").steps(call()) == {}


def test_draws_stay_within_a_range() -> None:
    own = call()
    for kind in DISTRIBUTIONS:
        (x, *_) = limits(x={"range": (0.0, 1.0)}).kept(own, drawn(own, kind))
        assert x.shape == own[0].shape
        assert 0.0 <= float(x.min()) <= float(x.max()) <= 1.0, kind.name


def test_open_and_whole_ranges() -> None:
    found = limits(x={"range": (None, 2.5)}).kept([torch.zeros(3)], [torch.tensor([-9.0, 2.0, 9.0])])
    assert found[0].tolist() == [-9.0, 2.0, 2.5]
    whole = limits(x={"range": (0.5, 2.5)}).kept([torch.ones(3)], [torch.tensor([-9, 2, 9])])
    assert whole[0].tolist() == [1, 2, 2]
    assert whole[0].dtype is torch.int64
    assert limits(steps={"range": (2, 4)}).kept(call(), [*call()[:2], 6])[2] == 4
    assert limits(steps={"range": (2, 4)}).kept(call(), [*call()[:2], 1.5])[2] == 2.0


def test_layouts_survive_a_range() -> None:
    base = torch.rand(4, 1).expand(4, 8)
    (x,) = limits(x={"range": (0.0, 0.5)}).kept([base], [base])
    assert x.stride() == base.stride()
    assert float(x.max()) <= 0.5


def test_fixed_arguments_are_as_they_were_drawn() -> None:
    own, other = call(), [torch.rand(128, 96), torch.zeros(96, dtype=torch.bool), 5]
    kept = limits(mask="fixed", steps="fixed").kept(own, other)
    assert kept[0] is other[0]
    assert kept[1] is own[1]
    assert kept[2] == 3
    assert limits(mask="fixed").excludes(own, other)
    assert not limits(mask="fixed").excludes(own, [other[0], own[1], 5])
    assert not Limits().excludes(own, other)


def test_how_much_was_moved() -> None:
    bounded, own = limits(x={"range": (0.0, 1.0)}), call()
    changed = drawn(own, BIG)
    assert bounded.moved_share(changed, bounded.kept(own, changed)) > 0.9
    assert bounded.moved_share(own, bounded.kept(own, drawn(own, OWN))) == 0.0


def test_other_sizes_that_break_a_promise_are_left_out() -> None:
    own = call()
    assert Limits().fitted(own, [own[0] * 9, own[1][:5], 3]) is not None
    assert limits(mask="fixed").fitted(own, [own[0], own[1][:5], 3]) is None
    assert limits(x={"shape": {0: "multiple of 64"}}).fitted(own, [own[0][:63], own[1], 3]) is None
    bounded = limits(x={"range": (0.5, 1.0)})
    assert bounded.fitted(own, [own[0][:5] / 2, own[1], 3], may_move=False) is None
    fitted = bounded.fitted(own, [own[0][:5] / 2, own[1], 3])
    assert fitted is not None
    assert float(fitted[0].min()) == 0.5
    assert bounded.fitted([torch.arange(3)], [torch.arange(9)], may_move=True) is None


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"x": {"shape": {0: "multiple of 100"}}}, "dimension 0 of `x` is 128, no multiple of 100"),
        ({"x": {"shape": {2: "even"}}}, "`x` has 2 dimensions, and none is number 2"),
        ({"x": {"range": (0.0, 0.5)}}, "which its range does not"),
        ({"x": "fixed"}, "`x` is fixed, and its values differ"),
        ({"mask": {"range": (0, 1)}}, "no order"),
        ({"steps": {"shape": {0: "even"}}}, "is no tensor"),
        ({"steps": {"range": (0, 2)}}, "`steps` holds 3"),
    ],
)
def test_what_contradicts_the_inputs_is_told(value: dict[str, Any], told: str) -> None:
    first, second = call(), call()
    found = limits(**value).contradiction(first, first, second)
    assert found is not None
    assert told in found


def test_what_agrees_with_the_inputs_is_not_told() -> None:
    first = call()
    second = [torch.rand(128, 96), *first[1:]]
    found = limits(
        x={"shape": {0: "multiple of 64", 1: "even", -1: "fixed"}, "range": (0.0, 1.0)}, mask="fixed", steps="fixed"
    )
    assert found.contradiction(first, first, second) is None
    smaller = [[torch.rand(64, 96), *first[1:]] for _ in range(2)]
    assert found.contradiction(first, *smaller) is None
    other = [[torch.rand(64, 90), *first[1:]] for _ in range(2)]
    assert "[128, 96] in one input set and [64, 90] in another" in str(found.contradiction(first, *other))


def test_an_end_that_a_dtype_rounds_is_within() -> None:
    x = [torch.tensor([0.1, 0.2], dtype=torch.bfloat16)]
    assert limits(x={"range": (0.1, 0.2)}).contradiction(x, x, x) is None
    assert "NaN" in str(limits(x={"range": (0, 1)}).contradiction(x, [torch.tensor([torch.nan])], x))


def test_sparse_arguments_are_fixed_at_most() -> None:
    sparse = [torch.eye(4).to_sparse()]
    assert limits(x="fixed").contradiction(sparse, sparse, [torch.eye(4).to_sparse()]) is None
    assert "is sparse" in str(limits(x={"range": (0, 1)}).contradiction(sparse, sparse, sparse))


def test_nested_arguments_are_compared() -> None:
    assert is_same([{"a": torch.ones(3)}, (1, "sum")], [{"a": torch.ones(3)}, (1, "sum")])
    assert not is_same([{"a": torch.ones(3)}], [{"b": torch.ones(3)}])
    assert not is_same(1, 1.0)
    assert not is_same(torch.ones(3), torch.ones(3, dtype=torch.float64))
