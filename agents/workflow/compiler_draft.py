"""The compiler's own code as a job's first candidate: when its turn comes, and what a job says of it."""

from __future__ import annotations

from collections.abc import Sequence

from agents.roles.coder import Draft
from services.domain.chat import AttemptFact
from services.domain.evaluations import EvaluationReport
from services.domain.jobs import EVALUATE_ONLY, JobSpec
from services.domain.validations import ValidationReport

SUMMARY = "the compiler's own code"


def is_due(spec: JobSpec, validation: ValidationReport, attempts: Sequence[AttemptFact]) -> bool:
    """Whether the next step judges the compiler's code: the first one, or the one after a kernel that came along."""
    draft = validation.draft
    if draft is None or draft.source is None or EVALUATE_ONLY in spec.tags:
        return False
    return len(attempts) == (0 if spec.seed_candidate is None else 1)


def free_rounds(spec: JobSpec, validation: ValidationReport, attempts: Sequence[AttemptFact]) -> int:
    """Steps that the budget of rounds does not count: the compiler's code costs no model anything."""
    return sum(item.from_compiler for item in attempts) + is_due(spec, validation, attempts)


def draft_of(validation: ValidationReport) -> Draft:
    """The candidate as a step takes it."""
    assert validation.draft is not None
    return Draft(source=validation.draft.source or "", summary=SUMMARY)


def absence(validation: ValidationReport) -> str | None:
    """The sentence on why a job that asked for the compiler's code begins without it; None where it has it."""
    draft = validation.draft
    return None if draft is None or draft.reason is None else f"no compiler draft: {draft.reason}"


def finding(report: EvaluationReport) -> str | None:
    """The sentence on a compiler's code that a gate did not let through; None where it was accepted."""
    if report.accepted:
        return None
    gate = report.gate(report.failed_gate) if report.failed_gate is not None else None
    where = "" if gate is None else f" by the gate {gate.name.value}: {' '.join(gate.detail.split())[:400]}"
    return f"the compiler's own code is {report.verdict.value}{where}"
