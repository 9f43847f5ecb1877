"""What one step of a job has at hand."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.workflow.budget import Spent
from services.domain import codec
from services.domain.candidates import EvaluatedCandidate, content_hash
from services.domain.chat import PlanFact
from services.domain.experiences import RecalledExperience
from services.domain.steps import ModelCall
from services.domain.usage import Usage


@dataclass(kw_only=True)
class StepCache:
    """What one step has at hand; lost with the process and read again from the stores."""

    calls: dict[str, ModelCall] = field(default_factory=dict)
    """Its model calls by artefact key."""
    kept: list[ModelCall] = field(default_factory=list)
    """Its calls as they were kept outside the step while it was not recorded, by earlier runs too."""
    candidate: EvaluatedCandidate | None = None
    recalled: tuple[RecalledExperience, ...] | None = None
    """Its experiences, once loaded."""
    plan: tuple[str, PlanFact] | None = None
    """Its plan with the artefact key."""

    @property
    def lost(self) -> list[ModelCall]:
        """Its calls that came to no answer: they cost all the same."""
        return [call for call in self.kept if content_hash(codec.dumps(call)) not in self.calls]

    @property
    def spent(self) -> Spent:
        """What its model calls and its evaluation have used."""
        usage = sum((call.usage for call in (*self.calls.values(), *self.lost)), Usage())
        report = self.candidate.report if self.candidate is not None else None
        return Spent(usage=usage, device_s=report.phases_s.total if report is not None else 0.0)
