"""Quotas and rate limits: counted from what was recorded, told with when to come again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from sqlalchemy import update

from kernelwright import cli
from services.domain.chat import AgentRole, ChatMessage
from services.domain.jobs import JobStatus
from services.domain.quotas import Period, Resource
from services.domain.steps import ModelCall, StepRecord
from services.domain.usage import Usage
from services.teams.rate_limits import LocalBuckets, RateLimiter
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.events import SqlEventLog
from storage.tables import jobs
from storage.teams.quotas import SETTLED
from tests.contracts.teams_server import PROBLEM, TeamServer
from tests.doubles import FrozenClock, a_candidate, a_report, a_step, an_evaluation_request


@pytest_asyncio.fixture
async def server(database: Database, tmp_path: Path) -> TeamServer:
    return TeamServer(database, tmp_path / "kernelwright_rt.py")


@pytest_asyncio.fixture
async def red(server: TeamServer) -> AsyncIterator[httpx.AsyncClient]:
    async with await server.token("red") as client:
        yield client


@pytest_asyncio.fixture
async def local(server: TeamServer) -> AsyncIterator[httpx.AsyncClient]:
    async with await server.token("local") as client:
        yield client


async def limit(local: httpx.AsyncClient, resource: str, most: float, period: str = "day") -> None:
    answer = await local.put(f"/teams/red/quotas/{resource}/{period}", json={"most": most})
    assert answer.status_code == 204, answer.text


async def used_up(server: TeamServer, red: httpx.AsyncClient) -> str:
    """A running job of one step: 1,500 tokens, 2 dollars, 3 seconds of a device."""
    job_id: str = (await red.post("/jobs", json={"problem": PROBLEM})).json()["id"]
    lease = await server.stores.jobs.acquire("test", 3600, job_id)
    assert lease is not None
    await server.stores.jobs.set_status(lease, JobStatus.VALIDATING)
    await server.stores.jobs.set_status(lease, JobStatus.RUNNING)
    candidates = SqlCandidateStore(server.database, server.clock)
    candidate = replace(a_candidate(job_id, 0), team_id="red")
    await candidates.add(lease, candidate)
    report = a_report()
    report = replace(report, phases_s=replace(report.phases_s, total=3.0))
    await candidates.finish(replace(an_evaluation_request(candidate), team_id="red"), report)
    step = a_step(job_id, 0)
    call = ModelCall(
        role=AgentRole.CODER,
        model="m",
        prompt=(ChatMessage(role="user", content="Write it."),),
        prompt_hash="h",
        reply="{}",
        usage=Usage(calls=1, input_tokens=1000, output_tokens=500, dollars=2.0),
        seconds=1.0,
    )
    moment = server.clock.now()
    step = replace(step, team_id="red", calls=(call,), started_at=moment, finished_at=moment)
    await server.stores.jobs.record_step(lease, StepRecord(step=step))
    return job_id


async def test_use_is_counted_from_what_was_recorded(
    server: TeamServer, red: httpx.AsyncClient, local: httpx.AsyncClient
) -> None:
    for resource in Resource:
        await limit(local, resource, 100_000, "month")
    await used_up(server, red)
    found = {line["resource"]: line["used"] for line in (await red.get("/quotas")).json()["items"]}
    assert found == {"jobs": 1, "tokens": 1500, "dollars": 2, "device_s": 3}
    assert (await local.get("/quotas")).json()["items"] == []
    server.clock.advance(32 * 86400)
    assert {line["used"] for line in (await red.get("/quotas")).json()["items"]} == {0}


@pytest.mark.parametrize(("resource", "most"), [("tokens", 1500), ("dollars", 2), ("device_s", 2.5)])
async def test_a_used_up_quota_pauses_what_runs_and_refuses_what_is_new(
    server: TeamServer, red: httpx.AsyncClient, local: httpx.AsyncClient, resource: str, most: float
) -> None:
    await limit(local, resource, most)
    job_id = await used_up(server, red)
    events = SqlEventLog(server.database, server.clock)
    assert await server.quotas.enforce(server.stores.jobs, events) == (job_id,)
    assert await server.quotas.enforce(server.stores.jobs, events) == ()
    assert (await server.stores.jobs.get("red", job_id)).pause_requested
    told = (await events.read(job_id))[-1].data["message"]
    assert f"quota of {most:g} {resource} a day is used up" in str(told)
    refused = await red.post("/jobs", json={"problem": PROBLEM})
    assert refused.status_code == 429
    assert refused.json()["detail"].endswith("until 2026-01-02 00:00 UTC")
    assert refused.headers["retry-after"] == "86400"
    server.clock.advance(86400)
    assert (await red.post("/jobs", json={"problem": PROBLEM})).status_code == 201
    assert await server.quotas.enforce(server.stores.jobs, events) == ()


async def test_many_submissions_at_once_do_not_pass_a_quota_and_repeated_ones_are_free(
    server: TeamServer, red: httpx.AsyncClient, local: httpx.AsyncClient
) -> None:
    await limit(local, "jobs", 3)

    async def submit(key: str) -> int:
        return (await red.post("/jobs", json={"problem": PROBLEM}, headers={"Idempotency-Key": key})).status_code

    answers = await asyncio.gather(*(submit(f"key-{number}") for number in range(8)))
    assert sorted(answers) == [201] * 3 + [429] * 5
    again = f"key-{answers.index(201)}"
    assert await submit(again) == 200
    judged = await red.post("/evaluations", json={"problem": PROBLEM, "candidate": "class ModelNew: ..."})
    assert judged.status_code == 429
    assert (await local.post("/jobs", json={"problem": PROBLEM})).status_code == 201


async def test_only_those_who_run_the_installation_set_quotas(
    red: httpx.AsyncClient, local: httpx.AsyncClient, server: TeamServer
) -> None:
    assert (await red.put("/teams/red/quotas/jobs/day", json={"most": 1000})).status_code == 403
    assert (await local.put("/teams/green/quotas/jobs/day", json={"most": 1})).status_code == 404
    assert (await local.put("/teams/red/quotas/jobs/day", json={"most": -1})).status_code == 422
    await limit(local, "jobs", 0)
    assert (await red.post("/jobs", json={"problem": PROBLEM})).status_code == 429
    assert (await local.delete("/teams/red/quotas/jobs/day")).status_code == 204
    assert (await red.post("/jobs", json={"problem": PROBLEM})).status_code == 201
    done = [entry.action for entry in await server.access.audit("red")]
    assert done[:3] == ["submit_job", "drop_quota", "set_quota"]


async def test_too_many_requests_are_told_when_to_come_again(sqlite_address: str, tmp_path: Path) -> None:
    database = Database(sqlite_address)
    clock = FrozenClock()
    rates = RateLimiter(LocalBuckets(clock), per_caller=60, per_team=100)
    server = TeamServer(database, tmp_path / "kernelwright_rt.py", rates=rates)
    async with await server.token("red") as one, await server.token("red") as two, await server.token("blue") as other:
        answers = [await one.get("/me") for _ in range(16)]
        assert [answer.status_code for answer in answers] == [200] * 15 + [429]
        assert answers[0].headers["ratelimit-policy"] == '"caller";q=60;w=60, "team";q=100;w=60'
        assert answers[0].headers["ratelimit"] == '"caller";r=14;t=1, "team";r=24;t=1'
        assert answers[14].headers["ratelimit"] == '"caller";r=0;t=15, "team";r=10;t=9'
        assert answers[-1].headers["retry-after"] == "1"
        assert answers[-1].headers["ratelimit"] == '"caller";r=0;t=1'
        assert answers[-1].json()["type"] == "/errors/too-many-requests"
        assert answers[-1].headers["content-type"] == "application/problem+json"
        assert [(await two.get("/me")).status_code for _ in range(11)] == [200] * 10 + [429]
        assert (await other.get("/me")).status_code == 200
        clock.advance(1)
        assert (await one.get("/me")).status_code == 200
        clock.advance(60)
        missing = await one.get("/jobs/job-nowhere")
        assert (missing.status_code, missing.headers["ratelimit"]) == (404, '"caller";r=14;t=1, "team";r=24;t=1')
        diff = await one.get("/candidates/cand-nowhere/diff")
        assert diff.headers["ratelimit"].startswith('"caller";r=13;t=2')
    await database.close()


def test_periods_begin_at_midnight_and_on_the_first() -> None:
    now = FrozenClock().now().replace(month=12, day=31, hour=13)
    assert Period.DAY.end(now).isoformat() == "2027-01-01T00:00:00+00:00"
    assert Period.MONTH.start(now).isoformat() == "2026-12-01T00:00:00+00:00"
    assert Period.MONTH.end(now).isoformat() == "2027-01-01T00:00:00+00:00"


def test_quotas_are_set_and_shown_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path))
    assert cli.execute(["team", "create", "red"]) == 0
    assert cli.execute(["team", "quota", "red", "jobs=5/day", "dollars=12.5/month"]) == 0
    assert "12.5" in capsys.readouterr().out
    assert cli.execute(["team", "quota", "red", "jobs=none/day"]) == 0
    assert "jobs" not in capsys.readouterr().out
    for wrong in ("jobs=5", "cats=5/day", "jobs=-1/day"):
        assert cli.execute(["team", "quota", "red", wrong]) == 2
        assert "write RESOURCE=MOST/PERIOD" in capsys.readouterr().err


async def test_use_that_was_counted_at_the_start_is_not_counted_again_at_a_check(
    server: TeamServer, red: httpx.AsyncClient, local: httpx.AsyncClient
) -> None:
    await limit(local, "jobs", 10, "month")
    await red.post("/jobs", json={"problem": PROBLEM})
    server.clock.advance(SETTLED.total_seconds() + 1)
    await server.quotas.count()
    await server.database.write(lambda connection: connection.execute(update(jobs).values(team_id="local")))
    (usage,) = await server.quotas.usage("red")
    assert usage.used == 1, "the row is gone from where it was counted"
