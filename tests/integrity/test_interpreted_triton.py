"""Triton candidates on a machine without a GPU: Triton's interpreter checks them, and the report says so."""

import dataclasses
import importlib.util
from collections.abc import Iterator

import pytest

from kernelwright.wiring.workbench import make_sandbox
from services.domain.evaluations import Verdict
from services.domain.gates import GateName, GateStatus
from tests.integrity.conftest import SHEET
from tests.integrity.test_candidates import Declared, explain, judge
from workers.backends.triton import InterpretedTritonBackend
from workers.evaluation.evaluator import Evaluator

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton"
    ),
]

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def silu_scale(x, w, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    v = tl.load(x + row * n + columns, mask=inside)
    tl.store(y + row * n + columns, v * tl.sigmoid(v) * tl.load(w + columns, mask=inside), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(n))

    def forward(self, x):
        y = torch.empty_like(x)
        n = x.shape[1]
        silu_scale[(x.shape[0],)](x, self.weight, y, n, BLOCK=triton.next_power_of_2(n))
        return y
"""
CANDIDATE = Declared(name="triton", problem="silu_scale", verdict="", gates=(), reason="", source=KERNEL)


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    sandbox = make_sandbox()
    backend = InterpretedTritonBackend(sandbox, tmp_path_factory.mktemp("cache"))
    one = Evaluator(sandbox, {"triton": backend}, SHEET, views={"triton": backend.view})
    yield one
    one.close()
    sandbox.close()


def test_a_right_kernel_passes_every_check_and_is_marked_as_not_timed(interpreter: Evaluator) -> None:
    report = judge(interpreter, CANDIDATE, backend="triton")
    assert report.verdict is Verdict.SUSPICIOUS, explain(report)
    assert [gate.name for gate in report.gates if gate.status is not GateStatus.PASSED] == [GateName.TIMING]
    timing = report.gate(GateName.TIMING)
    assert timing is not None
    assert "checked, not timed" in timing.detail
    assert report.latency is None
    assert (report.environment.toolkit or "").endswith("interpreter")


def test_a_wrong_kernel_is_rejected_for_being_wrong(interpreter: Evaluator) -> None:
    wrong = dataclasses.replace(CANDIDATE, source=KERNEL.replace("tl.sigmoid(v)", "tl.sigmoid(v + 0.01)"))
    report = judge(interpreter, wrong, backend="triton")
    assert report.verdict is Verdict.REJECTED
    assert report.failed_gate is GateName.CORRECTNESS, explain(report)
