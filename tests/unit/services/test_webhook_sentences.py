"""Messages to receivers that show a sentence."""

from __future__ import annotations

import json

import pytest

from services.domain.events import Event, EventKind
from services.domain.webhooks import Webhook, check_delivery, event_delivery, wants_text
from tests.doubles import FrozenClock

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
