"""Webhooks: who is told of a team's events and when, and what was told. Messages follow the Standard Webhooks spec."""

from __future__ import annotations

import base64
import json
import math
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit

from services.domain.candidates import content_hash
from services.domain.events import Event, EventKind, JsonValue
from services.domain.jobs import FINAL_STATUSES, JobStatus
from services.domain.measurements import Gain

STATUS_KINDS = (EventKind.JOB_STATUS, EventKind.JOB_FINISHED)
"""Events that tell a job's status."""
SPEEDUP_KINDS = (EventKind.JOB_FINISHED, EventKind.STEP_FINISHED, EventKind.EVALUATION_FINISHED)
"""Events that tell a speedup over the fastest baseline."""
GAIN_KINDS = (EventKind.JOB_FINISHED, EventKind.EVALUATION_FINISHED)
"""Events that tell whether a kernel is faster, by the interval of its speedup."""
PLACE_KINDS = (EventKind.JOB_FINISHED,)
"""Events after which a job has its place on the leaderboard."""
MOST_TAGS = 32


@dataclass(frozen=True, kw_only=True)
class WebhookConditions:
    """All of them must hold for a message to be sent; the empty ones always do."""

    statuses: tuple[JobStatus, ...] = ()
    """Any of these states; none means all."""
    min_speedup: float | None = None
    """Least speedup over the fastest baseline."""
    faster: bool = False
    """Only kernels that are surely faster than the fastest baseline: the whole 95 % interval lies above 1."""
    first_place: bool = False
    """Only jobs that take the first place on the leaderboard: faster than every other job of the team with the same
    problem and device."""
    tags: tuple[str, ...] = ()
    """All of these tags are the job's."""

    @property
    def about_jobs(self) -> bool:
        """Whether the event alone does not say if they hold."""
        return self.first_place or bool(self.tags)


ALWAYS = WebhookConditions()
"""No conditions at all."""


@dataclass(frozen=True, kw_only=True)
class WebhookJob:
    """What conditions ask about an event's job."""

    tags: Collection[str]
    leads: Callable[[float], bool]
    """Whether a speedup is above those of all other jobs of the team with the job's problem and device."""


def faults(conditions: WebhookConditions, kinds: Sequence[EventKind]) -> str | None:
    """What is wrong with conditions for a webhook that is told of such events, with what to do; None if nothing.

    Conditions that can never hold are refused: a webhook that stays silent looks like one that works."""
    least = conditions.min_speedup
    if least is not None and not (math.isfinite(least) and least > 0):
        return f"min_speedup is {least:g}: it must be a number above 0, such as 1.2"
    if any(not tag.strip() for tag in conditions.tags) or len(conditions.tags) > MOST_TAGS:
        return f"tags must be at most {MOST_TAGS} names, none of them empty"
    asked = (
        ("statuses", bool(conditions.statuses), STATUS_KINDS),
        ("min_speedup", least is not None, SPEEDUP_KINDS),
        ("faster", conditions.faster, GAIN_KINDS),
        ("first_place", conditions.first_place, PLACE_KINDS),
    )
    for name, given, known in asked:
        silent = [kind.value for kind in kinds if kind not in known]
        if given and silent:
            return f"{name} is told by {', '.join(known)} only: leave out {', '.join(silent)} or {name}"
    if EventKind.JOB_STATUS not in kinds:
        going = [status.value for status in conditions.statuses if status not in FINAL_STATUSES]
        if going:
            return f"job.finished never has the status {', '.join(going)}: add the event job.status, or leave it out"
    return None


def permits(conditions: WebhookConditions, event: Event, job: WebhookJob) -> bool:
    """Whether an event is told under these conditions."""
    if conditions.statuses and event.data.get("status") not in conditions.statuses:
        return False
    if not set(conditions.tags) <= set(job.tags):
        return False
    if conditions.faster and event.data.get("gain") != Gain.SURELY:
        return False
    speedup = told_speedup(event.data)
    if conditions.min_speedup is not None and (speedup is None or speedup < conditions.min_speedup):
        return False
    return not conditions.first_place or (speedup is not None and job.leads(speedup))


def told_speedup(data: Mapping[str, JsonValue]) -> float | None:
    """The speedup over the fastest baseline that an event tells; None where it tells none."""
    told = data.get("speedup", data.get("best_speedup"))
    value = told.get("best_baseline") if isinstance(told, Mapping) else told
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


DELIVERABLE = (
    EventKind.JOB_STATUS,
    EventKind.JOB_VALIDATED,
    EventKind.EVALUATION_FINISHED,
    EventKind.STEP_FINISHED,
    EventKind.JOB_NOTICE,
    EventKind.JOB_FINISHED,
)
"""Events that are worth a message; the rest (an agent's words as they come) are for those who watch."""
TEST_KIND = "webhook.test"
RETRY_S = (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds between attempts, as the spec suggests: about three days in all."""
_SECRET_BYTES = 32
_LONGEST_SENTENCE = 2000


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """One receiver of a team's events."""

    id: str
    team_id: str
    url: str
    kinds: tuple[EventKind, ...]
    """What it is told of."""
    conditions: WebhookConditions = ALWAYS
    """Which of these events."""
    secret: str
    """`whsec_…`: the key of the signatures, shown to people once."""
    enabled: bool
    note: str | None
    """Why it was switched off, where that was not a person's doing."""
    created_at: datetime


class DeliveryStatus(StrEnum):
    """Where a message is."""

    PENDING = "pending"
    """Sent when it is due, for the first time or again."""
    DELIVERED = "delivered"
    FAILED = "failed"
    """Given up."""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One message to one receiver, and how far it got."""

    id: str
    """The message's `webhook-id`: the same at every attempt, so that a receiver can tell what it knows already."""
    team_id: str
    webhook_id: str
    job_id: str | None
    """None for a test."""
    kind: str
    body: str
    """JSON as it is signed and sent."""
    status: DeliveryStatus
    attempts: int
    answer: int | None
    """HTTP status of the last attempt; None where no answer came."""
    fault: str | None
    """What was wrong with the last attempt."""
    created_at: datetime
    due_at: datetime
    """When it is tried next."""
    ended_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class DeliveryOutcome:
    """What came of one attempt."""

    delivered: bool
    answer: int | None = None
    fault: str | None = None

    @property
    def gone(self) -> bool:
        """Whether the receiver wants no more messages (HTTP 410)."""
        return self.answer == 410


def new_secret() -> str:
    """A fresh key of 256 random bits, as the spec writes it."""
    return f"whsec_{base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()}"


def event_delivery(webhook: Webhook, event: Event) -> Delivery:
    """The message that tells a receiver of an event."""
    data: dict[str, JsonValue] = {**event.data, "job_id": event.job_id, "seq": event.seq}
    number = content_hash(f"{webhook.id}/{event.job_id}/{event.seq}")[:24]
    return _delivery(webhook, f"msg_{number}", event.kind.value, data, event.at, event.job_id)


def check_delivery(webhook: Webhook, at: datetime) -> Delivery:
    """A message that tells nothing, to see whether it arrives."""
    data: dict[str, JsonValue] = {"webhook_id": webhook.id}
    return _delivery(webhook, f"msg_{secrets.token_hex(12)}", TEST_KIND, data, at, None)


def wants_text(url: str) -> bool:
    """Whether a receiver shows a sentence rather than reading a document: Slack's incoming webhooks, and addresses
    that take their form (Discord, Mattermost: the last part of the path is `slack`)."""
    try:
        parts = urlsplit(url)
    except ValueError:  # no address at all: sending to it fails, and the log says how
        return False
    return parts.hostname == "hooks.slack.com" or parts.path.rstrip("/").endswith("/slack")


def escaped(text: str) -> str:
    """A text in which Slack finds neither links nor mentions of its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def sentence(kind: str, data: Mapping[str, JsonValue]) -> str:
    """An event for people, in one line."""
    if kind == TEST_KIND:
        return "Kernelwright: this webhook works."
    ratio = told_speedup(data)
    told = str(data.get("status") or data.get("verdict") or kind).replace("_", " ")
    figures = f", {ratio:.2f}× the fastest baseline" if ratio is not None else ""
    message = f" ({data['message']})" if data.get("message") else ""
    return f"Kernelwright: {data.get('problem') or data.get('job_id')} {told}{figures}{message}"[:_LONGEST_SENTENCE]


def _delivery(
    webhook: Webhook, own_id: str, kind: str, data: dict[str, JsonValue], at: datetime, job_id: str | None
) -> Delivery:
    document: dict[str, JsonValue] = {"type": kind, "timestamp": at.isoformat(), "data": data}
    if wants_text(webhook.url):
        document = {"text": escaped(sentence(kind, data))}
    body = json.dumps(document, ensure_ascii=True)
    return Delivery(
        id=own_id,
        team_id=webhook.team_id,
        webhook_id=webhook.id,
        job_id=job_id,
        kind=kind,
        body=body,
        status=DeliveryStatus.PENDING,
        attempts=0,
        answer=None,
        fault=None,
        created_at=at,
        due_at=at,
        ended_at=None,
    )
