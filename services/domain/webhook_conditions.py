"""When a webhook fires: on which states, from which speedup on, for whose jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

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
