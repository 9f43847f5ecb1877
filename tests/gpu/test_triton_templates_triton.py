"""The playbook's Triton kernels pass every gate on this GPU, at odd sizes and in several types.

With the first of their settings: `benchmarks/triton_templates.py` runs the others."""

from __future__ import annotations

import pytest

from agents.playbook.triton.catalogue import kernels
from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.problems import Problem
from services.domain.tunables import declared, with_values
from services.domain.validations import ValidationRequest
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.gpu

ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
PROBLEMS: dict[str, tuple[str, list[tuple[int, ...]], tuple[str, ...]]] = {
    "product": ("a @ b", [(257, 1030), (1030, 515)], ("float32", "float16", "bfloat16")),
    "both_transposed": ("a.T @ b.T", [(1024, 264), (520, 1024)], ("float32", "bfloat16")),
    "batched": ("torch.bmm(a, b)", [(5, 130, 300), (5, 300, 77)], ("float32", "float16")),
    "small": ("a @ b", [(67, 4096), (4096, 33)], ("float32", "bfloat16")),
    "vector": ("a @ b", [(1025, 4097), (4097, 1)], ("float32", "float16")),
    "upper": ("torch.triu(a @ b, 1) + 1", [(513, 260), (260, 514)], ("float32", "float16")),
    "epilogue": ("torch.nn.functional.gelu(a @ b + c) * 0.5 + d", [(300, 264), (264, 520), (520,), (300, 520)],
                 ("float32", "float16", "bfloat16")),
    "persistent": ("a @ b + c", [(2000, 264), (264, 1400), (1400,)], ("float16", "bfloat16")),
    "persistent_transposed": ("a.T @ b.T", [(264, 2000), (1400, 264)], ("bfloat16",)),
    "row_softmax": ("torch.softmax((a @ b) * 0.1, dim=-1)", [(130, 264), (264, 777)], ("float32", "bfloat16")),
    "row_sums": ("torch.logsumexp((a @ b).clamp(-4, 4), dim=1, keepdim=True)", [(130, 264), (264, 777)], ("float32",)),
    "attention": (f"{ATTENTION}(a, b, c)", [(2, 3, 257, 80), (2, 3, 131, 80), (2, 3, 131, 72)], ("float32", "float16")),
    "causal": (f"{ATTENTION}(a, b, c, is_causal=True, enable_gqa=True)",
               [(2, 4, 257, 64), (2, 2, 300, 64), (2, 2, 300, 64)], ("float32", "bfloat16")),
    "wide_heads": (f"{ATTENTION}(a, b, c, scale=0.1)", [(1, 2, 129, 300)] * 3, ("float32",)),
}  # fmt: skip
"""Expression, shapes, types."""


def source_of(expression: str, shapes: list[tuple[int, ...]], dtype: str) -> str:
    names = "abcd"[: len(shapes)]
    drawn = ", ".join(f"torch.randn({shape}).to(torch.{dtype})" for shape in shapes)
    return (
        "import torch\nclass Model(torch.nn.Module):\n"
        f"    def forward(self, {', '.join(names)}):\n        return {expression}\n"
        f"def get_inputs():\n    return [{drawn}]\n"
    )


def with_first_setting(source: str) -> str:
    return with_values(source, {name: values[0] for name, values in (declared(source) or {}).items()})


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name, item in PROBLEMS.items() for dtype in item[2]])
def test_every_kernel_is_accepted(name: str, dtype: str, workbench: Evaluator, device: str) -> None:
    expression, shapes, _ = PROBLEMS[name]
    problem = Problem(name=f"{name}-{dtype}", source=source_of(expression, shapes, dtype), path="p.py")
    job = f"job-{name}-{dtype}"
    found = workbench.validate(
        ValidationRequest(
            job_id=job, team_id="local", problem=problem, device=device, backend="triton", baselines=("eager",)
        )
    )
    assert found.refusal is None
    assert found.analysis is not None
    known = kernels(found.analysis)
    assert known

    refused = []
    for kernel in known:
        report = workbench.evaluate(
            EvaluationRequest(
                evaluation_id=f"eval-{job}-{kernel.name}",
                job_id=job,
                team_id="local",
                candidate_id=f"cand-{job}-{kernel.name}",
                problem=problem,
                source=with_first_setting(kernel.variant.source),
                device=device,
                backend="triton",
                baselines=("eager",),
                profile=False,
            ),
            lambda: False,
        )
        if report.verdict is not Verdict.ACCEPTED:
            wrong = [(gate.name.value, gate.detail) for gate in report.gates if gate.status.value != "passed"]
            refused.append((kernel.name, report.verdict.value, wrong))
    workbench.close_job(job)

    assert refused == []
