"""What the playbook's Triton templates cover of a published suite, without a GPU.

    python -m benchmarks.suite_templates kernelbench CHECKOUT [--level N]

Each problem is traced on tensors without values, so its size costs no memory. A line each: GiB of inputs and outputs,
the operators, and the kernels that the catalogue has, or why there is none. The suite's code runs in this process.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from agents.playbook.triton.catalogue import kernels
from agents.playbook.triton.planner import no_template
from kernelwright.suites.known import open_suite
from services.domain.problems import ProblemAnalysis, TensorSpec
from workers.referee.costs.analysis import analyse

WIDTH = 60


def traced(source: str) -> ProblemAnalysis:
    """The graph of a problem's forward. Raises whatever its code raises."""
    scope: dict[str, object] = {"__name__": "kernelwright_problem", "__file__": "problem.py"}
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        exec(compile(source, "problem.py", "exec"), scope)
        given = scope.get("get_init_inputs", list)()  # type: ignore[operator]
        model = scope["Model"](**given) if isinstance(given, dict) else scope["Model"](*given)  # type: ignore[operator]
        inputs = scope["get_inputs"]()  # type: ignore[operator]
        return analyse(model, inputs, (), copy_bandwidth_gb_s=1.0, peak_gflop_s=1.0, size_numbers=False)


def line(key: str, analysis: ProblemAnalysis) -> str:
    """One problem's row."""
    made = {spec.name: spec for item in analysis.operators for spec in item.outputs}
    outputs = [made[name] for name in analysis.outputs if name in made]
    operators = " ".join(item.target.split(".")[1] for item in analysis.operators)
    found = ", ".join(kernel.name for kernel in kernels(analysis)) or no_template(analysis)
    return f"{key[:40]:40} {_gib(analysis.inputs):6.2f} {_gib(outputs):6.2f}  {operators[:WIDTH]:{WIDTH}}  {found}"


def _gib(specs: Sequence[TensorSpec]) -> float:
    return sum(spec.elements * int(getattr(torch, spec.dtype).itemsize) for spec in specs) / (1 << 30)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("suite")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--level", type=int)
    options = parser.parse_args(arguments)
    covered = counted = 0
    for item in open_suite(options.suite, options.checkout, options.level).problems():
        counted += 1
        if item.refusal is not None:
            print(f"{item.key[:40]:40} {item.refusal.reason}", flush=True)
            continue
        try:
            analysis = traced(item.problem.source)
        except Exception as error:  # noqa: BLE001 - a suite's code may raise anything
            print(f"{item.key[:40]:40} {type(error).__name__}: {str(error).strip()[:WIDTH]}", flush=True)
            continue
        covered += bool(kernels(analysis))
        print(line(item.key, analysis), flush=True)
    print(f"{covered} of {counted} problems have a template")


if __name__ == "__main__":
    main()
