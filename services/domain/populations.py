"""What lives in a search that keeps more than its best: islands, and cells of kernels that behave alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PopulationMember:
    """One accepted candidate and its place."""

    candidate_id: str
    step: int
    """From 0."""
    island: int | None
    """From 0; None where the strategy has no islands."""
    traffic: str
    """How often data travels through memory: `one pass`, `few passes` or `many passes`."""
    parallelism: str
    """`serial`, `lanes`, `threads` or `threads and lanes`."""
    staging: str
    """Close memory and wide units: `plain`, `vector`, `tiled`, `tiled vector`, `shared` or `tensor core`."""
    size: str
    """`short`, `medium`, `long` or `very long`."""
    elite: bool
    """Whether it is the fastest of those that behave as it does."""


@dataclass(frozen=True, kw_only=True)
class Population:
    """A job's accepted candidates by place, in order of their steps."""

    strategy: str
    islands: int
    """How many there are; 0 where the strategy has none."""
    members: tuple[PopulationMember, ...]
