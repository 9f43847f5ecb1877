"""A fake server and a registry that leads to it, for tests of the three adapters."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from services.adapters.llm.registry import ModelRegistry
from services.adapters.llm.remote import RemoteChatModel
from services.adapters.llm.settings import ModelSettings, ProviderSettings
from services.domain.errors import ModelError
from tests.fakes.chat_requests import PLAN, a_request
from tests.fakes.chat_servers import KEY, ChatServer, Script, chat_server
from tests.fakes.clocks import WallClock

NAMES = ("openai:gpt-5", "compatible:local", "anthropic:claude-opus-5")
ROOTS = {"openai": "/v1", "compatible": "/v1", "anthropic": ""}
STRICT_PLAN = json.dumps(
    {
        **PLAN,
        "moves": [
            {"name": "vectorise", "parameters": [{"name": "width", "value": 8}, {"name": "aligned", "value": True}]}
        ],
        "unable": None,
    }
)
"""The plan as a model writes it under the strict schema."""

FAST = ProviderSettings(
    api_key=SecretStr(KEY), idle_timeout_s=5.0, call_timeout_s=20.0, max_attempts=3, breaker_failures=1000
)
SOON = {"retry-after-ms": "10"}


class Bench:
    """A server and a registry that leads to it."""

    def __init__(self, server: ChatServer, registry: ModelRegistry) -> None:
        self.server = server
        self.registry = registry

    def model(self, name: str) -> RemoteChatModel:
        model = self.registry.resolve(name)
        assert isinstance(model, RemoteChatModel)
        return model


@asynccontextmanager
async def a_bench(script: Script, settings: ProviderSettings = FAST, listener: Any = None) -> AsyncIterator[Bench]:
    async with chat_server(script) as server:
        providers = {name: replace(settings, base_url=server.url + root) for name, root in ROOTS.items()}
        registry = ModelRegistry(ModelSettings(providers=providers), WallClock(), listener=listener)
        try:
            yield Bench(server, registry)
        finally:
            await registry.aclose()


async def failing(bench: Bench, name: str, **request: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await bench.model(name).complete(a_request(**request))
    return caught.value


every_adapter = pytest.mark.parametrize("name", NAMES)
