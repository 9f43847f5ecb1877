"""Exported GPU kernels, called as they were not judged: they raise before a kernel reads beyond its buffers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from services.domain.candidates import EvaluatedCandidate
from services.domain.jobs import JobSpec
from services.domain.validations import ValidationRequest
from services.exports.evidence import evidence_files
from services.exports.winner import Winner
from tests.doubles import a_candidate, a_job, a_report
from tests.gpu.judge import HERE, backend_of, problem_of
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.gpu
RUNTIME = Path(__file__).parents[2] / "kernelwright_rt.py"
KERNELS = ("softmax.triton.txt", "matvec.cuda.txt")
CALLS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], type[Exception], str]] = {
    "bfloat16": (lambda x: x.bfloat16(), TypeError, "x is bfloat16 of rank 2 on cuda"),
    "float64": (lambda x: x.double(), TypeError, "x is float64 of rank 2 on cuda"),
    "int64": (lambda x: x.long(), TypeError, "x is int64 of rank 2 on cuda"),
    "on the CPU": (lambda x: x.cpu(), ValueError, "x is float32 of rank 2 on cpu"),
    "on meta": (lambda x: x.to("meta"), ValueError, "x is float32 of rank 2 on meta"),
    "rank + 1": (lambda x: x.unsqueeze(0), ValueError, "x is float32 of rank 3 on cuda"),
    "rank - 1": (lambda x: x[0], ValueError, "x is float32 of rank 1 on cuda"),
    "empty": (lambda x: x[:0], ValueError, "x is float32 without elements of rank 2 on cuda"),
}


@pytest.fixture(params=KERNELS)
def winner(request: pytest.FixtureRequest, workbench: Evaluator, device: str) -> Winner:
    path = HERE / "honest" / request.param
    problem, source = problem_of(path), path.read_text(encoding="utf-8")
    job = f"job-{problem.name}"
    validated = workbench.validate(
        ValidationRequest(job_id=job, team_id="local", problem=problem, device=device, backend=backend_of(path))
    )
    candidate, report = replace(a_candidate(source=source), backend=backend_of(path)), a_report()
    return Winner(
        job=replace(a_job(job, spec=JobSpec(problem=problem, device=device)), analysis=validated.analysis),
        candidate=candidate,
        report=report,
        source=source,
        lineage=(EvaluatedCandidate(candidate=candidate, report=report),),
        runtime=RUNTIME.read_text(encoding="utf-8"),
    )


def test_a_call_that_was_not_judged_raises_and_the_next_one_is_right(winner: Winner, tmp_path: Path) -> None:
    files = evidence_files(winner)
    reference, exported = (_module(tmp_path / name, files[name]) for name in ("problem.py", "kernel.py"))
    given = reference.get_init_inputs()
    original, kernel = reference.Model(*given).cuda(), exported.ModelNew(*given).cuda()
    kernel.load_state_dict(original.state_dict())
    x = reference.get_inputs()[0].cuda()

    for change, error, message in CALLS.values():
        with torch.no_grad(), pytest.raises(error, match=message):
            kernel(change(x))

    with torch.no_grad():
        torch.testing.assert_close(kernel(x), original(x), rtol=1e-4, atol=1e-4)
    torch.cuda.synchronize()


def test_gradients_that_were_not_judged_raise_in_the_backward_pass(winner: Winner, tmp_path: Path) -> None:
    files = evidence_files(winner)
    reference, exported = (_module(tmp_path / name, files[name]) for name in ("problem.py", "kernel.py"))
    kernel = exported.ModelNew(*reference.get_init_inputs()).cuda()

    output = kernel(reference.get_inputs()[0].cuda().requires_grad_())

    with pytest.raises(RuntimeError, match=r"torch\.no_grad"):
        output.sum().backward()


def test_weights_on_the_cpu_raise(winner: Winner, tmp_path: Path) -> None:
    files = evidence_files(winner)
    reference, exported = (_module(tmp_path / name, files[name]) for name in ("problem.py", "kernel.py"))
    kernel = exported.ModelNew(*reference.get_init_inputs())
    if not kernel.state_dict():
        pytest.skip("this kernel has no weights")

    with torch.no_grad(), pytest.raises(TypeError, match="weight: float32 on cuda; it is float32 on cpu"):
        kernel(reference.get_inputs()[0].cuda())


def _module(path: Path, text: str) -> ModuleType:
    """Of a file: Triton reads a kernel's source there."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
