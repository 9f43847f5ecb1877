"""Problems that take or return what few do: each is judged as it is, or refused with reason, remedy and line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.gates import GateName, GateStatus
from services.domain.problems import Problem
from services.domain.validations import ProblemRefusal, ValidationRequest
from tests.integrity.conftest import an_evaluator
from tests.repeated import evaluated
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.integration

PLAIN = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x) * x + 1

def get_inputs():
    return [torch.randn(64, 3000)]

def get_init_inputs():
    return []
"""
KERNEL = r'''
import torch
import kernelwright_rt

lib = kernelwright_rt.compile_cpp(r"""
#include <cstdint>
#include <cmath>
extern "C" void gated(const float* x, float* y, int64_t n) {
  #pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] / (1.0f + std::exp(-x[i])) + 1.0f;
}
""")

def gated(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    lib.gated(x, y, x.numel())
    return y

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return gated(x)
'''
RETURN = "return torch.sigmoid(x) * x + 1"
DRAWN = "return [torch.randn(64, 3000)]"
OF_KERNEL = "return gated(x)"

JUDGED = {
    "mutates its argument": (
        PLAIN.replace(RETURN, "return x.copy_(torch.sigmoid(x) * x + 1)"),
        KERNEL.replace(OF_KERNEL, "return x.copy_(gated(x))"),
    ),
    "returns a view of its argument": (
        PLAIN.replace(RETURN, "return torch.sigmoid(x) * x + 1, x[:, :5]"),
        KERNEL.replace(OF_KERNEL, "return gated(x), x[:, :5]"),
    ),
    "nested five deep, with None": (
        PLAIN.replace(RETURN, "x = x['a'][0][1]['b'][0]; " + RETURN).replace(
            DRAWN, "return [{'a': ((None, {'b': [torch.randn(64, 3000), None]}), None)}]"
        ),
        KERNEL.replace(OF_KERNEL, "return gated(x['a'][0][1]['b'][0])"),
    ),
    "rank 0 first": (
        PLAIN.replace("randn(64, 3000)", "randn(())")
        + "def _row():\n    return [torch.randn(3000)]\n\ndef _block():\n    return [torch.randn(64, 3000)]\n\n"
        "INPUT_SETS = [_row, _block]\n",
        KERNEL,
    ),
}
REFUSED = {
    "random numbers": (PLAIN.replace(RETURN, f"{RETURN} + torch.rand_like(x)"), "not deterministic", 5),
    "dropout": (
        PLAIN.replace(RETURN, "return torch.nn.functional.dropout(torch.sigmoid(x) * x + 1)"),
        "not deterministic",
        5,
    ),
    "a counter": (
        PLAIN.replace(RETURN, f"self.n = getattr(self, 'n', 0) + 1\n        {RETURN} * self.n"),
        "not deterministic",
        5,
    ),
    "time": (
        PLAIN.replace(RETURN, f"import time\n        {RETURN} * (time.perf_counter() % 1)"),
        "not deterministic",
        5,
    ),
    "as many outputs as it likes": (
        PLAIN.replace(RETURN, "return [torch.sigmoid(x)] * int(torch.randint(1, 1 << 16, ()))"),
        "of the same sizes",
        5,
    ),
    "a variable of the environment": (
        PLAIN.replace(RETURN, f"import os\n        {RETURN} * float(os.environ['SCALE'])"),
        "KeyError",
        7,
    ),
    "the first set is empty": (PLAIN.replace("64, 3000", "0, 3000"), "without elements", 8),
    "the number of arguments varies": (
        PLAIN.replace("self, x", "self, x, *more").replace(
            DRAWN, "return [torch.randn(64, 3000) for _ in range(int(torch.randint(1, 9, ())))]"
        ),
        "under one seed and",
        8,
    ),
    "the shapes vary": (PLAIN.replace("64, 3000", "int(torch.randint(1, 64, ())), 3000"), "under one seed and", 8),
    "the dtype varies": (
        PLAIN.replace("randn(64, 3000)", "randn(64, 3000).to([torch.float32, torch.float64][torch.randint(2, ())])"),
        "under one seed and",
        8,
    ),
    "the number of outputs depends on values": (
        PLAIN.replace(RETURN, "return [torch.sigmoid(x) * x] * (1 + int(x[0, 0] > 0))"),
        "in another of the same sizes",
        5,
    ),
    "the dtype of the output depends on values": (
        PLAIN.replace(RETURN, "return (torch.sigmoid(x) * x).to(torch.float64 if x[0, 0] > 0 else torch.float32)"),
        "in another of the same sizes",
        5,
    ),
}


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with an_evaluator() as one:
        yield one


@pytest.mark.parametrize("name", list(JUDGED))
def test_an_honest_kernel_is_accepted(evaluator: Evaluator, name: str) -> None:
    source, kernel = JUDGED[name]
    request = EvaluationRequest(
        evaluation_id="eval",
        job_id=name,
        team_id="local",
        candidate_id="cand",
        problem=Problem(name="gated", source=source, path="gated.py"),
        source=kernel,
        device="cpu",
        backend="cpp",
        baselines=("eager",),
        timeout_s=120.0,
    )
    report = evaluated(evaluator, request)
    evaluator.close_job(name)
    if report.verdict is Verdict.INFRASTRUCTURE_ERROR:  # a call on one element is over too soon for a busy machine
        assert [gate.status for gate in report.gates[:-1]] == [GateStatus.PASSED] * (len(GateName) - 1), report
        assert "busy" in report.gates[-1].detail, report
        return
    assert report.verdict is Verdict.ACCEPTED, report


def refused(evaluator: Evaluator, name: str, source: str) -> ProblemRefusal:
    problem = Problem(name="gated", source=source, path="gated.py")
    request = ValidationRequest(job_id=name, team_id="local", problem=problem, device="cpu", backend="cpp")
    refusal = evaluator.validate(request).refusal
    assert refusal is not None
    return refusal


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_no_kernel_can_be_judged_by_is_refused_with_its_line(evaluator: Evaluator, name: str) -> None:
    source, reason, line = REFUSED[name]
    refusal = refused(evaluator, name, source)
    assert reason in refusal.reason, refusal
    assert refusal.remedy
    assert refusal.line == line


def test_inputs_that_leave_no_room_for_a_call_are_refused_for_memory(evaluator: Evaluator) -> None:
    refusal = refused(evaluator, "1.1 GiB", PLAIN.replace("64, 3000", "1 << 15, 9000"))
    assert "give workers more memory" in refusal.remedy, refusal
