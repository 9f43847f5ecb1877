"""A recorded step as agents see it."""

from __future__ import annotations

from services.domain.candidates import EvaluatedCandidate, Origin
from services.domain.chat import AttemptFact
from services.domain.steps import Step


def attempt_of(step: Step, candidate: EvaluatedCandidate | None) -> AttemptFact:
    """A recorded step as agents see it."""
    report = candidate.report if candidate is not None else None
    origin = candidate.candidate.origin if candidate is not None else None
    return AttemptFact(
        step=step.index,
        stage=step.stage,
        candidate_id=step.candidate_id,
        parent_id=candidate.candidate.parent_id if candidate is not None else step.start_point,
        plan=step.plan,
        source=candidate.candidate.source if candidate is not None else None,
        report=report,
        failure=step.failure,
        critique=step.critique,
        confirms=candidate.candidate.parent_id if candidate is not None and origin is Origin.CONFIRMATION else None,
        from_compiler=origin is Origin.COMPILER,
    )
