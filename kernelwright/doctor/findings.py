"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one check found."""

    name: str
    state: str
    """`ok`, `warning` (works, but less well) or `missing` (needed)."""
    detail: str
    remedy: str | None = None
    used: bool = True
    """False for what this configuration does without."""
