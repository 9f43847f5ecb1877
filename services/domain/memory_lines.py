"""Experiences on their way from one memory to another."""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.experiences import Experience
from services.domain.jobs import Stage


@dataclass(frozen=True, kw_only=True)
class ExportedValue:
    """Learned value of an experience at one stage, overall."""

    stage: Stage
    value: float
    visits: float


@dataclass(frozen=True, kw_only=True)
class MemoryLine:
    """One experience of an exported memory."""

    experience: Experience
    vector: tuple[float, ...] | None = None
    values: tuple[ExportedValue, ...] = ()
