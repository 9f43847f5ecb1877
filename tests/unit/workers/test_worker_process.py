"""When a worker's child opens its context."""

from __future__ import annotations

from typing import cast

import pytest

from services.domain.errors import SandboxError
from services.domain.nodes import Offer
from services.ports.work import Workbench, WorkStore
from workers.queue.tasks import CelerySettings, WorkerContext, WorkerProcess

SETTINGS = CelerySettings(broker_url="redis://127.0.0.1:1/0")


class Closing:
    """A workbench that is never used."""

    def close(self) -> None:
        """Nothing is held."""


class NoOrders:
    """No order is there to be taken."""

    async def take(self, *_: object) -> None:
        """None."""


def a_process(failures: int = 0, *, ready: bool) -> tuple[WorkerProcess, list[str]]:
    opened: list[str] = []

    def open_context() -> WorkerContext:
        opened.append("opened")
        if len(opened) <= failures:
            raise SandboxError("no room for a sandbox")
        offer = Offer(device="cpu", backends=("cpp",), evaluator="none")
        return WorkerContext(orders=cast("WorkStore", NoOrders()), workbench=cast("Workbench", Closing()), offer=offer)

    return WorkerProcess(SETTINGS, open_context, ready=ready), opened


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
