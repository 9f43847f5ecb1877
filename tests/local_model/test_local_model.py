"""The three adapters against a server that nobody wrote for them: llama.cpp's, with a model of 135 million parameters.

Only the protocol is judged: a model of this size plans no kernel. llama.cpp keeps replies to the schema in Chat
Completions; its Responses and Messages endpoints take the schema and ignore it.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from agents.roles.replies import ProfilerReply, parse_reply
from services.adapters.llm.registry import ModelRegistry
from services.adapters.llm.remote import ChatDelta
from services.adapters.llm.settings import ModelSettings, ProviderSettings
from services.domain.chat import AgentRole, ChatMessage, ChatReply, ChatRequest
from services.domain.errors import ModelError
from services.domain.jobs import Budget, JobStatus
from services.domain.usage import Usage
from services.ports.models import ChatModel, MeteredChatModel
from tests.fakes.chat_bench import ROOTS
from tests.fakes.chat_jobs import Place
from tests.fakes.chat_requests import a_request
from tests.fakes.clocks import WallClock
from tests.local_model.building import is_built, server, weights

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not is_built(), reason="no local model server: make local-model builds it (15 minutes)"),
]
KEY = "sk-local-0123456789"
NAMES = tuple(f"{provider}:smollm2" for provider in ROOTS)
WINDOW = 8192
MOST_TOKENS = 400
"""Asked for in a whole job: a model this small goes on until its limit, and a busy core writes 16 tokens a second."""
PATIENT = ProviderSettings(
    api_key=SecretStr(KEY), reasoning_tokens=0, thinking=False, idle_timeout_s=300.0, call_timeout_s=600.0,
    max_attempts=2, concurrency=1,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that is ready."""

    url: str


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(server()), "--model", str(weights()), "--alias", "smollm2", "--host", "127.0.0.1", "--jinja"]
    command += [
        "--port",
        str(port),
        "--ctx-size",
        str(WINDOW),
        "--parallel",
        "1",
        "--api-key",
        KEY,
        "--threads",
        "1",
    ]  # two wait for each other where cores are shared: 2 tokens a second instead of 16
    log = tmp_path_factory.mktemp("local-model") / "server.log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _wait(f"http://127.0.0.1:{port}/health", process, log)
            yield Running(url=f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            if httpx.get(url, timeout=5.0).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        asyncio.run(asyncio.sleep(0.5))
    raise AssertionError("the server did not become ready: " + log.read_text(errors="replace")[-2000:])


@asynccontextmanager
async def a_registry(
    running: Running, settings: ProviderSettings = PATIENT, listener: Any = None
) -> AsyncIterator[ModelRegistry]:
    providers = {name: replace(settings, base_url=running.url + root) for name, root in ROOTS.items()}
    registry = ModelRegistry(ModelSettings(providers=providers), WallClock(), listener=listener)
    try:
        yield registry
    finally:
        await registry.aclose()


class ShortModel:
    """A model that is asked for short replies."""

    def __init__(self, model: ChatModel) -> None:
        assert isinstance(model, MeteredChatModel)
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    def ceiling(self, request: ChatRequest) -> Usage:
        return self._model.ceiling(request)

    async def complete(self, request: ChatRequest) -> ChatReply:
        return await self._model.complete(replace(request, max_output_tokens=MOST_TOKENS))


def a_short_request(text: str = "The kernel moves 34 MB in 4 ms.") -> ChatRequest:
    request = a_request(AgentRole.PROFILER, ProfilerReply, max_output_tokens=160)
    task = "Answer with JSON: metrics (list of names), bottleneck (one word), evidence (one sentence)."
    messages = (ChatMessage(role="system", content=task), ChatMessage(role="user", content=text))
    return replace(request, messages=messages)


every_name = pytest.mark.parametrize("name", NAMES)


@every_name
async def test_a_reply_is_streamed_and_counted(running: Running, name: str) -> None:
    told: list[ChatDelta] = []

    async def listen(delta: ChatDelta) -> None:
        told.append(delta)

    async with a_registry(running, replace(PATIENT, delta_chars=20), listen) as registry:
        reply = await registry.resolve(name).complete(a_short_request())
    assert reply.stop_reason in {"stop", "length"}
    assert reply.text
    assert len(told) > 1
    assert 20 < reply.usage.input_tokens < 400
    assert 1 < reply.usage.output_tokens <= 160


async def test_chat_completions_keep_to_the_schema(running: Running) -> None:
    async with a_registry(running) as registry:
        reply = await registry.resolve("compatible:smollm2").complete(a_short_request())
    if reply.stop_reason == "stop":
        assert parse_reply(ProfilerReply, reply.text).bottleneck
    else:
        assert reply.text.startswith("{"), "cut at its limit, but on the way to a document"


@every_name
async def test_a_wrong_key_is_named(running: Running, name: str) -> None:
    async with a_registry(running, replace(PATIENT, api_key=SecretStr("sk-another-0123456789"))) as registry:
        with pytest.raises(ModelError, match="set another api_key") as caught:
            await registry.resolve(name).complete(a_short_request())
    assert not caught.value.retryable


@every_name
async def test_a_prompt_beyond_the_window_is_named(running: Running, name: str) -> None:
    async with a_registry(running) as registry:
        with pytest.raises(ModelError, match="longer than the window") as caught:
            await registry.resolve(name).complete(a_short_request("seven words are not many tokens yet " * 3000))
    assert not caught.value.retryable


@every_name
async def test_a_job_on_it_ends(running: Running, name: str, tmp_path: Path) -> None:
    async with a_registry(running, replace(PATIENT, call_timeout_s=300.0)) as registry:
        place = Place(tmp_path, lambda asked: ShortModel(registry.resolve(asked)))
        await place.database.upgrade()
        await place.submit(name, Budget(rounds=1, tokens=60_000))
        job = await place.orchestrator.run_job("job-1")
        used = await place.used("job-1")
        await place.database.close()
    assert job.status in {JobStatus.SOLVED, JobStatus.UNSOLVED, JobStatus.FAILED}
    assert "internal error" not in str(job.message)
    assert used.calls >= 1
    assert used.input_tokens + used.output_tokens <= 60_000
