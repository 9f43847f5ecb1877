"""Convolutions, pools, norms, losses and scans of the Triton playbook pass every gate on this GPU, at odd sizes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from agents.playbook.triton.catalogue import kernels
from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from workers.evaluation.evaluator import Evaluator

pytestmark = pytest.mark.gpu

ALL = ("float32", "float16", "bfloat16")
WITH_FLOAT16, WITH_BFLOAT16, EXACT = ALL[:2], ALL[::2], ALL[:1]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem: a layer, or an expression of `x` and `y`."""

    shape: tuple[int, ...]
    layer: str = "Identity()"
    expression: str = "self.layer(x)"
    second: str = ""
    """An expression for `y`."""
    dtypes: tuple[str, ...] = ALL

    def source(self, dtype: str) -> str:
        names = "x, y" if self.second else "x"
        drawn = ", ".join([f"torch.randn({self.shape}).to(torch.{dtype})", *([self.second] if self.second else [])])
        return (
            "import torch\nimport torch.nn.functional as F\nclass Model(torch.nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            f"        self.layer = torch.nn.{self.layer}.to(torch.{dtype})\n"
            f"    def forward(self, {names}):\n        return {self.expression}\n"
            f"def get_inputs():\n    return [{drawn}]\n"
        )


CASES = {
    "conv2d": Case(shape=(5, 37, 61, 67), layer="Conv2d(37, 75, (3, 5), padding=(1, 2), stride=(2, 1))"),
    "conv1d": Case(shape=(5, 32, 1031), layer="Conv1d(32, 48, 3, dilation=4, stride=3)", dtypes=WITH_BFLOAT16),
    "conv3d": Case(shape=(4, 3, 17, 33, 35), layer="Conv3d(3, 40, (3, 5, 3), padding=1)", dtypes=WITH_FLOAT16),
    "grouped": Case(shape=(4, 40, 65, 33), layer="Conv2d(40, 24, 3, groups=2, padding=1)", dtypes=WITH_FLOAT16),
    "transposed": Case(
        shape=(4, 33, 31, 37), layer="ConvTranspose2d(33, 47, (3, 5), stride=(2, 3), padding=1, dilation=(2, 1))"
    ),
    "transposed_3d": Case(
        shape=(4, 32, 9, 11, 23), layer="ConvTranspose3d(32, 16, 3, stride=2, padding=1, output_padding=1, groups=2)",
        dtypes=WITH_BFLOAT16,
    ),
    "depthwise": Case(shape=(4, 33, 65, 131), layer="Conv2d(33, 33, (3, 7), padding=(1, 3), groups=33)"),
    "separable": Case(
        shape=(4, 33, 65, 131), expression="self.layer(x)", dtypes=WITH_FLOAT16,
        layer="Sequential(torch.nn.Conv2d(33, 33, 3, groups=33), torch.nn.Conv2d(33, 50, 1))",
    ),
    "max_pool": Case(shape=(4, 9, 131, 257), layer="MaxPool2d(4, 1, 1)"),
    "max_pool_3d": Case(shape=(4, 5, 33, 35, 67), layer="MaxPool3d(3, 2, 1, 3)", dtypes=WITH_FLOAT16),
    "average_pool": Case(shape=(4, 9, 257, 263), layer="AvgPool2d((3, 5), (2, 3), (1, 2), ceil_mode=True)"),
    "group_norm": Case(shape=(6, 12, 131, 129), layer="GroupNorm(3, 12)"),
    "instance_norm": Case(shape=(6, 3, 263, 257), layer="InstanceNorm2d(3, affine=True)", dtypes=WITH_FLOAT16),
    "layer_norm": Case(shape=(9, 7, 65, 129), layer="LayerNorm((7, 65, 129))", dtypes=WITH_BFLOAT16),
    "cross_entropy": Case(
        shape=(517, 5003), expression="F.cross_entropy(x, y)", second="torch.randint(0, 5003, (517,))"
    ),
    "cross_entropy_of_wider_logits": Case(
        shape=(520, 5003),
        expression="F.cross_entropy(x.float(), y)",
        second="torch.randint(0, 5003, (520,))",
        dtypes=WITH_FLOAT16,
    ),
    "cumsum": Case(shape=(131, 5003), expression="torch.cumsum(x, 1)", dtypes=EXACT),
    "cumprod": Case(shape=(131, 5003), expression="torch.cumprod(x, 1)", dtypes=EXACT),
    "reverse": Case(shape=(131, 5003), expression="torch.cumsum(x.flip(1), 1).flip(1)", dtypes=EXACT),
    "down": Case(shape=(131, 257, 33), expression="torch.cumsum(x, 1)", dtypes=EXACT),
    "masked": Case(
        shape=(131, 5003), expression="torch.cumsum(x * y, 1)", second="torch.rand(131, 5003) > 0.5", dtypes=EXACT
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name, case in CASES.items() for dtype in case.dtypes])
def test_every_kernel_is_accepted(name: str, dtype: str, workbench: Evaluator, device: str) -> None:
    problem = Problem(name=f"{name}-{dtype}", source=CASES[name].source(dtype), path="p.py")
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
                source=kernel.variant.source,
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
