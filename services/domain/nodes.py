"""Nodes: the processes of an installation that others must know of, and what a worker offers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.domain.devices import DeviceSheet

NODE_TTL_S = 30.0
"""A node that has not been seen for so long counts as gone."""


class NodeRole(StrEnum):
    """What a node does."""

    WORKER = "worker"
    ORCHESTRATOR = "orchestrator"


class NodeState(StrEnum):
    """Whether a node takes work."""

    READY = "ready"
    DRAINING = "draining"
    """It ends what it has begun and takes nothing new."""


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
    """Workers at a spool: why it takes no orders, or leaves some of them."""
    started_at: datetime
    seen_at: datetime
