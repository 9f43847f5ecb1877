"""A model of exported operators under `torch.compile(fullgraph=True)`, forward and backward, against its original.

    kernelwright run examples/training/rmsnorm.py …      (and swiglu.py, cross_entropy.py, layernorm.py, rope.py)
    kernelwright export JOB JOB JOB --package my_kernels && pip install ./my_kernels
    python -m benchmarks.exported_operators my_kernels [--rounds 40]

Calls every operator of the package on its problem's own inputs and adds up the results: with the package's `Model`s and
with the originals, each compiled whole. First compares outputs and gradients, then times steps in turns; prints medians
of ratios (above 1: the operators are faster) with 95 % bootstrap intervals, against the compiled original and
against the eager one. Exits 1 where values differ or a graph holds no operator of the package.
"""

from __future__ import annotations

import argparse
import importlib
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn


class Together(nn.Module):
    """All operators of a package in one module."""

    def __init__(self, problems: Sequence[ModuleType], *, original: bool) -> None:
        super().__init__()
        kinds = [problem.original.Model if original else problem.Model for problem in problems]
        self.parts = nn.ModuleList(
            kind(*problem.original.get_init_inputs()) for kind, problem in zip(kinds, problems, strict=True)
        )

    def forward(self, *groups: list[Tensor]) -> Tensor:
        total = torch.zeros(())
        for part, inputs in zip(self.parts, groups, strict=True):
            output = part(*inputs)
            for one in output if isinstance(output, tuple) else (output,):
                # No sum of squares: after a norm its gradient cancels, and only rounding would be compared.
                total = total + (one * torch.arange(one.numel()).view(one.shape).cos()).mean()
        return total


def drawn(problem: ModuleType) -> list[Tensor]:
    """A problem's inputs, with gradients as it marks them, or else for all floats."""
    inputs = list(problem.original.get_inputs())
    marked = any(one.requires_grad for one in inputs)
    return [one if marked else one.requires_grad_(one.is_floating_point()) for one in inputs]


def step(model: Callable[..., Tensor], leaves: list[Tensor], groups: list[list[Tensor]]) -> list[Tensor]:
    """Output and gradients."""
    output = model(*groups)
    return [output.detach(), *torch.autograd.grad(output, leaves)]


def interval(ratios: list[float]) -> str:
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return f"{statistics.median(ratios):.2f}x  [{medians[50]:.2f}, {medians[-51]:.2f}]"


def timed(rows: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each, in turns."""
    found: dict[str, list[float]] = {name: [] for name in rows}
    for index in range(rounds + 5):
        for name, call in rows.items():
            started = time.perf_counter()
            call()
            if index >= 5:
                found[name].append(time.perf_counter() - started)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", help="An installed package of `kernelwright export`.")
    parser.add_argument("--rounds", type=int, default=40, help="Steps of each.")
    given = parser.parse_args()
    package = importlib.import_module(given.package)
    problems = [getattr(package, name) for name in package.__all__]
    torch.manual_seed(0)
    groups = [drawn(problem) for problem in problems]
    ours, theirs = Together(problems, original=False), Together(problems, original=True)
    ours.load_state_dict(theirs.state_dict())
    graphs: list[str] = []

    def noting(graph: torch.fx.GraphModule, _: list[Tensor]) -> Any:
        graphs.append(graph.print_readable(print_output=False))
        return graph.forward

    torch.compile(ours, fullgraph=True, backend=noting)(*groups)
    torch._dynamo.reset()
    missing = [name for name in package.__all__ if f"{given.package}.{name}_saving" not in graphs[0]]
    inputs = [one for group in groups for one in group if one.requires_grad]
    compiled = {"ours": torch.compile(ours, fullgraph=True), "theirs": torch.compile(theirs, fullgraph=True)}
    leaves = {"ours": [*inputs, *ours.parameters()], "theirs": [*inputs, *theirs.parameters()]}
    pairs = zip(step(compiled["ours"], leaves["ours"], groups), step(theirs, leaves["theirs"], groups), strict=True)
    worst = max(float((one - other).abs().max() / other.abs().max().clamp_min(1e-30)) for one, other in pairs)
    print(f"{len(problems)} operators ({', '.join(package.__all__)}), one graph; not in it: {missing or 'none'}")
    print(f"largest difference of an output or gradient, of its largest element: {worst:.1e}")
    seconds = timed(
        {
            "ours": lambda: step(compiled["ours"], leaves["ours"], groups),
            "compiled original": lambda: step(compiled["theirs"], leaves["theirs"], groups),
            "eager original": lambda: step(theirs, leaves["theirs"], groups),
        },
        given.rounds,
    )
    for name in ("compiled original", "eager original"):
        print(f"against the {name:18} {interval([b / a for a, b in zip(seconds['ours'], seconds[name], strict=True)])}")
    return int(bool(missing) or worst > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
