"""What every `NodeRegistry` promises."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from services.domain.nodes import FAULT_TTL_S, NODE_TTL_S, NodeRole, NodeState, ServiceNode
from services.jobs.catalogue import WorkerRegistry
from services.ports.work import NodeRegistry
from tests.contracts.conftest import WORK, Stores
from tests.doubles import FrozenClock, a_device

pytestmark = pytest.mark.parametrize("stores", WORK, indirect=True)


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


async def test_a_worker_that_could_not_begin_is_listed_with_its_reason_until_it_registers(
    registry: NodeRegistry, clock: FrozenClock
) -> None:
    await registry.refuse(a_node(clock), "this node is version 0.9: install 1.0 here")
    clock.advance(NODE_TTL_S + 1)
    (node,) = await registry.living(NodeRole.WORKER)
    assert (node.name, node.device, node.state) == ("kernelwright-cpu-1@here", "cpu", NodeState.REFUSED)
    assert node.fault == "this node is version 0.9: install 1.0 here"
    assert node.seen_at == clock.now() - timedelta(seconds=NODE_TTL_S + 1), "when it was refused"
    await registry.register(a_node(clock))
    (node,) = await registry.living()
    assert (node.state, node.fault) == (NodeState.READY, None)


async def test_a_refusal_is_forgotten_after_a_while(registry: NodeRegistry, clock: FrozenClock) -> None:
    await registry.refuse(a_node(clock), "no card")
    clock.advance(FAULT_TTL_S + 1)
    assert await registry.living() == ()
    await registry.register(a_node(clock, "another"))
    assert [node.name for node in await registry.living()] == ["another"]


async def test_a_refused_worker_offers_nothing_and_one_that_lives_overwrites_the_refusal(
    registry: NodeRegistry, clock: FrozenClock
) -> None:
    await registry.refuse(a_node(clock), "no card")
    workers = WorkerRegistry(registry)
    assert await workers.refresh() == ()
    assert workers.devices() == {}
    assert await registry.beat("kernelwright-cpu-1@here") is False, "register again"


async def test_a_worker_that_lives_tells_what_troubles_it(registry: NodeRegistry, clock: FrozenClock) -> None:
    await registry.register(a_node(clock, fault="the sandbox image is missing"))
    workers = WorkerRegistry(registry)
    (node,) = await workers.refresh()
    assert node.fault == "the sandbox image is missing"
    assert workers.devices() == {"cpu": ("cpp",)}, "jobs wait for it"
