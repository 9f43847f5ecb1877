"""Recorded prompts sent again over the REST API."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agents.roles.recorded_replies import RecordedForms
from services.domain.chat import AgentRole, ChatMessage
from services.domain.errors import ModelError
from services.domain.jobs import JobStatus
from services.domain.quotas import Period, Quota, Resource
from services.domain.steps import ModelCall, StepRecord
from services.domain.usage import Usage
from services.jobs.playground import PlaygroundService
from services.ports.models import ChatModel
from services.teams.quotas import QuotaService
from tests.doubles import InMemoryQuotaStore, ScriptedModel, a_step, an_analysis
from tests.unit.web.test_app import Installation

MODULE = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
PROMPT = (ChatMessage(role="system", content="You write kernels."), ChatMessage(role="user", content="A faster relu."))
CODER = ModelCall(
    role=AgentRole.CODER,
    model="recorded",
    prompt=PROMPT,
    prompt_hash="0" * 64,
    reply="what came then",
    usage=Usage(calls=1),
    seconds=1.0,
)


class Playground(Installation):
    """An installation with one job of one round, whose Coder was asked once."""

    def __init__(self, runtime: Path, model: ChatModel) -> None:
        super().__init__(runtime)
        self.asked: list[str] = []

        def resolve(name: str) -> ChatModel:
            self.asked.append(name)
            return model

        self.quotas = QuotaService(InMemoryQuotaStore(self.database), self.database.clock)
        service = PlaygroundService(
            self.services.jobs,
            resolve,
            RecordedForms(),
            self.database.clock,
            quotas=self.quotas,
            offline=frozenset({"playbook"}),
        )
        complete = replace(self.services, playground=service)
        self.client._transport.app.state.services = complete  # type: ignore[attr-defined]

    async def recorded(self) -> str:
        job_id = await self.submit()
        lease = await self.jobs.acquire("here", 60, job_id)
        assert lease is not None
        await self.jobs.set_status(lease, JobStatus.RUNNING, analysis=an_analysis())
        step = replace(a_step(job_id), calls=(CODER,), candidate_id=None, evaluation_id=None, verdict=None)
        await self.jobs.record_step(lease, StepRecord(step=step))
        return job_id


async def test_a_prompt_is_sent_again_as_it_was_and_a_kernel_in_the_reply_is_found(tmp_path: Path) -> None:
    model = ScriptedModel([json.dumps({"source": MODULE, "summary": "shorter"})])
    installation = Playground(tmp_path, model)
    job_id = await installation.recorded()
    before = (await installation.client.get(f"/jobs/{job_id}/steps/0")).json()
    answer = await installation.client.post(f"/jobs/{job_id}/steps/0/calls/0/replay")
    assert answer.status_code == 200, answer.text
    assert answer.json()["source"] == MODULE
    assert answer.json()["fault"] is None
    assert (model.requests[0].messages, installation.asked) == (PROMPT, ["recorded"])
    assert (await installation.client.get(f"/jobs/{job_id}/steps/0")).json() == before
    costs = (await installation.client.get(f"/jobs/{job_id}/costs")).json()
    assert costs["total"]["calls"] == 1


async def test_what_is_sent_counts_towards_the_teams_quota_until_it_is_used_up(tmp_path: Path) -> None:
    model = ScriptedModel(["first", "second"])
    installation = Playground(tmp_path, model)
    job_id = await installation.recorded()
    await installation.quotas.set("local", Quota(resource=Resource.TOKENS, period=Period.DAY, most=1), "ada")
    path = f"/jobs/{job_id}/steps/0/calls/0/replay"
    assert (await installation.client.post(path)).status_code == 200
    (use,) = await installation.quotas.usage("local")
    assert use.used >= 1
    refused = await installation.client.post(path)
    assert refused.status_code == 429
    assert "quota of 1 tokens a day is used up" in refused.json()["detail"]
    assert len(model.requests) == 1


async def test_another_prompt_goes_to_another_model_and_an_unusable_reply_says_why(tmp_path: Path) -> None:
    model = ScriptedModel(["no idea"])
    installation = Playground(tmp_path, model)
    job_id = await installation.recorded()
    body = {"model": "openai:other", "messages": [{"role": "user", "content": "Try harder."}]}
    answer = (await installation.client.post(f"/jobs/{job_id}/steps/0/calls/0/replay", json=body)).json()
    assert (answer["text"], answer["source"]) == ("no idea", None)
    assert "expected JSON" in answer["fault"]
    assert installation.asked == ["openai:other"]
    assert model.requests[0].messages == (ChatMessage(role="user", content="Try harder."),)


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("steps/0/calls/7/replay", {}, 404, "there is no call 7"),
        ("steps/9/calls/0/replay", {}, 404, "9"),
        ("steps/0/calls/0/replay", {"model": "playbook"}, 422, "does not answer prompts"),
        ("steps/0/calls/0/replay", {"model": "x:y, coder=playbook"}, 422, "does not answer prompts"),
        ("steps/0/calls/0/replay", {"messages": [{"role": "user", "content": " "}]}, 422, "the prompt is empty"),
        ("steps/0/calls/0/replay", {"messages": [{"role": "tool", "content": "x"}]}, 422, "unknown role 'tool'"),
        ("steps/0/calls/0/replay", {"messages": []}, 422, "messages"),
    ],
)
async def test_what_cannot_be_sent_is_refused_in_words(
    tmp_path: Path, path: str, body: dict[str, object], status: int, told: str
) -> None:
    installation = Playground(tmp_path, ScriptedModel([]))
    job_id = await installation.recorded()
    answer = await installation.client.post(f"/jobs/{job_id}/{path}", json=body)
    assert answer.status_code == status, answer.text
    assert told in answer.json()["detail"]


async def test_a_provider_that_is_away_is_no_fault_of_the_caller(tmp_path: Path) -> None:
    installation = Playground(tmp_path, ScriptedModel([ModelError("the provider does not answer")]))
    job_id = await installation.recorded()
    answer = await installation.client.post(f"/jobs/{job_id}/steps/0/calls/0/replay")
    assert (answer.status_code, answer.json()["detail"]) == (503, "the provider does not answer")
