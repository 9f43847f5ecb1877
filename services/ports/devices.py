"""Backends (languages and toolchains of candidates) and profilers of devices."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from services.domain.evaluations import Disassembly


@dataclass(frozen=True, kw_only=True)
class BuildResult:
    """Outcome of the compile gate."""

    ok: bool
    messages: str
    """The compiler's messages, complete (cut only at the output limit, and marked)."""
    artefacts: tuple[Path, ...]
    """Built files, read-only, in the cache."""
    seconds: float
    sources: tuple[str, ...] = ()
    """What the compilers were given; the referee reads it too."""


class KernelBackend(Protocol):
    """A language and toolchain of candidates."""

    @property
    def name(self) -> str:
        """`cpp`, `triton`, `cuda`, …"""

    def toolchain(self) -> str:
        """Compiler and version, part of cache keys. Raises `ToolchainError` when it is missing."""

    def build(self, source: str) -> BuildResult:
        """Compile everything a candidate's module asks for, in the compile sandbox, into the cache."""

    def listing(self, result: BuildResult) -> Disassembly:
        """The machine code of what was built, read in the compile sandbox. Raises nothing: what fails is its note."""


class DeviceProfiler(Protocol):
    """Reads hardware counters for a candidate, where permitted."""

    @property
    def source(self) -> str:
        """`ncu`, `perf`, `torch` or `none`."""

    def available(self) -> tuple[bool, str]:
        """Whether it works here, and why not."""

    def metrics(self, pid: int, seconds: float) -> dict[str, float]:
        """Counters of a running process over some seconds; empty where they are not permitted."""
