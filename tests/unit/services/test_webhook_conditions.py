from __future__ import annotations

import math
from typing import Any

import pytest

from services.domain.events import EventKind
from services.domain.jobs import JobStatus
from services.domain.webhook_conditions import MOST_TAGS, WebhookConditions, faults, told_speedup

FINISHED = (EventKind.JOB_FINISHED,)


@pytest.mark.parametrize(
    ("given", "kinds", "said"),
    [
        ({"min_speedup": 0.0}, FINISHED, "must be a number above 0"),
        ({"min_speedup": math.nan}, FINISHED, "must be a number above 0"),
        ({"min_speedup": 1.2}, (EventKind.JOB_STATUS, EventKind.JOB_FINISHED), "leave out job.status or min_speedup"),
        ({"statuses": (JobStatus.SOLVED,)}, (EventKind.JOB_NOTICE,), "leave out job.notice or statuses"),
        ({"first_place": True}, (EventKind.STEP_FINISHED,), "leave out step.finished or first_place"),
        ({"statuses": (JobStatus.RUNNING,)}, FINISHED, "add the event job.status"),
        ({"tags": ("",)}, FINISHED, "none of them empty"),
        ({"tags": tuple(map(str, range(MOST_TAGS + 1)))}, FINISHED, f"at most {MOST_TAGS} names"),
    ],
)
def test_conditions_that_can_never_hold_are_refused(
    given: dict[str, Any], kinds: tuple[EventKind, ...], said: str
) -> None:
    assert said in (faults(WebhookConditions(**given), kinds) or "")


def test_conditions_that_can_hold_are_taken() -> None:
    every = WebhookConditions(
        statuses=(JobStatus.SOLVED, JobStatus.NO_GAIN), min_speedup=1.2, first_place=True, tags=("nightly",)
    )
    assert faults(every, FINISHED) is None
    assert faults(WebhookConditions(statuses=(JobStatus.RUNNING,)), (EventKind.JOB_STATUS,)) is None
    assert faults(WebhookConditions(), tuple(EventKind)) is None


@pytest.mark.parametrize(
    ("data", "speedup"),
    [
        ({"speedup": 1.5}, 1.5),
        ({"speedup": {"eager": 3.0, "best_baseline": 2.0}}, 2.0),
        ({"best_speedup": 2}, 2.0),
        ({"speedup": None}, None),
        ({"speedup": {"best_baseline": None}}, None),
        ({}, None),
    ],
)
def test_every_event_tells_its_speedup_in_its_own_way(data: dict[str, Any], speedup: float | None) -> None:
    assert told_speedup(data) == speedup
