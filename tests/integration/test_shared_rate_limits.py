"""Rate limits over several API processes, with a real Redis that goes away and comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from services.adapters.rates import redis_buckets
from services.adapters.rates.redis_buckets import RedisBuckets
from services.runtime.clock import SystemClock
from services.teams.rate_limits import BURST_S, BucketRequest, Buckets, LocalBuckets
from services.telemetry.metrics import RATE_LIMITS_ALONE
from tests.e2e.programs import running
from tests.faults.ground import RedisServer, UnavailableError, redis_server
from tests.fuzz.ground import _tokens
from tests.ports import a_free_port

pytestmark = pytest.mark.integration

PER_MINUTE = 20
BURST = PER_MINUTE / 60 * BURST_S


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    try:
        with redis_server() as server:
            yield server
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest_asyncio.fixture(params=["local", "redis"])
async def buckets(request: pytest.FixtureRequest) -> AsyncIterator[Buckets]:
    local = LocalBuckets(SystemClock())
    if request.param == "local":
        yield local
        return
    shared = RedisBuckets(request.getfixturevalue("redis").url, SystemClock(), local, prefix="test:")
    yield shared
    await shared.aclose()


def a_take(bucket: str, per_minute: int) -> BucketRequest:
    return BucketRequest(bucket=bucket, per_minute=per_minute, who="you")


async def test_a_bucket_holds_so_much_and_says_when_there_is_more(buckets: Buckets) -> None:
    slow = a_take("caller/a", 8)
    assert [(await buckets.take([slow])).short for _ in range(2)] == [None, None]
    short = (await buckets.take([slow])).short
    assert short is not None
    assert short.take == slow
    assert 0 < short.wait_s <= 60 / 8


async def test_buckets_fill_again(buckets: Buckets) -> None:
    quick = a_take("caller/b", 240)
    while (await buckets.take([quick])).short is None:
        pass
    await asyncio.sleep(0.6)
    assert (await buckets.take([quick])).short is None


async def test_nothing_is_taken_where_one_bucket_is_short(buckets: Buckets) -> None:
    own, team = a_take("caller/c", 8), a_take("team/c", 4)
    assert (await buckets.take([own, team])).short is None
    for _ in range(5):
        short = (await buckets.take([own, team])).short
        assert short is not None
        assert short.take == team
    assert (await buckets.take([own])).short is None


async def test_every_process_limits_by_itself_while_redis_is_away(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(redis_buckets, "RETRY_AFTER_S", 0.2)
    clock = SystemClock()
    one, two = (RedisBuckets(redis.url, clock, LocalBuckets(clock)) for _ in range(2))
    single = a_take("caller/d", 4)
    assert (await one.take([single])).short is None
    assert (await two.take([single])).short is not None
    redis.kill()
    assert [(await item.take([single])).short is None for item in (one, two)] == [True, True]
    assert [(await item.take([single])).short is None for item in (one, two)] == [False, False]
    assert caplog.text.count("rate limits hold for each API process by itself") == 2
    assert RATE_LIMITS_ALONE._value.get() == 1
    redis.start()
    await asyncio.sleep(0.3)
    other = a_take("caller/e", 4)
    assert (await one.take([other])).short is None
    assert (await two.take([other])).short is not None
    assert RATE_LIMITS_ALONE._value.get() == 0
    await one.aclose()
    await two.aclose()


def test_two_api_processes_count_together(redis: RedisServer, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'kernelwright.db'}"
    token = asyncio.run(_tokens(url))["red"]
    settings = {
        "KERNELWRIGHT_DATABASE_URL": url,
        "KERNELWRIGHT_SIGN_IN": "required",
        "KERNELWRIGHT_QUEUE": "celery",
        "KERNELWRIGHT_REDIS_URL": redis.url,
        "KERNELWRIGHT_RATE_LIMIT": str(PER_MINUTE),
        "KERNELWRIGHT_EMBEDDER": "hashing",
    }
    with ExitStack() as stack:
        clients = []
        for _ in range(2):
            port = a_free_port()
            server = stack.enter_context(running("api", "--port", str(port), home=tmp_path, **settings))
            server.wait_for("Kernelwright at")
            headers = {"Authorization": f"Bearer {token}"}
            client = httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", headers=headers, timeout=60)
            clients.append(stack.enter_context(client))
        began = time.monotonic()
        answers = [clients[number % 2].get("/me") for number in range(2 * int(BURST) + 2)]
        passed = sum(answer.status_code == 200 for answer in answers)
        most = BURST + (time.monotonic() - began) * PER_MINUTE / 60
        assert int(BURST) <= passed <= most + 1
        assert {answer.status_code for answer in answers} == {200, 429}
        assert {answers[-1].status_code, answers[-2].status_code} == {429}
        assert int(answers[-1].headers["retry-after"]) >= 1
