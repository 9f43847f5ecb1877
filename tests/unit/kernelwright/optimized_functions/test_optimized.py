from __future__ import annotations

from typing import Any

import pytest
import torch

import kernelwright
from kernelwright.optimized_functions.optimized import OptimizedFunction
from kernelwright.optimized_functions.signature import proven_signature

X, W = torch.ones(4, 8), torch.ones(8)


def scaled(x: torch.Tensor, weight: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    return x * weight * factor


def kernel(x: torch.Tensor, weight: torch.Tensor, factor: float) -> torch.Tensor:
    """Tells by its values that it was called."""
    return x * 0 - 1


@pytest.fixture
def decorated() -> OptimizedFunction:
    found = kernelwright.optimize(scaled)
    cpu = torch.device("cpu")
    proven = frozenset({proven_signature((X, W, 2.0), cpu), proven_signature((X[:2], W, 2.0), cpu)})
    found.install(kernel, proven, (None, None, 2.0))
    return found


def called_kernel(answer: torch.Tensor) -> bool:
    return bool((answer == -1).all())


@pytest.mark.parametrize("times", [1, 2], ids=["first", "remembered"])
def test_the_kernel_runs_for_what_was_proven_only(decorated: OptimizedFunction, times: int) -> None:
    yes: list[tuple[Any, ...]] = [(X, W), (X, W, 2.0), (X[:2].clone(), W), (X, W, float("2"))]
    no: list[tuple[Any, ...]] = [
        (X[:3], W),
        (X.double(), W.double()),
        (X, W, 3.0),
        (X, W, 2),
        (X.t().contiguous().t(), W),
        (X, torch.ones(1)),
        (X, W.clone().requires_grad_()),
        (2.0, W),
    ]
    for _ in range(times):
        assert all(called_kernel(decorated(*arguments)) for arguments in yes)
        assert not any(called_kernel(torch.as_tensor(decorated(*arguments))) for arguments in no)
        assert not called_kernel(decorated(x=X, weight=W)), "keywords go to the original"


def test_a_view_that_begins_off_a_boundary_runs_the_original(decorated: OptimizedFunction) -> None:
    shifted = torch.ones(33)[1:].view(4, 8)
    for _ in range(2):
        assert called_kernel(decorated(X, W))
        assert not called_kernel(decorated(shifted, W))


def test_gradients_are_wanted_or_not_call_by_call(decorated: OptimizedFunction) -> None:
    weight = torch.nn.Parameter(W.clone())
    for _ in range(2):
        assert decorated(X, weight).requires_grad
        with torch.no_grad():
            assert called_kernel(decorated(X, weight))
        with torch.inference_mode():
            assert called_kernel(decorated(X, weight))


def test_autocast_and_subclasses_run_the_original(decorated: OptimizedFunction) -> None:
    class Own(torch.Tensor):
        pass

    for _ in range(2):
        with torch.autocast("cpu"):
            assert not called_kernel(decorated(X, W))
        assert not called_kernel(decorated(X.as_subclass(Own), W))
        assert called_kernel(decorated(X, W))


def test_before_a_solution_and_after_a_reset_it_is_the_original(decorated: OptimizedFunction) -> None:
    assert getattr(decorated, "__name__", None) == "scaled"
    assert torch.equal(kernelwright.optimize(rounds=3)(scaled)(X, W), X * 2)
    decorated.reset()
    assert torch.equal(decorated(X, W), X * 2)
    assert not decorated.runs_kernel(X, W)


def test_many_kinds_of_calls_are_still_decided_right(decorated: OptimizedFunction) -> None:
    for factor in range(50):
        assert not called_kernel(decorated(X, W, factor + 3.0))
    assert called_kernel(decorated(X, W))
