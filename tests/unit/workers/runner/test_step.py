"""A step whose graph is used otherwise than usual."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workers.runner.step import DENSE, GraphUse, ModelStep, StepPlan

PLAN = StepPlan(inputs=(0, 1), parameters=("weight",), outputs=(0, 1))


class Scaled(torch.nn.Module):
    """Two outputs; its graph keeps the first input and the weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(1.0, 5.0))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * self.weight + y, 3.0 * y


def used(use: GraphUse, model: torch.nn.Module | None = None) -> tuple[Any, tuple[torch.Tensor, ...]]:
    return ModelStep(model or Scaled(), PLAN).used(use, *ARGUMENTS)


X, Y, G, H = (torch.randn(3, 4) for _ in range(4))
ARGUMENTS = (X, Y, G, H, DENSE)
OF_X, OF_Y, OF_WEIGHT = G * torch.arange(1.0, 5.0), G + 3.0 * H, (G * X).sum(0)


def test_a_step_on_results_of_other_operations_is_the_usual_one() -> None:
    (first, second), gradients = used(GraphUse())
    assert torch.equal(first, X * torch.arange(1.0, 5.0) + Y)
    assert torch.equal(second, 3.0 * Y)
    for found, wanted in zip(gradients, (OF_X, OF_Y, OF_WEIGHT), strict=True):
        torch.testing.assert_close(found, wanted)


def test_what_is_in_the_results_after_the_backward_is_put_in_the_arguments() -> None:
    class Over(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.x = x.detach()
            return 2.0 * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            ctx.x.copy_(2.0 * grad)
            return 2.0 * grad

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Over.apply(x)  # type: ignore[no-any-return, no-untyped-call]

    plan, x = StepPlan(inputs=(0,), parameters=(), outputs=(0,)), torch.ones(3)
    with torch.no_grad():
        ModelStep(Model(), plan).used(GraphUse(), x, torch.ones(3), DENSE)
        assert x.tolist() == [1.0] * 3
        ModelStep(Model(), plan).used(GraphUse(looked_at=True), x, torch.ones(3), DENSE)
    assert x.tolist() == [2.0] * 3


def test_gradients_that_are_not_asked_for_are_zeros_and_require_none() -> None:
    seen = list[tuple[bool, bool, bool]]()

    class Seeing(Scaled):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            seen.append((x.requires_grad, y.requires_grad, self.weight.requires_grad))
            return super().forward(x, y)

    model = Seeing()
    _, gradients = used(GraphUse(gradients=(1,)), model)
    torch.testing.assert_close(gradients[1], OF_Y)
    assert not gradients[0].any()
    assert not gradients[2].any()
    (first, _), gradients = used(GraphUse(gradients=()), model)
    assert torch.equal(first, X * torch.arange(1.0, 5.0) + Y)
    assert not any(map(torch.any, gradients))
    assert seen == [(False, True, False), (False, False, True)]
    assert model.weight.requires_grad


def test_outputs_that_are_not_used_have_no_cotangent() -> None:
    _, (of_x, of_y, of_weight) = used(GraphUse(cotangents=(1,)))
    assert not of_x.any()
    torch.testing.assert_close(of_y, 3.0 * H)
    assert not of_weight.any()


def test_two_inputs_that_are_one_have_the_gradient_of_both() -> None:
    (first, _), gradients = used(GraphUse(same=(0, 1)))
    assert torch.equal(first, X * torch.arange(1.0, 5.0) + X)
    torch.testing.assert_close(gradients[0], OF_X + OF_Y)
    assert torch.equal(gradients[0], gradients[1])
    assert gradients[0].data_ptr() != gradients[1].data_ptr()


def test_what_a_graph_needs_may_not_be_overwritten_and_the_rest_may() -> None:
    before = X.clone()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        used(GraphUse(overwritten=(0,)))
    assert torch.equal(X, before)
    (first, _), gradients = used(GraphUse(overwritten=(1,), overwritten_outputs=(0, 1)))
    assert torch.equal(first, X * torch.arange(1.0, 5.0) + Y)
    torch.testing.assert_close(gradients[1], OF_Y)


def test_nobody_holds_the_arguments_of_a_forward_once_it_has_ended() -> None:
    class ByAddress(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.address, ctx.like = x.data_ptr(), torch.empty_like(x)
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, *_grads: torch.Tensor) -> torch.Tensor:
            import ctypes

            ctypes.memmove(ctx.like.data_ptr(), ctx.address, ctx.like.nbytes)
            return ctx.like  # type: ignore[no-any-return]

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return ByAddress.apply(x)  # type: ignore[no-any-return, no-untyped-call]

    step = ModelStep(Model(), StepPlan(inputs=(0,), parameters=(), outputs=(0,)))
    _, (found,) = step.used(GraphUse(), X, G, DENSE)
    assert not torch.equal(found, X)


def test_gradients_in_one_memory_add_up_in_both() -> None:
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor, is_shared: bool) -> torch.Tensor:
            ctx.is_shared = is_shared
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            made = grad.clone()
            return made, made.detach() if ctx.is_shared else made, None

    class Model(torch.nn.Module):
        def __init__(self, *, is_shared: bool) -> None:
            super().__init__()
            self.is_shared = is_shared

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return Sum.apply(x, y, self.is_shared)  # type: ignore[no-any-return, no-untyped-call]

    for is_shared, times in ((False, 2), (True, 3)):
        step = ModelStep(Model(is_shared=is_shared), StepPlan(inputs=(0, 1), parameters=(), outputs=(0,)))
        _, found = step.used(GraphUse(added=True), X, X, G, DENSE)
        assert any(torch.equal(one, times * G) for one in found)
        assert is_shared or all(torch.equal(one, 2 * G) for one in found)


def test_added_gradients_leave_none_in_the_parameters() -> None:
    model = Scaled()
    _, (_, _, of_weight) = used(GraphUse(added=True), model)
    assert of_weight.abs().max() > 0
    assert all(one.grad is None for one in model.parameters())


def test_a_step_by_cotangents_of_ones_needs_no_more_than_forward_s_arguments() -> None:
    seen = list[torch.Tensor]()

    class Seen(torch.autograd.Function):
        @staticmethod
        def forward(_ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 1.0

        @staticmethod
        def backward(_ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
            seen.append(grads[0])
            return grads[0]

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Seen.apply(x)  # type: ignore[no-any-return, no-untyped-call]

    ModelStep(Model(), StepPlan(inputs=(0,), parameters=(), outputs=(0,))).with_ones(X)
    assert torch.equal(seen[0], torch.ones_like(X))
