"""Numbers that a model names: an index that a loss ignores, what values are compared with, where they are cut off.

A draw hardly ever contains them by chance, so a kernel that leaves their case out is right on all other draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

from services.domain.problems import Operator
from workers.referee.costs.operator_costs import BOUNDED, base_name

MARKS = ("ignore_index", "padding_idx")
"""Parameters of operators that say which index means something else."""
BOUNDS = ("min", "max", "min_val", "max_val", "threshold", "lambd", "margin")
"""Parameters of operators that bound something, whichever operator it is."""
OWN_BOUNDS = {"hardswish": (-3.0, 3.0), "hardsigmoid": (-3.0, 3.0)}
"""Bounds that an operator has without being given any."""
DIVIDING = ("remainder", "fmod", "floor_divide", "div")
"""Operators that round quotients; `div` with a rounding mode."""
MULTIPLES = (3, 5, 6, 9, -3, -5)
"""Times the divisor: for most divisors, the quotient of one of these floats rounds to a whole number and is none."""
MOST = 8
"""Numbers of either kind."""
LARGEST = 1e4
"""Magnitude up to which a number is drawn: as large as other draws' are."""


def named_numbers(operators: Sequence[Operator]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The numbers of a traced graph that values of arguments may meet, and the whole ones that indices may."""
    bounds, marks = list[float](), list[int]()
    for operator in operators:
        name = base_name(operator.target)
        bounds += OWN_BOUNDS.get(name, ())
        for parameter, number in _numbers(operator):
            if parameter in MARKS and isinstance(number, int):
                marks.append(number)
            elif (name in BOUNDED or parameter in BOUNDS) and math.isfinite(number) and abs(number) <= LARGEST:
                bounds.append(float(number))
                marks += [int(number)] if name in ("eq", "ne") and number == int(number) else []
            elif parameter == "other" and _rounds_quotients(name, operator):
                bounds += [times * number for times in MULTIPLES if abs(times * number) <= LARGEST]
    return tuple(dict.fromkeys(bounds))[:MOST], tuple(dict.fromkeys(marks))[:MOST]


def _rounds_quotients(name: str, operator: Operator) -> bool:
    return name in DIVIDING and (name != "div" or dict(operator.keywords).get("rounding_mode") is not None)


def _numbers(operator: Operator) -> Iterator[tuple[str, int | float]]:
    """The numbers that an operator is given, each behind its parameter's name; those that it has by itself too."""
    given = dict(operator.keywords)
    for number, parameter in enumerate(_parameters(operator.target)):
        default = parameter.default_value if parameter.has_default_value() else None
        value = operator.arguments[number] if number < len(operator.arguments) else given.get(parameter.name, default)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield parameter.name, value


def _parameters(target: str) -> Sequence[torch.Argument]:
    """The parameters of an operator; none of one that PyTorch does not know here."""
    names = target.split(".")
    found: object = torch.ops
    for name in names if len(names) > 2 else [*names, "default"]:
        found = getattr(found, name, None)
    return found._schema.arguments if isinstance(found, torch._ops.OpOverload) else ()
