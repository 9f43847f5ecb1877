"""A broker that is away or hangs: workers look for it at a steady pace, and nobody who rings waits for it."""

from __future__ import annotations

import asyncio
import socket

import kombu.utils.functional
import pytest

from services.adapters.queues.notifier import WorkNotifier
from services.domain.errors import QueueError
from services.runtime.clock import SystemClock
from tests.ports import a_free_port
from workers.queue.connection import ANSWER_S, RETRY_S
from workers.queue.orders import WorkerContext
from workers.queue.tasks import CelerySettings, create_app

pytestmark = pytest.mark.integration


class _EnoughSeenError(Exception):
    """Ends a loop that tries for ever."""


def _never() -> WorkerContext:
    raise AssertionError("nobody works here")


def test_a_worker_polls_its_broker_at_a_steady_interval() -> None:
    app = create_app(CelerySettings(broker_url=f"redis://127.0.0.1:{a_free_port()}/0"), _never)
    pauses: list[float] = []

    def tried(_error: Exception, pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 2:
            raise _EnoughSeenError

    with app.connection_for_read() as connection, pytest.raises(_EnoughSeenError):
        connection.ensure_connection(tried)
    assert pauses == [RETRY_S, RETRY_S]


async def test_who_rings_hears_at_once_that_the_broker_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(kombu.utils.functional, "sleep", pauses.append)
    notifier = WorkNotifier(
        create_app(CelerySettings(broker_url=f"redis://127.0.0.1:{a_free_port()}/0")), SystemClock()
    )
    with pytest.raises(QueueError, match="cannot be reached"):
        await notifier.length("cpu")
    await notifier.tell_ended("job-1")
    assert pauses == []


async def test_who_rings_gives_a_broker_up_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = CelerySettings(broker_url=f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        notifier = WorkNotifier(create_app(settings), SystemClock())
        with pytest.raises(QueueError, match="cannot be reached"):
            await asyncio.wait_for(notifier.length("cpu"), ANSWER_S + 10.0)
