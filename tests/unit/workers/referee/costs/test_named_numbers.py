"""Numbers that a model names come among the values that a kernel is tried on."""

from __future__ import annotations

import torch

from services.domain.problems import Operator, ValueRef
from workers.referee.costs.named_numbers import named_numbers
from workers.referee.inputs.distributions import changes, drawn, with_mark, with_numbers
from workers.referee.inputs.value_kinds import may_repeat

X = ValueRef(ref="x")


def operator(target: str, *arguments: object, **keywords: object) -> Operator:
    return Operator(
        target=target,
        arguments=(X, *arguments),  # type: ignore[arg-type]
        keywords=tuple(keywords.items()),  # type: ignore[arg-type]
        outputs=(),
    )


def test_a_loss_ignores_an_index_that_nobody_wrote_down() -> None:
    assert named_numbers([operator("aten.cross_entropy_loss.default", X)]) == ((), (-100,))
    assert named_numbers([operator("aten.cross_entropy_loss.default", X, ignore_index=7)]) == ((), (7,))


def test_bounds_of_any_operator_and_those_that_are_its_own() -> None:
    assert named_numbers([operator("aten.histc.default", 64, -3.0, 3.0)]) == ((-3.0, 3.0), ())
    assert named_numbers([operator("aten.hardswish.default")]) == ((-3.0, 3.0), ())


def test_bounds_and_what_is_compared_with() -> None:
    graph = [
        operator("aten.clamp.default", -1.5, 2),
        operator("aten.gt.Scalar", 0.25),
        operator("aten.ne.Scalar", -100),
        operator("aten.mul.Tensor", X),
        operator("aten.clamp.default", None, float("inf")),
        operator("mine.clamp.default", 5.0),
    ]
    assert named_numbers(graph) == ((-1.5, 2.0, 0.25, -100.0), (-100,))


def test_multiples_of_a_divisor_whose_quotients_are_rounded() -> None:
    bounds, marks = named_numbers([operator("aten.floor_divide.default", 0.5)])
    assert (bounds, marks) == ((1.5, 2.5, 3.0, 4.5, -1.5, -2.5), ())
    assert named_numbers([operator("aten.div.Tensor_mode", 0.5, rounding_mode="floor")])[0] == bounds
    assert named_numbers([operator("aten.div.Tensor", 0.5)]) == ((), ())


def test_they_come_among_general_numbers() -> None:
    (changed,) = drawn([torch.randn(64, 64)], with_numbers([0.25, 2.0]))
    assert 0.02 < float((changed == 0.25).double().mean()) < 0.12
    assert 0.02 < float((changed == 2.0).double().mean()) < 0.12


def test_an_index_comes_among_labels() -> None:
    labels = torch.tensor([3, 1, 31_999, 8, 15_000, 22])
    assert may_repeat(labels)
    assert changes([labels], with_mark(-100))
    (changed,) = drawn([labels], with_mark(-100))
    assert int((changed == -100).sum()) >= 1
    assert bool(((changed == labels) | (changed == -100)).all())


def test_offsets_and_permutations_stay_as_they_are() -> None:
    for tensor in (torch.arange(0, 65, 8), torch.randperm(64), torch.tensor([1, 2])):
        assert not may_repeat(tensor)
