"""Evaluations that are repeated where the machine was at fault, as jobs repeat them."""

from __future__ import annotations

import time

from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from workers.evaluation.evaluator import Evaluator

WAITS_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0)
"""Before each attempt: what disturbs a machine lasts for seconds, or as long as another test file does."""


def evaluated(evaluator: Evaluator, request: EvaluationRequest) -> EvaluationReport:
    """The first report that is about the candidate, or the last one where the machine failed or was too busy."""
    for wait in WAITS_S:
        time.sleep(wait)
        report = evaluator.evaluate(request)
        if report.verdict is not Verdict.INFRASTRUCTURE_ERROR:
            break
    return report
