"""Compiling ahead: what workers without a device do, so that those with one find the libraries built."""

from __future__ import annotations

from dataclasses import dataclass

COMPILE = "compile"
"""What compile workers are called where others have a device; also the name of their queue."""


@dataclass(frozen=True, kw_only=True)
class CompileRequest:
    """Ask a compile worker to build what a candidate asks for. `id` makes it idempotent."""

    id: str
    job_id: str
    team_id: str
    source: str
    """The candidate's module."""
    backend: str
    device: str = COMPILE
    architecture: str | None = None
    """GPU that CUDA is compiled for, as device sheets name it (`sm_90`); None for code that needs none."""


@dataclass(frozen=True, kw_only=True)
class CompileReport:
    """What came of it. The verdict on the candidate is the device worker's, whatever this says."""

    ok: bool
    libraries: int
    """Built, or found built."""
    seconds: float
