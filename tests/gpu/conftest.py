"""One workbench on this machine's GPU for all tests of the folder; without a GPU they are skipped, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright.wiring.workbench import devices, make_workbench
from services.domain.evaluations import EvaluationReport
from services.domain.validations import ValidationReport, ValidationRequest
from tests.gpu.judge import backend_of, judge, problem_of
from workers.evaluation.evaluator import Evaluator

HERE = Path(__file__).parent
Judge = Callable[..., EvaluationReport]


@pytest.fixture(scope="session")
def device() -> str:
    have = devices()
    if len(have) == 1:
        pytest.skip("this machine has no NVIDIA GPU (no /dev/nvidiactl, or nvidia-smi does not answer)")
    return have[-1]


@pytest.fixture(scope="session")
def workbench(device: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    made = make_workbench(tmp_path_factory.mktemp("gpu"), device)
    yield made
    made.close()


@pytest.fixture(scope="session")
def judged(workbench: Evaluator, device: str) -> Judge:
    """Judges a candidate of this folder, after its problem was validated once."""
    validated: dict[str, ValidationReport] = {}

    def run(name: str, **options: Any) -> EvaluationReport:
        path = HERE / name
        problem = problem_of(path)
        if problem.name not in validated:
            request = ValidationRequest(
                job_id=f"job-{problem.name}",
                team_id="local",
                problem=problem,
                device=device,
                backend=backend_of(path),
            )
            validated[problem.name] = workbench.validate(request)
            assert validated[problem.name].refusal is None
        return judge(workbench, path, device, **options)

    return run
