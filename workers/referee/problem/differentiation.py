"""What a problem with a backward pass differentiates, determined by running its reference once with a graph."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.tensors import flatten, mapped
from workers.runner.step import StepPlan

MOST_TENSORS = 64
"""Outputs and gradients of one call that a runner may hand over."""
IN_PLACE = ("in-place operation", "inplace operation")
SMALLEST_SCALE, LARGEST_SCALE = 0.5, 1.5
"""Magnitude of the cotangent of a single number."""


class NoGradientError(Exception):
    """A reference has no gradient to judge; `remedy` says what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(reason)


def marked(arguments: Sequence[Any]) -> tuple[int, ...]:
    """Those of the arguments' tensors that have `requires_grad=True`."""
    return tuple(index for index, tensor in enumerate(flatten(list(arguments))) if tensor.requires_grad)


def plan_of(model: torch.nn.Module, arguments: Sequence[Any]) -> StepPlan:
    """What to differentiate `model(*arguments)` with respect to: tensors marked with `requires_grad=True`, or else
    every floating-point one, and parameters. What no output depends on is left out, unless it is marked.

    Raises `NoGradientError`."""
    wanted = marked(arguments)
    tensors = flatten(list(arguments))
    _check_real([tensors[index] for index in wanted])
    chosen = wanted or tuple(index for index, tensor in enumerate(tensors) if tensor.is_floating_point())
    names = [name for name, value in model.named_parameters() if value.requires_grad and value.is_floating_point()]
    if not chosen and not names:
        raise NoGradientError(
            "there is nothing to differentiate: no input is of floating point, and Model has no parameter",
            "Give get_inputs a floating-point tensor or Model an nn.Parameter, or remove BACKWARD.",
        )
    outputs, gradients = _one_backward(model, arguments, chosen, names)
    inputs = tuple(index for index, gradient in zip(chosen, gradients, strict=False) if gradient is not None)
    _check_dependent(wanted, inputs)
    own = [name for name, gradient in zip(names, gradients[len(chosen) :], strict=True) if gradient is not None]
    return StepPlan(inputs=inputs, parameters=tuple(own), outputs=outputs)


def gradient_names(plan: StepPlan, model: torch.nn.Module, arguments: Sequence[Any]) -> tuple[str, ...]:
    """Names of the gradients of a plan, in order: by the names of forward's arguments and of parameters."""
    parameters = list(inspect.signature(model.forward).parameters)
    plain = len(parameters) == len(arguments) and all(len(flatten(one)) <= 1 for one in arguments)
    owners = [name for name, one in zip(parameters, arguments, strict=False) for _ in flatten(one)] if plain else []
    inputs = [f"`{owners[index]}`" if plain else f"input {index}" for index in plan.inputs]
    return (*inputs, *(f"the parameter `{name}`" for name in plan.parameters))


def draw_cotangent(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A random one, from torch's generator. A single number's is never close to zero."""
    shape = tuple(shape)
    if math.prod(shape) != 1:
        return torch.randn(shape, device=device).to(dtype)
    size = SMALLEST_SCALE + (LARGEST_SCALE - SMALLEST_SCALE) * torch.rand(shape, device=device)
    return torch.where(torch.rand(shape, device=device) < 0.5, size, -size).to(dtype)


def _check_real(tensors: Sequence[torch.Tensor]) -> None:
    if any(tensor.is_complex() for tensor in tensors):
        raise NoGradientError(
            "a complex input has requires_grad=True, and gradients of complex inputs are not judged",
            "Pass real and imaginary parts as two floating-point tensors (torch.view_as_real).",
        )


def _check_dependent(wanted: Sequence[int], inputs: Sequence[int]) -> None:
    idle = [index for index in wanted if index not in inputs]
    if idle:
        raise NoGradientError(
            f"no output depends on input {idle[0]}, which has requires_grad=True",
            "Use it in forward, or leave it without requires_grad.",
        )


def _one_backward(
    model: torch.nn.Module, arguments: Sequence[Any], chosen: Sequence[int], names: Sequence[str]
) -> tuple[tuple[int, ...], tuple[torch.Tensor | None, ...]]:
    """Which outputs have a gradient, and the gradients with respect to everything that was chosen."""
    tensors = [tensor.detach() for tensor in flatten(list(arguments))]
    leaves = {index: tensors[index].clone().requires_grad_() for index in chosen}
    following = iter([leaves.get(index, tensor) for index, tensor in enumerate(tensors)])
    try:
        with torch.enable_grad():
            returned = flatten(model(*mapped(list(arguments), lambda _: next(following))))
            outputs = _with_gradient(returned)
            results = [returned[index] for index in outputs]
            sources = [*leaves.values(), *(model.get_parameter(name) for name in names)]
            cotangents = [draw_cotangent(one.shape, one.dtype, one.device) for one in results]
            gradients = torch.autograd.grad(results, sources, cotangents, allow_unused=True)
    except RuntimeError as error:
        if any(part in str(error) for part in IN_PLACE):
            raise NoGradientError(
                f"forward changes in place what a gradient needs: {str(error).splitlines()[0][:300].rstrip('.')}",
                "Write the result to a new tensor (x = x * 2 instead of x *= 2).",
            ) from None
        raise
    if len(returned) + len(sources) > MOST_TENSORS:
        raise NoGradientError(
            f"{len(returned)} outputs and {len(sources)} gradients are more than the {MOST_TENSORS} that are compared",
            "Stack parameters into fewer tensors, or mark only some inputs with requires_grad=True.",
        )
    return outputs, gradients


def _with_gradient(returned: Sequence[torch.Tensor]) -> tuple[int, ...]:
    found = tuple(index for index, one in enumerate(returned) if one.is_floating_point() and one.requires_grad)
    if found:
        return found
    if returned and not any(one.is_floating_point() for one in returned):
        raise NoGradientError(
            "forward returns only whole numbers or truth values, which have no gradient",
            "Return a floating-point tensor, or remove BACKWARD.",
        )
    raise NoGradientError(
        "no output depends on an input or parameter that has a gradient",
        "Compute the output from them with differentiable operators (no detach, no no_grad), or remove BACKWARD.",
    )
