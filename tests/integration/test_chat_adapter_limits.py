"""The three adapters under load: limits hold, nothing leaks, two hundred calls survive."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import random
import re
from collections import Counter
from dataclasses import replace
from types import AsyncGeneratorType
from typing import Any

import pytest
from pydantic import SecretStr

from services.domain.chat import ChatReply
from services.domain.errors import ModelError
from tests.fakes.chat_bench import FAST, SOON, STRICT_PLAN, a_bench, every_adapter, failing
from tests.fakes.chat_requests import a_request
from tests.fakes.chat_servers import KEY, Act, always, in_turn

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]


@every_adapter
async def test_a_provider_that_keeps_failing_is_left_alone_and_tried_again_later(name: str) -> None:
    settings = replace(FAST, max_attempts=1, breaker_failures=3, breaker_cooldown_s=1.5)
    async with a_bench(always(Act(status=500)), settings) as bench:
        for _ in range(3):
            await failing(bench, name)
        error = await failing(bench, name)
        assert "left alone" in str(error)
        assert error.retry_after_s is not None
        assert len(bench.server.seen) == 3
        await asyncio.sleep(1.6)
        bench.server.script = always(Act(text=STRICT_PLAN))
        reply = await bench.model(name).complete(a_request())
    assert reply.stop_reason == "stop"


@every_adapter
async def test_calls_at_once_stay_within_the_providers_limit(name: str) -> None:
    slow = Act(text=STRICT_PLAN, hang_s=0.05)
    async with a_bench(always(slow), replace(FAST, concurrency=3)) as bench:
        model = bench.model(name)
        await asyncio.gather(*(model.complete(a_request(key=f"job/{n}")) for n in range(12)))
    assert bench.server.most_open == 3


@every_adapter
async def test_a_cancelled_call_leaves_the_model_usable(name: str) -> None:
    async with a_bench(in_turn(Act(hang_s=5.0), Act(text=STRICT_PLAN)), replace(FAST, concurrency=1)) as bench:
        model = bench.model(name)
        task = asyncio.create_task(model.complete(a_request()))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        reply = await model.complete(a_request())
    assert reply.stop_reason == "stop"


FAULTS = (
    Act(status=429, headers={"retry-after-ms": "5"}), Act(status=500, headers=SOON), Act(hang_s=2.5),
    Act(text=STRICT_PLAN, drop_after=3), Act(text="no", finish="refusal"), Act(text="{", finish="length"),
    Act(text='{"hypothesis": '), Act(text='{"wrong": 1}'), Act(text="y" * 10_000_000, pieces=40), Act(text=""),
    Act(raw=b"data: {\n\n"),
)  # fmt: skip


@pytest.mark.timeout(180)
@every_adapter
async def test_two_hundred_calls_with_faults_at_thirty_percent_all_end_within_their_limits(name: str) -> None:
    choose = random.Random(7)
    settings = replace(FAST, idle_timeout_s=1.0, concurrency=8)

    def script(_number: int, _seen: Any) -> Act:
        return choose.choice(FAULTS) if choose.random() < 0.3 else Act(text=STRICT_PLAN)

    async with a_bench(script, settings) as bench:
        model = bench.model(name)
        ceiling = model.ceiling(a_request())
        calls = (model.complete(a_request(prompt=f"call {n:03}")) for n in range(200))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    kinds = Counter(type(outcome).__name__ for outcome in outcomes)
    assert set(kinds) <= {"ChatReply", "ModelError"}
    sent = Counter(json.dumps(seen.body)[:100_000].partition("call ")[2][:3] for seen in bench.server.seen)
    assert max(sent.values()) <= settings.max_attempts
    assert bench.server.most_open <= settings.concurrency
    good = [o for o in outcomes if isinstance(o, ChatReply)]
    assert sum(reply.stop_reason == "stop" for reply in good) >= 150
    for outcome in outcomes:
        usage = outcome.usage if isinstance(outcome, ChatReply | ModelError) else None
        if usage is not None:
            assert usage.input_tokens <= ceiling.input_tokens
            assert usage.output_tokens <= ceiling.output_tokens


@every_adapter
async def test_no_secret_shows_in_logs_errors_or_reprs(
    name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ambient = "canary-ambient-77aa55"
    for variable in (
        "OPENAI_API_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_ADMIN_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
    ):
        monkeypatch.setenv(variable, ambient)
    for variable in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(variable, f"Authorization: Bearer {ambient}\nX-Ambient: {ambient}")
    header = "canary-header-33bb11"
    settings = replace(FAST, max_attempts=2, headers=(("x-gateway", SecretStr(header)),))
    echo = Act(status=500, headers=SOON, error=f"cannot route Bearer {KEY} with {header}")
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    async with a_bench(in_turn(echo, echo, Act(text=STRICT_PLAN)), settings) as bench:
        model = bench.model(name)
        error = await failing(bench, name)
        reply = await model.complete(a_request())
        shown += [repr(error), str(error), repr(error.args), repr(vars(error)), repr(reply), repr(model), str(model)]
        shown += [repr(settings), repr(vars(model)), repr(vars(bench.registry)), repr(bench.registry)]
    assert error.__cause__ is None
    assert error.__context__ is None
    shown += [f"{record.getMessage()} {record.args} {record.exc_info}" for record in caplog.records]
    assert len(caplog.records) > 0
    for secret in (KEY, header, ambient):
        assert not [text for text in shown if secret in text]
    for seen in bench.server.seen:
        assert seen.headers["authorization"] == f"Bearer {KEY}"
        assert seen.headers["x-gateway"] == header
        assert ambient not in json.dumps([seen.headers, seen.body])
        assert KEY not in json.dumps(seen.body)


_OF_STREAMS = re.compile(r"site-packages/(openai|anthropic|httpx2|httpcore)|services/adapters/llm")


def generators_of_streams() -> list[AsyncGeneratorType[Any, Any]]:
    """Asynchronous generators of the SDKs, of their HTTP client and of our transport that are alive."""
    # Not isinstance: it asks an object for its class, and a lazy module attribute warns when it is asked.
    found = [each for each in gc.get_objects() if type(each) is AsyncGeneratorType]
    return [each for each in found if _OF_STREAMS.search(each.ag_code.co_filename)]


@every_adapter
@pytest.mark.parametrize(
    "act",
    [
        Act(text=STRICT_PLAN),
        Act(text="x" * 10_000_000, pieces=200),
        Act(hang_s=5.0),
        Act(text=STRICT_PLAN, drop_after=3),
    ],
    ids=["whole", "cut by us", "silent", "broken off"],
)
async def test_a_call_leaves_nothing_of_its_stream_to_the_garbage_collector(name: str, act: Act) -> None:
    async with a_bench(always(act), replace(FAST, idle_timeout_s=0.5, max_attempts=1)) as bench:
        gc.collect()
        known = generators_of_streams()  # of other tests in this process
        gc.disable()
        try:
            await asyncio.gather(bench.model(name).complete(a_request()), return_exceptions=True)
            for _ in range(100):  # what is closed by reference count takes a few turns of the loop
                await asyncio.sleep(0)
            assert [each for each in generators_of_streams() if not any(each is one for one in known)] == []
        finally:
            gc.enable()
