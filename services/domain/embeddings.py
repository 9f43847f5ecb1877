"""Vectors of texts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Vectors and the space they are in."""

    space: str
    """Name of the embedder that made them; compare them with vectors of the same name only."""
    vectors: list[list[float]]
    """One of unit length per text."""
