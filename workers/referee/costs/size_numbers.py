"""Which numbers in a traced graph follow the sizes of the inputs.

Tracing writes `x / x.shape[0]` down as a division by 64. So the module is traced again with other sizes, one after the
other, and numbers that changed are explained by the sizes that changed: a factor times sizes with exponents. What is
not explained so (other operators, other functions of a size) makes the graph hold for the traced size only.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from services.domain.problems import Argument, Operator, ProblemAnalysis, SizeNumber

EXPONENTS = (1.0, -1.0, 0.5, -0.5, 2.0)
TOLERANCE = 1e-9
SPLITS = frozenset({"split", "split_with_sizes", "chunk", "unbind", "tensor_split"})
"""Operators whose results say how they cut: even parts stay even."""

Retrace = Callable[[Sequence[object]], Sequence[Operator]]
Axis = tuple[int, int]
"""(input, dimension)."""
Place = tuple[int, int | str]
"""(operator, argument position or keyword)."""


def with_size_numbers(analysis: ProblemAnalysis, inputs: Sequence[object], retrace: Retrace) -> ProblemAnalysis:
    """The analysis with `size_numbers` and `fixed_sizes`. `retrace` gives the operators for other inputs and raises
    whatever it likes for sizes that the module does not take: those cannot vary."""
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    known = _numbers(analysis.operators)
    if not known:
        return analysis
    found: dict[Place, list[tuple[Axis, float]]] = {}
    fixed: list[Axis] = []
    for change in _changes(tensors, inputs, retrace):
        verdict = _explained(known, analysis.operators, change)
        if verdict is None:
            fixed += change.axes
            continue
        for place, exponent in verdict.items():
            found.setdefault(place, []).append((change.axes[0], exponent))
    numbers = tuple(_number(place, known[place], terms, tensors) for place, terms in sorted(found.items(), key=str))
    return replace(analysis, size_numbers=numbers, fixed_sizes=tuple(fixed))


def with_fixed_sizes(analysis: ProblemAnalysis, inputs: Sequence[object]) -> ProblemAnalysis:
    """The analysis where nothing is known of other sizes: it holds for these only."""
    tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
    return replace(analysis, fixed_sizes=tuple((n, dim) for n, item in enumerate(tensors) for dim in range(item.dim())))


@dataclass(frozen=True, kw_only=True)
class _Change:
    """A second trace."""

    axes: tuple[Axis, ...]
    """What was changed together; sizes that are one and the same."""
    ratio: float
    """New size over old."""
    operators: Sequence[Operator]


def _changes(tensors: Sequence[torch.Tensor], inputs: Sequence[object], retrace: Retrace) -> Iterator[_Change]:
    """A trace for every size that can vary: one dimension alone where the module takes that, else with its equals."""
    sizes = {(number, dim): size for number, item in enumerate(tensors) for dim, size in enumerate(item.shape)}
    done: set[Axis] = set()
    for axis, size in sizes.items():
        if axis in done or size < 3:
            continue
        same = tuple(other for other, value in sizes.items() if value == size)
        neighbours = tuple(other for other in same if other[1] == axis[1])
        for axes in dict.fromkeys(((axis,), neighbours, same)):
            change = _change(axes, size, inputs, retrace)
            if change is not None:
                done |= set(axes)
                yield change
                break


def _change(axes: tuple[Axis, ...], size: int, inputs: Sequence[object], retrace: Retrace) -> _Change | None:
    """Half the size where it is even (what is split stays whole), else one less."""
    other = size // 2 if size % 2 == 0 else size - 1
    logging.disable(logging.CRITICAL)  # torch logs a traceback for every size that does not fit
    try:
        operators = retrace(_resized(inputs, axes, other))
    except Exception:  # noqa: BLE001 - torch.export raises anything: the module does not take this size
        return None
    finally:
        logging.disable(logging.NOTSET)
    return _Change(axes=axes, ratio=other / size, operators=operators)


def _resized(inputs: Sequence[object], axes: tuple[Axis, ...], size: int) -> list[object]:
    """The inputs with some dimensions cut; tracing looks at no value."""
    result: list[object] = []
    number = 0
    for value in inputs:
        if isinstance(value, torch.Tensor):
            for axis in axes:
                value = value.narrow(axis[1], 0, size).contiguous() if axis[0] == number else value
            number += 1
        result.append(value)
    return result


def _numbers(operators: Sequence[Operator]) -> dict[Place, float]:
    """Every number among the operators' own arguments; tuples hold shapes and dimensions, which follow on their own."""
    found: dict[Place, float] = {}
    for index, item in enumerate(operators):
        if item.target.split(".")[1] in SPLITS:
            continue
        arguments: list[tuple[int | str, Argument]] = [*enumerate(item.arguments), *item.keywords]
        for name, value in arguments:
            if isinstance(value, int | float) and not isinstance(value, bool):
                found[index, name] = float(value)
    return found


def _explained(known: dict[Place, float], before: Sequence[Operator], change: _Change) -> dict[Place, float] | None:
    """The exponent of the changed size in every number that changed; None where the traces do not match so."""
    if [item.target for item in before] != [item.target for item in change.operators]:
        return None
    after = _numbers(change.operators)
    exponents: dict[Place, float] = {}
    for place, value in known.items():
        if place not in after:
            return None
        if math.isclose(value, after[place], rel_tol=TOLERANCE):
            continue
        exponent = _exponent(value, after[place], change.ratio)
        if exponent is None:
            return None
        exponents[place] = exponent
    return exponents


def _exponent(before: float, after: float, ratio: float) -> float | None:
    if not before or not after or before * after < 0:
        return None
    return next((e for e in EXPONENTS if math.isclose(after / before, ratio**e, rel_tol=TOLERANCE)), None)


def _number(place: Place, value: float, terms: list[tuple[Axis, float]], tensors: Sequence[torch.Tensor]) -> SizeNumber:
    factor = value
    for (number, dim), exponent in terms:
        factor /= float(tensors[number].shape[dim]) ** exponent
    return SizeNumber(
        operator=place[0], argument=place[1], factor=factor, sizes=tuple((*axis, exponent) for axis, exponent in terms)
    )
