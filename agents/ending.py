"""What a job's best kernel is worth when the job ends."""

from __future__ import annotations

from services.domain.evaluations import EvaluationReport
from services.domain.measurements import Gain, gain_of


def without_gain(report: EvaluationReport) -> str | None:
    """Why a job with this winner has gained nothing; None where it is surely faster, or nothing was measured."""
    gain, speedup = gain_of(report.speedup), report.speedup
    if gain in (None, Gain.SURELY) or speedup.best_baseline is None or speedup.ci95 is None:
        return None
    figures = f"{speedup.best_baseline:.2f}× [{speedup.ci95[0]:.2f}, {speedup.ci95[1]:.2f}]"
    if report.objective is not None and report.objective.collapse is not None:
        return f"the best kernel collapses on held-out shapes: {report.objective.collapse}"
    how = "is slower than the fastest baseline" if gain is Gain.NONE else "is as fast as the fastest baseline, in noise"
    return f"the best kernel {how}: {figures}"
