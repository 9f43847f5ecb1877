"""What every `WebhookStore` does, and that events leave messages in their own transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from services.domain.errors import LeaseLostError, NotFoundError
from services.domain.events import EventKind
from services.domain.jobs import JobStatus
from services.domain.steps import StepRecord
from services.domain.webhooks import DeliveryOutcome, DeliveryStatus, Webhook, WebhookConditions, check_delivery
from services.ports.jobs import EventLog, JobStore
from services.ports.teams import WebhookStore
from tests.contracts.conftest import Stores
from tests.doubles import FrozenClock, a_candidate, a_job, a_report, a_step, an_evaluation_request
from tests.doubles.builders import MOMENT

TAKEN = DeliveryOutcome(delivered=True, answer=204)
REFUSED = DeliveryOutcome(delivered=False, answer=500, fault="it answered 500")


@dataclass(frozen=True, kw_only=True)
class Post:
    """A store of webhooks beside the jobs whose events it tells of."""

    webhooks: WebhookStore
    jobs: JobStore
    events: EventLog
    clock: FrozenClock


@pytest.fixture
async def post(stores: Stores) -> Post:
    await stores.jobs.create(a_job())
    return Post(webhooks=stores.webhooks, jobs=stores.jobs, events=stores.events, clock=stores.clock)


def a_webhook(number: int = 1, *kinds: EventKind, team_id: str = "local") -> Webhook:
    return Webhook(
        id=f"hook-{number}",
        team_id=team_id,
        url="https://example.com/hook?x=1",
        kinds=kinds or (EventKind.JOB_FINISHED,),
        secret="whsec_AAAA",
        enabled=True,
        note=None,
        created_at=MOMENT + timedelta(seconds=number),
    )


async def test_an_event_leaves_one_message_for_each_receiver_that_wants_its_kind(post: Post) -> None:
    await post.webhooks.add(a_webhook(1))
    await post.webhooks.add(a_webhook(2, EventKind.STEP_FINISHED, EventKind.JOB_FINISHED))
    await post.events.append("job-1", EventKind.STEP_FINISHED, {"step": 0})
    await post.events.append("job-1", EventKind.AGENT_DELTA, {"text": "…"})
    finished = await post.events.append("job-1", EventKind.JOB_FINISHED, {"status": "solved"})
    (told,) = await post.webhooks.deliveries("local", "hook-1", 10)
    assert len(await post.webhooks.deliveries("local", "hook-2", 10)) == 2
    body = json.loads(told.body)
    assert body["type"] == told.kind == "job.finished"
    assert body["data"] == {"status": "solved", "job_id": "job-1", "seq": finished.seq}
    assert (told.status, told.attempts, told.job_id) == (DeliveryStatus.PENDING, 0, "job-1")


async def test_a_write_that_fails_leaves_no_message(post: Post) -> None:
    await post.webhooks.add(a_webhook(1, EventKind.JOB_STATUS))
    lease = await post.jobs.acquire("one", 60, "job-1")
    assert lease is not None
    with pytest.raises(LeaseLostError):
        await post.jobs.set_status(replace(lease, token=lease.token + 1), JobStatus.RUNNING)
    assert await post.webhooks.deliveries("local", "hook-1", 10) == ()
    await post.jobs.set_status(lease, JobStatus.RUNNING)
    assert len(await post.webhooks.deliveries("local", "hook-1", 10)) == 1


async def test_a_receiver_that_is_switched_off_is_told_of_nothing(post: Post) -> None:
    await post.webhooks.add(a_webhook())
    await post.webhooks.place(check_delivery(a_webhook(), MOMENT))
    off = await post.webhooks.enable("local", "hook-1", enabled=False, note="it answered 410")
    assert (off.enabled, off.note) == (False, "it answered 410")
    await post.events.append("job-1", EventKind.JOB_FINISHED, {})
    assert len(await post.webhooks.deliveries("local", "hook-1", 10)) == 1
    assert await post.webhooks.claim(10, 60) == ()
    await post.webhooks.enable("local", "hook-1", enabled=True, note=None)
    assert len(await post.webhooks.claim(10, 60)) == 1


async def test_a_claim_takes_few_messages_of_one_receiver_and_none_of_a_busy_one(post: Post) -> None:
    first, second = a_webhook(), replace(a_webhook(), id="hook-2")
    await post.webhooks.add(first)
    await post.webhooks.add(second)
    for _ in range(6):
        await post.webhooks.place(check_delivery(first, MOMENT))
    await post.webhooks.place(check_delivery(second, MOMENT))
    taken = await post.webhooks.claim(10, 60, each=2)
    assert sorted(webhook.id for webhook, _ in taken) == ["hook-1", "hook-1", "hook-2"]
    assert await post.webhooks.claim(10, 60, busy=("hook-1", "hook-2")) == ()
    assert len(await post.webhooks.claim(10, 60, busy=("hook-2",))) == 4


async def test_a_claimed_message_is_due_again_when_its_sender_dies(post: Post) -> None:
    await post.webhooks.add(a_webhook())
    await post.webhooks.place(check_delivery(a_webhook(), MOMENT))
    ((webhook, first),) = await post.webhooks.claim(10, 60)
    assert (webhook, first.attempts) == (a_webhook(), 1)
    assert await post.webhooks.claim(10, 60) == ()
    post.clock.advance(61)
    ((_, second),) = await post.webhooks.claim(10, 60)
    assert (second.id, second.body, second.attempts) == (first.id, first.body, 2)
    assert await post.webhooks.settle(first, TAKEN, None) is False, "the first sender was only slow"
    assert await post.webhooks.settle(second, TAKEN, None) is True
    (told,) = await post.webhooks.deliveries("local", "hook-1", 10)
    assert (told.status, told.answer, told.ended_at) == (DeliveryStatus.DELIVERED, 204, post.clock.now())


async def test_a_refused_message_waits_for_its_time_and_ends_where_there_is_none(post: Post) -> None:
    await post.webhooks.add(a_webhook())
    await post.webhooks.place(check_delivery(a_webhook(), MOMENT))
    ((_, taken),) = await post.webhooks.claim(10, 60)
    assert await post.webhooks.settle(taken, REFUSED, post.clock.now() + timedelta(seconds=300))
    post.clock.advance(299)
    assert await post.webhooks.claim(10, 60) == ()
    post.clock.advance(1)
    ((_, taken),) = await post.webhooks.claim(10, 60)
    assert await post.webhooks.settle(taken, REFUSED, None)
    (told,) = await post.webhooks.deliveries("local", "hook-1", 10)
    assert (told.status, told.answer, told.fault) == (DeliveryStatus.FAILED, 500, "it answered 500")


async def test_a_message_is_sent_again_under_its_own_id(post: Post) -> None:
    await post.webhooks.add(a_webhook())
    await post.webhooks.place(check_delivery(a_webhook(), MOMENT))
    ((_, taken),) = await post.webhooks.claim(10, 60)
    await post.webhooks.settle(taken, TAKEN, None)
    again = await post.webhooks.resend("local", "hook-1", taken.id)
    assert (again.id, again.status, again.attempts) == (taken.id, DeliveryStatus.PENDING, 0)
    assert len(await post.webhooks.claim(10, 60)) == 1
    for team, hook, message in (("other", "hook-1", taken.id), ("local", "hook-2", taken.id), ("local", "hook-1", "m")):
        with pytest.raises(NotFoundError, match="no message"):
            await post.webhooks.resend(team, hook, message)


async def test_old_ends_are_removed_and_what_is_pending_stays(post: Post) -> None:
    await post.webhooks.add(a_webhook())
    for _ in range(2):
        await post.webhooks.place(check_delivery(a_webhook(), MOMENT))
    ((_, taken), _other) = await post.webhooks.claim(10, 60)
    await post.webhooks.settle(taken, TAKEN, None)
    assert await post.webhooks.prune(post.clock.now()) == 0
    assert await post.webhooks.prune(post.clock.now() + timedelta(seconds=1)) == 1
    assert len(await post.webhooks.deliveries("local", "hook-1", 10)) == 1


async def test_a_webhook_is_its_teams_and_goes_with_its_messages(post: Post) -> None:
    await post.webhooks.add(a_webhook(2))
    await post.webhooks.add(a_webhook(1))
    await post.webhooks.place(check_delivery(a_webhook(), MOMENT))
    assert [one.id for one in await post.webhooks.list("local")] == ["hook-1", "hook-2"]
    assert await post.webhooks.list("other") == ()
    for act in (post.webhooks.get, post.webhooks.remove):
        with pytest.raises(NotFoundError, match="no webhook"):
            await act("other", "hook-1")
    await post.webhooks.remove("local", "hook-1")
    assert await post.webhooks.deliveries("local", "hook-1", 10) == ()
    assert await post.webhooks.claim(10, 60) == ()


def a_condition(**given: Any) -> Webhook:
    return replace(a_webhook(), conditions=WebhookConditions(**given))


async def told(post: Post, job_id: str = "job-1") -> bool:
    """Whether the one receiver was told of a job's end."""
    return any(one.job_id == job_id for one in await post.webhooks.deliveries("local", "hook-1", 50))


@pytest.mark.parametrize(
    ("conditions", "data", "fires"),
    [
        ({"statuses": (JobStatus.SOLVED,)}, {"status": "solved"}, True),
        ({"statuses": (JobStatus.FAILED, JobStatus.REFUSED)}, {"status": "solved"}, False),
        ({"min_speedup": 1.5}, {"status": "solved", "speedup": 1.5}, True),
        ({"min_speedup": 1.5}, {"status": "solved", "speedup": 1.4}, False),
        ({"min_speedup": 1.5}, {"status": "unsolved", "speedup": None}, False),
        ({"tags": ("nightly",)}, {"status": "solved"}, False),
        ({"first_place": True}, {"status": "unsolved", "speedup": None}, False),
        ({"first_place": True}, {"status": "solved", "speedup": 1.01}, True),
    ],
)
async def test_a_condition_decides_whether_a_receiver_is_told(
    post: Post, conditions: dict[str, Any], data: dict[str, Any], fires: bool
) -> None:
    await post.webhooks.add(a_condition(**conditions))
    assert (await post.webhooks.get("local", "hook-1")).conditions == WebhookConditions(**conditions)
    await post.events.append("job-1", EventKind.JOB_FINISHED, data)
    assert await told(post) is fires


async def solved(
    stores: Stores, job_id: str, speedup: float, *, device: str = "cpu", problem: str | None = None
) -> None:
    """A job whose best kernel is so much faster than the best baseline."""
    job = a_job(job_id)
    spec = replace(job.spec, device=device)
    spec = replace(spec, problem=replace(spec.problem, name=problem or spec.problem.name))
    await stores.jobs.create(replace(job, spec=spec))
    lease = await stores.jobs.acquire("one", 60, job_id)
    assert lease is not None
    candidate = a_candidate(job_id)
    await stores.candidates.add(lease, candidate)
    report = a_report(median_us=100.0, eager_us=100.0 * speedup)
    await stores.candidates.finish(an_evaluation_request(candidate), report)
    step = replace(a_step(index=0), job_id=job_id)
    await stores.jobs.record_step(lease, StepRecord(step=step, best_candidate_id=candidate.id))


async def test_all_tags_of_a_condition_have_to_be_the_job_s(post: Post) -> None:
    await post.webhooks.add(a_condition(tags=("nightly", "v2")))
    for number, tags in enumerate([("nightly",), ("v2", "other", "nightly")], start=2):
        job = a_job(f"job-{number}")
        await post.jobs.create(replace(job, spec=replace(job.spec, tags=tags)))
        await post.events.append(job.id, EventKind.JOB_FINISHED, {"status": "solved"})
    assert [await told(post, f"job-{number}") for number in (2, 3)] == [False, True]


async def test_the_first_place_is_that_of_a_team_a_problem_and_a_device(stores: Stores, post: Post) -> None:
    await post.webhooks.add(a_condition(first_place=True))
    await solved(stores, "job-2", 1.5)
    await solved(stores, "job-3", 9.0, device="h200")
    await solved(stores, "job-4", 9.0, problem="another")
    for number, speedup in enumerate((1.4, 1.5, 1.6), start=5):
        await stores.jobs.create(a_job(f"job-{number}"))
        await post.events.append(f"job-{number}", EventKind.JOB_FINISHED, {"status": "solved", "speedup": speedup})
    assert [await told(post, f"job-{number}") for number in (5, 6, 7)] == [False, False, True]
