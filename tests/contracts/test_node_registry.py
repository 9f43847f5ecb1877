"""What every `NodeRegistry` promises."""

from __future__ import annotations

from typing import Any

import pytest

from services.domain.nodes import NODE_TTL_S, NodeRole, NodeState, ServiceNode
from services.ports.work import NodeRegistry
from services.testing import FrozenClock, a_device
from services.worker_registry import WorkerRegistry
from tests.contracts.conftest import Stores


def a_node(clock: FrozenClock, name: str = "kernelwright-cpu-1@here", **changed: Any) -> ServiceNode:
    given: dict[str, Any] = {
        "name": name,
        "role": NodeRole.WORKER,
        "version": "1.0",
        "state": NodeState.READY,
        "device": "cpu",
        "backends": ("cpp",),
        "units": 4,
        "memory_bytes": 8 << 30,
        "started_at": clock.now(),
        "seen_at": clock.now(),
    }
    return ServiceNode(**{**given, **changed})


@pytest.fixture
def clock(stores: Stores) -> FrozenClock:
    return stores.clock


@pytest.fixture
def registry(stores: Stores) -> NodeRegistry:
    return stores.nodes


async def test_a_node_is_seen_as_it_registered(registry: NodeRegistry, clock: FrozenClock) -> None:
    node = a_node(clock, evaluator="referee 1; × CPU", toolchain="g++ 12", isolation="docker", sheet=a_device())
    await registry.register(node)
    assert await registry.living() == (node,)
    assert await registry.living(NodeRole.ORCHESTRATOR) == ()


async def test_a_silent_node_is_gone_until_it_is_heard_again(registry: NodeRegistry, clock: FrozenClock) -> None:
    await registry.register(a_node(clock))
    clock.advance(NODE_TTL_S + 1)
    assert await registry.living() == ()
    assert await registry.beat("kernelwright-cpu-1@here", load=0.5, busy_s=12.0, done=3) is True
    (node,) = await registry.living()
    assert (node.load, node.busy_s, node.done) == (0.5, 12.0, 3)


async def test_a_node_that_nobody_knows_is_told_to_register(registry: NodeRegistry) -> None:
    assert await registry.beat("unknown") is False


async def test_a_draining_node_says_so_and_then_leaves(registry: NodeRegistry, clock: FrozenClock) -> None:
    await registry.register(a_node(clock))
    await registry.drain("kernelwright-cpu-1@here")
    assert [node.state for node in await registry.living()] == [NodeState.DRAINING]
    await registry.leave("kernelwright-cpu-1@here")
    await registry.leave("kernelwright-cpu-1@here")
    assert await registry.living() == ()


async def test_what_all_workers_offer_together_is_known(registry: NodeRegistry, clock: FrozenClock) -> None:
    await registry.register(a_node(clock))
    await registry.register(a_node(clock, "gpu-1", device="h200", backends=("triton",)))
    await registry.register(a_node(clock, "gpu-2", device="h200", backends=("cuda", "triton")))
    workers = WorkerRegistry(registry)
    assert workers.devices() == {}
    await workers.refresh()
    assert workers.devices() == {"cpu": ("cpp",), "h200": ("triton", "cuda")}
