"""The rows that the stores in memory share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from services.domain.access import ApiToken, AuditEntry, Member, Role, Team, User
from services.domain.candidates import Candidate
from services.domain.chat import ModelRequest
from services.domain.errors import DeletedError, LeaseLostError, NotFoundError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.events import Event, EventKind, JsonValue
from services.domain.experiences import (
    Experience,
    ExperienceKind,
    ExperienceUse,
    MemoryAction,
    MemoryShare,
    experience_id,
)
from services.domain.jobs import Job, JobStatus, Lease
from services.domain.measurements import gain_of
from services.domain.nodes import ServiceNode
from services.domain.quotas import Period, Quota, Resource
from services.domain.referees import is_proof
from services.domain.steps import Lesson, ModelCall, Step, StepRecord
from services.domain.usage import Usage
from services.domain.value_log import LogEntry
from services.domain.webhooks import Delivery, Webhook, WebhookJob, event_delivery, permits
from services.memory.outcome import outcome_entry
from services.ports.runtime import Clock
from tests.doubles.clock import FrozenClock


@dataclass(kw_only=True)
class InMemoryDatabase:
    """What the stores share. Its methods never await, so each is a transaction."""

    clock: Clock = field(default_factory=FrozenClock)
    jobs: dict[str, Job] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    """Job id to the newest lease's fencing token."""
    leases: dict[str, Lease] = field(default_factory=dict)
    served: dict[str, int] = field(default_factory=dict)
    """Team id to the number of the claim it was served last."""
    steps: dict[str, list[Step]] = field(default_factory=dict)
    uses: dict[tuple[str, int], tuple[ExperienceUse, ...]] = field(default_factory=dict)
    kept_calls: dict[tuple[str, int], tuple[ModelCall, ...]] = field(default_factory=dict)
    """Job and step to the experiences in its context."""
    candidates: dict[str, Candidate] = field(default_factory=dict)
    reports: dict[str, EvaluationReport] = field(default_factory=dict)
    judged: dict[str, tuple[EvaluationRequest, datetime]] = field(default_factory=dict)
    """Evaluation id to what was asked, and when it was answered."""
    verified: dict[str, EvaluationReport] = field(default_factory=dict)
    """Evaluation id to the latest report that found its result right."""
    evaluation_of: dict[str, str] = field(default_factory=dict)
    """Candidate id to evaluation id."""
    events: dict[str, list[Event]] = field(default_factory=dict)
    experiences: dict[str, Experience] = field(default_factory=dict)
    lessons: list[Lesson] = field(default_factory=list)
    """What recorded steps teach, in order."""
    logs: dict[str, list[LogEntry]] = field(default_factory=dict)
    """Value logs by team."""
    states: dict[str, str] = field(default_factory=dict)
    """Why experiences left recall; those in use are missing."""
    vectors: dict[str, tuple[float, ...]] = field(default_factory=dict)
    audits: dict[str, list[MemoryAction]] = field(default_factory=dict)
    shares: dict[tuple[str, str], MemoryShare] = field(default_factory=dict)
    """By team and reader."""
    tidied: dict[str, int] = field(default_factory=dict)
    artefacts: dict[tuple[str, str], bytes] = field(default_factory=dict)
    artefact_owners: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Jobs that keep an artefact; one that was kept for none stays for good."""
    deleted: dict[str, str] = field(default_factory=dict)
    """Deleted jobs, with their teams."""
    requests: dict[str, ModelRequest] = field(default_factory=dict)
    """What manual models were asked, by id."""
    webhooks: dict[str, Webhook] = field(default_factory=dict)
    messages: dict[str, Delivery] = field(default_factory=dict)
    """What is to be told to webhooks, by id."""
    nodes: dict[str, ServiceNode] = field(default_factory=dict)
    teams: dict[str, Team] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    members: dict[tuple[str, str], tuple[Role, datetime]] = field(default_factory=dict)
    """Team and user to the role, and since when."""
    api_tokens: dict[str, tuple[ApiToken, str]] = field(default_factory=dict)
    """With the tokens' digests."""
    sessions: dict[str, tuple[str, str | None, datetime]] = field(default_factory=dict)
    """Digest to the user, the team that is looked at, and the end."""
    quotas: dict[tuple[str, Resource, Period], Quota] = field(default_factory=dict)
    playground_calls: list[tuple[str, datetime, Usage]] = field(default_factory=list)
    """Team, time and use of model calls that belong to no job."""
    acts: list[AuditEntry] = field(default_factory=list)
    """The audit log."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set and replaced whenever an event is appended."""

    def ensure_team(self, team_id: str) -> Team:
        """A team, made where it is new."""
        return self.teams.setdefault(team_id, Team(id=team_id, created_at=self.clock.now()))

    def weight(self, team_id: str) -> float:
        """A team's share beside the others'."""
        return self.ensure_team(team_id).weight

    def member(self, team_id: str | None, user_id: str | None) -> Member | None:
        """A member of a team, if it is one."""
        if team_id is None or user_id is None or (team_id, user_id) not in self.members:
            return None
        role, since = self.members[team_id, user_id]
        return Member(team_id=team_id, user=self.users[user_id], role=role, since=since)

    def memberships(self, user_id: str) -> tuple[Member, ...]:
        """The teams of a user, by name."""
        found = (self.member(team, user) for team, user in sorted(self.members) if user == user_id)
        return tuple(member for member in found if member is not None)

    def enter(self, team_id: str, actor: str, action: str, subject: str = "", detail: str = "") -> None:
        """Enter an act in the audit log."""
        self.acts.append(
            AuditEntry(
                id=len(self.acts) + 1,
                team_id=team_id,
                actor=actor,
                action=action,
                subject=subject,
                detail=detail,
                at=self.clock.now(),
            )
        )

    def in_use(self) -> list[Experience]:
        """Experiences that can be recalled, oldest first."""
        return [item for name, item in self.experiences.items() if name not in self.states]

    def renew_proof(self, name: str, referee: int | None) -> None:
        """Note that a referee accepted an experience, or those of a candidate, again."""
        for item in tuple(self.experiences.values()):
            if name in (item.id, item.candidate_id) and item.is_unproven and is_proof(referee):
                self.experiences[item.id] = replace(item, referee=referee)

    def visible(self, team_id: str) -> set[str]:
        """Teams whose experiences a team may recall."""
        return {team_id} | {owner for owner, reader in self.shares if reader == team_id}

    def learn(self, record: StepRecord, made: Sequence[str]) -> None:
        """Append what a step teaches to its team's value log."""
        lesson, step = record.lesson, record.step
        if lesson is None:
            return
        self.lessons.append(lesson)
        log = self.logs.setdefault(step.team_id, [])
        sheets = {name for name, item in self.experiences.items() if item.kind is ExperienceKind.API_TEMPLATE}
        used = () if lesson.holdout else tuple(name for name in step.experiences_used if name not in sheets)
        trace = experience_id(step.start_point, ExperienceKind.TRACE) if step.start_point else None
        entry = outcome_entry(
            len(log) + 1,
            replace(step, experiences_used=used),
            lesson,
            similarities={use.experience_id: use.similarity for use in record.uses},
            start_point=trace if trace in self.experiences else None,
            made=tuple(made),
        )
        if entry is not None:
            log.append(entry)

    def job(self, team_id: str, job_id: str) -> Job:
        """One job of a team. Raises `NotFoundError`."""
        job = self.jobs.get(job_id)
        if self.deleted.get(job_id) == team_id and job is None:
            raise DeletedError(f"job {job_id} was deleted, with everything that came from it")
        if job is None or job.team_id != team_id:
            raise NotFoundError(f"no job {job_id}")
        return job

    def check(self, lease: Lease) -> Job:
        """The leased job. Raises `LeaseLostError` unless the lease is the current one.

        A lease past its time still counts while nobody else took the job: what makes writing safe is the token."""
        held = self.leases.get(lease.job_id)
        if held is None or held.token != lease.token:
            raise LeaseLostError(f"the lease on {lease.job_id} is lost")
        return self.jobs[lease.job_id]

    def held(self, job_id: str) -> bool:
        """Whether a lease on the job is in force."""
        lease = self.leases.get(job_id)
        return lease is not None and lease.expires_at > self.clock.now()

    def append(self, job_id: str, kind: EventKind, data: Mapping[str, JsonValue]) -> Event:
        """Add an event and wake followers."""
        log = self.events.setdefault(job_id, [])
        event = Event(job_id=job_id, seq=len(log) + 1, kind=kind, data=dict(data), at=self.clock.now())
        log.append(event)
        for webhook in self.webhooks.values():
            if self._is_told(webhook, event):
                message = event_delivery(webhook, event)
                self.messages.setdefault(message.id, message)
        self.changed.set()
        self.changed = asyncio.Event()
        return event

    def _is_told(self, webhook: Webhook, event: Event) -> bool:
        job = self.jobs[event.job_id]
        if not webhook.enabled or event.kind not in webhook.kinds or webhook.team_id != job.team_id:
            return False
        facts = WebhookJob(tags=job.spec.tags, leads=lambda speedup: self._leads(job, speedup))
        return permits(webhook.conditions, event, facts)

    def _leads(self, job: Job, speedup: float) -> bool:
        place = (job.team_id, job.spec.problem.name, job.spec.device)
        rivals = [
            self._best_speedup(one)
            for one in self.jobs.values()
            if one.id != job.id and (one.team_id, one.spec.problem.name, one.spec.device) == place
        ]
        return all(rival is None or rival < speedup for rival in rivals)

    def _best_speedup(self, job: Job) -> float | None:
        report = self.reports.get(self.evaluation_of.get(job.best_candidate_id or "", ""))
        return None if report is None else report.speedup.best_baseline

    def move(self, job: Job, status: JobStatus, message: str | None = None) -> Job:
        """Change a job's status and write its event."""
        now = self.clock.now()
        started = job.started_at
        if started is None and status in (JobStatus.VALIDATING, JobStatus.RUNNING):
            started = now
        job = replace(
            job,
            status=status,
            updated_at=now,
            started_at=started,
            finished_at=now if status.is_final else None,
            message=job.message if message is None else message,
        )
        ended = status.is_final and not self.jobs[job.id].status.is_final
        self.jobs[job.id] = job
        self.append(job.id, EventKind.JOB_STATUS, {"status": status.value, "message": message})
        if ended:
            self.append(job.id, EventKind.JOB_FINISHED, self._ending(job))
        return job

    def _ending(self, job: Job) -> dict[str, JsonValue]:
        """What is said of a job's end."""
        report = self.reports.get(self.evaluation_of.get(job.best_candidate_id or "", ""))
        return {
            "status": job.status.value,
            "message": job.message,
            "best_candidate_id": job.best_candidate_id,
            "speedup": report.speedup.best_baseline if report is not None else None,
            "gain": gain_of(report.speedup) if report is not None else None,
            "rounds": job.steps_done,
        }

    def remember(self, experiences: Sequence[Experience]) -> int:
        """Store experiences that are new by id and by content; returns how many."""
        known = {(item.team_id, item.content_key) for item in self.experiences.values()}
        before = len(self.experiences)
        for item in experiences:
            key = (item.team_id, item.content_key)
            if item.id not in self.experiences and key not in known:
                self.ensure_team(item.team_id)
                self.experiences[item.id] = item
                known.add(key)
        return len(self.experiences) - before
