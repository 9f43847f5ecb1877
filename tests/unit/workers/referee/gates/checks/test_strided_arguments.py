"""What the report says of arguments that are not dense, and of dense ones where views are announced."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tests.unit.workers.referee.boundary.test_runner_client import DOUBLE, against, honest
from tests.unit.workers.referee.gates.checks.test_surroundings import on_trial
from workers.referee.comparison.tolerance import ErrorScale
from workers.referee.gates.checks.strided_arguments import on_strided

IN_MEMORY = DOUBLE.replace("return x", "x = x.as_strided(x.shape, (1, x.shape[0]))\n        return x")
OF_THE_FIRST = DOUBLE.replace("return x", "return x[:1].expand_as(x)")
REFUSES = DOUBLE.replace("return x", "assert not x.is_contiguous(), 'a view'\n        return x")
ONLY = "PROVEN FOR THE ANNOUNCED STRIDES ONLY"


def turned() -> torch.Tensor:
    return torch.rand(4, 300).T


def expanded() -> torch.Tensor:
    return torch.rand(1, 4).expand(300, 4)


def notes(source: str, draw: Callable[[], torch.Tensor]) -> list[str]:
    with against(honest) as session:
        trial = on_trial(session, source, draw=lambda *_given: [draw()], known_scales=lambda _kind: (ErrorScale(),))
        return on_strided(trial)


def test_a_kernel_that_reads_strides_passes() -> None:
    assert notes(DOUBLE, turned)[0] == "passed on dense tensors in place of views"
    assert notes(DOUBLE, expanded)[:2] == [
        "passed on dense tensors in place of views",
        "passed on other values in repeated parts",
    ]


def test_nothing_is_said_of_views_where_none_is_announced() -> None:
    assert notes(DOUBLE, lambda: torch.rand(300, 4)) == ["passed on arguments that are not dense"]


def test_a_kernel_for_announced_strides_is_named() -> None:
    assert notes(IN_MEMORY, turned)[0].startswith(ONLY)
    assert notes(OF_THE_FIRST, expanded)[0].startswith(ONLY)


def test_a_kernel_may_refuse_dense_tensors() -> None:
    assert notes(REFUSES, turned)[0].startswith("limited: dense tensors in place of views are refused with")
