"""Nodes: the processes of an installation that others must know of, and what a worker offers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.domain.devices import DeviceSheet

NODE_TTL_S = 30.0
"""A node that has not been seen for so long counts as gone."""
FAULT_TTL_S = 3600.0
"""So long a node that refused to work, or was refused, is still listed with its reason."""
MOST_FAULT = 600
"""Characters of such a reason."""


class NodeRole(StrEnum):
    """What a node does."""

    WORKER = "worker"
    ORCHESTRATOR = "orchestrator"


class NodeState(StrEnum):
    """Whether a node takes work."""

    READY = "ready"
    DRAINING = "draining"
    """It ends what it has begun and takes nothing new."""
    REFUSED = "refused"
    """It has ended: it refused to work, or was refused, for the reason in `fault`."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What a worker can do, and with what its results can be compared."""

    device: str
    """The device's name as jobs ask for it."""
    backends: tuple[str, ...]
    """Backends that it has the toolchain for."""
    evaluator: str
    """Version of the referee, the device's model and toolchain: results of different ones are never compared."""


@dataclass(frozen=True, kw_only=True)
class ServiceNode:
    """A process as it registered itself."""

    name: str
    """Unique in the installation; a worker's claims are held under it."""
    role: NodeRole
    version: str
    """The program's version."""
    state: NodeState
    device: str | None = None
    """Workers: the device's name."""
    backends: tuple[str, ...] = ()
    evaluator: str | None = None
    """Workers: see `Offer`; None until the device has been measured."""
    toolchain: str | None = None
    """Workers: compilers, torch and driver; None until the device has been measured."""
    isolation: str | None = None
    """Workers: the level that their sandbox reached; None until it was started."""
    sheet: DeviceSheet | None = None
    """Workers: the device's ceilings; None until they have been measured, and for those that only compile."""
    units: int = 0
    """Workers: cores or multiprocessors that a kernel may use."""
    memory_bytes: int = 0
    """Workers: ceiling of one sandboxed process."""
    load: float = 0.0
    """Load average of the host over one minute, a CPU."""
    busy_s: float = 0.0
    """Seconds spent on orders since it started."""
    done: int = 0
    """Orders ended since it started."""
    fault: str | None = None
    """Workers: why it ended, takes no orders or leaves some of them, and what to do; None where all is well."""
    started_at: datetime
    seen_at: datetime
    """When it was heard last; a refused one, when it was refused."""


def as_fault(error: Exception) -> str:
    """A reason as nodes are listed with it: on one line, and not too long."""
    return " ".join(str(error).split())[:MOST_FAULT]


def taking_orders(nodes: Iterable[ServiceNode]) -> tuple[ServiceNode, ...]:
    """Nodes without those that have been refused."""
    return tuple(node for node in nodes if node.state is not NodeState.REFUSED)
