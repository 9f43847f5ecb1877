"""The ports: what the workflow needs from the outside, one small protocol each.

Every port has one contract suite in `tests/contracts/` that runs against each implementation, doubles included.
Stores and remote services are async; what runs on a worker beside a device is synchronous (one thing at a time).
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from services.domain.access import ApiToken, AuditEntry, Identity, Member, Role, Session, SignInAttempt, Team, User
from services.domain.candidates import Candidate, EvaluatedCandidate
from services.domain.chat import AgentRole, AttemptFact, ChatReply, ChatRequest, SearchBrief, Usage
from services.domain.deletion import Deletion, Expired, Retention
from services.domain.digests import CandidateDigest, RecordedStep, StepDigest
from services.domain.evaluations import (
    Baselines,
    DeviceSheet,
    EvaluationReport,
    EvaluationRequest,
    Listing,
    Profile,
    ValidationReport,
    ValidationRequest,
)
from services.domain.events import Event, EventKind, JsonValue
from services.domain.experiences import (
    Experience,
    ExperienceFilter,
    ExperiencePage,
    MemoryAction,
    MemoryShare,
    RecalledExperience,
    RecallQuery,
    StartValues,
    StepUse,
)
from services.domain.jobs import Job, JobFilter, JobPage, JobStatus, Lease, Wishes
from services.domain.nodes import Node, NodeRole, Offer
from services.domain.problems import ProblemAnalysis
from services.domain.quotas import Period, Quota, Resource
from services.domain.requests import ModelRequest
from services.domain.shares import ReportShare
from services.domain.steps import ModelCall, Step, StepRecord
from services.domain.verdicts import StoredVerdict
from services.domain.webhooks import Delivery, Outcome, Webhook
from services.domain.work import Doorbell, Report, WorkClaim, WorkOrder, WorkState
from services.memory.exchange import Line
from services.memory.log import LogEntry
from services.memory.values import Values


class Clock(Protocol):
    """Time, so that tests can hold it still."""

    def now(self) -> datetime:
        """Wall time, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class ChatModel(Protocol):
    """A chat model behind one call."""

    @property
    def name(self) -> str:
        """The model as settings name it: `playbook`, `openai:gpt-…`."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request. Raises `ModelError` when the service cannot be reached."""


@runtime_checkable
class MeteredChatModel(ChatModel, Protocol):
    """A chat model whose calls cost something: what a call may cost at most is known before it is sent."""

    def ceiling(self, request: ChatRequest) -> Usage:
        """The most tokens and dollars that `complete(request)` can use, resent attempts included; dollars are None
        where the price is unknown. A job reserves this before the call and never passes its budget."""


class Embedder(Protocol):
    """Turns texts into vectors of unit length."""

    @property
    def name(self) -> str:
        """Identifies the vector space; vectors of different names are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of every vector."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text, in order."""


class Memory(Protocol):
    """The team's experiences."""

    async def recall(self, query: RecallQuery) -> tuple[RecalledExperience, ...]:
        """At most `query.limit` experiences of the query's team, best first; deterministic for one memory and seed."""

    async def remember(self, experiences: Sequence[Experience]) -> int:
        """Store what is not yet known (by id and by content); returns how many were new."""

    async def get(self, team_id: str, experience_id: str) -> Experience:
        """One experience. Raises `NotFoundError`."""

    async def search(self, team_id: str, text: str, limit: int = 20) -> tuple[RecalledExperience, ...]:
        """The nearest experiences to a text; for people."""

    def notice(self) -> str | None:
        """Why recall is worse than it should be at the moment, for people; None while all is as configured."""

    async def start_values(self, team_id: str, family: str, site: str, candidates: Sequence[str]) -> StartValues:
        """Q₂ of accepted candidates as start points: that of each one's trace experience, for a family and site."""


class MemoryRecords(Protocol):
    """The books of a team's memory: what it holds, what it learned from, who changed it by hand."""

    async def page(
        self, team_id: str, wanted: ExperienceFilter, *, limit: int = 50, cursor: str | None = None
    ) -> ExperiencePage:
        """The team's own experiences in use, newest first. Raises `ConfigurationError` for a foreign cursor."""

    async def log(self, team_id: str) -> tuple[LogEntry, ...]:
        """The complete value log, from which every value can be computed."""

    async def values(self, team_id: str) -> Values:
        """The values that the log gives today; they go on being updated, so read them without awaiting."""

    async def uses(self, team_id: str, experience_id: str, limit: int = 50) -> tuple[StepUse, ...]:
        """The team's steps that had an experience in their context, latest first."""

    async def refined(self, team_id: str, experience: Experience, limit: int = 50) -> tuple[StepUse, ...]:
        """The team's steps that started from the kernel that a trace is about, latest first."""

    async def outlines(self, team_id: str, experience_ids: Sequence[str]) -> tuple[Experience, ...]:
        """Those of the team's own experiences, in use or not, without text and code; in the order asked for."""

    async def taught(self, team_id: str, candidate_ids: Sequence[str], limit: int = 50) -> tuple[Experience, ...]:
        """The team's experiences that some candidates gave, in use or not, without text and code, oldest first."""

    async def retract(self, team_id: str, subject: str, reason: str, actor: str) -> tuple[str, ...]:
        """Take an experience, or all that a candidate or an evaluation taught, out of memory; ids of the experiences.

        What the evaluation credited is undone from the start on. Again is harmless. Raises `NotFoundError`."""

    async def retracted(self, team_id: str) -> tuple[str, ...]:
        """Ids of the team's retracted experiences."""

    async def audit(self, team_id: str, limit: int = 50) -> tuple[MemoryAction, ...]:
        """What was changed by hand, latest first."""

    async def owners(self, experience_ids: Sequence[str]) -> Mapping[str, str]:
        """The teams that known experience ids belong to."""

    async def vectors(self, team_id: str, experience_ids: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
        """Vectors in the current embedder's space, as far as there are any."""

    async def adopt(self, team_id: str, lines: Sequence[Line], source: str, actor: str) -> int:
        """Store imported experiences with vectors and values, all or none; how many were new."""

    async def forget(self, team_id: str, experience_ids: Sequence[str], reason: str, actor: str) -> int:
        """Take experiences out of recall for good, keeping what was learned from them; how many were in use."""

    async def outline(self, team_id: str) -> tuple[Experience, ...]:
        """The team's own experiences in use, oldest first, without text and code: for housekeeping over all of them."""

    async def merge(self, team_id: str, pairs: Sequence[tuple[str, str]], actor: str) -> int:
        """Make one of each (kept, absorbed) pair, with the value history of both; how many were absorbed."""

    async def untidied(self, team_id: str) -> int:
        """Experiences that came since `tidied` was called last."""

    async def tidied(self, team_id: str) -> None:
        """Housekeeping has seen everything there is."""

    async def share(self, team_id: str, reader: str, actor: str, *, granted: bool = True) -> None:
        """Let another team recall this team's experiences, or no longer. Raises `NotFoundError` for an unknown team."""

    async def shares(self, team_id: str) -> tuple[MemoryShare, ...]:
        """The shares that a team has given or got."""


class JobStore(Protocol):
    """Jobs, their leases and their steps. Reads carry the team; writes by an orchestrator carry its lease."""

    async def create(self, job: Job) -> None:
        """Store a new job with its first `job.status` event."""

    async def get(self, team_id: str, job_id: str) -> Job:
        """One job. Raises `NotFoundError`."""

    async def list(
        self,
        team_id: str,
        *,
        status: JobStatus | None = None,
        wanted: JobFilter | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> JobPage:
        """Newest first."""

    async def acquire(
        self,
        owner: str,
        ttl_s: float,
        job_id: str | None = None,
        *,
        team_cap: int | None = None,
        busy: Collection[str] = (),
    ) -> Lease | None:
        """Lease one job that is not final and not held: the named one, or the next; None when there is none.

        The next is of the team with the fewest running jobs (served longest ago among equals), and of its jobs the one
        with the highest priority, then the oldest. A team that runs `team_cap` jobs gets no further one.
        `busy` jobs are left alone: the owner runs them, however late it is with their renewal."""

    async def wishes(self, owner: str) -> Mapping[str, Wishes]:
        """What is wanted of all jobs that an orchestrator holds, by job id, in one query."""

    async def renew(self, lease: Lease, ttl_s: float) -> Lease:
        """Extend a lease. Raises `LeaseLostError`."""

    async def renew_all(self, held: Sequence[Lease], ttl_s: float) -> tuple[Lease, ...]:
        """Extend leases of one orchestrator in one go: those that are not lost, and whose job nobody is writing to at
        this moment. As they are now; the others are left out."""

    async def release(self, lease: Lease) -> None:
        """Give a lease back; harmless when it is lost already."""

    async def holder(self, job_id: str) -> Lease | None:
        """The lease under which a job is held now, whoever holds it; None where it is free or unknown."""

    async def set_status(
        self, lease: Lease, status: JobStatus, *, message: str | None = None, analysis: ProblemAnalysis | None = None
    ) -> Job:
        """Move the job, with its `job.status` event and, where it ends, its `job.finished`. Raises `LeaseLostError`."""

    async def request(self, team_id: str, job_id: str, action: str) -> Job:
        """Ask for `cancel`, `pause` or `resume`; idempotent. A queued job is moved at once, a running one is flagged.

        Raises `NotFoundError`, and `ConflictError` where the job is final (except cancel of a cancelled job)."""

    async def reopen(self, team_id: str, job_id: str, *, model: str, rounds: int) -> Job:
        """Put a failed or paused job back into the queue, or let a paused one that is held go on, with this model and
        number of rounds. Raises `NotFoundError`, and `ConflictError` for a job in another state."""

    async def children(self, team_id: str, job_id: str) -> tuple[Job, ...]:
        """The jobs that work for one, oldest first. Raises `NotFoundError`."""

    async def hand_in(self, team_id: str, job_id: str, source: str, allow_library: Sequence[str]) -> Job:
        """Give a paused job the kernel that it waited for, and let it go on; its candidates may keep these library
        operators. Raises `NotFoundError`, and `ConflictError` for a job that does not wait for one."""

    async def delete(self, team_id: str, job_id: str, actor: str) -> Deletion:
        """Remove a job that has ended, with everything that came from it, in one transaction; its id stays known as
        deleted. Raises `NotFoundError`, `DeletedError` where it was deleted before, and `ConflictError` where it goes
        on."""

    async def record_step(self, lease: Lease, record: StepRecord) -> bool:
        """Write a step with everything it produced in one transaction; False when (job, index) was written before.

        Raises `LeaseLostError`, and then nothing was written."""

    async def keep_call(self, lease: Lease, step: int, call: ModelCall) -> None:
        """Keep a call of a step that is not recorded and perhaps never will be (it came to no answer, or the job ends
        within the step), until `record_step` puts the step's own calls in its place. Nothing for a step that is
        recorded. Raises `LeaseLostError`."""

    async def kept_calls(self, team_id: str, job_id: str) -> Mapping[int, tuple[ModelCall, ...]]:
        """Calls kept of steps that are not recorded, by step, in order. Raises `NotFoundError`."""

    async def steps(self, team_id: str, job_id: str) -> tuple[Step, ...]:
        """All steps in order. Raises `NotFoundError`."""

    async def step(self, team_id: str, job_id: str, index: int) -> RecordedStep:
        """One step with the experiences it used. Raises `NotFoundError`."""

    async def step_digests(self, team_id: str, job_id: str) -> tuple[StepDigest, ...]:
        """All steps in order, without prompts and replies. Raises `NotFoundError`."""


class CandidateStore(Protocol):
    """Candidates and their evaluations."""

    async def add(self, lease: Lease, candidate: Candidate) -> None:
        """Store a candidate; a second call with the same id changes nothing. Raises `LeaseLostError`."""

    async def get(self, team_id: str, candidate_id: str) -> EvaluatedCandidate:
        """One candidate with its report. Raises `NotFoundError`."""

    async def list(self, team_id: str, job_id: str) -> tuple[EvaluatedCandidate, ...]:
        """A job's candidates in order of their steps. Raises `NotFoundError`."""

    async def digests(self, team_id: str, job_id: str) -> tuple[CandidateDigest, ...]:
        """A job's candidates in order of their steps, without sources. Raises `NotFoundError`."""

    async def speedups(self, team_id: str, candidate_ids: Sequence[str]) -> Mapping[str, float]:
        """Candidate id to speedup over the fastest baseline, of those that were timed."""

    async def finish(self, request: EvaluationRequest, report: EvaluationReport) -> bool:
        """Store a report; False when the evaluation has one already (the first one stays)."""

    async def report(self, evaluation_id: str) -> EvaluationReport | None:
        """The stored report, if any."""


class VerdictStore(Protocol):
    """Results that were accepted once, for judging them again."""

    async def accepted(self, team_id: str, *, after: str | None = None, limit: int = 50) -> tuple[StoredVerdict, ...]:
        """Accepted results of jobs that have ended, and of no job, in order of their evaluations' ids, from behind
        `after` on."""

    async def verified(self, stored: StoredVerdict, report: EvaluationReport, actor: str) -> bool:
        """Keep what judging again has shown; False when the result is not accepted any more: nothing was written.

        A report that is not accepted takes the old one's place (which is kept beside it), and the job's best becomes
        the fastest of its other accepted candidates, or none."""


class EventLog(Protocol):
    """A job's events, gapless and in order."""

    async def append(self, job_id: str, kind: EventKind, data: Mapping[str, JsonValue]) -> Event:
        """Add one event; sequence numbers are given here."""

    async def read(self, job_id: str, after: int = 0, limit: int = 500) -> tuple[Event, ...]:
        """Events with `seq > after`, in order."""

    def follow(self, job_id: str, after: int = 0) -> AsyncIterator[Event]:
        """Events with `seq > after`, then new ones as they come; ends after `job.finished`."""


class TeamStore(Protocol):
    """Teams, users and who is a member of which. Every change is entered in the audit log in the same transaction."""

    async def create_team(self, team_id: str, actor: str) -> Team:
        """A new team. Raises `ConflictError` where the name is taken."""

    async def teams(self) -> tuple[Team, ...]:
        """All teams, by name."""

    async def add_member(self, team_id: str, login: str, name: str, role: Role, actor: str) -> Member:
        """Make somebody a member; a login that is new becomes a user. Raises `NotFoundError` for an unknown team,
        `ConflictError` where the user is a member."""

    async def set_role(self, team_id: str, user_id: str, role: Role, actor: str) -> Member:
        """Another role for a member. Raises `NotFoundError`, and `ConflictError` for the team's last admin."""

    async def remove_member(self, team_id: str, user_id: str, actor: str) -> None:
        """End a membership, and with it what the user's tokens open. Raises as `set_role` does."""

    async def members(self, team_id: str) -> tuple[Member, ...]:
        """A team's members, by login."""

    async def memberships(self, user_id: str) -> tuple[Member, ...]:
        """The teams of a user, by name."""

    async def identify(self, subject: str, login: str | None, name: str) -> User | None:
        """The user that an identity belongs to; the first time the one who is waiting under the login. None for
        neither. Without a login (an address that nobody vouches for) only known identities are found."""


class KeyStore(Protocol):
    """What opens the API: tokens and browser sessions, each known by the SHA-256 of its secret."""

    async def add_token(self, token: ApiToken, digest: str, actor: str) -> None:
        """Keep a new token, and say so in the audit log."""

    async def token(self, token_id: str) -> tuple[ApiToken, str, Member | None] | None:
        """A token with its digest and, where it is a user's, that user's membership if there still is one."""

    async def tokens(self, team_id: str) -> tuple[ApiToken, ...]:
        """A team's tokens, newest first."""

    async def revoke(self, team_id: str, token_id: str, actor: str) -> None:
        """End a token; again is harmless. Raises `NotFoundError`."""

    async def used(self, token_id: str, at: datetime) -> None:
        """Note that a token was used."""

    async def open_session(self, digest: str, user_id: str, team_id: str | None, expires_at: datetime) -> None:
        """Keep a session; those that have expired are forgotten on the way."""

    async def session(self, digest: str) -> Session | None:
        """A session that has not expired, in the team that it looks at, else the first that its user belongs to."""

    async def look_at(self, digest: str, team_id: str) -> None:
        """Turn a session to another team of its user. Raises `NotFoundError`."""

    async def close_session(self, digest: str) -> None:
        """Forget a session; harmless where there is none."""


class QuotaStore(Protocol):
    """What teams may use, and what they have used."""

    async def limits(self, team_id: str) -> tuple[Quota, ...]:
        """A team's limits."""

    async def limited_teams(self) -> tuple[str, ...]:
        """Teams that have limits."""

    async def set(self, team_id: str, quota: Quota, actor: str) -> None:
        """Set a limit, and say so in the audit log. Raises `NotFoundError` for an unknown team."""

    async def drop(self, team_id: str, resource: Resource, period: Period, actor: str) -> None:
        """Take a limit away; harmless where there is none. Raises `NotFoundError` for an unknown team."""

    async def used(self, team_id: str, resource: Resource, since: datetime) -> float:
        """What a team has used of a resource since then."""


class IdentityProvider(Protocol):
    """Where people sign in."""

    @property
    def name(self) -> str:
        """What people call it."""

    async def begin(self, redirect_uri: str) -> tuple[str, SignInAttempt]:
        """The address to send a browser to, and what to remember until it comes back. Raises `InfrastructureError`."""

    async def finish(self, redirect_uri: str, code: str, attempt: SignInAttempt) -> Identity:
        """Who has signed in. Raises `AuthenticationError` for an answer that proves nothing, `InfrastructureError`."""


class AuditLog(Protocol):
    """Who did what: appended to, never changed."""

    async def append(self, team_id: str, actor: str, action: str, subject: str = "", detail: str = "") -> None:
        """Enter an act."""

    async def read(self, team_id: str, *, before: int | None = None, limit: int = 50) -> tuple[AuditEntry, ...]:
        """A team's entries with `id < before`, latest first."""


class ArtefactStore(Protocol):
    """Contents under their SHA-256: what is too large for a row or a checkpoint is kept here and referred to."""

    async def put(self, team_id: str, content: bytes, *, job_id: str | None = None) -> str:
        """Keep an artefact; its SHA-256. The same content twice is kept once a team. With `job_id` it goes when that
        job is deleted, unless something else refers to it. Raises `StorageError`."""

    async def get(self, team_id: str, key: str) -> bytes:
        """An artefact. Raises `NotFoundError`, and `StorageError` where it is gone or damaged."""


class Expiry(Protocol):
    """Removes what is kept for a time only."""

    async def expire(self, kept: Retention, limit: int = 50) -> Expired:
        """Remove what has expired, of so many jobs of each kind at most, each job's part whole or not at all; nothing
        is left to do where nothing was removed."""


class RequestStore(Protocol):
    """What manual models were asked, and the answers from outside."""

    async def open(self, request: ChatRequest, ttl_s: float) -> ModelRequest:
        """Store a request, or find the one that the same call made before; an expired one is open again.

        An unanswered request under the same key with another prompt is withdrawn. Raises `NotFoundError` where its job
        is unknown."""

    async def get(self, team_id: str, request_id: str) -> ModelRequest:
        """One request. Raises `NotFoundError`."""

    async def waiting(
        self, team_id: str, *, job_id: str | None = None, role: AgentRole | None = None, limit: int = 50
    ) -> tuple[ModelRequest, ...]:
        """Open requests of jobs that go on, oldest first."""

    async def answer(self, team_id: str, request_id: str, text: str, by: str) -> ModelRequest:
        """Store an answer; the same one again changes nothing. Raises `NotFoundError`, and `ConflictError` where it was
        answered otherwise, has expired or its job has ended."""


class ShareStore(Protocol):
    """Read-only links to reports."""

    async def add(self, share: ReportShare) -> None:
        """Store a new link."""

    async def find(self, digest: str) -> ReportShare | None:
        """The link whose token has this digest, of whichever team: the token is all that its bearer has."""

    async def list(self, team_id: str, job_id: str) -> tuple[ReportShare, ...]:
        """A job's links, newest first; those that are revoked or have expired too."""

    async def revoke(self, team_id: str, job_id: str, share_id: str) -> ReportShare:
        """Close a link; again is harmless. Raises `NotFoundError`."""


class WebhookStore(Protocol):
    """Webhooks and their messages as rows. A message about an event is written in the event's own transaction."""

    async def add(self, webhook: Webhook) -> None:
        """Store a new webhook."""

    async def list(self, team_id: str) -> tuple[Webhook, ...]:
        """The team's webhooks, oldest first."""

    async def get(self, team_id: str, webhook_id: str) -> Webhook:
        """One webhook. Raises `NotFoundError`."""

    async def enable(self, team_id: str, webhook_id: str, *, enabled: bool, note: str | None) -> Webhook:
        """Switch a webhook on or off, with the reason. Raises `NotFoundError`."""

    async def remove(self, team_id: str, webhook_id: str) -> None:
        """Remove a webhook with its messages. Raises `NotFoundError`."""

    async def place(self, delivery: Delivery) -> None:
        """Store a message; one of its id changes nothing."""

    async def deliveries(self, team_id: str, webhook_id: str, limit: int) -> tuple[Delivery, ...]:
        """A webhook's messages, newest first."""

    async def resend(self, team_id: str, webhook_id: str, delivery_id: str) -> Delivery:
        """Make a message due now, with all its attempts before it. Raises `NotFoundError`."""

    async def claim(self, limit: int, lease_s: float) -> tuple[tuple[Webhook, Delivery], ...]:
        """Take messages that are due, of webhooks that are on; each counts as tried once more, and is due again after
        `lease_s` unless it is settled before."""

    async def settle(self, delivery: Delivery, outcome: Outcome, due_at: datetime | None) -> bool:
        """Store what came of a claimed message's attempt: due again at a time, or ended where that is None. False where
        somebody else has claimed it since: nothing was written."""

    async def prune(self, before: datetime) -> int:
        """Remove messages that ended before a time; how many."""


class MessageSender(Protocol):
    """Brings messages to receivers."""

    async def send(self, webhook: Webhook, delivery: Delivery, at: datetime) -> Outcome:
        """Sign a message and try to bring it once. Never raises for what the receiver does."""


class EvaluationQueue(Protocol):
    """Where work for devices goes. Asking twice with the same id gives the same answer and does the work once."""

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        """Run the problem's reference. Raises `InfrastructureError` when no worker could do it."""

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Judge a candidate. The machine's failures come back as verdict `infrastructure_error`."""

    async def cancel(self, job_id: str) -> None:
        """Stop what runs for a job; its pending calls end with verdict `infrastructure_error`."""

    async def close(self) -> None:
        """Stop taking work and free workers."""


class WorkStore(Protocol):
    """Work orders as rows: placed by who waits, claimed by compare-and-set, answered under a fencing token."""

    async def place(self, order: WorkOrder) -> WorkState:
        """Store an order as queued; one that is known stays as it is, unless it failed or was cancelled."""

    async def state(self, order_id: str) -> WorkState:
        """What is known about an order. Raises `NotFoundError`."""

    async def claim(self, order_id: str, owner: str, ttl_s: float, offer: Offer | None = None) -> WorkClaim | None:
        """Take an order that is queued, or whose claim ran out or is this owner's (whose earlier process is dead then);
        None where there is nothing to do, or nothing for this offer: it lacks the device or backend, or another
        evaluator has answered for the same job. An order that outlived too many claims fails instead."""

    async def ended(self, order_ids: Sequence[str]) -> Mapping[str, WorkState]:
        """Those of some orders that have ended, in one query."""

    async def unattended(self, older_s: float, limit: int = 1000) -> tuple[Doorbell, ...]:
        """Open orders that nobody works on and nobody rang for in the last seconds; they count as rung for now."""

    async def waiting(self) -> Mapping[str, int]:
        """How many orders are queued, by device."""

    async def strand(self, older_s: float) -> int:
        """Fail orders queued for so long whose job another evaluator began that no worker has any more; how many."""

    async def renew(self, claim: WorkClaim, ttl_s: float) -> bool:
        """Extend a claim; False when the order was cancelled or taken over: stop working on it."""

    async def finish(self, claim: WorkClaim, result: Report) -> bool:
        """Store the answer; False when the claim is not the current one, and then nothing was written."""

    async def fail(self, claim: WorkClaim, fault: str) -> bool:
        """Store that the machine failed; False like `finish`."""

    async def cancel(self, job_id: str) -> None:
        """End the job's orders that are not done."""


class NodeRegistry(Protocol):
    """The processes of an installation, as they say of themselves."""

    async def register(self, node: Node) -> None:
        """Write a node's row, over an earlier one of its name."""

    async def beat(self, name: str, *, load: float = 0.0, busy_s: float = 0.0, done: int = 0) -> bool:
        """Say that a node is there and what it has done; False when its row is gone: register again."""

    async def drain(self, name: str) -> None:
        """Mark a node that takes nothing new."""

    async def leave(self, name: str) -> None:
        """Remove a node's row; harmless where there is none."""

    async def living(self, role: NodeRole | None = None) -> tuple[Node, ...]:
        """Nodes seen lately, by name."""


class Workbench(Protocol):
    """What does the work behind an `EvaluationQueue`, beside the device: synchronous, one call at a time."""

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        """Run the problem's reference; stops soon after `cancelled()` becomes true. Raises `InfrastructureError`."""

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        """Judge a candidate; stops soon after `cancelled()` becomes true. Raises `InfrastructureError`, or returns that
        verdict."""

    def close_job(self, job_id: str) -> None:
        """Free what is kept warm for a job; harmless where there is nothing."""

    def close(self) -> None:
        """Free everything. May come from another thread while a call hangs, and must end that call."""


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """What a sandboxed process may use."""

    wall_s: float = 120.0
    """Seconds until the whole process tree is killed."""
    cpu_s: float | None = None
    """CPU seconds of one process (RLIMIT_CPU)."""
    memory_bytes: int = 8 << 30
    """Memory of the tree, by cgroup where possible, else RLIMIT_DATA per process."""
    processes: int = 128
    """Processes and threads at once."""
    output_bytes: int = 1 << 20
    """Standard output and error kept; the rest is read, dropped and marked as cut."""
    file_bytes: int = 1 << 30
    """Size of any file it writes (RLIMIT_FSIZE)."""


@dataclass(frozen=True, kw_only=True)
class ExitStatus:
    """How a sandboxed process ended."""

    code: int | None
    """Exit code; None when a signal ended it."""
    signal: int | None
    """The signal that ended it, else None."""
    timed_out: bool
    """Whether we killed it for its wall limit."""
    out_of_memory: bool
    """Whether the kernel or a limit ended it for memory."""
    output: str
    """What it wrote to standard output and error, cut at the limit."""
    output_cut: bool


class SandboxProcess(Protocol):
    """A running sandboxed Python process, serving a Unix socket."""

    @property
    def socket(self) -> socket.socket:
        """Our end of the connection; ownership passes to the caller, who may hand it on."""

    def kill(self) -> None:
        """Kill the whole tree; idempotent."""

    def wait(self, timeout_s: float | None = None) -> ExitStatus | None:
        """Wait for its end; None when it still runs after the time."""


@dataclass(frozen=True, kw_only=True)
class Mount:
    """A host path shown inside a sandbox."""

    path: Path
    """Absolute; the same inside."""
    writable: bool = False


class Sandbox(Protocol):
    """Runs code that nobody trusts."""

    @property
    def isolation(self) -> str:
        """The level reached: `docker`, `namespaces` or `limits`."""

    def fork(
        self, entry: str, limits: SandboxLimits, *, mounts: Sequence[Mount] = (), environment: Mapping[str, str] = {}
    ) -> SandboxProcess:
        """Start the Python function `entry` (`package.module:function`, taking a connected socket) in a fresh process
        of its own user, network, PID, IPC and mount namespaces, where the level permits, with a private `TMPDIR`.

        Raises `SandboxError`."""

    def run(
        self,
        command: Sequence[str],
        limits: SandboxLimits,
        *,
        directory: Path,
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] = {},
    ) -> ExitStatus:
        """Run a program (a compiler) to its end, with `directory` writable and everything else read-only or hidden.

        Raises `SandboxError`, and `ToolchainError` when the program does not exist."""

    def dedicate(self, owner: str) -> None:
        """From here on processes belong to `owner`, a job: nothing that outlives a process serves another job's."""

    def close(self) -> None:
        """Kill what still runs and free resources."""


@dataclass(frozen=True, kw_only=True)
class BuildResult:
    """Outcome of the compile gate."""

    ok: bool
    messages: str
    """The compiler's messages, complete (cut only at the output limit, and marked)."""
    artefacts: tuple[Path, ...]
    """Built files, read-only, in the cache."""
    seconds: float
    sources: tuple[str, ...] = ()
    """What the compilers were given; the referee reads it too."""


class KernelBackend(Protocol):
    """A language and toolchain of candidates."""

    @property
    def name(self) -> str:
        """`cpp`, `triton`, `cuda`, …"""

    def toolchain(self) -> str:
        """Compiler and version, part of cache keys. Raises `ToolchainError` when it is missing."""

    def build(self, source: str) -> BuildResult:
        """Compile everything a candidate's module asks for, in the compile sandbox, into the cache."""

    def listing(self, result: BuildResult) -> Listing:
        """The machine code of what was built, read in the compile sandbox. Raises nothing: what fails is its note."""


class DeviceProfiler(Protocol):
    """Reads hardware counters for a candidate, where permitted."""

    @property
    def source(self) -> str:
        """`ncu`, `perf`, `torch` or `none`."""

    def available(self) -> tuple[bool, str]:
        """Whether it works here, and why not."""

    def metrics(self, pid: int, seconds: float) -> dict[str, float]:
        """Counters of a running process over some seconds; empty where they are not permitted."""


@dataclass(frozen=True, kw_only=True)
class SearchState:
    """What a strategy decides from."""

    attempts: tuple[AttemptFact, ...]
    """All steps so far, oldest first."""
    best_candidate_id: str | None
    baselines: Baselines
    floor_us: float
    seed: int
    start_values: StartValues | None = None
    """What memory thinks of the accepted attempts as start points; None in a step without memory."""
    branch: int = 0
    """Which of the round's candidates is decided about, from 0."""
    width: int = 1
    """How many candidates a round makes at the same time."""

    @property
    def step(self) -> int:
        """Index of the step that is decided about."""
        return len(self.attempts) + self.branch


class Strategy(Protocol):
    """Search strategy: pure decisions, no side effects."""

    @property
    def name(self) -> str:
        """As settings name it."""

    def start_point(self, state: SearchState) -> AttemptFact | None:
        """The attempt to start the next step from; None for a fresh draft."""

    def stop(self, state: SearchState) -> str | None:
        """Why to stop early (roofline reached, plateau), or None to go on."""

    def brief(self, state: SearchState, start: AttemptFact | None) -> SearchBrief:  # noqa: ARG002 -- for others
        """What to tell the agents about the search, given its start point; nothing unless overridden."""
        return SearchBrief()


__all__ = [
    "ArtefactStore",
    "AuditLog",
    "BuildResult",
    "CandidateStore",
    "ChatModel",
    "Clock",
    "DeviceProfiler",
    "DeviceSheet",
    "Embedder",
    "EvaluationQueue",
    "EventLog",
    "ExitStatus",
    "Expiry",
    "IdentityProvider",
    "JobStore",
    "KernelBackend",
    "KeyStore",
    "Memory",
    "MemoryRecords",
    "MessageSender",
    "MeteredChatModel",
    "Mount",
    "NodeRegistry",
    "Profile",
    "QuotaStore",
    "RequestStore",
    "Sandbox",
    "SandboxLimits",
    "SandboxProcess",
    "SearchState",
    "ShareStore",
    "Strategy",
    "TeamStore",
    "VerdictStore",
    "WebhookStore",
    "WorkStore",
    "Workbench",
]
