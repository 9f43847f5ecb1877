"""Functions as users write them, with what makes each of them hard to take along."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import silu

from tests import unit

EPS = 1e-6
HALF = torch.float16
SIZES = [1, 2]
WEIGHT = torch.ones(4)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * math.sqrt(2.0)


alias = scaled


def whole(x: torch.Tensor, shift: float = EPS) -> torch.Tensor:
    return silu(alias(x)) + shift + EPS


def closing(shift: float) -> Callable[..., Any]:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return x + shift

    return inner


def with_tensor(x: torch.Tensor) -> torch.Tensor:
    return x * WEIGHT


def with_list(x: torch.Tensor) -> torch.Tensor:
    return x * SIZES[0]


def with_own_module(x: torch.Tensor) -> torch.Tensor:
    return unit.act(x)  # type: ignore[attr-defined, no-any-return]


def undefined(x: torch.Tensor) -> torch.Tensor:
    return nowhere(x)  # type: ignore[name-defined, no-any-return] # noqa: F821


def mutating(x: torch.Tensor) -> torch.Tensor:
    return x.add_(1)


def branching(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.sum().item() > 0 else x - 1


def returning_a_number(x: torch.Tensor) -> float:
    return float(x.shape[0])


def variadic(*xs: torch.Tensor) -> torch.Tensor:
    return xs[0]


def raising(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("not for me")


nameless = lambda x: x + 1  # noqa: E731
