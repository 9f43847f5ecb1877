"""What every `QuotaStore` promises."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from services.domain.chat import AgentRole
from services.domain.errors import NotFoundError
from services.domain.quotas import Period, Quota, Resource
from services.domain.steps import ModelCall, StepRecord
from services.domain.usage import Usage
from tests.contracts.conftest import Stores
from tests.doubles import a_candidate, a_job, a_report, a_step, an_evaluation_request

JOBS = Quota(resource=Resource.JOBS, period=Period.DAY, most=5)


async def test_limits_are_set_changed_and_dropped_and_the_audit_log_says_so(stores: Stores) -> None:
    await stores.teams.create_team("red", "ada")
    dollars = Quota(resource=Resource.DOLLARS, period=Period.MONTH, most=12.5)
    for quota in (JOBS, dollars, replace(JOBS, most=7)):
        await stores.quotas.set("red", quota, "ada")
    assert set(await stores.quotas.limits("red")) == {dollars, replace(JOBS, most=7)}
    assert await stores.quotas.limited_teams() == ("red",)
    for _ in range(2):
        await stores.quotas.drop("red", Resource.JOBS, Period.DAY, "ada")
    assert await stores.quotas.limits("red") == (dollars,)
    acts = [entry.action for entry in await stores.audit.read("red")]
    assert acts == ["drop_quota", "set_quota", "set_quota", "set_quota", "create_team"]


async def test_a_team_that_nobody_knows_has_no_limits(stores: Stores) -> None:
    with pytest.raises(NotFoundError):
        await stores.quotas.set("green", JOBS, "ada")
    with pytest.raises(NotFoundError):
        await stores.quotas.drop("green", Resource.JOBS, Period.DAY, "ada")
    assert await stores.quotas.limits("green") == ()


async def test_use_is_what_was_recorded_since_then_by_this_team(stores: Stores) -> None:
    start = stores.clock.now()
    await stores.jobs.create(a_job("job-1"))
    lease = await stores.jobs.acquire("test", 3600, "job-1")
    assert lease is not None
    candidate, report = a_candidate("job-1", 0), a_report()
    await stores.candidates.add(lease, candidate)
    report = replace(report, phases_s=replace(report.phases_s, total=3.0))
    await stores.candidates.finish(an_evaluation_request(candidate), report)
    usage = Usage(calls=1, input_tokens=1000, output_tokens=500, dollars=2.0)
    call = ModelCall(role=AgentRole.CODER, model="m", prompt=(), prompt_hash="h", reply="{}", usage=usage, seconds=1.0)
    step = replace(a_step("job-1", 0), calls=(call,), started_at=start, finished_at=start)
    await stores.jobs.record_step(lease, StepRecord(step=step))
    known = {Resource.JOBS: 1, Resource.TOKENS: 1500, Resource.DOLLARS: 2.0, Resource.DEVICE_S: 3.0}
    since_then = [(resource, start) for resource in known]
    assert await stores.quotas.used("local", since_then) == tuple(known.values())
    assert await stores.quotas.used("local", since_then[::-1]) == tuple(known.values())[::-1]
    later = start + timedelta(days=1)
    assert await stores.quotas.used("local", [(Resource.JOBS, start), (Resource.JOBS, later)]) == (1, 0)
    assert await stores.quotas.used("local", [(resource, later) for resource in known]) == (0, 0, 0, 0)
    assert await stores.quotas.used("other", since_then) == (0, 0, 0, 0)
    assert await stores.quotas.used("local", []) == ()


async def test_calls_of_no_job_count_as_tokens_and_dollars(stores: Stores) -> None:
    start = stores.clock.now()
    await stores.teams.create_team("red", "ada")
    for dollars in (0.25, None):
        await stores.quotas.record("red", Usage(calls=1, input_tokens=100, output_tokens=20, dollars=dollars))
    wanted = [(resource, start) for resource in (Resource.TOKENS, Resource.DOLLARS, Resource.JOBS)]
    assert await stores.quotas.used("red", wanted) == (240, 0.25, 0)
    assert await stores.quotas.used("local", wanted) == (0, 0, 0)
    with pytest.raises(NotFoundError):
        await stores.quotas.record("green", Usage())
