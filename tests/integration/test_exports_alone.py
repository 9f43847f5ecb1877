"""Exports run by themselves: in an environment without Kernelwright, with torch and a compiler only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from services.domain.candidates import EvaluatedCandidate
from services.domain.jobs import JobSpec
from services.domain.measurements import Passes, PassTimes
from services.exports.evidence import evidence_files
from services.exports.gpu_mode import submission
from services.exports.packages import python_package
from services.exports.winner import Winner
from tests.doubles import a_candidate, a_job, a_problem, a_report, an_analysis

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]
RIGHT = '''import torch
from kernelwright_rt import compile_cpp

LIBRARY = compile_cpp("""
#include <cstdint>
extern "C" void relu(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0.0f;
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        LIBRARY.relu(x, y, x.numel())
        return y
'''


def a_winner(source: str) -> Winner:
    """A hand-written ReLU as a job's winner."""
    candidate, report = a_candidate(source=source), a_report()
    problem = a_problem((ROOT / "tests" / "integration" / "relu_problem.txt").read_text(), name="relu")
    job = replace(a_job(spec=JobSpec(problem=problem)), analysis=an_analysis())
    return Winner(
        job=job,
        candidate=candidate,
        report=report,
        source=source,
        lineage=(EvaluatedCandidate(candidate=candidate, report=report),),
        runtime=(ROOT / "kernelwright_rt.py").read_text(),
    )


def written(files: dict[str, str], folder: Path) -> Path:
    """The files in a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def ran(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python with torch that cannot import anything of ours."""
    torch_home = str(Path(torch.__file__).parents[1])
    block = f"import sys; sys.path.append({torch_home!r})\n"
    (folder / "sitecustomize.py").write_text(block)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(folder), "TMPDIR": str(folder)}
    code = f"{block}import runpy; sys.argv = {list(arguments)!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )


def test_a_bundle_passes_its_own_test_and_prints_its_own_benchmark(tmp_path: Path) -> None:
    folder = written(evidence_files(a_winner(RIGHT)), tmp_path)
    tested = ran("test_kernel.py", folder=folder)
    assert tested.returncode == 0, tested.stderr
    assert tested.stdout.startswith("right: 5 draws")
    figures = json.loads(ran("benchmark.py", "--calls", "5", folder=folder).stdout)
    assert figures["kernel_median_us"] > 0
    assert figures["speedup_over_eager"] > 0


def test_the_bundles_test_fails_for_a_kernel_that_is_wrong(tmp_path: Path) -> None:
    folder = written(evidence_files(a_winner(RIGHT.replace("x[i] > 0", "x[i] > 0.5"))), tmp_path)
    tested = ran("test_kernel.py", folder=folder)
    assert tested.returncode != 0
    assert "WRONG: get_inputs, seed 11" in tested.stderr


BACKWARD = """import torch
from kernelwright_rt import compile_cpp

LIBRARY = compile_cpp('''
#include <cstdint>
extern "C" void relu(const float* x, const float* of, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? of[i] : 0.0f;
}
''')


class ReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        LIBRARY.relu(x, x, y, x.numel())
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,), dx = ctx.saved_tensors, torch.empty_like(grad)
        LIBRARY.relu(x, grad.contiguous(), dx, x.numel())
        return dx


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ReLU.apply(x)
"""


def a_winner_with_gradients(source: str) -> Winner:
    times = PassTimes(
        forward_us=4.0, forward_ci95_us=(3.0, 5.0), backward_us=6.0, backward_ci95_us=(5.0, 7.0), both_us=10.0
    )
    winner = a_winner(source)
    return replace(winner, report=replace(winner.report, passes=Passes(candidate=times)))


def test_a_bundle_with_a_backward_pass_tests_gradients_and_times_both_passes(tmp_path: Path) -> None:
    files = evidence_files(a_winner_with_gradients(BACKWARD))
    assert "A call is forward and backward: 4.0 µs and 6.0 µs." in files["README.md"]
    folder = written(files, tmp_path)
    tested = ran("test_kernel.py", folder=folder)
    assert tested.returncode == 0, tested.stderr
    figures = json.loads(ran("benchmark.py", "--calls", "5", folder=folder).stdout)
    assert figures["kernel_median_us"] > 0


def test_the_bundles_test_fails_for_a_gradient_that_is_wrong(tmp_path: Path) -> None:
    wrong = BACKWARD.replace("grad.contiguous()", "torch.ones_like(x)")
    folder = written(evidence_files(a_winner_with_gradients(wrong)), tmp_path)
    tested = ran("test_kernel.py", folder=folder)
    assert tested.returncode != 0
    assert "WRONG: get_inputs, seed 11" in tested.stderr


def test_the_package_and_the_submission_give_right_answers(tmp_path: Path) -> None:
    folder = written(python_package(a_winner(RIGHT)), tmp_path / "package")
    written(submission(a_winner(RIGHT)), folder)
    (folder / "use.py").write_text(
        "import sys; sys.path.insert(0, 'src')\n"
        "import torch, submission, relu\n"
        "x = torch.randn(64, 64)\n"
        "print(torch.equal(relu.ModelNew()(x), x.relu()), torch.equal(submission.custom_kernel((x,)), x.relu()))\n"
    )
    used = ran("use.py", folder=folder)
    assert used.stdout.split() == ["True", "True"], used.stderr
