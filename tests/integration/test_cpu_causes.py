"""The CPU diagnosis names what was planted in five kernels, without hardware counters."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.wiring.workbench import make_sandbox
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.problems import Problem
from tests.integrity.conftest import SHEET
from tests.repeated import evaluated
from workers.backends.cpp import CppBackend, runtime_view
from workers.evaluation.evaluator import Evaluator
from workers.profilers.perf_counters import PerfProfiler
from workers.sampler.handle import missing_permission

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        bool(missing_permission()), reason="this machine lets nobody sample (kernel.perf_event_paranoid, CAP_PERFMON)"
    ),
]
PLANTED = Path(__file__).parent / "planted"
KERNELS = sorted(PLANTED.glob("*.kernel.txt"))


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    state = tmp_path_factory.mktemp("state")
    sandbox = make_sandbox()
    sheet = dataclasses.replace(SHEET, copy_bandwidth_gb_s=8.0)  # a busy machine is slower, and that is no cause
    backends = {"cpp": CppBackend(sandbox, state)}
    one = Evaluator(sandbox, backends, sheet, views={"cpp": runtime_view}, profiler=PerfProfiler("no-such-perf"))
    try:
        yield one
    finally:
        one.close()
        sandbox.close()


def judged(evaluator: Evaluator, kernel: Path) -> EvaluationReport:
    problem = kernel.with_name(kernel.name.replace(".kernel.", ".problem."))
    return evaluated(
        evaluator,
        EvaluationRequest(
            evaluation_id=kernel.stem,
            job_id="causes",
            team_id="local",
            candidate_id=kernel.stem,
            problem=Problem(name=kernel.stem, source=problem.read_text(), allow_library=_permitted(kernel)),
            source=kernel.read_text(),
            device="cpu",
            backend="cpp",
            baselines=("eager",),
        ),
    )


def _permitted(kernel: Path) -> tuple[str, ...]:
    """The hidden library is permitted, so that there is a profile: without that, it ends the evaluation."""
    hidden = ("amax", "exp", "sub", "sum", "div", "softmax", "mkl_vml", "copy_", "binary_kernel", "reduce")
    return hidden if kernel.name.startswith("hidden") else ()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.name.split(".")[0])
def test_the_cause_is_named(evaluator: Evaluator, kernel: Path) -> None:
    report = judged(evaluator, kernel)
    planted = re.search(r"# cause: (\w+)", kernel.read_text())
    assert planted is not None
    assert report.profile is not None, "\n".join(f"{gate.name}: {gate.status}: {gate.detail}" for gate in report.gates)
    assert report.profile.bottleneck == planted[1], report.profile


def test_there_are_five_causes() -> None:
    assert len(KERNELS) == 5
