"""Example inputs as the functions of a problem that draw inputs like them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from services.domain.constraints import ArgumentConstraint

Inputs = tuple[Any, ...]
"""The positional arguments of one call."""

MOST_WRITTEN = 4096
"""Elements up to which the values of a fixed tensor are written into the problem."""
_PLAIN = (bool, int, float, str, type(None))


class ExampleError(ValueError):
    """An example input that no problem can draw; the message says which and what to do."""


def input_sets(given: Sequence[Any], parameters: int) -> tuple[Inputs, ...]:
    """Example inputs as a tuple of calls: the arguments of one call, or a list of such tuples.

    Raises `ExampleError` unless every call has between one and `parameters` arguments."""
    several = isinstance(given, list) and bool(given) and all(isinstance(item, (tuple, list)) for item in given)
    sets = tuple(tuple(item) for item in given) if several else (tuple(given),)
    for inputs in sets:
        if not 1 <= len(inputs) <= parameters:
            raise ExampleError(f"an example has {len(inputs)} arguments, and the function takes {parameters}")
        if not any(isinstance(value, torch.Tensor) for value in inputs):
            raise ExampleError("an example holds no tensor: give the arguments of a call, (x, y), or a list of calls")
    return sets


def drawing(name: str, inputs: Inputs, promised: Mapping[int, ArgumentConstraint] | None = None) -> str:
    """Source of a function that draws such inputs: shapes, dtypes and the range of values follow the example. What is
    `promised` of an argument, by its number, holds: a fixed one has the example's values.

    Raises `ExampleError`."""
    known = promised or {}
    values = "".join(f"        {_drawn(index, value, known.get(index))},\n" for index, value in enumerate(inputs))
    return f"def {name}():\n    return [\n{values}    ]"


def _drawn(index: int, value: Any, promised: ArgumentConstraint | None) -> str:
    if isinstance(value, torch.Tensor):
        drawn = _tensor(index, value)
        if promised is None:
            return drawn
        if promised.fixed:
            return _as_it_is(index, value)
        return f"{drawn}.clamp({promised.low}, {promised.high})" if _is_clamped(value, promised) else drawn
    if type(value) not in _PLAIN or value != value:
        raise ExampleError(
            f"argument {index} is a {type(value).__name__}: arguments are tensors, numbers, strings or None"
        )
    return f'float("{value}")' if isinstance(value, float) and abs(value) == float("inf") else repr(value)


def _tensor(index: int, value: torch.Tensor) -> str:
    if value.layout is not torch.strided or not value.is_contiguous():
        raise ExampleError(f"argument {index} is not laid out row by row: pass its .contiguous()")
    if value.is_complex() or value.is_quantized:
        raise ExampleError(f"argument {index} is {value.dtype}: kernels are proven for real numbers")
    shape = tuple(value.shape)
    if value.dtype is torch.bool:
        return f"torch.rand({shape}) < {_share(value):.3g}"
    if not value.is_floating_point():
        low, high = (int(value.min()), int(value.max())) if value.numel() else (0, 1)
        return f"torch.randint({low}, {high + 1}, {shape}, dtype={value.dtype})"
    return _floats(value, shape)


def _floats(value: torch.Tensor, shape: tuple[int, ...]) -> str:
    """Uniform where the example is nowhere negative, else normal, with the example's own range or moments."""
    suffix = "" if value.dtype is torch.float32 else f".to({value.dtype})"
    exact = value.detach().double()
    finite = exact[torch.isfinite(exact)]
    if finite.numel() < 2 or float(finite.std()) == 0:
        return f"torch.randn({shape}){suffix}"
    low, high = float(finite.min()), float(finite.max())
    if low >= 0:
        return f"(torch.rand({shape}) * {high - low:.3g} + {low:.3g}){suffix}"
    mean, deviation = float(finite.mean()), float(finite.std())
    if abs(mean) < 0.2 and 0.8 < deviation < 1.25:
        return f"torch.randn({shape}){suffix}"
    return f"(torch.randn({shape}) * {deviation:.3g} + {mean:.3g}){suffix}"


def _is_clamped(value: torch.Tensor, promised: ArgumentConstraint) -> bool:
    return promised.has_range and value.is_floating_point() and value.element_size() > 1


def _as_it_is(index: int, value: torch.Tensor) -> str:
    """The example's own values, written out."""
    flat, shape = value.detach().reshape(-1), tuple(value.shape)
    if flat.numel() and bool((flat == flat[0]).all()):
        return f"torch.full({shape}, {_number(flat[0].item())}, dtype={value.dtype})"
    if flat.numel() > MOST_WRITTEN:
        raise ExampleError(
            f"argument {index} is fixed and has {flat.numel()} elements, of which {MOST_WRITTEN} can be written into a "
            "problem: write a problem file whose get_inputs computes it"
        )
    numbers = ", ".join(map(_number, flat.tolist()))
    return f"torch.tensor([{numbers}], dtype={value.dtype}).view({shape})"


def _number(value: Any) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'


def _share(value: torch.Tensor) -> float:
    """The share of true elements, away from the ends so that both values are drawn."""
    return min(max(float(value.double().mean()) if value.numel() else 0.5, 0.05), 0.95)
