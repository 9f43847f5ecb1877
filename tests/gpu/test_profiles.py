"""What the profiler says of kernels whose limit is known."""

from __future__ import annotations

import base64

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


@pytest.mark.parametrize("name", ["honest/copy.triton.txt", "honest/silu.cuda.txt"])
def test_ncu_leaves_a_record_for_its_viewer_and_samples_by_line(judged: Judge, name: str) -> None:
    report = judged(name, profile=True)
    profile = report.profile
    assert profile is not None
    if profile.source != "ncu":
        pytest.skip(f"no hardware counters here: {profile.reason}")
    assert profile.file is not None
    assert profile.file.note == ""
    assert len(base64.b64decode(profile.file.content)) == profile.file.bytes > 1000
    assert profile.lines, "ncu_report tells no lines: is it beside ncu, in extras/python?"
    assert sum(one.share for one in profile.lines) == pytest.approx(1.0, abs=0.05)


def test_the_machine_code_of_an_accepted_triton_kernel_has_lines(judged: Judge) -> None:
    listing = judged("honest/copy.triton.txt", profile=True).listing
    assert listing is not None
    assert listing.form == "sass", listing.note
    assert "; line " in listing.text
    assert "; line " in listing.ptx
