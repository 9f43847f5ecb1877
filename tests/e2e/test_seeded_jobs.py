"""Jobs that start from an existing kernel: proven first, then improved; or brought over from another backend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.programs import SMALL, run
from tests.e2e.test_mcp import KERNEL

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(280)]
TRITON = """import torch
import triton
import triton.language as tl


@triton.jit
def silu(x, out, n, scale, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value * tl.sigmoid(value) * scale, mask=i < n)


class ModelNew(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        out = torch.empty_like(x)
        silu[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), self.scale, B=1024)
        return out
"""


def solve(tmp_path: Path, kernel: str, rounds: int) -> list[dict[str, Any]]:
    """Run a job from a kernel; the lines of its trajectory."""
    (tmp_path / "small.py").write_text(SMALL)
    (tmp_path / "kernel.py").write_text(kernel)
    ran = run(
        "run", tmp_path / "small.py", "--seed-candidate", tmp_path / "kernel.py", "--rounds", str(rounds),
        "--baselines", "eager", "--json", home=tmp_path / "home",
    )  # fmt: skip
    assert ran.returncode in (0, 1), ran.stderr
    return [json.loads(line) for line in Path(json.loads(ran.stdout)["trajectory_path"]).read_text().splitlines()]


def test_an_existing_kernel_is_proven_equal_first_and_then_rewarded_against_itself(tmp_path: Path) -> None:
    first, second = solve(tmp_path, KERNEL, 2)
    assert first["candidate"]["origin"] == "seed"
    assert first["candidate"]["source"].strip() == KERNEL.strip()
    assert first["report"]["verdict"] == "accepted"
    assert second["step"]["stage"] == "refine"
    assert second["candidate"]["parent_id"] == first["candidate"]["id"]
    if second["report"]["verdict"] == "accepted":
        ours, seeds = second["report"]["latency"]["median_us"], first["report"]["latency"]["median_us"]
        assert (second["step"]["reward"] > 0) == (ours < seeds)
        speedup = second["report"]["speedup"]
        assert speedup["seed_ci95"][0] <= speedup["seed"] <= speedup["seed_ci95"][1]
    assert first["report"]["speedup"]["seed"] is None


def test_a_wrong_kernel_is_refused_with_the_gate_that_rejected_it(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SMALL)
    (tmp_path / "kernel.py").write_text(KERNEL.replace("* (float)scale", "* (float)scale + 0.01f"))
    ran = run(
        "run", tmp_path / "small.py", "--seed-candidate", tmp_path / "kernel.py", "--baselines", "eager", "--json",
        home=tmp_path / "home",
    )  # fmt: skip
    assert ran.returncode == 1
    document = json.loads(ran.stdout)
    assert (document["status"], document["best"], document["rounds"]) == ("refused", None, 0)
    assert "the seed candidate was rejected by the gate correctness:" in ran.stderr


@pytest.mark.full
def test_a_kernel_of_another_backend_is_brought_over(tmp_path: Path) -> None:
    first, second = solve(tmp_path, TRITON, 2)
    assert first["report"]["verdict"] == "rejected"
    assert second["candidate"]["parent_id"] in (first["candidate"]["id"], None)
    assert second["candidate"]["backend"] == "cpp"
    assert second["report"]["verdict"] == "accepted"
