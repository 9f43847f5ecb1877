"""Waking workers for orders over Celery, however long the broker is away."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from amqp.exceptions import AMQPError
from celery import Celery
from kombu import Exchange
from kombu.exceptions import ChannelError, KombuError
from redis.exceptions import RedisError

from services.domain.errors import QueueError
from services.domain.work import COMPILE
from services.ports.runtime import Clock

log = logging.getLogger(__name__)

TASK = "kernelwright.run_order"
"""Name of the Celery task that takes an order and does it. It has no argument: whose turn it is shows when it runs."""
ENDED_TASK = "kernelwright.job_ended"
"""Name of the Celery task that frees what a worker keeps warm for a job; its argument is the job's id."""
ENDED_QUEUE = "kernelwright.ended"
"""Alias of the queue, one a worker, on which all of them hear of every job that has ended."""
_BROKER_FAULTS = (KombuError, RedisError, AMQPError, OSError)
MOST_BACKOFF_S = 5.0


def device_queue(device: str) -> str:
    """Name of the queue that a device's workers listen to; compile workers have one of their own."""
    if device == COMPILE:
        return COMPILE
    return f"device.{device}"


def ended_exchange() -> Exchange:
    """Where the ends of jobs are told to all workers."""
    return Exchange(ENDED_QUEUE, type="fanout")


class WorkNotifier:
    """Sends wake-ups in order. One that cannot be sent now is sent when the broker is back."""

    def __init__(self, app: Celery, clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._todo: asyncio.Queue[str] = asyncio.Queue()
        self._away_since: float | None = None
        self.fault = ""
        """Why the broker could not be reached when that was tried last."""

    def notify(self, device: str, *, times: int = 1) -> None:
        """Wake a worker of a device soon, once for each of some orders."""
        for _ in range(times):
            self._todo.put_nowait(device)

    @property
    def away_s(self) -> float:
        """For how long the broker has been out of reach."""
        return 0.0 if self._away_since is None else time.monotonic() - self._away_since

    async def run(self) -> None:
        """Send what there is to send, until cancelled."""
        while True:
            device = await self._todo.get()
            failures = 0
            while not await self._sent(device):
                failures += 1
                await self._clock.sleep(min(0.25 * 2**failures, MOST_BACKOFF_S))

    async def tell_ended(self, job_id: str) -> None:
        """Have all workers free what they keep for a job; one that nobody receives costs memory, not the end."""
        try:
            await asyncio.to_thread(self._tell_all, job_id)
        except _BROKER_FAULTS as error:
            log.warning("workers were not told that job %s has ended: %s", job_id, error)

    async def length(self, device: str) -> int:
        """How many messages wait in a device's queue. Raises `QueueError`."""
        try:
            return await asyncio.to_thread(self._length, device_queue(device))
        except _BROKER_FAULTS as error:
            raise QueueError(f"the message broker cannot be reached: {error}") from error

    async def empty(self, device: str) -> int:
        """Take the wake-ups that wait in a device's queue away; how many are left. Raises `QueueError`."""
        try:
            return await asyncio.to_thread(self._empty, device_queue(device))
        except _BROKER_FAULTS as error:
            raise QueueError(f"the message broker cannot be reached: {error}") from error

    async def _sent(self, device: str) -> bool:
        queue = device_queue(device)
        try:
            await asyncio.to_thread(self._app.send_task, TASK, queue=queue, ignore_result=True, retry=False)
        except _BROKER_FAULTS as error:
            if self._away_since is None:
                self._away_since = time.monotonic()
                log.warning("the message broker is out of reach, orders wait in the database: %s", error)
            self.fault = str(error)
            return False
        self._away_since = None
        return True

    def _length(self, queue: str) -> int:
        with self._app.connection_for_write() as connection:
            try:
                channel: Any = connection.default_channel
                return int(channel.queue_declare(queue, passive=True).message_count)
            except ChannelError:  # a queue without messages does not exist
                return 0

    def _empty(self, queue: str) -> int:
        with self._app.connection_for_write() as connection:
            channel: Any = connection.default_channel
            channel.queue_purge(queue)
        return self._length(queue)

    def _tell_all(self, job_id: str) -> None:
        # The exchange is declared here too: a broker that does not know it as a fanout would queue the message once.
        self._app.send_task(
            ENDED_TASK,
            args=[job_id],
            queue=ENDED_QUEUE,
            declare=[ended_exchange()],
            ignore_result=True,
            retry=False,
        )
