"""Honest and cheating Triton and CUDA candidates, judged for real."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from services.domain.evaluations import Verdict
from tests.gpu.conftest import Judge

pytestmark = pytest.mark.gpu
HERE = Path(__file__).parent


def named(folder: str) -> list[str]:
    return sorted(f"{folder}/{path.name}" for path in (HERE / folder).glob("*.txt"))


@pytest.mark.parametrize("name", named("honest"))
def test_an_honest_candidate_is_accepted(judged: Judge, name: str) -> None:
    report = judged(name)
    assert report.verdict is Verdict.ACCEPTED, [gate for gate in report.gates if gate.status.value != "passed"]
    assert report.latency is not None
    assert report.latency.samples >= 10
    assert report.environment.driver is not None
    assert report.environment.clocks["sm_mhz"] > 0
    assert report.environment.tf32 is False


@pytest.mark.parametrize("name", named("cheats"))
def test_a_cheat_is_never_accepted(judged: Judge, name: str) -> None:
    """The first line of its file names the verdicts and the gates that may find it, or what it may be accepted with:
    a figure that is the truth, so that it gains nothing."""
    first = (HERE / name).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    report = judged(name)
    if first.startswith("at most "):
        assert (report.speedup.ci95 or (0.0, 0.0))[0] <= float(first.removeprefix("at most ").removesuffix("x"))
        return
    _, verdicts, gates = first.split()
    told = [gate for gate in report.gates if gate.status.value in ("failed", "suspicious")]
    assert report.verdict.value in verdicts.split("|"), [gate.detail for gate in told]
    found = [gate.name.value for gate in told]
    assert set(found) <= set(gates.split("|"))
    assert found


def test_a_hanging_kernel_leaves_the_gpu_usable(judged: Judge) -> None:
    assert judged("cheats/silu_hangs.cuda.txt").verdict is Verdict.REJECTED
    assert judged("honest/silu.cuda.txt").verdict is Verdict.ACCEPTED


def test_an_access_out_of_bounds_leaves_the_gpu_usable(judged: Judge) -> None:
    report = judged("cheats/silu_out_of_bounds.cuda.txt")
    assert "illegal memory access" in next(gate.detail for gate in report.gates if gate.status.value == "failed")
    assert judged("honest/silu_two_streams.triton.txt").verdict is Verdict.ACCEPTED


def test_a_hanging_kernel_is_ended_soon_after_its_limit(judged: Judge) -> None:
    started = time.monotonic()
    report = judged("cheats/silu_hangs.cuda.txt", timeout_s=3.0)
    assert report.verdict is Verdict.REJECTED
    assert time.monotonic() - started < 3.0 + 5.0 + 5.0  # the build, which may be cold, is not the kernel's


def test_lack_of_memory_is_told_from_a_wrong_result(judged: Judge) -> None:
    report = judged("cheats/silu_needs_too_much.triton.txt")
    told = next(gate.detail for gate in report.gates if gate.status.value == "failed")
    assert "out of memory: the reference takes" in told


def test_the_dearest_baseline_is_measured_when_it_is_asked_for(judged: Judge) -> None:
    report = judged("honest/softmax.triton.txt", baselines=("eager", "compile", "compile_max"))
    assert report.verdict is Verdict.ACCEPTED
    assert report.baselines.compile_max is not None
    assert report.speedup.compile_max is not None


def test_declared_parameters_are_searched_on_the_gpu(judged: Judge) -> None:
    report = judged("honest/silu_tunables.triton.txt")
    assert report.tuned is not None
    assert report.tuned.tried == 9
    assert set(report.tuned.parameters) == {"BLOCK", "WARPS"}


def test_an_inline_extension_is_built_before_the_gpu_is_held(judged: Judge) -> None:
    report = judged("honest/silu_load_inline.cuda.txt")
    compiled = next(gate for gate in report.gates if gate.name.value == "compile")
    assert "1 library" in compiled.detail


def test_a_quick_look_accepts_nobody(judged: Judge) -> None:
    report = judged("honest/silu.cuda.txt", every_gate=False)
    assert report.verdict is Verdict.SUSPICIOUS
    assert report.latency is not None
    assert report.latency.samples == 100
    assert report.speedup.eager is not None
    assert judged("cheats/softmax_unwritten.triton.txt", every_gate=False).verdict is Verdict.REJECTED
