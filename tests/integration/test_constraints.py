"""Problems whose author promises something of the arguments, with a real sandbox, g++ and torch."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kernelwright.wiring.workbench import make_sandbox
from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from tests.integrity.conftest import SHEET
from tests.repeated import evaluated
from workers.backends.cpp import CppBackend, runtime_view
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.integration

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, z, mask, steps):
        y = x.abs()
        for _ in range(steps):
            y = y * 0.9 + 0.1
        return torch.where(mask, y, 0.0), z * z.shape[0]

def get_inputs():
    return [torch.rand(128, 64), torch.randn(51, 30), torch.arange(64) % 2 == 0, 3]

def get_init_inputs():
    return []
"""
KERNEL = r'''
import torch
import kernelwright_rt

lib = kernelwright_rt.compile_cpp(r"""
#include <cstdint>
extern "C" void run(const float* x, const float* z, float* y, float* w, int64_t n, int64_t m) {
  int64_t whole = n / (64 * 64) * (64 * 64);
  for (int64_t i = 0; i < n; ++i) {
    float v = x[i];
    for (int k = 0; k < 3; ++k) v = v * 0.9f + 0.1f;
    y[i] = i < whole && i % 2 == 0 ? v : 0.0f;
  }
  for (int64_t i = 0; i < m; ++i) w[i] = i < m / 2 * 2 ? z[i] * 51.0f : 0.0f;
}
""")

class ModelNew(torch.nn.Module):
    def forward(self, x, z, mask, steps):
        y, w = torch.empty_like(x), torch.empty_like(z)
        lib.run(x, z, y, w, x.numel(), z.numel())
        return y, w
'''
"""Right for whole blocks of rows, an even number of columns, 51 rows, no sign, the mask as it is and three steps."""
PROMISED: dict[str, Any] = {
    "x": {"shape": {0: "multiple of 64", 1: "fixed"}, "range": (0.0, 1.0)},
    "z": {"shape": {0: "fixed", -1: "even"}},
    "mask": "fixed",
    "steps": "fixed",
}


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    sandbox = make_sandbox()
    backend = CppBackend(sandbox, tmp_path_factory.mktemp("state"))
    one = Evaluator(sandbox, {"cpp": backend}, SHEET, views={"cpp": runtime_view}, memory_bytes=2 << 30)
    yield one
    one.close()
    sandbox.close()


def problem(promised: dict[str, Any] | None) -> Problem:
    line = "" if promised is None else f"\nCONSTRAINTS = {promised!r}\n"
    return Problem(name="p", source=PROBLEM + line, path="p.py")


def judged(evaluator: Evaluator, promised: dict[str, Any] | None) -> tuple[Verdict, str]:
    """The verdict, and what the last gate that was reached says."""
    request = EvaluationRequest(
        evaluation_id="eval",
        job_id="job",
        team_id="local",
        candidate_id="cand",
        problem=problem(promised),
        source=KERNEL,
        device="cpu",
        backend="cpp",
        baselines=("eager",),
    )
    report = evaluated(evaluator, request)
    if report.failed_gate is None:
        return report.verdict, next(gate.detail for gate in report.gates if gate.name.value == "generalization")
    return report.verdict, next(gate.detail for gate in report.gates if gate.name is report.failed_gate)


def test_a_kernel_may_rely_on_what_the_problem_promises(evaluator: Evaluator) -> None:
    verdict, detail = judged(evaluator, PROMISED)
    assert verdict is Verdict.ACCEPTED, detail
    for sentence in (
        "dimension 0 of `x` is a multiple of 64 by the problem",
        "values of `x` lie between 0 and 1 by the problem",
        "dimension 0 of `z` is fixed by the problem",
        "dimension -1 of `z` is even by the problem",
        "`mask` is fixed by the problem",
        "`steps` is fixed by the problem",
        "passed on derived shapes 64×64",
    ):
        assert sentence in detail
    assert "did not vary" not in detail


LESS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "nothing": (None, ""),
    "no rows": ({**PROMISED, "x": {"shape": {1: "fixed"}, "range": (0.0, 1.0)}}, "derived shapes"),
    "no range": ({**PROMISED, "x": {"shape": {0: "multiple of 64", 1: "fixed"}}}, "values"),
    "no fixed size": ({**PROMISED, "z": {"shape": {-1: "even"}}}, "derived shapes"),
    "no even size": ({**PROMISED, "z": {"shape": {0: "fixed"}}}, "derived shapes"),
    "no mask": (
        {name: one for name, one in PROMISED.items() if name != "mask"},
        "mask|a few elements of the arguments",
    ),
    "no steps": ({name: one for name, one in PROMISED.items() if name != "steps"}, "steps"),
}


@pytest.mark.parametrize("left", LESS)
def test_it_is_rejected_where_one_promise_is_missing(evaluator: Evaluator, left: str) -> None:
    promised, where = LESS[left]
    verdict, detail = judged(evaluator, promised)
    assert verdict is Verdict.REJECTED, detail
    assert re.search(where, detail)


@pytest.mark.parametrize(
    ("promised", "reason"),
    [
        ({"x": {"shape": {0: "multiple of 100"}}}, "dimension 0 of `x` is 128, no multiple of 100"),
        ({"z": "fixed"}, "`z` is fixed, and its values differ"),
        ({"maks": "fixed"}, "`maks`, which is no parameter"),
    ],
)
def test_what_contradicts_the_inputs_is_refused(evaluator: Evaluator, promised: dict[str, Any], reason: str) -> None:
    request = ValidationRequest(
        job_id="v", team_id="local", problem=problem(promised), device="cpu", backend="cpp", baselines=("eager",)
    )
    report = evaluator.validate(request)
    assert report.refusal is not None
    assert reason in report.refusal.reason
    assert report.refusal.remedy
    assert report.refusal.line == PROBLEM.count("\n") + 2


def test_a_job_is_told_what_results_hold_for(evaluator: Evaluator) -> None:
    request = ValidationRequest(
        job_id="w", team_id="local", problem=problem(PROMISED), device="cpu", backend="cpp", baselines=("eager",)
    )
    notes = evaluator.validate(request).notes
    assert any("`mask` is fixed by the problem" in note for note in notes), notes
