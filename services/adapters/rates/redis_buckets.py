"""Token buckets in Redis: one limit for all API processes. While Redis is away, each process holds its own."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Sequence
from typing import cast

import redis.asyncio
from redis.exceptions import RedisError

from services.ports.runtime import Clock
from services.teams.rate_limits import BURST_S, BucketRequest, Buckets, Shortage, Taken
from services.telemetry.metrics import RATE_LIMITS_ALONE

log = logging.getLogger(__name__)

TIMEOUT_S = 0.25
"""A request waits no longer for Redis."""
RETRY_AFTER_S = 5.0
"""How long Redis is left alone after it failed."""

# All or none: first whether every bucket has enough, then one from each. Time is Redis's own, so that the clocks of
# the processes need not agree.
_SCRIPT = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1e6
local burst = tonumber(ARGV[1])
local left = {}
for i, key in ipairs(KEYS) do
  local rate = tonumber(ARGV[i + 1]) / 60
  local size = math.max(1, rate * burst)
  local found = redis.call('HMGET', key, 'left', 'since')
  local was, since = tonumber(found[1]) or size, tonumber(found[2]) or now
  left[i] = math.min(size, was + math.max(0, now - since) * rate)
  if left[i] < 1 then
    return {i, tostring((1 - left[i]) / rate)}
  end
end
for i, key in ipairs(KEYS) do
  redis.call('HSET', key, 'left', tostring(left[i] - 1), 'since', string.format('%.6f', now))
  local full = math.max(burst, 60 / tonumber(ARGV[i + 1]))
  redis.call('PEXPIRE', key, math.ceil(full * 1000))
end
local answer = {0, '0'}
for i in ipairs(KEYS) do
  answer[i + 2] = tostring(left[i] - 1)
end
return answer
"""


class RedisBuckets:
    """The `Buckets` of all processes that share a Redis. Bound to the event loop that first used it."""

    def __init__(self, url: str, clock: Clock, fallback: Buckets, *, prefix: str = "") -> None:
        """`prefix` is put before every key; `fallback` serves while Redis does not answer."""
        self._client = redis.asyncio.Redis.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, max_connections=50
        )
        self._script = self._client.register_script(_SCRIPT)
        self._clock = clock
        self._fallback = fallback
        self._prefix = f"{prefix}kernelwright:rate:"
        self._away_until: float | None = None
        RATE_LIMITS_ALONE.set(0)

    async def take(self, wanted: Sequence[BucketRequest]) -> Taken:
        """One from each bucket, or from none where one has too little."""
        if self._away_until is not None and self._clock.monotonic() < self._away_until:
            return await self._fallback.take(wanted)
        keys = [self._prefix + take.bucket for take in wanted]
        rates = [BURST_S, *(take.per_minute for take in wanted)]
        try:
            short, wait_s, *left = await cast("Awaitable[list[bytes]]", self._script(keys=keys, args=rates))
        except (RedisError, OSError) as error:
            self._note_outage(error)
            return await self._fallback.take(wanted)
        self._note_return()
        if int(short):
            return Taken(short=Shortage(take=wanted[int(short) - 1], wait_s=float(wait_s)))
        return Taken(left=tuple(map(float, left)))

    async def aclose(self) -> None:
        """Close the connections."""
        with contextlib.suppress(RedisError, OSError):
            await self._client.aclose()

    def _note_outage(self, error: Exception) -> None:
        if self._away_until is None:
            log.warning("Redis does not answer (%s): rate limits hold for each API process by itself", error)
        self._away_until = self._clock.monotonic() + RETRY_AFTER_S
        RATE_LIMITS_ALONE.set(1)

    def _note_return(self) -> None:
        if self._away_until is not None:
            log.info("Redis answers again: rate limits hold over all API processes")
        self._away_until = None
        RATE_LIMITS_ALONE.set(0)
