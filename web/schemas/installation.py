"""The installation: its processes, its workers, who is calling."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from services.domain.access import Role, TokenScope
from services.domain.devices import DeviceSheet
from services.domain.nodes import NodeRole, NodeState
from web.schemas.base import View


class NodeView(View):
    """A process of the installation."""

    name: str
    role: NodeRole
    version: str
    state: NodeState
    device: str | None
    toolchain: str | None
    units: int
    """Workers: cores or multiprocessors that a kernel may use."""
    memory_bytes: int
    """Workers: ceiling of one sandboxed process."""
    load: float
    """Load average of its host over one minute, a CPU."""
    busy_s: float
    """Seconds spent on evaluations since it started; 0 where nobody counts them."""
    done: int
    """Evaluations and validations ended since it started; 0 where nobody counts them."""
    fault: str | None
    """Workers: why it ended, takes no orders or leaves some of them, and what to do; null where all is well."""
    started_at: datetime
    seen_at: datetime
    """When it was heard last; a refused one, when it was refused."""


class WorkerView(View):
    """A worker that takes evaluations."""

    name: str
    device: str
    backends: tuple[str, ...]
    isolation: str | None
    sheet: DeviceSheet | None
    """What it measured about its device; null until it has."""
    node: NodeView | None
    """Its process: health, load, ceilings, version."""


class MeView(View):
    """Who is calling and what may be asked for."""

    team: str
    user: str | None
    """Login of the person; null for a token of the team and for the one user of a machine."""
    role: Role
    scopes: tuple[TokenScope, ...]
    """What the caller may do: what both the role and the token permit."""
    teams: tuple[str, ...]
    """Teams that the person may turn to."""
    by: Literal["token", "session", "local"]
    """How the caller is known; `local`: as the one user of this machine, or by the server's own token."""
    version: str
    backends: tuple[str, ...]
    devices: tuple[str, ...]
    models: tuple[str, ...]
    strategies: tuple[str, ...]


class HealthView(View):
    """The state of the server."""

    status: str
