"""What every `ChatModel` keeps to, whatever is behind it.

A new implementation is one entry of `SUBJECTS`: an async context manager that yields the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from pydantic import SecretStr

from agents.roles.replies import (
    CoderReply,
    DraftCritique,
    PlannerReply,
    ProfilerReply,
    RefineCritique,
    Reply,
    parse_reply,
)
from services.adapters.llm.registry import ModelRegistry
from services.adapters.llm.schemas import restore, strict_schema
from services.adapters.llm.settings import ModelSettings, ProviderSettings
from services.domain.chat import AgentRole, ChatRequest
from services.ports.models import ChatModel, MeteredChatModel
from tests.doubles.models import ScriptedModel
from tests.fakes.chat_protocols import by_path
from tests.fakes.chat_replies import an_example
from tests.fakes.chat_requests import a_request
from tests.fakes.chat_servers import KEY, Act, Seen, chat_server
from tests.fakes.clocks import WallClock

pytestmark = pytest.mark.contracts

ASKED: tuple[tuple[AgentRole, type[Reply]], ...] = (
    (AgentRole.PLANNER, PlannerReply), (AgentRole.CODER, CoderReply), (AgentRole.JUDGE, DraftCritique),
    (AgentRole.JUDGE, RefineCritique), (AgentRole.PROFILER, ProfilerReply),
)  # fmt: skip

Subject = Callable[[], AbstractAsyncContextManager[ChatModel]]


def _obliging(_number: int, seen: Seen) -> Act:
    protocol = by_path(seen.path)
    assert protocol is not None
    _, schema = protocol.format_of(seen.body)
    return Act(text=json.dumps(an_example(schema, schema)))


def _remote(specification: str) -> Subject:
    @asynccontextmanager
    async def subject() -> AsyncIterator[ChatModel]:
        async with chat_server(_obliging) as server:
            roots = {"openai": "/v1", "compatible": "/v1", "anthropic": ""}
            providers = {
                name: ProviderSettings(api_key=SecretStr(KEY), base_url=server.url + root)
                for name, root in roots.items()
            }
            registry = ModelRegistry(ModelSettings(providers=providers), WallClock())
            yield registry.resolve(specification)
            await registry.aclose()

    return subject


@asynccontextmanager
async def _scripted() -> AsyncIterator[ChatModel]:
    def answer(request: ChatRequest) -> str:
        strict = strict_schema(request.schema)
        return json.dumps(restore(request.schema, an_example(strict, strict)))

    yield ScriptedModel(answer, latency_s=0.01)


SUBJECTS: dict[str, Subject] = {"scripted": _scripted} | {
    name: _remote(name)
    for name in (
        "openai:gpt-5",
        "compatible:local",
        "anthropic:claude-opus-5",
        "anthropic:claude-opus-5,judge=openai:gpt-5,profiler=compatible:local",
    )
}

every_subject = pytest.mark.parametrize("name", SUBJECTS)


@every_subject
async def test_the_model_is_called_as_settings_name_it(name: str) -> None:
    async with SUBJECTS[name]() as model:
        assert model.name == name


@every_subject
@pytest.mark.parametrize(("role", "kind"), ASKED)
async def test_the_reply_fits_the_schema_of_the_request(name: str, role: AgentRole, kind: type[Reply]) -> None:
    async with SUBJECTS[name]() as model:
        reply = await model.complete(a_request(role, kind))
    assert reply.stop_reason == "stop"
    assert isinstance(parse_reply(kind, reply.text), kind)
    assert reply.model


@every_subject
async def test_usage_is_consistent_and_within_the_ceiling(name: str) -> None:
    request = a_request()
    async with SUBJECTS[name]() as model:
        usage = (await model.complete(request)).usage
        ceiling = model.ceiling(request) if isinstance(model, MeteredChatModel) else None
    assert usage.calls >= 1
    assert 0 <= usage.cached_tokens <= usage.input_tokens
    assert 0 <= usage.reasoning_tokens <= usage.output_tokens
    if ceiling is not None:
        assert usage.calls <= ceiling.calls
        assert usage.input_tokens <= ceiling.input_tokens
        assert usage.output_tokens <= ceiling.output_tokens
        assert usage.dollars is None or (ceiling.dollars is not None and usage.dollars <= ceiling.dollars)


@every_subject
async def test_calls_at_once_do_not_mix_up_their_replies(name: str) -> None:
    asked = ASKED * 4
    async with SUBJECTS[name]() as model:
        replies = await asyncio.gather(
            *(model.complete(a_request(role, kind, key=f"job/{n}")) for n, (role, kind) in enumerate(asked))
        )
    for (_, kind), reply in zip(asked, replies, strict=True):
        parse_reply(kind, reply.text)


@every_subject
async def test_asking_again_is_harmless(name: str) -> None:
    request = a_request()
    async with SUBJECTS[name]() as model:
        first, second = [await model.complete(request) for _ in range(2)]
    assert parse_reply(PlannerReply, first.text) == parse_reply(PlannerReply, second.text)


@every_subject
async def test_a_cancelled_call_does_not_spoil_the_next(name: str) -> None:
    async with SUBJECTS[name]() as model:
        await model.complete(a_request())
        task = asyncio.create_task(model.complete(a_request()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        reply = await model.complete(a_request())
    assert reply.stop_reason == "stop"
