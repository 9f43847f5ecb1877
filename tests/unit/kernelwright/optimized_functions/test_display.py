"""What a notebook shows of a job, a kernel and an evaluation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.optimized_functions import display
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.gates import GateName
from services.domain.jobs import JobStatus
from tests.doubles import a_job, a_report

GREEN = "#1a7f37"


def bounded(low: float, high: float) -> EvaluationReport:
    report = a_report(median_us=100, eager_us=110)
    return replace(report, speedup=replace(report.speedup, ci95=(low, high)))


@pytest.mark.parametrize(
    ("bounds", "word", "green"),
    [((1.01, 1.2), "faster", True), ((0.9, 1.2), "within noise", False), ((0.4, 0.5), "slower", False)],
)
def test_a_kernels_marks_are_green_only_where_it_is_surely_faster(
    bounds: tuple[float, float], word: str, green: bool
) -> None:
    shown = display.kernel("class ModelNew: ...", bounded(*bounds))
    assert f">{word}</span>" in shown
    assert (GREEN in shown) is green


def test_a_job_shows_state_figures_and_folder_and_escapes_what_others_wrote() -> None:
    job = replace(a_job(), status=JobStatus.NO_GAIN, message="<script>alert(1)</script>")
    shown = display.solution(job, bounded(0.9, 1.2), Path("/home/a&b"))
    for part in ("no gain", "within noise", "1.10× [0.90, 1.20]", "/home/a&amp;b", "&lt;script&gt;"):
        assert part in shown
    assert GREEN not in shown
    assert "<script>" not in shown


def test_an_evaluation_shows_every_gate_with_its_evidence() -> None:
    report = a_report(Verdict.REJECTED, failed_gate=GateName.LOAD, detail="no parameter <weight>")
    shown = display.evidence(report)
    assert all(gate.name.value in shown for gate in report.gates)
    assert "no parameter &lt;weight&gt;" in shown
    assert "faster" not in shown


def test_a_job_without_a_kernel_is_shown_without_figures() -> None:
    shown = display.solution(replace(a_job(), status=JobStatus.UNSOLVED), None, Path("/home"))
    assert "unsolved" in shown
    assert "vs" not in shown
