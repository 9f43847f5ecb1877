"""A worker whose device is gone: what its parts do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from kernelwright.wiring.refusals import check_device_left
from services.domain.errors import DeviceLostError, SandboxError, ToolchainError
from services.domain.nodes import NodeState, Offer, ServiceNode
from services.domain.work import WorkStatus, order_of
from services.runtime.clock import SystemClock
from tests.contracts.test_node_registry import a_node
from tests.contracts.workbench import LOST, RecordingWorkbench
from tests.doubles import (
    FrozenClock,
    InMemoryDatabase,
    InMemoryNodeRegistry,
    InMemoryWorkStore,
    a_candidate,
    a_device,
    an_evaluation_request,
)
from tests.unit.workers.devices.test_cards import TWO
from workers.devices import cards
from workers.evaluation.evaluator import Evaluator
from workers.queue.heartbeat import Heartbeat
from workers.queue.orders import WorkerContext
from workers.queue.tasks import CelerySettings, WorkerProcess
from workers.sandboxes.process import ProcessSandbox

OFFER = Offer(device="cpu", backends=("cpp",), evaluator="none")


class FailingSandbox(ProcessSandbox):
    """What CUDA says of a card that is gone."""

    @property
    def isolation(self) -> str:
        return "namespaces"

    def dedicate(self, owner: str) -> None:
        raise SandboxError("CUDA error: unspecified launch failure")


class NoCompiler:
    """A backend that is not reached."""

    def toolchain(self) -> str:
        raise ToolchainError("none")


def test_an_evaluation_on_a_card_that_is_gone_is_no_report(smi_says: Callable[[str], None]) -> None:
    sheet = a_device()
    bench = Evaluator(FailingSandbox(), {"cpp": NoCompiler()}, sheet, gpu=TWO[0])  # type: ignore[dict-item]
    request = an_evaluation_request(a_candidate())
    smi_says(TWO[0].uuid)
    assert "launch failure" in bench.evaluate(request).gates[0].detail
    bench.check_device()
    smi_says("Unable to determine the device handle for GPU0: GPU is lost")
    with pytest.raises(DeviceLostError, match="is gone"):
        bench.evaluate(request)
    with pytest.raises(DeviceLostError, match="is gone"):
        bench.check_device()


def test_a_celery_worker_puts_its_order_back_tells_the_reason_and_ends() -> None:
    database = InMemoryDatabase(clock=SystemClock())
    orders, nodes, bench, ends = InMemoryWorkStore(database), InMemoryNodeRegistry(database), RecordingWorkbench(), [0]
    order = order_of(an_evaluation_request(a_candidate(source=LOST)))
    asyncio.run(orders.place(order))

    def end() -> None:
        ends[0] += 1

    heartbeat = RecordedHeartbeat(a_node(FrozenClock(), "one"), nodes)
    process = WorkerProcess(
        CelerySettings(broker_url="memory://"),
        lambda: WorkerContext(orders=orders, workbench=bench, offer=OFFER),
        lambda: heartbeat,
        end_worker=end,
    )
    process.begin()
    for _ in range(3):  # messages that came before it ended
        process.run("one")
    assert ends == [1]
    assert len(bench.calls) == 1
    assert asyncio.run(orders.state(order.id)).status is WorkStatus.QUEUED
    assert heartbeat.faults == [None, "GPU 0 is gone: reset the card or restart the machine"]
    process.close()


class RecordedHeartbeat(Heartbeat):
    """Keeps what it is told of faults."""

    def __init__(self, node: ServiceNode, nodes: InMemoryNodeRegistry) -> None:
        self.faults: list[str | None] = []
        assert node.state is NodeState.READY
        super().__init__(node, lambda: _Opened(nodes))

    def troubled(self, fault: str | None) -> None:
        self.faults.append(fault)
        super().troubled(fault)


class _Opened:
    def __init__(self, nodes: InMemoryNodeRegistry) -> None:
        self._nodes = nodes

    async def __aenter__(self) -> InMemoryNodeRegistry:
        return self._nodes

    async def __aexit__(self, *_: object) -> None:
        return None


def test_the_process_that_is_listed_sees_that_its_card_went(
    smi_says: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cards, "all_gpus", lambda: TWO)
    monkeypatch.setenv("KERNELWRIGHT_GPU", TWO[1].uuid)
    device = TWO[1].name
    smi_says(TWO[1].uuid)
    check_device_left(device)
    check_device_left("cpu")
    smi_says(TWO[0].uuid)
    with pytest.raises(DeviceLostError, match=r"GPU 1 .* is gone"):
        check_device_left(device)
