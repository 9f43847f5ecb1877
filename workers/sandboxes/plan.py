"""What the worker asks the zygote for: one sandboxed process, spelled out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from services.ports.sandboxes import SandboxLimits

BASE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TEMPORARY = "/tmp"  # noqa: S108 - inside a sandbox this is its own tmpfs

NAMESPACES = "namespaces"
"""Cause of a failed start, as the zygote reports it: the machine refuses namespaces."""


class Level(StrEnum):
    """Ways to confine a process, strongest first."""

    PRIVILEGED = "privileged"
    """Namespaces made with real privileges, then a user of its own."""
    USER = "user"
    """Namespaces made inside a user namespace."""
    LIMITS = "limits"
    """Resource limits, and a user of its own where we may change users; no namespaces."""


@dataclass(frozen=True, kw_only=True)
class Bind:
    """A host path shown inside."""

    source: str
    """Resolved path outside."""
    target: str
    """Path inside."""
    writable: bool = False


@dataclass(frozen=True, kw_only=True)
class SandboxPlan:
    """One sandboxed process: a Python entry or a command."""

    entry: str | None = None
    """`package.module:function`, called with a connected socket."""
    command: tuple[str, ...] = ()
    """Program and arguments, where there is no entry."""
    directory: str = TEMPORARY
    """Working directory, as seen inside."""
    temporary: str = TEMPORARY
    """`TMPDIR`; a host directory at level `limits`, else a private tmpfs."""
    level: Level
    uid: int
    """User and group inside; also outside, where we may change users."""
    change_user: bool
    """Whether to change the real user (we are root)."""
    limits: SandboxLimits
    binds: tuple[Bind, ...] = ()
    environment: dict[str, str]
    """The whole environment."""
    limit_data: bool
    """Whether memory must be limited by RLIMIT_DATA, there being no cgroup."""
    contained: bool = False
    """Whether this runs inside a container: what it is shown comes in an archive beside the request, the container
    counts what was killed for memory, and the process is the first to go when that is used up."""
    filtered: bool = False
    """Whether the entry may make no namespaces and mounts of its own: its system calls are filtered."""
    given: tuple[str, ...] = ()
    """Paths in that archive which are shown, read-only."""
    workspace: bool = False
    """Whether `directory` is a private folder, filled from the archive and sent back at the end."""
