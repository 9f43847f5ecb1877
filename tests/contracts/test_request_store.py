"""What every `RequestStore` does."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from services.domain.chat import AgentRole, ChatMessage, ChatRequest
from services.domain.errors import ConflictError, NotFoundError
from services.domain.jobs import JobStatus
from services.ports.jobs import JobStore
from services.ports.models import RequestStore
from tests.contracts.conftest import Stores
from tests.doubles import FrozenClock, a_job
from tests.unit.agents.some_facts import an_attempt, some_facts


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A store of requests beside the jobs it is about."""

    requests: RequestStore
    jobs: JobStore
    clock: FrozenClock


@pytest.fixture
async def setup(stores: Stores) -> Setup:
    await stores.jobs.create(a_job())
    return Setup(requests=stores.requests, jobs=stores.jobs, clock=stores.clock)


def a_request(text: str = "Write it.", *, key: str = "job-1/0/coder/0") -> ChatRequest:
    return ChatRequest(
        key=key,
        role=AgentRole.CODER,
        messages=(ChatMessage(role="user", content=text),),
        schema_name="CoderReply",
        schema={"type": "object"},
        facts=some_facts(start_point=an_attempt(0)),
    )


async def test_a_request_waits_with_its_prompt_and_start_point_until_it_is_answered(setup: Setup) -> None:
    opened = await setup.requests.open(a_request(), 60)
    (found,) = await setup.requests.waiting("local", job_id="job-1", role=AgentRole.CODER)
    assert found == opened == await setup.requests.get("local", opened.id)
    assert found.messages[0].content == "Write it."
    assert found.start_source is not None
    assert "ModelNew" in found.start_source
    answered = await setup.requests.answer("local", opened.id, "the answer", "me")
    assert (answered.reply, answered.answered_by) == ("the answer", "me")
    assert await setup.requests.waiting("local") == ()


async def test_the_same_call_finds_its_answer_after_a_restart(setup: Setup) -> None:
    opened = await setup.requests.open(a_request(), 60)
    await setup.requests.answer("local", opened.id, "the answer", "me")
    again = await setup.requests.open(a_request(), 60)
    assert (again.id, again.reply) == (opened.id, "the answer")


async def test_another_prompt_under_the_same_key_withdraws_the_open_request(setup: Setup) -> None:
    old = await setup.requests.open(a_request(), 60)
    new = await setup.requests.open(a_request("Write it better."), 60)
    assert [item.id for item in await setup.requests.waiting("local")] == [new.id]
    with pytest.raises(NotFoundError):
        await setup.requests.answer("local", old.id, "late", "me")


async def test_an_answer_counts_once(setup: Setup) -> None:
    opened = await setup.requests.open(a_request(), 60)
    await setup.requests.answer("local", opened.id, "first", "me")
    assert (await setup.requests.answer("local", opened.id, "first", "you")).answered_by == "me"
    with pytest.raises(ConflictError, match="was answered by me"):
        await setup.requests.answer("local", opened.id, "second", "you")


async def test_an_expired_request_is_closed_until_its_job_asks_again(setup: Setup) -> None:
    opened = await setup.requests.open(a_request(), 60)
    setup.clock.advance(61)
    assert await setup.requests.waiting("local") == ()
    with pytest.raises(ConflictError, match="has expired"):
        await setup.requests.answer("local", opened.id, "late", "me")
    await setup.requests.open(a_request(), 60)
    assert [item.id for item in await setup.requests.waiting("local")] == [opened.id]


async def test_requests_of_a_job_that_ended_are_not_open(setup: Setup) -> None:
    opened = await setup.requests.open(a_request(), 60)
    await setup.jobs.request("local", "job-1", "cancel")
    assert (await setup.jobs.get("local", "job-1")).status is JobStatus.CANCELLED
    assert await setup.requests.waiting("local") == ()
    with pytest.raises(ConflictError, match="cancelled"):
        await setup.requests.answer("local", opened.id, "late", "me")


async def test_another_team_sees_and_answers_nothing(setup: Setup) -> None:
    opened = await setup.requests.open(a_request(), 60)
    assert await setup.requests.waiting("rivals") == ()
    with pytest.raises(NotFoundError):
        await setup.requests.get("rivals", opened.id)
    with pytest.raises(NotFoundError):
        await setup.requests.answer("rivals", opened.id, "mine", "rival")


async def test_a_request_of_an_unknown_job_is_refused(setup: Setup) -> None:
    request = a_request()
    with pytest.raises(NotFoundError):
        await setup.requests.open(replace(request, facts=replace(request.facts, job_id="job-none")), 60)
