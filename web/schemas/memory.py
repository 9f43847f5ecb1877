"""What the memory's part of the REST API takes and gives."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, computed_field

from services.domain.evaluations import Verdict
from services.domain.experiences import (
    ExperienceKind,
    ProvenanceEdge,
    ProvenanceNode,
    RecalledExperience,
    StepUse,
)
from services.domain.jobs import Stage
from services.memory.effect import Interval
from services.memory.standing import PracticeStanding, StandingVerdict
from services.memory.values import Change
from services.team_memory.practice_review import ReviewedPractice
from services.team_memory.service import ExperienceCard, ValuedExperience, ValuedPage, Worth
from web.schemas.base import Body, Page, View, formerly


class ExperienceSummary(View):
    """An experience in a list."""

    id: str
    kind: ExperienceKind
    stage: Stage
    family: str
    backend: str
    device: str
    title: str
    moves: tuple[str, ...]
    verdict: Verdict | None
    is_unproven: bool
    """Accepted by an older referee only: neither recalled nor exported before `kernelwright reverify` accepts it. Or
    self-attested: never."""
    is_self_attested: bool
    """Accepted under the problem's own `TOLERANCE`, which is looser than the referee's."""
    bottleneck: str | None
    speedup: float | None
    job_id: str | None
    candidate_id: str | None
    created_at: datetime
    worth: tuple[Worth, ...]
    """Learned values by stage; empty where it was never rewarded."""

    @classmethod
    def of(cls, item: ValuedExperience) -> ExperienceSummary:
        """The list's entry."""
        return cls.from_parts(item.experience, item)


class ExperiencePageView(Page[ExperienceSummary]):
    """One page of experiences, newest first."""

    @computed_field(**formerly("the same as `items`"))  # type: ignore[prop-decorator]
    @property
    def experiences(self) -> tuple[ExperienceSummary, ...]:
        """The field's old name."""
        return self.items

    @classmethod
    def of(cls, page: ValuedPage) -> ExperiencePageView:
        """One page of the list."""
        return cls(items=tuple(map(ExperienceSummary.of, page.items)), next_cursor=page.next_cursor)


class FoundExperienceView(View):
    """An experience that a search found."""

    experience: ExperienceSummary
    similarity: float

    @classmethod
    def found(cls, item: RecalledExperience) -> FoundExperienceView:
        """A search's line."""
        summary = ExperienceSummary.from_parts(item.experience, worth=())
        return cls(experience=summary, similarity=item.similarity)


class PracticeView(View):
    """One version of a practice that a job taught."""

    id: str
    statement: str
    text: str
    """When it applies, and the evidence."""
    family: str
    backend: str
    job_id: str | None
    created_at: datetime
    state: str
    """`active`, `merged`, `forgotten` (retired) or `retracted`."""
    merged_into: str | None
    """The practice it is a version of since."""
    standing: PracticeStanding
    """Its worth in deviations of a step's reward, with a 95 % interval."""
    verdict: StandingVerdict
    """`open`, `helps` or `refuted`."""

    @classmethod
    def of(cls, item: ReviewedPractice) -> PracticeView:
        """The list's entry."""
        return cls.from_parts(item, item.practice, statement=item.practice.title)


class ChangeView(View):
    """One change of a learned value."""

    seq: int
    stage: Stage
    family: str
    """`*` for all."""
    site: str
    """Device and toolchain; `*` for all."""
    reward: float
    weight: float
    before: float
    after: float
    visits: float

    @classmethod
    def of(cls, change: Change) -> ChangeView:
        """A history's line."""
        return cls.from_parts(change, change.scope)


class ExperienceView(ExperienceSummary):
    """All that is known about one experience."""

    text: str
    code: str | None
    toolchain: str
    dtype: str | None
    shape_class: str | None
    median_us: float | None
    used: tuple[str, ...]
    """Experiences in use when it was made."""
    retracted: bool
    history: tuple[ChangeView, ...]
    uses: tuple[StepUse, ...]

    @classmethod
    def of_card(cls, card: ExperienceCard) -> ExperienceView:
        """The answer about one experience."""
        return cls.from_parts(card.experience, card, history=tuple(map(ChangeView.of, card.history)))


class ProvenanceView(View):
    """Where an experience comes from and what came of it; arrows go from cause to effect."""

    nodes: tuple[ProvenanceNode, ...]
    edges: tuple[ProvenanceEdge, ...]
    cut: bool
    """Whether there is more than is shown."""


class EffectView(View):
    """The measured effect of memory."""

    steps_with: int
    steps_without: int
    success_with: Interval
    success_without: Interval
    success_difference: Interval
    rounds_with: Interval
    rounds_without: Interval
    rounds_saved: Interval
    speedup_ratio: Interval


class RetractBody(Body):
    """Why something is retracted, and by whom."""

    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    actor: Annotated[str, Field(min_length=1, max_length=200)] = "api"


class RetractionView(View):
    """What a retraction took out of memory."""

    subject: str
    experiences: tuple[str, ...]


class ImportView(View):
    """What an import brought."""

    imported: int
    """Experiences that were new."""


class AuditView(View):
    """One change by hand."""

    action: str
    subject: str
    reason: str
    actor: str
    at: datetime


class ShareView(View):
    """That one team may recall another one's experiences."""

    team_id: str
    """Whose experiences."""
    reader: str
    granted_by: str
    at: datetime
