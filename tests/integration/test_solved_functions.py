"""`kernelwright.solve` on plain functions with real kernels: the offline model's C++, judged on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import kernelwright
from kernelwright.optimized_functions.optimized import OptimizedFunction
from kernelwright.optimized_functions.signature import proven_signature
from kernelwright.optimized_functions.solution import Solution
from tests.e2e.programs import WELL, environment, give_a_sheet
from tests.selection import with_full

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]
CPU = torch.device("cpu")


def normalised(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def weights(x: torch.Tensor, scale: float = 0.125) -> torch.Tensor:
    return torch.softmax(x * scale, dim=-1)


def activated(x: torch.Tensor, bias: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x + bias) + residual


def gated(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(gate) * x


def spread(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean(dim=-1, keepdim=True)).pow(2).mean(dim=-1)


def _rows(count: int) -> torch.Tensor:
    return torch.randn(count, 256)


def _calls(function: Any, rows: int) -> tuple[torch.Tensor, ...]:
    """Arguments of a call with so many rows."""
    more: dict[Any, tuple[torch.Tensor, ...]] = {
        normalised: (torch.rand(256),),
        activated: (torch.randn(256), _rows(rows)),
        gated: (_rows(rows),),
    }
    return (_rows(rows), *more.get(function, ()))


FUNCTIONS = (normalised, weights, activated, gated, spread)
ANNOUNCED, HELD_OUT, UNPROVEN = (512, 200), 33, 9
"""Rows of the examples, and of a call that no example is like."""


class Solved:
    """A function, what came of it, and the function decorated: with the kernel that was found, however fast that is."""

    def __init__(self, function: Any, solution: Solution) -> None:
        self.function, self.solution = function, solution
        self.kernel_calls = 0
        self.decorated = OptimizedFunction(function, {})
        made = solution.made
        proven = frozenset(proven_signature(inputs, CPU) for inputs in (*made.announced, *made.held_out))
        self.decorated.install(
            self._counted, proven, tuple(parameter.default for parameter in made.captured.parameters)
        )

    def _counted(self, *arguments: Any) -> Any:
        self.kernel_calls += 1
        return self.solution.kernel.forward(*arguments)

    def assert_runs(self, *arguments: Any, kernel: bool, **keywords: Any) -> None:
        """Such a call runs the kernel or the original, and either way gives what the function gives."""
        before = self.kernel_calls
        torch.testing.assert_close(
            self.decorated(*arguments, **keywords), self.function(*arguments, **keywords), rtol=1e-4, atol=1e-5
        )
        assert (self.kernel_calls > before) is kernel


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An installation for all functions of this file, in this process."""
    folder = tmp_path_factory.mktemp("home")
    give_a_sheet(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(folder).items():
            patch.setenv(name, value)
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module", params=with_full(FUNCTIONS, FUNCTIONS[:1]), ids=lambda function: function.__name__)
def solved(request: pytest.FixtureRequest, home: Path) -> Solved:
    """Solved once for all tests of a function."""
    solution = _solve(request.param, home / request.param.__name__)
    assert solution.status in WELL, solution.message
    return Solved(request.param, solution)


def _solve(function: Any, out: Path) -> Solution:
    torch.manual_seed(0)
    examples, held_out = [_calls(function, rows) for rows in ANNOUNCED], [_calls(function, HELD_OUT)]
    return kernelwright.solve(function, examples, held_out=held_out, rounds=1, out=out, progress=False)


@pytest.mark.parametrize("rows", [*ANNOUNCED, HELD_OUT])
def test_a_solutions_kernel_is_the_function_on_every_size_it_was_judged_for(solved: Solved, rows: int) -> None:
    arguments = _calls(solved.function, rows)
    assert 'extern "C"' in (solved.solution.source or "")
    torch.testing.assert_close(solved.solution.kernel(*arguments), solved.function(*arguments), rtol=1e-4, atol=1e-5)
    solved.assert_runs(*arguments, kernel=True)


def test_what_was_not_proven_runs_the_original(solved: Solved) -> None:
    arguments = _calls(solved.function, ANNOUNCED[0])
    first, rest = arguments[0], arguments[1:]
    solved.assert_runs(*arguments, kernel=True)
    solved.assert_runs(*_calls(solved.function, UNPROVEN), kernel=False)
    solved.assert_runs(*(value.double() for value in arguments), kernel=False)
    names = [parameter.name for parameter in solved.solution.made.captured.parameters]
    solved.assert_runs(*arguments[:-1], **{names[len(arguments) - 1]: arguments[-1]}, kernel=False)
    learned = first.clone().requires_grad_()
    solved.assert_runs(learned, *rest, kernel=False)
    solved.decorated(learned, *rest).sum().backward()
    assert learned.grad is not None
    with torch.no_grad():
        solved.assert_runs(learned, *rest, kernel=True)


def test_a_decorated_function_uses_a_kernel_only_where_that_gains(solved: Solved) -> None:
    decorated = kernelwright.optimize(solved.function)
    decorated.use(solved.solution)
    proven = solved.solution.proven
    for rows in (*ANNOUNCED, HELD_OUT, UNPROVEN):
        arguments = _calls(solved.function, rows)
        complete = (*arguments, *solved.solution.made.announced[0][len(arguments) :])
        expected = solved.solution.gains and proven_signature(complete, CPU) in proven
        assert decorated.runs_kernel(*arguments) is expected
        torch.testing.assert_close(decorated(*arguments), solved.function(*arguments), rtol=1e-4, atol=1e-5)


def test_the_same_request_finds_its_job_again(solved: Solved, home: Path) -> None:
    assert _solve(solved.function, home / "again").job_id == solved.solution.job_id
