"""What came of solving a function."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from kernelwright.local_job import SolveResult
from kernelwright.optimized_functions import display
from kernelwright.optimized_functions.examples import Inputs
from kernelwright.optimized_functions.problem import FunctionProblem
from kernelwright.optimized_functions.signature import Signature, proven_signature
from services.domain.errors import UserError
from services.domain.evaluations import EvaluationReport
from services.domain.gates import GateName, GateStatus
from services.domain.jobs import JobStatus
from services.domain.measurements import Gain, gain_of


class ProvenKernel:
    """A proven kernel: call it like the function."""

    def __init__(self, path: Path, report: EvaluationReport, defaults: tuple[Any, ...]) -> None:
        self.path = path
        self.source = path.read_text(encoding="utf-8")
        self._report = report
        self._defaults = defaults
        self.forward = _load(path).forward

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel; it is for the shapes, dtypes and device that it was proven for. Tracks no gradients."""
        with torch.no_grad():
            return self.forward(*arguments, *self._defaults[len(arguments) :])

    def __repr__(self) -> str:
        return f"<Kernel {self.path}>"

    def _repr_html_(self) -> str:
        return display.kernel(self.source, self._report)


@dataclass(frozen=True, kw_only=True)
class KernelEvidence:
    """The referee's report on the kernel."""

    report: EvaluationReport

    def __repr__(self) -> str:
        return display.evidence_line(self.report)

    def _repr_html_(self) -> str:
        return display.evidence(self.report)


@dataclass(frozen=True)
class Solution:
    """A finished job of a function."""

    made: FunctionProblem
    result: SolveResult
    device: torch.device
    """Where its kernel runs."""

    @property
    def status(self) -> JobStatus:
        """How the job ended; `solved` means surely faster than the best baseline."""
        return self.result.job.status

    @property
    def job_id(self) -> str:
        """The job's id: `kernelwright run --resume` and the web UI know it."""
        return self.result.job.id

    @property
    def message(self) -> str:
        """Why the job ended, in one line."""
        return self.result.job.message or ""

    @property
    def report(self) -> EvaluationReport | None:
        """The referee's report on the best correct kernel; None if there is none."""
        return self.result.report

    @property
    def evidence(self) -> KernelEvidence | None:
        """The same, as notebooks show it."""
        return None if self.report is None else KernelEvidence(report=self.report)

    @property
    def speedup(self) -> float | None:
        """Against the best baseline, measured in turns with it; above 1 is faster. None without a kernel."""
        return None if self.report is None else self.report.speedup.best_baseline

    @property
    def source(self) -> str | None:
        """The kernel's module."""
        path = self.result.export.kernel
        return None if path is None else path.read_text(encoding="utf-8")

    @property
    def folder(self) -> Path:
        """Where kernel, report, test and benchmark lie."""
        return self.result.export.folder

    @cached_property
    def kernel(self) -> ProvenKernel:
        """The best correct kernel, built and loaded when first asked for. Raises `UserError` if there is none."""
        path = self.result.export.kernel
        if path is None or self.report is None:
            raise UserError(f"job {self.job_id} found no correct kernel ({self.status}): {self.message}")
        return ProvenKernel(path, self.report, tuple(parameter.default for parameter in self.made.captured.parameters))

    @property
    def gains(self) -> bool:
        """Whether there is a kernel that is surely faster than the best baseline."""
        return self.report is not None and self.report.accepted and gain_of(self.report.speedup) is Gain.SURELY

    @property
    def proven(self) -> frozenset[Signature]:
        """Signatures of the example calls that the report covers: announced ones it has figures for, and is not slower
        on, and the held-out ones where the kernel passed them."""
        return frozenset(proven_signature(inputs, self.device) for inputs in self._proven_inputs())

    def _proven_inputs(self) -> tuple[Inputs, ...]:
        report = self.report
        if report is None or not report.accepted:
            return ()
        figures = {item.shapes: gain_of(item.speedup) for item in report.shapes}
        announced = [
            inputs for inputs in self.made.announced if figures.get(_shapes(inputs), Gain.NONE) is not Gain.NONE
        ]
        gate = report.gate(GateName.GENERALIZATION)
        held_out = self.made.held_out if gate is not None and gate.status is GateStatus.PASSED else ()
        return (*announced, *held_out)

    def __repr__(self) -> str:
        return display.solution_line(self.result.job, self.report)

    def _repr_html_(self) -> str:
        return display.solution(self.result.job, self.report, self.folder)


def _shapes(inputs: Inputs) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(value.shape) for value in inputs if isinstance(value, torch.Tensor))


def _load(path: Path) -> torch.nn.Module:
    """The kernel's `ModelNew`, from its exported file."""
    name = f"kernelwright_solution_{path.parent.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    model: torch.nn.Module = module.ModelNew()
    return model.eval()
