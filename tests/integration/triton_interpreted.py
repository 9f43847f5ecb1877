"""Runs the playbook's Triton templates in Triton's interpreter and compares them with PyTorch in float64.

    TRITON_INTERPRET=1 python -m tests.integration.triton_interpreted CASES FOLDER

CASES is a JSON list of `Case` fields. A line of JSON comes back for each kernel and input set. It is a process of its
own because Triton reads the variable when it is imported. bfloat16 is left to a GPU: the interpreter multiplies its
bits as whole numbers and rounds stores toward zero.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from agents.playbook.triton.catalogue import TritonKernel, kernels
from workers.referee.costs.analysis import analyse


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem and the input sets that its kernels are tried on."""

    name: str
    forward: str
    """An expression of the arguments `a`, `b`, …, the module `self`, `torch` and `F`."""
    shapes: Sequence[Sequence[Sequence[int]]]
    """Input sets: the first is traced."""
    dtype: str = "float32"
    init: str = "pass"
    """A statement of the constructor."""
    draws: Sequence[str] = ()
    """Expressions of `shape` for arguments that are not normal numbers; an empty one leaves them so."""

    def drawn(self, shapes: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """An input set."""
        draws = [*self.draws, *[""] * (len(shapes) - len(self.draws))]
        return [
            eval(draw, {"torch": torch}, {"shape": shape})
            if draw
            else torch.randn(*shape).to(getattr(torch, self.dtype))
            for draw, shape in zip(draws, shapes, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one kernel did on one input set."""

    case: str
    kernel: str
    shapes: Any
    error: float
    """Relative Frobenius error against float64; infinite where shape, dtype or finiteness differ."""
    usual: float
    """The reference's own."""
    problem: str = ""
    """What went wrong, where something did."""


def source_of(case: Case) -> str:
    names = ", ".join("abcdefgh"[: len(case.shapes[0])])
    return (
        "import math\nimport torch\nimport torch.nn.functional as F\nclass Model(torch.nn.Module):\n"
        f"    def __init__(self):\n        super().__init__()\n        {case.init}\n"
        f"    def forward(self, {names}):\n        return {case.forward}\n"
    )


def outcomes(case: Case, folder: Path) -> Iterator[Outcome]:
    """Every kernel of the catalogue on every input set."""
    torch.manual_seed(0)
    dtype = getattr(torch, case.dtype)
    model = loaded(folder / f"{case.name}.py", source_of(case)).Model().to(dtype).eval()
    sets = [case.drawn(shapes) for shapes in case.shapes]
    traced = analyse(model, sets[0], (), copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0)
    for kernel in kernels(traced):
        path = folder / f"{case.name}_{kernel.name.replace('.', '_')}.py"
        for inputs in sets:
            yield outcome(case, kernel, model, path, inputs)


def outcome(
    case: Case, kernel: TritonKernel, model: torch.nn.Module, path: Path, inputs: list[torch.Tensor]
) -> Outcome:
    shapes = [list(one.shape) for one in inputs]
    made = loaded(path, kernel.variant.source).ModelNew()
    made.to(inputs[0].dtype).load_state_dict(model.state_dict())
    with torch.no_grad():
        expected = model(*inputs)
        exact = model.double()(*(one.double() if one.is_floating_point() else one for one in inputs))
        model.to(inputs[0].dtype)
        found = made(*inputs)
    wrong = difference(found, expected)
    error = float("inf") if wrong else relative(found, exact)
    return Outcome(
        case=case.name, kernel=kernel.name, shapes=shapes, error=error, usual=relative(expected, exact), problem=wrong
    )


def difference(found: torch.Tensor, expected: torch.Tensor) -> str:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype} {list(found.shape)}, expected {expected.dtype} {list(expected.shape)}"
    return "" if torch.equal(torch.isfinite(found), torch.isfinite(expected)) else "not finite where expected"


def relative(found: torch.Tensor, exact: torch.Tensor) -> float:
    finite = torch.isfinite(exact) & torch.isfinite(found)
    apart = torch.where(finite, found.double() - exact, 0.0)
    return float(apart.norm() / torch.where(finite, exact, 0.0).norm().clamp_min(1e-300))


def loaded(path: Path, source: str) -> Any:
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(cases: str, folder: str) -> None:
    for fields in json.loads(cases):
        for one in outcomes(Case(**fields), Path(folder)):
            sys.stdout.write(json.dumps(asdict(one)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
