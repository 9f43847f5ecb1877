"""The compiler's own Triton kernels, made candidates on this GPU, pass every gate at odd sizes and in several types."""

from __future__ import annotations

import pytest

from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.gpu

OPERATORS = {
    "softmax": "torch.softmax(x.float(), -1).to(x.dtype)",
    "pointwise": "torch.nn.functional.gelu(x) * 1.5",
    "scan": "torch.cumsum(x.float(), 1)",
    "reduction": "x.float().square().mean(0)",
}


def source_of(expression: str, dtype: str, rows: int, columns: int) -> str:
    return (
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        f"        return {expression}\n"
        f"def get_inputs():\n    return [torch.randn({rows}, {columns}).to(torch.{dtype})]\n"
        f"HELD_OUT = [lambda: [torch.randn({rows // 2 + 1}, {columns}).to(torch.{dtype})]]\n"
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_a_draft_is_accepted(operator: str, dtype: str, workbench: Evaluator, device: str) -> None:
    source = source_of(OPERATORS[operator], dtype, 2049, 1537)
    problem = Problem(name=f"{operator}-{dtype}", source=source, path="p.py")
    job, baselines = f"job-{operator}-{dtype}", ("eager", "compile")
    found = workbench.validate(
        ValidationRequest(
            job_id=job,
            team_id="local",
            problem=problem,
            device=device,
            backend="triton",
            baselines=baselines,
            draft=True,
        )
    )
    assert found.draft is not None
    assert found.draft.source is not None, found.draft.reason

    report = workbench.evaluate(
        EvaluationRequest(
            evaluation_id=f"eval-{job}",
            job_id=job,
            team_id="local",
            candidate_id=f"cand-{job}",
            problem=problem,
            source=found.draft.source,
            device=device,
            backend="triton",
            baselines=baselines,
            profile=False,
        ),
        lambda: False,
    )
    workbench.close_job(job)

    assert [(gate.name.value, gate.detail) for gate in report.gates if gate.status.value != "passed"] == []
    assert report.verdict is Verdict.ACCEPTED


def test_a_job_about_cuda_has_no_draft(workbench: Evaluator, device: str) -> None:
    source = source_of(OPERATORS["pointwise"], "float32", 64, 64)

    found = workbench.validate(
        ValidationRequest(
            job_id="job-cuda",
            team_id="local",
            problem=Problem(name="cuda", source=source, path="p.py"),
            device=device,
            backend="cuda",
            baselines=("eager",),
            draft=True,
        )
    )

    assert found.draft is not None
    assert found.draft.source is None
    assert found.draft.reason is not None
    assert "writes triton" in found.draft.reason
