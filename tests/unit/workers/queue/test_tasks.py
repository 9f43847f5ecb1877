"""When a worker's child opens its context."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from services.domain.errors import SandboxError
from services.domain.nodes import NodeRole, NodeState, Offer, ServiceNode
from services.ports.work import NodePresence, Workbench, WorkStore
from tests.doubles import InMemoryDatabase, InMemoryNodeRegistry
from tests.doubles.builders import MOMENT
from tests.waiting import until
from workers.queue.heartbeat import Heartbeat
from workers.queue.orders import WorkerContext
from workers.queue.tasks import CelerySettings, WorkerProcess

SETTINGS = CelerySettings(broker_url="redis://127.0.0.1:1/0")


class Closing:
    """A workbench that is never used."""

    def close(self) -> None:
        """Nothing is held."""


class NoOrders:
    """No order is there to be taken."""

    async def take(self, *_: object) -> None:
        """None."""


class Registry:
    """Opens a registry that keeps nodes in memory, for heartbeats in threads of their own."""

    def __init__(self) -> None:
        self.nodes = InMemoryNodeRegistry(InMemoryDatabase())

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[NodePresence]:
        yield self.nodes

    def faults(self) -> list[str | None]:
        return [node.fault for node in asyncio.run(self.nodes.living())]


def a_heartbeat(registry: Registry) -> Heartbeat:
    node = ServiceNode(
        name="one",
        role=NodeRole.WORKER,
        version="1.0",
        state=NodeState.READY,
        device="cpu",
        started_at=MOMENT,
        seen_at=MOMENT,
    )
    return Heartbeat(node, registry, beat_s=0.01)


def a_process(failures: int = 0, *, ready: bool, registry: Registry | None = None) -> tuple[WorkerProcess, list[str]]:
    opened: list[str] = []

    def open_context() -> WorkerContext:
        opened.append("opened")
        if len(opened) <= failures:
            raise SandboxError("no room for a sandbox")
        offer = Offer(device="cpu", backends=("cpp",), evaluator="none")
        return WorkerContext(orders=cast("WorkStore", NoOrders()), workbench=cast("Workbench", Closing()), offer=offer)

    beating = None if registry is None else lambda: a_heartbeat(registry)
    return WorkerProcess(SETTINGS, open_context, beating, ready=ready), opened


def test_the_context_is_opened_at_the_first_order_and_kept() -> None:
    process, opened = a_process(ready=False)
    process.begin()
    assert opened == []
    process.run("one")
    process.run("one")
    assert opened == ["opened"]
    process.close()


def test_a_compile_workers_context_is_open_before_its_first_order() -> None:
    process, opened = a_process(ready=True)
    process.begin()
    assert opened == ["opened"]
    process.run("one")
    assert opened == ["opened"]
    process.close()


def test_a_context_that_cannot_be_opened_at_the_start_is_tried_again_at_an_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process, opened = a_process(failures=1, ready=True)
    process.begin()
    assert "no room for a sandbox" in caplog.text
    process.run("one")
    assert opened == ["opened", "opened"]
    process.close()


def test_a_worker_that_cannot_open_its_device_is_listed_with_the_reason_until_it_can() -> None:
    registry = Registry()
    process, _ = a_process(failures=1, ready=True, registry=registry)
    process.begin()
    until(lambda: registry.faults() == ["no room for a sandbox"])
    process.run("one")
    until(lambda: registry.faults() == [None])
    process.close()
    assert registry.faults() == []
