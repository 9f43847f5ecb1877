"""Triton kernels of the playbook for products and attention, in Triton's interpreter: right at odd sizes, from one row
to sizes larger than traced, and with empty dimensions. float32 and float16; bfloat16 is left to GPUs (`tests/gpu`)."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.selection import collected, with_full

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton"
    ),
]

SDPA = "F.scaled_dot_product_attention"
WEIGHTS = "self.w = torch.nn.Parameter(torch.randn(48, 24)); self.b = torch.nn.Parameter(torch.randn(48))"
LAYERS = (
    "self.l = torch.nn.Linear(24, 64); self.gn = torch.nn.GroupNorm(4, 64); self.ln = torch.nn.LayerNorm(64);"
    " self.bn = torch.nn.BatchNorm1d(64); self.bn.running_mean.normal_(); self.bn.running_var.uniform_(0.5, 2)"
)
CASES: dict[str, dict[str, Any]] = {
    "plain": {"forward": "a @ b", "shapes": [[[40, 24], [24, 72]], [[1, 5], [5, 3]], [[130, 70], [70, 90]],
                                             [[0, 5], [5, 3]], [[4, 0], [0, 3]]]},
    "batched": {"forward": "torch.bmm(a, b)", "shapes": [[[3, 40, 24], [3, 24, 72]], [[1, 5, 7], [1, 7, 33]]]},
    "broadcast": {"forward": "a @ b", "shapes": [[[2, 1, 20, 24], [3, 24, 30]], [[2, 1, 3, 24], [3, 24, 7]]]},
    "vector": {"forward": "a @ b", "shapes": [[[40, 240], [240]], [[3, 5], [5]], [[3, 0], [0]]]},
    "long_inner": {"forward": "a @ b", "shapes": [[[40, 2100], [2100, 24]], [[3, 5], [5, 10]], [[3, 0], [0, 10]]]},
    "two_parts": {"forward": "a @ b", "shapes": [[[80, 260], [260, 100]], [[3, 5], [5, 10]], [[3, 0], [0, 10]]]},
    "both_transposed": {"forward": "a.T @ b.T", "shapes": [[[300, 80], [72, 300]]]},
    "rows_of_three": {"forward": "a @ b", "shapes": [[[3, 20, 24], [24, 72]], [[1, 1, 24], [24, 7]]]},
    "einsum": {"forward": "torch.einsum('bijl,lk->bijk', a, b)", "shapes": [[[2, 3, 20, 24], [24, 72]]]},
    "einsum_transposed": {"forward": "torch.einsum('bij,bkj->bik', a, b)", "shapes": [[[2, 20, 24], [2, 72, 24]]]},
    "persistent": {"forward": "F.relu(a.T @ b + c)", "dtype": "float16",
                   "shapes": [[[24, 1440], [24, 1504], [1504]], [[40, 70], [40, 130], [130]]]},
    "persistent_by_pointers": {"forward": "F.relu(a @ b.T + c)", "dtype": "float16",
                               "shapes": [[[1440, 24], [1500, 24], [1500]]]},
    "upper": {"forward": "torch.triu(a @ b)", "shapes": [[[150, 300], [300, 180]], [[70, 20], [20, 33]]]},
    "lower": {"forward": "torch.tril(a @ b, -3) * 2 + 1", "shapes": [[[150, 30], [30, 180]], [[70, 20], [20, 33]]]},
    "linear": {"forward": "F.gelu(F.linear(a, self.w, self.b), approximate='tanh')", "init": WEIGHTS,
               "shapes": [[[3, 20, 24]], [[1, 1, 24]]]},
    "addmm": {"forward": "torch.addmm(c, a, b, beta=0.5, alpha=2) * d",
              "shapes": [[[20, 24], [24, 30], [30], [20, 1]], [[3, 24], [24, 7], [7], [3, 1]]]},
    "activations": {"forward": "F.elu(F.hardswish(F.mish(torch.tanh(a @ b) + c)), 0.7)",
                    "shapes": [[[20, 24], [24, 30], [20, 30]], [[3, 24], [24, 7], [3, 7]]]},
    "masked": {"forward": "torch.where(c > 0, F.softplus(a @ b), -1.0).clamp(-0.5, 2.0)",
               "shapes": [[[20, 24], [24, 30], [30]], [[3, 24], [24, 7], [7]]]},
    "cast": {"forward": "F.silu(a.float() @ b.float()).to(a.dtype)", "shapes": [[[20, 24], [24, 30]]]},
    "row_softmax": {"forward": "torch.softmax(self.l(a) * 2, dim=-1)", "init": LAYERS,
                    "shapes": [[[20, 24]], [[1, 24]], [[0, 24]]]},
    "row_norms": {"forward": "F.gelu(self.ln(F.hardtanh(self.gn(self.l(a)))))", "init": LAYERS, "shapes": [[[20, 24]]]},
    "row_sums": {"forward": "torch.logsumexp(torch.max(self.l(a).sum(dim=1, keepdim=True), dim=1, keepdim=True)[0], 1)",
                 "init": LAYERS, "shapes": [[[20, 24]], [[1, 24]]]},
    "centred": {"forward": "(lambda y: (y - y.mean(1, keepdim=True)) * b)(self.l(a))", "init": LAYERS,
                "shapes": [[[20, 24], [64]], [[2, 24], [64]]]},
    "batch_norm": {"forward": "F.gelu(self.bn(self.l(a)) + 1)", "init": LAYERS, "shapes": [[[20, 24]], [[1, 24]]]},
    "attention": {"forward": f"{SDPA}(a, b, c)", "shapes": [[[2, 3, 70, 32], [2, 3, 50, 32], [2, 3, 50, 32]],
                                                           [[1, 1, 1, 32], [1, 1, 3, 32], [1, 1, 3, 32]],
                                                           [[1, 1, 5, 32], [1, 1, 0, 32], [1, 1, 0, 32]]]},
    "causal": {"forward": f"{SDPA}(a, b, c, is_causal=True)",
               "shapes": [[[1, 3, 140, 40], [1, 3, 140, 40], [1, 3, 140, 24]],
                          [[1, 1, 7, 40], [1, 1, 3, 40], [1, 1, 3, 24]]]},
    "shared_heads": {"forward": f"{SDPA}(a, b, c, enable_gqa=True, is_causal=True, scale=0.3)",
                     "shapes": [[[2, 4, 33, 80], [2, 2, 50, 80], [2, 2, 50, 80]]]},
    "wide_heads": {"forward": f"{SDPA}(a, b, c)", "shapes": [[[1, 2, 33, 300], [1, 2, 50, 300], [1, 2, 50, 300]]]},
    "written_out": {"forward": "torch.softmax(a @ b.transpose(-2, -1) / 5.5, dim=-1) @ c",
                    "shapes": [[[2, 4, 33, 24], [2, 4, 50, 24], [2, 4, 50, 24]]]},
}  # fmt: skip
"""Fields of `triton_interpreted.Case`."""
FEW_HALF = ("plain", "vector", "linear", "activations", "cast", "attention", "shared_heads")
"""Those that run in float16 as well."""
KERNELS = {
    "plain": {"matmul.tiled"},
    "vector": {"matmul.vector", "matmul.tiled"},
    "long_inner": {"matmul.tiled", "matmul.split_k"},
    "two_parts": {"matmul.tiled", "matmul.two_parts"},
    "persistent": {"matmul.tiled", "matmul.persistent"},
    "persistent_by_pointers": {"matmul.tiled", "matmul.persistent"},
    "upper": {"matmul.tiled", "matmul.two_parts"},
    "attention": {"attention.fused"},
    "shared_heads": {"attention.fused", "attention.three_steps"},
    "wide_heads": {"attention.three_steps"},
    "written_out": {"attention.fused"},
}
"""In float32, but for `persistent`."""
NAMES = [*CASES, *(f"{name}_half" for name in FEW_HALF)]
SELECTED = (
    "vector", "two_parts", "persistent", "linear", "row_softmax", "attention_half",
)  # fmt: skip
"""One of each kind of template: `make test-full` runs all."""


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the kernels of the collected cases did, from one process of the interpreter."""
    names = collected(request, "name")
    cases = [{"name": name, **case} for name, case in CASES.items() if name in names]
    cases += [
        {"name": f"{name}_half", "dtype": "float16", **CASES[name]} for name in FEW_HALF if f"{name}_half" in names
    ]
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "tests.integration.triton_interpreted"),
            *(json.dumps(cases), str(tmp_path_factory.mktemp("kernels"))),
        ],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize("name", with_full(NAMES, SELECTED))
def test_every_kernel_is_as_exact_as_the_reference(name: str, outcomes: list[dict[str, Any]]) -> None:
    found = [one for one in outcomes if one["case"] == name]
    rounding = 3e-4 if name.endswith("_half") or "dtype" in CASES[name] else 2e-6

    assert found
    assert [one for one in found if one["problem"] or one["error"] > max(2 * one["usual"], rounding)] == []


@pytest.mark.parametrize("name", with_full(sorted(KERNELS), SELECTED))
def test_the_catalogue_knows_these_kernels(name: str, outcomes: list[dict[str, Any]]) -> None:
    assert {one["kernel"] for one in outcomes if one["case"] == name} == KERNELS[name]
