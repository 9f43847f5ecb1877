"""Which events a webhook is told, and messages to receivers that show a sentence."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest

from services.domain.events import Event, EventKind
from services.domain.jobs import JobStatus
from services.domain.webhooks import (
    MOST_TAGS,
    Webhook,
    WebhookConditions,
    WebhookJob,
    check_delivery,
    event_delivery,
    faults,
    permits,
    told_speedup,
    wants_text,
)
from tests.doubles import FrozenClock

FINISHED = (EventKind.JOB_FINISHED,)


@pytest.mark.parametrize(
    ("given", "kinds", "said"),
    [
        ({"min_speedup": 0.0}, FINISHED, "must be a number above 0"),
        ({"min_speedup": math.nan}, FINISHED, "must be a number above 0"),
        ({"min_speedup": 1.2}, (EventKind.JOB_STATUS, EventKind.JOB_FINISHED), "leave out job.status or min_speedup"),
        ({"statuses": (JobStatus.SOLVED,)}, (EventKind.JOB_NOTICE,), "leave out job.notice or statuses"),
        ({"faster": True}, (EventKind.STEP_FINISHED,), "leave out step.finished or faster"),
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
        statuses=(JobStatus.SOLVED, JobStatus.NO_GAIN),
        min_speedup=1.2,
        faster=True,
        first_place=True,
        tags=("nightly",),
    )
    assert faults(every, FINISHED) is None
    assert faults(WebhookConditions(statuses=(JobStatus.RUNNING,)), (EventKind.JOB_STATUS,)) is None
    assert faults(WebhookConditions(), tuple(EventKind)) is None


@pytest.mark.parametrize(
    ("data", "fires"),
    [
        ({"speedup": 1.5, "gain": "surely"}, True),
        ({"speedup": 9.5, "gain": "within_noise"}, False),
        ({"speedup": 0.5, "gain": "none"}, False),
        ({"speedup": None, "gain": None}, False),
        ({"speedup": 1.5}, False),
    ],
)
def test_only_a_sure_gain_fires_where_that_is_asked(data: dict[str, Any], fires: bool) -> None:
    event = Event(job_id="job-1", seq=1, kind=EventKind.JOB_FINISHED, data=data, at=datetime(2026, 1, 1, tzinfo=UTC))
    job = WebhookJob(tags=(), leads=lambda _speedup: True)
    assert permits(WebhookConditions(faster=True), event, job) is fires
    assert permits(WebhookConditions(), event, job)


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


NOW = FrozenClock().now()


def a_webhook(url: str) -> Webhook:
    return Webhook(
        id="hook-1",
        team_id="local",
        url=url,
        kinds=(EventKind.JOB_FINISHED,),
        secret="whsec_AAAA",
        enabled=True,
        note=None,
        created_at=NOW,
    )


def an_end(**data: object) -> Event:
    return Event(job_id="job-1", seq=9, kind=EventKind.JOB_FINISHED, data=data, at=NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://hooks.slack.com/services/T0/B0/x", True),
        ("https://discord.com/api/webhooks/1/x/slack", True),
        ("https://example.com/hook", False),
        ("https://[::1", False),
        ("https://hooks.slack.com.evil.example/x", False),
        ("https://example.com/?hooks.slack.com", False),
    ],
)
def test_only_receivers_of_that_form_get_a_sentence(url: str, expected: bool) -> None:
    assert wants_text(url) is expected
    body = json.loads(event_delivery(a_webhook(url), an_end(status="solved")).body)
    assert set(body) == ({"text"} if expected else {"type", "timestamp", "data"})


def test_the_sentence_has_the_outcome_and_the_figure_and_no_markup_of_others() -> None:
    told = an_end(status="no_gain", speedup={"best_baseline": 1.004}, message="<!channel> all rounds & time")
    body = json.loads(event_delivery(a_webhook("https://hooks.slack.com/x"), told).body)
    assert body["text"] == (
        "Kernelwright: job-1 no gain, 1.00× the fastest baseline (&lt;!channel&gt; all rounds &amp; time)"
    )


def test_a_test_message_says_that_it_works() -> None:
    assert json.loads(check_delivery(a_webhook("https://hooks.slack.com/x"), NOW).body) == {
        "text": "Kernelwright: this webhook works."
    }
