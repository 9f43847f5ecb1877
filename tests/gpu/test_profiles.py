"""What the profiler says of kernels whose limit is known."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Judge

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    ("name", "bottleneck"),
    [
        ("honest/copy.triton.txt", "memory"),
        ("honest/halfmatmul.triton.txt", "compute"),
        ("honest/tiny.triton.txt", "latency"),
        ("honest/silu_spills.cuda.txt", "spills"),
    ],
)
def test_the_diagnosis_names_the_limit(judged: Judge, name: str, bottleneck: str) -> None:
    profile = judged(name, profile=True).profile
    assert profile is not None
    if profile.source != "ncu":
        pytest.skip(f"no hardware counters here: {profile.reason}")
    assert profile.bottleneck == bottleneck, profile.reason
    assert profile.metrics["custom_share"] == 1.0
    assert profile.metrics["registers"] > 0


def test_the_time_of_each_kernel_is_known_in_any_case(judged: Judge) -> None:
    profile = judged("honest/silu.cuda.txt", profile=True).profile
    assert profile is not None
    assert profile.source in ("ncu", "torch")
    assert profile.metrics["total_us"] > 10.0
